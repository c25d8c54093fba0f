"""Events: everything that happens to a campaign, as immutable records stored as JSON.

A campaign is nothing but its events. A stored event never changes, and its meaning must not change either: a new
meaning needs a new kind of event or a migration. Each is stored with a digest of itself and of the one before it (the
chain, below).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

from sqlalchemy.exc import OperationalError

from maxentry import labels as label_codec
from maxentry.campaign import settings as settings_codec
from maxentry.campaign.settings import Settings
from maxentry.errors import DataError, MaxentryError, StorageError
from maxentry.features import FeatureTable
from maxentry.labels import Labels


@dataclass(frozen=True)
class Event:
    """What all events have in common: the name of the kind, and conversion to JSON data and back."""

    kind: ClassVar[str]

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {f.name: _encode(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        for name, x in payload.items():
            if type(x) is list:
                payload[name] = tuple(x)
        return cls(**payload)


def _encode(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Created(Event):
    """The campaign was created with these settings. Always the first event, and only the first."""

    kind: ClassVar[str] = "created"
    settings: Settings

    def payload(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return self.settings.to_json()

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the settings from JSON data."""
        return cls(Settings.from_json(payload))


@dataclass(frozen=True)
class Asked(Event):
    """Entries were asked for under the ids first, first + 1, …, chosen from the state after event `based_on`.

    Mean, sd and gain are the predictions at that time, in the user's units (NaN without a model). plate: the size of a
    block ("8x12"), not in the payload where there is none; `wells` says which entry is in which well.
    """

    kind: ClassVar[str] = "asked"
    first: int
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    mean: tuple[float, ...]
    sd: tuple[float, ...]
    gain: tuple[float, ...]
    cost: tuple[float, ...]
    based_on: int
    expires_at: dt.datetime | None = None
    why: str = ""
    plate: str = ""

    @property
    def wells(self) -> list[str]:
        """The wells of the entries; empty where there is no plate."""
        return name_wells(self.rows, self.cols) if self.plate else []

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data, with null for NaN."""
        plain = super().payload()
        if not self.plate:
            del plain["plate"]
        return plain | {name: [x if math.isfinite(x) else None for x in plain[name]] for name in PREDICTED}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data, with NaN for null."""
        at = payload["expires_at"]
        payload["expires_at"] = None if at is None else dt.datetime.fromisoformat(at)
        for name in PREDICTED:
            payload[name] = [math.nan if x is None else float(x) for x in payload[name]]
        return super().read(payload)


PREDICTED = ("mean", "sd", "gain", "cost")


def name_wells(rows: Sequence[int], cols: Sequence[int]) -> list[str]:
    """Return the wells of a plate for the entries of a block: its rows are A, B, …, its columns 1, 2, …"""
    letter, number = ({k: n for n, k in enumerate(sorted(set(side)))} for side in (rows, cols))
    return [f"{_letters(letter[i])}{number[j] + 1}" for i, j in zip(rows, cols, strict=True)]


def _letters(k: int) -> str:
    """A, …, Z, AA, AB, …"""
    return (_letters(k // 26 - 1) if k >= 26 else "") + chr(ord("A") + k % 26)


@dataclass(frozen=True)
class Told(Event):
    """Values were recorded, each for an id or (None) for an entry that was not asked for.

    low, high: the ends of the measurements, equal to the value of a plain one, where some are limits or ranges; se: the
    standard errors, 0 where there is none. None, and not in the payload, where there is nothing to say.
    """

    kind: ClassVar[str] = "told"
    ids: tuple[int | None, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    values: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    se: tuple[float, ...] | None = None

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data, with null for an open end."""
        plain = {name: x for name, x in super().payload().items() if name not in BESIDE or x is not None}
        ends = {
            name: [x if math.isfinite(x) else None for x in plain[name]] for name in ENDS if name in plain
        }
        return plain | ends

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data, with infinity for an open end."""
        for name in BESIDE:
            if name in payload:
                payload[name] = [ENDS[name] if x is None else float(x) for x in payload[name]]
        return super().read(payload)


ENDS = {"low": -math.inf, "high": math.inf}
BESIDE = (*ENDS, "se")


@dataclass(frozen=True)
class Corrected(Event):
    """The measurement of this number (in the order of recording) got another value, or (None) was removed.

    low, high: its ends, where it is now a limit or a range; se: its standard error from now on (None: as it was).
    """

    kind: ClassVar[str] = "corrected"
    number: int
    value: float | None
    reason: str = ""
    low: float | None = None
    high: float | None = None
    se: float | None = None

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data, with null for an open end."""
        plain = {name: x for name, x in super().payload().items() if name not in BESIDE or x is not None}
        return plain | {name: None for name in ENDS if name in plain and not math.isfinite(plain[name])}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data, with infinity for an open end."""
        open_ends = {name: end for name, end in ENDS.items() if name in payload and payload[name] is None}
        return super().read(payload | open_ends)


@dataclass(frozen=True)
class Failed(Event):
    """Measuring these ids gave no value. Unless `retry`, their entries are not asked for again."""

    kind: ClassVar[str] = "failed"
    ids: tuple[int, ...]
    reasons: tuple[str, ...]
    retry: bool = False


@dataclass(frozen=True)
class Withdrawn(Event):
    """These ids will not be measured. Their entries may be asked for again."""

    kind: ClassVar[str] = "withdrawn"
    ids: tuple[int, ...]
    reason: str = ""


@dataclass(frozen=True)
class Listed(Event):
    """An event about rows or columns, by label."""

    labels: Labels

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return super().payload() | {"labels": label_codec.encode(self.labels)}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return super().read(payload | {"labels": label_codec.decode(payload["labels"]) or ()})


@dataclass(frozen=True)
class Added(Listed):
    """Rows or columns were added at the end; `cost` holds their costs (None: the mean of the others).

    features: what is known of them; not in the payload where nothing is. by_line: where every entry has a cost, theirs
    is the mean of their column (or row); where the payload lacks it, that of the whole table, as it once was.
    """

    cost: tuple[float, ...] | None = None
    features: FeatureTable | None = None
    by_line: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        plain = super().payload()
        del plain["features"]
        if not self.by_line:
            del plain["by_line"]
        return plain if self.features is None else plain | {"features": self.features.to_json()}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        given = payload.get("features")
        return super().read(
            payload if given is None else payload | {"features": FeatureTable.from_json(given)}
        )


class RowsAdded(Added):
    """Rows were added."""

    kind = "rows_added"


class ColsAdded(Added):
    """Columns were added."""

    kind = "cols_added"


class RowsRemoved(Listed):
    """Rows were removed. Their measurements are struck out, and what was pending of them is withdrawn."""

    kind = "rows_removed"


class ColsRemoved(Listed):
    """Columns were removed, as rows are."""

    kind = "cols_removed"


@dataclass(frozen=True)
class Relabelled(Listed):
    """Rows or columns have other labels from this event on: `names`, in the order of `labels`."""

    names: Labels = ()

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return super().payload() | {"names": label_codec.encode(self.names)}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return super().read(payload | {"names": label_codec.decode(payload["names"]) or ()})


class RowsRenamed(Relabelled):
    """Rows have other labels."""

    kind = "rows_renamed"


class ColsRenamed(Relabelled):
    """Columns have other labels."""

    kind = "cols_renamed"


@dataclass(frozen=True)
class Renamed(Event):
    """The campaign has another name from this event on."""

    kind: ClassVar[str] = "renamed"
    name: str
    before: str


@dataclass(frozen=True)
class Changed(Event):
    """Settings have new values from this event on."""

    kind: ClassVar[str] = "changed"
    changes: Mapping[str, Any]

    def payload(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return {name: settings_codec.encode_setting(name, value) for name, value in self.changes.items()}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the settings from JSON data."""
        return cls({name: settings_codec.decode_setting(name, value) for name, value in payload.items()})


KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        Created,
        Asked,
        Told,
        Corrected,
        Failed,
        Withdrawn,
        RowsAdded,
        ColsAdded,
        RowsRemoved,
        ColsRemoved,
        RowsRenamed,
        ColsRenamed,
        Changed,
        Renamed,
    )
}


class Record(NamedTuple):
    """A stored event with its number (from 1, without gaps), its time, its author and its digest (see the chain)."""

    number: int
    at: dt.datetime
    who: str | None
    event: Event
    digest: str | None = None  # None if it was not read from a storage


def write(event: Event) -> str:
    """Return the event's payload as JSON text. Refuse numbers that are not finite and text that is not UTF-8."""
    try:
        text = json.dumps(event.payload(), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError as error:
        wrong = error.object[error.start : error.end]
        raise DataError(f"expected text that can be written in UTF-8, got {wrong!a}.") from None
    except ValueError as error:
        if isinstance(error, MaxentryError):
            raise
        raise DataError(f"expected finite numbers, got {_find_infinite(event)}.") from None
    return text


def _find_infinite(event: Event) -> str:
    """Name the first field of the event with a number that is not finite."""
    for name, value in event.payload().items():
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            return f"{value!r:.60} in {name}"
    return "one that is not"


def read(kind: str, text: str) -> Event:
    """Read an event of this kind from JSON text."""
    if kind not in KINDS:
        raise StorageError(f"expected an event of a known kind, got {kind!r}. Upgrade maxentry.")
    try:
        return KINDS[kind].read(json.loads(text))
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StorageError(
            f"expected an event {kind!r} of a known form, got another ({type(error).__name__}: {error!s:.120}). "
            "Upgrade maxentry."
        ) from error


# Chain: every event is stored with a digest of itself and of the digest before it, so that no change goes unnoticed.
#
# The digest of event k is the SHA-256, in hexadecimal, of this text in UTF-8:
#
#     ["<digest of event k - 1>",<number>,"<at>","<kind>","<who>" or null]
#     <payload>
#
# The first line is JSON without spaces; one line feed is before the payload. The first event has the SHA-256 of its
# campaign's ["<uuid>","<name>","<created_at>"] in place of the digest before it, with the name it was created with.
# All parts are as they are stored.
# This encoding belongs to version 3 of the tables and must never change.

# A damaged cell may have another type. Its `repr` gives another digest than what was written.
_encode_line = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=repr).encode
_quote = json.encoder.encode_basestring  # the same for text alone, in a third of the time


def first_digest(uuid: str, name: str, created_at: str) -> str:
    """Return what the first event of a campaign has in place of the digest of an event before it."""
    return _hash(_encode_line([uuid, name, created_at]))


def read_origin(renamed: str | None, name: str) -> str:
    """Return the name that a campaign was created with, given the payload of its first renaming, if there is one."""
    try:
        return name if renamed is None else str(json.loads(renamed)["before"])
    except (ValueError, LookupError, TypeError):  # a damaged event, whose digest is wrong, too
        return name


def next_digest(previous: str, number: int, at: str, kind: str, who: str | None, payload: str) -> str:
    """Return the digest of an event, given the digest of the one before it."""
    try:
        author = "null" if who is None else _quote(who)
        line = f"[{_quote(previous)},{number:d},{_quote(at)},{_quote(kind)},{author}]"
    except (TypeError, ValueError):  # a damaged cell
        line = _encode_line([previous, number, at, kind, who])
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
            records.append(Record(number, _read_time(at, name, number), who, read(kind, payload), stored))
            digest = stored
    except OperationalError as error:
        if not isinstance(error.orig, sqlite3.Error) or hasattr(error.orig, "sqlite_errorcode"):
            raise
        raise damage(
            name, number + 1, "its text is not UTF-8"
        ) from None  # found by Python's module, not by SQLite
    return records


def check_end(records: list[Record], name: str, link: Link, last: Link) -> None:
    """Refuse events, read to the end from `link` on, among which is not the campaign's last one of a moment before."""
    end = records[-1].number if records else link.number
    if end < last.number:
        raise damage(name, end + 1, f"it is missing, and {last.number} were written")
    at = last.number - link.number - 1
    digest = records[at].digest if at >= 0 else link.digest if at == -1 else None
    if digest is not None and digest != last.digest:
        raise damage(name, last.number, "it is not the campaign's last one")


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


def gone(name: str) -> StorageError:
    """Return the error for a campaign that was deleted."""
    return StorageError(f"expected the campaign {name}, got none: it is gone.", code="campaign_gone")


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
