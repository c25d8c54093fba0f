"""Rows or columns in the order shown, put together in cells where there are too many to see.

A matrix of any size has at most `MOST` x `MOST` cells. Means and spreads of a cell are those of a few of its entries,
evenly spread, so that no map of the whole matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.belief import Belief
from maxentry.plots.records import Array, Indices, Side

MOST = 200  # cells of a side
EACH = 3  # rows (and columns) of a cell that are looked at


class Bins(NamedTuple):
    """Cell k holds order[edges[k]:edges[k + 1]]."""

    order: Indices
    edges: Indices

    @property
    def n(self) -> int:
        """How many cells."""
        return len(self.edges) - 1

    @property
    def sizes(self) -> Indices:
        """How many rows or columns are in each."""
        return np.diff(self.edges)

    @property
    def cell_of(self) -> Indices:
        """The cell of each row or column."""
        cells = np.empty(len(self.order), dtype=np.int64)
        cells[self.order] = np.repeat(np.arange(self.n), self.sizes)
        return cells

    def picked(self, each: int = EACH) -> tuple[Indices, Indices]:
        """At most `each` of every cell, evenly spread, one cell after another; and where each cell begins."""
        taken = np.minimum(self.sizes, each)
        starts = np.concatenate([[0], np.cumsum(taken)[:-1]])
        within = np.arange(taken.sum()) - np.repeat(starts, taken)
        width, count = np.repeat(self.sizes, taken), np.repeat(taken, taken)
        place = np.repeat(self.edges[:-1], taken) + ((within + 0.5) * width / count).astype(np.int64)
        return self.order[place], starts.astype(np.int64)

    def side(self, title: str, labels: Sequence[Any] | None) -> Side:
        """The names of the cells: "A … F" where rows are in their own order, "A + 5" where they are in another."""
        in_order = bool((np.diff(self.order) > 0).all())

        def name(k: int) -> str:
            i = int(self.order[k])
            return text(i if labels is None else labels[i])

        def several(first: int, last: int) -> str:
            return f"{name(first)} … {name(last - 1)}" if in_order else f"{name(first)} + {last - first - 1}"

        ends = zip(self.edges[:-1], self.edges[1:], strict=True)
        names = (name(first) if last == first + 1 else several(first, last) for first, last in ends)
        return Side(title, tuple(names), len(self.order))


def bins(m: int, order: Indices | None = None, most: int = MOST) -> Bins:
    """m rows or columns in cells of nearly equal size, at most so many."""
    n = min(m, most)
    edges = (np.arange(n + 1) * m) // n
    return Bins(np.arange(m) if order is None else np.asarray(order, dtype=np.int64), edges.astype(np.int64))


def part(belief: Belief, rows: Indices, cols: Indices) -> Belief:
    """The belief about these rows and columns."""
    return Belief(
        belief.left[:, rows],
        belief.right[:, cols],
        belief.row[:, rows],
        belief.col[:, cols],
        belief.mu,
        belief.noise_var,
    )


def averaged(values: Array, row_starts: Indices, col_starts: Indices) -> Array:
    """Means over the cells that begin at these rows and columns."""
    sums = np.add.reduceat(np.add.reduceat(values, row_starts, axis=0), col_starts, axis=1)
    heights = np.diff(np.append(row_starts, values.shape[0]))
    widths = np.diff(np.append(col_starts, values.shape[1]))
    means: Array = sums / (heights[:, None] * widths)
    return means


def counted(keys: NDArray[np.int64], shape: tuple[int, int], rows: Bins, cols: Bins) -> Array:
    """How many of these entries (as keys i m2 + j) are in each cell."""
    cell = rows.cell_of[keys // shape[1]] * cols.n + cols.cell_of[keys % shape[1]]
    return np.bincount(cell, minlength=rows.n * cols.n).reshape(rows.n, cols.n).astype(np.float64)


def text(label: Any) -> str:
    """A label in one line."""
    return " ".join(str(label).split()) or "''"
