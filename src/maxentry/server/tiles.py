"""Maps in tiles: a window of the matrix, binned where it has more cells than are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.state import State
from maxentry.entries import Entries
from maxentry.errors import ParameterError
from maxentry.posterior.posterior import Posterior
from maxentry.server.plain import labels, plain

Array = NDArray[np.float64]
What = Literal["mean", "sd", "width", "value", "observed", "pending", "available"]
OF_POSTERIOR: tuple[What, ...] = ("mean", "sd", "width")
WHATS: tuple[What, ...] = get_args(What)


class Window(NamedTuple):
    """Rows first to last (not included), columns the same, and how many cells at most a side."""

    rows: tuple[int, int]
    cols: tuple[int, int]
    cells: int

    @classmethod
    def of(
        cls, shape: tuple[int, int], row: int, rows: int | None, col: int, cols: int | None, cells: int
    ) -> Window:
        """The window of so many rows and columns from this one on (None: all that are left)."""
        sides = []
        for name, size, first, n in (("row", shape[0], row, rows), ("column", shape[1], col, cols)):
            if not 0 <= first < size:
                raise ParameterError(f"expected a first {name} from 0 to {size - 1}, but {first} came.")
            sides.append((first, size if n is None else min(size, first + n)))
        return cls(sides[0], sides[1], cells)

    def bins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the bins of rows and of columns begin."""
        return _bins(self.rows, self.cells), _bins(self.cols, self.cells)


def of_posterior(found: Posterior, what: What, window: Window, level: float) -> dict[str, Any]:
    """A map of what is believed; cells are means, or root mean squares of standard deviations and widths."""
    if what == "mean":
        return _tile(what, found.mean, window, _mean)
    if what == "sd":
        return _tile(what, found.sd, window, _root_mean_square)
    low, high = found.interval(level)
    return _tile(what, high - low, window, _root_mean_square)


def of_state(state: State, what: What, window: Window, pending: Entries) -> dict[str, Any]:
    """A map of what was told (means), how often, what is pending (counts), or what can be measured (shares)."""
    if what == "available":
        if state.mask is None:
            rows, cols = window.bins()
            return _described(what, np.ones((len(rows), len(cols))), window)
        return _tile(what, state.mask.astype(np.float64), window, _mean)
    told = state.told if what in ("value", "observed") else pending
    count = _gathered(told, np.ones(len(told.rows)), window)
    if what != "value":
        return _described(what, count, window)
    total = _gathered(told, state.values, window)
    return _described(what, np.where(count > 0, total / np.maximum(count, 1.0), np.nan), window)


def _gathered(entries: Entries, weights: Array, window: Window) -> Array:
    """Sums of weights of entries in each cell, without a map of the whole matrix."""
    (first, last), (left, right) = window.rows, window.cols
    inside = (first <= entries.rows) & (entries.rows < last) & (left <= entries.cols) & (entries.cols < right)
    rows, cols = window.bins()
    i = np.searchsorted(rows, entries.rows[inside], side="right") - 1
    j = np.searchsorted(cols, entries.cols[inside], side="right") - 1
    cells = np.zeros((len(rows), len(cols)))
    np.add.at(cells, (i, j), weights[inside])
    return cells


def with_labels(tile: dict[str, Any], state: State, window: Window) -> dict[str, Any]:
    """The tile with the label of each cell's first row and column."""
    rows, cols = window.bins()
    known = {
        "row_labels": labels([state.row_labels[int(i)] for i in rows if i < len(state.row_labels)]),
        "col_labels": labels([state.col_labels[int(j)] for j in cols if j < len(state.col_labels)]),
    }
    return tile | known


def _tile(what: What, matrix: Array, window: Window, join: Callable[..., Array]) -> dict[str, Any]:
    rows, cols = window.bins()
    part = matrix[window.rows[0] : window.rows[1], window.cols[0] : window.cols[1]]
    return _described(what, join(part, rows - window.rows[0], cols - window.cols[0]), window)


def _described(what: What, cells: Array, window: Window) -> dict[str, Any]:
    rows, cols = window.bins()
    known = cells[np.isfinite(cells)]
    binned = len(rows) < window.rows[1] - window.rows[0] or len(cols) < window.cols[1] - window.cols[0]
    return {
        "what": what,
        "rows": list(window.rows),
        "cols": list(window.cols),
        "row_starts": rows.tolist(),
        "col_starts": cols.tolist(),
        "binned": binned,
        "least": float(known.min()) if known.size else None,
        "greatest": float(known.max()) if known.size else None,
        "values": plain(cells),
    }


def _bins(side: tuple[int, int], cells: int) -> NDArray[np.int64]:
    first, last = side
    n = min(cells, last - first)
    return first + (np.arange(n, dtype=np.int64) * (last - first)) // n


def _sum(part: Array, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
    summed: Array = np.add.reduceat(np.add.reduceat(part, rows, axis=0), cols, axis=1)
    return summed


def _mean(part: Array, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
    """Of what is there; NaN where nothing is."""
    known = np.isfinite(part)
    count = _sum(known.astype(np.float64), rows, cols)
    total = _sum(np.where(known, part, 0.0), rows, cols)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _root_mean_square(part: Array, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Array:
    return np.sqrt(_mean(part**2, rows, cols))
