"""Tables: the asks and the measurements of a campaign, in columns.

A million measurements are a few arrays instead of a million objects. `Asks` and `Measurements` build a record (`Ask`,
`Measurement`) when somebody looks at it. Both are immutable; a longer one shares the arrays of the one it continues.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from maxentry.readings import Reading

Array = NDArray[Any]
Indices = NDArray[np.int64]
AskStatus = Literal["pending", "told", "failed", "withdrawn", "expired"]
# Statuses by code. The last is a failure whose entry may be asked for again.
STATUSES: tuple[AskStatus, ...] = ("pending", "told", "failed", "withdrawn", "failed")
PENDING, TOLD, FAILED, WITHDRAWN, RETRY = range(5)
LEAP = dt.timedelta(days=1)  # clocks that differ by more cannot both be right
BLOCK = 10_000  # records built at once


class Ask(NamedTuple):
    """One entry that was asked for, and its status."""

    id: int
    row: int
    col: int
    mean: float
    sd: float
    gain: float
    cost: float
    asked_at: dt.datetime
    expires_at: dt.datetime | None
    event: int
    who: str | None = None
    status: AskStatus = "pending"  # by the events: never "expired", which depends on the time
    reason: str = ""
    retry: bool = False
    asked_after: dt.datetime | None = None  # a bound by the other events, if the clock of this one was ahead

    def status_at(self, now: dt.datetime) -> AskStatus:
        """Return the status at this time."""
        over = self.expires_at is not None and now >= self.expires_at - self.lead(now)
        return "expired" if over and self.status == "pending" else self.status

    def lead(self, now: dt.datetime) -> dt.timedelta:
        """Return by how much the clock that wrote this ask was ahead, if `now` says that it was."""
        if self.asked_after is None or self.asked_at - now <= LEAP:
            return dt.timedelta(0)
        return self.asked_at - self.asked_after


class Measurement(NamedTuple):
    """One measured value, in the user's units; NaN if a correction has removed it."""

    number: int  # in the order of recording, from 1
    row: int
    col: int
    value: float
    id: int | None
    event: int
    told_at: dt.datetime
    who: str | None = None
    corrected: bool = False
    before: tuple[float | Reading, ...] = ()  # what it said before corrections, oldest first
    reading: Reading | None = None  # its ends and standard error; None for a plain value without one

    @property
    def limits(self) -> tuple[float | None, float | None] | None:
        """The ends of a limit or a range, None where open; None for a plain value."""
        if self.reading is None or self.reading.low == self.reading.high or self.struck:
            return None
        return tuple(x if math.isfinite(x) else None for x in self.reading[:2])  # type: ignore[return-value]

    @property
    def se(self) -> float | None:
        """The standard error of the value; None where none was told."""
        return None if self.reading is None else self.reading.se or None

    @property
    def struck(self) -> bool:
        """Whether a correction has removed the value."""
        return math.isnan(self.value)


# Times and authors as numbers

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
NEVER = np.iinfo(np.int64).max


def to_micros(at: dt.datetime | dt.timedelta) -> int:
    """Return a time as microseconds since 1970, or a span in microseconds."""
    return (at if isinstance(at, dt.timedelta) else at - EPOCH) // MICROSECOND


def from_micros(micros: int, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    """Return the time of so many microseconds since 1970."""
    at = EPOCH + dt.timedelta(microseconds=micros)
    return at if zone is dt.UTC else at.astimezone(zone)


class Authors:
    """The authors of events, by number, each with the time zone of its clock. It only grows, so states share it."""

    def __init__(self, known: Iterable[tuple[str | None, dt.tzinfo]] = ()) -> None:
        self.known = list(known)
        self._numbers = {author: k for k, author in enumerate(self.known)}
        self._turn = threading.Lock()

    def number(self, who: str | None, at: dt.datetime) -> int:
        """Return the number of an author, a new one if need be."""
        zone = dt.UTC if at.tzinfo is dt.UTC else dt.timezone(at.utcoffset() or dt.timedelta(0))
        number = self._numbers.get((who, zone))
        if number is None:
            with self._turn:
                number = self._numbers.get((who, zone), len(self.known))
                if number == len(self.known):
                    self.known.append((who, zone))
                    self._numbers[who, zone] = number
        return number


# Columns


class _Buffer:
    """Memory of a column; the first `used` places are taken."""

    __slots__ = ("array", "used")

    def __init__(self, array: Array, used: int) -> None:
        self.array, self.used = array, used


_TURN = threading.Lock()


class Column:
    """An immutable array. A longer one continues it in the same memory, unless another one has done so before."""

    __slots__ = ("_buffer", "array")

    def __init__(self, array: Array) -> None:
        self._share(_Buffer(array, len(array)), len(array))

    def _share(self, buffer: _Buffer, n: int) -> None:
        self._buffer, self.array = buffer, buffer.array[:n]
        self.array.flags.writeable = False

    def extended(self, more: Sequence[Any] | Array) -> Column:
        """Return a column with more values at the end."""
        n, size, buffer = len(self.array), len(self.array) + len(more), self._buffer
        if size == n:
            return self
        with _TURN:
            free = buffer.used == n and size <= len(buffer.array)
            if free:
                buffer.used = size
        if not free:
            buffer = _Buffer(np.empty(size + size // 2 + 8, dtype=self.array.dtype), size)
            buffer.array[:n] = self.array
        buffer.array[n:size] = more
        longer = object.__new__(Column)
        longer._share(buffer, size)
        return longer


Columns = Mapping[str, Column]


def make_columns(arrays: Mapping[str, Array], types: Mapping[str, type]) -> dict[str, Column]:
    """Return arrays as columns of these types; an array that is not there is empty."""
    columns = {name: Column(np.array(arrays.get(name, ()), dtype=kind)) for name, kind in types.items()}
    if len({len(column.array) for column in columns.values()}) > 1:
        raise ValueError("expected columns of one length, got several")
    return columns


ASK_TYPES: dict[str, type] = {
    "row": np.int64, "col": np.int64, "mean": np.float64, "sd": np.float64, "gain": np.float64,
    "cost": np.float64, "at": np.int64, "expires": np.int64, "event": np.int64, "author": np.int64,
    "after": np.int64, "status": np.int8,
}  # fmt: skip


class Asks(Mapping[int, Ask]):
    """The asks by id. Ids are 1, 2, … in the order of asking."""

    def __init__(self, columns: Columns, reasons: Mapping[int, str], authors: Authors) -> None:
        self.columns, self.reasons, self.authors = columns, reasons, authors

    @classmethod
    def none(cls, authors: Authors) -> Asks:
        """Return no asks."""
        return cls(make_columns({}, ASK_TYPES), {}, authors)

    def column(self, name: str) -> Array:
        """Return one property of all asks, in the order of their ids; times in microseconds."""
        return self.columns[name].array

    def __len__(self) -> int:
        return len(self.column("row"))

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, len(self) + 1))

    def __contains__(self, id: object) -> bool:
        try:
            return 1 <= id <= len(self) and int(id) == id  # type: ignore[operator, call-overload]
        except (TypeError, ValueError):
            return False

    def __getitem__(self, id: int) -> Ask:
        if id not in self:
            raise KeyError(id)
        return self.select([int(id) - 1])[0]

    def values(self) -> ValuesView[Ask]:
        """Return the asks in the order of their ids."""
        return _AskValues(self)

    def entry(self, id: int) -> tuple[int, int]:
        """Return the row and the column of an id."""
        return int(self.column("row")[id - 1]), int(self.column("col")[id - 1])

    def select(self, positions: Any) -> list[Ask]:
        """Return the asks at these positions (their ids less 1)."""
        at = np.asarray(positions, dtype=np.int64)
        names = (
            "row",
            "col",
            "mean",
            "sd",
            "gain",
            "cost",
            "at",
            "expires",
            "event",
            "author",
            "after",
            "status",
        )
        lines = zip(at.tolist(), *(self.column(name)[at].tolist() for name in names), strict=True)
        return [
            Ask(
                k + 1, row, col, mean, sd, gain, cost,
                from_micros(asked, self.authors.known[author][1]),
                None if expires == NEVER else from_micros(expires),
                event, self.authors.known[author][0], STATUSES[status], self.reasons.get(k + 1, ""),
                status == RETRY, None if after == asked else from_micros(after),
            )
            for k, row, col, mean, sd, gain, cost, asked, expires, event, author, after, status in lines
        ]  # fmt: skip

    def since(self, event: int) -> Indices:
        """Return the positions of asks in this event and later ones."""
        return np.arange(np.searchsorted(self.column("event"), event), len(self))

    @cached_property
    def open(self) -> Indices:
        """The positions of asks without a value, failure or withdrawal: pending or expired."""
        return np.flatnonzero(self.column("status") == PENDING)

    def pending(self, now: dt.datetime) -> Indices:
        """Return the positions of the pending asks, as `Ask.status_at` has it."""
        moment, places = to_micros(now), self.open
        expires, asked, after = (self.column(name)[places] for name in ("expires", "at", "after"))
        lead = np.where(asked - moment > to_micros(LEAP), asked - after, 0)
        pending: Indices = places[(expires == NEVER) | (moment < expires - lead)]
        return pending

    def statuses(self, now: dt.datetime) -> list[AskStatus]:
        """Return the status of each ask at this time."""
        statuses: list[AskStatus] = [STATUSES[code] for code in self.column("status").tolist()]
        expired = np.zeros(len(self), dtype=bool)
        expired[self.open], expired[self.pending(now)] = True, False
        for k in np.flatnonzero(expired).tolist():
            statuses[k] = "expired"
        return statuses

    def renumbered(self, side: Side, places: Array, reason: str) -> Asks:
        """Return the asks of a matrix from which rows or columns were removed; those of them are withdrawn.

        places: the new position of each row (or column), see `new_places`.
        """
        old = self.column(side)
        new = renumber(old, places)
        gone = (new >= REMOVED) & (old < REMOVED)
        status = np.where(
            gone & np.isin(self.column("status"), (PENDING, TOLD)), WITHDRAWN, self.column("status")
        )
        changed = np.flatnonzero(status != self.column("status")).tolist()
        columns = {**self.columns, side: Column(new), "status": Column(status.astype(np.int8))}
        return Asks(columns, {**self.reasons, **{k + 1: reason for k in changed}}, self.authors)


class _AskValues(ValuesView[Ask]):
    _mapping: Asks

    def __iter__(self) -> Iterator[Ask]:
        for start in range(0, len(self._mapping), BLOCK):
            yield from self._mapping.select(np.arange(start, min(start + BLOCK, len(self._mapping))))


MEASUREMENT_TYPES: dict[str, type] = {
    "number": np.int64, "row": np.int64, "col": np.int64, "value": np.float64, "id": np.int64,
    "event": np.int64, "at": np.int64, "author": np.int64,
}  # fmt: skip


class Measurements(Sequence[Measurement]):
    """Measurements in the order of recording; id 0 stands for none, the value NaN for one that was removed.

    before: what measurements said before corrections, by their numbers: a plain value, or ends and standard error.
    readings: ends and standard errors, by number, of those that are more than plain values.
    """

    def __init__(
        self,
        columns: Columns,
        before: Mapping[int, tuple[float | Reading, ...]],
        authors: Authors,
        readings: Mapping[int, Reading] | None = None,
    ) -> None:
        self.columns, self.before, self.authors = columns, before, authors
        self.readings: Mapping[int, Reading] = {} if readings is None else readings

    @classmethod
    def none(cls, authors: Authors) -> Measurements:
        """Return no measurements."""
        return cls(make_columns({}, MEASUREMENT_TYPES), {}, authors)

    def column(self, name: str) -> Array:
        """Return one property of all measurements; times in microseconds."""
        return self.columns[name].array

    def __len__(self) -> int:
        return len(self.column("row"))

    def __iter__(self) -> Iterator[Measurement]:
        for start in range(0, len(self), BLOCK):
            yield from self.select(np.arange(start, min(start + BLOCK, len(self))))

    @overload
    def __getitem__(self, at: int) -> Measurement: ...
    @overload
    def __getitem__(self, at: slice) -> Measurements: ...
    def __getitem__(self, at: int | slice) -> Measurement | Measurements:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        return self.select([range(len(self))[at]])[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def take(self, positions: Indices) -> Measurements:
        """Return the measurements at these positions."""
        columns = {name: Column(column.array[positions]) for name, column in self.columns.items()}
        return Measurements(columns, self.before, self.authors, self.readings)

    def select(self, positions: Any) -> list[Measurement]:
        """Return the records of the measurements at these positions."""
        at = np.asarray(positions, dtype=np.int64)
        lines = zip(*(self.column(name)[at].tolist() for name in MEASUREMENT_TYPES), strict=True)
        return [
            Measurement(
                number, row, col, value, id or None, event, from_micros(told, self.authors.known[author][1]),
                self.authors.known[author][0], number in self.before, self.before.get(number, ()),
                self.readings.get(number),
            )
            for number, row, col, value, id, event, told, author in lines
        ]  # fmt: skip

    @cached_property
    def beside(self) -> dict[str, Array]:
        """The columns low, high and se; none where all measurements are plain values."""
        if not self.readings:
            return {}
        value = self.column("value")
        columns = {"low": value.copy(), "high": value.copy(), "se": np.zeros(len(self))}
        numbers = np.fromiter(self.readings, dtype=np.int64, count=len(self.readings))
        place = np.searchsorted(self.column("number"), numbers)
        here = np.flatnonzero(np.append(self.column("number"), 0)[place] == numbers)
        found = np.array([tuple(reading) for reading in self.readings.values()], dtype=np.float64)[here]
        for column, x in zip(columns.values(), found.T, strict=True):
            column[place[here]] = x
        return columns

    @cached_property
    def standing(self) -> Measurements:
        """The measurements that no correction has removed."""
        struck = np.isnan(self.column("value"))
        return self.take(np.flatnonzero(~struck)) if struck.any() else self

    def renumbered(self, side: Side, places: Array) -> Measurements:
        """Return the measurements of a matrix from which rows or columns were removed; those of them are struck out."""
        new = renumber(self.column(side), places)
        struck = (new >= REMOVED) & ~np.isnan(self.column("value"))
        before = dict(self.before)
        for m in self.select(np.flatnonzero(struck)):
            before[m.number] = (*m.before, m.reading or m.value)
        value = np.where(struck, np.nan, self.column("value"))
        columns = {**self.columns, side: Column(new), "value": Column(value)}
        return Measurements(columns, before, self.authors, self.readings)


# Rows and columns that were removed keep a place, so that what was asked and measured there can still be shown.

Side = Literal["row", "col"]
REMOVED = 1 << 30  # the first of their positions


def new_places(m: int, gone: Indices, known: int) -> Array:
    """Return the new position of each of m rows (or columns) when these are gone; `known` were removed before."""
    places = np.empty(m, dtype=np.int64)
    places[np.delete(np.arange(m), gone)] = np.arange(m - len(gone))
    places[gone] = REMOVED + known + np.arange(len(gone))
    return places


def renumber(positions: Array, places: Array) -> Array:
    """Return new positions of old ones."""
    return np.where(positions < REMOVED, places[np.minimum(positions, len(places) - 1)], positions)


# Finding positions


def entry_keys(rows: Any, cols: Any) -> Any:
    """Return one number per entry, whatever the shape of the matrix."""
    return (rows << 32) | cols


FEW = 32  # so many lookups are faster by looking through the array than by an index
NOWHERE = np.empty(0, dtype=np.int64)


class Finder:
    """Finds the positions of a key in an array: by looking through it for a few keys, by an index for many."""

    def __init__(self, keys: Indices, lookups: int) -> None:
        self._keys, self._many = keys, lookups > FEW

    @cached_property
    def _index(self) -> tuple[Indices, dict[int, tuple[int, int]]]:
        order = np.argsort(self._keys, kind="stable")
        distinct, start = np.unique(self._keys[order], return_index=True)
        spans = zip(start.tolist(), np.append(start, len(order))[1:].tolist(), strict=True)
        return order, dict(zip(distinct.tolist(), spans, strict=True))

    def find(self, key: int) -> Indices:
        """Return the positions of a key, in order."""
        if not self._many:
            return np.flatnonzero(self._keys == key)
        order, spans = self._index
        span = spans.get(key)
        return NOWHERE if span is None else order[span[0] : span[1]]
