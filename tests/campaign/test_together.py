"""Several at once: threads, forks and processes on one campaign; nothing twice, nothing lost."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.campaign import workers
from tests.campaign.stand_ins import campaign, lowest, uniform
from tests.campaign.test_migrations import old
from tests.campaign.worker import value_of

from maxentry._io import in_queue
from maxentry.campaign import storage as schema
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage


def check(where: str, total: int) -> Campaign:
    """All entries once, all told, with the right values."""
    opened = Campaign.open(where, policy=uniform)
    asked = opened.asked(frame="columns")
    entries = list(zip(asked["row"], asked["col"], strict=True))
    assert [n for n in Counter(entries).values() if n > 1] == []
    assert asked["id"] == list(range(1, len(entries) + 1))
    assert len(entries) >= total
    assert set(asked["status"]) == {"told"}
    told = opened.export(frame="columns")
    assert told["value"] == [value_of(r, c) for r, c in zip(told["row"], told["col"], strict=True)]
    assert sorted(told["id"]) == asked["id"]
    return opened


def test_threads_share_a_campaign(where: str) -> None:
    c = campaign(where, 6, 10)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                batch = c.ask(3, frame="columns")
                values = [value_of(r, k) for r, k in zip(batch["row"], batch["col"], strict=True)]
                c.tell(batch["id"], values)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    asked = c.asked(frame="columns")
    assert len(set(zip(asked["row"], asked["col"], strict=True))) == len(asked["id"])
    assert c.status().told == len(asked["id"]) >= 50  # clashes may have made a batch smaller
    c.close()


def test_sqlite_is_written_in_the_order_of_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever only tries again and again may wait very long among many."""
    monkeypatch.setattr(schema, "POLITE", 60.0)
    where, order, writer = tmp_path / "lab.db", list[int](), threading.local()
    campaign(where).close()
    arrived = [threading.Event() for _ in range(6)]

    @contextmanager
    def announce(path: str) -> Iterator[Callable[[], int]]:
        with in_queue(path) as count_ahead:
            if hasattr(writer, "k"):
                arrived[writer.k].set()
            yield count_ahead

    monkeypatch.setattr(schema, "in_queue", announce)

    def write(k: int) -> None:
        with Storage(where) as storage:
            writer.k = k
            with storage.writing():
                order.append(k)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(6)]
    with Storage(where) as storage:
        with storage.writing():
            for thread, event in zip(threads, arrived, strict=True):
                thread.start()
                assert event.wait(250)
        for thread in threads:
            thread.join(250)
    assert order == list(range(6))


def test_who_is_stopped_in_the_queue_does_not_keep_others_waiting(tmp_path: Path) -> None:
    with campaign(tmp_path / "lab.db") as c:
        c.ask(1)
        with in_queue(tmp_path / "lab.db-wal"):
            assert c.tell(1, 5.0).told == 1


def begin(where: str, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    campaign(where, exist_ok=True).close()


@pytest.mark.process
def test_processes_begin_the_same_campaign_at_once(lasting: str) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    processes = [context.Process(target=begin, args=(lasting, barrier)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [p.exitcode for p in processes] == [0, 0, 0, 0]
    with Campaign.open(lasting) as opened:
        assert opened.history(frame="columns")["kind"] == ["created"]


def use(c: Campaign) -> None:
    for _ in range(3):
        batch = c.ask(1, frame="columns")
        c.tell(batch["id"], [value_of(batch["row"][0], batch["col"][0])])


@pytest.mark.process
def test_a_campaign_goes_through_a_fork(lasting: str) -> None:
    c = campaign(lasting, policy=lowest)
    use(c)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=use, args=(c,)) for _ in range(3)]
    for child in children:
        child.start()
    use(c)
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert c.status().told == 15
    c.close()
    check(lasting, 15).close()


@pytest.mark.process
@pytest.mark.slow
def test_processes_ask_and_tell_at_once(lasting: str) -> None:
    campaign(lasting, 20, 15).close()
    started = [workers.start(lasting, "uniform", 4, 120) for _ in range(4)]
    for process in started:
        workers.ready(process)
    for process in started:
        workers.go(process)
    outputs = [process.communicate(timeout=250)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0, 0]
    acknowledged = [workers.lines(output) for output in outputs]
    with check(lasting, 120) as opened:
        everything = {id: value for lines in acknowledged for id, value in workers.told(lines).items()}
        kept = opened.export(frame="columns")
        assert everything == dict(zip(kept["id"], kept["value"], strict=True))
        assert all(workers.asked(lines) for lines in acknowledged)  # each had a share


def upgrade(where: str, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    with Campaign.open(where, policy=uniform) as opened:
        assert opened.ask(1, frame="columns")["row"]


@pytest.mark.process
def test_processes_upgrade_old_tables_at_once(lasting: str) -> None:
    old(lasting)
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    processes = [context.Process(target=upgrade, args=(lasting, barrier)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [p.exitcode for p in processes] == [0, 0, 0]
    with Storage(lasting) as storage, storage.reading() as connection:
        assert connection.execute(select(schema.SCHEMA.c.version)).scalars().all() == [schema.VERSION]
    with Campaign.open(lasting) as opened:
        assert opened.history(frame="columns")["kind"] == ["created", "asked", "told", *["asked"] * 3]
