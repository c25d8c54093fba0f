"""Draft: a state while events are applied to it. The work is that of the events; what is known already is shared."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.campaign import events
from maxentry.campaign.events import Record
from maxentry.campaign.ledger import (
    ASK_TYPES,
    FAILED,
    LEAP,
    MEASUREMENT_TYPES,
    NEVER,
    PENDING,
    RETRY,
    TOLD,
    WITHDRAWN,
    Array,
    Asks,
    Column,
    Measurements,
    to_micros,
)
from maxentry.errors import StorageError

if TYPE_CHECKING:
    from maxentry.campaign.settings import Settings

Leap = tuple[dt.datetime, dt.datetime]  # the times before and after


class Draft:
    """A mutable state."""

    def __init__(
        self,
        settings: Settings,
        version: int,
        changed_at: dt.datetime,
        digest: str | None,
        leaps: Iterable[Leap],
        asked: Asks,
        measurements: Measurements,
    ) -> None:
        self.settings, self.version, self.changed_at, self.digest = settings, version, changed_at, digest
        self.leaps = list(leaps)
        self._asks, self._measurements, self._authors = asked, measurements, asked.authors
        # New asks and measurements, in columns
        self._asked: dict[str, list[Any]] = {name: [] for name in ASK_TYPES if name != "status"}
        self._told: dict[str, list[Any]] = {name: [] for name in MEASUREMENT_TYPES if name != "number"}
        # What events change in old ones, copied when the first one does
        self._status: bytearray | None = None
        self._reasons: dict[int, str] | None = None
        self._values: Array | None = None
        self._before: dict[int, tuple[float, ...]] | None = None
        self._standing: list[int] | None = None  # standing measurements by id
        self._steps: list[tuple[int, int]] = []  # asks until then, and the time, where a clock went back

    def add(self, record: Record) -> None:
        """Apply the next event."""
        if record.number != self.version + 1:
            raise StorageError(f"expected event {self.version + 1}, got event {record.number}.")
        if record.at != self.changed_at:
            self._move_clock(record.at)
        match record.event:
            case events.Told() as event:
                self._tell(event, record)
            case events.Asked() as event:
                self._ask(event, record)
            case events.Corrected() as event:
                self._correct(event)
            case events.Failed(ids, reasons, retry):
                for id, reason in zip(ids, reasons, strict=True):
                    self._settle(id, RETRY if retry else FAILED, reason)
            case events.Withdrawn(ids, reason):
                for id in ids:
                    self._settle(id, WITHDRAWN, reason)
            case events.RowsAdded(labels, cost):
                self.settings = self.settings.with_rows(labels, cost)
            case events.ColsAdded(labels, cost):
                self.settings = self.settings.with_cols(labels, cost)
            case events.Changed(changes):
                self.settings = self.settings.changed(changes)
            case other:
                raise StorageError(f"expected {other.kind!r} to be the first event only, got it again.")
        self.version, self.changed_at, self.digest = record.number, record.at, record.digest

    def _move_clock(self, at: dt.datetime) -> None:
        if at - self.changed_at > LEAP:
            self.leaps.append((self.changed_at, at))
        elif at < self.changed_at:
            while self.leaps and self.leaps[-1][1] > at:
                self.leaps.pop()
            self._steps.append((self._n_asks(), to_micros(at)))

    # Asks

    def _n_asks(self) -> int:
        return len(self._asks) + len(self._asked["row"])

    def _ask(self, event: events.Asked, record: Record) -> None:
        n = len(event.rows)
        columns = {
            "row": event.rows, "col": event.cols, "mean": event.mean, "sd": event.sd, "gain": event.gain,
            "cost": event.cost,
        }  # fmt: skip
        if event.first != self._n_asks() + 1 or any(len(column) != n for column in columns.values()):
            raise ValueError(f"expected {n} asks from id {self._n_asks() + 1} on, got others")
        at = to_micros(record.at)
        after = to_micros(self.leaps[-1][0]) if self.leaps else at
        expires = NEVER if event.expires_at is None else to_micros(event.expires_at)
        author = self._authors.number(record.who, record.at)
        same = {"at": at, "expires": expires, "event": record.number, "author": author, "after": after}
        for name, column in columns.items():
            self._asked[name].extend(column)
        for name, value in same.items():
            self._asked[name].extend([value] * n)
        self._statuses().extend([PENDING] * n)
        if self._standing is not None:
            self._standing.extend([0] * n)

    def _statuses(self) -> bytearray:
        if self._status is None:
            self._status = bytearray(self._asks.column("status").tobytes())
        return self._status

    def _settle(self, id: int, status: int, reason: str = "") -> None:
        statuses = self._statuses()
        if not 1 <= id <= len(statuses):
            raise LookupError(f"no id {id}")
        statuses[id - 1] = status
        known = self._asks.reasons if self._reasons is None else self._reasons
        if reason != known.get(id, ""):
            if self._reasons is None:
                self._reasons = dict(known)
            if reason:
                self._reasons[id] = reason
            else:
                del self._reasons[id]

    def asks(self) -> Asks:
        """Return the asks after all events."""
        columns = {name: self._asks.columns[name].extended(more) for name, more in self._asked.items()}
        columns["status"] = self._asks.columns["status"]
        if self._status is not None:
            columns["status"] = Column(np.frombuffer(bytes(self._status), dtype=np.int8))
        if self._steps:
            columns["after"] = Column(self._bounds(columns["after"].array))
        reasons = self._asks.reasons if self._reasons is None else self._reasons
        return Asks(columns, reasons, self._authors)

    def _bounds(self, after: Array) -> Array:
        """Return the bounds of the times of asks: an event was not later than any that follows it."""
        places, times = (np.array(column, dtype=np.int64) for column in zip(*self._steps, strict=True))
        earliest = np.append(np.minimum.accumulate(times[::-1])[::-1], NEVER)
        following = np.searchsorted(places, np.arange(len(after)), side="right")
        bounds: Array = np.minimum(after, earliest[following])
        return bounds

    # Measurements

    def _tell(self, event: events.Told, record: Record) -> None:
        ids, n, told = event.ids, len(event.ids), self._told
        if not n == len(event.rows) == len(event.cols) == len(event.values):
            raise ValueError("expected as many values as entries, got others")
        told["row"].extend(event.rows)
        told["col"].extend(event.cols)
        told["value"].extend(event.values)
        told["id"].extend([id or 0 for id in ids])
        told["event"].extend([record.number] * n)
        told["at"].extend([to_micros(record.at)] * n)
        told["author"].extend([self._authors.number(record.who, record.at)] * n)
        for id in ids:
            if id is not None:
                self._settle(id, TOLD)
                if self._standing is not None:
                    self._standing[id - 1] += 1

    def _correct(self, event: events.Corrected) -> None:
        known, place = len(self._measurements), event.number - 1
        if not 0 <= place < known + len(self._told["row"]):
            raise LookupError(f"no measurement {event.number}")
        if self._values is None:
            self._values = self._measurements.column("value").copy()
            self._before = dict(self._measurements.before)
        old_place = place < known
        values: Any = self._values if old_place else self._told["value"]
        k = place if old_place else place - known
        old, new = float(values[k]), math.nan if event.value is None else event.value
        id = int(self._measurements.column("id")[k]) if old_place else self._told["id"][k]
        assert self._before is not None
        before = self._before.get(event.number, ())
        self._before[event.number] = before if math.isnan(old) else (*before, old)
        standing = self._count_standing() if id else []
        values[k] = new
        if id:
            standing[id - 1] += math.isnan(old) - math.isnan(new)
            left = standing[id - 1] > 0
            self._settle(id, TOLD if left else WITHDRAWN, "" if left else event.reason)

    def _count_standing(self) -> list[int]:
        """Return the number of standing measurements of each id."""
        if self._standing is None:
            old = self._measurements.column("value") if self._values is None else self._values
            values = np.concatenate([old, np.array(self._told["value"], dtype=np.float64)])
            ids = np.concatenate(
                [self._measurements.column("id"), np.array(self._told["id"], dtype=np.int64)]
            )
            counts = np.bincount(ids[~np.isnan(values)], minlength=self._n_asks() + 1)
            self._standing = counts[1:].tolist()
        return self._standing

    def measurements(self) -> Measurements:
        """Return the measurements after all events."""
        known, n = self._measurements, len(self._told["row"])
        columns = dict(known.columns)
        if self._values is not None:
            columns["value"] = Column(self._values)
        columns = {name: columns[name].extended(more) for name, more in self._told.items()}
        columns["number"] = known.columns["number"].extended(np.arange(len(known) + 1, len(known) + n + 1))
        return Measurements(columns, known.before if self._before is None else self._before, self._authors)
