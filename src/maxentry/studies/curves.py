"""Error curves: the runs of a study by case and strategy, replicates side by side.

Replicates are paired: the same seed is the same matrix and the same noise for every strategy, so a strategy is
compared with uniform on the seeds that both have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError
from maxentry.studies.record import Run

Array = NDArray[np.float64]
Measure = Literal["n", "cost", "error", "error_unobserved", "coverage", "width", "seconds", "cpu"]

GRID = 30  # points of a mean curve whose replicates were looked at after different numbers or costs


class Curves(NamedTuple):
    """One strategy on one case, replicates in the order of their seeds."""

    case: str
    strategy: str
    runs: tuple[Run, ...]
    budgets: tuple[float, ...]  # the most that any strategy spent on each replicate
    ends: tuple[float, ...]  # what all strategies spent on each replicate, as a share of that

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the replicates."""
        return tuple(run.seed for run in self.runs)

    @property
    def by_cost(self) -> bool:
        """Whether strategies are compared at equal cost rather than at equal numbers of entries."""
        return bool(self.runs) and self.runs[0].by_cost

    @property
    def spent(self) -> Measure:
        """What curves go by."""
        return "cost" if self.by_cost else "n"

    @property
    def simulated(self) -> bool:
        """Whether the matrix is."""
        return bool(self.runs) and self.runs[0].identity.get("source", {}).get("kind") == "simulated"

    def of(self, seeds: Sequence[int]) -> Curves:
        """Only these replicates."""
        kept = [k for k, run in enumerate(self.runs) if run.seed in seeds]
        budgets, ends = (tuple(spent[k] for k in kept) for spent in (self.budgets, self.ends))
        return self._replace(runs=tuple(self.runs[k] for k in kept), budgets=budgets, ends=ends)

    def tracks(self, measure: Measure = "error") -> list[Array]:
        """A measure at all looks of every replicate; costs as shares of its budget."""
        found = [np.array([getattr(k, measure) for k in run.looks], dtype=float) for run in self.runs]
        if measure == "cost":
            return [costs / budget for costs, budget in zip(found, self.budgets, strict=True)]
        return found

    def at(self, look: int, measure: Measure = "error") -> Array:
        """One look of every replicate: 0 is after the initial entries, -1 at the end."""
        return np.array([track[look] for track in self.tracks(measure)], dtype=float)

    def along(self, measure: Measure = "error") -> tuple[Array, Array]:
        """What was spent (points), and the measure (replicates x points).

        Where replicates were looked at after different numbers or costs, they are taken linear in between; one that
        ended before the others had nothing left to ask for, and stays where it was.
        """
        spent, tracks = self.tracks(self.spent), self.tracks(measure)
        if not self.by_cost and all(np.array_equal(x, spent[0]) for x in spent):
            return spent[0], np.array(tracks)
        grid = self._grid(spent)
        return grid, np.array([np.interp(grid, x, y) for x, y in zip(spent, tracks, strict=True)])

    def _grid(self, spent: list[Array]) -> Array:
        """From where all have begun to where all have ended; costs by equal factors, since they differ by orders."""
        low, high = max(float(x[0]) for x in spent), max(float(x[-1]) for x in spent)
        if not self.by_cost or high <= 0:
            return np.linspace(low, high, GRID)
        low = low or min(high / 100, *(float(x[x > 0].min(initial=high)) for x in spent))
        return np.geomspace(low, high, GRID)


Study = dict[str, dict[str, Curves]]  # case -> strategy -> curves


def gather(runs: Iterable[Run]) -> Study:
    """Runs by case and strategy, in the order they come; of the same run twice, the later."""
    cells: dict[str, dict[str, dict[int, Run]]] = {}
    settings: dict[str, str] = {}
    for run in runs:
        identity = json.dumps(run.identity, sort_keys=True)
        if settings.setdefault(run.case, identity) != identity:
            raise DataError(f"expected runs of one setting for each case, but {run.case!r} has several.")
        if run.looks:
            cells.setdefault(run.case, {}).setdefault(run.strategy, {})[run.seed] = run
    return {
        case: {s: _curves(case, s, by, _spent(strategies)) for s, by in strategies.items()}
        for case, strategies in cells.items()
    }


def _curves(case: str, strategy: str, by_seed: dict[int, Run], spent: dict[int, list[float]]) -> Curves:
    seeds = sorted(by_seed)
    budgets = tuple(max(spent[s]) or 1.0 for s in seeds)
    ends = tuple(min(spent[s]) / budget for s, budget in zip(seeds, budgets, strict=True))
    return Curves(case, strategy, tuple(by_seed[s] for s in seeds), budgets, ends)


def _spent(strategies: dict[str, dict[int, Run]]) -> dict[int, list[float]]:
    """What each strategy spent on each replicate: campaigns end when nothing is left that they can pay."""
    found: dict[int, list[float]] = {}
    for by_seed in strategies.values():
        for seed, run in by_seed.items():
            found.setdefault(seed, []).append(run.looks[-1].cost)
    return found


def paired(curves: Curves, base: Curves) -> tuple[Curves, Curves]:
    """Both on the seeds that both have."""
    both = sorted(set(curves.seeds) & set(base.seeds))
    return curves.of(both), base.of(both)


def strategies_of(study: Study) -> list[str]:
    """All strategies, in the order they come."""
    return list(dict.fromkeys(strategy for by in study.values() for strategy in by))


def by_entries(study: Study) -> Study:
    """The cases compared at equal numbers of entries."""
    return {case: by for case, by in study.items() if not any(curves.by_cost for curves in by.values())}


def by_cost(study: Study) -> Study:
    """The cases compared at equal cost."""
    return {case: by for case, by in study.items() if case not in by_entries(study)}
