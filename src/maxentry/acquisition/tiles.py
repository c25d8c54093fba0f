"""Exact screening: the matrix in tiles, visited in decreasing order of a bound on their entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.question import Costs

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

TILE = 128  # a side of a tile holds at least so many rows or columns
MOST = 48  # tiles a side
ROUNDING, TINY = 1e-9, 1e-300


class Tile(NamedTuple):
    """Some rows and columns; no entry of them that scores less than `below`, at first, scores above the bound.

    Tiles compare by their bounds, the greatest first, as a heap wants them.
    """

    order: tuple[float, int]  # (minus the bound, number of the tile)
    rows: Indices
    cols: Indices
    below: float = np.inf

    @property
    def bound(self) -> float:
        """No entry scores above."""
        return -self.order[0]

    @property
    def number(self) -> int:
        """The same for a tile and what is left of it, each time the matrix is cut."""
        return self.order[1]

    def rest(self, bound: float, below: float) -> Tile:
        """What is left of the tile when entries from `below` on are taken out."""
        return Tile((-bound, self.order[1]), self.rows, self.cols, below)


def tiles(bounds: list[tuple[Array, Array]], eta2: float, costs: Costs) -> list[Tile]:
    """All entries in tiles, with bounds on 1/2 log(1 + v/eta2)/cost.

    bounds: pairs of non-negative P (m1, k) and Q (m2, k), each with sqrt(v_ij) <= P_i . Q_j for every entry.
    """
    if any(len(P) == 0 or len(Q) == 0 for P, Q in bounds):
        return []
    row_level, col_level = (
        sum(np.log(x + TINY) for x in side) for side in zip(*map(_levels, bounds), strict=True)
    )
    found: list[Tile] = []
    for rows in _classes(row_level):
        for cols in _classes(col_level):
            sd = min(float(P[rows].max(0) @ Q[cols].max(0)) for P, Q in bounds)
            v = sd * sd * (1 + ROUNDING)
            bound = 0.5 * np.log1p(v / eta2) / costs.least(rows, cols)
            found.append(Tile((-bound, len(found)), rows, cols))
    return found


def _levels(bound: tuple[Array, Array]) -> tuple[Array, Array]:
    """How high the bound is in a row, and in a column, on average."""
    P, Q = bound
    return P @ Q.mean(0), Q @ P.mean(0)


def _classes(level: Array) -> list[Indices]:
    """Indices of like levels together, each class sorted."""
    n = int(np.clip(len(level) // TILE, 1, MOST))
    order = np.argsort(-level, kind="stable").astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, n)]
