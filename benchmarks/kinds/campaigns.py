"""Campaigns on tables with limits: the default over uniform entries, with limits and as if all were values.

KINDS_SEEDS is the number of replicates (2).
"""

import os

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.limits import TABLES as LIMITS
from benchmarks.kinds.scores import choose_seeds, crps, jackknife, known, remember

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "2"))
PART, BATCHES = (50, 30), 2


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
        before = [known("campaigns before", f"{name}, seed {seed}") for seed in seeds]
        if any(before):
            default, uniform = np.mean([scores for scores in before if scores], axis=0)
            n = sum(scores is not None for scores in before)
            text += f"; at b121af5 {default / uniform:.3f} ({default:.4f} / {uniform:.4f}; {n} seeds)"
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
    free, (m1, m2) = ~np.isnan(M), M.shape
    settings = {"limits": limits} if with_limits else {}
    settings |= {} if way is None else {"acquisition": way}
    campaign = maxentry.Campaign.create(
        "sqlite://", "limits", m1, m2, seed=seed, mask=free, frame="columns", **settings
    )
    for n in (max(m1, m2), *[max(m1, m2)] * BATCHES):
        asked = campaign.ask(n, progress=False)
        rows, cols = np.array(asked["row"]), np.array(asked["col"])
        campaign.tell(asked["id"], M[rows, cols])
    posterior = campaign.posterior(progress=False)
    free[tuple(campaign.state.told)] = False
    at = np.nonzero(free)
    noise = np.random.default_rng(seed).standard_normal((4, posterior.belief.n_draws, at[0].size))
    z = posterior.belief.at(*at) + np.sqrt(posterior.belief.noise_var)[:, None] * noise
    low, high = (np.inf * sign if end is None else end for sign, end in zip((-1, 1), limits, strict=True))
    return crps(np.clip(z, low, high).reshape(-1, at[0].size), M[at])
