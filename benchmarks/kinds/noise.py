"""Entries that are not exactly low rank: what intervals cover with a known noise, duplicates, or neither."""

import os

import numpy as np
from benchmarks.checks import Line

import maxentry

SEEDS = int(os.environ.get("KINDS_SEEDS", "20"))
SHAPE, RANK, SHARE, TWICE = (60, 40), 2, 0.3, 0.1
DEVIATION, NOISE = 0.5, 0.3  # sd of an entry's own deviation, and of a measurement


def known_noise(quick: bool) -> list[Line]:
    """Coverage of 90% intervals of entries t = pattern + own deviation, not measured and measured."""
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(2 if quick else SEEDS):
        for name, covered in _compare(seed).items():
            found.setdefault(name, []).append(covered)
    asked = {"noise_sd given": "0.88 to 0.92", "duplicates of 10%": "0.88 to 0.92"}
    lines = []
    for name, covered in found.items():
        mean, error = np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(len(covered))
        each = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)]
        text = f"{each[0]} of entries not measured, {each[1]} of measured ones"
        lines.append(
            Line(f"{name}: 90% intervals cover, {len(covered)} tables", text, asked.get(name, "said"))
        )
    return lines


def _compare(seed: int) -> dict[str, tuple[float, float]]:
    rng = np.random.default_rng([seed, 14])
    (m1, m2) = SHAPE
    pattern = rng.standard_normal((m1, RANK)) @ rng.standard_normal((RANK, m2))
    T = pattern + rng.standard_normal((m1, 1)) + DEVIATION * rng.standard_normal(SHAPE)
    measured = rng.permutation(T.size)[: round(SHARE * T.size)]
    again = np.concatenate([measured, measured[: round(TWICE * measured.size)]])
    found = {}
    for name, which, options in (
        ("noise_sd given", measured, {"noise_sd": NOISE}),
        ("duplicates of 10%", again, {}),
        ("neither", measured, {}),
    ):
        rows, cols = np.divmod(which, m2)
        values = T[rows, cols] + NOISE * np.random.default_rng([seed, 15]).standard_normal(which.size)
        p = maxentry.complete(
            (rows, cols, values), shape=SHAPE, seed=seed, threads=1, progress=False, **options
        )
        low, high = p.interval(0.9)
        inside, known = (low <= T) & (high >= T), np.isin(np.arange(T.size), measured).reshape(SHAPE)
        found[name] = (float(inside[~known].mean()), float(inside[known].mean()))
    print(f"  {seed} {found}", flush=True)
    return found
