"""Tables with features: simulated fingerprints, MovieLens with ages and genres, AutoML errors with meta-features.

Of each, some rows have no measurement to learn from (cold), and other entries of the rest are held out (warm).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from benchmarks.matrices import FOLDER, movielens_100k, read
from benchmarks.measures import Task

MOST = 10_000  # entries to predict, warm and cold each


class Problem(NamedTuple):
    """A task, the values held out, which of them are in cold rows, and the features of both sides."""

    task: Task
    truth: np.ndarray
    cold: np.ndarray
    row_features: Any
    col_features: Any = None


def split(
    entries: tuple[np.ndarray, np.ndarray, np.ndarray],
    shape: tuple[int, int],
    share: float,
    cold_rows: np.ndarray,
    rng: np.random.Generator,
    row_features: Any,
    col_features: Any = None,
) -> Problem:
    """Learn from a share of the entries of the rows that are not cold; predict the others."""
    rows, cols, values = entries
    cold = np.isin(rows, cold_rows)
    train = ~cold & (rng.random(values.size) < share)
    tests = [rng.permutation(np.flatnonzero(part))[:MOST] for part in (~cold & ~train, cold)]
    test = np.concatenate(tests)
    task = Task(shape, rows[train], cols[train], values[train], rows[test], cols[test])
    return Problem(task, values[test], cold[test], row_features, col_features)


def fingerprints(seed: int) -> Problem:
    """2,000 x 100, rank 8, p = 1,000 bits of which a row has 40 or so; they explain 70% of the variance of factors."""
    rng, m, n, p, rank = np.random.default_rng([41, seed]), 2000, 100, 1000, 8
    often = 0.4 / (1 + np.arange(p)) ** 0.5
    bits = sp.csr_array((rng.random((m, p)) < often * 40 / often.sum()).astype(float))
    told = bits @ rng.standard_normal((p, rank))
    told = (told - told.mean(0)) / told.std(0)
    A = np.sqrt(0.7) * told + np.sqrt(0.3) * rng.standard_normal((m, rank))
    X = A @ rng.standard_normal((rank, n)) / np.sqrt(rank) + 0.5 * rng.standard_normal(n)
    Y = X + 0.4 * rng.standard_normal(X.shape)
    i, j = np.divmod(np.arange(m * n), n)
    cold = rng.permutation(m)[: m // 10]
    return split((i, j, Y.ravel()), (m, n), 0.05, cold, rng, bits)


def movielens(seed: int) -> Problem:
    """Users by age, gender and occupation, movies by genres and year; a tenth of the users is cold."""
    rng = np.random.default_rng([42, seed])
    shape, rows, cols, values = movielens_100k()
    cold = rng.permutation(shape[0])[: shape[0] // 10]
    return split((rows, cols, values), shape, 0.8, cold, rng, standardise(users()), standardise(movies()))


def users() -> np.ndarray:
    lines = [line.split("|") for line in (FOLDER / "ml-100k" / "u.user").read_text().splitlines()]
    jobs = sorted({line[3] for line in lines})
    told = [[float(age), gender == "F", *(job == one for one in jobs)] for _, age, gender, job, *_ in lines]
    return np.array(told, dtype=float)


def movies() -> np.ndarray:
    text = (FOLDER / "ml-100k" / "u.item").read_text(encoding="latin-1")
    lines = [line.split("|") for line in text.splitlines()]
    years = np.array([float(line[2][-4:] or "nan") for line in lines])
    years[np.isnan(years)] = np.nanmean(years)
    return np.column_stack([years, np.array([line[5:] for line in lines], dtype=float)])


def automl(seed: int) -> Problem:
    """Data sets by their errors with 20 models, which are no columns of the table; a tenth of the data sets is cold."""
    rng, M = np.random.default_rng([43, seed]), read("oboe/oboe_error.npz")
    apart = np.isin(np.arange(M.shape[1]), rng.permutation(M.shape[1])[:20])
    m, n = M.shape[0], int((~apart).sum())
    i, j = np.divmod(np.arange(m * n), n)
    cold = rng.permutation(m)[: m // 10]
    return split((i, j, M[:, ~apart].ravel()), (m, n), 0.1, cold, rng, standardise(M[:, apart]))


def standardise(F: np.ndarray) -> np.ndarray:
    """Columns that vary, of mean 0 and variance 1: what both methods are given."""
    F = F[:, F.std(0) > 0]
    return (F - F.mean(0)) / F.std(0)


PROBLEMS = {"fingerprints": fingerprints, "MovieLens 100K": movielens, "AutoML error": automl}
