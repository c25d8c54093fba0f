"""Parquet through pyarrow, or polars where that is what is installed."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from maxentry.errors import DataError, MissingDependencyError

Columns = list[list[Any]]
MISSING = "expected pyarrow or polars for Parquet, but neither is installed: pip install 'maxentry[parquet]'."


def check_parquet() -> None:
    """Refuse where no library for Parquet is installed."""
    _library()


def from_parquet(content: bytes, name: str) -> tuple[list[str], Columns]:
    """Names and columns; what pandas kept as its index comes first."""
    library = _library()
    try:
        if library.__name__ == "polars":
            frame = library.read_parquet(io.BytesIO(content))
            names, columns = list(frame.columns), [column.to_list() for column in frame.get_columns()]
            index = [n for n in names if n.startswith("__index_level_")]
        else:
            table = library.read_table(io.BytesIO(content))
            names, columns = list(table.column_names), [column.to_pylist() for column in table.columns]
            kept = (table.schema.pandas_metadata or {}).get("index_columns", [])
            index = [n for n in kept if isinstance(n, str) and n in names]
    except Exception as error:  # each library has errors of its own
        raise DataError(
            f"expected a Parquet file, but {name} is not one: {str(error).splitlines()[0]}."
        ) from None
    order = sorted(range(len(names)), key=lambda j: names[j] not in index)
    unnamed = "__index_level_0__"
    return ["" if names[j] == unnamed else names[j] for j in order], [columns[j] for j in order]


def to_parquet(names: list[str], columns: Columns) -> bytes:
    """The file's bytes."""
    library, made = _library(), io.BytesIO()
    if library.__name__ == "polars":
        pairs = zip(names, columns, strict=True)
        library.DataFrame([_series(library, name, column) for name, column in pairs]).write_parquet(made)
        return made.getvalue()
    pa = import_module("pyarrow")

    arrays = [_array(pa, column) for column in columns]
    library.write_table(pa.table(arrays, names=names), made)
    return made.getvalue()


def _array(pa: Any, column: list[Any]) -> Any:
    if all(cell is None for cell in column):
        return pa.array(column, pa.float64())  # the values of a plate, to be filled in
    try:
        return pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # labels of mixed types
        return pa.array([None if cell is None else str(cell) for cell in column])


def _series(polars: Any, name: str, column: list[Any]) -> Any:
    if all(cell is None for cell in column):
        return polars.Series(name, column, dtype=polars.Float64)
    try:
        return polars.Series(name, column)
    except TypeError:
        return polars.Series(name, [None if cell is None else str(cell) for cell in column])


def _library() -> Any:
    for name in ("pyarrow.parquet", "polars"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise MissingDependencyError(MISSING)
