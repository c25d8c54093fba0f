"""Files of older versions are upgraded, those of newer ones refused. The old ones here are frozen: never edit them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text
from tests.campaign.stand_ins import campaign, uniform

from maxentry.campaign import address, schema
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import StorageError

VERSION_1 = Path(__file__).parent / "version_1.sql"


def old(where: str) -> None:
    engine = create_engine(address.parse(where))
    with engine.begin() as connection:
        for statement in VERSION_1.read_text().split(";\n"):
            if statement.strip():
                connection.execute(text(statement.replace(":", r"\:")))
    engine.dispose()


def test_version_1_is_upgraded_with_all_it_holds(lasting: str) -> None:
    old(lasting)
    with Campaign.open(lasting, policy=uniform) as opened:
        assert opened.status().to_dict() | {"told": 2, "pending": 1} == opened.status().to_dict()
        assert opened.export(frame="columns")["value"] == [0.5, 0.25]
        assert opened.export(frame="columns")["who"] == [None, None]
        opened.tell(3, 0.125, who="ann")
        assert opened.history(frame="columns")["who"] == [None, None, None, "ann"]
    with Storage(lasting) as storage, storage._reading() as connection:
        assert schema.version_of(connection, "") == schema.VERSION


def test_a_step_that_fails_leaves_the_old_file(lasting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old(lasting)
    step = schema.MIGRATIONS[1]

    def fails(connection: Connection) -> None:
        step(connection)
        raise ZeroDivisionError

    monkeypatch.setitem(schema.MIGRATIONS, 1, fails)
    with pytest.raises(ZeroDivisionError):
        Storage(lasting)
    monkeypatch.undo()
    with Campaign.open(lasting) as opened:
        assert opened.status().told == 2


def test_there_is_a_step_from_every_version() -> None:
    assert list(schema.MIGRATIONS) == list(range(1, schema.VERSION))


def test_a_newer_file_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE maxentry_schema SET version = 1000")
    connection.close()
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(StorageError, match=r"version 1000: upgrade maxentry"):
            Storage(path, create=create)
    assert path.read_bytes() == before


def test_an_event_of_a_newer_kind_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO maxentry_events VALUES (1, 2, '2030-01-01T00:00:00+00:00', 'sung', NULL, '{}')"
        )
    connection.close()
    with pytest.raises(StorageError, match="'sung' came: upgrade maxentry"):
        Campaign.open(path)
