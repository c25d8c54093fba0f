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

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.problem import Costs
from maxentry.belief import Entries
from maxentry.campaign import events
from maxentry.campaign.events import Record
from maxentry.campaign.ledger.draft import Draft, Leap
from maxentry.campaign.ledger.tables import FAILED, LEAP, RETRY, TOLD, Ask, Asks, Authors, Measurements
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

    @property
    def row_axis(self) -> Axis:
        """The rows, to find positions by label."""
        return self.settings.row_axis

    @property
    def col_axis(self) -> Axis:
        """The columns, to find positions by label."""
        return self.settings.col_axis

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
        keys = Entries(self.asked.column("row")[failed], self.asked.column("col")[failed]).keys(self.shape[1])
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
        """The values of the standing measurements in the user's units, in the order of recording."""
        return self.standing.column("value").copy()

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
        draft = Draft(
            self.settings,
            self.version,
            self.changed_at,
            self.digest,
            self.leaps,
            self.asked,
            self.measurements,
        )
        for record in chain([first], iterator):
            try:
                draft.add(record)
            except (LookupError, TypeError, ValueError, ArithmeticError) as error:
                if isinstance(error, MaxentryError):
                    raise
                raise _does_not_follow(record.number, error) from error
        try:
            asked, measurements = draft.asks(), draft.measurements()
        except (TypeError, ValueError, OverflowError) as error:
            raise _does_not_follow(draft.version, error) from error
        return State(
            draft.settings, draft.version, self.created_at, draft.changed_at, asked, measurements, draft.digest,
            tuple(draft.leaps),
        )  # fmt: skip


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
