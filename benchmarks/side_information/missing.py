"""Rows without a measurement where features are missing: do 90% intervals hold, with all features and without some?"""

import warnings

import numpy as np
import pandas as pd
from benchmarks.checks import Check, Line

import maxentry

ROWS, COLD, COLS, SEEDS = 140, 40, 20, 16
SHARES = (0.0, 0.04, 0.12, 0.3)


def table(seed: int, missing: float) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """X, what is measured of it, and features of which this share is missing (see the page)."""
    rng = np.random.default_rng([61, seed])
    numbers, solvent, flag = (
        rng.standard_normal((ROWS, 4)),
        rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1]),
        rng.random(ROWS) < 0.06,
    )
    level = numbers[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_normal((4, 3))[solvent]
    level += flag[:, None] * 1.5 * rng.standard_normal(3) + 0.4 * rng.standard_normal((ROWS, 3))
    X = level[:, [2]] + level[:, :2] @ rng.standard_normal((2, COLS)) + 0.7 * rng.standard_normal(COLS)
    Y = np.where(rng.random(X.shape) < 0.35, X + 0.3 * rng.standard_normal(X.shape), np.nan)
    Y[-COLD:] = np.nan
    F = pd.DataFrame(numbers, columns=["s1", "s2", "z1", "z2"])
    F["solvent"] = np.array(["THF", "DMF", "MeCN", "DMSO"], object)[solvent]
    F["flag"] = flag.astype(object)
    F = F.mask(rng.random(F.shape) < missing)
    return X, Y, F.assign(solvent=F["solvent"].astype("category"))


def missing(quick: bool) -> list[Line]:
    """Share of the entries of rows without a measurement in their 90% intervals, by what the rows lack."""
    lines = []
    for share in SHARES[:2] if quick else SHARES:
        held: dict[str, list[float]] = {
            "all": [],
            "that have all their features": [],
            "that lack one which matters": [],
        }
        for seed in range(2 if quick else SEEDS):
            X, Y, F = table(seed, share)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                posterior = maxentry.complete(Y, rank=2, row_features=F, seed=seed, threads=1, progress=False)
            low, high = posterior.arrays.interval(0.9)
            inside = ((low <= X) & (high >= X)).mean(axis=1)[-COLD:]
            cold = F[-COLD:]
            groups = [
                np.ones(COLD, bool),
                ~cold.isna().any(axis=1),
                cold[["s1", "s2", "solvent"]].isna().any(axis=1),
            ]
            for found, group in zip(held.values(), groups, strict=True):
                found += inside[np.asarray(group)].tolist()
        for what, found in held.items():
            if found:
                asked = "0.88 to 0.92" if what == "all" else ""
                value = (
                    f"{np.mean(found):.3f} ± {np.std(found) / np.sqrt(len(found)):.3f} ({len(found)} rows)"
                )
                lines.append(
                    Line(f"{share:.0%} of the cells missing: 90% intervals of rows {what} hold", value, asked)
                )
    return lines


CHECKS: dict[str, Check] = {"missing": missing}
