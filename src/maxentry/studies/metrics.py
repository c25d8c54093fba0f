"""What a study measures: each strategy against uniform sampling, over replicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from maxentry.studies.curves import Array as Array
from maxentry.studies.curves import Curves as Curves
from maxentry.studies.curves import Measure as Measure
from maxentry.studies.curves import Study as Study
from maxentry.studies.curves import by_cost as by_cost
from maxentry.studies.curves import by_entries as by_entries
from maxentry.studies.curves import gather as gather
from maxentry.studies.curves import paired as paired
from maxentry.studies.curves import strategies_of as strategies_of
from maxentry.studies.intervals import Interval as Interval
from maxentry.studies.intervals import mean_interval as mean_interval
from maxentry.studies.intervals import ratio_interval as ratio_interval

BASELINE = "uniform"
# The paper's sampler is compared with uniform sampling judged by it. Others that bring an estimate of their own have no
# such partner: their ratios mix choice and estimate (`notes.own_estimates`).
OWN_BASELINE = {"papers_maxent": "papers_uniform", "papers_balanced": "papers_uniform"}
DEFAULT = "predictive_variance"  # how campaigns choose unless told otherwise


class Reached(NamedTuple):
    """What it took to have uniform's final error: median and quartiles over replicates, inf if it never did."""

    median: float
    low: float
    high: float
    uniform: float  # what uniform itself took until it first had it, median over replicates
    replicates: int


def quartiles(values: Array) -> tuple[Array, Array, Array]:
    """Mean, and 25% and 75% quantiles, over replicates."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    return values.mean(axis=0), low, high


def start_ratio(curves: Curves, base: Curves) -> Interval:
    """Error after the initial entries, as a ratio to the baseline's."""
    curves, base = paired(curves, base)
    return ratio_interval(curves.at(0), base.at(0))


def end_ratio(curves: Curves, base: Curves, measure: Measure = "error") -> Interval:
    """Error where the first of both ended, as a ratio to the baseline's: at equal numbers of entries, or equal cost.

    By cost it is where the first of all strategies ended, so that strategies can be compared with each other;
    replicates in which one of both began only after that are left out.
    """
    curves, base = paired(curves, base)
    ends = _ends(curves, base)
    values, others = _values_at(curves, ends, measure), _values_at(base, ends, measure)
    both = np.isfinite(values) & np.isfinite(others)
    return ratio_interval(values[both], others[both])


def _ends(curves: Curves, base: Curves) -> Array:
    """Up to where replicates are compared."""
    ends = np.minimum(curves.at(-1, curves.spent), base.at(-1, curves.spent))
    return np.minimum(ends, curves.ends) if curves.by_cost else ends


def at_common_cost(curves: Curves, measure: Measure = "error") -> Array:
    """A measure of every replicate of a case by cost, where the first of all strategies ended; NaN if not begun."""
    return _values_at(curves, np.array(curves.ends), measure)


def _values_at(curves: Curves, spent: Array, measure: Measure) -> Array:
    tracks = zip(spent, curves.tracks(curves.spent), curves.tracks(measure), strict=True)
    # A run that ended there was looked at there, perhaps twice: its last look counts. Before the first look: NaN.
    return np.array(
        [y[-1] if x[-1] <= end else np.interp(end, x, y, left=np.nan) for end, x, y in tracks], dtype=float
    )


def unobserved_ratio(curves: Curves, base: Curves) -> Interval:
    """The same over what was not measured."""
    return end_ratio(curves, base, "error_unobserved")


def area_ratio(curves: Curves, base: Curves) -> Interval:
    """Area under the error curve, as a ratio to the baseline's, over the range that both went through."""
    curves, base = paired(curves, base)
    starts = np.maximum(curves.at(0, curves.spent), base.at(0, curves.spent))
    spans = list(zip(starts.tolist(), _ends(curves, base).tolist(), strict=True))
    return ratio_interval(_heights(curves, spans), _heights(base, spans))


def _heights(curves: Curves, spans: list[tuple[float, float]]) -> Array:
    tracks = zip(curves.tracks(curves.spent), curves.tracks(), spans, strict=True)
    return np.array([_height(x, error, span) for x, error, span in tracks])


def _height(x: Array, y: Array, span: tuple[float, float]) -> float:
    """Mean of a curve over an interval (trapezoids)."""
    low, high = span
    if high <= low:
        return float(np.interp(low, x, y))
    grid = np.concatenate([[low], x[(x > low) & (x < high)], [high]])
    return float(np.trapezoid(np.interp(grid, x, y), grid) / (high - low))


def first_reach(x: Array, error: Array, target: float) -> float:
    """The first x at which the error is at most `target`, linear between looks; inf if it never is."""
    below = np.flatnonzero(error <= target)
    if not below.size:
        return np.inf
    k = int(below[0])
    if k == 0:
        return float(x[0])
    share = (error[k - 1] - target) / (error[k - 1] - error[k])
    return float(x[k - 1] + share * (x[k] - x[k - 1]))


def to_reach(curves: Curves, base: Curves, spent: Measure = "n") -> Reached:
    """Entries (or cost) until the error is the baseline's at the end of the same replicate.

    The baseline, too, is taken where it first had that error: errors go up and down from look to look, and the first
    time below a bound against the last look would let anything seem quicker, a copy of the baseline too.
    """
    curves, base = paired(curves, base)
    if not curves.runs:
        return Reached(np.nan, np.nan, np.nan, np.nan, 0)
    low, median, high = _first_reaches(curves, base.at(-1), spent)
    return Reached(median, low, high, _first_reaches(base, base.at(-1), spent)[1], len(curves.runs))


def _first_reaches(curves: Curves, targets: Array, spent: Measure) -> tuple[float, float, float]:
    """Quartiles over replicates."""
    tracks = zip(curves.tracks(spent), curves.tracks(), targets, strict=True)
    took = [first_reach(x, error, target) for x, error, target in tracks]
    # Order statistics: the mean of two neighbours would be inf if one of them never got there.
    low, median, high = (float(q) for q in np.quantile(took, [0.25, 0.5, 0.75], method="inverted_cdf"))
    return low, median, high


def coverage(curves: Curves) -> Array:
    """Share of unobserved entries inside their 90% intervals, mean over replicates, along the way; NaN without any."""
    shares = curves.along("coverage")[1]
    known = np.isfinite(shares)
    counted = np.where(known, shares, 0.0).sum(axis=0), known.sum(axis=0)
    return np.where(counted[1] > 0, counted[0] / np.maximum(counted[1], 1), np.nan)


def has_intervals(curves: Curves) -> bool:
    """Whether the estimate came with intervals."""
    return any(bool(np.isfinite(shares).any()) for shares in curves.tracks("coverage"))


def seconds_per_ask(curves: Curves, measure: Measure = "seconds") -> float:
    """Mean over replicates and over looks after the initial entries, whose ask needs no model."""
    later = [values[1:] if len(values) > 1 else values for values in curves.tracks(measure)]
    values = np.concatenate(later) if later else np.array([])
    asked = values[np.isfinite(values) & (values > 0)]  # 0: a last look with nothing left to ask
    return float(asked.mean()) if asked.size else np.nan


def baseline(by: dict[str, Curves], strategy: str) -> Curves | None:
    """Uniform sampling, judged by the strategy's own estimate where it has one; None without runs of it."""
    return by.get(OWN_BASELINE.get(strategy, BASELINE))


def against_uniform(
    study: Study, case: str, measure: Callable[[Curves, Curves], Interval]
) -> dict[str, Interval]:
    """A ratio of every strategy on a case to its baseline."""
    found = {}
    for strategy, curves in study[case].items():
        base = baseline(study[case], strategy)
        if base is not None and base.strategy != strategy:
            found[strategy] = measure(curves, base)
    return found


def geometric_mean(ratios: Sequence[float]) -> float:
    """Over matrices: a half and a double cancel."""
    return float(np.exp(np.mean(np.log(ratios)))) if len(ratios) else np.nan
