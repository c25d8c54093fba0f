"""Draw one side given the other: every row (a_i, r_i) from its Gaussian conditional, linear in the observations."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.small_linalg import cholesky, solve_lower, solve_upper

Array = NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=True)
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


@njit(cache=True, nogil=True, fastmath=True)
def residual_sums(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    g: Array, here: Array, there: Array,
) -> None:  # fmt: skip
    """Sum w, w e and w e^2 of one row's residuals e = y - mu - offset - f'g into `here`, w and w e into `there[j]`."""
    K = F.shape[1]
    weighted = weights.size > 0
    here[:] = 0.0
    for n in range(start, stop):
        j = index[n]
        e = values[n] - mu - offset[j]
        for a in range(K):
            e -= F[j, a] * g[a]
        w = weights[n] if weighted else 1.0
        here[0] += w
        here[1] += w * e
        here[2] += w * e * e
        there[j, 0] += w
        there[j, 1] += w * e


@njit(cache=True, nogil=True, fastmath=True)
def half_sweep(
    indptr: Array, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    precision: float, Q: Array, G: Array, rng: np.random.Generator, here: Array, there: Array,
) -> None:  # fmt: skip
    """Draw every row g_i ~ N(P_i^-1 b_i, P_i^-1), P_i = Q + precision sum w f f'; rows are independent.

    Where `here` has room for them, the sums of the residuals of each row are put there, and of each column in `there`.
    """
    K = F.shape[1]
    P = np.empty((K, K))
    b = np.empty(K)
    for i in range(G.shape[0]):
        start, stop = indptr[i], indptr[i + 1]
        accumulate(start, stop, index, values, weights, F, offset, mu, P, b)
        for a in range(K):
            b[a] *= precision
            for c in range(a + 1):
                P[a, c] = Q[a, c] + precision * P[a, c]
        cholesky(P, K)
        solve_lower(P, b, K)
        for a in range(K):
            b[a] += rng.standard_normal()
        solve_upper(P, b, K)
        for a in range(K):
            G[i, a] = b[a]
        if here.size > 0:
            residual_sums(start, stop, index, values, weights, F, offset, mu, b, here[i], there)
