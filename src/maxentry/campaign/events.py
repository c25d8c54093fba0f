"""Events: everything that happens to a campaign, as immutable records stored as JSON.

A campaign is nothing but its events. A stored event never changes, and its meaning must not change either: a new
meaning needs a new kind of event or a migration.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from maxentry import labels as label_codec
from maxentry.campaign import settings as settings_codec
from maxentry.campaign.settings import Settings
from maxentry.errors import DataError, MaxentryError, StorageError
from maxentry.labels import Labels


class Event(Protocol):
    """The interface of all events: the name of the kind, and conversion to JSON data and back."""

    kind: ClassVar[str]

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""


@dataclass(frozen=True)
class Created:
    """The campaign was created with these settings. Always the first event, and only the first."""

    kind: ClassVar[str] = "created"
    settings: Settings

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return self.settings.to_json()

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls(Settings.from_json(payload))


@dataclass(frozen=True)
class Asked:
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
        """Return the event as JSON data."""
        numbers = {name: _finite(getattr(self, name)) for name in ("mean", "sd", "gain", "cost")}
        places = {"first": self.first, "rows": list(self.rows), "cols": list(self.cols)}
        expires_at = None if self.expires_at is None else self.expires_at.isoformat()
        return places | numbers | {"based_on": self.based_on, "expires_at": expires_at, "why": self.why}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        data = dict(payload)
        for name in ("mean", "sd", "gain", "cost"):
            data[name] = tuple(math.nan if x is None else float(x) for x in data[name])
        at = data["expires_at"]
        data["expires_at"] = None if at is None else dt.datetime.fromisoformat(at)
        return cls(**data | {"rows": tuple(data["rows"]), "cols": tuple(data["cols"])})


@dataclass(frozen=True)
class Told:
    """Values were recorded, each for an id or (None) for an entry that was not asked for."""

    kind: ClassVar[str] = "told"
    ids: tuple[int | None, ...]
    rows: tuple[int, ...]
    cols: tuple[int, ...]
    values: tuple[float, ...]

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {name: list(getattr(self, name)) for name in ("ids", "rows", "cols", "values")}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls(**{name: tuple(column) for name, column in payload.items()})


@dataclass(frozen=True)
class Corrected:
    """The measurement of this number (in the order of recording) got another value, or (None) was removed."""

    kind: ClassVar[str] = "corrected"
    number: int
    value: float | None
    reason: str = ""

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {"number": self.number, "value": self.value, "reason": self.reason}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls(**payload)


@dataclass(frozen=True)
class Failed:
    """Measuring these ids gave no value. Unless `retry`, their entries are not asked for again."""

    kind: ClassVar[str] = "failed"
    ids: tuple[int, ...]
    reasons: tuple[str, ...]
    retry: bool = False

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {"ids": list(self.ids), "reasons": list(self.reasons), "retry": self.retry}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls(**payload | {"ids": tuple(payload["ids"]), "reasons": tuple(payload["reasons"])})


@dataclass(frozen=True)
class Withdrawn:
    """These ids will not be measured. Their entries may be asked for again."""

    kind: ClassVar[str] = "withdrawn"
    ids: tuple[int, ...]
    reason: str = ""

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {"ids": list(self.ids), "reason": self.reason}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls(**payload | {"ids": tuple(payload["ids"])})


@dataclass(frozen=True)
class _Added:
    labels: Labels
    cost: tuple[float, ...] | None = None

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        cost = None if self.cost is None else list(self.cost)
        return {"labels": label_codec.encode(self.labels), "cost": cost}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        cost, labels = payload["cost"], label_codec.decode(payload["labels"]) or ()
        return cls(**payload | {"labels": labels, "cost": None if cost is None else tuple(cost)})


@dataclass(frozen=True)
class RowsAdded(_Added):
    """Rows were added at the end; `cost` holds their row costs (None: the mean of the others)."""

    kind: ClassVar[str] = "rows_added"


@dataclass(frozen=True)
class ColsAdded(_Added):
    """Columns were added at the end; `cost` holds their column costs (None: the mean of the others)."""

    kind: ClassVar[str] = "cols_added"


@dataclass(frozen=True)
class Changed:
    """Settings have new values from this event on."""

    kind: ClassVar[str] = "changed"
    changes: Mapping[str, Any]

    def payload(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        return {name: settings_codec.encode_setting(name, value) for name, value in self.changes.items()}

    @classmethod
    def read(cls, payload: dict[str, Any]) -> Self:
        """Read the event from JSON data."""
        return cls({name: settings_codec.decode_setting(name, value) for name, value in payload.items()})


KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (Created, Asked, Told, Corrected, Failed, Withdrawn, RowsAdded, ColsAdded, Changed)
}


class Record(NamedTuple):
    """A stored event with its number (from 1, without gaps), its time and its author."""

    number: int
    at: dt.datetime
    who: str | None
    event: Event


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
        raise DataError("expected finite numbers, got one that is not.") from None
    return text


def read(kind: str, text: str) -> Event:
    """Read an event of this kind from JSON text."""
    if kind not in KINDS:
        raise StorageError(f"expected an event of a known kind, got {kind!r}. Upgrade maxentry.")
    try:
        return KINDS[kind].read(json.loads(text))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise StorageError(
            f"expected an event {kind!r} of a known form, got another ({type(error).__name__}: {error}). "
            "Upgrade maxentry."
        ) from error


def _finite(numbers: tuple[float, ...]) -> list[float | None]:
    return [x if math.isfinite(x) else None for x in numbers]
