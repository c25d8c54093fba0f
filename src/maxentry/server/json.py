"""Between Python and JSON: labels of every kind, columns as records, and CSV."""

from __future__ import annotations

import io
import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from starlette.responses import Response

from maxentry import tables
from maxentry.errors import DataError
from maxentry.labels import decode, encode

LABEL_COLUMNS = ("row", "col")


class AsciiJson(Response):
    """A response in JSON of plain data; escaped, since a text from a request may hold half a surrogate pair."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the content as bytes."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode_labels(labels: Iterable[Hashable]) -> list[Any]:
    """Encode labels: text and numbers as they are, dates and tuples as objects with their type."""
    return encode(tuple(labels)) or []


def parse_label(cell: Any) -> Any:
    """Read one label of a request."""
    if not isinstance(cell, dict):
        return cell
    try:
        label = (decode([cell]) or ())[0]
        if isinstance(label, np.datetime64) and _year(label) != _year(np.datetime64(cell["datetime64"])):
            raise OverflowError  # NumPy itself would silently return another time
        return label
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, OverflowError, RecursionError):
        raise DataError(
            f"expected a label as text, as a number or like {{'date': '2030-01-31'}}, got {cell!r:.60}."
        ) from None


def _year(time: np.datetime64) -> int:
    return int(time.astype("datetime64[Y]").astype(int))


def to_records(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Turn columns into one record a line, with the labels encoded."""
    encoded = {
        name: encode_labels(column) if name in LABEL_COLUMNS else column for name, column in columns.items()
    }
    return [dict(zip(encoded, line, strict=True)) for line in zip(*encoded.values(), strict=True)]


def to_csv(columns: Mapping[str, Iterable[Any]]) -> bytes:
    """Write columns as CSV: times as in JSON, numbers as Python writes them, nothing for a missing value."""
    stream = io.BytesIO()
    texts = {name: [_text(x) for x in column] for name, column in columns.items()}
    tables.write(tables.Table.from_columns(texts), stream, tables.Format.csv)
    return stream.getvalue()


def _text(x: Any) -> str:
    return "" if x is None or x != x else x.isoformat() if hasattr(x, "isoformat") else str(x)
