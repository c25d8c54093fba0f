"""Handing out entries while others do: choose without the lock, then see under the lock that all is still free."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.events import Asked
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import State
from maxentry.entries import Entries, Indices

Plates = Literal["rows", "cols"]


class BatchLike(Protocol):
    """What a policy answers: entries in the order chosen, what is believed of them, and why these."""

    @property
    def rows(self) -> Indices:
        """Rows by position."""

    @property
    def cols(self) -> Indices:
        """Columns by position."""

    @property
    def mean(self) -> NDArray[np.float64]:
        """Posterior means, in the user's units; NaN where there is no posterior yet."""

    @property
    def sd(self) -> NDArray[np.float64]:
        """Posterior standard deviations, in the user's units."""

    @property
    def gain(self) -> NDArray[np.float64]:
        """What measuring each is expected to bring."""

    @property
    def cost(self) -> NDArray[np.float64]:
        """What each costs."""

    @property
    def why(self) -> str:
        """Why these, or why none."""


def limits(given: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """How a batch may look: as the one who asks has it, or else as the settings have it."""
    if any(x is not None for x in given.values()):
        return given
    return {"plates": settings.plates, "per_row": settings.per_row, "per_col": settings.per_col}


def kept(
    batch: BatchLike,
    then: State,
    latest: State,
    now: dt.datetime,
    *,
    plates: Plates | None,
    fewer_will_do: bool,
) -> NDArray[np.bool_] | None:
    """Which entries, chosen in the state `then`, are to be handed out in the latest one; None: choose again."""
    free = _free(batch, then, latest, now)
    if plates is not None:  # a plate is handed out whole or not at all
        line = batch.rows if plates == "rows" else batch.cols
        free &= ~np.isin(line, line[~free])
    # What was chosen in the latest state keeps to its budget, by the policy's own reckoning.
    paid = latest is then or _within_budget(batch.cost[free], latest, now)
    return free if paid and (free.all() or (fewer_will_do and free.any())) else None


def _free(batch: BatchLike, then: State, latest: State, now: dt.datetime) -> NDArray[np.bool_]:
    m2 = latest.shape[1]  # columns may have been added since
    taken = _asked_since(then, latest) if then.settings.again else latest.taken_keys(now)
    gone = np.isin(Entries(batch.rows, batch.cols).keys(m2), taken)
    if latest.mask is not None:
        gone |= ~latest.mask[batch.rows, batch.cols]
    return ~gone


def _within_budget(cost: NDArray[np.float64], latest: State, now: dt.datetime) -> bool:
    budget = latest.settings.budget
    return budget is None or latest.spent(now) + float(cost.sum()) <= budget * (1 + 1e-12)


def asked(batch: BatchLike, kept: NDArray[np.bool_], then: State, latest: State, now: dt.datetime) -> Asked:
    """The event of handing out the entries that are kept."""
    lease = latest.settings.lease
    return Asked(
        first=len(latest.asked) + 1,
        rows=_whole(batch.rows[kept]),
        cols=_whole(batch.cols[kept]),
        mean=_real(batch.mean, kept),
        sd=_real(batch.sd, kept),
        gain=_real(batch.gain, kept),
        cost=_real(batch.cost, kept),
        based_on=then.version,
        expires_at=None if lease is None else now + dt.timedelta(seconds=lease),
        why=batch.why,
    )


def _asked_since(then: State, latest: State) -> Indices:
    """Where an entry may be asked for again, only what others have asked for in between is a clash."""
    since = [a for a in latest.asked.values() if a.event > then.version]
    return Entries.of([a.row for a in since], [a.col for a in since]).keys(latest.shape[1])


def _whole(array: Indices) -> tuple[int, ...]:
    return tuple(int(x) for x in array)


def _real(array: NDArray[np.float64], kept: NDArray[np.bool_]) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(array, dtype=np.float64)[kept])
