"""The public functions: each one call on a posterior or a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxentry.plots import calibrated, chains, factors, maps, past
from maxentry.plots.plot import Plot
from maxentry.plots.subject import Subject

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.posterior.posterior import Posterior

    Source = Posterior | Campaign


def observed(source: Source, *, order: maps.Order = None, unit: str = "") -> Plot:
    """Which entries were measured, and their values; where cells stand for many entries, the share measured."""
    return Plot(maps.observed(Subject.of(source, unit), order))


def mean(source: Source, *, order: maps.Order = None, unit: str = "") -> Plot:
    """The completed matrix: the posterior mean of every entry, dots where measured.

    order: "clustered" puts rows and columns that are alike beside each other.
    unit: what values are measured in ("% yield"), for the colour bar.

    Rows and columns beyond 200 are put together in cells, whose averages are shown.
    """
    return Plot(maps.mean(Subject.of(source, unit), order))


def sd(source: Source, *, order: maps.Order = None, unit: str = "") -> Plot:
    """How far each entry may be off: the posterior standard deviation, without the noise of a measurement."""
    return Plot(maps.sd(Subject.of(source, unit), order))


def width(source: Source, *, level: float = 0.9, order: maps.Order = None, unit: str = "") -> Plot:
    """The width of the interval that holds each entry with probability `level`."""
    return Plot(maps.width(Subject.of(source, unit), order, level))


def next_batch(campaign: Campaign, n: int = 8, *, order: maps.Order = None, unit: str = "") -> Plot:
    """The n entries that `ask` would hand out next (nothing is asked for), and what is pending, on the map."""
    return Plot(maps.next_batch(Subject.of(campaign, unit), n, order))


def history(campaign: Campaign, *, points: int = past.POINTS, unit: str = "") -> Plot:
    """The expected error as measurements came in, how far off predictions were, and the pace of asking and telling.

    points: how many moments the expected error is computed at, a fit each the first time; 0: none.
    """
    return Plot(past.history(Subject.of(campaign, unit), points))


def singular_values(source: Source, *, level: float = 0.9, unit: str = "") -> Plot:
    """The singular values of the low-rank part, with intervals."""
    return Plot(factors.singular_values(Subject.of(source, unit), level))


def coherence(source: Source, *, level: float = 0.9) -> Plot:
    """Which rows and columns are unlike the others: their coherence with the low-rank part, highest first."""
    return Plot(factors.coherence(Subject.of(source), level))


def calibration(source: Source, held_out: Any = None, *, level: float = 0.9, unit: str = "") -> Plot:
    """Do intervals hold what they promise: values against their intervals, and coverage by level.

    held_out: values that were not fitted, in any form that `complete` takes. Without them, a campaign is judged by what
    it believed of entries before they were told, and a posterior by the values it was fitted to.
    """
    return Plot(calibrated.calibration(Subject.of(source, unit), held_out, level))


def trace(source: Source, *, unit: str = "") -> Plot:
    """The chains of the sampler: noise, overall mean and leading singular value."""
    return Plot(chains.trace(Subject.of(source, unit)))


def rhat(source: Source) -> Plot:
    """R-hat of all that is watched, group by group."""
    return Plot(chains.rhat(Subject.of(source)))
