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


# New rows: draws of their coefficients given the columns (`maxentry.posterior.new_rows`)
#
# F      m2 x K    features of the columns
# Q      K x K     prior precision of a row's coefficients
# P      K x K     Q + sum w f f' / eta2, the precision given the row's observations
# g      K         P^-1 sum w (y - offset) f / eta2, their mean


@njit(cache=True, nogil=True)
def accumulate(n: int, F: Floats, y: Floats, P: Floats, b: Floats) -> None:
    """P <- P + sum f f' (lower triangle) and b <- sum y f over the first n lines of F and y."""
    K = F.shape[1]
    whole = n - n % 4
    for a in range(K):
        b[a] = 0.0
    for k in range(0, whole, 4):  # four at a time: P is read and written once for four rank-one updates
        f0, f1, f2, f3 = F[k], F[k + 1], F[k + 2], F[k + 3]
        for a in range(K):
            x0, x1, x2, x3 = f0[a], f1[a], f2[a], f3[a]
            b[a] += y[k] * x0 + y[k + 1] * x1 + y[k + 2] * x2 + y[k + 3] * x3
            for c in range(a + 1):
                P[a, c] += x0 * f0[c] + x1 * f1[c] + x2 * f2[c] + x3 * f3[c]
    for k in range(whole, n):
        for a in range(K):
            b[a] += y[k] * F[k, a]
            for c in range(a + 1):
                P[a, c] += F[k, a] * F[k, c]


@njit(cache=True, nogil=True)
def draw_coefficients(
    which: Starts, starts: Starts, index: Indices32, values: Floats, variances: Floats, right: NDArray[np.floating],
    offset: Floats, Q: Floats, effects: bool, Z: Floats, centre: Floats, G: Floats, evidence: Floats,
) -> None:  # fmt: skip
    """G[i, t] <- a draw of row i's coefficients in draw which[t] of the columns, centre[i, t] <- their mean.

    The draws are made of the normals Z (n, T, K), or of (1, T, K), the same for every row. values and variances (of
    their noise) are (1, N) or (T, N), one line for each t; variances may be (T, 1). evidence[i, t] <- the log density
    of the row's values, less a constant, and less log |Q| / 2, which is the same for all rows.
    """
    T, R = which.size, right.shape[2]
    K = R + int(effects)
    most = 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    P, h = np.empty((K, K)), np.empty(K)
    F, y = np.empty((most, K)), np.empty(most)
    for t in range(T):
        s = which[t]
        line, line_var = t if values.shape[0] > 1 else 0, t if variances.shape[0] > 1 else 0
        for i in range(starts.size - 1):
            n, quad, log_var = starts[i + 1] - starts[i], 0.0, 0.0
            for k in range(n):
                e = starts[i] + k
                j, v = index[e], variances[line_var, e if variances.shape[1] > 1 else 0]
                root = 1.0 / math.sqrt(v)
                for a in range(R):
                    F[k, a] = root * right[s, j, a]
                if effects:
                    F[k, R] = root
                y[k] = root * (values[line, e] - offset[s, j])
                quad += y[k] * y[k]
                log_var += math.log(v)
            for a in range(K):
                for b in range(a + 1):
                    P[a, b] = Q[s, a, b]
            accumulate(n, F, y, P, h)
            cholesky(P, K)
            solve_lower(P, h, K)
            total = -log_var - quad
            for a in range(K):
                total += h[a] * h[a] - 2.0 * math.log(P[a, a])
                G[i, t, a] = Z[i if Z.shape[0] > 1 else 0, t, a]
            evidence[i, t] = 0.5 * total
            solve_upper(P, h, K)
            solve_upper(P, G[i, t], K)
            for a in range(K):
                centre[i, t, a] = h[a]
                G[i, t, a] += h[a]
