"""Changes by the user, validated against the state and turned into events.

Each change (told values, corrections, failures, withdrawals, rows and columns, settings) returns the events to
append. It raises if it is not possible, and returns no event if it would change nothing. Told values come as lines
(`lines.py`).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from warnings import warn

import numpy as np

from maxentry import cells, readings
from maxentry.campaign import settings
from maxentry.campaign.events import (
    Added,
    Asked,
    Changed,
    Corrected,
    Event,
    Failed,
    Relabelled,
    RowsAdded,
    RowsRenamed,
    Told,
    Withdrawn,
)
from maxentry.campaign.ledger.tables import FAILED, REMOVED, RETRY, Ask, Finder, Measurement, entry_keys
from maxentry.campaign.lines import Line, use_new_labels
from maxentry.campaign.setting_values import read_more_features, read_names, read_new_costs
from maxentry.campaign.state import State
from maxentry.errors import CampaignError, DataError, LabelError, MaxentryError, ParameterError, is_whole
from maxentry.frames import is_sequence, to_list
from maxentry.labels import Axis, check_labels, label_text, place
from maxentry.model.slips import note_slips
from maxentry.readings import Reading
from maxentry.tables.doubts import doubt_labels
from maxentry.transform import MOST_VALUES, is_beyond
from maxentry.wording import as_text, sentence, show

Outcome = tuple[Sequence[Event], None]


def correct(
    state: State,
    value: Any,
    reason: str,
    *,
    id: int | None = None,
    row: Hashable = None,
    col: Hashable = None,
    number: int | None = None,
    se: Any = None,
) -> Outcome:
    """Correct the value of a measurement, named by id, by row and column, or by its number; None removes it.

    se: its standard error; None leaves it as it was.
    """
    old, where = _find_measurement(state, id, row, col, number), "the correction"
    statement = cells.parse_measurement(cells.flag_text(value), where, "unambiguous", state.settings.words)
    error = cells.parse_number(se, f"{where}, se")
    if statement is None:
        if error is not None:
            raise DataError("expected a value with its standard error, got the standard error alone.")
        return ([], None) if old.struck else ([Corrected(old.number, None, as_text(reason))], None)
    spread = (old.se or 0.0) if error is None else error
    reading = readings.check_reading(Reading(*statement, spread), where)
    name = place(state.row_axis, old.row, state.col_axis, old.col)
    state.settings.check_value(statement.value if reading.is_plain else reading, name)
    if not old.struck and reading == (old.reading or Reading(old.value, old.value)):
        return [], None
    ends = {} if statement.is_value else {"low": reading.low, "high": reading.high}
    return [Corrected(old.number, statement.value, as_text(reason), **ends, se=error)], None


def fail(state: State, ids: Any, reason: str, retry: bool) -> Outcome:
    """Mark these ids as failed."""
    asks, retry = _asks_without_value(state, ids), cells.check_flag(retry, "retry")
    news = tuple(ask.id for ask in asks if (ask.status, ask.retry) != ("failed", retry))
    return [Failed(news, (as_text(reason),) * len(news), retry)] if news else [], None


def withdraw(state: State, ids: Any, reason: str) -> Outcome:
    """Withdraw these ids: they will not be measured."""
    news = tuple(ask.id for ask in _asks_without_value(state, ids) if ask.status != "withdrawn")
    return [Withdrawn(news, as_text(reason))] if news else [], None


def add_labels(
    state: State, kind: type[Added], labels: Iterable[Hashable], cost: Any, features: Any = None
) -> Outcome:
    """Add rows or columns. The rest is checked when the event is replayed, before the commit."""
    axis = state.row_axis if kind is RowsAdded else state.col_axis
    known = check_labels(labels, axis.name)
    cells.check_distinct(known, axis.name, axis.labels or ())
    for note in doubt_labels(axis.name, known, known=axis.labels or ()):
        warn(sentence(note), stacklevel=5)
    more = read_more_features(features, known, axis.name, state.settings.features_of(axis.name))
    return [kind(known, read_new_costs(cost, len(known)), more, state.settings.costs.entry is not None)], None


def remove_labels(state: State, kind: Any, labels: Iterable[Hashable]) -> tuple[Sequence[Event], int]:
    """Remove rows or columns, unless the settings cannot do without. The result is how many values are struck out."""
    rows = kind.kind == "rows_removed"
    known, places = (state.row_axis if rows else state.col_axis).select_removed(labels)
    try:
        settings.change_settings(state.settings.without("row" if rows else "col", places), {})
    except MaxentryError as error:
        refused = f"cannot remove {'rows' if rows else 'columns'} {show(list(known))}: {error.message:.180}"
        raise type(error)(f"{refused.rstrip('.')}. Change that setting first.", code=error.code) from None
    return [kind(known)], int(np.isin(state.told.rows if rows else state.told.cols, places).sum())


def rename_labels(state: State, kind: type[Relabelled], names: Mapping[Hashable, Hashable]) -> Outcome:
    """Give rows or columns other labels, which no row (column) that keeps its own has."""
    axis = state.row_axis if kind is RowsRenamed else state.col_axis
    if not isinstance(names, Mapping):
        raise DataError(f"expected a mapping from old to new {axis.name} labels, got {show(names)}.")
    old, new = check_labels(list(names), axis.name), read_names(list(names.values()), axis.name)
    known = axis.labels or ()
    places = [axis.find(label) for label in old]
    if len(set(places)) < len(places):
        raise DataError(f"expected {axis.name}s to rename, each once, got {show(list(old))}.")
    others = [label for k, label in enumerate(known) if k not in set(places)]
    cells.check_distinct(new, axis.name, others)
    pairs = ((known[k], name) for k, name in zip(places, new, strict=True))
    moved = [(label, name) for label, name in pairs if label_text(label) != label_text(name)]
    if not moved:
        return [], None
    for note in doubt_labels(axis.name, new, known=others):
        warn(sentence(note), stacklevel=5)
    labels, other_names = zip(*moved, strict=True)
    return [kind(labels, other_names)], None


def change_settings(state: State, changes: Mapping[str, Any]) -> Outcome:
    """Change settings; the event holds the checked values."""
    after = settings.change_settings(state.settings, changes)
    beside = state.standing.beside
    if "limits" in changes:
        plain = beside["low"] == beside["high"] if beside else True
        for k in np.flatnonzero(is_beyond(state.values, after.limits) & plain)[:1]:
            name = place(state.row_axis, int(state.told.rows[k]), state.col_axis, int(state.told.cols[k]))
            raise ParameterError(
                f"limits are the ends of a scale that holds all values, got {after.limits} and {state.values[k]:g} at "
                f"{name}; correct that value first, or strike it out"
            )
    if after.likelihood.weighted and beside and beside["se"].any():
        got = f"{int((beside['se'] > 0).sum())} with one; keep noise='gaussian'"
        raise ParameterError(f"noise={after.noise!r} is for values without standard errors, got {got}")
    return [Changed({name: getattr(after, name) for name in changes})] if changes else [], None


def _find_measurement(
    state: State, id: int | None, row: Hashable, col: Hashable, number: int | None
) -> Measurement:
    if number is not None:
        if not is_whole(number, 1) or number > len(state.measurements):
            known = f"there are {len(state.measurements)}"
            raise DataError(f"expected the number of a measurement, got {show(number)}; {known}.")
        m = state.measurements[number - 1]
        if max(m.row, m.col) >= REMOVED:
            raise CampaignError(f"measurement {number} cannot be corrected: its row or column was removed.")
        return m
    if id is not None:
        asked = find_ask(state, parse_ids([id])[0]).id
        name, there = f"id {asked}", state.measurements.column("id") == asked
    elif row is None or col is None:
        raise DataError("expected an id, a row and a column, or a number, got none of them.")
    else:
        i, j = state.row_axis.find(row), state.col_axis.find(col)
        name = place(state.row_axis, i, state.col_axis, j)
        there = (state.measurements.column("row") == i) & (state.measurements.column("col") == j)
    measurements = state.measurements.select(np.flatnonzero(there))
    measurements = [m for m in measurements if not m.struck] or measurements
    if not measurements:
        raise CampaignError(f"expected a measurement of {name} to correct, got none yet.")
    if len(measurements) > 1:
        numbers = [m.number for m in measurements]
        several = f"expected one measurement of {name} to correct, got {len(measurements)}."
        hint = f"Give number=, one of {', '.join(map(str, numbers))}."
        raise CampaignError(several, code="several_measurements", hint=hint, numbers=numbers)
    return measurements[0]


def _asks_without_value(state: State, ids: Any) -> list[Ask]:
    asks = [find_ask(state, id) for id in parse_ids(ids)]
    for ask in asks:
        if ask.status == "told":
            raise _has_value(f"id {ask.id}", ask.id)
    return asks


def _has_value(name: str, id: int | None = None) -> CampaignError:
    message = f"expected an entry without a value, got {name}, which has one."
    if id is None:
        return CampaignError(message)
    return CampaignError(message, code="has_value", hint="correct(id, None) removes the value.", id=id)


def parse_ids(ids: Any) -> list[int]:
    """Parse one id or several; drop repeats."""
    known = [cells.parse_id(x, "the ids") for x in (to_list(ids) if is_sequence(ids) else [ids])]
    if None in known:
        raise DataError(f"expected an id in every place, got none at place {known.index(None) + 1}.")
    return list(dict.fromkeys(id for id in known if id is not None))


Entry = tuple[int, int]  # row and column, by position


class Receipt(NamedTuple):
    """The result of a report: how many measurements were recorded, failed, known already, or are still awaited."""

    told: int
    failed: int
    known: int
    awaited: int

    def __str__(self) -> str:
        return f"{self.told} told, {self.failed} failed, {self.known} known already, {self.awaited} still awaited"


# Validating lines


class _Judge:
    """Checks lines one after the other against the state and the lines before, and collects what to record."""

    def __init__(self, lines: Sequence[Line], state: State, again: bool, now: dt.datetime) -> None:
        self.state, self.again, self.now = state, cells.check_flag(again, "again"), now
        plain = all(line.reading is None for line in lines)
        values = [line.value for line in lines if line.value is not None]
        self.n_lines, self.valid = len(lines), plain and state.settings.accepts(values)
        self.rows, self.cols = state.row_axis, state.col_axis
        self.told: list[tuple[int | None, int, int, float | Reading]] = []
        self.failed: dict[int, str] = {}
        self.unasked: list[Entry] = []  # that failed though nobody asked for them; they get the next ids
        self.lost: set[Entry] = set()  # the entries of the failed ids
        self.fresh: dict[object, list[float | Reading]] = {}  # values of earlier lines, by id and by entry
        self.by_labels: set[Entry] = set()  # entries with a value from a line without an id
        self.known = self.awaited = 0

    def take(self, line: Line) -> None:
        if line.failed:
            self.fail(line)
        elif line.counts is not None:
            self.tell_trials(line, *line.counts)
        elif line.value is not None:
            self.tell(line, line.value if line.reading is None else line.reading)
        else:
            self.awaited += 1

    # Values

    def tell(self, line: Line, value: float | Reading) -> None:
        row, col = entry = self.entry(line)
        if not self.valid:
            self.state.settings.check_value(value, self.name(entry))
        waited_for = line.id is None and bool(self.pending(entry))
        if line.id is None:
            self.by_labels.add(entry)
        if not self.again:
            earlier, removed = self.values(line.id, entry)
            if value in earlier or (earlier and self.repeats(line.id, entry, value, earlier)):
                self.known += 1
                return
            if earlier and not waited_for:
                raise self.contradiction(line, entry, value, earlier[-1])
            if value in removed:
                raise self.contradiction(line, entry, value, None)
        if line.id in self.failed or (line.id is None and entry in self.lost and not waited_for):
            which = self.name(entry) if line.id is None else f"id {line.id}"
            raise CampaignError(f"expected a value or a failure of {which}, got both ({line.where}).")
        id = self.answered(line, entry)
        for key in (id, entry):
            self.fresh.setdefault(key, []).append(value)
        self.told.append((id, row, col, value))

    def tell_trials(self, line: Line, successes: int, trials: int) -> None:
        """Record every trial of a line that counts them, or none where the same trials are recorded already."""
        entry, again = self.entry(line), self.again
        earlier = [] if again else self.values(line.id, entry)[0]
        if earlier and (earlier.count(1.0), len(earlier)) == (successes, trials):
            self.known += trials
            return
        if earlier and not (line.id is None and self.pending(entry)):
            raise self.contradiction(line, entry, f"{successes} of {trials}", earlier[-1])
        self.again = True
        for value in [1.0] * successes + [0.0] * (trials - successes):
            self.tell(line, value)
            line = line._replace(id=self.told[-1][0])
        self.again = again

    def entry(self, line: Line) -> Entry:
        """Return the entry of a line."""
        if line.id is not None:
            check_id(self.state, line.id)
            entry = self.state.asked.entry(line.id)
            row = entry[0] if line.row is None else _find_label(self.rows, line.row, entry[0])
            col = entry[1] if line.col is None else _find_label(self.cols, line.col, entry[1])
            if (row, col) != entry:
                asked = self.name(entry)
                got = f"row {show(line.row)}, column {show(line.col)}"
                raise DataError(f"expected {asked} with id {line.id}, as asked, got {got} ({line.where}).")
            return row, col
        if line.row is None or line.col is None:
            raise DataError(f"expected an id, or a row and a column, in {line.where}, got neither.")
        return _find_label(self.rows, line.row), _find_label(self.cols, line.col)

    def answered(self, line: Line, entry: Entry) -> int | None:
        """Return the id that a line answers: its own, or the first pending of its entry, or the last expired one."""
        if line.id is not None:
            return line.id
        left = [a.id for a in self.open(entry) if not self.is_answered(a.id)]
        return next(iter(self.pending(entry) or left[::-1]), None)

    def pending(self, entry: Entry) -> list[int]:
        """Return the pending ids of an entry that no earlier line has answered."""
        waiting = (a for a in self.open(entry) if a.status_at(self.now) == "pending")
        return [a.id for a in waiting if not self.is_answered(a.id)]

    def is_answered(self, id: int) -> bool:
        return id in self.fresh or id in self.failed

    def values(self, id: int | None, entry: Entry) -> tuple[list[float | Reading], set[float | Reading]]:
        """Return the values recorded, and those removed, for this id or, without an id, for this entry."""
        fresh = self.fresh.get(entry if id is None else id, [])
        places = self.by_entry.find(entry_keys(*entry)) if id is None else self.by_id.find(id)
        if not len(places):
            return fresh, set()
        known = self.state.measurements.select(places)
        removed = {said for m in known if m.struck for said in m.before}
        standing: list[float | Reading] = [m.reading or m.value for m in known if not m.struck]
        return standing + fresh, removed

    def repeats(
        self, id: int | None, entry: Entry, value: float | Reading, earlier: Sequence[float | Reading]
    ) -> bool:
        """Whether a value without a standard error was recorded before this report with one, perhaps by `correct`."""
        n_fresh = len(self.fresh.get(entry if id is None else id, []))
        return value in map(_plain_value, earlier[: len(earlier) - n_fresh])

    def open(self, entry: Entry) -> list[Ask]:
        """Return the asks of an entry that the state has as pending or expired."""
        places = self.open_by_entry.find(entry_keys(*entry))
        return self.state.asked.select(self.state.asked.open[places]) if len(places) else []

    @cached_property
    def by_entry(self) -> Finder:
        """Measurements by entry."""
        known = self.state.measurements
        return Finder(entry_keys(known.column("row"), known.column("col")), self.n_lines)

    @cached_property
    def by_id(self) -> Finder:
        """Measurements by id."""
        return Finder(self.state.measurements.column("id"), self.n_lines)

    @cached_property
    def open_by_entry(self) -> Finder:
        """Asks that are pending or expired by entry."""
        asked, places = self.state.asked, self.state.asked.open
        keys = entry_keys(asked.column("row")[places], asked.column("col")[places])
        return Finder(keys, self.n_lines)

    # Failures

    def fail(self, line: Line) -> None:
        entry = self.entry(line)
        id = self.answered(line, entry)
        if line.id is None and not self.pending(entry):
            if entry in self.failures or entry in self.lost:
                self.known += 1
                return
            if entry in self.fresh or (id is None and self.values(None, entry)[0]):
                raise _has_value(self.name(entry))
        if id is None:
            self.unasked.append(entry)
            id = len(self.state.asked) + len(self.unasked)
        status = self.state.asked[id].status if id <= len(self.state.asked) else "pending"
        if status == "told" or id in self.fresh:
            raise _has_value(f"id {id}", id)
        if status == "failed" or id in self.failed:
            self.known += 1
        else:
            self.failed[id] = line.reason
            self.lost.add(entry)

    @cached_property
    def failures(self) -> set[Entry]:
        """Entries with a recorded failure."""
        asked = self.state.asked
        failed = np.isin(asked.column("status"), (FAILED, RETRY))
        return set(zip(*(asked.column(side)[failed].tolist() for side in ("row", "col")), strict=True))

    # Results

    def settled(self) -> list[int]:
        """Return pending ids whose entries got a value by row and col; none if each id needs its own (`again`)."""
        if self.state.settings.again:
            return []
        return sorted(id for entry in self.by_labels for id in self.pending(entry))

    def name(self, entry: Entry) -> str:
        return place(self.rows, entry[0], self.cols, entry[1])

    def contradiction(
        self, line: Line, entry: Entry, value: float | Reading | str, earlier: float | Reading | None
    ) -> CampaignError:
        """Return the error for a value other than the earlier one, or (None) one that a correction has removed."""
        which = self.name(entry) if line.id is None else f"id {line.id} ({self.name(entry)})"
        words = self.state.settings.words
        got = _text(value, words)
        if earlier is None:
            message = f"expected a new value for {which}, got {got}, which was removed by a correction."
            code, verb = "removed_value", "restore"
        else:
            message = f"expected the value {_text(earlier, words)} recorded for {which}, got {got}."
            code, verb = "other_value", "replace"
            if earlier in self.fresh.get(entry if line.id is None else line.id, []):
                message = (
                    f"expected one value for {which}, got {_text(earlier, words)} and {got} ({line.where})."
                )
                hint = "Leave one out, or say again=True if both were measured."
                return CampaignError(message, code="two_values", hint=hint, id=line.id, value=line.value)
            told_se = value.se if isinstance(value, Reading) else 0.0
            if told_se and earlier == _plain_value(value):
                hint = "Use correct(..., se=) to give the value its standard error, or again=True if it is another one."
                return CampaignError(message, code="other_se", hint=hint, id=line.id, value=line.value)
        hint = f"Use correct() to {verb} the value, or again=True to add another measurement."
        return CampaignError(message, code=code, hint=hint, id=line.id, value=line.value)


def _find_label(axis: Axis, label: Any, asked: int | None = None) -> int:
    """Return the position of a row or column; refuse a new one with how it is added.

    asked: the position that was asked for, under another label perhaps.
    """
    try:
        return axis.find(label)
    except LabelError as error:
        side = "rows" if axis.name == "row" else "cols"
        hint = "" if "did you mean" in error.message else f"To add it: add_{side} (maxentry add-{side})."
        if asked is not None:
            hint = f"Its id is of {axis.name} {axis.show(asked)}: write that, if it was renamed, or leave it empty."
        raise LabelError(error.message, code=error.code, hint=hint, **error.fields) from None


def judge_lines(
    lines: Sequence[Line], state: State, again: bool, now: dt.datetime
) -> tuple[list[Event], Receipt]:
    """Turn lines into events and a receipt. Raise if any line is not valid; then nothing is recorded."""
    lines, _ = use_new_labels(lines, state)
    judge = _Judge(lines, state, again, now)
    try:
        for k, line in enumerate(lines, 1):  # noqa: B007
            judge.take(line)
    except MaxentryError as error:
        error.fields.setdefault("line", k)
        raise
    events: list[Event] = []
    if judge.told:
        events.append(_told_event(judge.told))
    if judge.unasked:
        events.append(_asked_event(judge.unasked, state))
    if judge.failed:
        events.append(Failed(tuple(judge.failed), tuple(judge.failed.values())))
    if settled := judge.settled():
        events.append(Withdrawn(tuple(settled), "told by row and column"))
    return events, Receipt(len(judge.told), len(judge.failed), judge.known, judge.awaited)


def _text(value: float | Reading | str, words: cells.Words | None = None) -> str:
    return str(value) if not isinstance(value, float) else words.show(value) if words else f"{value:g}"


def _told_event(told: Sequence[tuple[int | None, int, int, float | Reading]]) -> Told:
    """Return the event for these values, with ends and standard errors only where there are some."""
    ids, rows, cols, values = zip(*told, strict=True)
    readings = [Reading(x, x) if isinstance(x, float) else x for x in values]
    low, high, se = zip(*readings, strict=True)
    numbers = tuple(reading.statement.value for reading in readings)
    ends = {} if low == high else {"low": low, "high": high}
    return Told(ids, rows, cols, numbers, **ends, se=se if any(se) else None)


def _asked_event(entries: Sequence[Entry], state: State) -> Asked:
    """Return the event that gives ids to entries that failed, so that they are not asked for; it costs nothing."""
    (rows, cols), unknown = zip(*entries, strict=True), (math.nan,) * len(entries)
    cost = (0.0,) * len(entries)
    why = "tried without being asked for"
    return Asked(len(state.asked) + 1, rows, cols, unknown, unknown, unknown, cost, state.version, why=why)


def note_lines(state: State, lines: Sequence[Line]) -> list[str]:
    """Name the former labels in these lines, and values that must be slips; mostly nothing."""
    lines, notes = use_new_labels(lines, state)
    return [*notes, *doubt_values(state, lines)]


def doubt_values(state: State, lines: Sequence[Line] | None = None) -> list[str]:
    """Name values that must be slips, of these lines or of all: a lost decimal point, say. Mostly none."""
    likelihood = state.settings.likelihood
    if likelihood.discrete or likelihood.noise == "student" or state.settings.transform != "none":
        return []
    if len(state.standing) > MOST_VALUES:  # before they are copied
        return []
    plain = np.flatnonzero(state.ends[0] == state.ends[1])
    rows, cols = (side[plain] for side in state.told)
    notes = note_slips(state.values[plain], rows, cols, (state.row_axis, state.col_axis))
    if lines is not None and notes:
        ids = {line.id for line in lines} - {None}
        entries = {(label_text(line.row), label_text(line.col)) for line in lines}
        labels = [[*map(label_text, side)] for side in (state.row_labels, state.col_labels)]
        found = zip([*notes], state.standing.select(plain[[*notes]]), strict=True)
        told = (k for k, m in found if m.id in ids or (labels[0][m.row], labels[1][m.col]) in entries)
        notes = {k: notes[k] for k in told}
    return [sentence(note) for note in notes.values()]


def check_id(state: State, id: int) -> None:
    """Raise if nothing was asked under this id."""
    if id not in state.asked:
        there = f"ids are 1 to {len(state.asked)}" if state.asked else "nothing was asked yet"
        raise DataError(f"expected an id that was asked, got {id}; {there}.")
    if max(state.asked.entry(id)) >= REMOVED:
        raise CampaignError(f"expected an id of this matrix, got {id}, whose row or column was removed.")


def find_ask(state: State, id: int) -> Ask:
    """Return the ask with this id; raise if there is none."""
    check_id(state, id)
    return state.asked[id]


def _plain_value(value: float | Reading | str) -> float | Reading | str:
    """Return a value without its standard error."""
    if not isinstance(value, Reading):
        return value
    return value.low if value.low == value.high else value._replace(se=0.0)
