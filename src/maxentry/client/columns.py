"""Between JSON and what a campaign gives and takes: columns with their types, lines, settings."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from maxentry import cells, labels
from maxentry.campaign.costs import Prices
from maxentry.campaign.settings import Settings
from maxentry.campaign.tell import Line
from maxentry.campaign.views import Columns
from maxentry.errors import DataError
from maxentry.frames import listed

ASKS = ("id", "row", "col", "mean", "sd", "gain", "cost")
IN_FULL = (*ASKS, "status", "asked_at", "expires_at", "who", "reason")
MEASUREMENTS = ("number", "id", "row", "col", "value", "told_at", "who", "corrected")
HISTORY = ("event", "at", "who", "kind", "what")


# What comes


def read(lines: Sequence[dict[str, Any]], names: Iterable[str]) -> Columns:
    """Lines of an answer as columns, each of its type."""
    return {name: [_READ.get(name, _same)(line[name]) for line in lines] for name in names}


def _same(x: Any) -> Any:
    return x


def _number(x: Any) -> float:
    return math.nan if x is None else float(x)


def _label(x: Any) -> Any:
    return (labels.decode([x]) or ())[0]


def time_of(x: str | None) -> dt.datetime | None:
    """A time as text."""
    return None if x is None else dt.datetime.fromisoformat(x)


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("mean", "sd", "gain", "cost", "value"), _number),
    **dict.fromkeys(("row", "col"), _label),
    **dict.fromkeys(("asked_at", "expires_at", "told_at", "at"), time_of),
}


# What goes


def line(told: Line) -> dict[str, Any]:
    """A line of a report."""
    return {
        "id": told.id,
        "row": label(told.row),
        "col": label(told.col),
        "value": number(told.value),
        "failed": told.failed,
        "reason": told.reason,
    }


def label(x: Any) -> Any:
    """A label, or a cell that means one."""
    return (labels.encode((x,)) or [None])[0]


def number(x: Any) -> Any:
    """A number; what is not finite goes as text, for the campaign to refuse in its words."""
    if hasattr(x, "item"):
        x = x.item()
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


def ids(given: Any) -> list[int]:
    """One id or several."""
    many = (
        hasattr(given, "__iter__") and not isinstance(given, (str, bytes)) and getattr(given, "ndim", 1) > 0
    )
    known = [cells.parse_id(x, "the ids") for x in (listed(given) if many else [given])]
    if None in known:
        raise DataError("expected ids, but an empty one came.")
    return [id for id in known if id is not None]


def settings(of: Settings, names: Iterable[str]) -> dict[str, Any]:
    """These settings."""
    return {name: _setting(name, getattr(of, name)) for name in names}


def _setting(name: str, value: Any) -> Any:
    if name in ("rows", "cols"):
        return labels.encode(value)
    if name == "range" and value is not None:
        return [x if math.isfinite(x) else None for x in value]
    if isinstance(value, Prices):
        parts = {part: array.tolist() for part, array in value._asdict().items() if array is not None}
        return parts or None
    return value.tolist() if hasattr(value, "tolist") else value
