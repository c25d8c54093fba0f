"""What a campaign begins with, from files: labels, costs and a mask."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.cells import Lookup
from maxentry.cli import tables
from maxentry.cli.cells import label_text, number, yes_or_no
from maxentry.cli.measurements import column
from maxentry.cli.tables import Table
from maxentry.errors import DataError
from maxentry.labels import Axis, show

TABLES = (".csv", ".tsv", ".parquet", ".pq")


def labels(path: str) -> list[str]:
    """Labels from a file: one a line, or (CSV, Parquet) the first column, or FILE:COLUMN."""
    wanted = None
    if path != tables.STD and not Path(path).exists() and ":" in path:
        path, _, wanted = path.rpartition(":")
    if wanted is None and Path(path).suffix.lower() not in TABLES:
        text = tables.decoded(tables.read_bytes(path), tables.source_name(path))
        return [line.strip() for line in text.splitlines() if line.strip()]
    table = tables.read(path)
    cells = table.columns[0] if wanted is None else column(table, wanted.strip().lower())
    if cells is None:
        raise DataError(f"expected a column {wanted} in {path}, but {', '.join(table.names)} came.")
    return [label_text(cell) for cell in cells if cell is not None]


def costs(paths: Sequence[str], rows: Sequence[Hashable], cols: Sequence[Hashable]) -> dict[str, Any] | None:
    """Costs from files: row,cost or col,cost for a side; a matrix, or row,col,cost, for every entry."""
    parts: dict[str, Any] = {}
    for path in paths:
        table = tables.read(path)
        has_row, has_col = column(table, "row") is not None, column(table, "col", "column") is not None
        priced = column(table, "cost") is not None
        part = (
            "row"
            if priced and has_row and not has_col
            else "col"
            if priced and has_col and not has_row
            else "entry"
        )
        if part in parts:
            raise DataError(f"expected one file of {part} costs, but {path} is another.")
        if part == "entry":
            parts[part] = _grid(table, rows, cols, "cost", number)
        else:
            parts[part] = _side(table, part, rows if part == "row" else cols)
    for part, given in parts.items():
        _check_all(part, given, rows, cols)
    return parts or None


def mask(path: str, rows: Sequence[Hashable], cols: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Which entries can be measured: a matrix of 1 and 0, or row,col,available.

    What such a list does not name is available if all that it names is not, and not available otherwise.
    """
    table = tables.read(path)
    grid = _grid(table, rows, cols, "available", yes_or_no)
    listed = grid[~np.isnan(grid)]
    if _is_list(table, "available") and listed.size and not listed.any():
        return np.isnan(grid)
    return np.asarray(grid == 1, dtype=np.bool_)


def _is_list(table: Table, name: str) -> bool:
    return None not in (column(table, "row"), column(table, "col", "column"), column(table, name, "value"))


def _side(table: Table, part: str, side: Sequence[Hashable]) -> NDArray[np.float64]:
    lookup = _lookup(part, side)
    made = np.full(len(side), np.nan)
    cells, prices = column(table, part, "column") or [], column(table, "cost") or []
    for k, (cell, price) in enumerate(zip(cells, prices, strict=True)):
        x = number(price, f"column cost, {table.where(k)}", decimal_comma=table.decimal_comma)
        made[lookup.find(cell)] = np.nan if x is None else x
    return made


def _grid(
    table: Table,
    rows: Sequence[Hashable],
    cols: Sequence[Hashable],
    name: str,
    read: Callable[..., float | bool | None],
) -> NDArray[np.float64]:
    """A matrix in the order of the labels, from a wide table or from row, col and the column `name`."""
    row_at, col_at = _lookup("row", rows), _lookup("column", cols)
    made = np.full((len(rows), len(cols)), np.nan)
    at, across, cells = column(table, "row"), column(table, "col", "column"), column(table, name, "value")

    def put(i: int, j: int, cell: Any, k: int) -> None:
        x = read(cell, f"{table.where(k)}")
        made[i, j] = np.nan if x is None else x

    if at is not None and across is not None and cells is not None:
        for k, (row, col, cell) in enumerate(zip(at, across, cells, strict=True)):
            put(row_at.find(row), col_at.find(col), cell, k)
        return made
    places = [col_at.find(label) for label in table.names[1:]]
    for k, row in enumerate(table.columns[0]):
        i = row_at.find(row)
        for j, cells in zip(places, table.columns[1:], strict=True):
            put(i, j, cells[k], k)
    return made


def _lookup(side: str, known: Sequence[Hashable]) -> Lookup:
    return Lookup(Axis("row" if side == "row" else "column", len(known), tuple(known)))


def _check_all(part: str, given: Any, rows: Sequence[Hashable], cols: Sequence[Hashable]) -> None:
    missing = np.argwhere(np.isnan(given))
    if not len(missing):
        return
    at = missing[0]
    name = {"row": lambda: f"row {show(rows[at[0]])}", "col": lambda: f"column {show(cols[at[0]])}"}
    which = name.get(part, lambda: f"row {show(rows[at[0]])}, column {show(cols[at[1]])}")()
    raise DataError(f"expected a cost for every {part}, but {which} has none.")
