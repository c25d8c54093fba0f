"""What the cell of a table says: a number, nothing, a failed measurement, yes or no, an id or a label.

Also: frames given by users, put in the order of labels that are known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from maxentry import frames
from maxentry.errors import DataError, ParameterError
from maxentry.frames import is_missing, to_float
from maxentry.labels import Axis, Labels, label_text
from maxentry.tables import DecimalComma
from maxentry.wording import as_text, show

NOTHING = ("", "na", "n/a", "nan", "null", "none", "<na>")
FAILED = ("failed", "fail")
YES = ("1", "1.0", "true", "t", "yes", "y", "x", *FAILED)
NO = ("0", "0.0", "false", "f", "no", "n", *NOTHING)
LONGEST_ID = 18  # digits; Python refuses to parse a whole number of thousands of digits

_POINT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r",\d{3}(?!\d)")  # an English spreadsheet writes 1234 as 1,234


def lower_text(cell: Any) -> str:
    """A cell as lower-case text without blanks around it; empty where the cell is missing."""
    return "" if is_missing(cell) else as_text(cell).strip().lower()


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    return lower_text(cell) in NOTHING


def is_failure(cell: Any) -> bool:
    """Whether a cell is the word for a failed measurement."""
    return lower_text(cell) in FAILED


def parse_flag(cell: Any, where: str) -> bool:
    """Read yes or no; an empty cell is no."""
    text = lower_text(cell)
    if text not in (*YES, *NO):
        raise DataError(f"{where}: expected yes or no (1 or 0), got {show(cell)}.")
    return text in YES


def parse_id(cell: Any, where: str) -> int | None:
    """Read an id; None where the cell is empty."""
    if is_empty(cell):
        return None
    text = cell.strip() if isinstance(cell, str) else ""
    x: Any = int(text) if text.isdecimal() and len(text) <= LONGEST_ID else cell
    number = None if isinstance(x, bool | np.bool_) else to_float(x)
    if number is None or not number.is_integer() or abs(number) >= 10**LONGEST_ID:
        raise DataError(f"{where}: expected an id (a whole number), got {show(cell, 60)}.")
    return int(x)


def parse_number(cell: Any, where: str, decimal_comma: DecimalComma = "never") -> float | None:
    """Read a number; None where the cell is empty."""
    if is_empty(cell):
        return None
    text = _use_point(cell.strip(), where, decimal_comma) if isinstance(cell, str) else None
    if text is not None and _POINT.fullmatch(text):
        return float(text)
    number = to_float(cell)
    if number is not None:
        return None if math.isnan(number) else number
    comma = decimal_comma == "never" and isinstance(cell, str) and _COMMA.fullmatch(cell.strip())
    hint = " A decimal comma is read only where semicolons or tabs separate the cells." if comma else ""
    raise DataError(f"{where}: {show(cell)} is not a number.{hint}")


def _use_point(text: str, where: str, decimal_comma: DecimalComma) -> str:
    """Replace a decimal comma by a point."""
    if decimal_comma == "never" or not _COMMA.fullmatch(text):
        return text
    if decimal_comma != "always" and _THOUSANDS.search(text):
        both = f"{text.replace(',', '')} or {text.replace(',', '.')}"
        raise DataError(f"{where}: {show(text)} may mean {both}. Use a decimal point.")
    return text.replace(",", ".")


def check_distinct(new: Iterable[Hashable], side: str, known: Iterable[Hashable] = ()) -> None:
    """Refuse labels that are empty, that exist, or that read like another one, as 1 and "1" do in a file."""
    new, known = list(new), list(known)
    if not known:  # a quick look at very many
        kinds = set(map(type, new))
        texts = {str(x).strip() for x in new} if kinds == {str} else set(new) if kinds == {int} else set()
        if len(texts) == len(new) and "" not in texts:
            return
    first = {label_text(label): label for label in known}
    existing = set(first.values())
    for label in new:
        if not label_text(label):
            raise DataError(f"expected {side} labels that are not empty, got {show(label)}.")
        if label in existing:
            raise DataError(f"expected new {side} labels, got {show(label)}, which is there already.")
        other = first.setdefault(label_text(label), label)
        if other != label:
            both = f"{show(other)} and {show(label)}"
            raise DataError(f"expected {side} labels that read differently as text, got {both}.")


# Frames in the order of known labels


def align_matrix(given: Any, rows: Labels, cols: Labels, what: str) -> Any:
    """Return the cells of a wide frame in the order of these labels; return anything else unchanged."""
    if frames.frame_library(given) is None or not frames.is_frame(given):
        return given
    wide = frames.read_wide(given)
    height = len(wide.columns[0]) if wide.columns else 0
    i = _places(wide.form.row_labels, height, Axis("row", len(rows), rows), what)
    j = _places(wide.form.col_labels, len(wide.columns), Axis("column", len(cols), cols), what)
    ordered = np.empty((len(rows), len(cols)), np.result_type(*wide.columns))
    for column, place in zip(wide.columns, j, strict=True):
        ordered[i, place] = column
    return ordered


def align_vector(given: Any, labels: Labels, name: str) -> Any:
    """Return the values of a mapping or pandas series by label in the order of these labels; else `given` itself."""
    from narwhals import dependencies

    if isinstance(given, Mapping):
        names, values = list(given), list(given.values())
    elif dependencies.is_pandas_series(given) and frames.index_labels(given.index) is not None:
        names, values = given.index.tolist(), list(given)
    else:
        return given
    places = _places(names, len(names), Axis(name, len(labels), labels), f"{name} costs")
    ordered = np.empty(len(labels), dtype=object)
    ordered[places] = values
    return ordered.tolist()


def _places(labels: Sequence[Hashable] | None, n: int, axis: Axis, what: str) -> list[int]:
    """Return the positions of labels on the axis, each exactly once; without labels, 0 to n - 1."""
    if labels is None:
        if n != axis.size:
            raise ParameterError(f"expected a {what} of {axis.size} {axis.name}s, got {n}.")
        return list(range(n))
    places = [axis.find(label) for label in labels]
    missing = sorted(set(range(axis.size)) - set(places))
    if missing:
        raise ParameterError(
            f"expected every {axis.name} label in the {what}, got none for {axis.show(missing[0])}."
        )
    if len(places) != axis.size:
        twice = next(axis.show(place) for place in places if places.count(place) > 1)
        raise ParameterError(f"expected every {axis.name} label once in the {what}, got {twice} twice.")
    return places
