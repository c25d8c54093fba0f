"""A noise of its own for each column or row against one for all: real matrices, and planted noises.

`noise_by_column` has `noise="columns"` everywhere, with a rank given. `noise_by_default` has the default, which takes
one of the three where it predicts held-out measurements better.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.checks import Check, Line, recall
from benchmarks.matrices import MATRICES, load

import maxentry

PLAN = maxentry.Sampling(chains=16, anneal=100, settle=100, draws=8, thin=8)
RANKS = {0.03: 2, 0.1: 2, 0.3: 4}  # by the share that is known
HELD = 4000
DEFAULT_CELLS = Path(os.environ.get("DEFAULT_CELLS", "build/honest/noise_by_default.jsonl"))
LAWS = ("gaussian", "columns", "rows")


def scores(Y: np.ndarray, truth: np.ndarray, held: np.ndarray, rank: int, **options: Any) -> np.ndarray:
    """RMSE, CRPS, coverage of 90% predictive intervals, and RMSE in units of each column's sd, of held-out entries."""
    plan = {"rank": rank, "sampling": PLAN, "scale": "none", "seed": 0}
    return judge(maxentry.complete(Y, threads=1, progress=False, **plan, **options), truth, held)


def judge(fit: maxentry.Posterior, truth: np.ndarray, held: np.ndarray) -> np.ndarray:
    i, j = np.nonzero(held)
    x, t, law = fit.belief.at(i, j), truth[i, j], fit.noise_law
    draws = (
        np.random.default_rng(0).standard_normal(x.shape) * np.sqrt(law.var)[:, None] * law.spread_at(i, j)
    )
    y = np.sort(x + draws, axis=0)
    n, order = len(y), np.arange(1, len(y) + 1)[:, None]
    crps = np.abs(y - t).mean(0) - (y * (2 * order - n - 1)).sum(0) / n**2
    said = fit.predict(list(i), list(j))
    inside = (said.new_low <= t) & (said.new_high >= t)
    square, sd = (x.mean(0) - t) ** 2, np.nanstd(truth, axis=0)[j]
    own = np.mean(square[sd > 0] / sd[sd > 0] ** 2)
    return np.array([np.sqrt(square.mean()), crps.mean(), inside.mean(), np.sqrt(own)])


def real_part(name: str, share: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is known, the matrix, and which of the other entries are judged."""
    M = load(name, seed)
    known = np.argwhere(np.isfinite(M))
    np.random.default_rng(seed + 1).shuffle(known)
    n = int(share * M.size)
    Y, held = np.full(M.shape, np.nan), np.zeros(M.shape, bool)
    Y[tuple(known[:n].T)] = M[tuple(known[:n].T)]
    held[tuple(known[n : n + HELD].T)] = True
    return Y, M, held


def planted(seed: int, share: float, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """120 x 40 of rank 2 with effects; half of the columns have `factor` times the noise of the others, sd 0.3."""
    rng = np.random.default_rng([seed, 7])
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 40))
    X = X + rng.standard_normal((120, 1)) + rng.standard_normal(40)
    sd = 0.3 * np.where(rng.random(40) < 0.5, 1.0, factor)
    Y = X + sd * rng.standard_normal(X.shape)
    seen = rng.random(X.shape) < share
    return np.where(seen, Y, np.nan), Y, ~seen


def summarize(what: str, cells: list[tuple[np.ndarray, np.ndarray]], asked: str = "") -> list[Line]:
    one, own = (np.array(side) for side in zip(*cells, strict=True))
    ratio = np.log(own / one)
    mean, worst = np.exp(ratio.mean(0)), np.exp(ratio.max(0))
    return [
        Line(f"{what}, {len(cells)} cells: error over one noise's", f"{mean[0]:.3f}, worst {worst[0]:.2f}", asked),
        Line(f"{what}: error in units of each column's sd", f"{mean[3]:.3f}, worst {worst[3]:.2f}"),
        Line(f"{what}: CRPS over one noise's", f"{mean[1]:.3f}, worst {worst[1]:.2f}"),
        Line(f"{what}: 90% predictive intervals cover", f"{own[:, 2].mean():.1%} (one noise {one[:, 2].mean():.1%})"),
    ]  # fmt: skip


def noise_by_column(quick: bool) -> list[Line]:
    """Ten matrices at 3, 10 and 30% known, two seeds; and planted noises that differ by a factor."""
    lines, seeds = [], range(1 if quick else 2)
    for share, rank in RANKS.items():
        cells = []
        for name in list(MATRICES)[: 2 if quick else None]:
            for seed in seeds:
                part = real_part(name, share, seed)
                cells.append((scores(*part, rank), scores(*part, rank, noise="columns")))
        lines += summarize(f"real matrices, {share:.0%} known", cells, "1.005")
    for factor in (1, 3, 10):
        cells = []
        for seed in range(2 if quick else 6):
            part = planted(seed, 0.4, factor)
            cells.append((scores(*part, 2), scores(*part, 2, noise="columns")))
        lines += summarize(f"noises that differ by {factor}", cells, "below 1" if factor > 1 else "")
    return lines


def noise_by_default(quick: bool) -> list[Line]:
    """The same matrices and planted noises, everything default, against a fit with one noise."""
    lines, seeds = [], range(1 if quick else 2)
    for share in RANKS:
        lines += compare_defaults(
            f"real matrices, {share:.0%} known",
            [
                (f"{name}, {share:.0%}", seed, partial(real_part, name, share, seed))
                for name in list(MATRICES)[: 2 if quick else None]
                for seed in seeds
            ],
            "1.005",
        )
    for factor in (1, 3, 10):
        lines += compare_defaults(
            f"noises that differ by {factor}",
            [
                (f"factor {factor}", seed, partial(planted, seed, 0.4, factor))
                for seed in range(2 if quick else 6)
            ],
            "below 1" if factor > 1 else "",
        )
    return lines


def compare_defaults(what: str, cases: list[tuple[str, int, Any]], asked: str) -> list[Line]:
    cells, taken = [], dict.fromkeys(LAWS, 0)
    for name, seed, make in cases:
        law, *numbers = recall(DEFAULT_CELLS, [name, seed], lambda: default_scores(seed, *make()))  # noqa: B023
        taken[LAWS[int(law)]] += 1
        one, own = np.split(np.array(numbers), 2)
        cells.append((one, own))
    counts = ", ".join(f"{name} {n}" for name, n in taken.items())
    return [*summarize(what, cells, asked), Line(f"{what}: the noise that is taken", counts)]


def default_scores(seed: int, Y: np.ndarray, truth: np.ndarray, held: np.ndarray) -> list[float]:
    """Which noise the default takes, and the scores with one noise and with that."""
    fits = [
        maxentry.complete(Y, noise=noise, seed=seed, threads=1, progress=False)
        for noise in ("gaussian", "auto")
    ]
    return [
        LAWS.index(fits[1].fit.noise),
        *np.concatenate([judge(fit, truth, held) for fit in fits]).tolist(),
    ]


CHECKS: dict[str, Check] = {"noise_by_column": noise_by_column, "noise_by_default": noise_by_default}
