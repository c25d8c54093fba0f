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


class Tile(NamedTuple):
    """Some rows and columns; no entry of them scores above the bound."""

    bound: float
    rows: Indices
    cols: Indices


def tiles(P: Array, Q: Array, eta2: float, costs: Costs) -> list[Tile]:
    """All entries in tiles, from sqrt(v_ij) <= P_i . Q_j, the greatest bound on 1/2 log(1 + v/eta2)/cost first."""
    found = []
    sides = [_classes(P @ Q.mean(0)), _classes(Q @ P.mean(0))] if len(P) and len(Q) else [[], []]
    for rows in sides[0]:
        for cols in sides[1]:
            v = float(P[rows].max(0) @ Q[cols].max(0)) ** 2 * (1 + 1e-9)
            found.append(Tile(0.5 * np.log1p(v / eta2) / costs.least(rows, cols), rows, cols))
    return sorted(found, key=lambda tile: -tile.bound)


def _classes(level: Array) -> list[Indices]:
    """Indices of like levels together, each class sorted."""
    n = int(np.clip(len(level) // TILE, 1, MOST))
    order = np.argsort(-level, kind="stable").astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, n)]
