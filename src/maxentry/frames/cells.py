"""Cells and labels as they come from frames, arrays and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
