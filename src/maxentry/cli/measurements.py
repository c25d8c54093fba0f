"""Tables of measurements: a plate (by id), a long one (row, col, value), a wide one (a matrix with holes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxentry.cli.cells import label_text, number
from maxentry.cli.output import warn
from maxentry.cli.tables import Table
from maxentry.errors import DataError

ROLES = {"row": ("row",), "col": ("col", "column"), "value": ("value",)}


@dataclass(frozen=True)
class Triples:
    """Measurements of entries by label, as they stand in the table; labels are text there, or Parquet's values."""

    rows: list[Any]
    cols: list[Any]
    values: list[float]


@dataclass(frozen=True)
class Matrix:
    """A wide table: all its labels, in order, and what has been measured."""

    row_labels: list[str]
    col_labels: list[str]
    measured: Triples
    corner: str = "row"  # the name of the column of row labels


def column(table: Table, *names: str) -> list[Any] | None:
    """The column of the first of these names that is there, in any case of letters."""
    known = [name.strip().lower() for name in table.names]
    for name in names:
        if known.count(name) > 1:
            raise DataError(f"expected one column named {name} in {table.source}, but there are several.")
        if name in known:
            return table.columns[known.index(name)]
    return None


def is_plate(table: Table) -> bool:
    """Whether the table has ids and something told of them."""
    told = [column(table, name) for name in ("value", "failed", "status")]
    return column(table, "id") is not None and any(c is not None for c in told)


def is_long(table: Table) -> bool:
    """Whether there are columns row, col (or column) and value."""
    return all(column(table, *names) is not None for names in ROLES.values())


def refuse_half_a_plate(table: Table) -> None:
    """Refuse a table that names entries as a plate does and has no column of values; it is no matrix either."""
    by_id = column(table, "id") is not None
    by_labels = all(column(table, *ROLES[side]) is not None for side in ("row", "col"))
    if by_id or by_labels:
        came = ", ".join(table.names)
        known = "id" if by_id else "row and col"
        raise DataError(f"expected a column value beside {known} in {table.source}, but only {came} came.")


# Long and wide


def names_of(wish: str) -> tuple[str, str, str]:
    """The columns of a long table, as an option names them: ROW,COL,VALUE."""
    parts = tuple(part.strip() for part in wish.split(","))
    if len(parts) != 3 or not all(parts):
        raise DataError(f"expected three names, like ligand,substrate,yield, but {wish!r} came.")
    return parts


def matrix(table: Table, names: str | None = None) -> Matrix:
    """All labels and the measurements of a long or a wide table; a long one may name entries without a value."""
    if names is None and not is_long(table):
        return wide(table)
    rows, cols, _ = _long_columns(table, names)
    measured = long(table, names)
    by_text = [label_text(x) for x in measured.rows], [label_text(x) for x in measured.cols]
    return Matrix(
        list(dict.fromkeys(map(label_text, rows))),
        list(dict.fromkeys(map(label_text, cols))),
        Triples(*by_text, measured.values),
    )


def triples(table: Table, names: str | None = None) -> Triples:
    """The measurements of a long or a wide table."""
    return long(table, names) if names is not None or is_long(table) else wide(table).measured


def long(table: Table, names: str | None = None) -> Triples:
    """One line a measurement; a line with an empty value is left out."""
    rows, cols, cells = _long_columns(table, names)
    told = Triples([], [], [])
    for k, (row, col, cell) in enumerate(zip(rows, cols, cells, strict=True)):
        where = f"the column of values, {table.where(k)}"
        x = number(cell, where, decimal_comma=table.decimal_comma)
        if x is not None:
            told.rows.append(row)
            told.cols.append(col)
            told.values.append(x)
    return told


def _long_columns(table: Table, names: str | None) -> tuple[list[Any], list[Any], list[Any]]:
    """Columns of rows, columns and values; every line must have the two labels."""
    wanted = list(ROLES.values()) if names is None else [(name.lower(),) for name in names_of(names)]
    found = []
    for choices in wanted:
        cells = column(table, *choices)
        if cells is None:
            came = ", ".join(table.names)
            raise DataError(f"expected a column {' or '.join(choices)} in {table.source}, but {came} came.")
        found.append(cells)
    for side, cells in zip(("row", "column"), found, strict=False):
        if None in cells:
            raise DataError(f"expected a {side} label in {table.where(cells.index(None))}, but it is empty.")
    rows, cols, values = found
    return rows, cols, values


def wide(table: Table) -> Matrix:
    """Row labels in the first column, one more column for each column of the matrix."""
    if len(table.names) < 2:
        raise DataError(
            f"expected a table with row labels and at least one more column, but {table.source} has only "
            f"the column {table.names[0]!r}."
        )
    row_labels = [_row_label(table, k) for k in range(table.n)]
    col_labels = [label_text(name) for name in table.names[1:]]
    for side, labels in (("row", row_labels), ("column", col_labels)):
        _check_distinct(side, labels, table.source)
    if all(map(_fraction, row_labels)):
        warn(
            f"Taking the first column of {table.source}, {table.names[0]!r}, for row labels, though it looks like "
            "values: a table without labels needs a column of them before its values."
        )
    told = Triples([], [], [])
    for k, row in enumerate(row_labels):
        for col, cells in zip(col_labels, table.columns[1:], strict=True):
            if cells[k] is None:
                continue
            place = f"row {row!r}, column {col!r}, {table.where(k)}"
            x = number(cells[k], place, decimal_comma=table.decimal_comma)
            if x is not None:
                told.rows.append(row)
                told.cols.append(col)
                told.values.append(x)
    return Matrix(row_labels, col_labels, told, table.names[0] or "row")


def _fraction(label: str) -> bool:
    """Whether it is a number that is not whole, as hardly anybody names a row."""
    try:
        return not float(label.replace(",", ".", 1)).is_integer()
    except ValueError:
        return False


def _row_label(table: Table, k: int) -> str:
    cell = table.columns[0][k]
    if cell is None:
        raise DataError(f"expected a row label in the first cell of {table.where(k)}, but it is empty.")
    return label_text(cell)


def _check_distinct(side: str, labels: list[str], source: str) -> None:
    seen: set[str] = set()
    for label in labels:
        if not label:
            raise DataError(f"expected a name for every column of {source}, but one is empty.")
        if label in seen:
            raise DataError(f"expected distinct {side} labels in {source}, but {label!r} came twice.")
        seen.add(label)
