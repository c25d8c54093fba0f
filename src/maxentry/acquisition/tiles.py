"""Exact screening: the matrix in tiles, visited in decreasing order of a bound on their entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.question import Costs

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TILE, MOST = (
    64,
    48,
)  # a side of a tile holds at least so many rows, and there are at most so many tiles a side
ROUNDING, TINY = 1e-9, 1e-300


class Tile(NamedTuple):
    """Some rows and columns; no entry of them scores above the bound."""

    bound: float
    rows: Indices
    cols: Indices


def tiles(bounds: list[tuple[Array, Array]], eta2: float, costs: Costs) -> list[Tile]:
    """All entries in tiles, the greatest bound on 1/2 log(1 + v/eta2)/cost first.

    bounds: pairs of non-negative P (m1, k) and Q (m2, k), each with sqrt(v_ij) <= P_i . Q_j for every entry.
    """
    if any(len(P) == 0 or len(Q) == 0 for P, Q in bounds):
        return []
    row_level, col_level = (
        sum(np.log(x + TINY) for x in side) for side in zip(*map(_levels, bounds), strict=True)
    )
    found = []
    for rows in _classes(row_level):
        for cols in _classes(col_level):
            sd = min(float(P[rows].max(0) @ Q[cols].max(0)) for P, Q in bounds)
            v = sd * sd * (1 + ROUNDING)
            found.append(Tile(0.5 * np.log1p(v / eta2) / costs.least(rows, cols), rows, cols))
    return sorted(found, key=lambda tile: -tile.bound)


def _levels(bound: tuple[Array, Array]) -> tuple[Array, Array]:
    """How high the bound is in a row, and in a column, on average."""
    P, Q = bound
    return P @ Q.mean(0), Q @ P.mean(0)


def _classes(level: Array) -> list[Indices]:
    """Indices of like levels together, each class sorted."""
    n = int(np.clip(len(level) // TILE, 1, MOST))
    order = np.argsort(-level, kind="stable").astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, n)]
