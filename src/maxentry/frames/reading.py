"""Frames as plain columns: a NumPy array of numbers, or a list of labels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError
from maxentry.frames.cells import is_missing, is_number, object_array

UNSAID = ("", "Unnamed: 0")  # what an index without a name is called that pandas' to_csv has written
LONG_NAMES = {"row": ("row",), "col": ("col", "column"), "value": ("value",)}


class Wide(NamedTuple):
    """A wide frame: one array per column of the matrix; labels are None where there are only positions."""

    kind: str | None
    row_labels: list[Hashable] | None
    col_labels: list[Hashable] | None
    columns: list[NDArray[Any]]
    row_name: Hashable = None  # what the frame calls its rows, and its columns
    col_name: Hashable = None
    numbered: bool = False  # the first column, read as values, looks like the numbers of rows


class Long(NamedTuple):
    """A long frame: one line per measurement."""

    kind: str | None
    rows: list[Hashable]
    cols: list[Hashable]
    values: NDArray[Any]
    row_name: Hashable = None
    col_name: Hashable = None


class _Table(NamedTuple):
    """What every frame reduces to: its names, a way to a column, and pandas' index where there is one."""

    kind: str | None
    names: list[Hashable]
    column: Callable[[int], Any]  # a pandas or a narwhals series
    index: Any
    across: Hashable = None  # the name of pandas' columns
    counted: bool = False  # the columns are pandas' default ones, 0, 1, ...

    def position(self, name: Hashable) -> int:
        places = [j for j, known in enumerate(self.names) if known == name]
        if len(places) != 1:
            names = ", ".join(map(repr, self.names))
            came = f"{len(places)} of them" if places else f"the names {names}"
            raise DataError(f"expected one frame column named {name!r}, but {came} came.")
        return places[0]


def is_frame(data: object) -> bool:
    """Whether narwhals can read `data` as a data frame."""
    from narwhals import dependencies

    return dependencies.is_into_dataframe(data) or dependencies.is_polars_lazyframe(data)


def kind_of(*things: object) -> Literal["pandas", "polars"] | None:
    """The library of the first of these that is a frame, a series or an index of pandas or polars."""
    if not {"pandas", "polars"} & sys.modules.keys():  # a frame cannot come before its library
        return None
    from narwhals import dependencies as of

    for thing in things:
        if of.is_pandas_dataframe(thing) or of.is_pandas_series(thing) or of.is_pandas_index(thing):
            return "pandas"
        if of.is_polars_dataframe(thing) or of.is_polars_lazyframe(thing) or of.is_polars_series(thing):
            return "polars"
    return None


def is_long(data: Any) -> bool:
    """Whether the frame's columns are recognisably named row, col (or column) and value."""
    names = set(_table(_index_as_columns(data, {})).names)
    return all(any(name in names for name in choices) for choices in LONG_NAMES.values())


def read_wide(frame: Any, row_column: Hashable | None = None) -> Wide:
    """One line per row of the matrix, one column per column.

    The row labels are the column `row_column`; else a first column that is named "row" or holds no numbers
    (where the frame has no labelled index of its own); else pandas' index; else positions.
    """
    table = _table(frame)
    if not table.names:
        raise DataError("expected a frame with columns, but an empty frame came.")
    label_at = _label_column(table) if row_column is None else table.position(row_column)
    values = [j for j in range(len(table.names)) if j != label_at]
    row_labels = index_labels(table.index) if label_at is None else table.column(label_at).to_list()
    col_labels = None if label_at is None and table.counted else [table.names[j] for j in values]
    row_name = getattr(table.index, "name", None) if label_at is None else _said(table.names[label_at])
    columns = [_plain(table.column(j)) for j in values]
    numbered = row_labels is None and _numbered(table.column(0), columns)
    return Wide(table.kind, row_labels, col_labels, columns, row_name, table.across, numbered)


def read_long(frame: Any, row: Hashable | None, col: Hashable | None, value: Hashable | None) -> Long:
    """One line per measurement; a role not named is found by its usual name, else by its order among 3."""
    given = {"row": row, "col": col, "value": value}
    table = _table(_index_as_columns(frame, given))
    at = {role: _find(table, role, name) for role, name in given.items()}
    left = [j for j in range(len(table.names)) if j not in at.values()]
    for role in (role for role, place in at.items() if place is None):
        if len(table.names) != 3:
            wanted = " or ".join(map(repr, LONG_NAMES[role]))
            came = ", ".join(map(repr, table.names)) or "no column"
            raise DataError(
                f"expected a long frame with a column {wanted} (or its name in {role}=), but {came} came."
            )
        at[role] = left.pop(0)
    rows, cols, values = (table.column(place) for place in at.values() if place is not None)
    names = [table.names[place] for place in (at["row"], at["col"]) if place is not None]
    return Long(table.kind, rows.to_list(), cols.to_list(), _plain(values), *names)


def _table(frame: Any) -> _Table:
    import narwhals as nw

    frame = nw.to_native(frame, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(frame):
        # Read pandas by position: narwhals refuses repeated names, and we have a clearer sentence for those.
        counted = index_labels(frame.columns) is None
        across = frame.columns.name
        return _Table("pandas", list(frame.columns), lambda j: frame.iloc[:, j], frame.index, across, counted)
    table = nw.from_native(frame)
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    kind = "polars" if eager.implementation.is_polars() else None
    names: list[Hashable] = list(eager.columns)
    return _Table(kind, names, lambda j: eager.get_column(str(names[j])), None)


def _plain(series: Any) -> NDArray[Any]:
    """The column as floats with NaN for null, or, where its type is not numeric, as objects."""
    import narwhals as nw

    # pandas on NumPy needs no narwhals, which takes its time where a frame has very many columns.
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        return np.asarray(series, dtype=np.float64)
    column = nw.from_native(series, series_only=True)
    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    return object_array(column.to_list())


def _label_column(table: _Table) -> int | None:
    index = table.index
    own_index = index is not None and (index.dtype.kind not in "iu" or index.name is not None)
    if own_index or not table.names or len(table.names) == 1:
        return None
    if table.names[0] in ("row", *UNSAID):
        return 0
    first = _plain(table.column(0))
    known = [x for x in first if not is_missing(x)] if first.dtype == object else []
    return 0 if known and not any(is_number(x) for x in known) else None


def _numbered(first: Any, columns: list[NDArray[Any]]) -> bool:
    """Whether the first column has distinct whole numbers and no hole, and another has a hole or a fraction."""
    import narwhals as nw

    if not nw.from_native(first, series_only=True).dtype.is_integer():
        return False
    numbers = columns[0]
    if np.isnan(numbers).any() or np.unique(numbers).size < numbers.size:
        return False
    return any(column.dtype != object and bool((column != np.floor(column)).any()) for column in columns[1:])


def _said(name: Hashable) -> Hashable:
    return None if name in UNSAID else name


def index_labels(index: Any) -> list[Hashable] | None:
    """The labels of pandas' index; None where it only counts."""
    if index is None or (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        return None
    labels: list[Hashable] = index.tolist()
    return labels


def _index_as_columns(frame: Any, given: Mapping[str, Hashable | None]) -> Any:
    """The frame, its index as columns where that carries a role (a MultiIndex named row, col, say)."""
    names = getattr(getattr(frame, "index", None), "names", ())
    named = [name for name in given.values() if name is not None]
    wanted = {*named, *(name for choices in LONG_NAMES.values() for name in choices)}
    carried = any(name in wanted and name not in frame.columns for name in names if name is not None)
    return frame.reset_index() if carried else frame


def _find(table: _Table, role: str, name: Hashable | None) -> int | None:
    if name is not None:
        return table.position(name)
    usual = next((n for n in LONG_NAMES[role] if n in table.names), None)
    return None if usual is None else table.position(usual)
