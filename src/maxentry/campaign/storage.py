"""Storage: an append-only log of campaign events in SQLite or PostgreSQL.

A writer holds the campaign's lock from reading the latest events until the commit, so its decision is based on the
current state. Readers take no lock. On SQLite the lock is the file's (BEGIN IMMEDIATE). The file uses a write-ahead log
that is flushed with every commit (synchronous = FULL), so committed events survive a crash or a power cut. On
PostgreSQL the lock is on the campaign's row.

To change the tables: change them here, add a step to MIGRATIONS, and add a file of the old version to the tests.
A migration is plain SQL and must not import anything that may change later.
"""

from __future__ import annotations

import copy
import datetime as dt
import os
import random
import re
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from maxentry.campaign import events
from maxentry.campaign.events import Event, Record
from maxentry.errors import CampaignError, MissingDependencyError, StorageError

# Addresses

SQLITE_HEADER = b"SQLite format 3\x00"
EXPECTED = (
    "expected a storage like 'lab.db', 'sqlite:///lab.db', 'sqlite://' or 'postgresql://user@host/database'"
)
ALMOST_URL = re.compile(r"(postgres|sqlite)[a-z]*(\+[a-z0-9]+)?:", re.IGNORECASE)
MAY_HOLD_A_PASSWORD = re.compile(r":.*@|passw", re.IGNORECASE | re.DOTALL)


def parse_address(storage: str | PathLike[str]) -> URL:
    """Turn the path of a SQLite file, or a URL, into the URL of a SQLite or PostgreSQL database."""
    text = fspath(storage) if isinstance(storage, (str, PathLike)) else ""
    if not isinstance(text, str) or not text.strip():
        got = repr(storage) if isinstance(storage, str) else f"one of type {type(storage).__name__}"
        raise StorageError(f"{EXPECTED}, got {got}.")
    if "://" not in text:
        return _path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(f"{EXPECTED}, got an address that cannot be read{_scheme(text)}.") from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    if url.get_backend_name() in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            raise MissingDependencyError(
                "PostgreSQL needs psycopg, which is not installed: pip install 'maxentry[postgres]'."
            )
        if "@" in f"{url.host}{url.database}":  # the rest of a password, which no message may show
            raise StorageError(
                f"{EXPECTED}, got an address with several @{_scheme(text)}: in a password, write @ as %40, "
                "/ as %2F and : as %3A."
            )
        return url.set(drivername="postgresql+psycopg")
    raise StorageError(f"{EXPECTED}, got one of {url.drivername!r}.")


def _path(text: str) -> URL:
    """Return the URL of a SQLite file.

    A misspelt URL, or text that may hold a password, is refused instead of becoming the name of a new file.
    """
    path = Path(text).expanduser()
    if not path.exists() and (ALMOST_URL.match(text) or MAY_HOLD_A_PASSWORD.search(text)):
        raise StorageError(f"{EXPECTED}, got an address without ://{_scheme(text)}.")
    return URL.create("sqlite", database=str(path))


def _scheme(text: str) -> str:
    """Return the scheme of an address that cannot be parsed: the only part that is safe to show."""
    scheme = ALMOST_URL.match(text)
    return f" ({scheme[0]}…)" if scheme else ""


def _sqlite(url: URL) -> URL:
    if url.host:
        raise StorageError(
            f"expected three slashes before a path (sqlite:///{url.host}…), or four before an absolute one, "
            f"got {display_name(url)!r}."
        )
    return url.set(drivername="sqlite")


def is_in_memory(url: URL) -> bool:
    """Return whether the database exists in memory only."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def sqlite_file(url: URL) -> Path | None:
    """Return the path of the SQLite file; None for PostgreSQL and in-memory databases."""
    if url.get_backend_name() != "sqlite" or is_in_memory(url):
        return None
    return Path(str(url.database))


def display_name(url: URL) -> str:
    """Return the address for messages: the file, or the URL without its passwords."""
    path = sqlite_file(url)
    if path is not None:
        return str(path)
    secret = [name for name in url.query if "passw" in name.lower()]
    return url.update_query_dict(dict.fromkeys(secret, "***")).render_as_string(hide_password=True)


def check_file(path: Path, must_exist: bool) -> None:
    """Refuse a path that cannot be a SQLite file, before anything is created or changed."""
    try:
        if path.is_dir():
            raise StorageError(f"expected a file at {path}, got a folder.")
        if not path.exists():
            if must_exist:
                raise StorageError(
                    f"expected a file of campaigns at {path}, got none.", code="no_storage", path=str(path)
                )
            if not path.parent.is_dir():
                raise StorageError(f"expected the folder {path.parent} for {path.name}, got none.")
            return
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
    except PermissionError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}.") from None
    if start not in (b"", SQLITE_HEADER):
        raise StorageError(f"expected a file of campaigns at {path}, got a file that is not SQLite.")


# Tables and migrations

VERSION = 2  # version 1 had no column `who`
METADATA = MetaData()
SCHEMA = Table("maxentry_schema", METADATA, Column("version", Integer, nullable=False))
CAMPAIGNS = Table(
    "maxentry_campaigns",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", String(40), nullable=False),
)
EVENTS = Table(
    "maxentry_events",
    METADATA,
    Column("campaign_id", Integer, ForeignKey("maxentry_campaigns.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("who", String(200)),
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("campaign_id", "number"),
)


def _add_who(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE maxentry_events ADD COLUMN who VARCHAR(200)"))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _add_who}  # by the version that they start from


def read_version(connection: Connection, where: str) -> int | None:
    """Return the version of the tables; None if there are no tables."""
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    version = connection.execute(select(SCHEMA.c.version)).scalar()
    if version is None:
        raise StorageError(f"expected the version of the tables in {where}, got none.")
    if version > VERSION:
        raise StorageError(
            f"expected tables of version {VERSION} or older in {where}, got version {version}. "
            "Upgrade maxentry (pip install -U maxentry) to open it."
        )
    return int(version)


PATIENCE = 60.0  # seconds to wait for a lock that another process holds
BUSY = int(1000 * PATIENCE)  # the same in milliseconds, for SQLite
HELD = 30.0  # seconds after which PostgreSQL ends an idle transaction, so that a hung client does not hold a lock
LOCK = 0x6D617865  # PostgreSQL advisory lock for creating and migrating the tables
LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL error code: lock_timeout has passed
# Connection options for PostgreSQL, unless the address sets them: give up connecting after 10 seconds, and drop a
# connection after two minutes without an answer.
REACHED = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 9}


UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Key(NamedTuple):
    """The identity of a campaign in a storage: its row id, its uuid and its name."""

    id: int
    uuid: str
    name: str


class Overtaken(StorageError):
    """Another writer has stored an event of the same number. Read the latest events and decide again."""


class Log:
    """A campaign's event log while its lock is held: read the latest events, then append, in one transaction."""

    def __init__(self, connection: Connection, key: Key) -> None:
        self.connection, self.key = connection, key
        self.appended: range | None = None  # the numbers of the appended events

    def since(self, version: int) -> list[Record]:
        """Return the events after number `version`."""
        return _records(self.connection, self.key, version)

    def now(self) -> dt.datetime:
        """Return the current time by the storage's clock."""
        return _now(self.connection)

    def append(self, news: Sequence[Event], version: int, at: dt.datetime, who: str | None) -> list[Record]:
        """Write events after event `version`, which must be the last one. They are committed with the transaction."""
        last = select(func.max(EVENTS.c.number)).where(EVENTS.c.campaign_id == self.key.id)
        if (stored := self.connection.execute(last).scalar() or 0) < version:
            raise StorageError(
                f"expected {version} events of {self.key.name!r}, got {stored}: an older copy was put in place."
            )
        records = [Record(version + k, at, who, news_k) for k, news_k in enumerate(news, start=1)]
        rows = [
            {
                "campaign_id": self.key.id, "number": record.number, "at": at.isoformat(),
                "kind": record.event.kind, "who": who, "payload": events.write(record.event),
            }
            for record in records
        ]  # fmt: skip
        try:
            if rows:
                self.connection.execute(insert(EVENTS), rows)
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
        self._around: Around = nullcontext
        self._inode: tuple[int, int] | None = None  # known once the file is there
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
        self._engine.dispose()

    def within(self, around: Around) -> Self:
        """Return this storage with `around` entered in every transaction that writes to the log of a campaign."""
        twin = copy.copy(self)
        twin._around = around
        return twin

    def check(self) -> None:
        """Refuse a SQLite file that was removed or replaced: open connections would still use the old one."""
        if self._inode is not None and _inode(self._path) != self._inode:
            raise StorageError(
                f"{self.name} was removed or replaced while it was in use. Put it back, or open it again.",
                code="storage_replaced",
                path=self.name,
            )

    # Campaigns

    def add(self, name: str, first: Sequence[Event], at: dt.datetime, who: str | None) -> Key:
        """Create a campaign with its first events, in one transaction. Refuse a name that is taken."""
        with self.writing() as connection:
            self._check_version(connection)
            mark = str(uuid.uuid4())
            row = {"uuid": mark, "name": name, "created_at": at.isoformat()}
            try:
                key = connection.execute(insert(CAMPAIGNS).values(row)).inserted_primary_key
            except IntegrityError:
                message = f"expected a new name in {self.name}, got {name!r}, which is taken."
                raise CampaignError(message, code="name_taken", name=name) from None
            assert key is not None
            campaign = Key(int(key[0]), mark, name)
            with self._around(log := Log(connection, campaign)):
                log.append(first, 0, at, who)
            return campaign

    def keys(self) -> list[Key]:
        """Return the keys of the campaigns, in the order of their creation."""
        columns = CAMPAIGNS.c.id, CAMPAIGNS.c.uuid, CAMPAIGNS.c.name
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
            if not UUID.fullmatch(str(key.uuid)):  # it becomes the name of a folder
                raise StorageError(
                    f"expected a uuid for campaign {key.name!r} in {self.name}, got {key.uuid!r:.60}."
                )
            return key
        if not keys:
            raise CampaignError(f"expected a campaign in {self.name}, got none yet.", code="no_campaigns")
        names = [key.name for key in keys]
        listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        if name is None:
            message = f"expected the name of one campaign in {self.name}, got none of {listed}."
            raise CampaignError(message, code="name_missing", names=names)
        message = f"expected a campaign {name!r} in {self.name}, got {listed}."
        raise CampaignError(message, code="unknown_campaign", name=name, names=names)

    def events(self, key: Key, since: int = 0, most: int | None = None) -> list[Record]:
        """Return a campaign's events after number `since`, at most `most` of them."""
        with self.reading() as connection:
            return _records(connection, key, since, most)

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
                raise StorageError(
                    f"expected the campaign {key.name!r} in {self.name}, got none: it is gone."
                )
            self._check_version(connection)
            log = Log(connection, key)
            with self._around(log):
                yield log

    def _check_version(self, connection: Connection) -> None:
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
            yield connection
        self.check()  # what went into a file that is gone may not be acknowledged

    @contextmanager
    def _sentence(self) -> Iterator[None]:
        """Turn errors of the database into a StorageError of one sentence."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            cause = getattr(error, "orig", None) or error
            reason = " ".join(str(cause).split()).removesuffix(".") or type(cause).__name__
            if _is_locked(cause) or getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE:
                reason = f"another process has been writing for over {PATIENCE:g} seconds; try again"
            raise StorageError(f"cannot read or write {self.name}: {reason}.") from error

    def _sqlite(self) -> Engine:
        if is_in_memory(self.url):
            # All threads share one connection, so only one may use it at a time.
            self._turn = threading.RLock()
            threads = {"check_same_thread": False}
            engine = create_engine("sqlite://", poolclass=StaticPool, connect_args=threads)
        else:
            options = {"check_same_thread": False, "timeout": PATIENCE}
            engine = create_engine(self.url, poolclass=QueuePool, connect_args=options)
            _CLOSED_BEFORE_FORKS.add(engine)
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin)
        return engine

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
                raise StorageError(
                    f"expected a file of campaigns at {self.name}, got a SQLite file of something else."
                )
        if version == VERSION:
            return
        if version is None and not create:
            raise StorageError(f"expected campaigns in {self.name}, got none. Begin one first.")
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


def _records(connection: Connection, key: Key, since: int, most: int | None = None) -> list[Record]:
    columns = EVENTS.c.number, EVENTS.c.at, EVENTS.c.who, EVENTS.c.kind, EVENTS.c.payload
    rows = connection.execute(
        select(*columns)
        .where(EVENTS.c.campaign_id == key.id, EVENTS.c.number > since)
        .order_by(EVENTS.c.number)
        .limit(most)
    )
    return [
        Record(number, dt.datetime.fromisoformat(at), who, events.read(kind, payload))
        for number, at, who, kind, payload in rows
    ]


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # sqlite3 must not begin transactions: `_begin` does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
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
    # SQLite retries only every 100 ms, and least often for whoever has waited longest. Retry faster here.
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        _in_turn(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY}")


def _in_turn(attempt: Callable[[], object]) -> None:
    """Retry `attempt` until no other process holds the lock, for at most PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            attempt()
            return
        except (OperationalError, sqlite3.OperationalError) as error:
            if not _is_locked(error) or time.monotonic() > end:
                raise
            time.sleep(random.uniform(0.0005, 0.005))


def _is_locked(error: BaseException) -> bool:
    """Return whether the error says that another connection holds SQLite's lock."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0) & 0xFF  # without the extended part
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


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
