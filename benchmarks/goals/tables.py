"""The tables of the campaigns, and the entries they begin with."""

import os
from pathlib import Path

import numpy as np
from benchmarks import matrices
from benchmarks.goals.measures import Truth

MOST = 100, 40
SMALL = ("SAT11, log s", "SAT20, log s", "AutoML error", "AutoML log s")  # where small is good
BATCHES = 8
CELLS = Path(os.environ.get("GOALS_CELLS", Path(__file__).parent / "cells.jsonl"))


def table(name: str, seed: int, most: tuple[int, int] = MOST) -> np.ndarray:
    """At most 100 x 40 (or 40 x 100) of a matrix, large values good."""
    M, rng = matrices.load(name, seed), np.random.default_rng([seed, 7])
    most = most if M.shape[0] >= M.shape[1] else most[::-1]
    i, j = (np.sort(rng.choice(m, min(m, n), replace=False)) for m, n in zip(M.shape, most, strict=True))
    return -M[np.ix_(i, j)] if name in SMALL else M[np.ix_(i, j)]


def first_entries(truth: Truth, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    """Keys of 2m entries at random, and the stream for what comes after."""
    rng = np.random.default_rng([seed, 99])
    return rng.permutation(np.flatnonzero(truth.known))[: 2 * max(truth.M.shape)], rng
