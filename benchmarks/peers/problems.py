"""The matrices of the comparison, each with entries to learn from, held-out ones, and 200 unobserved ones to watch."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks import matrices

WATCHED = 200


class Problem(NamedTuple):
    """A matrix, and how long to sample it."""

    name: str
    title: str
    make: Callable[[], dict[str, np.ndarray]]
    rank: int
    burnin: int
    sweeps: int  # of a recorded chain, burn-in included
    chains: int  # that are recorded
    timed: int  # sweeps of a timed run
    repeats: int  # of a timed run
    seconds: float  # of the processor, a thread, at most, for one cell


def simulated(
    shape: tuple[int, int], rank: int, n: int, held_out: int, noise_sd: float, watched: int = WATCHED
) -> dict[str, np.ndarray]:
    """Entries of sd 1 and rank `rank`, different ones uniformly at random; values have noise, held-out ones too."""
    rng = np.random.default_rng([*shape, rank, n])
    cells, wanted = shape[0] * shape[1], n + held_out + watched
    flat = (
        np.unique(rng.integers(cells, size=round(1.1 * wanted))) if cells > 20 * wanted else np.arange(cells)
    )
    i, j = np.divmod(rng.permutation(flat)[:wanted], shape[1])
    left, right = (rng.standard_normal((m, rank)) for m in shape)
    y = noise_sd * rng.standard_normal(wanted)
    for r in range(rank):  # one pattern at a time: there may be ten million entries
        y += left[i, r] * right[j, r] / np.sqrt(rank)
    return parts(shape, i, j, y, n, held_out)


def rated(triples: matrices.Triples, most_held_out: int) -> dict[str, np.ndarray]:
    """A random 80/20 split of ratings; entries that nobody rated are watched."""
    shape, rows, cols, values = triples
    rng = np.random.default_rng([*shape, values.size])
    order = rng.permutation(values.size)
    n = round(0.8 * order.size)
    order = order[: n + most_held_out]
    known = rows * shape[1] + cols
    free = np.setdiff1d(rng.integers(shape[0] * shape[1], size=4 * WATCHED), known)
    i, j = np.divmod(rng.permutation(free)[:WATCHED], shape[1])
    rows, cols = np.concatenate([rows[order], i]), np.concatenate([cols[order], j])
    return parts(shape, rows, cols, values[order], n, order.size - n)


def parts(
    shape: tuple[int, int], rows: np.ndarray, cols: np.ndarray, values: np.ndarray, n: int, held_out: int
) -> dict[str, np.ndarray]:
    """The first n to learn from, then the held-out ones, then those to watch."""
    learn, test, watch = slice(n), slice(n, n + held_out), slice(n + held_out, None)
    return {
        "shape": np.array(shape), "rows": rows[learn], "cols": cols[learn], "values": values[learn],
        "test_rows": rows[test], "test_cols": cols[test], "test_values": values[test],
        "watched_rows": rows[watch], "watched_cols": cols[watch],
    }  # fmt: skip


PROBLEMS = [
    Problem(
        "60x60", "60 x 60 with 900 entries, rank 4, noise sd 0.05", lambda: simulated((60, 60), 4, 900, 2500, 0.05),
        rank=4, burnin=500, sweeps=2000, chains=4, timed=500, repeats=3, seconds=120,
    ),
    Problem(
        "1000x1000", "1,000 x 1,000 with 50,000 entries, rank 8, noise sd 0.3",
        lambda: simulated((1000, 1000), 8, 50_000, 20_000, 0.3),
        rank=8, burnin=100, sweeps=400, chains=4, timed=100, repeats=3, seconds=120,
    ),
    Problem(
        "ml-100k", "MovieLens 100K, 943 x 1,682 with 80,000 of its ratings",
        lambda: rated(matrices.movielens_100k(), 20_000),
        rank=10, burnin=100, sweeps=400, chains=2, timed=50, repeats=3, seconds=240,
    ),
    Problem(
        "ml-1m", "MovieLens 1M (movies with 50 ratings or more), 6,040 x 2,514 with 782,271 of its ratings",
        lambda: rated(matrices.movielens_1m(), 50_000),
        rank=10, burnin=40, sweeps=140, chains=2, timed=20, repeats=2, seconds=300,
    ),
    Problem(
        "1e7", "100,000 x 20,000 with 10,000,000 entries, rank 10, noise sd 0.5",
        lambda: simulated((100_000, 20_000), 10, 10_000_000, 50_000, 0.5),
        rank=10, burnin=10, sweeps=40, chains=1, timed=6, repeats=1, seconds=400,
    ),
]  # fmt: skip

QUICK = [
    Problem(
        "20x20", "20 x 20 with 200 entries, rank 2, noise sd 0.1",
        lambda: simulated((20, 20), 2, 200, 150, 0.1, watched=20),
        rank=2, burnin=10, sweeps=30, chains=2, timed=20, repeats=1, seconds=20,
    ),
]  # fmt: skip


def saved(problem: Problem, folder: Path) -> Path:
    """The arrays of the problem in a file, made on first use."""
    path = folder / f"{problem.name}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(path, **problem.make())
    return path
