"""Observed entries of X = A B', and ridge regressions of one factor on the other without the m1 x m2 array.

Entries come compressed by row: those of row i are `index[start[i]:start[i + 1]]` (their columns), with
values `y` and weights `w` (how often the entry was measured). Exchange rows and columns for the other factor.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Indices32
from maxentry.kernels.gauge import cholesky, solve_lower, solve_upper

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]
# Sums may be reordered (so that the loops vectorise); NaN and infinity keep their meaning.
FAST = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=FAST)
def evaluate_entries(start: Starts, index: Indices32, A: Floats, B: Floats, out: Floats) -> None:
    """out[e] <- <a_i, b_j>, the entry of A B' at each stored position."""
    for i in range(start.size - 1):
        a = A[i]
        for e in range(start[i], start[i + 1]):
            b = B[index[e]]
            s = 0.0
            for r in range(a.size):
                s += a[r] * b[r]
            out[e] = s


@njit(cache=True, nogil=True, fastmath=FAST)
def component_energies(start: Starts, index: Indices32, w: Floats, U: Floats, V: Floats) -> Floats:
    """h[r] = sum over the stored entries of w (u_ir v_jr)^2."""
    h = np.zeros(U.shape[1])
    for i in range(start.size - 1):
        for e in range(start[i], start[i + 1]):
            for r in range(h.size):
                h[r] += w[e] * (U[i, r] * V[index[e], r]) ** 2
    return h


@njit(cache=True, nogil=True, fastmath=FAST)
def add_gram(T: Floats, P: Floats) -> None:
    """P <- P + T T', upper triangle only; in register blocks of 2 x 2, so that each row read serves two sums."""
    k, n = T.shape
    for r in range(0, k, 2):
        x0, x1 = T[r], T[min(r + 1, k - 1)]
        for q in range(r, k, 2):
            y0, y1 = T[q], T[min(q + 1, k - 1)]
            s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
            for p in range(n):
                s00 += x0[p] * y0[p]
                s01 += x0[p] * y1[p]
                s10 += x1[p] * y0[p]
                s11 += x1[p] * y1[p]
            P[r, q] += s00
            if q + 1 < k:
                P[r, q + 1] += s01
            if r + 1 < k:
                P[r + 1, q] += s10
            if r + 1 < k and q + 1 < k:
                P[r + 1, q + 1] += s11


@njit(cache=True, nogil=True, fastmath=FAST)
def solve_spd(P: Floats, b: Floats) -> None:
    """b <- P^-1 b by Cholesky, P = C'C; only P's upper triangle is read, and overwritten by C."""
    n = b.size
    for k in range(n):
        whole = k - k % 4
        for i in range(0, whole, 4):
            c0, c1, c2, c3 = P[i, k], P[i + 1, k], P[i + 2, k], P[i + 3, k]
            for j in range(k, n):
                P[k, j] -= c0 * P[i, j] + c1 * P[i + 1, j] + c2 * P[i + 2, j] + c3 * P[i + 3, j]
        for i in range(whole, k):
            c0 = P[i, k]
            for j in range(k, n):
                P[k, j] -= c0 * P[i, j]
        inverse = 1.0 / math.sqrt(P[k, k])
        for j in range(k, n):
            P[k, j] *= inverse
    for i in range(n):
        b[i] /= P[i, i]
        for j in range(i + 1, n):
            b[j] -= P[i, j] * b[i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= P[i, j] * b[j]
        b[i] = s / P[i, i]


@njit(cache=True, nogil=True, fastmath=FAST)
def solve_ridge(Z: Floats, z: Floats, rho: float, a: Floats) -> float:
    """a <- argmin |z - Z a|^2 + rho |a|^2; return z'Z a.

    Solves the smaller of (Z'Z + rho I) a = Z'z and a = Z'c, (ZZ' + rho I) c = z.
    """
    n, k = Z.shape
    fitted = 0.0
    if n < k:
        P = rho * np.eye(n)
        add_gram(Z, P)
        c = z.copy()
        solve_spd(P, c)
        a[:] = 0.0
        for p in range(n):
            fitted += z[p] * (z[p] - rho * c[p])
            for r in range(k):
                a[r] += c[p] * Z[p, r]
        return fitted
    P = rho * np.eye(k)
    add_gram(np.ascontiguousarray(Z.T), P)
    b = np.zeros(k)
    for p in range(n):
        for r in range(k):
            b[r] += z[p] * Z[p, r]
    a[:] = b
    solve_spd(P, a)
    for r in range(k):
        fitted += b[r] * a[r]
    return fitted


@njit(cache=True, nogil=True, fastmath=FAST)
def solve_ridge_rows(
    start: Starts, index: Indices32, y: Floats, w: Floats, B: Floats, rho: float, A: Floats
) -> float:
    """a_i <- argmin sum_e w_e (y_e - <a_i, b_e>)^2 + rho |a_i|^2 for every row; return sum w y <a_i, b_e>."""
    k = B.shape[1]
    fitted = 0.0
    for i in range(start.size - 1):
        lo, n = start[i], start[i + 1] - start[i]
        Z = np.empty((n, k))
        z = np.empty(n)
        for p in range(n):
            root = math.sqrt(w[lo + p])
            z[p] = root * y[lo + p]
            b = B[index[lo + p]]
            for r in range(k):
                Z[p, r] = root * b[r]
        fitted += solve_ridge(Z, z, rho, A[i])
    return fitted


# Fold-in: the Gaussian law of every new row's coefficients given the columns (`maxentry.posterior.fold_in`)
#
# F      m2 x K    features of the columns
# Q      K x K     prior precision of a row's coefficients
# P      K x K     Q + sum w f f' / eta2, the precision given the row's observations
# g      K         P^-1 sum w (y - offset) f / eta2, their mean

TOLERANCE = 1e-4  # on the change of a weight, which is 1 on average


@njit(cache=True, nogil=True)
def accumulate(
    start: int, stop: int, index: Indices32, values: Floats, weights: Floats, F: Floats, offset: Floats, P: Floats,
    b: Floats,
) -> None:  # fmt: skip
    """P <- sum w f f' (lower triangle) and b <- sum w (y - offset) f over one row's observations."""
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
            t0 = values[n] - offset[j0]
            t1 = values[n + 1] - offset[j1]
            t2 = values[n + 2] - offset[j2]
            t3 = values[n + 3] - offset[j3]
            for a in range(K):
                x0, x1, x2, x3 = F[j0, a], F[j1, a], F[j2, a], F[j3, a]
                b[a] += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3
                for c in range(a + 1):
                    P[a, c] += x0 * F[j0, c] + x1 * F[j1, c] + x2 * F[j2, c] + x3 * F[j3, c]
            n += 4
    while n < stop:
        j = index[n]
        w = weights[n] if weighted else 1.0
        t = values[n] - offset[j]
        for a in range(K):
            x = w * F[j, a]
            b[a] += t * x
            for c in range(a + 1):
                P[a, c] += x * F[j, c]
        n += 1


@njit(cache=True, nogil=True)
def update_student_weights(
    start: int, stop: int, index: Indices32, values: Floats, F: Floats, offset: Floats, eta2: float, nu: float,
    C: Floats, g: Floats, z: Floats, w: Floats,
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
    starts: Starts, index: Indices32, values: Floats, F: Floats, offset: Floats, Q: Floats, eta2: float,
    nu: float, iterations: int, G: Floats, cov: Floats,
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
            accumulate(start, stop, index, values, w, F, offset, P, h)
            for a in range(K):
                h[a] /= eta2
                for c in range(a + 1):
                    P[a, c] = Q[a, c] + P[a, c] / eta2
            cholesky(P, K)
            solve_lower(P, h, K)
            solve_upper(P, h, K)
            if t == iterations:
                break
            change = update_student_weights(start, stop, index, values, F, offset, eta2, nu, P, h, z, w)
            if change < TOLERANCE:
                break
        G[i] = h
        for b in range(K):
            z[:] = 0.0
            z[b] = 1.0
            solve_lower(P, z, K)
            solve_upper(P, z, K)
            cov[i, b] = z
