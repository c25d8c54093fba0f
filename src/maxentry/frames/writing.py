"""Native frames from plain columns, of the kind that is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.frames.reading import kind_of


def make_frame(
    columns: Mapping[str, ArrayLike],
    kind: str | None,
    index: Sequence[Any] | None = None,
    index_name: Hashable = None,
) -> Any:
    """A native frame with these columns; `index` becomes pandas' index, or polars' first column ("row")."""
    library = _library(kind)
    if library.__name__ == "pandas":
        labels = None if index is None else _pandas_index(library, index, index_name)
        return library.DataFrame(dict(columns), index=labels)
    named = dict(columns) if index is None else {_free_name(columns, index_name): index, **columns}
    return library.DataFrame([_polars_column(library, name, column) for name, column in named.items()])


def wide_frame(
    matrix: ArrayLike,
    row_labels: Sequence[Any] | None,
    col_labels: Sequence[Any] | None,
    kind: str | None,
    *,
    row_name: Hashable = None,
    col_name: Hashable = None,
) -> Any:
    """The matrix with its labels: pandas' index and columns, or polars' first column ("row") and names.

    Rows known by position have pandas' default index, and no column of their own in polars.
    """
    library, array = _library(kind), np.asarray(matrix)
    if library.__name__ == "polars":
        columns = {name: array[:, j] for j, name in enumerate(_polars_names(col_labels, array.shape[1]))}
        return make_frame(columns, "polars", row_labels, row_name)
    index, columns = (
        library.RangeIndex(m, name=name) if labels is None else _pandas_index(library, labels, name)
        for m, labels, name in zip(array.shape, (row_labels, col_labels), (row_name, col_name), strict=True)
    )
    return library.DataFrame(array, index=index, columns=columns, copy=True)


def stacked_frame(
    matrices: NDArray[Any],
    row_labels: Sequence[Any] | None,
    col_labels: Sequence[Any] | None,
    kind: str | None,
    *,
    row_name: Hashable = None,
    col_name: Hashable = None,
) -> Any:
    """Matrices (n, m1, m2) below each other: pandas' index is (draw, row), polars' first columns are draw and row."""
    library, (n, m1, m2) = _library(kind), matrices.shape
    labels: Sequence[Any] = range(m1) if row_labels is None else row_labels
    frame = wide_frame(matrices.reshape(n * m1, m2), None, col_labels, library.__name__, col_name=col_name)
    if library.__name__ == "pandas":
        sides = [library.RangeIndex(n), _pandas_index(library, labels)]
        names = ["draw", "row" if row_name is None else row_name]
        return frame.set_axis(library.MultiIndex.from_product(sides, names=names), axis="index")
    rows = _polars_column(library, _free_name(frame.columns, row_name), list(labels) * n)
    draw = library.Series(_free_name([*frame.columns, rows.name], "draw"), np.repeat(np.arange(n), m1))
    return frame.insert_column(0, draw).insert_column(1, rows)


def like(frame: Any, values: NDArray[Any]) -> Any:
    """The values, one for each cell, as a frame like this one; as they are where it is none of ours."""
    kind = kind_of(frame)
    if kind is None:
        return values
    if kind == "polars":
        return _library(kind).DataFrame(values, schema=frame.columns)
    return _library(kind).DataFrame(values, index=frame.index, columns=frame.columns)


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


def _pandas_index(pandas: Any, labels: Sequence[Any], name: Hashable = None) -> Any:
    return pandas.Index(list(labels), tupleize_cols=False, name=name)


def _polars_names(labels: Sequence[Any] | None, m: int) -> list[str]:
    names = [str(label) for label in (range(m) if labels is None else labels)]
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise DataError(
            f"expected column labels that differ as text for a polars frame, but {twice!r} came twice; "
            "ask for a long frame instead."
        )
    return names


def _polars_column(polars: Any, name: str, values: Any) -> Any:
    try:
        return polars.Series(name, values)
    except TypeError:  # polars has no column of mixed types; the labels still read as text
        return polars.Series(name, [str(x) for x in values])


def _taken(library: Any, labels: Sequence[Any], positions: NDArray[np.integer[Any]]) -> Any:
    if library.__name__ == "pandas":
        return _pandas_index(library, labels).take(positions)
    return _polars_column(library, "", list(labels)).gather(positions)


def _free_name(taken: Iterable[str], wanted: Hashable = None) -> str:
    name, names = "row" if wanted is None else str(wanted), set(taken)
    while name in names:
        name += "_"
    return name
