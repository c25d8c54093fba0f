"""What is to be seen, as plain data: made from a posterior or a campaign, drawn by matplotlib or by plotly.

There are two kinds, maps and charts. They hold what a figure shows and nothing of how: a test can look at them, and
both drawings say the same.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.plots.colours import BLUE, Scale

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Kind = Literal["measured", "pending", "next", "failed"]


class Side(NamedTuple):
    """The rows or the columns of a map: the name of each cell, "A … F" or "A + 5" where it stands for several."""

    title: str
    names: tuple[str, ...]
    of: int  # how many rows or columns the matrix has

    @property
    def binned(self) -> bool:
        """Whether a cell stands for several."""
        return len(self.names) < self.of


class Marks(NamedTuple):
    """Cells that are marked, in order; what is said of each where there is a pointer to ask with."""

    kind: Kind
    rows: Indices
    cols: Indices
    said: tuple[str, ...]


class HeatMap(NamedTuple):
    """A matrix in colours; NaN where there is nothing to show."""

    title: str
    note: str
    unit: str  # what the colours say
    values: Array
    rows: Side
    cols: Side
    scale: Scale
    limits: tuple[float, float]  # values beyond have the colour of the end
    logarithmic: bool = False
    marks: tuple[Marks, ...] = ()

    @property
    def binned(self) -> bool:
        """Whether a cell stands for several entries."""
        return self.rows.binned or self.cols.binned


class Series(NamedTuple):
    """Points, or a line through them; gaps where NaN. `low` and `high` are the ends of an interval about each."""

    name: str  # in the legend; none if empty
    x: Array | Sequence[dt.datetime]
    y: Array
    low: Array | None = None
    high: Array | None = None
    kind: Literal["line", "dots", "line and dots", "steps", "band"] = "line"
    color: str = BLUE
    dashes: Literal["solid", "dashed", "dotted"] = "solid"
    labels: tuple[str, ...] = ()  # said of each point where there is a pointer to ask with


class Panel(NamedTuple):
    """One pair of axes. With `names`, y counts them from the top, and intervals lie along x."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    names: tuple[str, ...] = ()
    from_zero: bool = False  # the y axis (with names: the x axis)
    unit_square: bool = False  # both axes from 0 to 1
    whole: bool = False  # x counts from 1
    logarithmic: bool = False  # both axes


class Chart(NamedTuple):
    """Panels side by side. Without any, the note says why."""

    title: str
    note: str
    panels: tuple[Panel, ...]


Record = HeatMap | Chart


def limits(values: Array) -> tuple[float, float]:
    """The least and the greatest value; where a few lie far out, where the bulk of them ends."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    bulk_low, bulk_high = (float(q) for q in np.quantile(known, [0.01, 0.99]))
    if bulk_high > bulk_low and high - low > 3 * (bulk_high - bulk_low):
        low, high = bulk_low, bulk_high
    if low == high:
        room = 0.5 * abs(low) or 0.5
        return low - room, high + room
    return low, high
