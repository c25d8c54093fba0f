"""Events: everything that happens to a campaign, as immutable records stored as JSON.

A campaign is nothing but its events. A stored event never changes, and its meaning must not change either: a new
meaning needs a new kind of event or a migration.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Self

from maxentry import labels as label_codec
from maxentry.campaign import settings as settings_codec
from maxentry.campaign.settings import Settings
from maxentry.errors import DataError, MaxentryError, StorageError
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
        return cls(**{name: tuple(x) if isinstance(x, list) else x for name, x in payload.items()})


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

    Mean, sd and gain are the predictions at that time, in the user's units (NaN without a model).
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

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data, with null for NaN."""
        plain = super().payload()
        return plain | {name: [x if math.isfinite(x) else None for x in plain[name]] for name in PREDICTED}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data, with NaN for null."""
        at = payload["expires_at"]
        numbers = {name: [math.nan if x is None else float(x) for x in payload[name]] for name in PREDICTED}
        time = {"expires_at": None if at is None else dt.datetime.fromisoformat(at)}
        return super().read(payload | numbers | time)


PREDICTED = ("mean", "sd", "gain", "cost")


@dataclass(frozen=True)
class Told(Event):
    """Values were recorded, each for an id or (None) for an entry that was not asked for."""

    kind: ClassVar[str] = "told"
    ids: tuple[int | None, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Corrected(Event):
    """The measurement of this number (in the order of recording) got another value, or (None) was removed."""

    kind: ClassVar[str] = "corrected"
    number: int
    value: float | None
    reason: str = ""


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
class Added(Event):
    """Rows or columns were added at the end; `cost` holds their costs (None: the mean of the others)."""

    labels: Labels
    cost: tuple[float, ...] | None = None

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return super().payload() | {"labels": label_codec.encode(self.labels)}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return super().read(payload | {"labels": label_codec.decode(payload["labels"]) or ()})


class RowsAdded(Added):
    """Rows were added."""

    kind = "rows_added"


class ColsAdded(Added):
    """Columns were added."""

    kind = "cols_added"


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
    for event in (Created, Asked, Told, Corrected, Failed, Withdrawn, RowsAdded, ColsAdded, Changed)
}


class Record(NamedTuple):
    """A stored event with its number (from 1, without gaps), its time, its author and its digest (see chain.py)."""

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
