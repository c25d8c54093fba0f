"""Changes by the user, validated against the state and turned into events.

Each change (told values, corrections, failures, withdrawals, added rows and columns, settings) returns the events to
append. It raises if it is not possible, and returns no event if it would change nothing. Told values are read into
lines first, from ids, from entries or from a table.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxentry import cells, tables
from maxentry.campaign import settings
from maxentry.campaign.events import Changed, ColsAdded, Corrected, Event, Failed, RowsAdded, Told, Withdrawn
from maxentry.campaign.state import Ask, Measurement, State
from maxentry.cells import Lookup
from maxentry.errors import CampaignError, DataError
from maxentry.frames import to_list
from maxentry.labels import check_labels, place
from maxentry.tables import DecimalComma
from maxentry.transform import Transform

Outcome = tuple[Sequence[Event], None]


class Which(NamedTuple):
    """How a user identifies a measurement: by id, by row and column, or by its number."""

    id: int | None
    row: Hashable
    col: Hashable
    number: int | None


def correct(state: State, which: Which, value: Any, reason: str) -> Outcome:
    """Correct the value of a measurement; None removes it."""
    measurement = _measurement(state, which)
    number = cells.parse_number(value, "the correction")
    if number is not None:
        check_value(state, number, measurement.row, measurement.col)
    if number == measurement.value or (number is None and measurement.struck):
        return [], None
    return [Corrected(measurement.number, number, str(reason))], None


def fail(state: State, ids: Any, reason: str, retry: bool) -> Outcome:
    """Mark these ids as failed."""
    news = []
    for id in parse_ids(ids):
        ask = find_ask(state, id)
        if ask.status == "told":
            raise CampaignError(
                f"expected a failure of an entry without a value, got id {id}, which has one.",
                code="has_value",
                hint="correct(id, None) removes the value.",
                id=id,
            )
        if (ask.status, ask.retry) != ("failed", retry):
            news.append(id)
    return [Failed(tuple(news), (str(reason),) * len(news), bool(retry))] if news else [], None


def withdraw(state: State, ids: Any, reason: str) -> Outcome:
    """Withdraw these ids: they will not be measured."""
    news = []
    for id in parse_ids(ids):
        ask = find_ask(state, id)
        if ask.status == "told":
            raise CampaignError(f"expected to withdraw an entry without a value, got id {id}, which has one.")
        if ask.status != "withdrawn":
            news.append(id)
    return [Withdrawn(tuple(news), str(reason))] if news else [], None


def add_rows(state: State, labels: Iterable[Hashable], cost: Any) -> Outcome:
    """Add rows. The rest is checked when the event is replayed, before the commit."""
    known = check_labels(labels, "row")
    cells.check_distinct(known, "row", state.row_labels)
    return [RowsAdded(known, _costs(cost, len(known)))], None


def add_cols(state: State, labels: Iterable[Hashable], cost: Any) -> Outcome:
    """Add columns."""
    known = check_labels(labels, "column")
    cells.check_distinct(known, "column", state.col_labels)
    return [ColsAdded(known, _costs(cost, len(known)))], None


def change_settings(state: State, changes: Mapping[str, Any]) -> Outcome:
    """Change settings; the event holds the checked values."""
    after = settings.change_settings(state.settings, changes)
    return [Changed({name: getattr(after, name) for name in changes})] if changes else [], None


def _measurement(state: State, which: Which) -> Measurement:
    if which.number is not None:
        if not 1 <= which.number <= len(state.measurements):
            there = f"there are {len(state.measurements)}"
            raise DataError(f"expected the number of a measurement, got {which.number!r}; {there}.")
        return state.measurements[which.number - 1]
    if which.id is not None:
        ask = find_ask(state, which.id)
        measurements = [m for m in state.measurements if m.id == ask.id]
        name = f"id {ask.id}"
    elif which.row is None or which.col is None:
        raise DataError("expected an id, a row and a column, or a number, got none of them.")
    else:
        row, col = Lookup(state.row_axis).find(which.row), Lookup(state.col_axis).find(which.col)
        measurements = [m for m in state.measurements if (m.row, m.col) == (row, col)]
        name = place(state.row_axis, row, state.col_axis, col)
    measurements = [m for m in measurements if not m.struck] or measurements
    if len(measurements) != 1:
        if not measurements:
            raise CampaignError(f"expected a measurement of {name} to correct, got none yet.")
        numbers = [m.number for m in measurements]
        raise CampaignError(
            f"expected one measurement of {name} to correct, got {len(measurements)}.",
            code="several_measurements",
            hint=f"Give number=, one of {', '.join(map(str, numbers))}.",
            numbers=numbers,
        )
    return measurements[0]


def parse_ids(ids: Any) -> list[int]:
    """Parse one id or several; drop repeats."""
    many = hasattr(ids, "__iter__") and not isinstance(ids, (str, bytes)) and getattr(ids, "ndim", 1) > 0
    known = [cells.parse_id(x, "the ids") for x in (to_list(ids) if many else [ids])]
    if None in known:
        raise DataError("expected ids, got an empty one.")
    return list(dict.fromkeys(id for id in known if id is not None))


def _costs(cost: Any, n: int) -> tuple[float, ...] | None:
    if cost is None:
        return None
    try:
        array = np.asarray(cost, dtype=np.float64)
        return tuple(float(x) for x in np.broadcast_to(array, (n,)))
    except (TypeError, ValueError):
        raise DataError(f"expected one cost, or {n}, as numbers, got {cost!r:.60}.") from None


Entry = tuple[int, int]  # row and column, by position


class Line(NamedTuple):
    """One line of a report: an entry, by id or by labels, and its value, a failure, or neither (still awaited)."""

    id: int | None
    row: Any
    col: Any
    value: float | None
    failed: bool = False
    reason: str = ""
    where: str = ""


class Receipt(NamedTuple):
    """The result of a report: how many lines were recorded, failed, known already, or are still awaited."""

    told: int
    failed: int
    known: int
    awaited: int

    def __str__(self) -> str:
        return f"{self.told} told, {self.failed} failed, {self.known} known already, {self.awaited} still awaited"


# Reading lines

COLUMNS = ("id", "row", "col", "value", "failed", "status", "reason")


def lines_from_table(data: Any) -> list[Line]:
    """Read lines from a frame, a CSV or Parquet file, or a mapping of columns.

    Columns: id, or row and col, or both; value; and optionally failed, status and reason.
    """
    table = tables.read(data)
    columns = {name: table.role(name) for name in COLUMNS}
    has = {name for name, column in columns.items() if column is not None}
    if not has & {"value", "failed", "status"} or not ("id" in has or {"row", "col"} <= has):
        names = ", ".join(table.names) or "none"
        raise DataError(f"expected columns id (or row and col) and value, got the columns {names}.")
    cells_by_line = zip(*(column or [None] * table.n for column in columns.values()), strict=True)
    return [_line(table.where(k), table.decimal_comma, *line) for k, line in enumerate(cells_by_line)]


def _line(
    where: str,
    comma: DecimalComma,
    id: Any,
    row: Any,
    col: Any,
    value: Any,
    failed: Any,
    status: Any,
    reason: Any,
) -> Line:
    lost = (
        cells.is_failure(value)
        or cells.is_failure(status)
        or cells.parse_flag(failed, f"{where}, column failed")
    )
    known = None if cells.is_failure(value) else cells.parse_number(value, f"{where}, column value", comma)
    if lost and known is not None:
        raise DataError(f"expected a value or a failure in {where}, got both: {known:g} and failed.")
    row, col = (None if cells.lower_text(cell) == "" else cell for cell in (row, col))
    why = "" if cells.is_empty(reason) else str(reason).strip()
    return Line(cells.parse_id(id, where), row, col, known, lost, why, where)


def lines_from_ids(ids: Any, values: Any) -> list[Line]:
    """Read lines from one id and its value, or from as many ids as values."""
    return _lines({"id": ids, "value": values})


def lines_from_entries(row: Any, col: Any, value: Any) -> list[Line]:
    """Read lines from one entry (row and col labels) and its value, or from as many entries as values."""
    return _lines({"row": row, "col": col, "value": value})


def _lines(given: dict[str, Any]) -> list[Line]:
    missing = [name for name, column in given.items() if column is None]
    if missing:
        raise DataError(f"expected {', '.join(given)} together, got no {missing[0]}.")
    one = not _is_many(given["value"])
    columns = {name: [x] if one else _many(x, name) for name, x in given.items()}
    if len({len(column) for column in columns.values()}) > 1:
        got = " and ".join(f"{len(column)} of {name}" for name, column in columns.items())
        raise DataError(f"expected as many values as entries, got {got}.")
    return lines_from_table(columns)


def _is_many(x: Any) -> bool:
    return hasattr(x, "__iter__") and not isinstance(x, (str, bytes)) and getattr(x, "ndim", 1) > 0


def _many(x: Any, name: str) -> list[Any]:
    if not _is_many(x):
        raise DataError(f"expected several {name}s with several values, got one: {x!r}.")
    return to_list(x)


# Validating lines


@dataclass
class _Judge:
    """Checks lines one after the other against the state and the lines before, and collects what to record."""

    state: State
    again: bool
    now: dt.datetime

    def __post_init__(self) -> None:
        self.rows, self.cols = Lookup(self.state.row_axis), Lookup(self.state.col_axis)
        self.told: list[tuple[int | None, int, int, float]] = []
        self.failed: dict[int, str] = {}
        self.lost: set[Entry] = set()  # the entries of the failed ids
        self.fresh: dict[object, list[float]] = {}  # values of earlier lines, by id and by entry
        self.by_labels: set[Entry] = set()  # entries with a value from a line without an id
        self.struck: dict[object, set[float]] = {}  # values removed by a correction, by id and by entry
        for m in self.state.measurements:
            if m.struck:
                for key in (m.id, (m.row, m.col)):
                    self.struck.setdefault(key, set()).update(m.before)
        self.open: dict[Entry, list[Ask]] = {}
        for ask in self.state.open:
            self.open.setdefault((ask.row, ask.col), []).append(ask)
        self.known = 0
        self.awaited = 0

    def take(self, line: Line) -> None:
        if line.failed:
            self.fail(line)
        elif line.value is not None:
            self.tell(line, line.value)
        else:
            self.awaited += 1

    # Values

    def tell(self, line: Line, value: float) -> None:
        row, col = entry = self.entry(line)
        check_value(self.state, value, row, col)
        waited_for = line.id is None and bool(self.pending(entry))
        if line.id is None:
            self.by_labels.add(entry)
        if not self.again:
            earlier = self.values(line.id, entry)
            if value in earlier:
                self.known += 1
                return
            if earlier and not waited_for:
                raise _contradiction(line, self.name(entry), value, earlier[-1])
            if value in self.struck.get(entry if line.id is None else line.id, ()):
                raise _struck_out(line, self.name(entry), value)
        if line.id in self.failed or (line.id is None and entry in self.lost and not waited_for):
            which = self.name(entry) if line.id is None else f"id {line.id}"
            raise CampaignError(f"expected a value or a failure of {which}, got both ({line.where}).")
        id = self.answered(line, entry)
        for key in (id, entry):
            self.fresh.setdefault(key, []).append(value)
        self.told.append((id, row, col, value))

    def entry(self, line: Line) -> Entry:
        """Return the entry of a line."""
        if line.id is not None:
            ask = find_ask(self.state, line.id)
            given = [
                None if cell is None else lookup.find(cell)
                for cell, lookup in ((line.row, self.rows), (line.col, self.cols))
            ]
            if given[0] not in (None, ask.row) or given[1] not in (None, ask.col):
                asked = self.name((ask.row, ask.col))
                got = f"row {line.row!r}, column {line.col!r}"
                raise DataError(f"expected {asked} with id {line.id}, as asked, got {got} ({line.where}).")
            return ask.row, ask.col
        if line.row is None or line.col is None:
            raise DataError(f"expected an id, or a row and a column, in {line.where}, got neither.")
        return self.rows.find(line.row), self.cols.find(line.col)

    def answered(self, line: Line, entry: Entry) -> int | None:
        """Return the id that a line answers.

        Without an id of its own it answers the first pending id of its entry, else the last expired one, else none.
        """
        if line.id is not None:
            return line.id
        left = [a.id for a in self.open.get(entry, ()) if not self.is_answered(a.id)]
        return next(iter(self.pending(entry) or left[::-1]), None)

    def pending(self, entry: Entry) -> list[int]:
        """Return the pending ids of an entry that no earlier line has answered."""
        waiting = (a for a in self.open.get(entry, ()) if a.status_at(self.now) == "pending")
        return [a.id for a in waiting if not self.is_answered(a.id)]

    def is_answered(self, id: int) -> bool:
        return id in self.fresh or id in self.failed

    def values(self, id: int | None, entry: Entry) -> list[float]:
        """Return the values recorded for this id or, without an id, for this entry."""
        known = self.state.by_entry.get(entry, ()) if id is None else self.state.by_id.get(id, ())
        return [m.value for m in known] + self.fresh.get(entry if id is None else id, [])

    # Failures

    def fail(self, line: Line) -> None:
        entry = self.entry(line)
        id = self.answered(line, entry)
        if line.id is None and not self.pending(entry):
            if entry in self.failures or entry in self.lost:
                self.known += 1
                return
            if entry in self.fresh or (id is None and entry in self.state.by_entry):
                raise CampaignError(_told_and_failed(self.name(entry)))
        if id is None:
            raise DataError(
                f"expected a failure of an entry that was asked for, got one that was not ({line.where})."
            )
        status = self.state.asked[id].status
        if status == "told" or id in self.fresh:
            raise CampaignError(_told_and_failed(f"id {id}"))
        if status == "failed" or id in self.failed:
            self.known += 1
        else:
            self.failed[id] = line.reason
            self.lost.add(entry)

    @cached_property
    def failures(self) -> set[Entry]:
        """Entries with a recorded failure."""
        return {(a.row, a.col) for a in self.state.asked.values() if a.status == "failed"}

    # Results

    def settled(self) -> list[int]:
        """Return the ids still pending whose entries got a value by row and col; they are no longer needed.

        None if the campaign asks for replicates: then every id needs its own value.
        """
        if self.state.settings.again:
            return []
        return sorted(id for entry in self.by_labels for id in self.pending(entry))

    def name(self, entry: Entry) -> str:
        row, col = entry
        return place(self.state.row_axis, row, self.state.col_axis, col)


def judge_lines(
    lines: Sequence[Line], state: State, again: bool, now: dt.datetime
) -> tuple[list[Event], Receipt]:
    """Turn lines into events and a receipt. Raise if any line is not valid; then nothing is recorded."""
    judge = _Judge(state, again, now)
    for line in lines:
        judge.take(line)
    events: list[Event] = []
    if judge.told:
        ids, rows, cols, values = zip(*judge.told, strict=True)
        events.append(Told(ids, rows, cols, values))
    if judge.failed:
        events.append(Failed(tuple(judge.failed), tuple(judge.failed.values())))
    if settled := judge.settled():
        events.append(Withdrawn(tuple(settled), "told by row and column"))
    return events, Receipt(len(judge.told), len(judge.failed), judge.known, judge.awaited)


def check_value(state: State, value: float, row: int, col: int) -> None:
    """Raise unless the value is finite, in the campaign's range and valid for its transform."""
    name = place(state.row_axis, row, state.col_axis, col)
    if not math.isfinite(value):
        raise DataError(f"expected finite numbers, got {value} at {name}.")
    low, high = state.settings.range or (-math.inf, math.inf)
    if not low <= value <= high:
        raise DataError(f"expected values from {low:g} to {high:g}, got {value:g} at {name}.")
    Transform.parse(state.settings.transform).forward([value], lambda _: name)


def find_ask(state: State, id: int) -> Ask:
    """Return the ask with this id; raise if there is none."""
    if id not in state.asked:
        there = f"ids are 1 to {len(state.asked)}" if state.asked else "nothing was asked yet"
        raise DataError(f"expected an id that was asked, got {id}; {there}.")
    return state.asked[id]


def _contradiction(line: Line, name: str, value: float, earlier: float) -> CampaignError:
    return CampaignError(
        f"expected the value {earlier:g} recorded for {_which(line, name)}, got {value:g}.",
        code="other_value",
        hint="Use correct() to replace the value, or again=True to add another measurement.",
        id=line.id,
        value=value,
    )


def _struck_out(line: Line, name: str, value: float) -> CampaignError:
    return CampaignError(
        f"expected a new value for {_which(line, name)}, got {value:g}, which was removed by a correction.",
        code="removed_value",
        hint="Use correct() to restore the value, or again=True to add another measurement.",
        id=line.id,
        value=value,
    )


def _which(line: Line, name: str) -> str:
    return name if line.id is None else f"id {line.id} ({name})"


def _told_and_failed(which: str) -> str:
    return f"expected a failure of an entry without a value, got {which}, which has one."


def read_lines(
    ids: Any = None, values: Any = None, *, row: Any = None, col: Any = None, value: Any = None
) -> list[Line]:
    """Read the lines of a report: ids with values, rows and columns with values, or a table."""
    if tables.is_table(ids):
        _refuse_beside("a table", values=values, row=row, col=col, value=value)
        return lines_from_table(ids)
    if ids is not None:
        _refuse_beside("ids", row=row, col=col, value=value)
        return lines_from_ids(ids, values)
    _refuse_beside("row, col and value", values=values)
    return lines_from_entries(row, col, value)


def _refuse_beside(form: str, **given: Any) -> None:
    extra = [name for name, x in given.items() if x is not None]
    if extra:
        raise DataError(f"expected {form} alone, got {extra[0]} too.")
