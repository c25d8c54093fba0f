"""Descent on the factors of X, by accelerated alternating ridge regression.

|X|_* = min over A B' = X of (|A|^2 + |B|^2) / 2, so with enough columns in A and B, Eq. (nuc) is

    F(A, B) = sum w (y - a_i' b_j)^2 + lambda / 2 (|A|^2 + |B|^2),

a ridge regression of every row on B for fixed B, and of every column on A for fixed A. One sweep does both.
The sweep is a fixed-point map of B alone; Anderson's extrapolation over the last few sweeps speeds it up, and
is taken back where it fails to lower F, so F never rises.
"""

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.completion.entries import Entries, LowRank

Floats = NDArray[np.float64]
MEMORY = 8


class Sweep(NamedTuple):
    """One sweep from B: the new factors and their F."""

    A: Floats
    B: Floats
    F: float


def sweep(entries: Entries, B: Floats, penalty: float) -> Sweep:
    """A for this B, then B for that A."""
    A, _ = entries.by_row.ridge(B, penalty / 2)
    B, fitted = entries.by_col.ridge(A, penalty / 2)
    # At the ridge solution, sum w (y - x)^2 + lambda/2 |B|^2 = sum w y^2 - sum w y x.
    return Sweep(A, B, entries.energy - fitted + penalty / 2 * float(np.sum(A * A)))


def descend(
    entries: Entries, X: LowRank, penalty: float, accuracy: float, sweeps: int
) -> tuple[LowRank, int]:
    """Sweep until no component moves by more than `accuracy`, relatively; the matrix and the sweeps taken."""
    start = np.ascontiguousarray(X.balanced()[1])
    best = sweep(entries, start, penalty)
    history: deque[tuple[Floats, Floats]] = deque([(start, best.B)], maxlen=MEMORY)
    taken = 1
    while taken < sweeps and movement(*history[-1]) > accuracy:
        proposal = extrapolate(history)
        trial = sweep(entries, proposal, penalty)
        taken += 1
        if trial.F > best.F * (1.0 + 1e-13) and len(history) > 1:
            history.clear()
            proposal = best.B
            trial = sweep(entries, proposal, penalty)
            taken += 1
        best = trial
        history.append((proposal, best.B))
    return LowRank.of_factors(best.A, best.B), taken


def movement(old: Floats, new: Floats) -> float:
    """The largest relative change of a column: small components count as much as large ones."""
    size = np.sum(new**2, axis=0)
    change = np.sum((new - old) ** 2, axis=0)
    return float(np.sqrt(np.max(change[size > 0] / size[size > 0], initial=0.0)))


def extrapolate(history: deque[tuple[Floats, Floats]]) -> Floats:
    """Anderson: the combination of the last sweeps whose combined movement is smallest."""
    last = history[-1][1]
    if len(history) == 1:
        return last
    images = np.array([image.ravel() for _, image in history])
    moves = images - np.array([point.ravel() for point, _ in history])
    steps = np.diff(moves, axis=0)
    gram = steps @ steps.T
    gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + np.finfo(float).tiny
    weights = np.linalg.solve(gram, steps @ moves[-1])
    combined: Floats = last - (weights @ np.diff(images, axis=0)).reshape(last.shape)
    return combined
