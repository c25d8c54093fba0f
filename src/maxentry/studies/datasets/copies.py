"""Copies of data sets that are matrices already (.npz), as MAXENTRY_DATA may hold them and the cache keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxentry._io import write_atomically
from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix
from maxentry.studies.datasets.ratings import matrix_of_ratings


def labelled(path: Path) -> Matrix:
    """M, rows, cols."""
    with _arrays(path) as a:
        matrix = Matrix(a["M"].astype(float), _labels(a["rows"]), _labels(a["cols"]))
        if matrix.M.shape != (len(matrix.rows), len(matrix.cols)):
            raise ValueError("its labels are not as many as its rows and columns")
        return matrix


def jester(path: Path) -> Matrix:
    """Ratings times 100, and users by their position in the publisher's sheet, from 0."""
    with _arrays(path) as a:
        return Matrix(a["M"] / 100, _labels(a["rows"] + 1), _labels(np.arange(1, a["M"].shape[1] + 1)))


def movielens_1m(path: Path) -> Matrix:
    """Positions from 0 of users and movies, stars, and the publisher's numbers of the movies."""
    with _arrays(path) as a:
        users = np.arange(1, int(a["shape"][0]) + 1)
        return matrix_of_ratings(users, a["movie_id"], a["user"], a["item"], a["rating"])


def keep(matrix: Matrix, path: Path) -> None:
    """Write M, rows, cols, all at once: another process sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as part, part.open("wb") as file:
        M = matrix.M.astype(np.float32)
        np.savez_compressed(file, M=M, rows=np.array(matrix.rows), cols=np.array(matrix.cols))


@contextmanager
def _arrays(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except Exception as error:  # NumPy raises whatever a broken file leads it into
        raise DataError(f"expected a matrix in {path}, but it cannot be read: {error}.") from None


def _labels(labels: NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(label) for label in labels)
