"""The distinct observed entries: the mean of each entry's measurements, and how many there were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from maxentry.kernels import sparse_low_rank

Floats = NDArray[np.float64]


class Measured(Protocol):
    """What a completion reads of observations."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""

    @property
    def rows(self) -> NDArray[np.int32]:
        """Row of each measurement."""

    @property
    def cols(self) -> NDArray[np.int32]:
        """Column of each measurement."""

    @property
    def values(self) -> Floats:
        """The measurements."""


class LowRank(NamedTuple):
    """X = U diag(d) V' with orthonormal columns in U and V."""

    U: Floats  # (m1, k)
    d: Floats  # (k,), positive, decreasing
    V: Floats  # (m2, k)

    @classmethod
    def zero(cls, shape: tuple[int, int]) -> LowRank:
        """The zero matrix."""
        return cls(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))

    @classmethod
    def of_factors(cls, A: Floats, B: Floats) -> LowRank:
        """The singular value decomposition of A B'."""
        Q, R = np.linalg.qr(A)
        P, S = np.linalg.qr(B)
        u, d, vt = np.linalg.svd(R @ S.T)
        return cls(Q @ u, d, P @ vt.T).keep(d > 1e-12 * d.max(initial=0.0))

    def keep(self, which: NDArray[np.bool_]) -> LowRank:
        """Only these components."""
        return LowRank(self.U[:, which], self.d[which], self.V[:, which])

    def balanced(self) -> tuple[Floats, Floats]:
        """A and B with A B' = X and |A|^2 = |B|^2 = |X|_*."""
        root = np.sqrt(self.d)
        return self.U * root, self.V * root


@dataclass(frozen=True)
class Half:
    """The entries compressed by row (or by column): where each row starts, its columns, means and counts."""

    start: NDArray[np.int64]
    index: NDArray[np.int32]
    y: Floats
    w: Floats

    def ridge(self, B: Floats, ridge: float) -> tuple[Floats, float]:
        """The best A for this B under ridge |A|^2, and sum w y x at A B'."""
        A = np.empty((self.start.size - 1, B.shape[1]))
        return A, sparse_low_rank.ridge_rows(self.start, self.index, self.y, self.w, B, ridge, A)


@dataclass(frozen=True)
class Entries:
    """Distinct entries of an m1 x m2 matrix, sorted by row.

    A sum of squares over all measurements is a weighted one over the entries plus a constant:
    sum_n (y_n - x_n)^2 = sum_e w_e (y_e - x_e)^2 + scatter.
    """

    shape: tuple[int, int]
    by_row: Half
    by_col: Half
    scatter: float  # of replicates about their mean
    energy: float  # sum w y^2

    @classmethod
    def of(
        cls, shape: tuple[int, int], rows: NDArray[np.int32], cols: NDArray[np.int32], values: Floats
    ) -> Entries:
        """Collect measurements into entries."""
        m1, m2 = shape
        place, entry, count = np.unique(
            rows.astype(np.int64) * m2 + cols, return_inverse=True, return_counts=True
        )
        w = count.astype(np.float64)
        y = np.bincount(entry, values) / w
        i, j = (place // m2).astype(np.int32), (place % m2).astype(np.int32)
        by_col = np.argsort(j, kind="stable")
        return cls(
            (m1, m2),
            Half(_starts(i, m1), j, y, w),
            Half(_starts(j, m2), i[by_col], y[by_col], w[by_col]),
            float(np.sum((values - y[entry]) ** 2)),
            float(np.sum(w * y * y)),
        )

    def at(self, X: LowRank) -> Floats:
        """X at the entries."""
        x = np.empty_like(self.by_row.y)
        A, B = np.ascontiguousarray(X.U * X.d), np.ascontiguousarray(X.V)
        sparse_low_rank.entries(self.by_row.start, self.by_row.index, A, B, x)
        return x

    def sparse(self, g: Floats) -> csr_array:
        """The m1 x m2 matrix with g at the entries and nothing elsewhere."""
        return csr_array((g, self.by_row.index, self.by_row.start), shape=self.shape)

    def residual(self, X: LowRank) -> Floats:
        """y - x at the entries."""
        r: Floats = self.by_row.y - self.at(X)
        return r

    def objective(self, X: LowRank, penalty: float) -> float:
        """Eq. (nuc) at X, every measurement counted."""
        rss = float(self.by_row.w @ self.residual(X) ** 2)
        return rss + self.scatter + penalty * float(X.d.sum())


def _starts(index: NDArray[np.int32], m: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=m))]).astype(np.int64)
