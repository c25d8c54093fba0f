"""A table with one measurement a line, as a matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix

NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def pivot(lines: Iterable[tuple[str, str, str]], path: Path) -> Matrix:
    """(row, column, value) as a matrix with sorted labels, numbers in the parts of a label by size."""
    entries: dict[tuple[str, str], float] = {}
    for row, col, value in lines:
        try:
            number = float(value)
        except ValueError:
            raise DataError(f"expected a number, but {value!r} is in {path} for {row}, {col}.") from None
        if (row, col) in entries:
            raise DataError(f"expected one value for {row}, {col}, but {path} has several.")
        entries[row, col] = number
    if not entries:
        raise DataError(f"expected measurements, but {path} has none.")
    rows, cols = (tuple(sorted({key[side] for key in entries}, key=_order)) for side in (0, 1))
    i, j = ({label: k for k, label in enumerate(labels)} for labels in (rows, cols))
    M = np.full((len(rows), len(cols)), np.nan)
    for (row, col), number in entries.items():
        M[i[row], j[col]] = number
    return Matrix(M, rows, cols)


def _order(label: str) -> list[tuple[float, str]]:
    """Parts between | in turn: a number by its size, anything else as text."""
    return [
        (float(part), "") if NUMBER.fullmatch(part) else (float("inf"), part) for part in label.split("|")
    ]
