"""A stored event that is not what was written is noticed, and named; whatever the bytes, nothing else is raised."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.campaign.stand_ins import campaign, uniform, write_digests

from maxentry.campaign import events
from maxentry.campaign import storage as storages
from maxentry.campaign.backup import check_storage
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Link
from maxentry.campaign.storage import Key, Storage
from maxentry.errors import MaxentryError, StorageError


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with some forty events, closed, so that it is all there is."""
    path = tmp_path_factory.mktemp("chain") / "lab.db"
    with campaign(path, who="ann") as c:
        for k in range(12):
            ids = c.ask(1, who="bob", frame="columns")["id"]
            c.tell(ids, [1 / (3 + k)], who="ann")
            if k % 3 == 0:
                c.correct(ids[0], 2.5 + k, reason="misread")
        c.add_rows(["new"])
    return path


@pytest.fixture
def file(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(written, tmp_path / "lab.db"))


def change(file: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement, values)
    connection.close()


def cells(file: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(file)
    rows = connection.execute(query).fetchall()
    connection.close()
    return rows


def test_the_encoding_of_digests_is_this_one(file: Path) -> None:
    """Written out a second time, since it must never change."""

    def dumps(*x: object) -> str:
        return json.dumps(x, separators=(",", ":"), ensure_ascii=False)

    ((uuid, name, created_at),) = cells(file, "SELECT uuid, name, created_at FROM maxentry_campaigns")
    digest = hashlib.sha256(dumps(uuid, name, created_at).encode()).hexdigest()
    rows = cells(file, "SELECT number, at, kind, who, payload, digest FROM maxentry_events ORDER BY number")
    assert len(rows) == 30
    for number, at, kind, who, payload, stored in rows:
        line = dumps(digest, number, at, kind, who) + "\n" + str(payload)
        digest = hashlib.sha256(line.encode()).hexdigest()
        assert stored == digest
    for odd in ('"', "\\", "\n\t\x00\x7f", "\u2028 🧪 ß", "", None, 3, b"blob", 2.5):
        line = json.dumps(
            ["d", odd, "at", "kind", odd], separators=(",", ":"), ensure_ascii=False, default=repr
        )
        expected = hashlib.sha256(f"{line}\n{odd}".encode()).hexdigest()
        assert events.next_digest("d", odd, "at", "kind", odd, odd) == expected  # type: ignore[arg-type]
    assert events.next_digest("0" * 64, 2, "2030-01-01T00:00:00+00:00", "told", "α", '{"a":"ß"}') == (
        "98c871ba5b25cad44b761c7ec1e518b8836fdb61fd2c526d031401ed7406ad6f"
    )


def test_every_changed_digit_of_an_event_is_noticed(file: Path) -> None:
    whole = file.read_bytes()
    query = "SELECT at, payload, digest FROM maxentry_events"
    places = [
        start + k
        for row in cells(file, query)
        for start, cell in ((whole.index(str(cell).encode()), str(cell)) for cell in row)
        for k, letter in enumerate(cell)
        if letter.isdecimal()
    ]
    rng = random.Random(6)
    silent = []
    for place in rng.sample(places, 120):
        digit = rng.choice([d for d in b"0123456789" if d != whole[place]])
        file.write_bytes(whole[:place] + bytes([digit]) + whole[place + 1 :])
        try:
            Campaign.open(file).close()
            silent.append(place)
        except StorageError as error:
            assert error.code == "storage_damaged", error  # noqa: PT017
    assert silent == []


DAMAGES: dict[str, Callable[[Path], None]] = {
    column: lambda file, column=column: change(  # type: ignore[misc]
        file, f"UPDATE maxentry_events SET {column} = {column} || '0' WHERE number = 7"
    )
    for column in ("at", "kind", "who", "payload", "digest")
} | {
    "no author": lambda file: change(file, "UPDATE maxentry_events SET who = NULL WHERE number = 7"),
    "no digest": lambda file: change(file, "UPDATE maxentry_events SET digest = NULL WHERE number = 7"),
    "a blob": lambda file: change(
        file, "UPDATE maxentry_events SET payload = CAST(payload AS BLOB) WHERE number = 7"
    ),
    "bytes": lambda file: change(file, "UPDATE maxentry_events SET payload = x'00ff' WHERE number = 7"),
    "not UTF-8": lambda file: change(
        file, "UPDATE maxentry_events SET payload = CAST(x'7bff7d' AS TEXT) WHERE number = 7"
    ),
    "an author not UTF-8": lambda file: change(
        file, "UPDATE maxentry_events SET who = CAST(x'ff' AS TEXT) WHERE number = 7"
    ),
    "a number": lambda file: change(file, "UPDATE maxentry_events SET at = 3 WHERE number = 7"),
    "lost": lambda file: change(file, "DELETE FROM maxentry_events WHERE number = 7"),
    "moved": lambda file: change(file, "UPDATE maxentry_events SET number = 70 WHERE number = 7"),
    "another": lambda file: change(
        file,
        "UPDATE maxentry_events SET (at, kind, who, payload) = "
        "(SELECT at, kind, who, payload FROM maxentry_events WHERE number = 9) WHERE number = 7",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_event_is_named_with_what_to_do(name: str, file: Path) -> None:
    DAMAGES[name](file)
    with pytest.raises(StorageError, match=r"event 7 of campaign 'kinase' .* Restore a backup") as refused:
        Campaign.open(file)
    assert (refused.value.code, refused.value.fields["event"]) == ("storage_damaged", 7)
    assert len(str(refused.value)) <= 300


@pytest.mark.parametrize("column", ["uuid", "name", "created_at"])
def test_a_changed_campaign_is_noticed_at_its_first_event(column: str, file: Path) -> None:
    change(file, f"UPDATE maxentry_campaigns SET {column} = replace({column}, '-', '0') || 'e'")
    with pytest.raises(StorageError, match=r"event 1 of campaign|expected a uuid"):
        Campaign.open(file)


@pytest.mark.parametrize("k", [1, 2, 10, 29])
def test_missing_last_events_are_noticed_by_a_fresh_opening(k: int, file: Path) -> None:
    change(file, "DELETE FROM maxentry_events WHERE number > ?", 30 - k)
    missing = rf"event {31 - k} of campaign 'kinase' .* it is missing, and 30 were written"
    with pytest.raises(StorageError, match=missing) as refused:
        Campaign.open(file)
    assert (refused.value.code, refused.value.fields["event"]) == ("storage_damaged", 31 - k)
    with Storage(file) as storage:
        (found,) = check_storage(storage).campaigns
        assert found.events == 30 - k
        assert "it is missing" in str(found.problem)


def test_missing_last_events_are_noticed_where_a_snapshot_is_the_end(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxentry.campaign.fits.EVERY", 1)
    cache = tmp_path / "cache"
    change(file, "UPDATE maxentry_campaigns SET last_number = 28, last_digest = "
           "(SELECT digest FROM maxentry_events WHERE number = 28)")  # fmt: skip
    late = cells(file, "SELECT * FROM maxentry_events WHERE number > 28")
    change(file, "DELETE FROM maxentry_events WHERE number > 28")
    Campaign.open(file, cache=cache).close()
    assert list(cache.rglob("*.npz"))
    change(file, "UPDATE maxentry_campaigns SET last_number = 30, last_digest = ?", late[1][6])
    with pytest.raises(StorageError, match=r"event 29 .* it is missing"):
        Campaign.open(file, cache=cache)


@pytest.mark.parametrize("value", ["NULL", "'x'", "2.5", "31", "29"])
@pytest.mark.parametrize("column", ["last_number", "last_digest"])
def test_a_changed_end_is_noticed(column: str, value: str, file: Path) -> None:
    change(file, f"UPDATE maxentry_campaigns SET {column} = {value}")
    with pytest.raises(StorageError, match=r"event .* of campaign 'kinase'") as refused:
        Campaign.open(file)
    assert refused.value.code == "storage_damaged"


def test_nothing_is_appended_where_the_last_events_are_missing(where: str) -> None:
    """A writer that did not read them would make the end right again, and the loss would not show."""
    with campaign(where) as c:
        c.ask(2)
        with c._storage.writing() as connection:
            connection.execute(text("DELETE FROM maxentry_events WHERE number = 2"))
        with pytest.raises(StorageError, match="event 2"), c._storage.locked(c.key) as log:
            log.append([], 1, log.now(), None)


def test_a_writer_between_the_readings_is_no_damage(lasting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL each statement of a reader sees what is committed by then."""
    with campaign(lasting) as c, Storage(lasting) as other:
        plain = storages.read_last

        def slow(connection: Connection, key: Key) -> Link:
            last = plain(connection, key)
            monkeypatch.setattr(storages, "read_last", plain)
            c.ask(1)
            return last

        monkeypatch.setattr(storages, "read_last", slow)
        assert len(other.events(c.key)) in (1, 2)
        assert c.state.version == 2


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE maxentry_events DROP COLUMN digest",
        "ALTER TABLE maxentry_events DROP COLUMN payload",
        "ALTER TABLE maxentry_campaigns DROP COLUMN created_at",
        "DROP TABLE maxentry_events",
        "DELETE FROM maxentry_schema",
        "UPDATE maxentry_schema SET version = 'three'",
        "UPDATE maxentry_schema SET version = 0",
        "UPDATE maxentry_schema SET version = 2",
        "DELETE FROM maxentry_events",
        "UPDATE maxentry_campaigns SET uuid = x'00'",
    ],
)
def test_tables_that_are_not_ours_are_one_sentence(statement: str, file: Path) -> None:
    change(file, statement)
    with pytest.raises(StorageError) as refused:
        Campaign.open(file)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("told", '{"ids":[99],"rows":[0],"cols":[0],"values":[1.0]}'),
        ("told", '{"ids":[null],"rows":[0,1],"cols":[0],"values":[1.0]}'),
        ("told", '{"ids":3,"rows":[0],"cols":[0],"values":[1.0]}'),
        ("corrected", '{"number":999,"value":1.0,"reason":""}'),
        ("corrected", '{"number":"x","value":1.0,"reason":""}'),
        ("asked", "[" * 100_000),
        ("withdrawn", "null"),
    ],
)
def test_an_event_written_as_it_is_but_without_sense_is_one_sentence(
    kind: str, payload: str, file: Path
) -> None:
    """As in a file that was damaged before it had digests."""
    change(file, "UPDATE maxentry_events SET kind = ?, payload = ? WHERE number = 30", kind, payload)
    write_digests(file)
    with pytest.raises(StorageError) as refused:
        Campaign.open(file)
    assert len(str(refused.value)) <= 300


def test_a_truncated_file_is_one_sentence(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(1, len(whole), len(whole) // 40):
        file.write_bytes(whole[:length])
        with pytest.raises(MaxentryError):
            Campaign.open(file)


def test_whatever_the_bytes_nothing_foreign_is_raised(file: Path) -> None:
    whole, rng = file.read_bytes(), random.Random(12)
    for _ in range(150):
        bytes_ = bytearray(whole)
        for place in rng.sample(range(len(bytes_)), rng.choice([1, 3, 30])):
            bytes_[place] = rng.randrange(256)
        file.write_bytes(bytes_)
        try:
            with Campaign.open(file, policy=uniform) as c:
                c.status()
        except MaxentryError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017


def test_who_has_read_events_notices_another_copy_of_the_same_length(where: str) -> None:
    with campaign(where) as c:
        c.ask(2)
        with c._storage.writing() as connection:
            connection.execute(text("UPDATE maxentry_events SET digest = 'other' WHERE number = 2"))
        for attempt in (lambda: c.state, lambda: c.tell(1, 5.0), lambda: c.ask(1)):
            with pytest.raises(StorageError, match="another copy was put in place") as refused:
                attempt()
            assert refused.value.code == "storage_replaced"


def test_each_event_is_hashed_once_by_a_reader(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    plain = events.next_digest

    def count(previous: str, number: int, *rest: str) -> str:
        hashed.append(number)
        return plain(previous, number, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(events, "next_digest", count)
    with Campaign.open(file, policy=uniform) as c:
        assert hashed == list(range(1, 31))
        c.ask(1)
        assert hashed[30:] == [31]
        assert c.state.version == 31
        with Storage(file) as other:
            assert [r.number for r in other.events(other.find(None), 29)] == [30, 31]
        assert hashed[31:] == [30, 31]
        assert c.records(99) == []


def test_postgresql_has_the_same_digests(postgres: str, file: Path) -> None:
    from tests.campaign.conftest import database

    with database(postgres) as url, campaign(url) as c:
        c.tell(row=0, col=1, value=0.1, who="ä")
        with c._storage.writing() as connection:
            connection.execute(text("UPDATE maxentry_events SET payload = replace(payload, '0.1', '0.2')"))
        with pytest.raises(StorageError, match="event 2 of campaign"):
            Campaign.open(url)
