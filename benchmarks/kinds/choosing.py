"""Choosing what to measure where answers are yes or no: by each entry's own working noise.

`bald`: gains of single entries beside the exact information of an answer, H(mean p) - mean H(p); and campaigns of two
batches on two real tables, by the default, by the entries of greatest exact information, and at random. KINDS_SEEDS is
the number of replicates (2).
"""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks.checks import Line
from benchmarks.kinds.scores import choose_seeds, log_loss, remember
from benchmarks.kinds.yes_no import TABLES as YES_NO
from scipy.special import ndtr, xlogy
from scipy.stats import spearmanr

import maxentry
from maxentry import acquisition
from maxentry.acquisition import Problem
from maxentry.belief import Belief, Entries

SEEDS = int(os.environ.get("KINDS_SEEDS", "2"))
# rows, columns, rank, answers, size of the latent values
SIMULATED = (
    (20, 15, 1, 120, 1.0),
    (30, 30, 2, 250, 1.0),
    (60, 40, 2, 600, 1.5),
    (40, 30, 3, 200, 0.7),
    (30, 30, 2, 400, 3.0),
)
PART, BATCHES = (50, 30), 2


def exact_information(belief: Belief, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    p = ndtr(belief.at(rows, cols))
    return entropy(p.mean(0)) - entropy(p).mean(0)


def entropy(p: np.ndarray) -> np.ndarray:
    return -xlogy(p, p) - xlogy(1 - p, 1 - p)


def bald(quick: bool) -> list[Line]:
    """Rank correlation of gains with the exact information, and log loss of campaigns."""
    lines = []
    for m1, m2, rank, n, size in SIMULATED[:2] if quick else SIMULATED:
        rng = np.random.default_rng(m1 + n)
        X = size * rng.normal(size=(m1, rank)) @ rng.normal(size=(rank, m2)) + 0.5 * rng.normal(size=(m1, 1))
        i, j = rng.integers(m1, size=n), rng.integers(m2, size=n)
        yes = (X[i, j] + rng.normal(size=n) > 0).astype(float)
        belief = fit(i, j, yes, (m1, m2), 1)
        at = np.indices((m1, m2)).reshape(2, -1)
        exact, v = exact_information(belief, *at), belief.at(*at).var(0)
        ours, one = (float(spearmanr(exact, v / noise)[0]) for noise in (belief.noise_at(*at), 1.0))
        text = f"{ours:.3f} (with one noise for all {one:.2f})"
        what = f"{m1} x {m2}, {n} answers, latent values of size {size:g}: Spearman of gains and information"
        lines.append(Line(what, text, ">= 0.95"))
    for name, make in YES_NO.items():
        scores = []
        for seed in [0] if quick else choose_seeds("bald", name, SEEDS):
            one = partial(_answers, make, seed)
            scores.append(one() if quick else remember("bald", f"{name}, seed {seed}", one))
        if not scores:
            continue
        default, exact, uniform = np.mean(scores, axis=0)
        text = f"{default:.4f}, {exact:.4f}, {uniform:.4f}"
        if len(scores) > 1:
            more = np.array(scores)[:, 0] - np.array(scores)[:, 1]
            error = more.std(ddof=1) / np.sqrt(more.size)
            text += f"; the default's more than the exact one's by {more.mean():.4f} ± {error:.4f}"
        what = (
            f"{name}, {len(scores)} seeds: log loss of the default, of greatest exact information, of uniform"
        )
        lines.append(Line(what, text, "default no higher than exact"))
    return lines


def _answers(make: Callable[[], np.ndarray], seed: int) -> list[float]:
    """Log loss of the default, of greatest exact information, of uniform entries."""
    return [round(run_answers(make(), way, seed), 6) for way in ("default", "exact", "uniform")]


def fit(i: np.ndarray, j: np.ndarray, yes: np.ndarray, shape: tuple[int, int], seed: int) -> Belief:
    known = (i, j, yes)
    return maxentry.complete(known, kind="yes/no", shape=shape, seed=seed, threads=1, progress=False).belief


def run_answers(B: np.ndarray, way: str, seed: int) -> float:
    """Log loss at the entries that were not asked for."""
    rng = np.random.default_rng([seed, 20])
    i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(B.shape, PART, strict=True))
    B = B[np.ix_(i, j)]
    m2, batch = B.shape[1], B.size // 10
    chosen = rng.permutation(B.size)[: 2 * batch]
    for _ in range(BATCHES):
        rows, cols = np.divmod(chosen, m2)
        left = np.setdiff1d(np.arange(B.size), chosen)
        if way == "uniform":
            more = rng.permutation(left)[:batch]
        else:
            belief = fit(rows, cols, B[rows, cols].astype(float), B.shape, seed)
            if way == "exact":
                score = exact_information(belief, *np.divmod(left, m2))
                more = left[np.argsort(-score, kind="stable")[:batch]]
            else:
                problem = Problem(B.shape, observed=Entries(rows, cols))
                more = acquisition.choose(
                    "predictive_variance", belief, problem, batch, rng=rng
                ).entries.keys(m2)
        chosen = np.concatenate([chosen, more])
    rows, cols = np.divmod(chosen, m2)
    left = np.divmod(np.setdiff1d(np.arange(B.size), chosen), m2)
    p = ndtr(fit(rows, cols, B[rows, cols].astype(float), B.shape, seed).at(*left)).mean(0)
    return log_loss(np.column_stack([1 - p, p]), B[left].astype(int))
