"""Campaigns with many events: the work is that of the new ones, and nothing long is done while others wait."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text
from tests.campaign.conftest import database
from tests.campaign.stand_ins import START, campaign, lowest, snapshot, uniform

from maxentry.acquisition.problem import Costs
from maxentry.campaign import campaign as campaigns
from maxentry.campaign import fits, tell
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import (
    Asked,
    Changed,
    ColsAdded,
    Corrected,
    Created,
    Event,
    Record,
    RowsAdded,
    Told,
)
from maxentry.campaign.ledger.tables import FEW, Column, Finder
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import State, replay
from maxentry.campaign.storage import Log, Storage
from maxentry.errors import CampaignError, MaxentryError, StorageError


def count_calls(work: Callable[[], object]) -> int:
    """Return the number of Python functions and generator steps that are entered."""
    calls = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def records(*events: Event) -> list[Record]:
    return [Record(k, START, "ann", event) for k, event in enumerate(events, start=1)]


def life(n: int) -> list[Record]:
    """n entries asked for and told one after the other, and each corrected once."""
    settings = Settings(name="long", rows=tuple(range(100)), cols=tuple(range(100)), seed=1)
    news: list[Event] = [Created(settings)]
    for k in range(n):
        i, j = divmod(k, 100)
        none = (np.nan,)
        news += [
            Asked(k + 1, (i,), (j,), none, none, none, (1.0,), k),
            Told((k + 1,), (i,), (j,), (float(k),)),
        ]
    news += [Corrected(k + 1, None if k % 3 else k + 0.5, "typo") for k in range(n)]
    return records(*news)


def test_replay_is_linear() -> None:
    small, large = life(200), life(400)
    replay(small)
    calls = [count_calls(lambda lives=lives: replay(lives)) for lives in (small, large)]  # type: ignore[misc]
    assert calls[1] < 2.1 * calls[0]


def test_events_one_by_one_give_the_state_of_all_at_once() -> None:
    whole = life(30)
    state = replay(whole[:1])
    for record in whole[1:]:
        state = state.after([record])
    assert snapshot(state) == snapshot(replay(whole))
    assert state.spent(START) == 30
    assert state.values.tolist() == [k + 0.5 for k in range(0, 30, 3)]


def test_a_tell_does_not_look_at_each_measurement() -> None:
    with campaign(rows=100, cols=100) as c:
        calls = []
        for n in (100, 3000):
            table = {
                "row": [k // 100 for k in range(n)],
                "col": [k % 100 for k in range(n)],
                "value": [1.0] * n,
            }
            c.tell(table)
            c.tell(row=98, col=n % 97, value=2.0)
            calls.append(count_calls(lambda n=n: c.tell(row=99, col=n % 97, value=2.0)))  # type: ignore[misc]
        assert calls[1] < 1.2 * calls[0]


def test_two_states_continue_one_without_disturbing_each_other() -> None:
    base = Column(np.arange(3)).extended([3, 4])
    left, right = base.extended([5]), base.extended([6, 7])
    longer = left.extended(range(100))
    assert base.array.tolist() == [0, 1, 2, 3, 4]
    assert left.array.tolist() == [0, 1, 2, 3, 4, 5]
    assert right.array.tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert longer.array.tolist() == [0, 1, 2, 3, 4, 5, *range(100)]
    with pytest.raises(ValueError, match="read-only"):
        base.array[0] = 1


def test_threads_continue_one_column_at_once() -> None:
    base, results = Column(np.zeros(0, dtype=np.int64)).extended([1]), {}

    def work(k: int) -> None:
        column = base
        for _ in range(200):
            column = column.extended([k])
        results[k] = column.array.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [1, *[k] * 200] for k in range(4)}


def test_a_few_lookups_find_what_an_index_finds() -> None:
    keys = np.random.default_rng(1).integers(0, 20, 200)
    few, many = Finder(keys, 1), Finder(keys, FEW + 1)
    for key in range(-1, 22):
        assert few.find(key).tolist() == many.find(key).tolist() == np.flatnonzero(keys == key).tolist()
    assert Finder(keys[:0], 100).find(3).tolist() == []


def test_asks_are_a_mapping_of_records() -> None:
    state = replay(life(5))
    assert list(state.asked) == [1, 2, 3, 4, 5]
    assert [a.id for a in state.asked.values()] == [1, 2, 3, 4, 5]
    assert (0 in state.asked, 5 in state.asked, 6 in state.asked, "x" in state.asked) == (
        False,
        True,
        False,
        False,
    )
    assert state.asked.get(9) is None
    assert state.asked[2].status == "withdrawn"
    assert state.asked[2].reason == "typo"
    assert state.measurements[-1].number == 5
    assert [m.number for m in state.measurements[1:3]] == [2, 3]
    assert state.measurements[3].before == (3.0,)


STRANGE = [
    Told((9,), (0,), (0,), (1.0,)),
    Told((None,), (0, 1), (0,), (1.0,)),
    Corrected(9, 1.0),
    Asked(1, (0,), (0,), (0.0,), (0.0,), (0.0,), (1.0,), 1),
]


@pytest.mark.parametrize("event", STRANGE)
def test_events_that_do_not_follow_are_refused(event: Event) -> None:
    state = replay(life(2))
    with pytest.raises(StorageError, match="to follow from those before it"):
        state.after([Record(state.version + 1, START, None, event)])


# Long reports


REPORT = {"row": [0, 0, 1, 1, 2], "col": [0, 1, 0, 1, 2], "value": [1.0, 2.0, 3.0, 4.0, 5.0]}


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a report of five lines count as a long one."""
    monkeypatch.setattr(campaigns, "JUDGED_UNDER_LOCK", 3)


def judge_with(monkeypatch: pytest.MonkeyPatch, first: Callable[[], object]) -> list[State]:
    """Call `first` before lines are judged, for the first time only; return the states of the report."""
    states: list[State] = []

    def judge(lines: Any, state: State, *rest: Any) -> Any:
        if len(lines) == len(REPORT["row"]):
            states.append(state)
            if len(states) == 1:
                first()
        return judge_lines(lines, state, *rest)

    judge_lines = tell.judge_lines
    monkeypatch.setattr(tell, "judge_lines", judge)
    return states


def test_a_long_report_is_judged_before_the_lock_is_taken(
    where: str, long: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    with campaign(where) as c:
        states = judge_with(monkeypatch, lambda: held.append(bool(inside)))
        inside: list[int] = []

        @contextmanager
        def around(_: Log) -> Iterator[None]:
            inside.append(1)
            yield
            inside.pop()

        assert c.within(around).tell(REPORT).told == 5
        assert (held, len(states)) == ([False], 1)
        assert c.status().told == 5


def test_what_others_write_meanwhile_counts(
    lasting: str, long: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with campaign(lasting) as c, Campaign.open(lasting) as other:
        states = judge_with(monkeypatch, lambda: other.tell(row=0, col=1, value=2.0))
        assert c.tell(REPORT)[:3] == (4, 0, 1)
        assert [state.version for state in states] == [1, 2]
    with Campaign.open(lasting) as c:
        assert sorted(c.export(frame="columns")["value"]) == [1, 2, 3, 4, 5]


def test_a_contradiction_that_others_write_meanwhile_refuses_the_report(
    lasting: str, long: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with campaign(lasting) as c, Campaign.open(lasting) as other:
        judge_with(monkeypatch, lambda: other.tell(row=0, col=1, value=7.0))
        with pytest.raises(CampaignError, match="expected the value 7"):
            c.tell(REPORT)
        assert c.export(frame="columns")["value"] == [7.0]


def test_a_report_that_is_overtaken_each_time_is_recorded_all_the_same(
    lasting: str, long: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with campaign(lasting, 10, 10) as c, Campaign.open(lasting) as other:
        k = 0
        judge_lines = tell.judge_lines

        def judge(lines: Any, state: State, *rest: Any) -> Any:
            nonlocal k
            if len(lines) == 5 and k < campaigns.DECIDED_AHEAD:
                k += 1
                other.tell(row=9, col=k, value=1.0)
            return judge_lines(lines, state, *rest)

        monkeypatch.setattr(tell, "judge_lines", judge)
        assert c.tell(REPORT).told == 5
        assert k == campaigns.DECIDED_AHEAD


@pytest.mark.postgres
def test_no_transaction_is_idle_while_a_long_report_is_judged(
    postgres: str, long: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL ends a transaction that is idle for 30 seconds; a report of a million lines took longer."""
    idle = text("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
    seen = []
    with database(postgres) as url, campaign(url) as c, Storage(url) as watcher:

        def look() -> None:
            with watcher.reading() as connection:
                seen.append(connection.execute(idle).scalar())

        judge_with(monkeypatch, look)
        assert c.tell(REPORT).told == 5
    assert seen == [0]


# Snapshots


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of events of each reading."""
    read: list[int] = []

    def events(self: Storage, *args: Any, **options: Any) -> list[Record]:
        found = original(self, *args, **options)
        read.append(len(found))
        return found

    original = Storage.events
    monkeypatch.setattr(Storage, "events", events)
    return read


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a snapshot after ten events."""
    monkeypatch.setattr(fits, "EVERY", 10)


def work(where: str | Path, n: int) -> None:
    with campaign(where, exist_ok=True, policy=lowest) as c:
        for _ in range(n):
            batch = c.ask(1, frame="columns", who="ann")
            c.tell(batch["id"], [0.1 * batch["id"][0]], who="bob")


def test_a_snapshot_saves_reading_the_events_before_it(
    lasting: str, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(lasting, 8)
    Campaign.open(lasting).close()  # leaves a snapshot
    work(lasting, 2)
    read = count_reads(monkeypatch)
    with Campaign.open(lasting, policy=uniform) as c:
        assert read == [4]
        assert snapshot(c.state) == snapshot(replay(c.records()))
        c.correct(3, None, reason="drift")
        c.ask(2)
        assert snapshot(c.state) == snapshot(replay(c.records()))


def test_many_events_are_read_a_few_at_a_time(lasting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work(lasting, 8)
    monkeypatch.setattr(fits, "AT_ONCE", 5)
    read = count_reads(monkeypatch)
    with Campaign.open(lasting) as c:
        assert read == [1, 5, 5, 5, 1]
        assert snapshot(c.state) == snapshot(replay(c.records()))


def find_snapshot(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache").rglob("snapshot-*.npz")
    return file


def test_a_snapshot_that_cannot_be_read_is_ignored(tmp_path: Path, often: None) -> None:
    work(tmp_path / "lab.db", 8)
    with Campaign.open(tmp_path / "lab.db") as c:
        expected = snapshot(c.state)
    whole = find_snapshot(tmp_path).read_bytes()
    for k in range(
        7, len(whole), len(whole) // 40
    ):  # a changed byte: refused by its checksum, or without effect
        find_snapshot(tmp_path).write_bytes(whole[:k] + bytes([whole[k] ^ 16]) + whole[k + 1 :])
        with Campaign.open(tmp_path / "lab.db") as c:
            assert snapshot(c.state) == expected
    for damaged in (b"", b"PK\x03\x04", whole[:2000], whole[:-20]):
        find_snapshot(tmp_path).write_bytes(damaged)
        with Campaign.open(tmp_path / "lab.db") as c:
            assert snapshot(c.state) == expected
        assert find_snapshot(tmp_path).read_bytes() != damaged  # written anew


def test_a_snapshot_of_another_copy_is_ignored(tmp_path: Path, often: None) -> None:
    path, copy = tmp_path / "lab.db", tmp_path / "copy.db"
    work(path, 2)
    copy.write_bytes(path.read_bytes())
    for there, value in ((path, 1.0), (copy, 2.0)):
        with Campaign.open(there) as c:
            for k in range(10):
                c.tell(row=3, col=k % 5, value=value + k, again=True)
    with Campaign.open(path) as c:  # leaves a snapshot under the uuid of both
        assert c.export(frame="columns")["value"][-1] == 10.0
    with Campaign.open(copy) as c:
        assert c.export(frame="columns")["value"][-1] == 11.0
        assert snapshot(c.state) == snapshot(replay(c.records()))


def test_a_snapshot_later_than_the_storage_is_ignored(tmp_path: Path, often: None) -> None:
    path = tmp_path / "lab.db"
    work(path, 2)
    backup = path.read_bytes()
    work(path, 6)
    Campaign.open(path).close()
    path.write_bytes(backup)
    with Campaign.open(path) as c:
        assert c.state.version == 5


def test_a_damaged_storage_is_refused_with_a_snapshot_too(tmp_path: Path, often: None) -> None:
    import sqlite3

    work(tmp_path / "lab.db", 8)
    Campaign.open(tmp_path / "lab.db").close()
    work(tmp_path / "lab.db", 1)
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute(
            "UPDATE maxentry_events SET payload = replace(payload, '0.9', '0.8') WHERE number = 19"
        )
    connection.close()
    with pytest.raises(StorageError, match="damaged"):
        Campaign.open(tmp_path / "lab.db")


def test_times_and_authors_outlast_a_snapshot(tmp_path: Path, often: None) -> None:
    zone = dt.timezone(dt.timedelta(hours=5, minutes=30))
    values = {"row": [0] * 5, "col": list(range(5)), "value": [1.0] * 5}
    at = START.astimezone(zone)
    with campaign(tmp_path / "lab.db", values=values, clock=lambda: at, who="ann") as c:
        for k in range(10):
            c.tell(row=1, col=k % 5, value=float(k), again=True, who=None if k % 2 else "bö")
    for _ in range(2):
        with Campaign.open(tmp_path / "lab.db") as c:
            export = c.export(frame="columns")
            assert {
                (x.isoformat(), who) for x, who in zip(export["told_at"][:5], export["who"][:5], strict=True)
            } == {(at.isoformat(), "ann")}
            assert snapshot(c.state) == snapshot(replay(c.records()))


@pytest.mark.parametrize(
    "more", [{}, {"mask": np.ones((3, 3), dtype=bool)}, {"costs": Costs(row=np.ones(3))}]
)
def test_labels_of_many_events_are_added_at_once(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event after the other, each would copy all labels."""
    settings = Settings(name="x", rows=(0, 1, 2), cols=(0, 1, 2), seed=1, **more)
    news: list[Event] = [Created(settings)]
    for k in range(20):
        news += [RowsAdded((f"r{k}",)), Told((None,), (k + 3,), (k,), (0.5,)), ColsAdded((f"c{k}", f"d{k}"))]
    news += [Changed({"budget": 9.0}), RowsAdded(("last",))]
    state = replay(records(*news[:1]))
    for record in records(*news)[1:]:
        state = state.after([record])
    extended, plain = [], Settings.extended
    monkeypatch.setattr(Settings, "extended", lambda *given: extended.append(1) or plain(*given))
    at_once = replay(records(*news))
    assert snapshot(at_once) == snapshot(state)
    assert at_once.shape == (24, 43)
    assert len(extended) == (41 if more else 3)


def test_added_labels_that_contradict_the_others_are_refused() -> None:
    settings = Settings(name="x", rows=(0, 1, 2), cols=(0, 1, 2), seed=1)
    for labels in ((), (1,), ("a", "a"), ([],)):
        with pytest.raises(MaxentryError):
            replay(records(Created(settings), RowsAdded(("b",)), RowsAdded(labels), RowsAdded(("c",))))


def test_telling_plain_values_does_not_wait_for_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """To import narwhals takes several times as long as the first tell after opening."""
    with campaign() as c:
        ids = c.ask(3, frame="columns")["id"]
        monkeypatch.setitem(sys.modules, "narwhals", None)  # an import of it is an error
        c.tell(ids[0], 0.5)
        c.tell(ids[1:], [0.5, 0.25])
        c.tell(row=[3, 3], col=np.array([0, 1]), value=np.array([1.0, 2.0]), again=True)
        assert c.status().told == 5
