"""What was acknowledged is on the disk; what was not is not taken for granted."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, event, text
from tests.campaign.conftest import database
from tests.campaign.stand_ins import campaign, uniform

from maxentry.campaign import address
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.fits import KEPT, Memory
from maxentry.campaign.storage import Storage
from maxentry.errors import StorageError


def test_sqlite_brings_every_commit_to_the_disk(tmp_path: Path) -> None:
    campaign(tmp_path / "lab.db").close()
    with Storage(tmp_path / "lab.db") as storage, storage.writing() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1


def test_postgresql_does_too_even_where_a_server_is_told_not_to(postgres: str) -> None:
    with database(postgres) as url:
        engine = create_engine(address.parse_address(url), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            name = connection.execute(text("SELECT current_database()")).scalar()
            connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
        engine.dispose()
        with Storage(url, create=True) as storage, storage.writing() as connection:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"


def test_a_commit_that_fails_leaves_no_trace(where: str) -> None:
    with campaign(where) as c:
        c.ask(2)
        before = c.state.version

        def power_cut(_: object) -> None:
            raise StorageError("the power is gone")

        event.listen(c._storage._engine, "commit", power_cut)
        for attempt in (lambda: c.tell(1, 5.0), lambda: c.ask(1)):
            with pytest.raises(StorageError, match="the power is gone"):
                attempt()
            assert c._latest.version == before
        event.remove(c._storage._engine, "commit", power_cut)
        assert c.tell(1, 5.0).told == 1
        assert c.state.version == before + 1


def test_connections_that_the_server_has_closed_are_opened_again(postgres: str) -> None:
    with database(postgres) as url, campaign(url) as c:
        c.ask(1)
        engine = create_engine(address.parse_address(url), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"  # and wait for it
            others = "pid <> pg_backend_pid() AND datname = current_database()"
            connection.execute(text(f"{end} WHERE {others}"))
        engine.dispose()
        assert c.tell(1, 5.0).told == 1


def test_the_cache_may_be_deleted_and_is_found_by_the_campaigns_own_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "kept"))
    with campaign(tmp_path / "lab.db") as c, campaign(tmp_path / "lab.db", name="other") as other:
        assert c.cache.parent == tmp_path / "kept"
        assert c.cache != other.cache
        with Campaign.open(tmp_path / "lab.db", "kinase", policy=uniform) as again:
            assert again.cache == c.cache
        with Campaign.open(tmp_path / "lab.db", "kinase", cache=tmp_path / "mine") as again:
            assert again.cache == tmp_path / "mine"
    with campaign() as memory:
        assert isinstance(memory.cache, Memory)  # no files of what is gone with the process


def test_opening_waits_for_whoever_is_writing_the_file_for_the_first_time(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    campaign(path).close()
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    assert writer.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)  # as of a file just made
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE maxentry_schema SET version = version")
    end = threading.Timer(0.3, lambda: writer.execute("COMMIT"))
    end.start()
    with Storage(path) as storage:
        assert storage.names() == ["kinase"]
    end.join()
    writer.close()


# Files that are removed, replaced or not ours


def test_nothing_is_acknowledged_into_a_file_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    with campaign(file) as c:
        c.ask(2)
        file.rename(tmp_path / "moved.db")
        for attempt in (lambda: c.tell(1, 5.0), lambda: c.ask(1), lambda: c.state):
            with pytest.raises(StorageError, match="was removed or replaced while it was in use") as refused:
                attempt()
            assert refused.value.code == "storage_replaced"
        (tmp_path / "moved.db").rename(file)
        assert c.tell(1, 5.0).told == 1


def test_nothing_is_acknowledged_into_a_file_that_another_one_replaced(tmp_path: Path) -> None:
    file = tmp_path / "lab.db"
    campaign(tmp_path / "other.db").close()
    with campaign(file) as c:
        c.ask(2)
        (tmp_path / "other.db").replace(file)
        with pytest.raises(StorageError, match="was removed or replaced"):
            c.tell(1, 5.0)


def test_an_older_copy_of_a_campaign_is_noticed(tmp_path: Path) -> None:
    with campaign(tmp_path / "lab.db") as c:
        c.ask(2)
        with c._storage.writing() as connection:  # what a copy over the file would do
            connection.execute(text("DELETE FROM maxentry_events WHERE number = 2"))
        with pytest.raises(StorageError, match="an older copy was put in place"):
            c.tell(row=0, col=0, value=1.0)


def test_a_uuid_that_is_a_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "cache" / "deep"))
    campaign(tmp_path / "lab.db").close()
    with sqlite3.connect(tmp_path / "lab.db") as foreign:
        foreign.execute("UPDATE maxentry_campaigns SET uuid = '../../victim'")
    foreign.close()
    with pytest.raises(
        StorageError, match=r"expected a uuid for campaign 'kinase' in .*, got '../../victim'"
    ):
        Campaign.open(tmp_path / "lab.db")


def test_a_cache_on_a_folder_of_the_user_deletes_nothing_of_theirs(tmp_path: Path) -> None:
    mine = [tmp_path / f"mine{k}.npz" for k in range(9)]
    for file in mine:
        file.write_bytes(b"my data")
    with Campaign.create("sqlite://", "x", 3, 3, seed=1, rank=0, cache=tmp_path) as c:
        for k in range(9):
            c.tell(row=[k // 3], col=[k % 3], value=[float(k)])
            c.posterior(progress=False)
    assert all(file.read_bytes() == b"my data" for file in mine)
    assert len(list(tmp_path.glob("*.npz"))) == len(mine) + KEPT
