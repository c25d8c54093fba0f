"""Row and column effects, mean_ij = mu + r_i + c_j; the paper assumes that they were removed beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import LinearOperator, cg

from maxentry._types import Indices
from maxentry.errors import DataError, ParameterError

Floats = NDArray[np.float64]


class Effects(NamedTuple):
    """The additive mean mu + r_i + c_j."""

    mu: float
    row: Floats  # (m1,)
    col: Floats  # (m2,)

    def at(self, rows: Indices, cols: Indices) -> Floats:
        """The mean at the given entries."""
        mean: Floats = self.mu + self.row[rows] + self.col[cols]
        return mean

    def matrix(self) -> Floats:
        """The mean of every entry, m1 x m2."""
        return self.mu + self.row[:, None] + self.col[None, :]


def row_column_means(
    rows: Indices,
    cols: Indices,
    values: Floats,
    shape: tuple[int, int],
    *,
    row_ridge: float = 1.0,
    col_ridge: float = 1.0,
) -> Effects:
    """Row and column means: the additive fit by penalised least squares.

    Minimises sum_n (y_n - mu - r_{i_n} - c_{j_n})^2 + row_ridge ||r||^2 + col_ridge ||c||^2, the mode of the
    two-way random-effects model with ridge = eta2 / variance of the effect. At the optimum the effects of
    each side sum to zero, and a row or column without observations has effect zero. A tiny ridge gives least
    squares with the smallest effects. Conjugate gradients on the sparse normal equations: O(N) an iteration.
    """
    if len(values) == 0:
        raise DataError("row and column means need at least one observation, got none")
    if not (row_ridge > 0 and col_ridge > 0):
        raise ParameterError(f"the ridges must be positive, got {row_ridge} (rows) and {col_ridge} (columns)")
    m1, m2 = shape
    ridge = np.concatenate([[0.0], np.full(m1, float(row_ridge)), np.full(m2, float(col_ridge))])
    A = _additive_design(rows, cols, shape)
    # Fitting around the plain mean keeps a large offset of the data out of the solver's stopping rule.
    centre = float(np.mean(values))
    G = (A.T @ A + diags_array(ridge)).tocsr()
    beta = _conjugate_gradients(G, A.T @ (values - centre))
    return Effects(centre + float(beta[0]), beta[1 : 1 + m1], beta[1 + m1 :])


def _additive_design(rows: Indices, cols: Indices, shape: tuple[int, int]) -> csr_array:
    """The N x (1 + m1 + m2) matrix with three ones a row: the mean, the row, the column."""
    N = len(rows)
    columns = np.column_stack([np.zeros(N, dtype=np.intp), 1 + rows, 1 + shape[0] + cols])
    pointers = np.arange(0, 3 * N + 1, 3)
    return csr_array((np.ones(3 * N), columns.ravel(), pointers), shape=(N, 1 + sum(shape)))


def _conjugate_gradients(G: csr_array, b: Floats) -> Floats:
    """Solve G x = b, preconditioned by the diagonal."""
    inverse_diagonal = 1.0 / G.diagonal()
    jacobi = LinearOperator(G.shape, matvec=lambda x: inverse_diagonal * x, dtype=np.float64)
    x, status = cg(G, b, rtol=1e-12, atol=0.0, M=jacobi)
    if status != 0:
        raise DataError(f"row and column means did not converge in {status} iterations; use larger ridges")
    return np.asarray(x, dtype=np.float64)
