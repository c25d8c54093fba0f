"""Jester: jokes rated from -10 to 10, an .xls sheet with one person a row."""

from __future__ import annotations

import io
from importlib import import_module
from pathlib import Path

import numpy as np

from maxentry.errors import DataError, MissingDependencyError
from maxentry.studies.datasets.dataset import Array, Matrix
from maxentry.studies.datasets.reading import member

NOT_RATED = 99


def complete_raters(path: Path) -> Matrix:
    """The people who rated every joke; labels are numbers of rows and jokes in the sheet, from 1."""
    ratings = _sheet(member(path, "jester-data-1.xls"), path)[:, 1:]  # how many were rated comes first
    who = np.flatnonzero((ratings != NOT_RATED).all(1))
    jokes = range(1, ratings.shape[1] + 1)
    return Matrix(ratings[who], tuple(str(i + 1) for i in who), tuple(str(j) for j in jokes))


def _sheet(workbook: bytes, path: Path) -> Array:
    """The numbers in the first sheet."""
    try:
        xlrd = import_module("xlrd")
    except ImportError:
        raise MissingDependencyError(
            "expected xlrd to read Jester's .xls, but it is not installed: pip install 'maxentry[studies]'."
        ) from None
    try:
        book = xlrd.open_workbook(
            file_contents=workbook, on_demand=True, logfile=io.StringIO()
        )  # else stdout
        sheet = book.sheet_by_index(0)
        table = np.array([sheet.row_values(i) for i in range(sheet.nrows)], dtype=float)
    except Exception as error:  # xlrd raises whatever a broken file leads it into
        raise DataError(
            f"expected an .xls sheet of numbers, but {path} cannot be read as one: {error}."
        ) from None
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError(f"expected a column of counts and columns of ratings, but {path} has none.")
    return table
