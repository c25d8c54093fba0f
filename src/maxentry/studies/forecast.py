"""How long cells will take: as their like have taken, or else in proportion to how much they have to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.studies.case import Cell
from maxentry.studies.record import Run

Kind = tuple[Any, ...]


class Forecast:
    """Expected seconds of cells, better with every run that it has seen."""

    def __init__(self, past: Iterable[Run] = ()) -> None:
        self._seen: defaultdict[Kind, list[float]] = defaultdict(list)
        self._seconds = self._work = 0.0
        for run in past:
            self.saw(run)

    @property
    def experienced(self) -> bool:
        """Whether it has seen any run; before that, its seconds are only proportions."""
        return bool(self._seen)

    def saw(self, run: Run) -> None:
        """Learn from a run."""
        size = _size(run.identity)
        self._seen[run.case, run.strategy, *size].append(run.wall_s)
        self._seconds += run.wall_s
        self._work += _work(run.strategy, *size)

    def seconds(self, cell: Cell) -> float:
        """What this cell may take."""
        size = _size(vars(cell.case))
        seen = self._seen.get((cell.case.name, cell.strategy, *size))
        if seen:
            return sum(seen) / len(seen)
        rate = self._seconds / self._work if self._work else 1.0
        return rate * _work(cell.strategy, *size)

    def left(self, cells: Iterable[Cell], workers: int) -> float:
        """Seconds until these are done, so many at a time: no less than the longest."""
        each = [self.seconds(cell) for cell in cells]
        return max(sum(each) / workers, max(each, default=0.0))


def _size(case: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return case["initial"], case["batch"], case["budget"], case["looks"]


def _work(strategy: str, initial: int, batch: int, budget: int, looks: int) -> float:
    """A rough measure: posteriors that are needed, times what goes into them."""
    from maxentry.studies.strategies import STRATEGIES

    rule, batches = STRATEGIES.get(strategy), -(-budget // batch)  # None: one that an older version had
    by_chance = rule is not None and rule.policy is None and rule.acquisition in WITHOUT_MODEL
    return float(min(looks, batches + 1) if by_chance else batches + 1) * (initial + budget)
