"""The public functions, each one call on a posterior or a campaign, and the `Plot` that they return."""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.plots import charts, heatmaps, matplotlib, plotly
from maxentry.plots.records import Record
from maxentry.plots.subject import Subject
from maxentry.summary.error_curve import POINTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as PlotlyFigure

    from maxentry.campaign.campaign import Campaign
    from maxentry.posterior.posterior import Posterior

    Source = Posterior | Campaign

PRINT, SCREEN = (".png", ".pdf", ".svg"), (".html",)


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """Shows itself in a notebook; `.save("map.png")`, `.matplotlib()` and `.plotly()` elsewhere.

    record: what is shown, as plain data.
    """

    record: Record

    def matplotlib(self) -> Figure:
        """A matplotlib figure, for print."""
        return matplotlib.draw(self.record)

    def plotly(self) -> PlotlyFigure:
        """A plotly figure, for the screen: zoom, and names and numbers under the pointer."""
        return plotly.draw(self.record)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a file: .png, .pdf or .svg by matplotlib, .html (one file that needs no other) by plotly."""
        file = Path(path)
        kind = file.suffix.lower()
        if kind in PRINT:
            self.matplotlib().savefig(file, dpi=matplotlib.DPI)
        elif kind in SCREEN:
            file.write_text(self.plotly().to_html(include_plotlyjs=True), encoding="utf-8")
        else:
            known = ", ".join((*PRINT, *SCREEN))
            raise ParameterError(f"expected a file that ends in one of {known}, got {file.name!r}.")
        return file

    def __repr__(self) -> str:
        note = f" ({self.record.note})" if self.record.note else ""
        return f"<Plot: {self.record.title}{note}>"

    def _repr_png_(self) -> bytes | None:
        image = io.BytesIO()
        try:
            self.matplotlib().savefig(image, format="png", dpi=110)
        except MissingDependencyError:  # a notebook then shows the repr
            return None
        return image.getvalue()


def observed(source: Source, *, order: heatmaps.Order = None, unit: str = "") -> Plot:
    """Which entries were measured, and their values; where cells stand for many entries, the share measured."""
    return Plot(heatmaps.observed(Subject.check(source, unit), order))


def mean(source: Source, *, order: heatmaps.Order = None, unit: str = "") -> Plot:
    """The completed matrix: the posterior mean of every entry, dots where measured.

    order: "clustered" puts rows and columns that are alike beside each other.
    unit: what values are measured in ("% yield"), for the colour bar.

    Rows and columns beyond 200 are put together in cells, whose averages are shown.
    """
    return Plot(heatmaps.mean(Subject.check(source, unit), order))


def sd(source: Source, *, order: heatmaps.Order = None, unit: str = "") -> Plot:
    """How far each entry may be off: the posterior standard deviation, without the noise of a measurement."""
    return Plot(heatmaps.sd(Subject.check(source, unit), order))


def width(source: Source, *, level: float = 0.9, order: heatmaps.Order = None, unit: str = "") -> Plot:
    """The width of the interval that holds each entry with probability `level`."""
    return Plot(heatmaps.width(Subject.check(source, unit), order, level))


def next_batch(campaign: Campaign, n: int = 8, *, order: heatmaps.Order = None, unit: str = "") -> Plot:
    """The n entries that `ask` would hand out next (nothing is asked for), and what is pending, on the map."""
    return Plot(heatmaps.next_batch(Subject.check(campaign, unit), n, order))


def history(campaign: Campaign, *, points: int = POINTS, unit: str = "") -> Plot:
    """The expected error as measurements came in, how far off predictions were, and the pace of asking and telling.

    points: how many points the curve of the expected error has, a fit each the first time; 0: none.
    """
    return Plot(charts.history(Subject.check(campaign, unit), points))


def singular_values(source: Source, *, level: float = 0.9, unit: str = "") -> Plot:
    """The singular values of the low-rank part, with intervals."""
    return Plot(charts.singular_values(Subject.check(source, unit), level))


def coherence(source: Source, *, level: float = 0.9) -> Plot:
    """Which rows and columns are unlike the others: their coherence with the low-rank part, highest first."""
    return Plot(charts.coherence(Subject.check(source), level))


def calibration(source: Source, held_out: Any = None, *, level: float = 0.9, unit: str = "") -> Plot:
    """Are intervals right: values against their intervals, and coverage by level.

    held_out: values that were not fitted, in any form that `complete` takes. Without them, a campaign is judged by the
    predictions it made before entries were measured, and a posterior by the values it was fitted to.
    """
    return Plot(charts.calibration(Subject.check(source, unit), held_out, level))


def trace(source: Source, *, unit: str = "") -> Plot:
    """The chains of the sampler: noise, overall mean and leading singular value."""
    return Plot(charts.trace(Subject.check(source, unit)))


def rhat(source: Source) -> Plot:
    """R-hat of all monitored quantities, group by group."""
    return Plot(charts.rhat(Subject.check(source)))
