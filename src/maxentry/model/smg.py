"""The singular matrix-variate Gaussian (SMG; paper, Definition 1), uniform frames, and the paper's simulated data.

X = P_U Z P_V with Z_ij iid N(0, sigma2) is the same as X = U M V' with M = U' Z V, whose R x R entries are
again iid N(0, sigma2), because U and V have orthonormal columns. Nothing of size m1 x m2 is needed to draw X.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._types import Indices
from maxentry.errors import DataError, ParameterError, RankError
from maxentry.model.priors import InverseGamma
from maxentry.wording import show

Floats = NDArray[np.float64]


class SMG(NamedTuple):
    """A low-rank matrix in factor form, X = U M V'."""

    U: Floats  # (m1, R), orthonormal columns
    M: Floats  # (R, R)
    V: Floats  # (m2, R), orthonormal columns

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.U.shape[0], self.V.shape[0]

    def matrix(self) -> Floats:
        """X itself, m1 x m2."""
        X: Floats = self.U @ self.M @ self.V.T
        return X

    def at(self, rows: Indices, cols: Indices) -> Floats:
        """The entries x_ij at the given (i, j), without forming X."""
        x: Floats = np.einsum("nr,nr->n", (self.U @ self.M)[rows], self.V[cols])
        return x


class Simulation(NamedTuple):
    """A simulated problem: the truth, and what was measured of it."""

    X: SMG
    rows: Indices  # (N,)
    cols: Indices  # (N,)
    values: Floats  # (N,) y_n = x_{i_n j_n} + e_n
    sigma2: float
    eta2: float


def uniform_frame(m: int, R: int, rng: np.random.Generator) -> Floats:
    """Draw an R-frame from the uniform (Haar) law on V(R, m), the prior of the subspaces.

    QR of a Gaussian matrix, with the signs that make the triangular factor's diagonal positive: without
    them the law depends on the QR routine's own choice of signs.
    """
    if not 1 <= R <= m:
        raise ParameterError(f"a frame needs 1 <= R <= m, got m = {m} and R = {R}")
    Q, T = np.linalg.qr(rng.standard_normal((m, R)))
    frame: Floats = Q * np.where(np.diagonal(T) < 0, -1.0, 1.0)
    return frame


def draw_smg(m1: int, m2: int, R: int, sigma2: float, rng: np.random.Generator) -> SMG:
    """X of Definition 1 with the uniform prior on both subspaces (Eq. prior); R = 0 gives the zero matrix."""
    if not 0 <= R <= min(m1, m2):
        raise RankError(f"a {m1} x {m2} matrix has a rank between 0 and {min(m1, m2)}, got {R}")
    _check_variance("sigma2", sigma2)
    U, V = (uniform_frame(m, R, rng) if R else np.zeros((m, 0)) for m in (m1, m2))
    return SMG(U, np.sqrt(sigma2) * rng.standard_normal((R, R)), V)


def uniform_entries(shape: tuple[int, int], n: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """`n` different entries of a matrix, uniformly at random: their rows and columns."""
    m1, m2 = shape
    if not 0 <= n <= m1 * m2:
        raise DataError(f"a {m1} x {m2} matrix has {m1 * m2} entries, cannot choose {n} different ones")
    rows, cols = np.divmod(rng.choice(m1 * m2, size=n, replace=False), m2)
    return rows.astype(np.intp), cols.astype(np.intp)


def simulate(
    shape: tuple[int, int],
    rank: int,
    entries: int | tuple[Indices, Indices],
    rng: np.random.Generator,
    *,
    sigma2: float | InverseGamma = 1.0,
    eta2: float | InverseGamma = 1e-4,
) -> Simulation:
    """The paper's simulation: X from the SMG, observed with noise by Eq. mc.

    `entries` is a number of different entries to choose uniformly at random, or the (rows, cols) to measure,
    where an entry may occur repeatedly. A variance is fixed (the defaults are the paper's), or drawn from its
    prior: `sigma2=Priors.paper().signal, eta2=Priors.paper().noise`.
    """
    s2, e2 = (v.draw(rng) if isinstance(v, InverseGamma) else float(v) for v in (sigma2, eta2))
    _check_variance("eta2", e2)
    X = draw_smg(*shape, rank, s2, rng)
    rows, cols = uniform_entries(shape, entries, rng) if isinstance(entries, int | np.integer) else entries
    _check_entries(shape, rows, cols)
    values = X.at(rows, cols) + np.sqrt(e2) * rng.standard_normal(len(rows))
    return Simulation(X, rows, cols, values, s2, e2)


def _check_variance(name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise ParameterError(f"{name} must be a finite number, 0 or more, got {show(value)}")


def _check_entries(shape: tuple[int, int], rows: Indices, cols: Indices) -> None:
    if len(rows) != len(cols):
        raise DataError(f"an entry has a row and a column, got {len(rows)} rows and {len(cols)} columns")
    for what, index, m in (("row", rows, shape[0]), ("column", cols, shape[1])):
        if len(index) and not (np.min(index) >= 0 and np.max(index) < m):
            got = f"{np.min(index)} to {np.max(index)}"
            raise DataError(f"{what} indices must lie between 0 and {m - 1}, got {got}")
