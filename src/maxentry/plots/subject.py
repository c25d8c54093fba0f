"""The subject of a figure: a posterior, or a campaign with its posterior."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.belief import Entries
from maxentry.errors import CampaignError, ParameterError
from maxentry.plots.records import Array, Indices
from maxentry.transform import NONE, Transform
from maxentry.wording import one_line

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.policy import Batch
    from maxentry.campaign.state import Ask, State
    from maxentry.posterior.posterior import Posterior


@dataclass(frozen=True, eq=False)
class Subject:
    """What figures need of a posterior or a campaign. A campaign's state is read once, so that all figures agree."""

    source: Posterior | Campaign
    unit: str = ""

    @classmethod
    def check(cls, source: Any, unit: str = "") -> Subject:
        """The subject of a posterior or a campaign; anything else is refused."""
        from maxentry.campaign.campaign import Campaign
        from maxentry.posterior.posterior import Posterior

        if not isinstance(source, Posterior | Campaign):
            raise ParameterError(f"expected a Posterior or a Campaign, got a {type(source).__name__}.")
        return cls(source, unit)

    @cached_property
    def campaign(self) -> Campaign | None:
        """The campaign; None for a posterior."""
        from maxentry.campaign.campaign import Campaign

        return self.source if isinstance(self.source, Campaign) else None

    @cached_property
    def state(self) -> State | None:
        """The campaign's state; None for a posterior."""
        return None if self.campaign is None else self.campaign.state

    def require_campaign(self, why: str) -> tuple[Campaign, State]:
        """The campaign and its state; a posterior is refused."""
        if self.campaign is None or self.state is None:
            raise ParameterError(f"expected a Campaign, which {why}, got a Posterior.")
        return self.campaign, self.state

    @cached_property
    def now(self) -> dt.datetime:
        """The time by the campaign's clock."""
        campaign, state = self.require_campaign("has a clock")
        return campaign.now(state)

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior; a campaign's is fitted, or comes from its cache."""
        if self.campaign is None or self.state is None:
            return self.source  # type: ignore[return-value]
        from maxentry.campaign import fits

        if not self.state.standing:
            raise CampaignError("expected at least one measurement before there is a posterior, got none.")
        return fits.fit_posterior(self.state, self.campaign.cache)

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.posterior.shape if self.state is None else self.state.shape

    @property
    def transform(self) -> Transform:
        """The scale of the model."""
        return (
            self.posterior.transform if self.state is None else Transform.parse(self.state.settings.transform)
        )

    @cached_property
    def measurements(self) -> tuple[Entries, Array]:
        """The measured entries and their values in the user's units."""
        if self.state is not None:
            return self.state.told, self.state.values
        data = self.posterior.observations
        return Entries.from_lists(data.rows, data.cols), data.values

    @cached_property
    def measured_keys(self) -> Indices:
        """The entries measured at least once, as sorted keys i m2 + j."""
        return np.unique(self.measurements[0].keys(self.shape[1]))

    @cached_property
    def pending(self) -> tuple[Ask, ...]:
        """The entries that a campaign waits for."""
        return () if self.state is None else self.state.pending_asks(self.now)

    @property
    def failed(self) -> Entries:
        """The entries that could not be measured, and are not asked for again."""
        return Entries.none() if self.state is None else self.state.barred

    def next_batch(self, n: int) -> Batch:
        """The n entries that `ask` would hand out now, without asking; its `why` says why there are none."""
        from maxentry.campaign import policy

        campaign, state = self.require_campaign("knows what comes next")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ParameterError(f"expected a whole number of entries from 1 on, got {n!r}.")
        limits = policy.resolve_limits({}, state.settings)
        return policy.next_batch(state, int(n), self.now, **limits, cache=campaign.cache)

    # Words

    @property
    def row_labels(self) -> Sequence[Any] | None:
        """None where there are only positions."""
        return self.posterior.observations.row_labels if self.state is None else self.state.row_labels

    @property
    def col_labels(self) -> Sequence[Any] | None:
        """None where there are only positions."""
        return self.posterior.observations.col_labels if self.state is None else self.state.col_labels

    @property
    def axis_titles(self) -> tuple[str, str]:
        """What rows and columns are called: as in the frame that was fitted, else rows and columns."""
        data = None if self.state is not None else self.posterior.observations
        names = (None, None) if data is None else (data.row_name, data.col_name)
        titles = [None if name in (None, "row", "col", "column") else one_line(name) for name in names]
        return titles[0] or "rows", titles[1] or "columns"

    def entry_name(self, i: int, j: int) -> str:
        """An entry by its labels, else by its position."""
        row = int(i) if self.row_labels is None else self.row_labels[i]
        col = int(j) if self.col_labels is None else self.col_labels[j]
        return f"{one_line(row)}, {one_line(col)}"

    def title(self, what: str) -> str:
        """What is shown, and of which campaign."""
        return what if self.campaign is None else f"{what}: {self.campaign.name}"

    def with_unit(self, what: str) -> str:
        """What colours or an axis say, with the user's unit."""
        return f"{what} ({self.unit})" if self.unit else what

    @property
    def scale_note(self) -> str:
        """On which scale values were modelled, where it is not their own."""
        return (
            "" if self.transform == NONE else f"modelled on the {self.transform} scale, shown in your units"
        )
