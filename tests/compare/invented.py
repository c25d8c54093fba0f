"""Runs made up for the tests of reports: errors that fall as they are told to."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxentry.compare.store import Look, Run

LOOKS = (30, 40, 50, 60, 70, 80)
SIMULATED = {"source": {"kind": "simulated", "shape": [30, 30], "rank": 3}, "spend": None}
REAL = {"source": {"kind": "data", "dataset": "jester"}, "spend": None}


def made(
    errors: Sequence[float],
    *,
    case: str = "sim30",
    strategy: str = "uniform",
    seed: int = 0,
    n: Sequence[int] = LOOKS,
    cost: Sequence[float] | None = None,
    coverage: Sequence[float] | float = 0.9,
    identity: dict[str, Any] = SIMULATED,
    seconds: float = 0.1,
    law: int = 1,
) -> Run:
    """A run with these errors."""
    covered = [coverage] * len(errors) if isinstance(coverage, float) else coverage
    spent = n if cost is None else cost
    looks = tuple(
        Look(int(k), float(c), float(e), 1.1 * float(e), float(p), 1.5, seconds, seconds)
        for k, c, e, p in zip(n, spent, errors, covered, strict=True)
    )
    return Run(law, case, identity, strategy, seed, (30, 30), 900, 1.0, looks, 1.0, 1.0)


def many(
    strategy: str,
    end: float,
    *,
    replicates: int = 10,
    noise: float = 0.02,
    start: float = 1.0,
    shape: Callable[[float], float] = lambda t: t,
    **other: Any,
) -> list[Run]:
    """Replicates whose error goes from `start` to about `end`; the seed's difficulty is common to all strategies."""
    n = other.get("n", LOOKS)
    t = np.array([shape((k - n[0]) / (n[-1] - n[0])) for k in n])
    runs = []
    for seed in range(replicates):
        hard = np.random.default_rng(seed).normal(scale=0.03)
        own = np.random.default_rng([seed, *strategy.encode()]).normal(scale=noise)
        runs.append(made(start + (end + hard + own - start) * t, strategy=strategy, seed=seed, **other))
    return runs
