"""What a figure is about: a posterior, or a campaign and its posterior once something has been told."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.entries import Entries
from maxentry.errors import CampaignError, ParameterError
from maxentry.plots.bins import text
from maxentry.plots.order import clustered
from maxentry.plots.records import Array, Indices
from maxentry.transform import NONE, Transform

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.policy import BatchLike
    from maxentry.campaign.state import Ask, State
    from maxentry.posterior.posterior import Posterior

Source = Any  # a Posterior or a Campaign; annotations of the public functions say so


@dataclass(frozen=True, eq=False)
class Subject:
    """A posterior or a campaign as figures see it. A campaign is looked at once, and stays as it was then."""

    given: Posterior | None
    campaign: Campaign | None
    unit: str = ""

    @classmethod
    def of(cls, source: Source, unit: str = "") -> Subject:
        """From a posterior, a campaign, or a subject as it is."""
        from maxentry.campaign.campaign import Campaign
        from maxentry.posterior.posterior import Posterior

        if isinstance(source, Subject):
            return source
        if isinstance(source, Posterior):
            return cls(source, None, unit)
        if isinstance(source, Campaign):
            return cls(None, source, unit)
        raise ParameterError(f"expected a Posterior or a Campaign, but a {type(source).__name__} came.")

    @cached_property
    def state(self) -> State | None:
        """The campaign's state."""
        return None if self.campaign is None else self.campaign.state

    @cached_property
    def now(self) -> dt.datetime:
        """The time by the campaign's clock."""
        assert self.campaign is not None
        assert self.state is not None
        return self.campaign._now(self.state)

    @cached_property
    def posterior(self) -> Posterior:
        """The posterior; a campaign's is fitted, or comes from its cache."""
        if self.given is not None:
            return self.given
        assert self.campaign is not None
        assert self.state is not None
        from maxentry.campaign import fits

        if not self.state.standing:
            raise CampaignError("expected something told before there is a posterior, but nothing was.")
        return fits.posterior(self.state, self.campaign.cache)

    @property
    def name(self) -> str:
        """The campaign's name, or nothing."""
        return "" if self.campaign is None else self.campaign.name

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.posterior.shape if self.state is None else self.state.shape

    @property
    def row_labels(self) -> Sequence[Any] | None:
        """None where there are only positions."""
        return self.posterior.observations.row_labels if self.state is None else self.state.row_labels

    @property
    def col_labels(self) -> Sequence[Any] | None:
        """None where there are only positions."""
        return self.posterior.observations.col_labels if self.state is None else self.state.col_labels

    @property
    def called(self) -> tuple[str, str]:
        """What rows and columns are called: as the frame called them that was fitted, else rows and columns."""
        data = None if self.given is None else self.given.observations
        names = (None, None) if data is None else (data.row_name, data.col_name)
        told = [None if name in (None, "row", "col", "column") else text(name) for name in names]
        return told[0] or "rows", told[1] or "columns"

    @property
    def transform(self) -> Transform:
        """The scale of the model."""
        return self.posterior.transform if self.state is None else Transform.of(self.state.settings.transform)

    @cached_property
    def told(self) -> tuple[Entries, Array]:
        """What was measured, and the values in the user's units."""
        if self.state is not None:
            return self.state.told, self.state.values
        data = self.posterior.observations
        return Entries.of(data.rows, data.cols), data.values

    @cached_property
    def told_keys(self) -> Indices:
        """The entries measured at least once, as sorted keys i m2 + j."""
        return np.unique(self.told[0].keys(self.shape[1]))

    @cached_property
    def pending(self) -> tuple[Ask, ...]:
        """What a campaign waits for."""
        return () if self.state is None else self.state.pending_asks(self.now)

    @property
    def failed(self) -> Entries:
        """What could not be measured, and is not asked for again."""
        return Entries.none() if self.state is None else self.state.barred

    def upcoming(self, n: int) -> BatchLike:
        """The n entries that `ask` would hand out now, without asking; its `why` says why there are none."""
        from maxentry.campaign import policy

        if self.campaign is None or self.state is None:
            raise ParameterError("expected a Campaign, which knows what comes next, but a Posterior came.")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ParameterError(f"expected a whole number of entries from 1 on, but {n!r} came.")
        limits = policy.limits({}, self.state.settings)
        return policy.next_batch(self.state, int(n), self.now, **limits, cache=self.campaign.cache)

    @cached_property
    def clustered(self) -> tuple[Indices, Indices]:
        """Rows and columns in an order in which like ones are neighbours."""
        return clustered(self.posterior.belief)

    # Words

    def headed(self, what: str) -> str:
        """A title: what is shown, and of which campaign."""
        return f"{what}: {self.name}" if self.name else what

    def measured_in(self, what: str) -> str:
        """What the colours or an axis say, with the user's unit."""
        return f"{what} ({self.unit})" if self.unit else what

    def scale_note(self) -> str:
        """On which scale values were modelled, where it is another than theirs."""
        return (
            "" if self.transform == NONE else f"modelled on the {self.transform} scale, shown in your units"
        )
