"""Plain data: what JSON can hold, to the last bit and the last label."""

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


def plain(x: Any) -> Any:
    """Numbers, text and lists of them; what is not finite is null, times are text."""
    if isinstance(x, Mapping):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [plain(item) for item in x]
    if hasattr(x, "tolist"):  # NumPy's arrays and numbers
        return plain(x.tolist())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if x is None or isinstance(x, str | int):
        return x
    return x.isoformat() if hasattr(x, "isoformat") else str(x)


def labels(known: Iterable[Hashable]) -> list[Any]:
    """Labels: text and numbers as they are, dates and tuples with their kind."""
    return label_codec.encode(tuple(known)) or []


def label_of(cell: Any) -> Any:
    """The label that came in JSON."""
    if not isinstance(cell, dict):
        return cell
    try:
        label = (label_codec.decode([cell]) or ())[0]
        if isinstance(label, np.datetime64) and _year(label) != _year(np.datetime64(cell["datetime64"])):
            raise OverflowError  # which NumPy passes over: another time would come of it
        return label
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, OverflowError, RecursionError):
        raise DataError(
            f"expected a label as text, as a number or like {{'date': '2030-01-31'}}, but {cell!r:.60} came."
        ) from None


def _year(time: np.datetime64) -> int:
    return int(time.astype("datetime64[Y]").astype(int))


def lines(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as one record a line."""
    ready = {
        name: labels(column) if name in LABEL_COLUMNS else plain(column) for name, column in columns.items()
    }
    return [dict(zip(ready, line, strict=True)) for line in zip(*ready.values(), strict=True)]


def to_csv(columns: Mapping[str, Iterable[Any]]) -> str:
    """Columns as CSV; what is missing is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_cell(x) for x in column] for column in columns.values()), strict=True))
    return text.getvalue()


def _cell(x: Any) -> Any:
    if x is None or (isinstance(x, float) and math.isnan(x)):
        return ""
    return x.isoformat() if hasattr(x, "isoformat") else x


class Json(Response):
    """An answer in JSON. ASCII throughout, since text that came may hold halves of characters."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of plain data."""
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
