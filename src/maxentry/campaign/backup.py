"""Checks, backups and copies of whole storages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from maxentry._io import can_be_path, refuse_existing, write_atomically
from maxentry.campaign import events
from maxentry.campaign.address import check_uuid, sqlite_file
from maxentry.campaign.events import Link, Record
from maxentry.campaign.schema import CAMPAIGNS, EVENTS, new_id
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Key, Storage, first_link, read_last, select_rows, write_last
from maxentry.errors import CampaignError, MaxentryError, ParameterError, StorageError

PAGE = 5000  # events in memory at once


class Finding(NamedTuple):
    """A campaign, the number of its stored events, and what is wrong with it (None: nothing)."""

    campaign: str
    events: int
    problem: str | None


class Report(NamedTuple):
    """The result of checking a storage."""

    campaigns: list[Finding]
    problem: str | None  # of the file itself

    @property
    def problems(self) -> list[str]:
        """All that is wrong, the file first."""
        found = [self.problem, *(finding.problem for finding in self.campaigns)]
        return [problem for problem in found if problem is not None]


def check_storage(storage: Storage) -> Report:
    """Verify all events of all campaigns by their digests, replay them, and let SQLite check its file."""
    keys = storage.keys()
    return Report([_check_campaign(storage, key) for key in keys], _check_file(storage))


def _check_campaign(storage: Storage, key: Key) -> Finding:
    n = 0
    try:
        with storage.reading() as connection:
            count = select(func.count()).select_from(EVENTS).where(EVENTS.c.campaign_id == key.id)
            n = connection.execute(count).scalar_one()
        check_uuid(key, storage.name)
        name = replay(_read_pages(storage, key)).settings.name
        if name != key.name and key.name in storage.names():  # else it was renamed in the meantime
            raise events.damage(key.name, n, f"the campaign's name is {name!r:.60} by its events")
    except MaxentryError as error:
        return Finding(key.name, n, str(error))
    return Finding(key.name, n, None)


def _read_pages(storage: Storage, key: Key) -> Iterator[Record]:
    since, digest = 0, None
    while records := storage.events(key, since, PAGE, digest=digest):
        yield from records
        since, digest = records[-1].number, records[-1].digest


def _check_file(storage: Storage) -> str | None:
    """Return what SQLite finds wrong with its file."""
    if sqlite_file(storage.url) is None:
        return None
    try:
        with storage.reading() as connection:
            lines = connection.execute(text("PRAGMA integrity_check(3)")).scalars().all()
            strays = connection.execute(text("PRAGMA foreign_key_check")).all()
    except StorageError as error:
        return str(error)
    if lines != ["ok"]:
        found = "; ".join(" ".join(str(line).split()) for line in lines)
        return f"{storage.name} is damaged: {found:.160}. Restore a backup."
    if strays:
        return f"{storage.name} has {len(strays)} rows of no campaign. Restore a backup."
    return None


def back_up(storage: Storage, file: str | PathLike[str], *, replace: bool = False) -> Report:
    """Write all of a SQLite storage to a new file while others may use it, and verify what was written.

    An existing file is refused unless `replace`. A damaged storage is refused: its copy would be no backup.
    """
    source, path = sqlite_file(storage.url), Path(file)
    if source is None:
        raise StorageError(
            "expected a SQLite file to back up, got PostgreSQL, which has its own tool: pg_dump --format=custom "
            "--file=lab.dump DATABASE; pg_restore puts it back. `maxentry copy` copies the campaigns to a file."
        )
    if not can_be_path(str(path)) or path.is_dir() or not path.absolute().parent.is_dir():
        raise ParameterError(f"expected a file in a folder that exists, got {file}.")
    log = path.with_name(path.name + "-wal")
    if path.exists() and (path.samefile(source) or (log.exists() and log.stat().st_size > 0)):
        raise StorageError(f"expected a file that is not in use, got {file}, which is a storage in use.")
    if path.exists() and not replace:
        raise refuse_existing(str(file))
    try:
        with write_atomically(path, replace=replace) as part:
            with storage.reading() as connection, closing(sqlite3.connect(part)) as target:
                connection.connection.driver_connection.backup(target)  # type: ignore[union-attr]
            with Storage(part) as written:
                report = check_storage(written)
            if report.problems:
                raise StorageError(f"not backed up, since the storage is damaged: {report.problems[0]}")
            with closing(
                sqlite3.connect(part)
            ) as target:  # one file, which can be read where nothing can be written
                target.execute("PRAGMA journal_mode = DELETE")
    except FileExistsError:
        raise refuse_existing(str(file)) from None
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, MaxentryError):
            raise
        raise StorageError(f"cannot write {file}: {getattr(error, 'strerror', None) or error}.") from None
    return report


def copy_campaigns(
    source: Storage,
    target: Storage,
    more: Callable[[Connection, Connection, dict[int, int]], None] | None = None,
) -> list[str]:
    """Copy all campaigns to another storage, with their events, digests and uuids, in one transaction.

    Return their names. A name or uuid that the other storage has is refused, and so is a damaged event.
    more: copies what others keep of campaigns, given both connections and the new row id of each old one.
    """
    keys, ids = source.keys(), {}
    with source.reading() as reader, target.writing() as writer:
        target.check_version(writer)
        for key in keys:
            check_uuid(key, source.name)
            row = {"uuid": key.uuid, "name": key.name, "created_at": key.created_at, **new_id(writer)}
            try:
                added = writer.execute(insert(CAMPAIGNS).values(row)).inserted_primary_key
            except IntegrityError:
                message = f"expected new campaigns in {target.name}, got {key.name!r:.60}, which it has."
                raise CampaignError(message, code="name_taken", name=key.name) from None
            assert added is not None
            ids[key.id] = int(added[0])
            _copy_events(reader, writer, key, ids[key.id])
        if more is not None:
            more(reader, writer, ids)
    return [key.name for key in keys]


def _copy_events(reader: Connection, writer: Connection, key: Key, id: int) -> None:
    link, last = first_link(reader, key), read_last(reader, key)
    columns = [column.name for column in EVENTS.columns]
    while rows := select_rows(reader, key, link, PAGE).all():
        records = events.read_records(rows, key.name, link)  # refuses a damaged one
        if not records:
            break
        new = [dict(zip(columns, (id, *row), strict=True)) for row in rows[-len(records) :]]
        writer.execute(insert(EVENTS), new)
        link = Link(records[-1].number, records[-1].digest)
    events.check_end([], key.name, link, last)
    write_last(writer, id, link)
