"""What a cell says: a number, nothing, or that the measurement failed; an id; a label, perhaps as text."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

from maxentry.campaign.sheets import DecimalComma
from maxentry.errors import DataError
from maxentry.frames import is_missing, is_number
from maxentry.labels import Axis, show

NOTHING = ("", "na", "n/a", "nan", "null", "none", "<na>")
FAILED = ("failed", "fail")
YES = ("1", "1.0", "true", "t", "yes", "y", "x", *FAILED)
NO = ("0", "0.0", "false", "f", "no", "n", *NOTHING)
LONGEST_ID = 18  # digits: what is longer is no id, and beyond thousands of digits Python reads no number

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r",\d{3}(?!\d)")  # 1,234 of an English spreadsheet


def bare(cell: Any) -> str:
    """A cell as text in small letters, no blanks around it; nothing where it is missing."""
    return "" if is_missing(cell) else str(cell).strip().lower()


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    return bare(cell) in NOTHING


def says_failed(cell: Any) -> bool:
    """Whether a cell is the word for a measurement that failed."""
    return bare(cell) in FAILED


def yes(cell: Any, where: str) -> bool:
    """What a cell of the column `failed` says."""
    if bare(cell) not in (*YES, *NO):
        raise DataError(f"expected yes or no (1 or 0) in column failed, {where}, but {cell!r} came.")
    return bare(cell) in YES


def number(
    cell: Any,
    where: str,
    decimal_comma: DecimalComma = "never",
    expected: str = "a number, nothing or 'failed' as the value of",
) -> float | None:
    """The number in a cell; None where it is empty."""
    if is_empty(cell):
        return None
    text = _with_point(cell.strip(), where, decimal_comma) if isinstance(cell, str) else None
    try:
        if is_number(cell) if text is None else _PLAIN.fullmatch(text):
            return float(cell if text is None else text)
    except (TypeError, ValueError, OverflowError):
        pass
    comma = decimal_comma == "never" and isinstance(cell, str) and _COMMA.fullmatch(cell.strip())
    hint = " (decimal commas are understood where semicolons or tabs part the cells)" if comma else ""
    raise DataError(f"expected {expected} {where}, but {cell!r} came{hint}.")


def _with_point(text: str, where: str, decimal_comma: DecimalComma) -> str:
    """A number's text with a decimal point where it has a decimal comma."""
    if decimal_comma == "never" or not _COMMA.fullmatch(text):
        return text
    if decimal_comma != "always" and _THOUSANDS.search(text):
        both = f"{text.replace(',', '')} or {text.replace(',', '.')}"
        raise DataError(f"expected a decimal point in {where}, but {text!r} came, which may mean {both}.")
    return text.replace(",", ".")


def identity(cell: Any, where: str) -> int | None:
    """The id in a cell; None where it is empty."""
    if is_empty(cell):
        return None
    text = cell.strip() if isinstance(cell, str) else ""
    x: Any = int(text) if text.isdecimal() and len(text) <= LONGEST_ID else cell
    if isinstance(x, bool) or not is_number(x) or not float(x).is_integer():
        raise DataError(f"expected an id (a whole number) in {where}, but {cell!r:.60} came.")
    return int(x)


class Lookup:
    """From cells to positions: a cell means the label it equals, else the only one that reads the same."""

    def __init__(self, axis: Axis) -> None:
        self._axis = axis
        self._by_text: dict[str, int | None] | None = None

    def find(self, cell: Any) -> int:
        """The position of the label that a cell means; LabelError where there is none."""
        try:
            return self._axis.positions[cell]
        except (KeyError, TypeError):
            found = self._texts().get(_text(cell))
        return int(self._axis.look_up([cell])[0]) if found is None else found  # which raises, naming the cell

    def _texts(self) -> dict[str, int | None]:
        if self._by_text is None:
            self._by_text = {}
            for label, i in self._axis.positions.items():
                text = _text(label)
                self._by_text[text] = None if text in self._by_text else i
        return self._by_text


def check_apart(new: Iterable[Hashable], name: str, known: Iterable[Hashable] = ()) -> None:
    """Refuse new labels that are empty or there already, or read like another, as 1 and "1" do in a file."""
    first = {_text(label): label for label in known}
    there = set(first.values())
    for label in new:
        if not _text(label):
            raise DataError(f"expected {name} labels that are not empty, but {show(label)} came.")
        if label in there:
            raise DataError(f"expected new {name} labels, but {show(label)} is there already.")
        other = first.setdefault(_text(label), label)
        if other != label:
            came = f"{show(other)} and {show(label)}"
            raise DataError(f"expected {name} labels that read differently as text, but {came} came.")


def _text(label: Hashable) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()
