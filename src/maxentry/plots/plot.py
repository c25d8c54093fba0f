"""A plot: what is to be seen, and the ways to see it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.plots import printed, screen
from maxentry.plots.records import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as PlotlyFigure

PRINTED = (".png", ".pdf", ".svg")
SCREEN = (".html",)


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """Shows itself in a notebook; `.save("map.png")`, `.matplotlib()` and `.plotly()` elsewhere.

    record: what is shown, as plain data.
    """

    record: Record

    def matplotlib(self) -> Figure:
        """A matplotlib figure, for print."""
        return printed.figure(self.record)

    def plotly(self) -> PlotlyFigure:
        """A plotly figure, for the screen: zoom, and names and numbers under the pointer."""
        return screen.figure(self.record)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a file: .png, .pdf or .svg by matplotlib, .html (one file that needs nothing else) by plotly."""
        file = Path(path)
        kind = file.suffix.lower()
        if kind in PRINTED:
            self.matplotlib().savefig(file, dpi=printed.DPI)
        elif kind in SCREEN:
            file.write_text(self.plotly().to_html(include_plotlyjs=True), encoding="utf-8")
        else:
            known = ", ".join((*PRINTED, *SCREEN))
            raise ParameterError(f"expected a file that ends in one of {known}, but {file.name!r} came.")
        return file

    def __repr__(self) -> str:
        note = f" ({self.record.note})" if self.record.note else ""
        return f"<Plot: {self.record.title}{note}>"

    def _repr_png_(self) -> bytes | None:
        made = io.BytesIO()
        try:
            self.matplotlib().savefig(made, format="png", dpi=110)
        except MissingDependencyError:  # a notebook then shows the words of the repr
            return None
        return made.getvalue()
