"""What a cell says: a number or nothing, yes or no, a label."""

from __future__ import annotations

from typing import Any

from maxentry.campaign import cells
from maxentry.campaign.cells import NO, YES, bare
from maxentry.campaign.cells import is_empty as is_empty
from maxentry.campaign.cells import says_failed as says_failed
from maxentry.campaign.sheets import DecimalComma
from maxentry.errors import DataError


def number(cell: Any, where: str, *, decimal_comma: DecimalComma = "never") -> float | None:
    """The number in a cell, None where it is empty; read as a campaign reads what it is told."""
    return cells.number(cell, where, decimal_comma, expected="a number in")


def yes_or_no(cell: Any, where: str) -> bool:
    """What a cell of a mask says."""
    if bare(cell) not in (*YES, *NO):
        raise DataError(f"expected yes or no (1 or 0) in {where}, but {cell!r} came.")
    return bare(cell) in YES


def label_text(cell: Any) -> str:
    """A label as text: whole numbers without a fraction, no blanks around it."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()
