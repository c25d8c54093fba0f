"""MovieLens: who gave which movie how many stars."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix

FEWEST = 50  # ratings of a movie, for it to be in movielens-1m


def movielens_100k(text: bytes, source: str) -> Matrix:
    """u.data: user, movie, stars and time, separated by tabs; every user and movie up to the last number."""
    user, movie, stars = _triples(text, b"\t", source)
    users, movies = np.arange(1, user.max() + 1), np.arange(1, movie.max() + 1)
    return matrix_of_ratings(users, movies, user - 1, movie - 1, stars)


def movielens_1m(text: bytes, source: str) -> Matrix:
    """ratings.dat: user::movie::stars::time; the movies with at least 50 ratings (others have no number to predict)."""
    user, movie, stars = _triples(text, b"::", source)
    movies, count = np.unique(movie, return_counts=True)
    movies = movies[count >= FEWEST]
    kept = np.isin(movie, movies)
    user, movie, stars = user[kept], movie[kept], stars[kept]
    users = np.arange(1, user.max(initial=0) + 1)
    return matrix_of_ratings(users, movies, user - 1, np.searchsorted(movies, movie), stars)


def matrix_of_ratings(
    users: NDArray[np.integer],
    movies: NDArray[np.integer],
    i: NDArray[np.integer],
    j: NDArray[np.integer],
    stars: NDArray[np.integer],
) -> Matrix:
    """The matrix with `stars` at (i, j), positions from 0, and NaN elsewhere."""
    M = np.full((len(users), len(movies)), np.nan)
    M[i, j] = stars
    return Matrix(M, tuple(str(u) for u in users), tuple(str(v) for v in movies))


def _triples(text: bytes, between: bytes, source: str) -> tuple[NDArray[np.int64], ...]:
    """User, movie and stars of each line."""
    fields = [line.split(between) for line in text.splitlines() if line]
    try:
        user, movie, stars = np.array([field[:3] for field in fields], dtype=np.int64).T
    except ValueError:
        user = movie = stars = np.zeros(0, np.int64)
    if not len(user) or min(user.min(), movie.min()) < 1 or stars.min() < 1 or stars.max() > 5:
        raise DataError(
            f"expected lines of user, movie, stars (1 to 5) and time, separated by {between.decode()!r}, "
            f"but {source} has others."
        )
    return user, movie, stars
