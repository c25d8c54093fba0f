"""A user's matrix for a study, as `complete` reads it, and what its entries cost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.cli import inputs
from maxentry.cli.output import STD
from maxentry.errors import DataError
from maxentry.tables import Table

Array = NDArray[np.float64]

COST_COLUMNS = {"row": ("row",), "col": ("col", "column"), "cost": ("cost",)}


class GivenTable(NamedTuple):
    """A user's matrix, and what its entries cost."""

    name: str
    M: Array
    costs: Array | None
    labels: tuple[list[str], list[str]]


def given(path: str, names: str | None, costs: str | None) -> GivenTable:
    """Read a matrix as `complete` reads it; NaN where nothing is known."""
    if path == costs == STD:
        raise DataError("expected the matrix or the costs on standard input, but both came.")
    matrix = inputs.read_matrix(path, names)
    M = _placed(matrix, matrix.row_labels, matrix.col_labels)
    # A name that is not text in UTF-8 can be opened, but neither written nor drawn.
    name = "standard input" if path == STD else Path(path).name.encode("utf-8", "replace").decode()
    labels = matrix.row_labels, matrix.col_labels
    return GivenTable(name, M, None if costs is None else _costs(costs, matrix, M), labels)


def _placed(matrix: inputs.Matrix, rows: list[str], cols: list[str]) -> Array:
    """The measurements by position; of several of one entry, the mean; of other labels, none."""
    row_at, col_at = ({label: k for k, label in enumerate(side)} for side in (rows, cols))
    total, times = np.zeros((len(rows), len(cols))), np.zeros((len(rows), len(cols)))
    told = matrix.measured
    for row, col, value in zip(told.rows, told.cols, told.values, strict=True):
        if row in row_at and col in col_at:
            total[row_at[row], col_at[col]] += value
            times[row_at[row], col_at[col]] += 1
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)


def _costs(path: str, matrix: inputs.Matrix, M: Array) -> Array:
    """What each entry costs; only known entries need a cost."""
    rows, cols = matrix.row_labels, matrix.col_labels
    table = inputs.read_table(path)
    has = {name: table.column(*names) is not None for name, names in COST_COLUMNS.items()}
    if has["cost"] and has["row"] != has["col"]:
        parts = inputs.read_costs([path], rows, cols) or {}
        found = parts["row"][:, None] + np.zeros(M.shape) if has["row"] else parts["col"] + np.zeros(M.shape)
    else:
        names = (
            ",".join(_as_written(table, *names) for names in COST_COLUMNS.values()) if has["cost"] else None
        )
        found = _placed(inputs.parse_matrix(table, names), rows, cols)
    known = np.isfinite(M)
    lacking = np.argwhere(known & ~((found > 0) & (found < np.inf)))
    if len(lacking):
        i, j = lacking[0]
        came = "none" if np.isnan(found[i, j]) else f"{found[i, j]:g}"
        place = f"row {rows[i]!r}, column {cols[j]!r}"
        raise DataError(f"expected a finite cost above 0 for every known entry, but {came} came for {place}.")
    return np.asarray(np.where((found > 0) & (found < np.inf), found, found[known].mean()))


def _as_written(table: Table, *names: str) -> str:
    """How this table writes the first of these names that it has; that name, if it has none."""
    written = {name.strip().lower(): name for name in table.names}
    return next((written[name] for name in names if name in written), names[0])
