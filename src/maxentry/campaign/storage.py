"""Storage: an append-only log of campaign events in SQLite or PostgreSQL.

A writer holds the campaign's lock from reading the latest events until the commit, so its decision is based on the
current state. Readers take no lock. On SQLite the lock is the file's (BEGIN IMMEDIATE). The file uses a write-ahead log
that is flushed with every commit (synchronous = FULL), so committed events survive a crash or a power cut. On
PostgreSQL the lock is on the campaign's row. Every event is read together with its digest, and verified (events.py).
"""

from __future__ import annotations

import copy
import datetime as dt
import os
import random
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    case,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from maxentry._io import in_queue
from maxentry.campaign import events
from maxentry.campaign.address import (
    check_file,
    check_uuid,
    display_name,
    is_in_memory,
    parse_address,
    sqlite_file,
)
from maxentry.campaign.events import Event, Link, Record
from maxentry.campaign.schema import CAMPAIGNS, EVENTS, METADATA, MIGRATIONS, SCHEMA, VERSION, new_id
from maxentry.errors import CampaignError, StorageError

PATIENCE = 60.0  # seconds to wait for a lock that another process holds
BUSY = int(1000 * PATIENCE)  # the same in milliseconds, for SQLite
POLITE = 0.1  # seconds that others may go first in SQLite's queue, before each attempt
HELD = 30.0  # seconds after which PostgreSQL ends an idle transaction, so that a hung client does not hold a lock
LOCK = 0x6D617865  # PostgreSQL advisory lock for creating and migrating the tables
# Errors of SQLite and of PostgreSQL on a disk that is full. A quota that is used up is SQLITE_IOERR_WRITE.
NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
DISK_FULL = "53100"
LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL error code: lock_timeout has passed
# Connection options for PostgreSQL, unless the address sets them: give up connecting after 10 seconds, and drop a
# connection after two minutes without an answer.
REACHED = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 9}


class Key(NamedTuple):
    """The identity of a campaign in a storage: its row id, its uuid, its name and when it was created."""

    id: int
    uuid: str
    name: str
    created_at: str = ""

    @property
    def first_digest(self) -> str:
        """What the chain of its events begins with."""
        return events.first_digest(self.uuid, self.name, self.created_at)


class Overtaken(StorageError):
    """Another writer has stored an event of the same number. Read the latest events and decide again."""


class Log:
    """A campaign's event log while its lock is held: read the latest events, then append, in one transaction."""

    def __init__(self, connection: Connection, key: Key) -> None:
        self.connection, self.key = connection, key
        self.appended: range | None = None  # the numbers of the appended events

    def since(self, version: int, digest: str | None = None) -> list[Record]:
        """Return the events after number `version`, whose digest is refused if it is not `digest`."""
        return _records(self.connection, self.key, Link(version, digest))

    def now(self) -> dt.datetime:
        """Return the current time by the storage's clock."""
        return _now(self.connection)

    def append(self, news: Sequence[Event], version: int, at: dt.datetime, who: str | None) -> list[Record]:
        """Write events after event `version`, which must be the last one. They are committed with the transaction."""
        end = select(EVENTS.c.number, EVENTS.c.digest).where(EVENTS.c.campaign_id == self.key.id)
        last = self.connection.execute(end.order_by(EVENTS.c.number.desc()).limit(1)).first()
        stored, digest = (0, self.key.first_digest) if last is None else last
        if stored < version:
            got = f"{stored}: an older copy was put in place"
            raise events.replaced(self.key.name, f"{version} events", got)
        if Link(stored, digest) != (last_event := read_last(self.connection, self.key)):
            raise events.damage(
                self.key.name, max(stored, last_event.number), "it is not the campaign's last one"
            )
        rows, records = [], []
        for number, new in enumerate(news, start=version + 1):
            cells = number, at.isoformat(), new.kind, who, events.write(new)
            digest = events.next_digest(digest, *cells)
            rows.append((self.key.id, *cells, digest))
            records.append(Record(number, at, who, new, digest))
        try:
            if rows:
                columns = "campaign_id", "number", "at", "kind", "who", "payload", "digest"
                self.connection.execute(
                    insert(EVENTS), [dict(zip(columns, row, strict=True)) for row in rows]
                )
                write_last(self.connection, self.key.id, Link(version + len(rows), digest))
        except IntegrityError:
            raise Overtaken(f"expected no event {version + 1} yet, got one of another writer.") from None
        self.appended = range(version + 1, version + len(records) + 1)
        return records


Around = Callable[[Log], AbstractContextManager[Any]]


class Storage:
    """A SQLite file, an in-memory SQLite database or a PostgreSQL database, and the campaigns in it."""

    def __init__(self, where: str | PathLike[str], *, create: bool = False) -> None:
        """Open the storage. Create its tables if `create` is true and there are none; migrate old ones."""
        self.url = parse_address(where)
        self.name = display_name(self.url)
        self._turn: AbstractContextManager[Any] = nullcontext()
        self.around: Around = nullcontext
        self._full = threading.Event()
        self._inode: tuple[int, int] | None = None  # known once the file is there
        self._wrote = False  # since it was opened or closed
        self._path = path = sqlite_file(self.url)
        if path is not None:
            check_file(path, must_exist=not create)
        self._engine = self._sqlite() if self.url.get_backend_name() == "sqlite" else self._postgresql()
        try:
            self._prepare(create or is_in_memory(self.url))
            self._inode = _inode(path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Using the storage again opens new ones; an in-memory database is lost."""
        if self._wrote and self._path is not None and _inode(self._path) == self._inode:
            self._wrote = False
            with suppress(SQLAlchemyError, sqlite3.Error):  # what stays in the log is not lost
                self._move_log()
        self._engine.dispose()

    def _move_log(self) -> None:
        """Move the write-ahead log into the SQLite file, so that the file alone has all, unless others are reading."""
        with closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")  # never waits, and nobody waits for it
            cursor.close()

    def within(self, around: Around) -> Self:
        """Return this storage with `around` entered in every transaction that writes to the log of a campaign."""
        twin = copy.copy(self)
        twin.around = around
        return twin

    def check(self) -> None:
        """Refuse a SQLite file that was removed or replaced: open connections would still use the old one."""
        if self._inode is not None and _inode(self._path) != self._inode:
            raise StorageError(
                f"{self.name} was removed or replaced while it was in use. Put it back, or open it again.",
                code="storage_replaced",
                path=self.name,
            )

    @property
    def full(self) -> bool:
        """Whether the last attempt to write found the disk full. What is stored can still be read."""
        return self._full.is_set()

    # Campaigns

    def add(self, name: str, first: Sequence[Event], at: dt.datetime, who: str | None) -> Key:
        """Create a campaign with its first events, in one transaction. Refuse a name that is taken."""
        with self.writing() as connection:
            self.check_version(connection)
            campaign = Key(0, str(uuid.uuid4()), name, at.isoformat())
            row: dict[str, Any] = {"uuid": campaign.uuid, "name": name, "created_at": campaign.created_at}
            row |= {"last_number": 0, "last_digest": campaign.first_digest, **new_id(connection)}
            try:
                key = connection.execute(insert(CAMPAIGNS).values(row)).inserted_primary_key
            except IntegrityError:
                message = f"expected a new name in {self.name}, got {name!r}, which is taken."
                raise CampaignError(message, code="name_taken", name=name) from None
            assert key is not None
            campaign = campaign._replace(id=int(key[0]))
            with self.around(log := Log(connection, campaign)):
                log.append(first, 0, at, who)
            return campaign

    def keys(self) -> list[Key]:
        """Return the keys of the campaigns, in the order of their creation."""
        columns = CAMPAIGNS.c.id, CAMPAIGNS.c.uuid, CAMPAIGNS.c.name, CAMPAIGNS.c.created_at
        with self.reading() as connection:
            return [Key(*row) for row in connection.execute(select(*columns).order_by(CAMPAIGNS.c.id))]

    def names(self) -> list[str]:
        """Return the names of the campaigns, in the order of their creation."""
        return [key.name for key in self.keys()]

    def find(self, name: str | None) -> Key:
        """Return the key of the campaign of this name; without a name, of the only campaign."""
        keys = self.keys()
        matching = [key for key in keys if name is None or key.name == name]
        if len(matching) == 1:
            key = matching[0]
            check_uuid(key, self.name)
            return key
        if not keys:
            raise CampaignError(f"expected a campaign in {self.name}, got none yet.", code="no_campaigns")
        names = [key.name for key in keys]
        listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        if name is None:
            message = f"expected one of the campaigns in {self.name} ({listed}), got no name."
            raise CampaignError(message, code="name_missing", names=names)
        message = f"expected a campaign {name!r} in {self.name}, got {listed}."
        raise CampaignError(message, code="unknown_campaign", name=name, names=names)

    def events(
        self, key: Key, since: int = 0, most: int | None = None, *, digest: str | None = None
    ) -> list[Record]:
        """Return a campaign's events after number `since`, at most `most` of them, each verified by its digest.

        digest: that of event `since`, if the caller knows it; a storage that has another one is refused.
        """
        with self.reading() as connection:
            return _records(connection, key, Link(since, digest), most)

    def now(self) -> dt.datetime:
        """Return the current time: by the clock of the PostgreSQL server, or of this machine for SQLite."""
        if self.url.get_backend_name() == "sqlite":
            return dt.datetime.now(dt.UTC)
        with self.reading() as connection:
            return _now(connection)

    @contextmanager
    def locked(self, key: Key) -> Iterator[Log]:
        """Hold the campaign's lock. Commit the appended events at the end; roll back after an error."""
        with self.writing() as connection:
            row = select(CAMPAIGNS.c.uuid).where(CAMPAIGNS.c.id == key.id)
            if connection.execute(row.with_for_update()).scalar() != key.uuid:  # SQLite ignores FOR UPDATE
                raise events.gone(f"{key.name!r} in {self.name}")
            self.check_version(connection)
            log = Log(connection, key)
            with self.around(log):
                yield log

    def check_version(self, connection: Connection) -> None:
        """Refuse to write to tables that another process has upgraded; lock the version until the commit."""
        version = connection.execute(select(SCHEMA.c.version).with_for_update(read=True)).scalar()
        if version != VERSION:
            raise StorageError(
                f"expected tables of version {VERSION} in {self.name}, got version {version}. "
                "Upgrade maxentry (pip install -U maxentry)."
            )

    # Connections

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction."""
        self.check()
        with self._turn, self._sentence(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction for writing. On SQLite it takes the file's lock at once."""
        self.check()
        with (
            self._turn,
            self._sentence(),
            self._engine.connect().execution_options(immediate=True) as connection,
            connection.begin(),
        ):
            self._wrote = True
            yield connection
        self._full.clear()
        self.check()  # what went into a file that is gone may not be acknowledged

    @contextmanager
    def _sentence(self) -> Iterator[None]:
        """Turn errors of the database into a StorageError of one sentence."""
        try:
            yield
        except (
            SQLAlchemyError,
            sqlite3.Error,
            UnicodeDecodeError,
        ) as error:  # the last: in a message of SQLite
            cause = getattr(error, "orig", None) or error
            reason = " ".join(str(cause).split()).removesuffix(".")[:160] or type(cause).__name__
            if _is_locked(cause) or getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE:
                reason = f"another process has been writing for over {PATIENCE:g} seconds; try again"
            elif _error_code(cause) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                reason += ". The file is damaged: restore a backup"
            elif self._is_full(cause):
                self._full.set()
                reason = "the disk is full, or it cannot be written. Nothing was changed; make room"
                raise StorageError(f"cannot write {self.name}: {reason}.", code="disk_full") from error
            raise StorageError(f"cannot read or write {self.name}: {reason}.") from error

    def _is_full(self, cause: object) -> bool:
        """Return whether an error says that there is no room. On a full disk a file may be open for reading alone."""
        if getattr(cause, "sqlite_errorcode", 0) in NO_ROOM or getattr(cause, "sqlstate", None) == DISK_FULL:
            return True
        for_reading = _error_code(cause) == sqlite3.SQLITE_READONLY
        return for_reading and self._path is not None and _is_writable(self._path)

    def _sqlite(self) -> Engine:
        if is_in_memory(self.url):
            # All threads share one connection, so only one may use it at a time.
            self._turn = threading.RLock()
            threads = {"check_same_thread": False}
            engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=threads)
            event.listen(engine, "connect", _set_up_sqlite)
        else:
            options = {"check_same_thread": False, "timeout": PATIENCE}
            engine = create_engine(self.url, poolclass=QueuePool, connect_args=options)
            _CLOSED_BEFORE_FORKS.add(engine)
            event.listen(engine, "do_connect", self._connect)
            event.listen(engine, "checkin", _drop_for_reading)
        event.listen(engine, "begin", _begin)
        return engine

    def _connect(self, dialect: Any, record: Any, arguments: Any, options: Any) -> Any:
        """Open the file; for reading alone where it, its folder or a full disk has no place for SQLite's own files.

        That is right as long as nobody writes, so such a connection is used once.
        """
        connection = dialect.connect(*arguments, **options)
        try:
            _set_up_sqlite(connection, record)
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            for_reading = error.sqlite_errorcode in NO_ROOM or _error_code(error) == sqlite3.SQLITE_READONLY
            if not for_reading or self._path is None or _has_wal(self._path):
                raise
        record.info[FOR_READING] = True
        address = f"{self._path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)

    def _postgresql(self) -> Engine:
        reached = {name: value for name, value in REACHED.items() if name not in self.url.query}
        engine = create_engine(
            self.url, isolation_level="READ COMMITTED", pool_pre_ping=True, connect_args=reached
        )
        event.listen(engine, "connect", _set_up_postgresql)
        _CLOSED_BEFORE_FORKS.add(engine)
        return engine

    def _prepare(self, create: bool) -> None:
        with self.reading() as connection:
            version = read_version(connection, self.name)
            foreign = version is None and sqlite_file(self.url) is not None
            if foreign and inspect(connection).get_table_names():
                got = "a SQLite file of something else"
                raise StorageError(f"expected a file of campaigns at {self.name}, got {got}.")
        if version == VERSION:
            return
        if version is None and not create:
            raise StorageError(f"expected campaigns in {self.name}, got none. Begin one first.")
        if version is not None and self._path is not None and not _is_writable(self._path):
            raise StorageError(
                f"expected tables of version {VERSION} in {self.name}, got version {version}, and the file cannot be "
                "written to upgrade it. Copy it to a folder that you can write to, and open the copy."
            )
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            version = read_version(connection, self.name)  # another process may have created or migrated them
            if version is None:
                METADATA.create_all(connection)
                connection.execute(insert(SCHEMA).values(version=VERSION))
                return
            for step in range(version, VERSION):
                MIGRATIONS[step](connection)
                connection.execute(update(SCHEMA).values(version=step + 1))


def read_version(connection: Connection, where: str) -> int | None:
    """Return the version of the tables; None if there are no tables."""
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    version = connection.execute(select(SCHEMA.c.version)).scalar()
    if not isinstance(version, int) or version < 1:
        raise StorageError(f"expected the version of the tables in {where}, got {version!r:.40}.")
    if version > VERSION:
        raise StorageError(
            f"expected tables of version {VERSION} or older in {where}, got version {version}. "
            "Upgrade maxentry (pip install -U maxentry) to open it."
        )
    return version


def _inode(path: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one that takes its name later."""
    try:
        return None if path is None else (path.stat().st_dev, path.stat().st_ino)
    except OSError:
        return (0, 0)


def _now(connection: Connection) -> dt.datetime:
    if connection.dialect.name == "sqlite":
        return dt.datetime.now(dt.UTC)
    now: dt.datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return now.astimezone(dt.UTC)


def _records(connection: Connection, key: Key, link: Link, most: int | None = None) -> list[Record]:
    """Return verified events. At the end of them, the campaign's last one of before the reading must be there."""
    link = link if link.number > 0 else first_link(connection, key)
    last = read_last(connection, key)
    records = events.read_records(select_rows(connection, key, link, most), key.name, link)
    if most is None or len(records) < most:
        events.check_end(records, key.name, link, last)
    return records


def first_link(connection: Connection, key: Key) -> Link:
    """Return what comes before the first event of a campaign, by the name that it was created with."""
    renamed = select(EVENTS.c.payload).where(EVENTS.c.campaign_id == key.id, EVENTS.c.kind == "renamed")
    payload = connection.execute(renamed.order_by(EVENTS.c.number).limit(1)).scalar()
    return Link(0, events.first_digest(key.uuid, events.read_origin(payload, key.name), key.created_at))


def read_last(connection: Connection, key: Key) -> Link:
    """Return the number and digest of a campaign's last event, as they were written with it."""
    columns = CAMPAIGNS.c.last_number, CAMPAIGNS.c.last_digest
    row = connection.execute(select(*columns).where(CAMPAIGNS.c.id == key.id)).first()
    if row is None:
        raise events.gone(repr(key.name))
    number, digest = row
    if not isinstance(number, int) or not isinstance(digest, str):
        raise events.damage(key.name, 1, f"the campaign's last event is not known, but {number!r:.40}")
    return Link(number, digest)


def write_last(connection: Connection, id: int, last: Link) -> None:
    """Write which event of a campaign is its last, in the transaction that appends it."""
    values = {"last_number": last.number, "last_digest": last.digest}
    connection.execute(update(CAMPAIGNS).where(CAMPAIGNS.c.id == id).values(values))


def select_rows(connection: Connection, key: Key, link: Link, most: int | None = None) -> CursorResult[Any]:
    """Select the rows that `events.read_records` takes: event `link.number`, if there is one, and those after it."""
    since = link.number
    payload = case(
        (EVENTS.c.number > since, EVENTS.c.payload)
    )  # may be large, and is known of the last event
    columns = EVENTS.c.number, EVENTS.c.at, EVENTS.c.kind, EVENTS.c.who, payload, EVENTS.c.digest
    return connection.execute(
        select(*columns)
        .where(EVENTS.c.campaign_id == key.id, EVENTS.c.number >= since)
        .order_by(EVENTS.c.number)
        .limit(None if most is None else most + (since > 0))
    )


FOR_READING = "for reading"  # in the notes of a connection


def _drop_for_reading(_: Any, record: Any) -> None:
    if record.info.pop(FOR_READING, False):
        record.invalidate()


def _is_writable(path: Path) -> bool:
    """Return whether SQLite can write to the file, and its own files beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _has_wal(path: Path) -> bool:
    """Return whether a write-ahead log holds more than the file itself."""
    wal = path.with_name(f"{path.name}-wal")
    return wal.exists() and wal.stat().st_size > 0


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # sqlite3 must not begin transactions: `_begin` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    # 500 kB for each connection: a server has several, and reads in order.
    cursor.execute("PRAGMA cache_size = -500")
    # SQLite's busy timeout does not cover a concurrent switch to WAL, so retry here.
    _in_turn(lambda: _write_ahead(cursor))
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
        tables = [name for (name,) in cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if not tables or SCHEMA.name in tables:  # do not touch another program's file
            cursor.execute("PRAGMA journal_mode = WAL")


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get("immediate", False):
        connection.exec_driver_sql("BEGIN")
        return
    # SQLite retries only every 100 ms, and least often for whoever has waited longest. Retry faster here, and in the
    # order of arrival: among many, whoever only tries again and again may wait very long.
    sqlite: Any = connection.connection.driver_connection
    sqlite.execute("PRAGMA busy_timeout = 0")
    try:
        with in_queue(f"{connection.engine.url.database}-wal") as count_ahead:
            _in_turn(lambda: sqlite.execute("BEGIN IMMEDIATE"), count_ahead)
    finally:
        sqlite.execute(f"PRAGMA busy_timeout = {BUSY}")


def _in_turn(attempt: Callable[[], object], count_ahead: Callable[[], int] = lambda: 0) -> None:
    """Retry `attempt` until no other process holds the lock, for at most PATIENCE seconds.

    Those ahead go first, but a process that was stopped in the queue does not keep others waiting.
    """
    end = time.monotonic() + PATIENCE
    while True:
        polite = time.monotonic() + POLITE
        while (ahead := count_ahead()) and time.monotonic() < polite:
            time.sleep(random.uniform(0.0005, 0.0015) * min(ahead, 10))
        try:
            attempt()
            return
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0.0005, 0.0015))


def _is_locked(error: BaseException) -> bool:
    """Return whether the error says that another connection holds SQLite's lock."""
    return _error_code(getattr(error, "orig", error)) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _error_code(error: object) -> int:
    """Return SQLite's code of an error, without the extended part; 0 if it has none."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _set_up_postgresql(connection: Any, _: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":  # an acknowledged event must outlive a crash of the server
            cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SET lock_timeout = {int(1000 * PATIENCE)}")
        cursor.execute(f"SET idle_in_transaction_session_timeout = {int(1000 * HELD)}")
    connection.commit()


# Parent and child must not share a connection after a fork (SQLite's locks, PostgreSQL's protocol), so idle ones are
# closed before it.
_CLOSED_BEFORE_FORKS: weakref.WeakSet[Engine] = weakref.WeakSet()


def _close_idle_connections() -> None:
    for engine in list(_CLOSED_BEFORE_FORKS):
        engine.dispose()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_idle_connections)
