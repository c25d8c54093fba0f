"""Backups and copies hold all there is, and are made of nothing that is damaged."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.campaign.stand_ins import campaign, snapshot

from maxentry.campaign import backup, schema
from maxentry.campaign.backup import back_up, check_storage, copy_campaigns
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import CampaignError, ParameterError, StorageError


def write(where: str | Path) -> None:
    """Two campaigns with some events."""
    with campaign(where, rows=["a", "β", "c"]) as c, campaign(where, name="second", seed=2) as other:
        for k in range(4):
            c.tell(c.ask(2, frame="columns")["id"], [0.1 + k, 1 / (3 + k)], who="ann")
        c.correct(1, None, reason="ärger")
        other.add_rows(["new"])


def content(where: str | Path) -> list[tuple[Any, ...]]:
    """All that is stored, whatever the row ids."""
    campaigns, events = schema.CAMPAIGNS.c, schema.EVENTS.c
    columns = campaigns.uuid, campaigns.name, campaigns.created_at, *list(events)[1:]
    query = (
        select(*columns).join_from(schema.CAMPAIGNS, schema.EVENTS).order_by(campaigns.name, events.number)
    )
    with Storage(where) as storage, storage.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def damage(file: Path, where: str = "number = 3") -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(
            f"UPDATE maxentry_events SET payload = replace(payload, '0.1', '0.2') WHERE {where}"
        )
    connection.close()


# Files


def test_a_closed_file_alone_is_the_data_even_while_others_have_it_open(tmp_path: Path) -> None:
    file, copy = tmp_path / "lab.db", tmp_path / "copy.db"
    campaign(file).close()
    with Storage(file) as other:
        assert other.names() == ["kinase"]
        write_ahead = file.with_name("lab.db-wal")
        with Campaign.open(file) as c:
            c.tell(row=0, col=0, value=0.5)
        assert write_ahead.exists()
        shutil.copy(file, copy)
    assert len(content(copy)) == 2


def test_a_backup_has_all_while_the_storage_is_in_use(tmp_path: Path) -> None:
    file, copy = tmp_path / "lab.db", tmp_path / "copy.db"
    write(file)
    with Campaign.open(file, "kinase") as c, Storage(file) as storage:
        c.tell(row="c", col=0, value=0.5, again=True)
        with storage.locked(storage.find("second")):  # by somebody who is writing
            report = back_up(Storage(file), copy)
        c.tell(row="c", col=1, value=0.5, again=True)
    assert [(f.campaign, f.events, f.problem) for f in report.campaigns] == [
        ("kinase", 11, None),
        ("second", 2, None),
    ]
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]
    assert content(copy) == [row for row in content(file) if (row[1], row[3]) != ("kinase", 12)]
    with Campaign.open(copy, "kinase") as again:
        again.tell(row="c", col=1, value=0.5, again=True)


def test_a_backup_replaces_no_file_unless_told_to(tmp_path: Path) -> None:
    file, mine = tmp_path / "lab.db", tmp_path / "mine.txt"
    write(file)
    mine.write_text("mine")
    mine.chmod(0o600)
    with Storage(file) as storage:
        with pytest.raises(ParameterError, match="exists"):
            back_up(storage, mine)
        assert mine.read_text() == "mine"
        for wrong in (tmp_path, tmp_path / "no" / "copy.db"):
            with pytest.raises(ParameterError, match="expected a file"):
                back_up(storage, wrong)
        back_up(storage, mine, replace=True)
        assert mine.stat().st_mode & 0o777 == 0o600
        with pytest.raises(StorageError, match="in use"):
            back_up(storage, file, replace=True)
        with Campaign.open(mine, "second") as used:
            used.add_cols(["new"])
            with pytest.raises(StorageError, match="in use"):
                back_up(storage, mine, replace=True)
    assert len(content(mine)) == len(content(file)) + 1


def test_a_damaged_storage_is_not_backed_up(tmp_path: Path) -> None:
    file, copy = tmp_path / "lab.db", tmp_path / "copy.db"
    write(file)
    copy.write_text("the last good one")
    damage(file)
    with Storage(file) as storage, pytest.raises(StorageError, match=r"not backed up.* event 3"):
        back_up(storage, copy, replace=True)
    assert [path.name for path in tmp_path.glob("*copy*")] == ["copy.db"]
    assert copy.read_text() == "the last good one"


def test_of_postgresql_a_backup_says_how(postgres: str) -> None:
    from tests.campaign.conftest import database

    with database(postgres) as url, Storage(url, create=True) as storage:
        with pytest.raises(StorageError, match="pg_dump") as refused:
            back_up(storage, "x.db")
        assert len(str(refused.value)) <= 300


# Checks


def test_a_check_names_what_is_damaged_in_each_campaign(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    write(file)
    with Storage(file) as storage:
        assert check_storage(storage).problems == []
    damage(file)
    with Storage(file) as storage:
        first, second = check_storage(storage).campaigns
    assert (first.events, second.events, second.problem) == (10, 2, None)
    assert "event 3 of campaign 'kinase'" in str(first.problem)


def test_a_check_reads_a_page_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "lab.db")
    monkeypatch.setattr(backup, "PAGE", 3)
    with Storage(tmp_path / "lab.db") as storage:
        assert check_storage(storage).problems == []
    damage(tmp_path / "lab.db", "number = 7 AND campaign_id = 1")
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE maxentry_events SET who = 'eve' WHERE number = 7")
    connection.close()
    with Storage(tmp_path / "lab.db") as storage:
        (problem,) = check_storage(storage).problems
    assert "event 7" in problem


def test_a_check_finds_what_digests_cannot(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    write(file)
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM maxentry_campaigns WHERE name = 'second'")
    connection.close()
    with Storage(file) as storage:
        assert "2 rows of no campaign" in str(check_storage(storage).problem)


def test_a_check_finds_damage_in_an_index(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    write(file)
    whole = file.read_bytes()
    places = [k for k in range(len(whole)) if whole.startswith(b"second", k)]
    found = []
    for k in places:
        file.write_bytes(whole[:k] + b"secone" + whole[k + 6 :])
        with Storage(file) as storage:
            found += check_storage(storage).problems[:1]
    assert len(places) >= 3  # the table, its index, the event
    assert len(found) == len(places)


# Copies


def test_a_copy_has_the_same_events_digests_and_uuids(
    lasting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From SQLite to SQLite or PostgreSQL and back, in pages."""
    monkeypatch.setattr(backup, "PAGE", 3)
    first, last = tmp_path / "first.db", tmp_path / "last.db"
    write(first)
    campaign(lasting, name="there before").close()
    with Storage(first) as old, Storage(lasting) as new:
        assert copy_campaigns(old, new) == ["kinase", "second"]
        assert check_storage(new).problems == []
    assert [row for row in content(lasting) if row[1] != "there before"] == content(first)
    with Storage(lasting) as old, Storage(last, create=True) as new:
        copy_campaigns(old, new)
    assert content(last) == content(lasting)
    with Campaign.open(first, "kinase") as a, Campaign.open(lasting, "kinase") as b:
        assert snapshot(a.state) == snapshot(b.state)
        assert b.tell(row="c", col=4, value=3.0, again=True).told == 1


def test_a_copy_is_of_all_or_none(lasting: str, tmp_path: Path) -> None:
    write(tmp_path / "first.db")
    campaign(lasting, name="second").close()
    before = content(lasting)
    with Storage(tmp_path / "first.db") as old, Storage(lasting) as new:
        with pytest.raises(CampaignError, match="'second', which it has") as refused:
            copy_campaigns(old, new)
        assert refused.value.code == "name_taken"
    damage(tmp_path / "first.db")
    with Storage(tmp_path / "first.db") as old, Storage(tmp_path / "new.db", create=True) as new:
        with pytest.raises(StorageError, match="event 3"):
            copy_campaigns(old, new)
        assert new.names() == []
    assert content(lasting) == before


def test_events_missing_at_the_end_are_not_copied_as_if_whole(tmp_path: Path) -> None:
    write(tmp_path / "first.db")
    with sqlite3.connect(tmp_path / "first.db") as connection:
        connection.execute("DELETE FROM maxentry_events WHERE campaign_id = 1 AND number > 5")
    connection.close()
    with Storage(tmp_path / "first.db") as old, Storage(tmp_path / "new.db", create=True) as new:
        with pytest.raises(StorageError, match=r"event 6 .* missing"):
            copy_campaigns(old, new)
        assert new.names() == []
