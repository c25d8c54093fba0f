"""Tables of a storage, and the migrations that bring older ones up to date.

To change the tables: change them here, add a step to MIGRATIONS, and add a file of the old version to the tests.
A migration is plain SQL and must not import anything that may change later (the chain of digests may not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

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
    column,
    delete,
    func,
    inspect,
    select,
    table,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from maxentry.campaign import events
from maxentry.errors import CampaignError

VERSION = (
    4  # version 1 had no column `who`, version 2 no column `digest`, version 3 no last event of a campaign
)
METADATA = MetaData()
SCHEMA = Table("maxentry_schema", METADATA, Column("version", Integer, nullable=False))
CAMPAIGNS = Table(
    "maxentry_campaigns",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created_at", String(40), nullable=False),
    Column(
        "last_number", Integer
    ),  # of its last event, and that event's digest: what is missing at the end is noticed
    Column("last_digest", String(64)),
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
    Column("digest", String(64)),  # see events.py; never null, but SQLite cannot add such a column
    PrimaryKeyConstraint("campaign_id", "number"),
)

CLAIMS = table(
    "maxentry_claims", column("campaign_id")
)  # of the server (server/idempotency.py), if it was used


def _add_who(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE maxentry_events ADD COLUMN who VARCHAR(200)"))


def _add_digest(connection: Connection) -> None:
    """Compute the digests of all events, a page at a time."""
    connection.execute(text("ALTER TABLE maxentry_events ADD COLUMN digest VARCHAR(64)"))
    page = text(
        "SELECT number, at, kind, who, payload FROM maxentry_events WHERE campaign_id = :id AND number > :since "
        "ORDER BY number LIMIT 5000"
    )
    write = text("UPDATE maxentry_events SET digest = :digest WHERE campaign_id = :id AND number = :number")
    for id, *campaign in connection.execute(
        text("SELECT id, uuid, name, created_at FROM maxentry_campaigns")
    ).all():
        since, digest = 0, events.first_digest(*campaign)
        while rows := connection.execute(page, {"id": id, "since": since}).all():
            digests = []
            for row in rows:
                digest = events.next_digest(digest, *row)
                digests.append({"id": id, "number": row.number, "digest": digest})
            connection.execute(write, digests)
            since = rows[-1].number


def _add_last_event(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE maxentry_campaigns ADD COLUMN last_number INTEGER"))
    connection.execute(text("ALTER TABLE maxentry_campaigns ADD COLUMN last_digest VARCHAR(64)"))
    last = "FROM maxentry_events WHERE campaign_id = maxentry_campaigns.id ORDER BY number DESC LIMIT 1"
    connection.execute(
        text(
            f"UPDATE maxentry_campaigns SET last_number = (SELECT number {last}), last_digest = (SELECT digest {last})"
        )
    )


# By the version that they start from.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _add_who, 2: _add_digest, 3: _add_last_event}


# Names of campaigns, and what is stored of them


@contextmanager
def write_name(log: Any, name: str, around: Callable[[Any], AbstractContextManager[Any]]) -> Iterator[None]:
    """Write a campaign's new name in the transaction that appends the event (`Storage.within`), inside `around`."""
    with around(log):
        yield
    row = update(CAMPAIGNS).where(CAMPAIGNS.c.id == log.key.id)
    try:
        log.connection.execute(row.values(name=name))
    except IntegrityError:
        message = f"expected a new name, got {name!r}, which is taken."
        raise CampaignError(message, code="name_taken", name=name) from None


def new_id(connection: Connection) -> dict[str, int]:
    """Return the id of a new campaign, which no deleted one had, for SQLite; PostgreSQL counts by itself."""
    if connection.dialect.name != "sqlite":
        return {}
    return {
        "id": 1 + max(_largest_deleted(connection), connection.scalar(select(func.max(CAMPAIGNS.c.id))) or 0)
    }


def _largest_deleted(connection: Connection) -> int:
    """Return the largest id of a deleted campaign, which a SQLite file keeps as its user version."""
    return int(connection.scalar(text("PRAGMA user_version")) or 0)


def delete_campaign(connection: Connection, id: int) -> int:
    """Delete a campaign, its events and the keys of requests about it; return how many events it had."""
    if connection.dialect.name == "sqlite":  # else SQLite would give its id to another campaign
        connection.execute(text(f"PRAGMA user_version = {max(id, _largest_deleted(connection))}"))
    if inspect(connection).has_table(CLAIMS.name):
        connection.execute(delete(CLAIMS).where(CLAIMS.c.campaign_id == id))
    n = connection.execute(delete(EVENTS).where(EVENTS.c.campaign_id == id)).rowcount
    connection.execute(delete(CAMPAIGNS).where(CAMPAIGNS.c.id == id))
    return int(n)
