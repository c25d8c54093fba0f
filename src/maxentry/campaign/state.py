"""State: the result of replaying a campaign's events. It is never stored.

States are immutable: `state.after(records)` returns a new one, which shares memory with the old one, so that its cost
is that of the new events. Entries are positions (row i, column j); the labels are in the settings. Arrays are computed
on first use and cached. Random generators are not stored either: each is derived from the campaign's seed, a purpose
and a number.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.problem import Costs
from maxentry.belief import Entries
from maxentry.campaign import events
from maxentry.campaign.events import Record
from maxentry.campaign.ledger.former import NO_FORMER, FormerLabels
from maxentry.campaign.ledger.tables import (
    FAILED,
    LEAP,
    NEVER,
    REMOVED,
    RETRY,
    TOLD,
    WITHDRAWN,
    Array,
    Ask,
    Asks,
    Authors,
    Column,
    Measurements,
    Side,
    new_places,
    to_micros,
)
from maxentry.campaign.settings import Settings
from maxentry.errors import MaxentryError, StorageError
from maxentry.labels import Axis, Labels
from maxentry.observations import Observations
from maxentry.readings import Reading

# Purposes of random generators. Do not reorder: the draws of existing campaigns depend on these numbers.
FIT, WARM, CHOICE, OUTLOOK, STATION, DESIGN = range(6)


def derive_rng(seed: int, purpose: int, number: int) -> np.random.Generator:
    """Return the generator for a purpose at an event number (or number of measurements)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, number)))


def derive_seed(seed: int, purpose: int, number: int) -> int:
    """Return a seed for a purpose, for functions that take a whole number."""
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


Leap = tuple[dt.datetime, dt.datetime]  # the times before and after


@dataclass(frozen=True, eq=False)
class State:
    """A campaign after event `version`."""

    settings: Settings
    version: int
    created_at: dt.datetime
    changed_at: dt.datetime
    asked: Asks  # by id; ids are 1, 2, … in the order of asking
    measurements: Measurements  # in the order of telling
    digest: str | None = None  # of event `version` (see chain.py)
    leaps: tuple[Leap, ...] = ()  # where the clocks of the events leapt ahead
    removed: tuple[Labels, Labels] = ((), ())  # rows and columns that were removed, in that order
    former: FormerLabels = NO_FORMER  # of rows and columns that were renamed

    # The matrix

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.settings.shape

    @property
    def row_labels(self) -> Labels:
        """The rows' labels, added ones last."""
        return self.settings.rows

    @property
    def col_labels(self) -> Labels:
        """The columns' labels, added ones last."""
        return self.settings.cols

    @cached_property
    def row_axis(self) -> Axis:
        """The rows, to find positions by label."""
        return Axis("row", len(self.row_labels), self.row_labels)

    @cached_property
    def col_axis(self) -> Axis:
        """The columns, to find positions by label."""
        return Axis("column", len(self.col_labels), self.col_labels)

    def label_at(self, side: Side, k: int) -> Any:
        """Return the label of a row or column by position, also of one that was removed."""
        if k >= REMOVED:
            return self.removed[side == "col"][k - REMOVED]
        return (self.row_labels if side == "row" else self.col_labels)[k]

    @property
    def costs(self) -> Costs:
        """The costs of entries."""
        return self.settings.costs

    @cached_property
    def least_cost(self) -> float:
        """The cost of the cheapest entry."""
        return self.costs.extremes(*map(np.arange, self.shape))[0]

    @cached_property
    def barred(self) -> Entries:
        """Entries that failed without `retry` and have no value since."""
        failed = np.flatnonzero(self.asked.column("status") == FAILED)
        rows, cols = self.asked.column("row")[failed], self.asked.column("col")[failed]
        here = (rows < REMOVED) & (cols < REMOVED)
        keys = Entries(rows[here], cols[here]).keys(self.shape[1])
        return Entries.from_keys(np.setdiff1d(keys, self.told_keys), self.shape[1])

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """m1 x m2, True where an entry may be asked for: the settings' mask without failed entries (None: all)."""
        given = self.settings.mask
        if not self.barred.rows.size:
            return given
        mask = np.ones(self.shape, dtype=bool) if given is None else given.copy()
        mask[self.barred.rows, self.barred.cols] = False
        return mask

    # Measurements

    @property
    def standing(self) -> Measurements:
        """The measurements that no correction has removed, in the order of recording."""
        return self.measurements.standing

    @cached_property
    def told(self) -> Entries:
        """The entries of the standing measurements, in the order of recording, with repeats."""
        return Entries(self.standing.column("row").copy(), self.standing.column("col").copy())

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The values of the standing measurements in the user's units, in the order of recording; limits as numbers."""
        return self.standing.column("value").copy()

    @cached_property
    def sizes_by_event(self) -> dict[int, int]:
        """How many standing measurements there were after each event that added some."""
        numbers = self.standing.column("event")
        last = np.flatnonzero(np.diff(numbers, append=-1))
        return dict(zip(numbers[last].tolist(), (last + 1).tolist(), strict=True))

    @cached_property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The ends of the standing measurements; values at the ends of the scale are open there."""
        beside = self.standing.beside
        low, high = (beside[name].copy() if beside else self.values.copy() for name in ("low", "high"))
        plain, (least, most) = low == high, self.settings.limits or (-math.inf, math.inf)
        low[plain & (self.values <= least)], high[plain & (self.values >= most)] = -math.inf, math.inf
        return low, high

    def observations(self, n: int | None = None) -> Observations:
        """Return the first n standing measurements (None: all) with their labels, in the user's units."""
        rows, cols = self.told
        labels = self.row_labels, self.col_labels
        beside: dict[str, Any] = {name: column[:n] for name, column in self.standing.beside.items()}
        return Observations(self.shape, rows[:n], cols[:n], self.values[:n], *labels, **beside)  # type: ignore[arg-type]

    @cached_property
    def row_counts(self) -> NDArray[np.int64]:
        """Measurements in each row."""
        return np.bincount(self.told.rows, minlength=self.shape[0])

    @cached_property
    def col_counts(self) -> NDArray[np.int64]:
        """Measurements in each column."""
        return np.bincount(self.told.cols, minlength=self.shape[1])

    @cached_property
    def told_keys(self) -> NDArray[np.int64]:
        """The entries measured at least once, as sorted keys i m2 + j."""
        return np.unique(self.told.keys(self.shape[1]))

    # Asks

    def pending_asks(self, now: dt.datetime) -> tuple[Ask, ...]:
        """Return the pending asks, in the order of asking."""
        return tuple(self.asked.select(self.asked.pending(now)))

    def pending(self, now: dt.datetime) -> Entries:
        """Return the pending entries, in the order of asking."""
        places = self.asked.pending(now)
        return Entries(self.asked.column("row")[places], self.asked.column("col")[places])

    def spent(self, now: dt.datetime) -> float:
        """Return the cost of all asks that were told, failed or are pending.

        A measurement that a correction has removed still counts: it was paid for.
        """
        status = self.asked.column("status")
        counted = (status == TOLD) | (status == FAILED) | (status == RETRY)
        counted[self.asked.pending(now)] = True
        ids = self.measurements.column("id")
        counted[ids[ids > 0] - 1] = True
        return math.fsum(self.asked.column("cost")[counted].tolist())

    def taken_keys(self, now: dt.datetime) -> NDArray[np.int64]:
        """Return the entries that must not be asked for now, as sorted keys: measured or pending, unless `again`."""
        if self.settings.again:
            return self.told_keys[:0]
        return np.union1d(self.pending(now).keys(self.shape[1]), self.told_keys)

    def n_available(self, now: dt.datetime) -> int:
        """Return how many entries can be asked for now."""
        m1, m2 = self.shape
        mask, taken = self.mask, Entries.from_keys(self.taken_keys(now), m2)
        if mask is None:
            return m1 * m2 - taken.rows.size
        return int(mask.sum()) - int(mask[taken.rows, taken.cols].sum())

    # Later states

    def time(self, clock: dt.datetime) -> dt.datetime:
        """Return the time by this clock, but never a time before the last event.

        If the events after a leap were written by a clock far ahead of this one, they do not count.
        """
        if clock >= self.changed_at - LEAP:
            return max(clock, self.changed_at)
        for before, after in reversed(self.leaps):
            if before - LEAP <= clock < after - LEAP:
                return max(clock, before)
        return self.changed_at  # this clock is behind

    def after(self, records: Iterable[Record]) -> State:
        """Return the state after these events, too."""
        iterator = iter(records)
        first = next(iterator, None)
        if first is None:
            return self
        draft = _Draft(
            self.settings, self.version, self.changed_at, self.digest, self.leaps, self.asked, self.measurements,
            self.removed, self.former,
        )  # fmt: skip
        for record in chain([first], iterator):
            try:
                draft.add(record)
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                if isinstance(error, MaxentryError):
                    raise
                raise _does_not_follow(record.number, error) from error
        try:
            settings, asked, measurements = draft.settings, draft.asks(), draft.measurements()
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            if isinstance(error, MaxentryError):
                raise
            raise _does_not_follow(draft.version, error) from error
        later = State(
            settings, draft.version, self.created_at, draft.changed_at, asked, measurements, draft.digest,
            tuple(draft.leaps), draft.removed, draft.former,
        )  # fmt: skip
        if settings is self.settings:  # the axes have an index of all labels
            known = vars(self)
            vars(later).update({name: known[name] for name in ("row_axis", "col_axis") if name in known})
        return later


def _does_not_follow(number: int, error: Exception) -> StorageError:
    return StorageError(
        f"expected event {number} to follow from those before it, got one that does not "
        f"({type(error).__name__}: {error!s:.100})."
    )


def replay(records: Iterable[Record]) -> State:
    """Return the state after all events of a campaign, from the first."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None or first.number != 1 or not isinstance(first.event, events.Created):
        raise StorageError("expected the first event to create the campaign, got another.")
    authors = Authors()
    asked, measurements = Asks.none(authors), Measurements.none(authors)
    digest = first.digest
    return State(first.event.settings, 1, first.at, first.at, asked, measurements, digest).after(iterator)


def _width(leap: Leap) -> dt.timedelta:
    return leap[1] - leap[0]


# Columns that an event gives for each entry, and those that its entries have in common
ASKED, ASKED_BY = ("row", "col", "mean", "sd", "gain", "cost"), ("at", "expires", "event", "author", "after")
SIDES: tuple[Literal["row"], Literal["col"]] = ("row", "col")
TOLD_NAMES, TOLD_BY = ("row", "col", "value", "id"), ("event", "at", "author")


def _repeat(names: tuple[str, ...], lines: list[tuple[int, ...]]) -> dict[str, Any]:
    """Return columns with the values of each event repeated as often as it has entries; `lines`: n, values."""
    n, *columns = np.array(lines, dtype=np.int64).reshape(-1, len(names) + 1).T
    return {name: np.repeat(column, n) for name, column in zip(names, columns, strict=True)}


class _Draft:
    """A mutable state. The work is that of the events; what is known already is shared."""

    def __init__(
        self,
        settings: Settings,
        version: int,
        changed_at: dt.datetime,
        digest: str | None,
        leaps: Iterable[Leap],
        asked: Asks,
        measurements: Measurements,
        removed: tuple[Labels, Labels],
        former: FormerLabels,
    ) -> None:
        self.removed, self.former = removed, former
        self._settings, self.version, self.changed_at, self.digest = settings, version, changed_at, digest
        self._labels: dict[str, list[Any]] = {"row": [], "col": []}  # added, and not in the settings yet
        self.leaps = list(leaps)
        self._widest = max(self.leaps, key=_width, default=None)  # most likely by a clock that is ahead
        self._asks, self._measurements, self._authors = asked, measurements, asked.authors
        # New asks and measurements in columns; and, by event, how many there are and what they have in common
        self._asked: dict[str, list[Any]] = {name: [] for name in ASKED}
        self._told: dict[str, list[Any]] = {name: [] for name in TOLD_NAMES}
        self._asked_by: list[tuple[int, ...]] = []
        self._told_by: list[tuple[int, ...]] = []
        # What events change in old ones, copied when the first one does
        self._status: bytearray | None = None
        self._reasons: dict[int, str] | None = None
        self._values: Array | None = None
        self._before: dict[int, tuple[float | Reading, ...]] | None = None
        self._readings: dict[int, Reading] | None = None
        self._standing: list[int] | None = None  # standing measurements by id
        self._steps: list[tuple[int, int]] = []  # asks until then, and the time, where a clock went back

    def add(self, record: Record) -> None:
        """Apply the next event."""
        if record.number != self.version + 1:
            raise StorageError(f"expected event {self.version + 1}, got event {record.number}.")
        if record.at != self.changed_at:
            self._move_clock(record.at)
        if isinstance(record.event, events.Listed):
            self.former = self.former.after(record.event, self.removed)
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
            case events.RowsAdded(labels, cost, features, by_line):
                self._add_labels("row", labels, cost, features, by_line)
            case events.ColsAdded(labels, cost, features, by_line):
                self._add_labels("col", labels, cost, features, by_line)
            case events.RowsRemoved(labels):
                self._remove_labels("row", labels)
            case events.ColsRemoved(labels):
                self._remove_labels("col", labels)
            case events.Relabelled(labels, names) as event:
                side: Side = "row" if isinstance(event, events.RowsRenamed) else "col"
                self._settings = self.settings.relabelled(side, dict(zip(labels, names, strict=True)))
            case events.Changed(changes):
                self._settings = self.settings.changed(changes)
            case events.Renamed(name):
                self._settings = self.settings.changed({"name": name})
            case other:
                raise StorageError(f"expected {other.kind!r} to be the first event only, got it again.")
        self.version, self.changed_at, self.digest = record.number, record.at, record.digest

    @property
    def settings(self) -> Settings:
        """The settings, with the labels that were added."""
        for side in SIDES:
            if self._labels[side]:
                self._settings = self._settings.extended(side, self._labels[side])
        self._labels = {"row": [], "col": []}
        return self._settings

    def _add_labels(
        self, side: Literal["row", "col"], labels: Iterable[Any], cost: Any, features: Any, by_line: bool
    ) -> None:
        """Add labels. Where all entries cost the same and may be asked for, many events are added at once, later."""
        known, plain = self._settings, cost is None and features is None
        if labels and plain and known.mask is None and not known.costs.given:
            self._labels[side] += labels
        else:
            self._settings = self.settings.extended(side, labels, cost, features, by_line)

    def _remove_labels(self, side: Side, labels: Labels) -> None:
        """Remove rows or columns: strike out their measurements, withdraw their asks, and renumber the others."""
        settings, asked, told = self.settings, self.asks(), self.measurements()
        k, noun = (0, "row") if side == "row" else (1, "column")
        known = {label: i for i, label in enumerate((settings.rows, settings.cols)[k])}
        gone = np.array([known[label] for label in labels], dtype=np.int64)
        places = new_places(len(known), gone, len(self.removed[k]))
        removed = tuple((*old, *labels) if j == k else old for j, old in enumerate(self.removed))
        self.__init__(  # type: ignore[misc]
            settings.without(side, gone), self.version, self.changed_at, self.digest, self.leaps,
            asked.renumbered(side, places, f"the {noun} was removed"), told.renumbered(side, places),
            removed, self.former,
        )  # fmt: skip

    def _move_clock(self, at: dt.datetime) -> None:
        if at - self.changed_at > LEAP:
            self.leaps.append((self.changed_at, at))
            self._widest = max(filter(None, (self._widest, self.leaps[-1])), key=_width)
        elif at < self.changed_at:
            while self.leaps and self.leaps[-1][1] > at:
                self.leaps.pop()
            self._widest = max(self.leaps, key=_width, default=None)
            self._steps.append((self._n_asks(), to_micros(at)))

    # Asks

    def _n_asks(self) -> int:
        return len(self._asks) + len(self._asked["row"])

    def _ask(self, event: events.Asked, record: Record) -> None:
        n, known, asked = len(event.rows), self._n_asks(), self._asked
        asked["row"].extend(event.rows)
        asked["col"].extend(event.cols)
        asked["mean"].extend(event.mean)
        asked["sd"].extend(event.sd)
        asked["gain"].extend(event.gain)
        asked["cost"].extend(event.cost)
        if event.first != known + 1 or len({len(column) for column in asked.values()}) > 1:
            raise ValueError(f"expected {n} asks from id {known + 1} on, got others")
        at = to_micros(record.at)
        after = at if self._widest is None else to_micros(self._widest[0])
        expires = NEVER if event.expires_at is None else to_micros(event.expires_at)
        author = self._authors.number(record.who, record.at)
        self._asked_by.append((n, at, expires, record.number, author, after))
        self._statuses().extend(bytes(n))  # PENDING
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
        more = self._asked | _repeat(ASKED_BY, self._asked_by)
        columns = dict(self._asks.columns) | {
            name: self._asks.columns[name].extended(more[name]) for name in more
        }
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
        if (event.low, event.high, event.se) != (None, None, None):
            self._note_readings(event)
        told["row"].extend(event.rows)
        told["col"].extend(event.cols)
        told["value"].extend(event.values)
        told["id"].extend([id or 0 for id in ids])
        self._told_by.append(
            (n, record.number, to_micros(record.at), self._authors.number(record.who, record.at))
        )
        for id in ids:
            if id is not None:
                self._settle(id, TOLD)
                if self._standing is not None:
                    self._standing[id - 1] += 1

    def _note_readings(self, event: events.Told) -> None:
        """Note the ends and standard errors of the measurements that are more than plain values."""
        first, n = len(self._measurements) + len(self._told["row"]) + 1, len(event.ids)
        low, high, se = event.low or event.values, event.high or event.values, event.se or (0.0,) * n
        known = self._known_readings()
        for k, reading in enumerate(map(Reading, low, high, se)):
            if reading != (event.values[k], event.values[k], 0.0):
                known[first + k] = reading
        if not n == len(low) == len(high) == len(se):
            raise ValueError("expected as many ends and standard errors as values, got others")

    def _known_readings(self) -> dict[int, Reading]:
        if self._readings is None:
            self._readings = dict(self._measurements.readings)
        return self._readings

    def _correct_reading(self, event: events.Corrected) -> None:
        """Note the ends and the standard error of a corrected measurement."""
        known = self._measurements.readings if self._readings is None else self._readings
        old = known.get(event.number)
        if event.value is None or (old is None and (event.low, event.high, event.se) == (None, None, None)):
            return
        se = (0.0 if old is None else old.se) if event.se is None else event.se
        low, high = (event.value if end is None else end for end in (event.low, event.high))
        if low == high and not se:
            self._known_readings().pop(event.number, None)
        else:
            self._known_readings()[event.number] = Reading(low, high, se)

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
        readings = self._measurements.readings if self._readings is None else self._readings
        said = readings.get(event.number, old)
        self._before[event.number] = before if math.isnan(old) else (*before, said)
        standing = self._count_standing() if id else []
        values[k] = new
        self._correct_reading(event)
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
        more = self._told | _repeat(TOLD_BY, self._told_by)
        columns |= {name: columns[name].extended(more[name]) for name in more}
        columns["number"] = known.columns["number"].extended(np.arange(len(known) + 1, len(known) + n + 1))
        before = known.before if self._before is None else self._before
        readings = known.readings if self._readings is None else self._readings
        return Measurements(columns, before, self._authors, readings)
