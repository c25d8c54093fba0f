"""Campaign: ask which entries to measure next, tell the results, and continue at any time from any process."""

from __future__ import annotations

import copy
import datetime as dt
import getpass
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from warnings import warn

import numpy as np

from maxentry import cells, frames
from maxentry.acquisition.problem import Limits
from maxentry.campaign import events, fits, tell, views
from maxentry.campaign.address import is_in_memory
from maxentry.campaign.events import Created, Event, Record
from maxentry.campaign.fits import follow, open_state
from maxentry.campaign.lines import Line, known_of, read_lines
from maxentry.campaign.schema import delete_campaign, write_name
from maxentry.campaign.settings import WITHOUT_MODEL, Settings, check_settings, read_settings
from maxentry.campaign.state import State, replay
from maxentry.campaign.storage import Around, Key, Log, Overtaken, Storage
from maxentry.campaign.tell import Receipt
from maxentry.campaign.views import FrameKind, Status
from maxentry.errors import CampaignError, NothingToAskError, ParameterError, StorageError, is_whole
from maxentry.wording import as_text, show

if TYPE_CHECKING:
    from maxentry.campaign.outlook import Ahead
    from maxentry.campaign.policy import About, Batch, Plates
    from maxentry.posterior.decisions import Answer
    from maxentry.posterior.posterior import Posterior

Where = str | PathLike[str] | Storage


@contextmanager
def open_storage(storage: Where, create: bool) -> Iterator[Storage]:
    """Yield an open storage. If it was opened here, close it again after an error."""
    opened = storage if isinstance(storage, Storage) else Storage(storage, create=create)
    try:
        yield opened
    except BaseException:
        if opened is not storage:
            opened.close()
        raise


def create_or_find(
    storage: Storage,
    settings: Settings,
    first: Sequence[Event],
    at: dt.datetime,
    who: str | None,
    exist_ok: bool,
) -> tuple[Key, bool]:
    """Create a campaign or, with `exist_ok`, find the existing one of this name with the same labels.

    Return its key and whether it is new.
    """
    if exist_ok and settings.name not in storage.names():
        check_new_labels(settings)
    try:
        return storage.add(settings.name, first, at, who), True
    except CampaignError:
        if not exist_ok or settings.name not in storage.names():
            raise
    key = storage.find(settings.name)
    state = open_state(storage, key, None)
    sides = ("row", state.row_labels, settings.rows), ("column", state.col_labels, settings.cols)
    for side, known, given in sides:
        if known[: len(given)] != given:  # more may have been added since
            pairs = zip(map(show, known), map(show, given), strict=False)
            more = f"{len(known)} labels", f"{len(given)}"
            expected, got = next((pair for pair in pairs if pair[0] != pair[1]), more)
            raise CampaignError(
                f"campaign {key.name!r} exists with other {side} labels: expected {expected}, got {got}. "
                "Choose another name, or give the labels it has."
            )
    return key, False


def check_new_labels(settings: Settings) -> None:
    """Refuse labels that are empty or have the same text, as 1 and "1" do.

    Existing campaigns are not checked: they may be older than this rule.
    """
    cells.check_distinct(settings.rows, "row")
    cells.check_distinct(settings.cols, "column")


def user_name(who: str | None) -> str | None:
    """Return the name to record with an event: `who`, else the user name on this machine, else None."""
    if who is not None:
        return as_text(who).encode(errors="replace").decode()[:200]
    try:
        return getpass.getuser()[:200]
    except (OSError, KeyError, ImportError):  # no such name on this machine
        return None


T = TypeVar("T")
QUICK = 0.25  # after a clash, choose again under the lock if choosing without a model takes fewer seconds than this
CONTENT_WITH_FEWER = 3  # after so many clashes, return a batch without the entries that clash
Decide = Callable[
    [State, dt.datetime], tuple[Sequence[Event], T]
]  # a change: the events to append, and its result
JUDGED_UNDER_LOCK = 1000  # lines of a report; more are judged before the lock is taken
DECIDED_AHEAD = 3  # so often; then under the lock, so that others cannot be faster for ever
ATTEMPTS = 200  # an attempt fails only if another process has written in the meantime


class Campaign:
    """A matrix that is being measured, stored as events.

    Create one with `Campaign.create`; open it again with `Campaign.open`. All methods read the latest events first, so
    several processes and machines may use one campaign at once. Every change is one transaction: when a method has
    returned, its change is stored; when it has raised, nothing was stored. After a `StorageError` during a write the
    outcome is unknown; telling the same values again is safe.
    """

    def __init__(
        self,
        storage: Storage,
        key: Key,
        *,
        owned: bool = False,
        cache: str | PathLike[str] | None = None,
        clock: Callable[[], dt.datetime] | None = None,
        policy: Callable[..., Batch] | None = None,
        frame: FrameKind | None = None,
    ) -> None:
        """Used by `create` and `open`. `policy` and `clock` are for tests and simulations in one process."""
        views.check_frame(frame)
        self._frame = frame
        self._storage, self._key, self._owned = storage, key, owned
        self._clock = clock
        self._policy = policy
        self._turn = threading.Lock()
        self.cache: fits.Cache
        if cache is not None:
            self.cache = Path(cache)
        else:
            self.cache = fits.Memory() if is_in_memory(storage.url) else fits.cache_folder(key.uuid)
        self._latest = open_state(storage, key, fits.snapshot_file(self.cache, key.uuid))

    # Creating, opening, closing

    @classmethod
    def create(
        cls,
        storage: Where,
        name: str,
        rows: Iterable[Hashable] | int,
        cols: Iterable[Hashable] | int,
        *,
        seed: int | None = None,
        values: Any = None,
        exist_ok: bool = False,
        who: str | None = None,
        cache: str | PathLike[str] | None = None,
        clock: Callable[[], dt.datetime] | None = None,
        policy: Callable[..., Batch] | None = None,
        frame: FrameKind | None = None,
        **settings: Any,
    ) -> Self:
        """Create a campaign.

        storage: a path ("lab.db"), "sqlite:///lab.db", "sqlite://" (in memory), "postgresql://…", or a `Storage`.
        rows, cols: the labels in order, or how many there are (labels 0, 1, …).
        seed: the same seed and the same events give the same entries; random if not given.
        settings: `rank`, `acquisition`, `costs`, `mask`, `transform`, `range`, `lease`, `budget`, `target_sd` and
            the others of `Settings`. row_features, col_features: what is known of rows and columns, as in `complete`.
        values: values known already, as a table that `tell` accepts; of an entry there may be several. If they are not
            valid, no campaign is created. A warning names labels that may not be meant: sums and means, footers, slips.
        exist_ok: open the campaign if there is one of this name with the same labels; its settings do not change.
        frame: the type of tables and maps that this object returns: "pandas", "polars", or "columns" (plain data); by
            default that of `values` (or of labels, costs, a mask). It is not stored: pass it to `open`, too.
        """
        if frame is None:
            frame = frames.frame_library(values, rows, cols, *settings.values())
        views.check_frame(frame)
        settings = read_settings(settings, values)
        seed = secrets.randbits(32) if seed is None else seed
        wanted = check_settings(Settings(name=name, rows=rows, cols=cols, seed=seed, **settings))  # type: ignore[arg-type]
        if not exist_ok:
            check_new_labels(wanted)
        told = [] if values is None else read_lines(values, words=wanted.words, flags=True)
        created, at = Created(wanted), dt.datetime.now(dt.UTC)
        begun = replay([Record(1, at, None, created)])
        news, _ = tell.judge_lines(told, begun, True, at)  # all are measurements
        with open_storage(storage, create=True) as opened:
            at = (clock or opened.now)()
            key, is_new = create_or_find(opened, wanted, [created, *news], at, user_name(who), exist_ok)
            owned = opened is not storage
            campaign = cls(opened, key, owned=owned, cache=cache, clock=clock, policy=policy, frame=frame)
            if told and not is_new:
                campaign.tell_lines(told, False, who)
            for doubt in views.find_doubts(campaign.state) if is_new else ():
                warn(doubt, stacklevel=2)
            return campaign

    @classmethod
    def open(
        cls,
        storage: Where,
        name: str | None = None,
        *,
        cache: str | PathLike[str] | None = None,
        clock: Callable[[], dt.datetime] | None = None,
        policy: Callable[..., Batch] | None = None,
        frame: FrameKind | None = None,
    ) -> Self:
        """Open the campaign of this name; without a name, the only campaign in the storage.

        frame: "pandas", "polars" or "columns" for the tables and maps of this object. By default tables are pandas
            frames if pandas is installed, else polars frames, and the maps of `posterior` are arrays.
        """
        with open_storage(storage, create=False) as opened:
            key, owned = opened.find(name), opened is not storage
            return cls(opened, key, owned=owned, cache=cache, clock=clock, policy=policy, frame=frame)

    @staticmethod
    def list(storage: Where) -> list[str]:
        """Return the names of the campaigns in a storage."""
        if isinstance(storage, Storage):
            return storage.names()
        with Storage(storage) as opened:
            return opened.names()

    @staticmethod
    def delete(storage: Where, name: str) -> int:
        """Delete a campaign with its whole history, for good; return how many events it had."""
        with open_storage(storage, create=False) as opened, opened.locked(key := opened.find(name)) as log:
            n = delete_campaign(log.connection, key.id)
        fits.forget(key.uuid)
        if opened is not storage:
            opened.close()
        return n

    def close(self) -> None:
        """Close the storage, if this object opened it. The campaign stays stored."""
        if self._owned:
            self._storage.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Campaign {self.name!r} in {self._storage.name}"

    # Reading

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self._latest.settings.name

    @property
    def state(self) -> State:
        """The current state: all stored events, replayed."""
        return self._remember(follow(self._storage, self._key, self._latest))

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self.state.settings

    def status(self) -> Status:
        """Return counts and costs; prints as a few lines."""
        state = self.state
        return Status.from_state(state, self.now(state))

    def posterior(self, *, progress: bool | None = None) -> Posterior:
        """Return the posterior of the whole matrix given all measurements, in your units and frames."""
        state = self.state
        if not state.standing:
            raise CampaignError("expected at least one measurement before there is a posterior, got none.")
        return views.convert_maps(fits.fit_posterior(state, self.cache, progress=progress), self._frame)

    def answer(self, goal: str | None = None, *, level: float = 0.9, progress: bool | None = None) -> Answer:
        """Answer the campaign's goal, or another one: "best", "best 3 per row", "rank columns", "threshold 6.5", ...

        It prints as sentences; `to_frame` has estimates, intervals and probabilities, and `at_stake` what is at stake.
        """
        settings = self.settings
        wanted = views.choose_goal(goal, settings)
        return views.answer(self.posterior(progress=progress), wanted, settings, level)

    def outlook(self, n: int = 8, *, progress: bool | None = None) -> Ahead:
        """Return the expected error now, once pending entries are told, and after the next n entries; and advice."""
        from maxentry.campaign.outlook import look_ahead

        state, n = self.state, check_count(n)
        return look_ahead(state, n, self.now(state), self.cache, progress=progress)

    def asked(self, *, pending: bool = False, frame: FrameKind | None = None) -> Any:
        """Return every entry ever asked for with its status, or only the pending ones, as a frame."""
        state = self.state
        now = self.now(state)
        chosen = state.pending_asks(now) if pending else state.asked.values()
        return views.as_frame(views.asks_in_full(chosen, state, now), self._kind(frame))

    def pending(self, *, frame: FrameKind | None = None) -> Any:
        """Return the pending entries as `ask` returned them: id, row, col, mean, sd, gain, cost."""
        state = self.state
        return views.as_frame(views.asks(state.pending_asks(self.now(state)), state), self._kind(frame))

    def history(self, *, frame: FrameKind | None = None) -> Any:
        """Return the history, one line per event: event, at, who, kind, what."""
        told = views.history(self._storage.events(self._key), self.state)
        return views.as_frame(told, self._kind(frame))

    def export(self, *, wide: bool = False, everything: bool = False, frame: FrameKind | None = None) -> Any:
        """Return the measurements: long (number, id, row, col, value, told_at, who, corrected), or wide with means.

        The long table includes measurements removed by a correction (as NaN) only with `everything`.
        """
        state, frame = self.state, self._kind(frame)
        if cells.check_flag(wide, "wide"):
            return views.wide(state, frame)
        return views.as_frame(views.measurements(state, everything), frame)

    # Asking and telling

    def ask(
        self,
        n: int = 1,
        *,
        row: Hashable = None,
        about: About = "row",
        plates: Plates | None = None,
        per_row: int | None = None,
        per_col: int | None = None,
        who: str | None = None,
        progress: bool | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """Reserve the next n entries to measure and return them: id, row, col, mean, sd, gain, cost.

        The entries are pending until they are told, fail, expire or are withdrawn.

        row: only entries of this row, those that tell most about all of it, or (about="average") about its average.
        plates: n whole rows or columns instead of n entries ("rows", "cols"); or a block like "8x12" with its wells.
        per_row, per_col: at most so many of the batch in one row or column. If none of these is given, the settings
        apply. The batch may have fewer than n entries; if there are none, NothingToAskError says why.
        """
        from maxentry.campaign.policy import read_limits

        n, frame = check_count(n), self._kind(frame)
        views.as_frame({}, frame)  # refuse an unavailable kind of frame before any entry is reserved
        given = read_limits(n, row, about, plates=plates, per_row=per_row, per_col=per_col)
        state = self._ask(n, given, progress, user_name(who))
        handed = state.asked.select(state.asked.since(state.version))
        columns = views.asks(handed, state)
        columns = views.add_wells(columns, state) if Limits(plates=plates).block else columns
        return views.as_frame(columns, frame)

    def _ask(self, n: int, limits: dict[str, Any], progress: bool | None, who: str | None) -> State:
        """Choose entries and reserve them; choose again if another process was faster. Return the new state."""
        from maxentry.campaign import policy  # imported late: the sampler is slow to import

        for attempt in range(ATTEMPTS):
            then, began = self.state, time.perf_counter()
            batch = self._choose(then, n, self.now(then), limits, progress)
            took, state = time.perf_counter() - began, None
            with suppress(Overtaken), self._storage.locked(self._key) as log:
                latest = then.after(log.since(then.version, then.digest))
                now = self.now(latest, log)
                plates = policy.resolve_limits(limits, then.settings)["plates"]
                fewer = attempt >= CONTENT_WITH_FEWER
                free = policy.select_free(batch, then, latest, now, plates=plates, fewer_will_do=fewer)
                settings = latest.settings
                without_model = settings.acquisition in WITHOUT_MODEL and settings.target_sd is None
                if free is None and took < QUICK and without_model:  # keep the lock
                    then, batch = latest, self._choose(latest, n, now, limits, progress)
                    free = np.ones(len(batch.rows), dtype=bool)
                if free is not None:
                    event = policy.build_event(batch, free, then, latest, now, plates)
                    state = latest.after(log.append([event], latest.version, now, who))
            if state is not None:
                return self._remember(state)
        raise CampaignError("other processes took the chosen entries each time. Ask again.")

    def _choose(
        self, state: State, n: int, now: dt.datetime, limits: dict[str, Any], progress: bool | None
    ) -> Batch:
        from maxentry.campaign import policy

        choose, limits = self._policy or policy.next_batch, policy.resolve_limits(limits, state.settings)
        batch = choose(state, n, now, **limits, cache=self.cache, progress=progress)
        if not len(batch.rows):
            raise NothingToAskError(batch.why or "no entry is left to ask for.")
        return batch

    def tell(
        self,
        ids: Any = None,
        values: Any = None,
        *,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        low: Any = None,
        high: Any = None,
        se: Any = None,
        again: bool = False,
        who: str | None = None,
    ) -> Receipt:
        """Record values: `tell(ids, values)`, `tell(row=…, col=…, value=…)`, or `tell(table)`.

        A value may be a limit or a range in text (`"<0.5"`, `">100"`, `"0.5..0.7"`), or be given by its ends low and
        high (-inf and inf are open); se is its standard error.

        A table is a frame, a CSV or Parquet file, a text stream of CSV, or a mapping of columns: id, or row and col,
        or both (then they must agree); and value, or low and high (of yes and no: successes and trials, each trial one
        measurement); and se (also for a table: se= names the column; an empty one: none is known). An empty value
        (None, NaN) is still awaited. "failed" in the column value or status, or a yes in the column failed, records a
        failure, as `fail` does. All lines are recorded or none. A warning names unused columns, former labels that are
        read as those now, and values that lie so far from all others that they must be slips.

        A line with an id is about that id; ids that have expired, failed or been withdrawn are accepted. A line without
        an id is about its entry, which need not have been asked for. Telling the same value again changes nothing. A
        different value, or one that a correction has removed, is refused, unless `again` is true: then every value is
        one more measurement.

        A line without an id answers the first pending ask of its entry, else the last expired one. While an ask is
        pending, a different value is recorded for it instead of being refused. Further pending asks of the entry are
        withdrawn, unless the campaign asks for replicates (the setting `again`).
        """
        state = self.state
        beside = {"low": low, "high": high, "se": se, "words": state.settings.words, "known": known_of(state)}
        lines = read_lines(ids, values, row=row, col=col, value=value, **beside)
        receipt = self.tell_lines(lines, again, who)
        for note in tell.note_lines(self._latest, lines):
            warn(note, stacklevel=2)
        return receipt

    def correct(
        self,
        id: int | None = None,
        value: float | str | None = None,
        *,
        row: Hashable = None,
        col: Hashable = None,
        number: int | None = None,
        se: float | None = None,
        reason: str = "",
        who: str | None = None,
    ) -> None:
        """Correct a recorded value. None removes it, and its entry may be asked for again.

        Identify the measurement by id, by row and col, or, if there are several, by its number in `export`. The value
        may be a limit, as in `tell`; se: its standard error (None: as it was). The history keeps the old value.
        """
        which: dict[str, Any] = {"id": id, "row": row, "col": col, "number": number, "se": se}
        self._change(lambda state, _: tell.correct(state, value, reason, **which), who)

    def fail(
        self, ids: int | Iterable[int], reason: str = "", *, retry: bool = False, who: str | None = None
    ) -> None:
        """Record that measuring these ids gave no value. Their entries are not asked for again unless `retry`."""
        self._change(lambda state, _: tell.fail(state, ids, reason, retry), who)

    def withdraw(self, ids: int | Iterable[int], reason: str = "", *, who: str | None = None) -> None:
        """Withdraw ids that will not be measured, or failures. Their entries may be asked for again."""
        self._change(lambda state, _: tell.withdraw(state, ids, reason), who)

    # Changing the campaign itself

    def add_rows(
        self, labels: Iterable[Hashable], *, cost: Any = None, features: Any = None, who: str | None = None
    ) -> None:
        """Add rows after the existing ones. They can be measured in every column.

        cost: their row costs, if the campaign has row costs; by default the mean of the others. An entry cost is the
            mean of its column.
        features: what is known of them, by label or in their order; a known feature that is not given is missing.
        """
        self._change(lambda state, _: tell.add_labels(state, events.RowsAdded, labels, cost, features), who)

    def add_cols(
        self, labels: Iterable[Hashable], *, cost: Any = None, features: Any = None, who: str | None = None
    ) -> None:
        """Add columns after the existing ones. They can be measured in every row; the rest as in `add_rows`."""
        self._change(lambda state, _: tell.add_labels(state, events.ColsAdded, labels, cost, features), who)

    def remove_rows(self, labels: Iterable[Hashable], *, who: str | None = None) -> int:
        """Remove rows; return how many values were struck out. The history and `export(everything=True)` keep them."""
        return self._change(lambda state, _: tell.remove_labels(state, events.RowsRemoved, labels), who)

    def remove_cols(self, labels: Iterable[Hashable], *, who: str | None = None) -> int:
        """Remove columns, as `remove_rows` does rows."""
        return self._change(lambda state, _: tell.remove_labels(state, events.ColsRemoved, labels), who)

    def rename_rows(self, names: Mapping[Hashable, Hashable], *, who: str | None = None) -> None:
        """Give rows other labels, a mapping from old to new ones. All that is known of them stays."""
        self._change(lambda state, _: tell.rename_labels(state, events.RowsRenamed, names), who)

    def rename_cols(self, names: Mapping[Hashable, Hashable], *, who: str | None = None) -> None:
        """Give columns other labels, as `rename_rows` does rows."""
        self._change(lambda state, _: tell.rename_labels(state, events.ColsRenamed, names), who)

    def rename(self, name: str, *, who: str | None = None) -> None:
        """Give the campaign another name, which no other campaign of the storage has."""
        wanted = check_settings(replace(self.settings, name=name)).name
        twin = self.within(lambda log: write_name(log, wanted, self._storage.around))
        twin._change(lambda state, _: ([events.Renamed(wanted, state.settings.name)], None), who)
        self._key = self._key._replace(name=wanted)
        self._remember(twin._latest)

    def set(self, *, who: str | None = None, **settings: Any) -> None:
        """Change settings from now on: budget, target_sd, lease, acquisition, costs, mask, and others."""
        self._change(lambda state, _: tell.change_settings(state, settings), who)

    # For servers and reports

    @property
    def key(self) -> Key:
        """The identity of the campaign in its storage: row id, uuid and name."""
        return self._key

    def now(self, state: State, log: Log | None = None) -> dt.datetime:
        """Return the current time by the storage's clock, but never a time before the last event (see `State.time`)."""
        now = (self._clock or (log or self._storage).now)()
        if now.tzinfo is None:
            raise ParameterError("expected a clock with a time zone, got a time without one.")
        return state.time(now.astimezone(dt.UTC))

    def records(self, since: int = 0, most: int | None = None) -> Sequence[Record]:
        """Return the stored events after number `since`, at most `most` of them."""
        return self._storage.events(self._key, since, most)

    def tell_lines(self, lines: Sequence[Line], again: bool = False, who: str | None = None) -> Receipt:
        """Record lines that were read before; see `tell`."""
        ahead = len(lines) > JUDGED_UNDER_LOCK
        return self._change(lambda state, now: tell.judge_lines(lines, state, again, now), who, ahead=ahead)

    def within(self, around: Around) -> Self:
        """Return a copy of this campaign that enters `around` in every writing transaction (see `Storage.within`)."""
        twin = copy.copy(self)
        twin._storage = self._storage.within(around)
        return twin

    # Internals

    def _change(self, decide: Decide[T], who: str | None, *, ahead: bool = False) -> T:
        """Call `decide` with the latest state under the lock, and append the events it returns.

        ahead: decide before taking the lock, because it takes long; decide again if somebody has written meanwhile.
        """
        for attempt in range(ATTEMPTS):
            then = self.state if ahead and attempt < DECIDED_AHEAD else None
            decision = None if then is None else decide(then, self.now(then))
            try:
                with self._storage.locked(self._key) as log:
                    seen = self._latest
                    latest = seen.after(log.since(seen.version, seen.digest))
                    now = self.now(latest, log)
                    if then is not None and then.version != latest.version and attempt < DECIDED_AHEAD - 1:
                        raise Overtaken("expected no event of another writer since the decision, got one.")
                    if decision is None or then is None or then.version != latest.version:
                        decision = decide(latest, now)
                    news, result = decision
                    records = log.append(news, latest.version, now, user_name(who))
                    state = latest.after(records)  # before the commit: never store what cannot be replayed
                self._remember(state)
                return result
            except Overtaken:
                continue
        raise StorageError(f"other processes wrote to {self._storage.name} first each time. Try again.")

    def _kind(self, frame: FrameKind | None) -> FrameKind | None:
        views.check_frame(frame)
        return self._frame if frame is None else frame

    def _remember(self, state: State) -> State:
        with self._turn:
            if state.version > self._latest.version:
                self._latest = state
        return state


def check_count(n: Any) -> int:
    """Return n as an int; raise unless it is a whole number from 1 on."""
    if not is_whole(n, 1):
        raise ParameterError(f"expected a whole number of entries from 1 on, got {show(n)}.")
    return int(n)
