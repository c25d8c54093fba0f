"""A strategy: which entries to measure first, how to choose the others, and by which estimate it is judged."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.policy import Batch
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.campaign.state import State
from maxentry.studies.case import Case
from maxentry.studies.sources import Truth

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Policy(Protocol):
    """The next entries, from the state of a campaign: `campaign.policy.next_batch`, or somebody else's rule."""

    def __call__(
        self,
        state: State,
        n: int,
        now: dt.datetime,
        *,
        plates: Literal["rows", "cols"] | None = None,
        per_row: int | None = None,
        per_col: int | None = None,
        cache: Path | None = None,
        progress: bool | None = None,
    ) -> Batch:
        """The next n entries."""


class Estimates(NamedTuple):
    """Of some entries: their means, and the ends of intervals if the estimator has them."""

    mean: Array
    low: Array | None = None
    high: Array | None = None


class Estimator(Protocol):
    """What is believed of the matrix given what was told, where it is not the campaign's posterior."""

    def __call__(self, state: State, rows: Indices, cols: Indices, level: float) -> Estimates:
        """The estimates of these entries, with intervals of this level.

        Intervals are judged against the entry where the matrix is simulated, against a measurement where it is real.
        """


@dataclass(frozen=True)
class Strategy:
    """A way to choose. Without a policy it is the campaign's own, with this acquisition.

    Policies and estimators are made for each run, from its truth (costs and what is known from the start; a rule that
    looked at M would be a fraud), its case and its seed.
    """

    name: str
    title: str
    acquisition: str = "uniform"
    start: Literal["uniform", "balanced"] = "balanced"
    policy: Callable[[Truth, Case, int], Policy] | None = None
    estimator: Callable[[Truth, Case, int], Estimator] | None = None
    fits: bool = False  # whether a policy of its own chooses by the fit that it is judged by
    needs: tuple[str, ...] = ()  # "cost", "told", "smurff": cases and machines without these leave it out

    @property
    def peer(self) -> bool:
        """Whether it brings a rule or an estimate that campaigns do not have."""
        return self.policy is not None or self.estimator is not None

    @property
    def chooses_by_fit(self) -> bool:
        """Whether an ask needs the fit that a look at the error needs, too."""
        return self.acquisition not in WITHOUT_MODEL if self.policy is None else self.fits
