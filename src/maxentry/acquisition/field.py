"""`Field`: the entries as jointly Gaussian, all that the determinant and variance criteria need of a belief.

    f_a     p        features of entry a: Cov(x_a, x_b) = f_a . f_b before anything pending is measured
    W       k x p    directions of the entries measured since: K = I - W'W, Cov(x_a, x_b) = f_a' K f_b
    eta2    -        variance of the noise of one measurement, at least NOISE_FLOOR of the largest bound of a variance

Measuring entry a, whatever its value, adds the direction w = K f_a / sqrt(v_a + eta2), v_a = f_a' K f_a.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from maxentry.entries import Entries
from maxentry.errors import ParameterError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NOISE_FLOOR = 1e-10  # noise below this share of the variances would drown in their rounding
CHUNK = 4096  # entries whose features are formed at once


class Field(Protocol):
    """Entries of an m1 x m2 matrix as jointly Gaussian, by features."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""

    @property
    def eta2(self) -> float:
        """The variance of the noise of one measurement."""

    @property
    def measured(self) -> Array:
        """Directions of measured entries that the features do not include, (k, p)."""

    @property
    def p(self) -> int:
        """The number of features."""

    def features(self, rows: Indices, cols: Indices) -> Array:
        """f_a for each entry, (n, p)."""

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """f_a' (I - W'W) f_a, W what is `measured`, for each entry of a block of rows and columns."""

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The same for some entries."""

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """Bounds of the variances at each entry of a block, cheaper than these; None where there are none."""

    def bounds(self) -> list[tuple[Array, Array]]:
        """Pairs of non-negative P (m1, k) and Q (m2, k), each with P_i . Q_j at least the sd of every entry."""


def noise_floor(bounds: list[tuple[Array, Array]]) -> float:
    """The least noise variance that rounding allows, given bounds of the standard deviations."""
    sd = min((float(P.max(0) @ Q.max(0)) for P, Q in bounds if len(P) and len(Q)), default=0.0)
    return NOISE_FLOOR * sd * sd


def cholesky_factor(M: Array) -> Array:
    """The lower Cholesky factor of a covariance plus noise; refuses noise that is lost in rounding."""
    try:
        C: Array = cholesky(M, lower=True)
    except LinAlgError:
        raise ParameterError(
            f"expected noise that rounding leaves visible beside variances of {np.diag(M).max():g}, got less"
        ) from None
    return C


def measurement_directions(F: Array, eta2: float, W: Array | None = None) -> Array:
    """The directions that measuring entries with features F adds to W, in their order; at most p.

    K - K F'(F K F' + eta2 I)^-1 F K = K - w'w with w = C^-1 F K, C C' = F K F' + eta2 I.
    """
    if F.size == 0:
        return np.zeros_like(F)
    F = compress(F)
    FK = F if W is None or len(W) == 0 else F - (F @ W.T) @ W
    w: Array = solve_triangular(cholesky_factor(FK @ F.T + eta2 * np.eye(len(F))), FK, lower=True)
    return w


def all_directions(field: Field, pending: Entries) -> Array:
    """The directions of measured and pending entries, compressed to at most p."""
    return compress(np.concatenate([field.measured, pending_directions(field, pending)]))


def pending_directions(field: Field, pending: Entries) -> Array:
    """The directions that pending entries add, at most p."""
    F = np.empty((0, field.p))
    for start in range(0, len(pending.rows), CHUNK):
        some = slice(start, start + CHUNK)
        F = compress(np.concatenate([F, field.features(pending.rows[some], pending.cols[some])]))
    return measurement_directions(F, field.eta2, field.measured)


def compress(X: Array) -> Array:
    """At most p rows with the same X'X (all that K depends on), for features or directions."""
    n, p = X.shape
    return np.asarray(np.linalg.qr(X, mode="r")) if n > p else X


def measurement_direction(f: Array, W: Array, eta2: float) -> tuple[Array, float]:
    """The direction that measuring one entry with features f adds to W, and the variance it has before."""
    Kf = f - W.T @ (W @ f)
    v = max(float(f @ Kf), 0.0)
    return Kf / np.sqrt(v + eta2), v
