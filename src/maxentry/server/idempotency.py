"""Idempotency keys: a request that is sent twice is done once, whatever broke in between.

The key is written in the transaction of the events that the request made, so that both are there or neither. The table
belongs to the server: campaigns know nothing of it, and an older maxentry ignores it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import sqlalchemy as sa

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import LOCK, Key, Log, Storage
from maxentry.errors import CampaignError, ParameterError

REMEMBERED = dt.timedelta(days=30)
LONGEST_KEY = 200  # characters
CREATION = Key(0, "", "")  # the keys of requests that create campaigns belong to no campaign

CLAIMS = sa.Table(
    "maxentry_claims",
    sa.MetaData(),
    sa.Column("campaign_id", sa.Integer, nullable=False),
    sa.Column("claim", sa.String(LONGEST_KEY), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("before", sa.Integer, nullable=False),  # the last event before the request
    sa.Column("after", sa.Integer, nullable=False),  # its own last event; the same where it made none
    sa.Column("at", sa.String(40), nullable=False),
    sa.PrimaryKeyConstraint("campaign_id", "claim"),
)


class Claim(NamedTuple):
    """The key of a request, and a digest of its content."""

    key: str
    digest: str

    @classmethod
    def from_request(cls, key: str | None, content: Any) -> Claim | None:
        """The claim of a request with this content (plain data); None if it has no key."""
        if key is None:
            return None
        return cls(key, hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest())


class EventSpan(NamedTuple):
    """The events of one request: those after `before`, up to `after`; and when it was done."""

    before: int
    after: int
    at: dt.datetime


class Repeated(Exception):
    """The request was done before, and nothing was done now."""

    def __init__(self, span: EventSpan) -> None:
        super().__init__("done before")
        self.span = span


def create_table(storage: Storage) -> None:
    """Create the table of keys if the storage has none."""
    with storage.reading() as connection:
        if sa.inspect(connection).has_table(CLAIMS.name):
            return
    with storage.writing() as connection:
        if connection.dialect.name == "postgresql":  # where two servers may start at once
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        CLAIMS.create(connection, checkfirst=True)


def copy_claims(reader: sa.Connection, writer: sa.Connection, ids: dict[int, int]) -> None:
    """Copy the keys of campaigns to another storage, in the transaction of `copy_campaigns`; ids: new by old."""
    if not sa.inspect(reader).has_table(CLAIMS.name):
        return
    CLAIMS.create(writer, checkfirst=True)
    taken = set(
        writer.execute(sa.select(CLAIMS.c.claim).where(CLAIMS.c.campaign_id == CREATION.id)).scalars()
    )
    ids = ids | {CREATION.id: CREATION.id}
    rows = [
        row._asdict() | {"campaign_id": ids[row.campaign_id]}
        for row in reader.execute(sa.select(CLAIMS))
        if row.campaign_id in ids and (row.campaign_id != CREATION.id or row.claim not in taken)
    ]
    if rows:
        writer.execute(sa.insert(CLAIMS), rows)


def find(storage: Storage, key: Key, claim: Claim | None) -> EventSpan | None:
    """The events of the request with this claim, if it was done before."""
    if claim is None:
        return None
    with storage.reading() as connection:
        return _find(connection, key, claim)


def with_claim(campaign: Campaign, claim: Claim | None) -> Campaign:
    """The campaign, which writes the claim with its next events; or raises `Repeated` if that was done before."""
    return campaign if claim is None else campaign.within(lambda log: _once(log, log.key, claim))


def change_once(
    storage: Storage, campaign: Campaign, claim: Claim | None, change: Callable[[Campaign], object]
) -> EventSpan:
    """Change a campaign unless the claim is there already; return the events of the change, then or now."""
    if (span := find(storage, campaign.key, claim)) is not None:
        return span
    spans: list[EventSpan] = []
    try:
        change(campaign.within(lambda log: _once(log, log.key, claim, spans)))
    except Repeated as repeated:  # meanwhile
        return repeated.span
    return spans[-1]


def create_once(
    storage: Storage, claim: Claim, create: Callable[[Storage], Campaign]
) -> tuple[Campaign | None, EventSpan]:
    """Create a campaign unless the claim is there already, and return it (None if it was) and its events."""
    if (span := find(storage, CREATION, claim)) is not None:
        return None, span
    spans: list[EventSpan] = []
    try:
        campaign = create(storage.within(lambda log: _once(log, CREATION, claim, spans)))
        campaign = campaign.within(nullcontext)
        if not spans:  # it existed, and there was nothing to write but the claim
            version = campaign.state.version
            with storage.locked(campaign.key) as log, _once(log, CREATION, claim, spans):
                log.append([], version, log.now(), None)
    except (Repeated, CampaignError):  # the name may have been taken by the same request
        if (span := find(storage, CREATION, claim)) is None:
            raise
        return None, span
    return campaign, spans[-1]


@contextmanager
def _once(log: Log, owner: Key, claim: Claim | None, spans: list[EventSpan] | None = None) -> Iterator[None]:
    """Under the campaign's lock: refuse a claim that is there already, else leave it with the events.

    spans: takes the events that were written.
    """
    if claim is not None and (span := _find(log.connection, owner, claim)) is not None:
        raise Repeated(span)
    yield
    if log.appended is None:
        return
    span = EventSpan(log.appended.start - 1, log.appended.stop - 1, log.now())
    if claim is not None:
        _write(log.connection, owner, claim, span)
    if spans is not None:
        spans.append(span)


def _find(connection: sa.Connection, key: Key, claim: Claim) -> EventSpan | None:
    columns = CLAIMS.c.digest, CLAIMS.c.before, CLAIMS.c.after, CLAIMS.c.at
    which = (CLAIMS.c.campaign_id == key.id) & (CLAIMS.c.claim == claim.key)
    row = connection.execute(sa.select(*columns).where(which)).first()
    if row is None:
        return None
    digest, before, after, at = row
    if digest != claim.digest:
        raise ParameterError("expected a new Idempotency-Key for a new request, got one used for another.")
    return EventSpan(before, after, dt.datetime.fromisoformat(at))


def _write(connection: sa.Connection, key: Key, claim: Claim, span: EventSpan) -> None:
    expired = (span.at - REMEMBERED).isoformat()
    connection.execute(sa.delete(CLAIMS).where((CLAIMS.c.campaign_id == key.id) & (CLAIMS.c.at < expired)))
    row = {"campaign_id": key.id, "claim": claim.key, "digest": claim.digest}
    connection.execute(sa.insert(CLAIMS).values(row | span._asdict() | {"at": span.at.isoformat()}))
