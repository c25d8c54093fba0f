"""Values at a limit of detection or of time, as limits and as if they were measured."""

import os

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.scores import choose_seeds, crps, known, remember

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "5"))
FRACTIONS = (0.05, 0.15, 0.30)
MOST_TESTED = 3000
# name: (low end, high end, least saving of CRPS asked, in per cent)
TABLES = {
    "kinase pKd": (5.0, None, 20),
    "SAT11, log s": (None, float(np.log(5000.0)), None),
    "SAT20, log s": (None, float(np.log(5000.0)), 8),
    "direct arylation": (0.0, 100.0, None),
}
COPIES = 4  # noisy copies of each draw


def limits(quick: bool) -> list[Line]:
    """CRPS of held-out measurements, error of the clipped mean, coverage inside, and P(at the limit)."""
    lines = []
    for fraction in FRACTIONS[:1] if quick else FRACTIONS:
        for name, (low, high, least) in TABLES.items():
            seeds = [0] if quick else choose_seeds("limits", f"{name}, {fraction:.0%}", SEEDS)
            if not seeds:
                continue
            found = np.array([_cell(name, fraction, low, high, seed, quick) for seed in seeds])
            plain, ours = found.mean(0)
            ratio = ours[0] / plain[0]
            text = (
                f"CRPS {ratio:.3f} of Gaussian ({ours[0]:.4f} / {plain[0]:.4f}; "
                f"{ours[0] / plain[1]:.3f} of Gaussian clipped), "
                f"error {ours[2] / plain[2]:.3f}, 90% intervals inside the limits {ours[3]:.3f} ({plain[3]:.3f}), "
                f"P(at limit) {ours[4]:.3f} where {ours[5]:.3f} came ({plain[4]:.3f})"
            )
            before = [known("limits before", f"{name}, {fraction:.0%}, seed {seed}") for seed in seeds]
            if all(before):
                crps_before = np.mean([scores[0] for scores in before if scores])
                text += f"; CRPS {ours[0] / crps_before:.3f} of that of b121af5 ({crps_before:.4f})"
            asked = f"CRPS <= {1 - least / 100:.2f} of b121af5" if least else "CRPS <= 1.01"
            lines.append(
                Line(f"{name}, {fraction:.0%}, {len(found)} seed{'s' * (len(found) > 1)}", text, asked)
            )
    return lines


def _cell(
    name: str, fraction: float, low: float | None, high: float | None, seed: int, quick: bool
) -> list[list[float]]:
    if quick:
        return _compare(name, fraction, low, high, seed)
    key = f"{name}, {fraction:.0%}, seed {seed}"
    return remember("limits", key, lambda: _compare(name, fraction, low, high, seed))


Triples = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, columns, values


def _compare(
    name: str, fraction: float, low: float | None, high: float | None, seed: int
) -> list[list[float]]:
    shape, train, test = split(name, fraction, seed)
    data = maxentry.Observations.of(train, shape=shape)
    found = []
    for limited in (False, True):
        options = {"limits": (low, high)} if limited else {}
        p = maxentry.complete(data, seed=seed, progress=False, threads=1, **options)
        draws, noise_sd = p.belief.at(*test[:2]), np.sqrt(p.belief.noise_var)
        found.append(score_limits(draws, noise_sd, test[2], (low, high), seed, clipped=limited))
    return found


def split(name: str, fraction: float, seed: int) -> tuple[tuple[int, int], Triples, Triples]:
    """The shape of a table, what is known of it, and what is tested."""
    M = matrices.load(name, seed)
    rows, cols = np.nonzero(~np.isnan(M))
    order = np.random.default_rng([seed, round(1000 * fraction), 14]).permutation(rows.size)
    n, values = round(fraction * M.size), M[rows, cols]
    train, test = order[:n], order[n : n + MOST_TESTED]
    return M.shape, (rows[train], cols[train], values[train]), (rows[test], cols[test], values[test])


def score_limits(
    x: np.ndarray, noise_sd: np.ndarray, y: np.ndarray, limits: tuple[float | None, float | None], seed: int,
    clipped: bool,
) -> list[float]:  # fmt: skip
    """CRPS (of clipped predictions or not), CRPS clipped, error, coverage inside, P(at a limit), and what came."""
    low, high = limits
    ends = (-np.inf if low is None else low, np.inf if high is None else high)
    noise = np.random.default_rng(seed).standard_normal((COPIES, *x.shape))
    new = (x + noise_sd[:, None] * noise).reshape(-1, y.size)
    within = np.clip(new, *ends)
    inside = (y > ends[0]) & (y < ends[1])
    bottom, top = np.quantile(new, [0.05, 0.95], axis=0)
    covered = np.mean((bottom <= y) & (y <= top), where=inside)
    at_limit = np.mean((new <= ends[0]) | (new >= ends[1]))
    error = np.sqrt(np.mean((within.mean(0) - y) ** 2))
    shown = within if clipped else new
    scores = [crps(shown, y), crps(within, y), error, covered, at_limit, 1 - inside.mean()]
    return [round(float(x), 6) for x in scores]
