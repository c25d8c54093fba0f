"""What a figure shows, as plain data: made from a posterior or a campaign, drawn by matplotlib or by plotly.

There are two kinds, heat maps and charts. They hold the content of a figure and nothing of its look, so that tests can
read them and both libraries draw the same.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from maxentry._types import Array, Indices
from maxentry.plots.style import BLUE, Dashes, Scale
from maxentry.wording import number, shorten

Kind = Literal["measured", "pending", "next", "failed"]
LONGEST = 18  # characters of a label on an axis
NAMED = 12  # words along the colours
NUMBERED = 30  # entries of a next batch that can have their number written in


class AxisLabels(NamedTuple):
    """The rows or the columns of a map: the name of each cell, "A … F" or "A + 5" where it stands for several."""

    title: str
    names: tuple[str, ...]
    of: int  # rows or columns of the matrix

    @property
    def binned(self) -> bool:
        """Whether a cell stands for several."""
        return len(self.names) < self.of

    @property
    def heading(self) -> str:
        """The title, with how many there are where cells stand for several."""
        title = shorten(self.title, LONGEST)
        return f"{title} ({self.of:,})" if self.binned else title

    def ticks(self, most: int) -> range:
        """The cells whose names are written: all, or every so many where there is no space."""
        return range(0, len(self.names), -(-len(self.names) // max(most, 1)))


class Marks(NamedTuple):
    """Cells that are marked, in order, and the text shown when one points at them."""

    kind: Kind
    rows: Indices
    cols: Indices
    said: tuple[str, ...]

    @property
    def numbered(self) -> bool:
        """Whether their numbers are written in."""
        return self.kind == "next" and len(self.rows) <= NUMBERED


class HeatMap(NamedTuple):
    """A matrix in colours; NaN where there is nothing to show."""

    title: str
    note: str
    unit: str  # of the colours
    values: Array
    rows: AxisLabels
    cols: AxisLabels
    scale: Scale
    limits: tuple[float, float]  # values beyond have the colour of the end
    logarithmic: bool = False
    marks: tuple[Marks, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()  # numbers along the colours that stand for words, and these

    def text(self, x: float) -> str:
        """A value in words: that of the number it is, or the number itself."""
        return dict(self.ticks).get(x) or number(x)

    @property
    def named(self) -> tuple[list[float], list[str]]:
        """The places along the colours that are named, and their names; at most so many as there is space for."""
        some = self.ticks[:: -(-len(self.ticks) // NAMED)] if self.ticks else ()
        return [x for x, _ in some], [shorten(name, LONGEST) for _, name in some]


class Series(NamedTuple):
    """Points, or a line through them with gaps at NaN. `low` and `high` are the ends of an interval about each."""

    name: str  # in the legend; none if empty
    x: Array | Sequence[dt.datetime]
    y: Array
    low: Array | None = None
    high: Array | None = None
    kind: Literal["line", "dots", "line and dots", "steps", "band"] = "line"
    color: str = BLUE
    dashes: Dashes = "solid"
    labels: tuple[str, ...] = ()  # shown when one points at a point
    marker: str = ""  # now and then along a line in print, so that lines differ without colours

    def reach(self, *, along_x: bool) -> tuple[Array, Array] | None:
        """How far intervals go below and above their points."""
        if self.low is None or self.high is None:
            return None
        middle = np.asarray(self.x if along_x else self.y, dtype=np.float64)
        return np.clip(middle - self.low, 0, None), np.clip(self.high - middle, 0, None)


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
    log_shares: bool = False  # x is a share, on a logarithmic scale
    y_limits: tuple[float, float] | None = None


class Chart(NamedTuple):
    """Panels side by side. Without any, the note says why."""

    title: str
    note: str
    panels: tuple[Panel, ...]


FigureRecord = HeatMap | Chart


def log_ticks(low: float, high: float) -> list[float]:
    """Round values (1, 2, 5, 10, …) to write along a logarithmic scale, about eight at most."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    inside = [x for k in decades for m in (1, 2, 5) if low <= (x := float(f"{m}e{k}")) <= high]
    return inside[:: -(-len(inside) // 8)] if len(inside) > 1 else [float(f"{x:.3g}") for x in (low, high)]
