"""MovieLens: who gave which movie how many stars."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix
from maxentry.studies.datasets.reading import member

FEWEST = 50  # ratings of a movie, for it to be in movielens-1m
LARGEST = 10_000  # number of a user or movie: others are no MovieLens of these sizes, and may fill the memory

Integers = NDArray[np.integer]


def movielens_100k(path: Path) -> Matrix:
    """u.data, alone or in ml-100k.zip: user, movie, stars, time, between tabs; all numbers up to the last."""
    user, movie, stars = _triples(member(path, "u.data"), b"\t", path)
    users, movies = np.arange(1, user.max() + 1), np.arange(1, movie.max() + 1)
    return matrix_of_ratings(users, movies, user - 1, movie - 1, stars)


def movielens_1m(path: Path, fewest: int = FEWEST) -> Matrix:
    """ratings.dat, alone or in ml-1m.zip: user::movie::stars::time; the movies with at least `fewest` ratings."""
    user, movie, stars = _triples(member(path, "ratings.dat"), b"::", path)
    users = np.arange(1, user.max() + 1)
    movies, count = np.unique(movie, return_counts=True)
    movies = movies[count >= fewest]
    kept = np.isin(movie, movies)
    return matrix_of_ratings(users, movies, user[kept] - 1, np.searchsorted(movies, movie[kept]), stars[kept])


def matrix_of_ratings(users: Integers, movies: Integers, i: Integers, j: Integers, stars: Integers) -> Matrix:
    """The matrix with `stars` at (i, j), positions from 0, and NaN elsewhere."""
    M = np.full((len(users), len(movies)), np.nan)
    M[i, j] = stars
    return Matrix(M, tuple(str(u) for u in users), tuple(str(v) for v in movies))


def _triples(text: bytes, between: bytes, path: Path) -> tuple[Integers, ...]:
    """User, movie and stars of each line."""
    fields = [line.split(between)[:3] for line in text.splitlines() if line]
    try:
        user, movie, stars = np.array(fields, dtype=np.int64).reshape(-1, 3).T
        right = min(user.min(), movie.min(), stars.min()) > 0 and stars.max() <= 5
    except (ValueError, OverflowError):  # no lines, too few fields, no numbers, or endless ones
        right = False
    if not right or max(user.max(), movie.max()) > LARGEST:
        raise DataError(
            f"expected lines of user, movie, stars (1 to 5) and time with {between.decode()!r} between them, "
            f"but {path} has others."
        )
    return user, movie, stars
