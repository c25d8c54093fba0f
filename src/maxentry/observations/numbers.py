"""From whatever came to arrays of floats (missing as NaN) and of positions, naming what cannot be used."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxentry.errors import DataError
from maxentry.frames import is_missing, is_number

NOTHING = "expected at least one observation that is not missing, but none came."


def as_array(values: ArrayLike) -> NDArray[Any]:
    """`values` as an array; masked values become NaN, numbers beside text stay numbers."""
    if isinstance(values, np.ma.MaskedArray):
        as_type = np.float64 if values.dtype.kind in "fiub" else object
        return np.where(np.ma.getmaskarray(values), np.nan, values.data.astype(as_type))
    try:
        array = np.asarray(values)
        # NumPy turns [1, "a"] into text throughout; as objects the one text among the numbers can be named.
        text = array.dtype.kind in "US" and not isinstance(values, np.ndarray)
        return np.array(values, dtype=object) if text else array
    except ValueError as error:
        raise DataError("expected rows of equal length, but a ragged sequence came.") from error


def floats(values: ArrayLike, place: Callable[[int], str]) -> NDArray[np.float64]:
    """A new array of floats in the shape of `values`; `place(k)` names the k-th value in an error."""
    array = as_array(values)
    if array.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes inf and is refused as such
            return array.astype(np.float64)
    flat = array.astype(object).ravel()
    return np.array([_float(x, k, place) for k, x in enumerate(flat)], dtype=np.float64).reshape(array.shape)


def _float(x: Any, k: int, place: Callable[[int], str]) -> float:
    if is_missing(x):
        return float("nan")
    if is_number(x):
        try:
            return float(x)
        except OverflowError:
            return float("inf")
    kind = "text" if isinstance(x, (str, bytes)) else type(x).__name__
    raise DataError(f"expected real numbers, but the value at {place(k)} is {x!r} ({kind}).")


def positions_within(items: ArrayLike, size: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The items as integers, and which of them are not integers from 0 to size - 1."""
    array = as_array(items)
    kind = array.dtype.kind
    if kind in "iu":
        good = (array >= 0) & (array < size)
    elif kind == "f":
        good = (array >= 0) & (array < size) & (array == np.floor(array))
    else:
        good = np.array([_is_position(x, size) for x in array.ravel()], dtype=bool).reshape(array.shape)
    safe = array if good.all() else np.where(good, array, 0)
    return safe.astype(np.int64, copy=False), ~good


def _is_position(x: Any, size: int) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and bool(0 <= x < size)


def checked_shape(shape: Any) -> tuple[int, int]:
    """Two whole numbers, each at least 2."""
    try:
        pair, bad = positions_within(shape, 2**31)
    except DataError:
        pair, bad = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    if pair.shape != (2,) or bad.any():
        raise DataError(f"expected a shape of two whole numbers below 2**31, but {shape!r} came.")
    m1, m2 = int(pair[0]), int(pair[1])
    if min(m1, m2) < 2:
        raise DataError(f"expected at least 2 rows and 2 columns, but a matrix of {m1} x {m2} came.")
    return m1, m2


def check_lengths(rows: NDArray[Any], cols: NDArray[Any], values: NDArray[Any]) -> None:
    """Rows, columns and values are lists of one length, and there are some."""
    for name, array in (("rows", rows), ("columns", cols), ("values", values)):
        if array.ndim != 1:
            raise DataError(f"expected {name} in one dimension, but an array of {array.ndim} came.")
    if not rows.size == cols.size == values.size:
        came = f"{rows.size} rows, {cols.size} columns and {values.size} values"
        raise DataError(f"expected as many rows as columns and values, but {came} came.")
    if not rows.size:
        raise DataError(NOTHING)
