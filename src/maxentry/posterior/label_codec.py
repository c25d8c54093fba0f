"""Labels in JSON and back as they were: text and numbers as they are, dates and tuples with their kind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from typing import Any

import numpy as np

from maxentry.errors import DataError


def encode(labels: tuple[Hashable, ...] | None) -> list[Any] | None:
    """Labels as JSON can hold them; one that cannot be kept is refused rather than turned into text."""
    return None if labels is None else [_encode(label) for label in labels]


def decode(labels: list[Any] | None) -> tuple[Hashable, ...] | None:
    """The labels that were encoded."""
    return None if labels is None else tuple(_decode(label) for label in labels)


def _encode(label: Any) -> Any:
    kind = type(label).__name__
    if isinstance(label, np.datetime64):
        return {"datetime64": str(label), "unit": np.datetime_data(label.dtype)[0]}
    if isinstance(label, np.generic):
        return _encode(label.item())
    if isinstance(label, tuple):
        return {"tuple": [_encode(part) for part in label]}
    if kind == "Timestamp":
        return {kind: label.isoformat(), "unit": label.unit}  # the unit is the type of an index of them
    if isinstance(label, dt.datetime | dt.date):
        return {kind: label.isoformat()}
    if label is None or isinstance(label, str | int | float | bool):
        return label
    raise DataError(
        f"expected labels that are text, numbers, dates or tuples to write, but {label!r} is a {kind}."
    )


def _decode(label: Any) -> Any:
    if not isinstance(label, dict):
        return label
    if "datetime64" in label:
        return np.datetime64(label["datetime64"], label["unit"])
    if "Timestamp" in label:
        import pandas

        moment = pandas.Timestamp(label["Timestamp"])
        return moment.as_unit(label["unit"]) if "unit" in label else moment  # files from before had none
    ((kind, value),) = label.items()
    if kind == "tuple":
        return tuple(_decode(part) for part in value)
    return dt.date.fromisoformat(value) if kind == "date" else dt.datetime.fromisoformat(value)
