"""The Gaussian law of every new row's coefficients given the columns (see `maxentry.posterior.fold_in`).

F      m2 x K    features of the columns
Q      K x K     prior precision of a row's coefficients
P      K x K     Q + sum w f f' / eta2, the precision given the row's observations
g      K         P^-1 sum w (y - offset) f / eta2, their mean
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.gauge import cholesky, solve_lower, solve_upper

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

TOLERANCE = 1e-4  # on the change of a weight, which is 1 on average


@njit(cache=True, nogil=True)
def accumulate(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    P: Array, b: Array,
) -> None:  # fmt: skip
    """P <- sum w f f' (lower triangle) and b <- sum w (y - mu - offset) f over one row's observations."""
    K = F.shape[1]
    for a in range(K):
        b[a] = 0.0
        for c in range(a + 1):
            P[a, c] = 0.0
    weighted = weights.size > 0
    n = start
    if not weighted:
        while n + 4 <= stop:  # four at a time: P is read and written once for four rank-one updates
            j0, j1, j2, j3 = index[n], index[n + 1], index[n + 2], index[n + 3]
            t0 = values[n] - mu - offset[j0]
            t1 = values[n + 1] - mu - offset[j1]
            t2 = values[n + 2] - mu - offset[j2]
            t3 = values[n + 3] - mu - offset[j3]
            for a in range(K):
                x0, x1, x2, x3 = F[j0, a], F[j1, a], F[j2, a], F[j3, a]
                b[a] += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3
                for c in range(a + 1):
                    P[a, c] += x0 * F[j0, c] + x1 * F[j1, c] + x2 * F[j2, c] + x3 * F[j3, c]
            n += 4
    while n < stop:
        j = index[n]
        w = weights[n] if weighted else 1.0
        t = values[n] - mu - offset[j]
        for a in range(K):
            x = w * F[j, a]
            b[a] += t * x
            for c in range(a + 1):
                P[a, c] += x * F[j, c]
        n += 1


@njit(cache=True, nogil=True)
def update_student_weights(
    start: int, stop: int, index: Indices, values: Array, F: Array, offset: Array, eta2: float, nu: float,
    C: Array, g: Array, z: Array, w: Array,
) -> float:  # fmt: skip
    """w_n <- (nu + 1) / (nu + E e_n^2 / eta2), E e_n^2 = (y_n - f'g)^2 + f'P^-1 f, P = C C'.

    Returns the largest change of a weight.
    """
    K = g.size
    change = 0.0
    for n in range(start, stop):
        j = index[n]
        e = values[n] - offset[j]
        for a in range(K):
            z[a] = F[j, a]
            e -= z[a] * g[a]
        solve_lower(C, z, K)
        e2 = e * e
        for a in range(K):
            e2 += z[a] * z[a]
        new = (nu + 1.0) / (nu + e2 / eta2)
        change = max(change, abs(new - w[n]))
        w[n] = new
    return change


@njit(cache=True, nogil=True)
def fit_coefficients(
    starts: Indices, index: Indices, values: Array, F: Array, offset: Array, Q: Array, eta2: float,
    nu: float, iterations: int, G: Array, cov: Array,
) -> None:  # fmt: skip
    """G[i], cov[i] <- mean and covariance of row i's coefficients.

    For Student noise the weights are iterated up to `iterations` times (0: Gaussian noise), until they converge,
    row by row, so that a row's result does not depend on the rows beside it.
    """
    K = F.shape[1]
    P, h, z = np.empty((K, K)), np.empty(K), np.empty(K)
    w = np.ones(values.size if iterations > 0 else 0)
    for i in range(G.shape[0]):
        start, stop = starts[i], starts[i + 1]
        for t in range(iterations + 1):
            accumulate(start, stop, index, values, w, F, offset, 0.0, P, h)
            for a in range(K):
                h[a] /= eta2
                for c in range(a + 1):
                    P[a, c] = Q[a, c] + P[a, c] / eta2
            cholesky(P, K)
            solve_lower(P, h, K)
            solve_upper(P, h, K)
            if t == iterations:
                break
            if (
                update_student_weights(start, stop, index, values, F, offset, eta2, nu, P, h, z, w)
                < TOLERANCE
            ):
                break
        G[i] = h
        for b in range(K):
            z[:] = 0.0
            z[b] = 1.0
            solve_lower(P, z, K)
            solve_upper(P, z, K)
            cov[i, b] = z
