"""The two ends of a figure: the posterior or campaign that it is of (`Subject`), and what users get (`Plot`)."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maxentry._types import Array, Flags, Indices
from maxentry.belief import Entries
from maxentry.errors import CampaignError, MissingDependencyError, ParameterError, is_whole
from maxentry.plots import matplotlib, plotly
from maxentry.plots.records import FigureRecord
from maxentry.transform import NONE, Transform
from maxentry.wording import one_line, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as PlotlyFigure

    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.ledger.tables import Ask
    from maxentry.campaign.policy import Batch
    from maxentry.campaign.state import State
    from maxentry.model.likelihood import Likelihood
    from maxentry.posterior.posterior import Posterior

    Source: TypeAlias = "Posterior | Campaign | Subject"

PRINT, SCREEN = (".png", ".pdf", ".svg"), (".html",)


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """Shows itself in a notebook; `.save("map.png")`, `.matplotlib()` and `.plotly()` elsewhere.

    record: what is shown, as plain data.
    """

    record: FigureRecord

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


def plain_values(posterior: Posterior) -> Flags:
    """Which observations of a posterior are plain values, not limits, ranges or values at the ends of the scale."""
    said = posterior.fit.likelihood.statements(posterior.observations)
    return np.ones(said.n, dtype=bool) if said.low is None else np.asarray(said.low == said.high)


@dataclass(frozen=True, eq=False)
class Subject:
    """What figures need of a posterior or a campaign. A campaign's state is read once, so that all figures agree."""

    shape: tuple[int, int]
    transform: Transform  # the scale of the model
    measured: Entries
    values: Array  # of the measured entries, in the user's units
    row_labels: Sequence[Any] | None  # None where there are only positions
    col_labels: Sequence[Any] | None
    axis_titles: tuple[str, str]
    unit: str  # of the values
    source: Posterior | tuple[Campaign, State]
    batches: dict[int, Batch] = field(default_factory=dict)  # the next ones, by size

    @classmethod
    def check(cls, source: Any, unit: str = "") -> Subject:
        """The subject of a posterior or a campaign; anything else is refused."""
        from maxentry.campaign.campaign import Campaign
        from maxentry.posterior.posterior import Posterior

        if isinstance(source, Subject):
            return source
        if not isinstance(unit, str):
            raise ParameterError(f"expected unit to be text, got {show(unit)}.")
        if isinstance(source, Posterior):
            return cls.from_posterior(source, unit)
        if not isinstance(source, Campaign):
            raise ParameterError(f"expected a Posterior or a Campaign, got a {type(source).__name__}.")
        state = source.state
        return cls(
            state.shape, Transform.parse(state.settings.transform), state.told, state.values, state.row_labels,
            state.col_labels, ("rows", "columns"), unit, (source, state),
        )  # fmt: skip

    @classmethod
    def from_posterior(cls, posterior: Posterior, unit: str = "") -> Subject:
        """The subject of a posterior, whose axes are called as in the frame that was fitted."""
        data = posterior.observations
        names = (data.row_name, "rows"), (data.col_name, "columns")
        rows, cols = (
            usual if name in (None, "row", "col", "column") else one_line(name) for name, usual in names
        )
        return cls(
            posterior.shape, posterior.transform, Entries.from_lists(data.rows, data.cols), data.values,
            data.row_labels, data.col_labels, (rows, cols), unit, posterior,
        )  # fmt: skip

    @property
    def likelihood(self) -> Likelihood:
        """What a measurement says of its entry."""
        return (
            self.source[1].settings.likelihood
            if isinstance(self.source, tuple)
            else self.source.answers.likelihood
        )

    @property
    def has_numbers(self) -> bool:
        """Whether there are measured numbers to judge intervals by, not only limits, yes and no, or grades."""
        return not self.likelihood.discrete and bool(plain_values(self.posterior).any())

    def require_campaign(self, why: str) -> tuple[Campaign, State]:
        """The campaign and its state; a posterior is refused."""
        if not isinstance(self.source, tuple):
            raise ParameterError(f"expected a Campaign, which {why}, got a Posterior.")
        return self.source

    @cached_property
    def now(self) -> dt.datetime:
        """The time by the campaign's clock."""
        campaign, state = self.require_campaign("has a clock")
        return campaign.now(state)

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior; a campaign's is fitted, or comes from its cache."""
        if not isinstance(self.source, tuple):
            return self.source
        from maxentry.campaign import fits

        campaign, state = self.source
        if not state.standing:
            raise CampaignError("expected at least one measurement before there is a posterior, got none.")
        return fits.fit_posterior(state, campaign.cache)

    @cached_property
    def measured_keys(self) -> Indices:
        """The entries measured at least once, as sorted keys i m2 + j."""
        return np.unique(self.measured.keys(self.shape[1]))

    @cached_property
    def pending(self) -> tuple[Ask, ...]:
        """The entries that a campaign waits for."""
        return self.require_campaign("waits for entries")[1].pending_asks(self.now)

    @property
    def failed(self) -> Entries:
        """The entries that could not be measured, and are not asked for again."""
        return self.source[1].barred if isinstance(self.source, tuple) else Entries.none()

    def next_batch(self, n: int) -> Batch:
        """The n entries that `ask` would hand out now, without asking; its `why` says why there are none."""
        from maxentry.campaign import policy

        campaign, state = self.require_campaign("knows what comes next")
        if not is_whole(n, 1):
            raise ParameterError(f"expected a whole number of entries from 1 on, got {show(n)}.")
        if n not in self.batches:
            limits = policy.resolve_limits({}, state.settings)
            self.batches[n] = policy.next_batch(state, int(n), self.now, **limits, cache=campaign.cache)
        return self.batches[n]

    # Words

    def entry_name(self, i: int, j: int) -> str:
        """An entry by its labels, else by its position."""
        row = int(i) if self.row_labels is None else self.row_labels[i]
        col = int(j) if self.col_labels is None else self.col_labels[j]
        return f"{one_line(row)}, {one_line(col)}"

    def title(self, what: str) -> str:
        """What is shown, and of which campaign."""
        return f"{what}: {self.source[0].name}" if isinstance(self.source, tuple) else what

    def with_unit(self, what: str) -> str:
        """What colours or an axis say, with the user's unit."""
        return f"{what} ({self.unit})" if self.unit else what

    @property
    def scale_note(self) -> str:
        """On which scale values were modelled, where it is not their own."""
        if self.likelihood.discrete:
            return "modelled by latent numbers"
        return (
            "" if self.transform == NONE else f"modelled on the {self.transform} scale, shown in your units"
        )
