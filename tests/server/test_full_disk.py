"""A disk that is full lets people read: writing is refused with 507, reading goes on, and so does `/health`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from tests.server.live import begin, httpx, serving

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import StorageError

READS = ("", "/settings", "/labels", "/history", "/asked", "/measurements", "/export", "/reasons")


@contextlib.contextmanager
def no_room(storage: Storage) -> Iterator[None]:
    """Give the file no more pages than it has: SQLite itself then says that the disk is full."""
    with storage.reading() as connection:
        most = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def set_limit(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {most}")

    event.listen(storage._engine, "checkout", set_limit)
    yield
    most = 2**30


def tell(client: httpx.Client, path: str, count: int = 2000) -> httpx.Response:
    lines = [{"row": k % 4, "col": k % 5, "value": 0.1 * k} for k in range(count)]
    return client.post(f"{path}/tell", json={"lines": lines, "again": True}, headers={"Idempotency-Key": "k"})


@pytest.mark.parametrize("where", ["file", "memory"])
def test_reading_goes_on_where_there_is_no_room_to_write(tmp_path: Path, where: str) -> None:
    storage = Storage(tmp_path / "lab.db" if where == "file" else "sqlite://", create=True)
    with serving(storage) as client:
        path = begin(client)
        client.post(f"{path}/tell", json={"lines": [{"row": 0, "col": 0, "value": 1.0}]})
        before = [client.get(path + read).text for read in READS]
        with no_room(storage):
            for _ in range(2):
                refused = tell(client, path)
                assert refused.status_code == 507, refused.text
                problem = refused.json()
                assert problem["type"] == "urn:maxentry:problem:disk-full"
                assert (problem["error"], problem["code"]) == ("StorageError", "disk_full")
                assert "nothing was changed" in problem["detail"]
            assert client.get("/health").json()["status"] == "disk-full"
            assert [client.get(path + read).text for read in READS] == before
        assert tell(client, path).json()["told"] == 2000
        assert client.get("/health").json()["status"] == "ok"


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with Storage(tmp_path / "lab.db", create=True) as storage, no_room(storage):
        with pytest.raises(StorageError, match="the disk is full, or it cannot be written") as refused:
            Campaign.create(storage, "x", 4000, 5)
        assert refused.value.code == "disk_full"
        assert storage.full
        assert Campaign.list(storage) == []


def test_a_full_disk_of_postgresql_is_known_by_its_code() -> None:
    class DiskFull(Exception):
        sqlstate = "53100"

    with Storage("sqlite://", create=True) as storage:
        with pytest.raises(StorageError) as refused, storage.reading():
            raise OperationalError("INSERT", {}, DiskFull("could not extend file"))
        assert refused.value.code == "disk_full"
        with pytest.raises(StorageError) as other, storage.reading():
            raise OperationalError("INSERT", {}, Exception("no route"))
        assert other.value.code != "disk_full"


# On a real disk, which only root can make


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path) -> Path:
    file = disk / "fill"
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))
    return file


READING = "import sys, maxentry; print(maxentry.Campaign.open(sys.argv[1]).status().told)"


@pytest.mark.process
def test_a_server_and_another_process_read_on_a_full_disk(disk: Path) -> None:
    with serving(str(disk / "lab.db")) as client:
        path = begin(client)
        client.post(f"{path}/tell", json={"lines": [{"row": 0, "col": 0, "value": 1.0}]})
        filling = fill(disk)
        assert tell(client, path).status_code == 507
        assert client.get("/health").json()["status"] == "disk-full"
        assert [client.get(path + read).status_code for read in READS] == [200] * len(READS)
        command = [sys.executable, "-c", READING, str(disk / "lab.db")]
        assert subprocess.run(command, capture_output=True, check=True, env=os.environ).stdout == b"1\n"
        filling.unlink()
        assert tell(client, path).json()["told"] == 2000


@pytest.mark.process
def test_a_file_on_a_full_disk_is_opened_for_reading(disk: Path) -> None:
    where = disk / "lab.db"
    with Campaign.create(where, "x", 4, 5) as campaign:
        campaign.tell(row=0, col=0, value=1.0)
    filling = fill(disk)
    with Campaign.open(where) as campaign:
        assert campaign.status().told == 1
        with pytest.raises(StorageError, match="the disk is full"):
            campaign.tell(row=1, col=0, value=1.0)
        filling.unlink()
        campaign.tell(row=1, col=0, value=1.0)
        assert campaign.status().told == 2
