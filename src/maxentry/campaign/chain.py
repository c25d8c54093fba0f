"""Chain: every event is stored with a digest of itself and of the digest before it, so that no change goes unnoticed.

The digest of event k is the SHA-256, in hexadecimal, of this text in UTF-8:

    ["<digest of event k - 1>",<number>,"<at>","<kind>","<who>" or null]
    <payload>

The first line is JSON without spaces; one line feed is before the payload. The first event has the SHA-256 of its
campaign's ["<uuid>","<name>","<created_at>"] in place of the digest before it. All parts are taken as they are stored.
This encoding belongs to version 3 of the tables and must never change.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy.exc import OperationalError

from maxentry.campaign import events
from maxentry.campaign.events import Record
from maxentry.errors import StorageError

# A damaged cell may have another type. Its `repr` gives another digest than what was written.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr).encode
_quote = json.encoder.encode_basestring  # the same for text alone, in a third of the time


def first_digest(uuid: str, name: str, created_at: str) -> str:
    """Return what the first event of a campaign has in place of the digest of an event before it."""
    return _hash(_encode([uuid, name, created_at]))


def next_digest(previous: str, number: int, at: str, kind: str, who: str | None, payload: str) -> str:
    """Return the digest of an event, given the digest of the one before it."""
    try:
        author = "null" if who is None else _quote(who)
        line = f"[{_quote(previous)},{number:d},{_quote(at)},{_quote(kind)},{author}]"
    except (TypeError, ValueError):  # a damaged cell
        line = _encode([previous, number, at, kind, who])
    return _hash(f"{line}\n{payload}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class Link(NamedTuple):
    """The end of the events that a reader knows: the last number and its digest (None: not known yet)."""

    number: int
    digest: str | None


def read_records(rows: Iterable[Any], name: str, link: Link) -> list[Record]:
    """Return the events in these rows, each verified by its digest. Refuse the first that is not what was written.

    rows: number, at, kind, who, payload, digest, in order; first of all the event `link.number`, unless that is 0.
    name: the campaign's name, for messages.
    """
    records: list[Record] = []
    number, digest = link
    iterator = iter(rows)
    try:
        if number > 0:
            row = next(iterator, None)
            if row is None and digest is None:
                return []
            digest = _check_link(row, name, link)
        for row in iterator:
            number += 1
            found, at, kind, who, payload, stored = row
            if found != number:
                raise damage(name, number, f"got event {found!r:.40} in its place")
            if next_digest(str(digest), number, at, kind, who, payload) != stored:
                raise damage(name, number, "its digest differs")
            records.append(
                Record(number, _read_time(at, name, number), who, events.read(kind, payload), stored)
            )
            digest = stored
    except OperationalError as error:
        if not isinstance(error.orig, sqlite3.Error) or hasattr(error.orig, "sqlite_errorcode"):
            raise
        raise damage(
            name, number + 1, "its text is not UTF-8"
        ) from None  # found by Python's module, not by SQLite
    return records


def damage(name: str, number: int, reason: str) -> StorageError:
    """Return the error for an event that is not what was written."""
    return StorageError(
        f"expected event {number} of campaign {name!r:.60} as it was written, got a damaged one: {reason}. "
        "Restore a backup; `maxentry check` shows which campaigns are intact.",
        code="storage_damaged",
        campaign=name,
        event=number,
    )


def _check_link(row: Any, name: str, link: Link) -> str:
    """Return the stored digest of the last known event. Refuse another one than the reader knows."""
    if row is None:
        raise replaced(name, f"event {link.number}", "none: an older copy was put in place")
    if row[0] != link.number:
        raise damage(name, link.number, f"got event {row[0]!r:.40} in its place")
    stored = str(row[5])
    if link.digest is not None and stored != link.digest:
        raise replaced(
            name, f"event {link.number} as read before", "another one: another copy was put in place"
        )
    return stored


def replaced(name: str, expected: str, got: str) -> StorageError:
    """Return the error for a storage that was set back, or replaced by another one, while it was in use."""
    return StorageError(
        f"expected {expected} of campaign {name!r:.60}, got {got}. Put the storage back, or open it again.",
        code="storage_replaced",
    )


def _read_time(text: str, name: str, number: int) -> dt.datetime:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise damage(name, number, f"{text!r:.40} is no time with a time zone")
    return at
