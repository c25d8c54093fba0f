"""What every storage of campaigns must do: keep events in order, all or none, for many at once."""

from __future__ import annotations

import datetime as dt
import threading
import time

import pytest
from tests.campaign.conftest import lasting, where  # noqa: F401
from tests.campaign.postgres_server import database
from tests.campaign.stand_ins import START

from maxentry.campaign import storage as storage_module
from maxentry.campaign.events import (
    Asked,
    Changed,
    ColsAdded,
    Corrected,
    Created,
    Event,
    Failed,
    RowsAdded,
    Told,
    Withdrawn,
    write,
)
from maxentry.campaign.settings import Settings
from maxentry.campaign.storage import Overtaken, Storage
from maxentry.errors import CampaignError, StorageError

SETTINGS = Settings(
    "kinase", ["α", dt.date(2030, 1, 1), ("a", 1)], [1, 2.5, "x"], 7, range=(0.0, float("inf"))
)
NAN = float("nan")
EVENTS: list[Event] = [
    Asked(1, (0, 1), (2, 0), (NAN, 0.1), (NAN, 1 / 3), (NAN, 2.0), (1.0, 1.5), 1, START, "why not"),
    Told((1, None), (0, 2), (2, 1), (0.1 + 0.2, 5e-324)),
    Failed((2,), ("'; DROP TABLE maxentry_events; --",), True),
    Corrected(1, None, "ärger 🧪"),
    Corrected(1, -0.0),
    Withdrawn((2,), ""),
    RowsAdded(("new",), None),
    ColsAdded((dt.datetime(2030, 1, 2, 3, 4),), (2.0,)),
    Changed({"budget": 10.0, "range": (float("-inf"), 1.0), "mask": None}),
]


@pytest.fixture
def storage(where: str):  # noqa: F811
    with Storage(where, create=True) as opened:
        yield opened


def texts(records):
    return [(r.number, r.at, r.who, r.event.kind, write(r.event)) for r in records]


def test_events_come_back_as_they_were_written(storage: Storage) -> None:
    key = storage.add("kinase", [Created(SETTINGS)], START, "ann")
    with storage.locked(key) as log:
        written = log.append(EVENTS, 1, START + dt.timedelta(microseconds=1), None)
    read = storage.events(key)
    assert [r.number for r in read] == list(range(1, len(EVENTS) + 2))
    assert isinstance(read[0].event, Created)
    assert read[0].event.settings == SETTINGS
    assert read[0].event.settings.rows == SETTINGS.rows
    assert texts(read[1:]) == texts(written)
    assert texts(storage.events(key, since=5)) == texts(read[5:])
    told = read[2].event
    assert isinstance(told, Told)
    assert told.values == (0.1 + 0.2, 5e-324)


def test_after_an_error_nothing_of_the_transaction_is_left(storage: Storage) -> None:
    key = storage.add("kinase", [Created(SETTINGS)], START, None)

    def interrupted() -> None:
        with storage.locked(key) as log:
            log.append(EVENTS[:2], 1, START, None)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert len(storage.events(key)) == 1
    with storage.locked(key) as log:
        log.append(EVENTS[:1], 1, START, None)
    assert len(storage.events(key)) == 2


def test_a_number_cannot_be_written_twice(storage: Storage) -> None:
    key = storage.add("kinase", [Created(SETTINGS)], START, None)
    with pytest.raises(Overtaken), storage.locked(key) as log:
        log.append(EVENTS[:1], 0, START, None)
    assert len(storage.events(key)) == 1


def test_campaigns_are_found_by_name_and_kept_apart(storage: Storage) -> None:
    with pytest.raises(CampaignError, match="got none yet"):
        storage.find(None)
    first = storage.add("one", [Created(SETTINGS)], START, None)
    assert storage.find(None) == first
    second = storage.add("two", [Created(SETTINGS)], START, None)
    assert storage.names() == ["one", "two"]
    assert storage.find("two") == second
    with pytest.raises(CampaignError, match="'one', 'two'"):
        storage.find(None)
    with pytest.raises(CampaignError, match="a campaign 'three'"):
        storage.find("three")
    with pytest.raises(CampaignError, match="is taken"):
        storage.add("one", [Created(SETTINGS)], START, None)
    with storage.locked(second) as log:
        log.append(EVENTS, 1, START, None)
    assert len(storage.events(first)) == 1


def test_threads_take_turns(storage: Storage) -> None:
    key = storage.add("kinase", [Created(SETTINGS)], START, None)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                with storage.locked(key) as log:
                    version = max((r.number for r in log.since(0)), default=0)
                    log.append(EVENTS[:1], version, START, None)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [r.number for r in storage.events(key)] == list(range(1, 22))


def test_readers_neither_wait_for_a_writer_nor_see_what_is_not_committed(lasting: str) -> None:  # noqa: F811
    with Storage(lasting, create=True) as one, Storage(lasting, create=True) as other:
        key = one.add("kinase", [Created(SETTINGS)], START, None)
        with one.locked(key) as log:
            log.append(EVENTS[:1], 1, START, None)
            assert len(other.events(key)) == 1
        assert len(other.events(key)) == 2


def test_who_waits_for_the_lock_too_long_is_told_so(lasting: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(storage_module, "PATIENCE", 0.5)
    with Storage(lasting, create=True) as one, Storage(lasting) as other:
        key = one.add("kinase", [Created(SETTINGS)], START, None)
        began = time.monotonic()
        with (
            one.locked(key),
            pytest.raises(StorageError, match="another process has been writing for over"),
            other.locked(key),
        ):
            pass
        assert 0.5 <= time.monotonic() - began < 50  # seconds; without a limit it would wait for ever
        with other.locked(key) as log:
            log.append(EVENTS[:1], 1, START, None)


def test_postgresql_drops_who_holds_the_lock_and_is_not_heard_of(
    postgres: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage_module, "HELD", 2.0)  # a busy machine may keep who is not silent waiting
    monkeypatch.setattr(storage_module, "PATIENCE", 60.0)

    def silent() -> None:
        with one.locked(key) as held:
            held.append(EVENTS[:1], 1, START, None)
            with other.locked(key) as log:
                log.append(EVENTS[1:2], 1, START, None)

    with database(postgres) as url, Storage(url, create=True) as one, Storage(url) as other:
        key = one.add("kinase", [Created(SETTINGS)], START, None)
        with pytest.raises(StorageError, match="idle-in-transaction"):
            silent()
        assert [r.event.kind for r in other.events(key)] == ["created", "told"]


def test_an_address_may_say_otherwise_how_a_server_is_reached(postgres: str) -> None:
    with database(postgres) as url:
        for extra, seconds in (("", 10), ("&connect_timeout=3", 3)):
            with Storage(url + extra, create=True) as storage, storage.reading() as connection:
                assert (
                    int(connection.connection.driver_connection.info.get_parameters()["connect_timeout"])
                    == seconds
                )  # type: ignore[attr-defined]


def test_it_is_all_there_when_opened_again(lasting: str) -> None:  # noqa: F811
    with Storage(lasting, create=True) as storage:
        key = storage.add("kinase", [Created(SETTINGS)], START, None)
    with Storage(lasting) as storage:
        assert storage.find("kinase") == key
        assert len(storage.events(key)) == 1
        storage.close()
        assert len(storage.events(key)) == 1  # a closed one opens again when it is used


def test_a_campaign_that_is_gone_is_said_to_be(storage: Storage) -> None:
    key = storage.add("kinase", [Created(SETTINGS)], START, None)
    with pytest.raises(StorageError, match="got none: it is gone"), storage.locked(key._replace(id=99)):
        pass
