"""Changes as events: each is checked against the state; what cannot be is refused, what is so already is no event."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxentry.campaign import cells, workable
from maxentry.campaign.cells import Lookup
from maxentry.campaign.events import Changed, ColsAdded, Corrected, Event, Failed, RowsAdded, Withdrawn
from maxentry.campaign.report import check_value, known_ask
from maxentry.campaign.state import Measurement, State
from maxentry.errors import CampaignError, DataError
from maxentry.frames import listed
from maxentry.observations.labels import checked_labels, place

Outcome = tuple[Sequence[Event], None]


class Which(NamedTuple):
    """How a user names a measurement: by id, by row and column, by its number in the order of telling."""

    id: int | None
    row: Hashable
    col: Hashable
    number: int | None


def correction(state: State, which: Which, value: Any, reason: str) -> Outcome:
    """Another value for a measurement, or none."""
    measurement = _measurement(state, which)
    number = cells.number(value, "the correction")
    if number is not None:
        check_value(state, number, measurement.row, measurement.col)
    if number == measurement.value or (number is None and measurement.struck):
        return [], None
    return [Corrected(measurement.number, number, str(reason))], None


def failure(state: State, ids: Any, reason: str, retry: bool) -> Outcome:
    """Ids that were tried and gave no value."""
    news = []
    for id in _ids(ids):
        ask = known_ask(state, id)
        if ask.status == "told":
            raise CampaignError(
                f"expected a failure of an entry without a value, but id {id} was told one: "
                "correct(id, None) strikes it out."
            )
        if (ask.status, ask.retry) != ("failed", retry):
            news.append(id)
    return [Failed(tuple(news), (str(reason),) * len(news), bool(retry))] if news else [], None


def withdrawal(state: State, ids: Any, reason: str) -> Outcome:
    """Ids that will not be measured."""
    news = []
    for id in _ids(ids):
        ask = known_ask(state, id)
        if ask.status == "told":
            raise CampaignError(f"expected to withdraw an entry without a value, but id {id} was told one.")
        if ask.status != "withdrawn":
            news.append(id)
    return [Withdrawn(tuple(news), str(reason))] if news else [], None


def rows_added(state: State, labels: Iterable[Hashable], cost: Any) -> Outcome:
    """More rows; replaying the event checks the rest."""
    known = checked_labels(labels, "row")
    cells.check_apart(known, "row", state.row_labels)
    return [RowsAdded(known, _costs(cost, len(known)))], None


def cols_added(state: State, labels: Iterable[Hashable], cost: Any) -> Outcome:
    """More columns."""
    known = checked_labels(labels, "column")
    cells.check_apart(known, "column", state.col_labels)
    return [ColsAdded(known, _costs(cost, len(known)))], None


def settings_changed(state: State, changes: Mapping[str, Any]) -> Outcome:
    """Other settings, as they will be once they are checked."""
    after = workable.changed(state.settings, changes)
    return [Changed({name: getattr(after, name) for name in changes})] if changes else [], None


def _measurement(state: State, which: Which) -> Measurement:
    if which.number is not None:
        if not 1 <= which.number <= len(state.measurements):
            there = f"there are {len(state.measurements)}"
            raise DataError(f"expected the number of a measurement, but {which.number!r} came; {there}.")
        return state.measurements[which.number - 1]
    if which.id is not None:
        ask = known_ask(state, which.id)
        found = [m for m in state.measurements if m.id == ask.id]
        name = f"id {ask.id}"
    elif which.row is None or which.col is None:
        raise DataError("expected an id, a row and a column, or a number, but none of them came.")
    else:
        row, col = Lookup(state.row_axis).find(which.row), Lookup(state.col_axis).find(which.col)
        found = [m for m in state.measurements if (m.row, m.col) == (row, col)]
        name = place(state.row_axis, row, state.col_axis, col)
    found = [m for m in found if not m.struck] or found
    if len(found) != 1:
        numbers = ", ".join(str(m.number) for m in found)
        came = f"there are several: give number= one of {numbers}" if found else "nothing was told of it yet"
        raise CampaignError(f"expected one measurement of {name} to correct, but {came}.")
    return found[0]


def _ids(ids: Any) -> list[int]:
    many = hasattr(ids, "__iter__") and not isinstance(ids, (str, bytes)) and getattr(ids, "ndim", 1) > 0
    known = [cells.identity(x, "the ids") for x in (listed(ids) if many else [ids])]
    if None in known:
        raise DataError("expected ids, but an empty one came.")
    return list(dict.fromkeys(id for id in known if id is not None))


def _costs(cost: Any, n: int) -> tuple[float, ...] | None:
    if cost is None:
        return None
    try:
        array = np.asarray(cost, dtype=np.float64)
        return tuple(float(x) for x in np.broadcast_to(array, (n,)))
    except (TypeError, ValueError):
        raise DataError(f"expected one cost, or {n}, as numbers, but {cost!r:.60} came.") from None
