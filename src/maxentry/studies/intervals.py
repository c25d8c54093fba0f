"""Estimates over replicates with their 90% intervals (Student's t)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]

LEVEL = 0.9  # of the intervals over replicates


class Interval(NamedTuple):
    """An estimate and its 90% interval over replicates; the ends are NaN for a single replicate."""

    value: float
    low: float
    high: float
    replicates: int

    @property
    def known(self) -> bool:
        """Whether there were replicates enough for an interval."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def mean_interval(values: Array, level: float = LEVEL) -> Interval:
    """The mean with Student's t interval."""
    k = len(values)
    centre = float(np.mean(values)) if k else np.nan
    if k < 2:
        return Interval(centre, np.nan, np.nan, k)
    half = float(stats.t.ppf((1 + level) / 2, k - 1) * np.std(values, ddof=1) / np.sqrt(k))
    return Interval(centre, centre - half, centre + half, k)


def ratio_interval(values: Array, base: Array, level: float = LEVEL) -> Interval:
    """Ratio of the means of paired replicates of what is not negative, with the t interval of its logarithm.

    log(mean(values) / mean(base)) varies as the mean of (values - ratio * base) / mean(values). Errors are skewed, and
    the interval of the ratio itself would go below 0, and miss larger ratios twice as often as smaller ones.
    """
    over, under = (float(np.mean(x)) if len(x) else np.nan for x in (values, base))
    if not under > 0:  # nothing to compare with
        return Interval(np.nan, np.nan, np.nan, len(values))
    ratio = over / under
    if ratio == 0:
        return Interval(0.0, 0.0, 0.0, len(values)) if len(values) > 1 else Interval(0.0, np.nan, np.nan, 1)
    rest = mean_interval((values - ratio * base) / over, level)
    # The mean is 0 but for rounding: only the ends count.
    low, high = ratio * np.exp([rest.low, rest.high])
    return Interval(ratio, float(low), float(high), rest.replicates)
