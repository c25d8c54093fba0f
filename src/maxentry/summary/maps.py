"""Maps of a matrix in cells: the numbers behind every heat map, on paper, in the report and on the dashboard.

A large matrix is binned: a cell stands for several rows and columns. Nothing here forms the m1 x m2 array.

Posterior means of cells are exact, since the mean of a product of factors over a cell is the product of their means.
Standard deviations, interval widths, and means of values modelled on another scale are averages over the entries of a
cell: over all of them while they are few, else over a sample that is evenly spread. `Cells.share` says how large it is.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._types import Array, Indices
from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError
from maxentry.posterior.intervals import interval_map, mean_map, sd_map

if TYPE_CHECKING:
    from maxentry.campaign.state import State
    from maxentry.posterior.posterior import Posterior

PosteriorMap = Literal["mean", "sd", "width"]
StateMap = Literal["value", "observed", "pending", "failed", "available"]
MapName = Literal[PosteriorMap, StateMap]

MOST_CELLS = 200  # on a side of a figure
CACHED_MAPS = 16  # of one campaign
# Draws of entries evaluated for one map, where a sample will do: at most a second of work, half of one for quantiles.
WORK: dict[PosteriorMap, float] = {"mean": 4e8, "sd": 4e8, "width": 2e7}
SAMPLED_ENTRIES = 4e6  # however few draws there are: 32 MB


# Cells


class Bins(NamedTuple):
    """Rows (or columns) in cells: cell k holds order[edges[k]:edges[k + 1]]."""

    order: Indices
    edges: Indices

    @classmethod
    def split(cls, order: Indices, most: int = MOST_CELLS) -> Bins:
        """At most so many cells of nearly equal size, of rows in this order."""
        n = min(len(order), most)
        return cls(np.asarray(order, dtype=np.int64), (np.arange(n + 1) * len(order)) // n)

    @property
    def n(self) -> int:
        """How many cells."""
        return len(self.edges) - 1

    @property
    def sizes(self) -> Indices:
        """How many rows each cell holds."""
        return np.diff(self.edges)

    @property
    def binned(self) -> bool:
        """Whether a cell stands for several rows."""
        return self.n < len(self.order)

    def cells_at(self, rows: Indices) -> Indices:
        """The cell of each of these rows; -1 for a row that is in none."""
        cells = np.full(max(self.order.max(initial=0), rows.max(initial=0)) + 1, -1, dtype=np.int64)
        cells[self.order] = np.repeat(np.arange(self.n), self.sizes)
        return cells[rows]

    def sample(self, each: int) -> tuple[Indices, Indices]:
        """At most `each` rows of every cell, evenly spread, cell after cell; and where each cell begins."""
        count = np.minimum(self.sizes, each)
        starts = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64)
        within = np.arange(count.sum()) - np.repeat(starts, count)
        size, n = np.repeat(self.sizes, count), np.repeat(count, count)
        places = np.repeat(self.edges[:-1], count) + ((within + 0.5) * size / n).astype(np.int64)
        return self.order[places], starts


class Window(NamedTuple):
    """A window of the matrix: first and last (excluded) row, the same of columns, and at most so many cells a side."""

    rows: tuple[int, int]
    cols: tuple[int, int]
    cells: int

    @classmethod
    def select(
        cls, shape: tuple[int, int], row: int, rows: int | None, col: int, cols: int | None, cells: int
    ) -> Window:
        """The window of so many rows and columns, beginning at (row, col); None: up to the end."""
        sides = []
        for name, size, first, n in (("row", shape[0], row, rows), ("column", shape[1], col, cols)):
            if not 0 <= first < size:
                raise ParameterError(f"expected a first {name} from 0 to {size - 1}, got {first}.")
            sides.append((first, size if n is None else min(size, first + n)))
        return cls(sides[0], sides[1], cells)

    def bins(self) -> tuple[Bins, Bins]:
        """The rows and the columns in cells."""
        return Bins.split(np.arange(*self.rows), self.cells), Bins.split(np.arange(*self.cols), self.cells)


class BinnedMap(NamedTuple):
    """The cells of one window; NaN where there is nothing to show."""

    what: MapName
    window: Window
    values: Array
    share: float = 1.0  # of the entries that was evaluated

    def to_dict(self) -> dict[str, Any]:
        """As plain data: None for NaN."""
        rows, cols = self.window.bins()
        finite = np.isfinite(self.values)
        return {
            "what": self.what,
            "rows": list(self.window.rows),
            "cols": list(self.window.cols),
            "row_starts": rows.order[rows.edges[:-1]].tolist(),
            "col_starts": cols.order[cols.edges[:-1]].tolist(),
            "binned": rows.binned or cols.binned,
            "share": self.share,
            "least": float(self.values[finite].min()) if finite.any() else None,
            "greatest": float(self.values[finite].max()) if finite.any() else None,
            "values": np.where(finite, self.values, np.array(None)).tolist(),
        }


# What is believed


class Cells(NamedTuple):
    """The values of cells, and the share of the entries that they were computed from."""

    values: Array
    share: float


def posterior_cells(
    posterior: Posterior, what: PosteriorMap, rows: Bins, cols: Bins, level: float = 0.9, least: int = 1
) -> Cells:
    """The mean of each cell, or the root mean square of its standard deviations or interval widths.

    level: the probability of the intervals. least: evaluate at least so many rows and columns of each cell.
    """
    belief, answers = posterior.belief, posterior.answers
    if what == "mean" and answers.plain:
        return Cells(_pool(belief, rows, cols).mean(), 1.0)
    each = max(least, sample_size(rows, cols, min(WORK[what] / belief.n_draws, SAMPLED_ENTRIES)))
    (row_at, row_starts), (col_at, col_starts) = rows.sample(each), cols.sample(each)
    sample, answers = restrict(belief, row_at, col_at), answers.restrict(row_at, col_at)
    share = len(row_at) * len(col_at) / (len(rows.order) * len(cols.order))
    if what == "width":
        low, high = interval_map(sample, level, answers)
        values = (high - low) ** 2
    else:
        values = mean_map(sample, answers)
        values = values if what == "mean" else sd_map(sample, values, answers) ** 2
    means = cell_means(values, row_starts, col_starts)
    return Cells(means if what == "mean" else np.sqrt(means), share)


def posterior_map(posterior: Posterior, what: PosteriorMap, window: Window, level: float) -> BinnedMap:
    """A window of a posterior's mean, standard deviation or interval width."""
    return BinnedMap(what, window, *posterior_cells(posterior, what, *window.bins(), level))


class MapCache:
    """The maps of a campaign's posterior that were used last. Threads share it, and each map is computed once.

    They are those of one posterior, the last one that was shown: the draws of others would fill the memory.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._posterior: Posterior | None = None
        self._compute = lru_cache(CACHED_MAPS)(posterior_map)

    def __len__(self) -> int:
        return self._compute.cache_info().currsize

    def posterior_map(
        self, posterior: Posterior, what: PosteriorMap, window: Window, level: float
    ) -> BinnedMap:
        """The map, from the cache or computed; one is computed at a time, however many clients want it."""
        with self._lock:
            if posterior is not self._posterior:
                self._compute.cache_clear()
                self._posterior = posterior
            return self._compute(posterior, what, window, level if what == "width" else 0.0)

    def clear(self) -> None:
        """Drop the maps, and the posteriors they belong to."""
        with self._lock:
            self._compute.cache_clear()
            self._posterior = None


def sample_size(rows: Bins, cols: Bins, entries: float) -> int:
    """How many rows and columns of each cell can be evaluated with at most so many entries; at least one."""
    low, high = 1, int(max(rows.sizes.max(), cols.sizes.max()))
    while low < high:
        each = (low + high + 1) // 2
        total = np.minimum(rows.sizes, each).sum() * np.minimum(cols.sizes, each).sum()
        low, high = (each, high) if total <= entries else (low, each - 1)
    return low


def restrict(belief: Belief, rows: Indices, cols: Indices) -> Belief:
    """The belief about some rows and columns."""
    left, right = belief.left[:, rows], belief.right[:, cols]
    return Belief(left, right, belief.row[:, rows], belief.col[:, cols], belief.mu, belief.noise_var)


def cell_means(values: Array, row_starts: Indices, col_starts: Indices) -> Array:
    """Means over cells that begin at these rows and columns."""
    sums = np.add.reduceat(np.add.reduceat(values, row_starts, axis=0), col_starts, axis=1)
    heights = np.diff(np.append(row_starts, values.shape[0]))
    widths = np.diff(np.append(col_starts, values.shape[1]))
    means: Array = sums / (heights[:, None] * widths)
    return means


def _pool(belief: Belief, rows: Bins, cols: Bins) -> Belief:
    """The belief about the means of cells: its factors are the mean factors of their rows and columns."""
    left, right = _pool_factors(belief.left, rows), _pool_factors(belief.right, cols)
    row, col = _pool_factors(belief.row, rows), _pool_factors(belief.col, cols)
    return Belief(left, right, row, col, belief.mu, belief.noise_var)


def _pool_factors(factors: NDArray[np.floating], bins: Bins) -> NDArray[np.floating]:
    """Means over cells along the second axis, in double precision, draw by draw to save memory."""
    if not bins.binned:
        first, last = int(bins.order[0]), int(bins.order[-1]) + 1
        in_order = np.array_equal(bins.order, np.arange(first, last))
        return factors[:, first:last] if in_order else factors[:, bins.order]  # a view, where one will do
    means = np.empty((len(factors), bins.n, *factors.shape[2:]))
    for draw, mean in zip(factors, means, strict=True):
        np.add.reduceat(draw[bins.order], bins.edges[:-1], axis=0, dtype=np.float64, out=mean)
    means /= bins.sizes.reshape(-1, *(1,) * (factors.ndim - 2))
    return means


# What was measured


def state_map(state: State, what: StateMap, window: Window, pending: Entries) -> BinnedMap:
    """A window of a campaign without its posterior.

    "value": the mean of the measured values. "observed", "pending", "failed": how many there are in each cell.
    "available": the share of entries that may be asked for, by the mask and by what failed.
    """
    rows, cols = window.bins()
    if what == "available":
        return BinnedMap(what, window, _available(state, rows, cols))
    entries = {"pending": pending, "failed": state.barred}.get(what, state.told)
    count = sum_entries(entries, np.ones(len(entries.rows)), rows, cols)
    if what != "value":
        return BinnedMap(what, window, count)
    return BinnedMap(what, window, mean_values(entries, state.values, rows, cols))


def mean_values(entries: Entries, values: Array, rows: Bins, cols: Bins) -> Array:
    """The mean of the values measured in each cell; NaN where there are none."""
    count = sum_entries(entries, np.ones(len(values)), rows, cols)
    return np.where(count > 0, sum_entries(entries, values, rows, cols) / np.maximum(count, 1.0), np.nan)


def sum_entries(entries: Entries, weights: Array, rows: Bins, cols: Bins) -> Array:
    """The sum of the weights of the entries in each cell."""
    i, j = rows.cells_at(entries.rows), cols.cells_at(entries.cols)
    inside = (i >= 0) & (j >= 0)
    cells = i[inside] * cols.n + j[inside]
    sums = np.bincount(cells, weights[inside], minlength=rows.n * cols.n)
    return sums.reshape(rows.n, cols.n).astype(np.float64)


def _available(state: State, rows: Bins, cols: Bins) -> Array:
    """The share of each cell that may be asked for: what the mask allows, less what failed."""
    mask, barred = state.settings.mask, state.barred
    size = (rows.sizes[:, None] * cols.sizes).astype(np.float64)
    allowed = size
    if mask is not None:
        by_row = [mask[np.ix_(rows.order[a:b], cols.order)].sum(axis=0) for a, b in pairwise(rows.edges)]
        allowed = np.add.reduceat(np.array(by_row, dtype=np.float64), cols.edges[:-1], axis=1)
        inside = mask[barred.rows, barred.cols]
        barred = Entries(barred.rows[inside], barred.cols[inside])
    share: Array = (allowed - sum_entries(barred, np.ones(len(barred.rows)), rows, cols)) / size
    return share
