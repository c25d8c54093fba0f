"""What a point estimate reads and returns: weighted entries, a matrix in factors with its certificate, new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from maxentry.errors import DataError
from maxentry.frames import Form
from maxentry.kernels import ridge as kernel
from maxentry.model.effects import Effects

Floats = NDArray[np.float64]


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
    def from_factors(cls, A: Floats, B: Floats) -> LowRank:
        """Return the singular value decomposition of A B'."""
        Q, R = np.linalg.qr(A)
        P, S = np.linalg.qr(B)
        u, d, vt = np.linalg.svd(R @ S.T)
        return cls(Q @ u, d, P @ vt.T).select(d > 1e-12 * d.max(initial=0.0))

    def select(self, mask: NDArray[np.bool_]) -> LowRank:
        """Return only these components."""
        return LowRank(self.U[:, mask], self.d[mask], self.V[:, mask])

    def balance(self) -> tuple[Floats, Floats]:
        """Return A and B with A B' = X and |A|^2 = |B|^2 = |X|_*."""
        root = np.sqrt(self.d)
        return self.U * root, self.V * root


@dataclass(frozen=True)
class CompressedSide:
    """The entries compressed by row (or by column): where each row starts, its columns, means and counts."""

    start: NDArray[np.int64]
    index: NDArray[np.int32]
    y: Floats
    w: Floats

    def ridge(self, B: Floats, ridge: float) -> tuple[Floats, float]:
        """Return the best A for this B under ridge |A|^2, and sum w y x at A B'."""
        A = np.empty((self.start.size - 1, B.shape[1]))
        return A, kernel.solve_ridge_rows(self.start, self.index, self.y, self.w, B, ridge, A)


@dataclass(frozen=True)
class WeightedEntries:
    """Distinct entries of an m1 x m2 matrix, sorted by row: the mean and the number of their measurements.

    A sum of squares over all measurements is a weighted one over the entries plus a constant:
    sum_n (y_n - x_n)^2 = sum_e w_e (y_e - x_e)^2 + scatter.
    """

    shape: tuple[int, int]
    by_row: CompressedSide
    by_col: CompressedSide
    scatter: float  # of replicates about their mean
    energy: float  # sum w y^2

    @classmethod
    def from_measurements(
        cls, shape: tuple[int, int], rows: NDArray[np.int32], cols: NDArray[np.int32], values: Floats
    ) -> WeightedEntries:
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
            CompressedSide(_row_starts(i, m1), j, y, w),
            CompressedSide(_row_starts(j, m2), i[by_col], y[by_col], w[by_col]),
            float(np.sum((values - y[entry]) ** 2)),
            float(np.sum(w * y * y)),
        )

    def at(self, X: LowRank) -> Floats:
        """X at the entries."""
        x = np.empty_like(self.by_row.y)
        A, B = np.ascontiguousarray(X.U * X.d), np.ascontiguousarray(X.V)
        kernel.evaluate_entries(self.by_row.start, self.by_row.index, A, B, x)
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


def _row_starts(index: NDArray[np.int32], m: int) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=m))]).astype(np.int64)


class SolverStatus(Enum):
    """How the solver ended; the text says what to do."""

    CONVERGED = "converged: the objective is within the relative duality gap asked for."
    ITERATION_LIMIT = (
        "stopped at the iteration limit before the duality gap was small enough: raise max_iter, loosen tol, "
        "or start from the solution at a larger penalty (warm_start)."
    )
    STALLED = (
        "neither the objective nor the duality gap shrinks any more, which is the limit of floating point: the "
        "result is as good as it gets; loosen tol, or raise the penalty."
    )

    @property
    def advice(self) -> str:
        """The text."""
        return self.value


@dataclass(frozen=True, eq=False)
class Completion:
    """The estimate mean + U diag(d) V', kept as factors."""

    U: Floats = field(repr=False)  # (m1, k), orthonormal columns
    d: Floats = field(repr=False)  # (k,), decreasing
    V: Floats = field(repr=False)  # (m2, k), orthonormal columns
    effects: Effects | None = field(repr=False)  # mu + r_i + c_j, if centred
    penalty: float
    objective: float  # Eq. (nuc) at the estimate, of the centred values if centred
    gap: float  # relative duality gap: the objective is within gap * objective of the optimum
    iterations: int
    status: SolverStatus
    form: Form = field(default=Form(), repr=False)  # how the observations came

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.U.shape[0], self.V.shape[0]

    @property
    def rank(self) -> int:
        """The number of components."""
        return int(self.d.size)

    @property
    def converged(self) -> bool:
        """Whether the certificate holds."""
        return self.status is SolverStatus.CONVERGED

    def predict(self, rows: ArrayLike, cols: ArrayLike) -> Floats:
        """The estimate at the entries (rows[n], cols[n]), given by position; rows and cols broadcast."""
        i, j = np.broadcast_arrays(
            _check_positions(rows, "row", self.shape[0]), _check_positions(cols, "column", self.shape[1])
        )
        x = np.einsum("...k,...k->...", self.U[i] * self.d, self.V[j])
        return np.asarray(x if self.effects is None else x + self.effects.at(i, j))

    def matrix(self) -> Any:
        """The estimate of every entry, m1 x m2: a frame with labels if the observations came in one, else an array.

        Only for matrices that fit.
        """
        X: Floats = (self.U * self.d) @ self.V.T
        return self.form.wrap(X if self.effects is None else X + self.effects.matrix())


def _check_positions(index: ArrayLike, name: str, m: int) -> NDArray[np.intp]:
    positions = np.asarray(index)
    if positions.dtype.kind not in "iu":
        raise DataError(f"expected whole numbers as {name} positions, got {positions.dtype}")
    if positions.size and not (positions.min() >= 0 and positions.max() < m):
        got = f"{positions.min()} to {positions.max()}"
        raise DataError(f"expected {name} positions from 0 to {m - 1}, got {got}")
    return positions.astype(np.intp)


ROW_RIDGE = 1.0  # of the row effects in `nuclear_norm.remove_means`


def fold_in(completion: Completion, Y: Floats) -> Floats:
    """Estimate every entry of new rows Y (n, m2), NaN where missing; a row of NaN gets the column means.

    By the variational form |X|_* = min (|A|^2 + |B|^2) / 2 over X = A B', attained at A = U D^(1/2), B = V D^(1/2),
    the rows of A solve a ridge regression each for fixed B: a_i = argmin sum_j (y_ij - b_j'a)^2 + (lambda/2) |a|^2.
    Rows that the estimate was fitted to come back unchanged: that is its optimality condition G V = lambda U.
    """
    m2 = completion.shape[1]
    if Y.ndim != 2 or Y.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, got shape {Y.shape}")
    mean = _new_row_means(completion, Y)
    i, j = np.nonzero(~np.isnan(Y))
    values = (Y - mean)[i, j]
    _, B = LowRank(completion.U, completion.d, completion.V).balance()
    if not (i.size and B.shape[1]):
        return mean
    entries = WeightedEntries.from_measurements((len(Y), m2), i.astype(np.int32), j.astype(np.int32), values)
    A, _ = entries.by_row.ridge(np.ascontiguousarray(B), 0.5 * completion.penalty)
    return mean + A @ B.T


def _new_row_means(completion: Completion, Y: Floats) -> Floats:
    """Return mu + r_i + c_j, with the effect r_i of each new row fitted as those of the old rows were."""
    if completion.effects is None:
        return np.zeros(Y.shape)
    level = completion.effects.mu + completion.effects.col
    seen = ~np.isnan(Y)
    r = np.where(seen, Y - level, 0.0).sum(1) / (seen.sum(1) + ROW_RIDGE)
    return np.asarray(level + r[:, None])
