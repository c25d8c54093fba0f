"""Maps in tiles: a window of the matrix, binned where it has more cells than are wanted."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.state import State
from maxentry.entries import Entries
from maxentry.errors import ParameterError
from maxentry.plots.bins import Bins
from maxentry.posterior.posterior import Posterior
from maxentry.server import believed
from maxentry.server.believed import Cells
from maxentry.server.json import encode_labels as labels

Array = NDArray[np.float64]
What = Literal["mean", "sd", "width", "value", "observed", "pending", "failed", "available"]
KEPT = 16  # tiles of a campaign


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
        return _starts(self.rows, self.cells), _starts(self.cols, self.cells)

    def sides(self) -> tuple[Bins, Bins]:
        """The rows and the columns in their bins."""
        rows, cols = self.bins()
        return _bins(self.rows, rows), _bins(self.cols, cols)


class Recent:
    """The tiles of what is believed that were made last: several look at the same map, and at it again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, ...], tuple[Posterior, Cells]] = OrderedDict()
        self._turn = threading.Lock()

    def cells(self, found: Posterior, what: believed.What, window: Window, level: float) -> Cells:
        """The cells of this map; one is made at a time, however many want it."""
        key = id(found), what, window, level if what == "width" else None
        with self._turn:
            # The posterior is kept beside its tile, so that no other one can have its id.
            kept = self._kept.pop(key, None) or (found, believed.cells(found, what, *window.sides(), level))
            self._kept[key] = kept
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept[1]

    def forget(self) -> None:
        """Let go of them, and of the posteriors that they are of."""
        with self._turn:
            self._kept.clear()


def of_posterior(
    found: Posterior, what: believed.What, window: Window, level: float, recent: Recent | None = None
) -> dict[str, Any]:
    """A map of what is believed; cells are means, or root mean squares of standard deviations and widths."""
    values, share = (recent or Recent()).cells(found, what, window, level)
    return _described(what, values, window, share)


def of_state(state: State, what: What, window: Window, pending: Entries) -> dict[str, Any]:
    """A map of what was told (means), how often, what is pending or failed (counts), what can be measured (shares)."""
    if what == "available":
        return _described(what, _available(state, window), window)
    told = {"pending": pending, "failed": state.barred}.get(what, state.told)
    count = _gathered(told, np.ones(len(told.rows)), window)
    if what != "value":
        return _described(what, count, window)
    total = _gathered(told, state.values, window)
    return _described(what, np.where(count > 0, total / np.maximum(count, 1.0), np.nan), window)


def _available(state: State, window: Window) -> Array:
    """The share of each cell that may be asked for: of the settings' mask, less what failed."""
    rows, cols = window.sides()
    given, barred = state.settings.mask, state.barred
    size = rows.sizes[:, None] * cols.sizes
    may = size.astype(np.float64)
    if given is not None:
        ends = zip(rows.order[rows.edges[:-1]], rows.order[rows.edges[1:] - 1] + 1, strict=True)
        across = [given[first:last, slice(*window.cols)].sum(axis=0) for first, last in ends]
        may = np.add.reduceat(np.array(across, dtype=np.float64), cols.edges[:-1], axis=1)
        inside = given[barred.rows, barred.cols]
        barred = Entries(barred.rows[inside], barred.cols[inside])
    share: Array = (may - _gathered(barred, np.ones(len(barred.rows)), window)) / size
    return share


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


def _described(what: What, cells: Array, window: Window, share: float = 1.0) -> dict[str, Any]:
    rows, cols = window.bins()
    known = np.isfinite(cells)
    binned = len(rows) < window.rows[1] - window.rows[0] or len(cols) < window.cols[1] - window.cols[0]
    return {
        "what": what,
        "rows": list(window.rows),
        "cols": list(window.cols),
        "row_starts": rows.tolist(),
        "col_starts": cols.tolist(),
        "binned": binned,
        "share": share,
        "least": float(cells[known].min()) if known.any() else None,
        "greatest": float(cells[known].max()) if known.any() else None,
        "values": cells.tolist() if known.all() else np.where(known, cells, np.array(None)).tolist(),
    }


def _starts(side: tuple[int, int], cells: int) -> NDArray[np.int64]:
    first, last = side
    n = min(cells, last - first)
    return first + (np.arange(n, dtype=np.int64) * (last - first)) // n


def _bins(side: tuple[int, int], starts: NDArray[np.int64]) -> Bins:
    first, last = side
    return Bins(np.arange(first, last, dtype=np.int64), np.append(starts, last) - first)
