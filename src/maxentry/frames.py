"""The edge to data frames: pandas, polars and whatever else narwhals reads, none of them required.

Reading gives plain columns (a NumPy array of numbers, or a list of labels); writing gives a native frame of
the kind that came in. Neither pandas nor polars is imported before a frame of that kind is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import DataError, MissingDependencyError, ParameterError

LONG_NAMES = {"row": ("row",), "col": ("col", "column"), "value": ("value",)}


class Wide(NamedTuple):
    """A wide frame: one array per column of the matrix; labels are None where there are only positions."""

    kind: str | None
    row_labels: list[Hashable] | None
    col_labels: list[Hashable] | None
    columns: list[NDArray[Any]]


class Long(NamedTuple):
    """A long frame: one line per measurement."""

    kind: str | None
    rows: list[Hashable]
    cols: list[Hashable]
    values: NDArray[Any]


class _Table(NamedTuple):
    """What every frame reduces to: its names, a way to a column, and pandas' index where there is one."""

    kind: str | None
    names: list[Hashable]
    column: Callable[[int], Any]  # a pandas or a narwhals series
    index: Any
    counted: bool = False  # the columns are pandas' default ones, 0, 1, ...

    def position(self, name: Hashable) -> int:
        places = [j for j, known in enumerate(self.names) if known == name]
        if len(places) != 1:
            names = ", ".join(map(repr, self.names))
            came = f"{len(places)} of them" if places else f"the names {names}"
            raise DataError(f"expected one frame column named {name!r}, but {came} came.")
        return places[0]


# Reading


def is_frame(data: object) -> bool:
    """Whether narwhals can read `data` as a data frame."""
    from narwhals import dependencies

    return dependencies.is_into_dataframe(data) or dependencies.is_polars_lazyframe(data)


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
    row_labels = _index_labels(table.index) if label_at is None else table.column(label_at).to_list()
    col_labels = None if label_at is None and table.counted else [table.names[j] for j in values]
    return Wide(table.kind, row_labels, col_labels, [_plain(table.column(j)) for j in values])


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
    return Long(table.kind, rows.to_list(), cols.to_list(), _plain(values))


def _table(frame: Any) -> _Table:
    import narwhals as nw

    frame = nw.to_native(frame, pass_through=True)
    if nw.dependencies.is_pandas_dataframe(frame):
        # Read pandas by position: narwhals refuses repeated names, and we have a clearer sentence for those.
        counted = _index_labels(frame.columns) is None
        return _Table("pandas", list(frame.columns), lambda j: frame.iloc[:, j], frame.index, counted)
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
    if table.names[0] in ("row", "", "Unnamed: 0"):  # the last two: an index that pandas' to_csv has written
        return 0
    first = _plain(table.column(0))
    known = [x for x in first if not is_missing(x)] if first.dtype == object else []
    return 0 if known and not any(is_number(x) for x in known) else None


def _index_labels(index: Any) -> list[Hashable] | None:
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


# Values of one column


def is_missing(x: object) -> bool:
    """None, NaN, NaT, pandas' NA or NumPy's masked."""
    if x is None or type(x).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return True
    return isinstance(x, (float, np.floating, np.datetime64)) and bool(x != x)


def is_number(x: object) -> bool:
    """A real number of any type (Decimal and Fraction too), not text, not complex."""
    return hasattr(x, "__float__") and not isinstance(
        x, (complex, np.complexfloating, np.ndarray, str, bytes)
    )


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """A one-dimensional array of objects, also where the objects are sequences."""
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = item
    return array


def listed(labels: Iterable[Any]) -> list[Any]:
    """Labels as a list of Python objects (dates stay dates)."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "mM":
        return list(labels.ravel())
    for method in ("to_list", "tolist"):
        if hasattr(labels, method):
            return list(getattr(labels, method)())
    return list(labels)


# Writing


def make_frame(columns: Mapping[str, ArrayLike], kind: str | None, index: Sequence[Any] | None = None) -> Any:
    """A native frame with these columns; `index` becomes pandas' index, or a first column "row" in polars."""
    library = _library(kind)
    if library.__name__ == "pandas":
        return library.DataFrame(
            dict(columns), index=None if index is None else _pandas_index(library, index)
        )
    named = dict(columns) if index is None else {_free_name(columns): index, **columns}
    return library.DataFrame([_polars_column(library, name, column) for name, column in named.items()])


def wide_frame(
    matrix: ArrayLike,
    row_labels: Sequence[Any] | None,
    col_labels: Sequence[Any] | None,
    kind: str | None,
) -> Any:
    """The matrix with its labels: pandas' index and columns, or polars' first column "row" and names."""
    library, array = _library(kind), np.asarray(matrix)
    if library.__name__ == "pandas":
        axes = {
            name: None if labels is None else _pandas_index(library, labels)
            for name, labels in (("index", row_labels), ("columns", col_labels))
        }
        return library.DataFrame(array, **axes)
    names = [str(label) for label in (range(array.shape[1]) if col_labels is None else col_labels)]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(
            f"expected column labels that differ as text for a polars frame, but {twice!r} came twice; "
            "ask for a long frame instead."
        )
    labels = np.arange(array.shape[0]) if row_labels is None else row_labels
    return make_frame({name: array[:, j] for j, name in enumerate(names)}, "polars", index=labels)  # type: ignore[arg-type]


def long_frame(
    rows: NDArray[np.integer[Any]],
    cols: NDArray[np.integer[Any]],
    measures: Mapping[str, ArrayLike],
    row_labels: Sequence[Any] | None,
    col_labels: Sequence[Any] | None,
    kind: str | None,
) -> Any:
    """One line per (rows[k], cols[k]) position: its labels as "row" and "col", then the measures."""
    library = _library(kind)
    columns: dict[str, Any] = {
        name: positions if labels is None else _taken(library, labels, positions)
        for name, labels, positions in (("row", row_labels, rows), ("col", col_labels, cols))
    }
    return make_frame(columns | dict(measures), library.__name__)


def _library(kind: str | None) -> Any:
    """pandas or polars; without a wish, the first of them that is installed."""
    from importlib import import_module

    if kind not in ("pandas", "polars", None):
        raise ParameterError(f"expected a frame of kind 'pandas' or 'polars', but {kind!r} came.")
    for name in ("pandas", "polars") if kind is None else (kind,):
        try:
            return import_module(name)
        except ImportError:
            continue
    wanted = kind or "pandas or polars"
    raise MissingDependencyError(
        f"expected {wanted} to make a frame, but it is not installed: pip install it."
    )


def _pandas_index(pandas: Any, labels: Sequence[Any]) -> Any:
    return pandas.Index(list(labels), tupleize_cols=False)


def _polars_column(polars: Any, name: str, values: Any) -> Any:
    try:
        return polars.Series(name, values)
    except TypeError:  # polars has no column of mixed types; the labels still read as text
        return polars.Series(name, [str(x) for x in values])


def _taken(library: Any, labels: Sequence[Any], positions: NDArray[np.integer[Any]]) -> Any:
    if library.__name__ == "pandas":
        return _pandas_index(library, labels).take(positions)
    return _polars_column(library, "", list(labels)).gather(positions)


def _free_name(taken: Iterable[str]) -> str:
    name, names = "row", set(taken)
    while name in names:
        name += "_"
    return name
