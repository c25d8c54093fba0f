"""Values at a limit of detection or of time, as limits and as if they were measured."""

import os

import numpy as np
from benchmarks import matrices
from benchmarks.checks import Line
from benchmarks.kinds.scores import choose_seeds, crps, remember

import maxentry
from maxentry import Observations

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
            asked = f"CRPS <= {1 - least / 100:.2f}" if least else "CRPS <= 1.01"
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


def _compare(
    name: str, fraction: float, low: float | None, high: float | None, seed: int
) -> list[list[float]]:
    M = matrices.load(name, seed)
    rows, cols = np.nonzero(~np.isnan(M))
    order = np.random.default_rng([seed, round(1000 * fraction), 14]).permutation(rows.size)
    n = round(fraction * M.size)
    train, test = order[:n], order[n : n + MOST_TESTED]
    values = M[rows, cols]
    data = Observations.of((rows[train], cols[train], values[train]), shape=M.shape)
    ends = (-np.inf if low is None else low, np.inf if high is None else high)
    found = []
    for given in (None, (low, high)):
        options = {} if given is None else {"limits": given}
        p = maxentry.complete(data, seed=seed, progress=False, threads=1, **options)
        x, y = p.belief.at(rows[test], cols[test]), values[test]
        noise = np.random.default_rng(seed).standard_normal((COPIES, *x.shape))
        new = (x + np.sqrt(p.belief.noise_var)[:, None] * noise).reshape(-1, y.size)
        clipped = np.clip(new, *ends)
        inside = (y > ends[0]) & (y < ends[1])
        bottom, top = np.quantile(new, [0.05, 0.95], axis=0)
        covered = np.mean((bottom <= y) & (y <= top), where=inside)
        at_limit = np.mean((new <= ends[0]) | (new >= ends[1]))
        error = np.sqrt(np.mean((clipped.mean(0) - y) ** 2))
        shown = new if given is None else clipped
        scores = [crps(shown, y), crps(clipped, y), error, covered, at_limit, 1 - inside.mean()]
        found.append([round(float(x), 6) for x in scores])
    return found
