"""Choosing what to measure where measurements are limits, or yes or no: by each entry's own working noise.

`bald`: gains of single entries beside the exact information of an answer, H(mean p) - mean H(p); and campaigns of two
batches on two real tables, by the default, by the entries of greatest exact information, and at random.
`campaigns`: on tables with limits, the default over uniform entries, with limits and as if all were values.
KINDS_SEEDS is the number of replicates (2).
"""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.limits import TABLES as LIMITS
from benchmarks.kinds.scores import choose_seeds, crps, jackknife, log_loss, remember
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


# Limits


def campaigns(quick: bool) -> list[Line]:
    """CRPS at the entries not asked for, default over uniform: with limits, and as if all were values."""
    lines = []
    for name, (low, high, _) in LIMITS.items():
        seeds = [0] if quick else choose_seeds("campaigns", name, SEEDS)
        if not seeds:
            continue
        found = np.array([_cell(name, (low, high), seed, quick) for seed in seeds])
        (ours, ours_uniform), (plain, plain_uniform) = found.mean(0)
        text = (
            f"{ours / ours_uniform:.3f} ({ours:.4f} / {ours_uniform:.4f}); as values {plain / plain_uniform:.3f} "
            f"({plain:.4f} / {plain_uniform:.4f})"
        )
        if len(found) > 2:
            text += f"; difference {_difference(found):+.3f} ± {jackknife(_difference, found):.3f}"
        lines.append(
            Line(f"{name}, {len(found)} seeds: CRPS, default over uniform", text, "no higher than as values")
        )
    return lines


def _difference(found: np.ndarray) -> float:
    """Default over uniform with limits, less the same as values; cells are (with limits or not, default or uniform)."""
    ratio = found.mean(0)[:, 0] / found.mean(0)[:, 1]
    return float(ratio[0] - ratio[1])


def _cell(name: str, limits: tuple[float | None, float | None], seed: int, quick: bool) -> list[list[float]]:
    """CRPS by default and of uniform entries, with limits and then as if all were values."""

    def compare() -> list[list[float]]:
        return [
            [round(run_limits(name, limits, way, seed, with_limits), 6) for way in (None, "uniform")]
            for with_limits in (True, False)
        ]

    return compare() if quick else remember("campaigns", f"{name}, seed {seed}", compare)


def run_limits(
    name: str, limits: tuple[float | None, float | None], way: str | None, seed: int, with_limits: bool
) -> float:
    M, rng = matrices.load(name, seed), np.random.default_rng([seed, 21])
    i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, PART, strict=True))
    M = M[np.ix_(i, j)]
    known, (m1, m2) = ~np.isnan(M), M.shape
    settings = {"limits": limits} if with_limits else {}
    settings |= {} if way is None else {"acquisition": way}
    campaign = maxentry.Campaign.create(
        "sqlite://", "limits", m1, m2, seed=seed, mask=known, frame="columns", **settings
    )
    for n in (max(m1, m2), *[max(m1, m2)] * BATCHES):
        asked = campaign.ask(n, progress=False)
        rows, cols = np.array(asked["row"]), np.array(asked["col"])
        campaign.tell(asked["id"], M[rows, cols])
    posterior = campaign.posterior(progress=False)
    known[tuple(campaign.state.told)] = False
    at = np.nonzero(known)
    noise = np.random.default_rng(seed).standard_normal((4, posterior.belief.n_draws, at[0].size))
    z = posterior.belief.at(*at) + np.sqrt(posterior.belief.noise_var)[:, None] * noise
    low, high = (np.inf * sign if end is None else end for sign, end in zip((-1, 1), limits, strict=True))
    return crps(np.clip(z, low, high).reshape(-1, at[0].size), M[at])
