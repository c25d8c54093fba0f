"""Limits per row and column, as a batch fills them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.question import Limits

Indices = NDArray[np.int64]

NO_LIMIT = 2**62


class Room:
    """How many more a batch may take of each row and column."""

    def __init__(self, shape: tuple[int, int], limits: Limits) -> None:
        m1, m2 = shape
        self.row = np.full(m1, NO_LIMIT if limits.per_row is None else limits.per_row)
        self.col = np.full(m2, NO_LIMIT if limits.per_col is None else limits.per_col)

    def at(self, rows: Indices, cols: Indices) -> NDArray[np.bool_]:
        """Where a block still has room."""
        return (self.row[rows] > 0)[:, None] & (self.col[cols] > 0)

    def takes(self, i: int, j: int) -> bool:
        """Take one in row i and column j where there is room for it; whether there was."""
        if self.row[i] == 0 or self.col[j] == 0:
            return False
        self.row[i] -= 1
        self.col[j] -= 1
        return True
