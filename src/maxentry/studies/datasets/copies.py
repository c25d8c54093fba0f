"""Copies of the data sets that are matrices already: `.npz` files (and u.data), as MAXENTRY_DATA may hold them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix
from maxentry.studies.datasets.ratings import matrix_of_ratings, movielens_100k


def read_copy(name: str, path: Path) -> Matrix:
    """The data set `name` from its copy at `path`."""
    try:
        if name == "movielens-100k":
            return movielens_100k(path.read_bytes(), str(path))
        with np.load(path, allow_pickle=False) as arrays:
            if name == "jester":
                return _jester(arrays["M"], arrays["rows"])
            if name == "movielens-1m":
                m1 = int(arrays["shape"][0])
                users, movies = np.arange(1, m1 + 1), arrays["movie_id"].astype(int)
                return matrix_of_ratings(users, movies, arrays["user"], arrays["item"], arrays["rating"])
            return Matrix(arrays["M"].astype(float), _labels(arrays["rows"]), _labels(arrays["cols"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"expected a copy of {name} in {path}, but it cannot be read: {error}.") from None


def _jester(M: NDArray[np.int16], rows: NDArray[np.int32]) -> Matrix:
    """Ratings were kept times 100, and users by their position in the publisher's sheet, from 0."""
    return Matrix(M / 100, _labels(rows + 1), _labels(np.arange(1, M.shape[1] + 1)))


def _labels(labels: NDArray[np.generic]) -> tuple[str, ...]:
    return tuple(str(label) for label in labels)
