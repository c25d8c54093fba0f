"""What any rule could find, where values have noise that nobody foresees.

Campaigns measure 4m entries by a rule, after 2m at random, m the longer side. "All": of those who know where the best
are; what ties with the last of the best counts, so there may be more than 4m. "Four fifths": of those who know four
fifths of the values. Five fits, each without a fifth of the entries, say how likely every entry is one of the best, and
the 4m likeliest that are not among the first are measured; for columns, as many of each, those of greatest mean. A
campaign knows far less, but learns from what it measures.
"""

import os
from typing import Any

import numpy as np
from benchmarks import matrices
from benchmarks.goals import campaigns
from benchmarks.goals.measures import Truth, measured_regret, recall
from scipy.special import ndtr

import maxentry

SEEDS = int(os.environ.get("GOALS_CEILING_SEEDS", "2"))
FOLDS = 5


def predict(truth: Truth, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected value of every entry, and P(it is one of the best), given what other folds have; m1 x m2."""
    keys = np.random.default_rng([seed, 11]).permutation(np.flatnonzero(truth.known))
    cut, m2 = truth.M[truth.top].min(), truth.M.shape[1]
    mean, chance = np.zeros(truth.M.size), np.zeros(truth.M.size)
    for fold in range(FOLDS):
        (i, j), left_out = np.divmod(np.delete(keys, np.s_[fold::FOLDS]), m2), keys[fold::FOLDS]
        how: dict[str, Any] = {"shape": truth.M.shape, "seed": seed, "threads": 1, "progress": False}
        posterior = maxentry.complete((i, j, truth.M[i, j]), effort="quick", **how)
        x, eta = posterior.belief.at(*np.divmod(left_out, m2)), np.sqrt(posterior.belief.noise_var)
        mean[left_out], chance[left_out] = x.mean(0), ndtr((x - cut) / eta[:, None]).mean(0)
    return mean.reshape(truth.M.shape), chance.reshape(truth.M.shape)


def find_ceilings(name: str, seed: int) -> dict[str, Any]:
    """Recall and regret of columns at the end, of those who know all values or four fifths."""
    truth = Truth.of(campaigns.table(name, seed))
    first, _ = campaigns.first_entries(truth, seed)
    more, m2, free = campaigns.BATCHES * (max(truth.M.shape) // 2), truth.M.shape[1], truth.known.copy()
    free.ravel()[first] = False

    def measure(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        then = np.argsort(-np.where(free, score, -np.inf).ravel(), kind="stable")[:more]
        return np.divmod(np.concatenate([first, then]), m2)

    mean, chance = predict(truth, seed)
    place = np.argsort(np.argsort(-np.where(free, mean, -np.inf), axis=0), axis=0)  # in its column
    return {
        "matrix": name,
        "seed": seed,
        "share": float(truth.top.sum() / truth.known.sum()),
        "all": recall(truth, *measure(truth.top)),
        "four fifths": recall(truth, *measure(chance)),
        "regret": measured_regret(truth, *measure(-place)),
    }


def run_all(done: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All matrices, of the first replicates; those that are done are left as they are."""
    names, found = os.environ.get("GOALS_MATRICES"), list(done)
    for seed in range(SEEDS):
        for name in list(matrices.MATRICES) if names is None else names.split(";"):
            if not any((x["matrix"], x["seed"]) == (name, seed) for x in done):
                found.append(find_ceilings(name, seed))
                print(found[-1], flush=True)
    return found
