"""Entries of a matrix by position: what designs lay out, criteria choose and campaigns ask for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Entries(NamedTuple):
    """Entries (i_n, j_n), n = 1..N, by position; their order and repeats are kept."""

    rows: Indices
    cols: Indices

    @classmethod
    def of(cls, rows: Any, cols: Any) -> Entries:
        """Entries from anything that reads as whole numbers."""
        return cls(np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64))

    @classmethod
    def none(cls) -> Entries:
        """No entries."""
        return cls.of([], [])

    @classmethod
    def from_keys(cls, keys: Indices, m2: int) -> Entries:
        """The entries with these keys in a matrix of m2 columns."""
        return cls(keys // m2, keys % m2)

    def keys(self, m2: int) -> Indices:
        """One number for each entry of a matrix of m2 columns: i m2 + j."""
        return self.rows * m2 + self.cols

    def joined(self, other: Entries) -> Entries:
        """These entries, then the others."""
        return Entries(np.concatenate([self.rows, other.rows]), np.concatenate([self.cols, other.cols]))
