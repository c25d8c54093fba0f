"""The real matrices of the comparisons, read from `../shared/data` next to the repository (or MAXENTRY_DATA)."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

FOLDER = Path(os.environ.get("MAXENTRY_DATA", Path(__file__).parents[2] / "shared" / "data"))
PART = (300, 100)  # of the large ones

Triples = tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray]


def movielens_100k() -> Triples:
    """(shape, user, movie, rating), positions from 0."""
    user, movie, rating = np.loadtxt(FOLDER / "ml-100k" / "u.data", dtype=np.int64, usecols=(0, 1, 2)).T
    return (int(user.max()), int(movie.max())), user - 1, movie - 1, rating.astype(float)


def movielens_1m() -> Triples:
    with np.load(FOLDER / "ml-1m" / "ml1m_core.npz") as f:
        m1, m2 = map(int, f["shape"])
        return (m1, m2), f["user"].astype(np.int64), f["item"].astype(np.int64), f["rating"].astype(float)


def busiest(triples: Triples) -> np.ndarray:
    """The part of the most active users and most rated movies; a random part of MovieLens is nearly empty."""
    shape, rows, cols, values = triples
    M = np.full(shape, np.nan)
    M[rows, cols] = values
    known = ~np.isnan(M)
    i, j = (np.argsort(-known.sum(axis), kind="stable")[:n] for axis, n in zip((1, 0), PART, strict=True))
    return M[np.ix_(np.sort(i), np.sort(j))]


def read(path: str) -> np.ndarray:
    with np.load(FOLDER / path) as f:
        return f["M"].astype(float)


def part(M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random part, another one for each seed."""
    i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, PART, strict=True))
    return M[np.ix_(i, j)]


Loader = Callable[[np.random.Generator], np.ndarray]
MATRICES: dict[str, Loader] = {
    "SAT11, log s": lambda rng: np.log(read("aslib/SAT11-INDU.npz")),
    "SAT20, log s": lambda rng: np.log(read("aslib/SAT20-MAIN.npz")),
    "kinase pKd": lambda rng: read("davis/davis_pKd.npz"),
    "Jester": lambda rng: part(read("jester/jester1_complete.npz") / 100, rng),
    "AutoML error": lambda rng: part(read("oboe/oboe_error.npz"), rng),
    "AutoML log s": lambda rng: part(np.log(read("oboe/oboe_runtime.npz")), rng),
    "Buchwald-Hartwig": lambda rng: read("reactions/buchwald_hartwig.npz"),
    "direct arylation": lambda rng: read("reactions/direct_arylation.npz"),
    "MovieLens 100K": lambda rng: busiest(movielens_100k()),
    "MovieLens 1M": lambda rng: busiest(movielens_1m()),
}


def load(name: str, seed: int) -> np.ndarray:
    """The matrix, NaN where nothing is known."""
    return MATRICES[name](np.random.default_rng([seed, 300]))
