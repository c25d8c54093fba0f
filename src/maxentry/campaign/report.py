"""Reports: what was told, in any of its forms, as lines; and lines, against the state, as events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from maxentry.campaign import cells, tables
from maxentry.campaign.cells import Lookup
from maxentry.campaign.events import Event, Failed, Told
from maxentry.campaign.state import Ask, State
from maxentry.errors import CampaignError, DataError
from maxentry.frames import listed
from maxentry.observations.labels import place
from maxentry.transform import Transform


class Line(NamedTuple):
    """One line of a report: which entry, by id or by labels, and its value, its failure, or nothing yet."""

    id: int | None
    row: Any
    col: Any
    value: float | None
    failed: bool = False
    reason: str = ""
    where: str = ""


class Receipt(NamedTuple):
    """What came of a report: how many values were taken, failed, were known already, or are still awaited."""

    told: int
    failed: int
    known: int
    awaited: int

    def __str__(self) -> str:
        return f"{self.told} told, {self.failed} failed, {self.known} known already, {self.awaited} still awaited"


# Reading


def of_table(data: Any) -> list[Line]:
    """The lines of a frame, of a CSV or Parquet file, or of plain columns.

    Columns: id, or row and col, or both; value; and, where there are any, failed, status and reason.
    """
    table = tables.read(data)
    names = table.columns
    if not (
        {"value", "failed", "status"} & names.keys() and ("id" in names or {"row", "col"} <= names.keys())
    ):
        came = ", ".join(names) or "none"
        raise DataError(f"expected columns id (or row and col) and value, but the columns {came} came.")
    columns = [table.get(name) for name in ("id", "row", "col", "value", "failed", "status", "reason")]
    return [
        _line(table.where(k), table.decimal_comma, *line) for k, line in enumerate(zip(*columns, strict=True))
    ]


def _line(
    where: str, comma: bool, id: Any, row: Any, col: Any, value: Any, failed: Any, status: Any, reason: Any
) -> Line:
    lost = cells.says_failed(value) or cells.says_failed(status) or cells.yes(failed, where)
    known = None if cells.says_failed(value) else cells.number(value, where, comma)
    if lost and known is not None:
        raise DataError(f"expected a value or a failure in {where}, but both came: {known:g} and failed.")
    row, col = (None if cells.bare(cell) == "" else cell for cell in (row, col))
    why = "" if cells.is_empty(reason) else str(reason).strip()
    return Line(cells.identity(id, where), row, col, known, lost, why, where)


def of_ids(ids: Any, values: Any) -> list[Line]:
    """Lines of ids with their values, one of each or as many."""
    return _lines({"id": ids, "value": values})


def of_entries(row: Any, col: Any, value: Any) -> list[Line]:
    """Lines of entries by label with their values, one of each or as many."""
    return _lines({"row": row, "col": col, "value": value})


def _lines(given: dict[str, Any]) -> list[Line]:
    missing = [name for name, column in given.items() if column is None]
    if missing:
        raise DataError(f"expected {', '.join(given)} together, but {missing[0]} is missing.")
    one = not _is_many(given["value"])
    columns = {name: [x] if one else _many(x, name) for name, x in given.items()}
    if len({len(column) for column in columns.values()}) > 1:
        came = " and ".join(f"{len(column)} of {name}" for name, column in columns.items())
        raise DataError(f"expected as many values as entries, but {came} came.")
    return of_table(columns)


def _is_many(x: Any) -> bool:
    return hasattr(x, "__iter__") and not isinstance(x, (str, bytes)) and getattr(x, "ndim", 1) > 0


def _many(x: Any, name: str) -> list[Any]:
    if not _is_many(x):
        raise DataError(f"expected several {name}s with several values, but one came: {x!r}.")
    return listed(x)


# Judging


@dataclass
class _Judge:
    """Lines, one after the other, against what is known, with what the earlier lines say."""

    state: State
    again: bool

    def __post_init__(self) -> None:
        self.rows, self.cols = Lookup(self.state.row_axis), Lookup(self.state.col_axis)
        self.told: list[tuple[int | None, int, int, float]] = []
        self.failed: dict[int, str] = {}
        self.fresh: dict[object, list[float]] = {}  # values of earlier lines, by id and by entry
        self.waiting: dict[tuple[int, int], list[int]] = {}  # ids without an answer, by entry
        for ask in self.state.open:
            self.waiting.setdefault((ask.row, ask.col), []).append(ask.id)
        self.known = 0
        self.awaited = 0

    def take(self, line: Line) -> None:
        if line.value is None and not line.failed:
            self.awaited += 1
            return
        id, row, col = self.entry(line)
        if line.failed:
            self.fail(id, line)
            return
        assert line.value is not None
        check_value(self.state, line.value, row, col)
        earlier = self.values(id, row, col)
        if earlier and not self.again:
            if line.value not in earlier:
                raise CampaignError(_contradiction(line, self.name(row, col), earlier[-1]))
            self.known += 1
            return
        for which in (id, (row, col)):
            self.fresh.setdefault(which, []).append(line.value)
        self.told.append((id, row, col, line.value))

    def entry(self, line: Line) -> tuple[int | None, int, int]:
        """The id, if there is one, and the entry that a line is about."""
        if line.id is not None:
            ask = known_ask(self.state, line.id)
            given = [
                None if cell is None else lookup.find(cell)
                for cell, lookup in ((line.row, self.rows), (line.col, self.cols))
            ]
            if given[0] not in (None, ask.row) or given[1] not in (None, ask.col):
                asked = self.name(ask.row, ask.col)
                came = f"row {line.row!r}, column {line.col!r}"
                raise DataError(
                    f"expected {asked} with id {line.id}, as asked, but {came} came ({line.where})."
                )
            return ask.id, ask.row, ask.col
        if line.row is None or line.col is None:
            raise DataError(f"expected an id, or a row and a column, in {line.where}, but neither came.")
        row, col = self.rows.find(line.row), self.cols.find(line.col)
        # A value of an entry that is waited for answers the question, whoever knew its id or not.
        waiting = self.waiting.get((row, col), [])
        return next((id for id in waiting if id not in self.fresh), None), row, col

    def values(self, id: int | None, row: int, col: int) -> list[float]:
        """What was told before of this id, or, without one, of this entry."""
        known = self.state.by_entry.get((row, col), ()) if id is None else self.state.by_id.get(id, ())
        return [m.value for m in known] + self.fresh.get((row, col) if id is None else id, [])

    def fail(self, id: int | None, line: Line) -> None:
        if id is None:
            raise DataError(
                f"expected a failure of an entry that was asked for, but none was ({line.where})."
            )
        ask = self.state.asked[id]
        if ask.status == "told" or id in self.fresh:
            raise CampaignError(f"expected a failure of an entry without a value, but id {id} was told one.")
        if ask.status == "failed" or id in self.failed:
            self.known += 1
        else:
            self.failed[id] = line.reason

    def name(self, row: int, col: int) -> str:
        return place(self.state.row_axis, row, self.state.col_axis, col)


def judged(lines: Sequence[Line], state: State, again: bool) -> tuple[list[Event], Receipt]:
    """The events that lines amount to, all or none; a line that cannot be is refused."""
    judge = _Judge(state, again)
    for line in lines:
        judge.take(line)
    events: list[Event] = []
    if judge.told:
        ids, rows, cols, values = zip(*judge.told, strict=True)
        events.append(Told(ids, rows, cols, values))
    if judge.failed:
        events.append(Failed(tuple(judge.failed), tuple(judge.failed.values())))
    return events, Receipt(len(judge.told), len(judge.failed), judge.known, judge.awaited)


def check_value(state: State, value: float, row: int, col: int) -> None:
    """A value must be finite, inside the range and on the scale of the campaign."""
    name = place(state.row_axis, row, state.col_axis, col)
    if not math.isfinite(value):
        raise DataError(f"expected finite numbers, but the value at {name} is {value}.")
    low, high = state.settings.range or (-math.inf, math.inf)
    if not low <= value <= high:
        raise DataError(f"expected values from {low:g} to {high:g}, but the value at {name} is {value:g}.")
    Transform.of(state.settings.transform).forward([value], lambda _: name)


def known_ask(state: State, id: int) -> Ask:
    """What was asked under this id; an id that never was is refused."""
    if id not in state.asked:
        there = f"ids are 1 to {len(state.asked)}" if state.asked else "nothing was asked yet"
        raise DataError(f"expected an id that was asked, but {id} came; {there}.")
    return state.asked[id]


def _contradiction(line: Line, name: str, earlier: float) -> str:
    which = f"id {line.id} ({name})" if line.id is not None else name
    return (
        f"expected the value told before of {which}, {earlier:g}, but {line.value:g} came: correct() puts it right, "
        "again=True adds it as another measurement."
    )
