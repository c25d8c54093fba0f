"""The forms in which values are told: ids with values, rows and columns with values, or a table."""

from __future__ import annotations

from typing import Any

from maxentry.campaign import report, tables
from maxentry.campaign.report import Line
from maxentry.errors import DataError


def lines(
    ids: Any = None, values: Any = None, *, row: Any = None, col: Any = None, value: Any = None
) -> list[Line]:
    """What is told, line by line, from one of the forms."""
    if tables.is_table(ids):
        _refuse_beside("a table", values=values, row=row, col=col, value=value)
        return report.of_table(ids)
    if ids is not None:
        _refuse_beside("ids", row=row, col=col, value=value)
        return report.of_ids(ids, values)
    _refuse_beside("row, col and value", values=values)
    return report.of_entries(row, col, value)


def _refuse_beside(form: str, **given: Any) -> None:
    extra = [name for name, x in given.items() if x is not None]
    if extra:
        raise DataError(f"expected {form} alone, but {extra[0]} came too.")
