"""What a cell says: a number or nothing, yes or no, a label."""

from __future__ import annotations

import re
from typing import Any

from maxentry.campaign.cells import NO, YES, bare
from maxentry.campaign.cells import is_empty as is_empty
from maxentry.campaign.cells import says_failed as says_failed
from maxentry.errors import DataError

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


def number(cell: Any, where: str, *, decimal_comma: bool = False) -> float | None:
    """The number in a cell, None where it is empty. A decimal comma is read where cells are parted by `;`."""
    if is_empty(cell):
        return None
    try:
        if not isinstance(cell, str):
            return float(cell)
        text = cell.strip()
        if decimal_comma and _COMMA.fullmatch(text):
            text = text.replace(",", ".")
        if _PLAIN.fullmatch(text):
            return float(text)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"expected a number in {where}, but {cell!r} came.")


def yes_or_no(cell: Any, where: str) -> bool:
    """What a cell of a mask says."""
    if bare(cell) not in (*YES, *NO):
        raise DataError(f"expected yes or no (1 or 0) in {where}, but {cell!r} came.")
    return bare(cell) in YES


def label_text(cell: Any) -> str:
    """A label as text: whole numbers without a fraction, no blanks around it."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()
