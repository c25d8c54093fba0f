"""What is measured: error curves, and each strategy's ratio to uniform sampling over replicates.

Replicates are paired: the same seed is the same matrix and the same noise for every strategy, so a strategy is compared
with its baseline on the seeds that both have. Intervals are 90% intervals over replicates (Student's t).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from maxentry._types import Array
from maxentry.compare.scenario import OURS, Strategy
from maxentry.compare.store import Run
from maxentry.errors import DataError

Measure = Literal["n", "cost", "error", "error_unobserved", "coverage", "width", "seconds", "cpu"]
Effect = Literal["helps", "no difference shown", "harms", "unknown"]

LEVEL = 0.9  # of the intervals over replicates
GRID = 30  # points of a mean curve whose replicates were looked at after different numbers or costs


class Interval(NamedTuple):
    """An estimate and its 90% interval over replicates. The ends are NaN for a single replicate."""

    value: float
    low: float
    high: float
    replicates: int

    @property
    def known(self) -> bool:
        """Whether there were enough replicates for an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    @property
    def effect(self) -> Effect:
        """What a ratio to uniform's error shows: nothing if the interval contains 1."""
        if not self.known:
            return "unknown"
        if self.high < 1:
            return "helps"
        return "harms" if self.low > 1 else "no difference shown"

    def text(self, digits: int = 2) -> str:
        """Return `0.77 (0.70 to 0.85)`, with a third digit if an end would read as 1.00."""
        if np.isnan(self.value):
            return ""
        if not self.known:
            return f"{self.value:.{digits}f} (one replicate)"
        digits = 3 if "1.00" in (f"{self.low:.2f}", f"{self.high:.2f}") else digits
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


def mean_interval(values: Array, level: float = LEVEL) -> Interval:
    """Return the mean with Student's t interval."""
    k = len(values)
    center = float(np.mean(values)) if k else np.nan
    if k < 2:
        return Interval(center, np.nan, np.nan, k)
    half = float(stats.t.ppf((1 + level) / 2, k - 1) * np.std(values, ddof=1) / np.sqrt(k))
    return Interval(center, center - half, center + half, k)


def ratio_interval(values: Array, base: Array, level: float = LEVEL) -> Interval:
    """Return the ratio of the means of paired non-negative replicates, with the t interval of its logarithm.

    log(mean(values) / mean(base)) varies as the mean of (values - ratio * base) / mean(values). Errors are skewed: the
    interval of the ratio itself would reach below 0, and miss larger ratios twice as often as smaller ones.
    """
    over, under = (float(np.mean(x)) if len(x) else np.nan for x in (values, base))
    if not under > 0:  # nothing to compare with
        return Interval(np.nan, np.nan, np.nan, len(values))
    ratio = over / under
    if ratio == 0:
        return Interval(0.0, 0.0, 0.0, len(values)) if len(values) > 1 else Interval(0.0, np.nan, np.nan, 1)
    rest = mean_interval((values - ratio * base) / over, level)
    low, high = ratio * np.exp([rest.low, rest.high])  # the mean of `rest` is 0 up to rounding
    return Interval(ratio, float(low), float(high), rest.replicates)


# Curves


class Curves(NamedTuple):
    """One strategy on one case, replicates in the order of their seeds."""

    case: str
    strategy: Strategy
    runs: tuple[Run, ...]
    budgets: tuple[float, ...]  # the most that any strategy spent on each replicate
    ends: tuple[float, ...]  # what all strategies spent on each replicate, as a share of that

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the replicates."""
        return tuple(run.seed for run in self.runs)

    @property
    def by_cost(self) -> bool:
        """Whether strategies are compared at equal cost rather than at equal numbers of entries."""
        return bool(self.runs) and self.runs[0].by_cost

    @property
    def spent(self) -> Measure:
        """What the curves are plotted against."""
        return "cost" if self.by_cost else "n"

    @property
    def simulated(self) -> bool:
        """Whether the matrix is simulated."""
        return bool(self.runs) and self.runs[0].identity.get("source", {}).get("kind") == "simulated"

    def select(self, seeds: Sequence[int]) -> Curves:
        """Return only these replicates."""
        at = [k for k, run in enumerate(self.runs) if run.seed in seeds]
        budgets, ends = (tuple(spent[k] for k in at) for spent in (self.budgets, self.ends))
        return self._replace(runs=tuple(self.runs[k] for k in at), budgets=budgets, ends=ends)

    def tracks(self, measure: Measure = "error") -> list[Array]:
        """Return a measure at all looks of every replicate; costs as shares of the budget."""
        tracks = [np.array([getattr(k, measure) for k in run.looks], dtype=float) for run in self.runs]
        if measure == "cost":
            return [costs / budget for costs, budget in zip(tracks, self.budgets, strict=True)]
        return tracks

    def at(self, look: int, measure: Measure = "error") -> Array:
        """Return one look of every replicate: 0 is after the initial entries, -1 at the end."""
        return np.array([track[look] for track in self.tracks(measure)], dtype=float)

    def along(self, measure: Measure = "error") -> tuple[Array, Array]:
        """Return what was spent (points), and the measure (replicates x points).

        If replicates were looked at after different numbers or costs, they are interpolated linearly. A replicate that
        ended before the others stays where it was.
        """
        spent, tracks = self.tracks(self.spent), self.tracks(measure)
        if not self.by_cost and all(np.array_equal(x, spent[0]) for x in spent):
            return spent[0], np.array(tracks)
        low, high = max(float(x[0]) for x in spent), max(float(x[-1]) for x in spent)
        if not self.by_cost or high <= 0:
            grid = np.linspace(low, high, GRID)
        else:  # costs differ by orders of magnitude
            low = low or min(high / 100, *(float(x[x > 0].min(initial=high)) for x in spent))
            grid = np.geomspace(low, high, GRID)
        return grid, np.array([np.interp(grid, x, y) for x, y in zip(spent, tracks, strict=True)])


StudyCurves = dict[str, dict[str, Curves]]  # case -> name of the strategy -> curves


def gather(runs: Iterable[Run], strategies: Iterable[Strategy] = OURS) -> StudyCurves:
    """Group runs by case and strategy, in the order they come. Of the same run twice, the later counts."""
    known = {strategy.name: strategy for strategy in strategies}
    cells: dict[str, dict[str, dict[int, Run]]] = {}
    settings: dict[str, str] = {}
    for run in runs:
        identity = json.dumps(run.identity, sort_keys=True)
        if settings.setdefault(run.case, identity) != identity:
            raise DataError(f"expected runs of one setting for each case, got several for {run.case!r}.")
        cells.setdefault(run.case, {}).setdefault(run.strategy, {})[run.seed] = run
    study: StudyCurves = {}
    for case, by in cells.items():
        costs: dict[int, list[float]] = {}
        for run in (run for by_seed in by.values() for run in by_seed.values()):
            costs.setdefault(run.seed, []).append(run.looks[-1].cost)
        for name, by_seed in by.items():
            seeds = sorted(by_seed)
            budgets = tuple(max(costs[s]) or 1.0 for s in seeds)
            ends = tuple(min(costs[s]) / budget for s, budget in zip(seeds, budgets, strict=True))
            strategy = known.get(name) or Strategy(name, name.replace("_", " "))
            curves = Curves(case, strategy, tuple(by_seed[s] for s in seeds), budgets, ends)
            study.setdefault(case, {})[name] = curves
    return study


def pair(curves: Curves, base: Curves) -> tuple[Curves, Curves]:
    """Return both on the seeds that both have."""
    both = sorted(set(curves.seeds) & set(base.seeds))
    return curves.select(both), base.select(both)


def find_baseline(by: dict[str, Curves], strategy: str) -> Curves | None:
    """Return the curves a strategy is compared with; None without runs of both."""
    return by.get(by[strategy].strategy.baseline) if strategy in by else None


# Ratios to the baseline


def end_ratio(curves: Curves, base: Curves, measure: Measure = "error") -> Interval:
    """Return the ratio of errors where the first of both ended: at equal numbers of entries, or equal cost.

    By cost it is where the first of all strategies ended, so that strategies can be compared with each other.
    Replicates in which one of both began only after that are left out.
    """
    curves, base = pair(curves, base)
    ends = _common_ends(curves, base)
    values, others = _values_at(curves, ends, measure), _values_at(base, ends, measure)
    both = np.isfinite(values) & np.isfinite(others)
    return ratio_interval(values[both], others[both])


def unseen_ratio(curves: Curves, base: Curves) -> Interval:
    """Return the same over the entries not measured."""
    return end_ratio(curves, base, "error_unobserved")


def area_ratio(curves: Curves, base: Curves) -> Interval:
    """Return the ratio of areas under the error curves, over the range that both went through."""
    curves, base = pair(curves, base)
    starts = np.maximum(curves.at(0, curves.spent), base.at(0, curves.spent))
    spans = list(zip(starts.tolist(), _common_ends(curves, base).tolist(), strict=True))

    def heights(these: Curves) -> Array:
        tracks = zip(these.tracks(these.spent), these.tracks(), spans, strict=True)
        return np.array([_mean_height(x, error, *span) for x, error, span in tracks])

    return ratio_interval(heights(curves), heights(base))


def values_at_common_cost(curves: Curves, measure: Measure = "error") -> Array:
    """Return a measure of every replicate where the first of all strategies ended; NaN before the first look."""
    return _values_at(curves, np.array(curves.ends), measure)


def compare_to_baseline(
    by: dict[str, Curves], ratio: Callable[[Curves, Curves], Interval] = end_ratio
) -> dict[str, Interval]:
    """Return a ratio of every strategy of a case to its baseline."""
    pairs = {name: (curves, find_baseline(by, name)) for name, curves in by.items()}
    return {
        name: ratio(curves, base)
        for name, (curves, base) in pairs.items()
        if base is not None and base.strategy.name != name
    }


def _common_ends(curves: Curves, base: Curves) -> Array:
    """Return up to where replicates are compared."""
    ends = np.minimum(curves.at(-1, curves.spent), base.at(-1, curves.spent))
    return np.minimum(ends, curves.ends) if curves.by_cost else ends


def _values_at(curves: Curves, spent: Array, measure: Measure) -> Array:
    tracks = zip(spent, curves.tracks(curves.spent), curves.tracks(measure), strict=True)
    # A run that ended there has a look there, perhaps two: its last look counts. Before the first look: NaN.
    return np.array(
        [y[-1] if x[-1] <= end else np.interp(end, x, y, left=np.nan) for end, x, y in tracks], dtype=float
    )


def _mean_height(x: Array, y: Array, low: float, high: float) -> float:
    """Return the mean of a curve over an interval (trapezoids)."""
    if high <= low:
        return float(np.interp(low, x, y))
    grid = np.concatenate([[low], x[(x > low) & (x < high)], [high]])
    return float(np.trapezoid(np.interp(grid, x, y), grid) / (high - low))


# Entries or cost to reach uniform's final error; coverage; time


class Reach(NamedTuple):
    """Entries or cost until uniform's final error: median and quartiles over replicates, inf if never reached."""

    median: float
    low: float
    high: float
    uniform: float  # until uniform first had that error itself, median over replicates


def reach(curves: Curves, base: Curves, spent: Measure = "n") -> Reach:
    """Return the entries (or cost) until the error is the baseline's at the end of the same replicate.

    The baseline, too, counts from where it first had that error. Errors go up and down from look to look: comparing a
    first time with the last look would make a copy of the baseline seem quicker.
    """
    curves, base = pair(curves, base)
    if not curves.runs:
        return Reach(np.nan, np.nan, np.nan, np.nan)

    def quartiles(these: Curves) -> list[float]:
        tracks = zip(these.tracks(spent), these.tracks(), base.at(-1), strict=True)
        reached = [first_reach(x, error, target) for x, error, target in tracks]
        # Order statistics: the mean of two neighbours would be inf if one of them never got there.
        return [float(q) for q in np.quantile(reached, [0.25, 0.5, 0.75], method="inverted_cdf")]

    low, median, high = quartiles(curves)
    return Reach(median, low, high, quartiles(base)[1])


def first_reach(x: Array, error: Array, target: float) -> float:
    """Return the first x at which the error is at most `target`, linear between looks; inf if it never is."""
    below = np.flatnonzero(error <= target)
    if not below.size:
        return np.inf
    k = int(below[0])
    if k == 0:
        return float(x[0])
    share = (error[k - 1] - target) / (error[k - 1] - error[k])
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def coverage(curves: Curves) -> Array:
    """Return the share of unobserved entries inside their 90% intervals at each look, mean over replicates.

    NaN where no replicate has intervals.
    """
    shares = curves.along("coverage")[1]
    known = np.isfinite(shares)
    total, count = np.where(known, shares, 0.0).sum(axis=0), known.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def seconds_per_ask(curves: Curves, measure: Measure = "seconds") -> float:
    """Return the mean over replicates and looks after the initial entries, whose ask needs no model."""
    later = [values[1:] if len(values) > 1 else values for values in curves.tracks(measure)]
    values = np.concatenate(later) if later else np.array([])
    asks = values[np.isfinite(values) & (values > 0)]  # 0: a last look with nothing left to ask
    return float(asks.mean()) if asks.size else np.nan
