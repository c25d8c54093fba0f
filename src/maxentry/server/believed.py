"""Cells of a map from draws in factors, in bounded time and memory: no map of the whole matrix is formed.

Means are exact: over a cell, the mean of a product of factors is the product of their means. Spreads, widths, and means
of what was modelled on another scale are averages over entries of the cell: over all of them while there are few, else
over some, evenly spread. The share of entries that was looked at is told.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.belief import Belief
from maxentry.plots.bins import Bins, averaged, part
from maxentry.posterior import intervals
from maxentry.posterior.posterior import Posterior
from maxentry.transform import NONE

Array = NDArray[np.float64]
What = Literal["mean", "sd", "width"]
# Draws of entries that one map may look at, where fewer will do: a second at most, and half of one for quantiles.
WORK: dict[What, float] = {"mean": 4e8, "sd": 4e8, "width": 2e7}


class Cells(NamedTuple):
    """The cells of a map, and the share of the window's entries that they were made from."""

    values: Array
    share: float


def cells(found: Posterior, what: What, rows: Bins, cols: Bins, level: float) -> Cells:
    """What is believed of each cell: means, or root mean squares of standard deviations and widths."""
    belief, transform = found.belief, found.transform
    if what == "mean" and transform == NONE:
        return Cells(pooled(belief, rows, cols).mean(), 1.0)
    each = looked_at(rows, cols, WORK[what] / belief.n_draws)
    (row_at, row_starts), (col_at, col_starts) = rows.picked(each), cols.picked(each)
    some = part(belief, row_at, col_at)
    share = len(row_at) * len(col_at) / (len(rows.order) * len(cols.order))
    if what == "width":
        low, high = intervals.interval_map(some, level, None, transform)
        return Cells(np.sqrt(averaged((high - low) ** 2, row_starts, col_starts)), share)
    mean = intervals.mean_map(some, transform)
    if what == "mean":
        return Cells(averaged(mean, row_starts, col_starts), share)
    variance = intervals.sd_map(some, mean, transform) ** 2
    return Cells(np.sqrt(averaged(variance, row_starts, col_starts)), share)


def pooled(belief: Belief, rows: Bins, cols: Bins) -> Belief:
    """The belief about the means over cells: its factors are those of the rows and columns, averaged."""
    return Belief(
        _means(belief.left, rows),
        _means(belief.right, cols),
        _means(belief.row, rows),
        _means(belief.col, cols),
        belief.mu,
        belief.noise_var,
    )


def looked_at(rows: Bins, cols: Bins, entries: float) -> int:
    """How many rows and columns of each cell to look at, so that there are at most so many entries; at least one."""
    few, many = 1, int(max(rows.sizes.max(), cols.sizes.max()))
    while few < many:
        each = (few + many + 1) // 2
        picked = np.minimum(rows.sizes, each).sum() * np.minimum(cols.sizes, each).sum()
        few, many = (each, many) if picked <= entries else (few, each - 1)
    return few


def _means(factors: NDArray[np.floating], bins: Bins) -> NDArray[np.floating]:
    """Means over the cells along the second axis."""
    first, last = int(bins.order[0]), int(bins.order[-1]) + 1
    window = factors[:, first:last]
    if bins.n == last - first:
        return window
    sums = np.add.reduceat(window, bins.edges[:-1], axis=1, dtype=np.float64)
    means: Array = sums / bins.sizes.reshape(-1, *(1,) * (factors.ndim - 2))
    return means
