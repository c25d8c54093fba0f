"""The tables, and the way of older ones to them.

Version 1 had no `who`. To change the tables: change them here, add a step to MIGRATIONS, and freeze a file of the
old version in the tests. A step must never import anything that may change later: it is plain SQL.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)

from maxentry.errors import StorageError

VERSION = 2

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


def _who(connection: Connection) -> None:
    """1 -> 2: events say by whom."""
    connection.execute(text("ALTER TABLE maxentry_events ADD COLUMN who VARCHAR(200)"))


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _who}


def version_of(connection: Connection, where: str) -> int | None:
    """The version of the tables that are there; None where there are none."""
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    version = connection.execute(select(SCHEMA.c.version)).scalar()
    if version is None:
        raise StorageError(f"expected the version of the tables in {where}, but none is written there.")
    if version > VERSION:
        raise StorageError(
            f"expected tables of version {VERSION} or older in {where}, but they are of version {version}: "
            "upgrade maxentry (pip install -U maxentry) to open it."
        )
    return int(version)


def make(connection: Connection) -> None:
    """Make the tables as they are now."""
    METADATA.create_all(connection)
    connection.execute(insert(SCHEMA).values(version=VERSION))


def upgrade(connection: Connection, version: int) -> None:
    """Take older tables step by step to the present version, in the transaction of the connection."""
    while version < VERSION:
        MIGRATIONS[version](connection)
        version += 1
        connection.execute(update(SCHEMA).values(version=version))
