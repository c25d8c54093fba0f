"""State: the result of replaying a campaign's events. It is never stored.

States are immutable: `state.after(records)` returns a new one. Entries are positions (row i, column j); the labels are
in the settings. Arrays are computed on first use and cached. Random generators are not stored either: each is derived
from the campaign's seed, a purpose and a number.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.problem import Costs
from maxentry.belief import Entries
from maxentry.campaign import events
from maxentry.campaign.events import Record
from maxentry.campaign.settings import Settings
from maxentry.errors import MaxentryError, StorageError
from maxentry.labels import Axis, Labels
from maxentry.observations import Observations

# Purposes of random generators. Do not reorder: the draws of existing campaigns depend on these numbers.
FIT, WARM, CHOICE, OUTLOOK, STATION = range(5)


def derive_rng(seed: int, purpose: int, number: int) -> np.random.Generator:
    """Return the generator for a purpose at an event number (or number of measurements)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, number)))


def derive_seed(seed: int, purpose: int, number: int) -> int:
    """Return a seed for a purpose, for functions that take a whole number."""
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


K = TypeVar("K")
AskStatus = Literal["pending", "told", "failed", "withdrawn", "expired"]


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

    def status_at(self, now: dt.datetime) -> AskStatus:
        """Return the status at this time."""
        over = self.expires_at is not None and now >= self.expires_at
        return "expired" if over and self.status == "pending" else self.status


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
    before: tuple[float, ...] = ()  # its values before corrections, oldest first

    @property
    def struck(self) -> bool:
        """Whether a correction has removed the value."""
        return math.isnan(self.value)


@dataclass(frozen=True, eq=False)
class State:
    """A campaign after event `version`."""

    settings: Settings
    version: int
    created_at: dt.datetime
    changed_at: dt.datetime
    asked: Mapping[int, Ask]  # by id; ids are 1, 2, … in the order of asking
    measurements: tuple[Measurement, ...]  # in the order of telling
    digest: str | None = None  # of event `version` (see chain.py)

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
        failed = {(a.row, a.col) for a in self.asked.values() if a.status == "failed" and not a.retry}
        return _entries(sorted(failed - {(m.row, m.col) for m in self.standing} if failed else ()))

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

    @cached_property
    def standing(self) -> tuple[Measurement, ...]:
        """The measurements that no correction has removed, in the order of recording."""
        return tuple(m for m in self.measurements if not m.struck)

    @cached_property
    def told(self) -> Entries:
        """The entries of the standing measurements, in the order of recording, with repeats."""
        return _entries([(m.row, m.col) for m in self.standing])

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The values of the standing measurements in the user's units, in the order of recording."""
        return np.array([m.value for m in self.standing], dtype=np.float64)

    @cached_property
    def by_id(self) -> dict[int, list[Measurement]]:
        """The standing measurements, by id."""
        return _group((m.id, m) for m in self.standing if m.id is not None)

    @cached_property
    def by_entry(self) -> dict[tuple[int, int], list[Measurement]]:
        """The standing measurements, by row and column."""
        return _group(((m.row, m.col), m) for m in self.standing)

    @cached_property
    def measured_ids(self) -> frozenset[int]:
        """The ids that ever had a value, removed ones included."""
        return frozenset(m.id for m in self.measurements if m.id is not None)

    def observations(self, n: int | None = None) -> Observations:
        """Return the first n standing measurements (None: all) with their labels, in the user's units."""
        rows, cols = self.told
        labels = self.row_labels, self.col_labels
        return Observations(self.shape, rows[:n], cols[:n], self.values[:n], *labels)  # type: ignore[arg-type]

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

    @cached_property
    def open(self) -> tuple[Ask, ...]:
        """Asks without a value, failure or withdrawal: pending or expired."""
        return tuple(a for a in self.asked.values() if a.status == "pending")

    def pending_asks(self, now: dt.datetime) -> tuple[Ask, ...]:
        """Return the pending asks, in the order of asking."""
        return tuple(a for a in self.open if a.status_at(now) == "pending")

    def pending(self, now: dt.datetime) -> Entries:
        """Return the pending entries, in the order of asking."""
        return _entries([(a.row, a.col) for a in self.pending_asks(now)])

    def spent(self, now: dt.datetime) -> float:
        """Return the cost of all asks that were told, failed or are pending.

        A measurement that a correction has removed still counts: it was paid for.
        """
        counted, measured = ("told", "failed", "pending"), self.measured_ids
        return math.fsum(
            a.cost for a in self.asked.values() if a.status_at(now) in counted or a.id in measured
        )

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

    def after(self, records: Iterable[Record]) -> State:
        """Return the state after these events, too."""
        measurements = list(self.measurements)
        draft = _Draft(
            self.settings, self.version, self.changed_at, dict(self.asked), measurements, self.digest
        )
        for record in records:
            try:
                draft.add(record)
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                if isinstance(error, MaxentryError):
                    raise
                raise StorageError(
                    f"expected event {record.number} to follow from those before it, got one that does not "
                    f"({type(error).__name__}: {error!s:.100})."
                ) from error
        if draft.version == self.version:
            return self
        return replace(self, **vars(draft) | {"measurements": tuple(measurements)})


def replay(records: Iterable[Record]) -> State:
    """Return the state after all events of a campaign, from the first."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None or first.number != 1 or not isinstance(first.event, events.Created):
        raise StorageError("expected the first event to create the campaign, got another.")
    return State(first.event.settings, 1, first.at, first.at, {}, (), first.digest).after(iterator)


@dataclass
class _Draft:
    """A mutable state, so that applying many events copies the state only once."""

    settings: Settings
    version: int
    changed_at: dt.datetime
    asked: dict[int, Ask]
    measurements: list[Measurement]
    digest: str | None

    def add(self, record: Record) -> None:
        if record.number != self.version + 1:
            raise StorageError(f"expected event {self.version + 1}, got event {record.number}.")
        match record.event:
            case events.Asked() as event:
                self.ask(event, record)
            case events.Told(ids, rows, cols, values):
                for id, row, col, value in zip(ids, rows, cols, values, strict=True):
                    self.tell(id, row, col, value, record)
            case events.Corrected() as event:
                self.correct(event)
            case events.Failed(ids, reasons, retry):
                for id, reason in zip(ids, reasons, strict=True):
                    self.settle(id, "failed", reason, retry)
            case events.Withdrawn(ids, reason):
                for id in ids:
                    self.settle(id, "withdrawn", reason)
            case events.RowsAdded(labels, cost):
                self.settings = self.settings.with_rows(labels, cost)
            case events.ColsAdded(labels, cost):
                self.settings = self.settings.with_cols(labels, cost)
            case events.Changed(changes):
                self.settings = self.settings.changed(changes)
            case other:
                raise StorageError(f"expected {other.kind!r} to be the first event only, got it again.")
        self.version, self.changed_at, self.digest = record.number, record.at, record.digest

    def ask(self, event: events.Asked, record: Record) -> None:
        columns = (event.rows, event.cols, event.mean, event.sd, event.gain, event.cost)
        for id, (row, col, mean, sd, gain, cost) in enumerate(zip(*columns, strict=True), start=event.first):
            when = (record.at, event.expires_at, record.number, record.who)
            self.asked[id] = Ask(id, row, col, mean, sd, gain, cost, *when)

    def tell(self, id: int | None, row: int, col: int, value: float, record: Record) -> None:
        number = len(self.measurements) + 1
        when = (record.number, record.at, record.who)
        self.measurements.append(Measurement(number, row, col, value, id, *when))
        if id is not None:
            self.settle(id, "told")

    def correct(self, event: events.Corrected) -> None:
        old = self.measurements[event.number - 1]
        value = math.nan if event.value is None else event.value
        before = old.before if old.struck else (*old.before, old.value)
        self.measurements[event.number - 1] = old._replace(value=value, corrected=True, before=before)
        if old.id is not None:
            left = any(m.id == old.id and not m.struck for m in self.measurements)
            self.settle(old.id, "told" if left else "withdrawn", "" if left else event.reason)

    def settle(self, id: int, status: AskStatus, reason: str = "", retry: bool = False) -> None:
        self.asked[id] = self.asked[id]._replace(status=status, reason=reason, retry=retry)


def _group(items: Iterable[tuple[K, Measurement]]) -> dict[K, list[Measurement]]:
    groups: dict[K, list[Measurement]] = {}
    for key, measurement in items:
        groups.setdefault(key, []).append(measurement)
    return groups


def _entries(pairs: list[tuple[int, int]]) -> Entries:
    return (
        Entries.from_lists([row for row, _ in pairs], [col for _, col in pairs]) if pairs else Entries.none()
    )
