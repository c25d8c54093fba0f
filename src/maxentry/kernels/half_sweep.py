"""Draw one side given the other: every row (a_i, r_i) from its Gaussian conditional, linear in the observations."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
def residual_sums(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    g: Array, here: Array, there: Array,
) -> None:  # fmt: skip
    """Sum w, w e and w e^2 of one row's residuals e = y - mu - offset - f'g into `here`, w and w e into `there[j]`."""
    K = F.shape[1]
    weighted = weights.size > 0
    sum_w, sum_we, sum_we2 = 0.0, 0.0, 0.0
    for n in range(start, stop):
        j = index[n]
        e = values[n] - mu - offset[j]
        for a in range(K):
            e -= F[j, a] * g[a]
        w = weights[n] if weighted else 1.0
        sum_w += w
        sum_we += w * e
        sum_we2 += w * e * e
        there[j, 0] += w
        there[j, 1] += w * e
    here[0], here[1], here[2] = sum_w, sum_we, sum_we2


LANES = 8  # rows solved side by side: one row's square roots and divisions wait for each other, eight rows' do not


@njit(cache=True, nogil=True)
def fill_lanes(Q: Array, P: Array, K: int) -> None:
    """The lower triangle of Q in every lane of P."""
    for a in range(K):
        for c in range(a + 1):
            for lane in range(LANES):
                P[a, c, lane] = Q[a, c]


@njit(cache=True, nogil=True, error_model="numpy")
def cholesky_lanes(P: Array, K: int) -> None:
    """Cholesky factors of LANES matrices side by side, in place; the diagonal holds its reciprocal."""
    for j in range(K):
        for k in range(j):
            for lane in range(LANES):
                P[j, j, lane] -= P[j, k, lane] * P[j, k, lane]
        for lane in range(LANES):
            P[j, j, lane] = 1.0 / math.sqrt(P[j, j, lane])
        for i in range(j + 1, K):
            for k in range(j):
                for lane in range(LANES):
                    P[i, j, lane] -= P[i, k, lane] * P[j, k, lane]
            for lane in range(LANES):
                P[i, j, lane] *= P[j, j, lane]


@njit(cache=True, nogil=True, error_model="numpy")
def solve_lower_lanes(P: Array, b: Array, K: int) -> None:
    """b <- C^-1 b in every lane."""
    for a in range(K):
        for k in range(a):
            for lane in range(LANES):
                b[a, lane] -= P[a, k, lane] * b[k, lane]
        for lane in range(LANES):
            b[a, lane] *= P[a, a, lane]


@njit(cache=True, nogil=True, error_model="numpy")
def solve_upper_lanes(P: Array, b: Array, K: int) -> None:
    """b <- C'^-1 b in every lane."""
    for a in range(K - 1, -1, -1):
        for lane in range(LANES):
            b[a, lane] *= P[a, a, lane]
        for k in range(a):
            for lane in range(LANES):
                b[k, lane] -= P[a, k, lane] * b[a, lane]


@njit(cache=True, nogil=True, error_model="numpy")
def half_sweep(
    indptr: Array, index: Array, values: Array, weights: Array, F: Array, offset: Array, mu: float,
    precision: float, Q: Array, G: Array, rng: np.random.Generator, here: Array, there: Array,
) -> None:  # fmt: skip
    """Draw every row g_i ~ N(P_i^-1 b_i, P_i^-1), P_i = Q + precision sum w f f'; rows are independent.

    Where `here` has room for them, the sums of the residuals of each row are put there, and of each column in `there`.
    """
    K, m = F.shape[1], G.shape[0]
    P, b = np.empty((K, K, LANES)), np.empty((K, LANES))
    p, q, of_prior = np.empty((K, K)), np.empty(K), False  # whether P has the factors of Q
    for first in range(0, m, LANES):
        lanes = min(LANES, m - first)
        if indptr[first] < indptr[first + lanes]:
            for lane in range(LANES):  # lanes beyond the last row repeat the first and are not used
                i = first + lane if lane < lanes else first
                accumulate(indptr[i], indptr[i + 1], index, values, weights, F, offset, mu, p, q)
                for a in range(K):
                    b[a, lane] = q[a] * precision
                    for c in range(a + 1):
                        P[a, c, lane] = Q[a, c] + precision * p[a, c]
            cholesky_lanes(P, K)
            solve_lower_lanes(P, b, K)
            of_prior = False
        else:  # nothing observed of any: all have the prior's precision
            if not of_prior:
                fill_lanes(Q, P, K)
                cholesky_lanes(P, K)
                of_prior = True
            b[:] = 0.0
        for lane in range(lanes):
            for a in range(K):
                b[a, lane] += rng.standard_normal()
        solve_upper_lanes(P, b, K)
        for lane in range(lanes):
            i = first + lane
            for a in range(K):
                G[i, a] = b[a, lane]
            if here.size > 0:
                residual_sums(
                    indptr[i], indptr[i + 1], index, values, weights, F, offset, mu, G[i], here[i], there
                )
