"""Between Python and JSON: labels of every kind, columns as records, and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from starlette.responses import Response

from maxentry import labels as label_codec
from maxentry.errors import DataError

LABEL_COLUMNS = ("row", "col")


class AsciiJson(Response):
    """A response in JSON of plain data; escaped, since a text from a request may hold half a surrogate pair."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the content as bytes."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode_labels(labels: Iterable[Hashable]) -> list[Any]:
    """Encode labels: text and numbers as they are, dates and tuples as objects with their type."""
    return label_codec.encode(tuple(labels)) or []


def parse_label(cell: Any) -> Any:
    """Read one label of a request."""
    if not isinstance(cell, dict):
        return cell
    try:
        label = (label_codec.decode([cell]) or ())[0]
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


def to_csv(columns: Mapping[str, Iterable[Any]]) -> str:
    """Write columns as CSV; a missing value is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_cell(x) for x in column] for column in columns.values()), strict=True))
    return text.getvalue()


def _cell(x: Any) -> Any:
    if x is None or (isinstance(x, float) and math.isnan(x)):
        return ""
    return x.isoformat() if hasattr(x, "isoformat") else x
