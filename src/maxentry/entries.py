"""Entries of a matrix by position, as used by designs, criteria and campaigns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Entries(NamedTuple):
    """Entries (i_n, j_n), n = 1..N, by position, in order and with repeats."""

    rows: Indices
    cols: Indices

    @classmethod
    def of(cls, rows: Any, cols: Any) -> Entries:
        """Build entries from sequences of whole numbers."""
        return cls(np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64))

    @classmethod
    def none(cls) -> Entries:
        """Return an empty set of entries."""
        return cls.of([], [])

    @classmethod
    def from_keys(cls, keys: Indices, m2: int) -> Entries:
        """Return the entries with these keys in a matrix of m2 columns."""
        return cls(keys // m2, keys % m2)

    def keys(self, m2: int) -> Indices:
        """Return one number per entry of a matrix of m2 columns: i m2 + j."""
        return self.rows * m2 + self.cols

    def joined(self, other: Entries) -> Entries:
        """Return these entries followed by the others."""
        return Entries(np.concatenate([self.rows, other.rows]), np.concatenate([self.cols, other.cols]))
