"""Files of older versions are upgraded, those of newer ones refused. The old ones here are frozen: never edit them."""

from __future__ import annotations

import ctypes
import datetime as dt
import math
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text
from tests.campaign.stand_ins import START, campaign, uniform, write_digests

from maxentry.campaign import address, schema
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import KINDS, Created
from maxentry.campaign.storage import Storage, read_version
from maxentry.errors import StorageError

FROZEN = Path(__file__).parent


def old(where: str, version: int = 1) -> None:
    engine = create_engine(address.parse_address(where))
    with engine.begin() as connection:
        for statement in (FROZEN / f"version_{version}.sql").read_text(encoding="utf-8").split(";\n"):
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
    with Storage(lasting) as storage, storage.reading() as connection:
        assert read_version(connection, "") == schema.VERSION


def test_events_of_every_kind_mean_what_they_meant(lasting: str) -> None:
    """Among them a rank that would be refused today."""
    old(lasting, 2)
    with Storage(lasting) as storage:
        later = {"rows_removed", "cols_removed", "rows_renamed", "cols_renamed", "renamed"}
        assert {r.event.kind for r in storage.events(storage.find(None))} == set(KINDS) - later
    with Campaign.open(lasting, policy=uniform) as opened:
        s, now = opened.settings, START + dt.timedelta(hours=1)
        assert s.rows == ("a", "β", dt.date(2030, 1, 1), ("d", 4), "new")
        assert s.cols == ("x", 2, 3.5, dt.datetime(2030, 1, 2, 3, 4))
        assert (s.seed, s.rank, s.acquisition, s.noise, s.effects, s.priors) == (
            1,
            2,
            "maxent",
            "student",
            False,
            "paper",
        )
        assert (s.transform, s.range, s.n_initial, s.again) == ("logit(0, 100)", (0, 99), 3, True)
        assert (s.target_sd, s.budget, s.lease, s.per_row, s.per_col, s.plates) == (
            0.5,
            50,
            None,
            None,
            None,
            "cols",
        )
        assert (s.mask, s.costs.entry, s.costs.row, s.costs.col.tolist()) == (None, None, None, [1, 1, 1, 2])
        told = opened.export(everything=True, frame="columns")
        assert told["row"] == ["a", "a", ("d", 4)]
        assert told["col"] == ["x", 2, 3.5]
        assert [told["value"][0], math.isnan(told["value"][1]), told["value"][2]] == [11.5, True, 1e-3]
        assert told["id"] == [1, 2, None]
        assert told["who"] == ["bob"] * 3
        asks = list(opened.state.asked.values())
        assert [a.status_at(now) for a in asks] == ["told", "withdrawn", "failed", "withdrawn"]
        assert [a.reason for a in asks] == ["", "contaminated", "no colour", "out of time"]
        assert [a.cost for a in asks] == [1.75, 1.75, 2.25, 2.75]
        assert asks[0].expires_at == START + dt.timedelta(seconds=3660)
        opened.set(rank=1)
        opened.ask(1)


def test_version_3_is_upgraded_and_knows_its_last_event(lasting: str) -> None:
    old(lasting, 3)
    with Campaign.open(lasting, policy=uniform) as opened:
        assert opened.state.version == 11
        assert opened.export(frame="columns")["id"] == [1, None]
        opened.set(rank=1)
        opened.ask(1)
    with Storage(lasting) as storage, storage.writing() as connection:
        assert read_version(connection, "") == schema.VERSION
        assert connection.execute(text("SELECT last_number FROM maxentry_campaigns")).scalar() == 13
        connection.execute(text("DELETE FROM maxentry_events WHERE number = 13"))
    with pytest.raises(StorageError, match=r"event 13 .* it is missing"):
        Campaign.open(lasting)


def test_the_first_settings_of_a_frozen_file_are_all_there_are(tmp_path: Path) -> None:
    old(str(tmp_path / "lab.db"), 2)
    with Storage(tmp_path / "lab.db") as storage:
        created = storage.events(storage.find(None))[0].event
    assert isinstance(created, Created)
    s = created.settings
    assert s.costs.row is not None
    assert s.costs.col is not None
    assert s.costs.entry is not None
    assert s.mask is not None
    assert (s.costs.row.tolist(), s.costs.col.tolist(), s.costs.entry.sum()) == (
        [1, 2, 3, 4],
        [0.5, 0.5, 1],
        3,
    )
    assert s.mask.tolist() == [[True] * 3] * 3 + [[True, True, False]]
    assert (s.range, s.lease, s.per_row, s.per_col) == ((0, math.inf), 3600, 2, 3)


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
        with pytest.raises(StorageError, match=r"version 1000. Upgrade maxentry"):
            Storage(path, create=create)
    assert path.read_bytes() == before


def test_an_event_of_a_newer_kind_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        line = (1, 2, "2030-01-01T00:00:00+00:00", "sung", None, "{}")
        connection.execute("INSERT INTO maxentry_events VALUES (?, ?, ?, ?, ?, ?, NULL)", line)
    connection.close()
    write_digests(path)
    with pytest.raises(StorageError, match=r"got 'sung'\. Upgrade maxentry"):
        Campaign.open(path)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("changed", '{"budget":3.0,"colour":"red"}'),
        ("told", '{"ids":[null],"rows":[0],"cols":[0],"values":[1.0],"plates":[3]}'),
        ("failed", '{"ids":[],"reasons":[],"retry":false,"when":3}'),
        ("withdrawn", '{"ids":[],"reason":"","when":3}'),
        ("corrected", '{"number":1,"value":1.0,"reason":"","unit":"mg"}'),
        ("rows_added", '{"labels":["new"],"cost":null,"mask":[]}'),
        ("cols_added", '{"names":["new"]}'),
        ("asked", '{"first":1}'),
        ("withdrawn", "[1, 2]"),
        ("withdrawn", "{"),
    ],
)
def test_an_event_with_fields_of_a_newer_maxentry_is_refused_with_advice(
    kind: str, payload: str, tmp_path: Path
) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        line = (1, 2, "2030-01-01T00:00:00+00:00", kind, None, payload)
        connection.execute("INSERT INTO maxentry_events VALUES (?, ?, ?, ?, ?, ?, NULL)", line)
    connection.close()
    write_digests(path)
    with pytest.raises(StorageError, match=f"an event '{kind}' .* Upgrade maxentry"):
        Campaign.open(path)


def test_a_campaign_with_a_setting_of_a_newer_maxentry_is_refused_with_advice(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            """UPDATE maxentry_events SET payload = replace(payload, '"seed"', '"hue":3,"seed"')"""
        )
    connection.close()
    write_digests(path)
    with pytest.raises(StorageError, match=r"no such setting as 'hue'.* Upgrade maxentry"):
        Campaign.open(path)


READ = """
import sys
from maxentry.campaign.campaign import Campaign
from maxentry.errors import StorageError
try:
    with Campaign.open(sys.argv[1]) as campaign:
        print(campaign.status().told)
        campaign.ask(1)
except StorageError as error:
    print(error)
"""


def read_on_a_read_only_medium(path: Path) -> list[str]:
    """Open the campaign in a folder that cannot be written, without root's right to write all the same."""

    def drop() -> None:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # CAP_DAC_OVERRIDE out of the bounding set

    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        words = [sys.executable, "-c", READ, str(path)]
        return subprocess.run(words, capture_output=True, text=True, preexec_fn=drop).stdout.splitlines()
    finally:
        path.parent.chmod(0o755)


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="drops a capability of Linux")
def test_a_read_only_medium_can_be_read_and_an_old_file_on_it_is_refused_with_advice(tmp_path: Path) -> None:
    new, before = tmp_path / "new" / "lab.db", tmp_path / "old" / "lab.db"
    new.parent.mkdir()
    before.parent.mkdir()
    campaign(new).close()
    assert read_on_a_read_only_medium(new) == [
        "0",
        f"cannot read or write {new}: attempt to write a readonly database.",
    ]
    old(str(before), 3)
    (sentence,) = read_on_a_read_only_medium(before)
    assert sentence.startswith(f"expected tables of version {schema.VERSION} in {before}, got version 3,")
    assert sentence.endswith("Copy it to a folder that you can write to, and open the copy.")
    assert len(list(tmp_path.rglob("*.*"))) == 2
