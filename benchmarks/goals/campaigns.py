"""Campaigns on the ten real matrices: 2m entries at random, then 8 batches of m/2 by a rule, m the longer side.

All campaigns of a matrix and seed start from the same entries, and are measured for every goal after every batch.
Matrices are cropped to 100 x 40 at random, and times and errors are negated, so that large is good. The values of the
table are the truth, and what a measurement returns. Fits: rank "auto" and effort "quick" for the first entries; then
the chains of the fit before go on, with its ranks (a campaign would compare ranks anew, which takes ten times as long).
Nothing is said of the noise. Campaigns by rules of others (mean, Thompson, GP) have figures of what they measured, not
of answers.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.goals import gaussian_process, measures
from benchmarks.goals.measures import Truth
from benchmarks.goals.rules import RULES, Now
from benchmarks.goals.tables import BATCHES, CELLS, first_entries, table

import maxentry

SEEDS = int(os.environ.get("GOALS_SEEDS", "10"))
ANEW = (0,)
HOW: dict[str, Any] = {"effort": "quick"}


class Fits:
    """The fits of the first entries, which are the same for all rules of a matrix and seed."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, int], maxentry.Posterior] = {}

    def fit(
        self,
        truth: Truth,
        keys: np.ndarray,
        look: int,
        seed: int,
        before: maxentry.Posterior | None,
        name: str,
    ) -> maxentry.Posterior:
        if look == 0 and (name, seed) in self.first:
            return self.first[name, seed]
        rows, cols = np.divmod(keys, truth.M.shape[1])
        how: Any = HOW if look in ANEW else {"start": before}
        data = (rows, cols, truth.M[rows, cols])
        found = maxentry.complete(data, shape=truth.M.shape, seed=seed, threads=1, progress=False, **how)
        if look == 0:
            self.first = {(name, seed): found}
        return found


def measure(
    truth: Truth, keys: np.ndarray, posterior: maxentry.Posterior, name: str, seed: int
) -> dict[str, float]:
    """All figures, by the answers of the posterior; regret also by its pattern alone and by the best measured."""
    rows, cols = np.divmod(keys, truth.M.shape[1])
    answers, S = posterior.goal_answers, posterior.belief.n_draws
    weight, whole = truth.known / truth.known.sum(1, keepdims=True), slice(None)
    averages, above, estimate = (
        np.empty((S, truth.M.shape[0])), np.zeros(truth.M.shape), np.zeros(truth.M.shape),
    )  # fmt: skip
    for s in range(S):
        x = answers.entries(posterior.belief.draw(s), whole, whole, s)
        averages[s] = (x * weight).sum(1)
        above += x > truth.threshold
        estimate += x / S
    if name.endswith("GP"):
        process = gaussian_process.fit(truth.M.shape, rows, cols, truth.M[rows, cols])
        every = np.arange(truth.M.size)
        draws = process.draw(every, gaussian_process.DRAWS, np.random.default_rng(seed))
        estimate = draws.mean(0).reshape(truth.M.shape)
    return {
        "recall": measures.recall(truth, rows, cols),
        "regret": measures.column_regret(truth, estimate),
        "pattern regret": measures.column_regret(truth, posterior.mean),
        "measured regret": measures.measured_regret(truth, rows, cols),
        "tau": measures.tau(truth, averages.mean(0)),
        "chance": measures.chance_of_best(truth, averages),
        "wrong": measures.misclassified(truth, above / S),
    }


def run_campaign(
    truth: Truth, name: str, seed: int, rule: str, fits: Fits, batches: int | None = None
) -> list[dict[str, float]]:
    """The figures after the first entries and after every batch."""
    m, (keys, rng) = max(truth.M.shape), first_entries(truth, seed)
    looks, posterior, batches = [], None, BATCHES if batches is None else batches
    for look in range(batches + 1):
        posterior = fits.fit(truth, keys, look, seed, posterior, name)
        looks.append(measure(truth, keys, posterior, rule, seed) | {"n": len(keys)})
        if look < batches:
            keys = np.concatenate([keys, RULES[rule](Now(truth, keys, posterior, rng), m // 2)])
            assert len(np.unique(keys)) == len(keys), "an entry was chosen twice"
    return looks


def read_cells(path: Path = CELLS) -> dict[tuple[str, int, str], list[dict[str, float]]]:
    """The figures by matrix, seed and rule."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines]
    return {(cell["matrix"], cell["seed"], cell["rule"]): cell["looks"] for cell in found}


def run_all(names: list[str], rules: list[str], until: float = np.inf) -> None:
    """Run what has no figures yet, all matrices of a seed before the next; stopped, it goes on."""
    done, fits = read_cells(), Fits()
    for seed in range(SEEDS):
        for name in names:
            truth = None
            for rule in rules:
                if (name, seed, rule) in done or time.monotonic() > until:
                    continue
                truth = Truth.of(table(name, seed)) if truth is None else truth
                began = time.process_time()
                looks = run_campaign(truth, name, seed, rule, fits)
                looks = [{k: round(float(x), 5) for k, x in look.items()} for look in looks]
                cpu = round(time.process_time() - began, 1)
                with CELLS.open("a") as file:
                    cell = {"matrix": name, "seed": seed, "rule": rule, "cpu": cpu, "looks": looks}
                    file.write(json.dumps(cell) + "\n")
                last = looks[-1]
                print(
                    f"{name} {seed} {rule}: {cpu} s, recall {last['recall']}, regret {last['regret']}",
                    flush=True,
                )
