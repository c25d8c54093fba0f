"""Observed entries of X = A B' and ridge regressions of one factor on the other, without the m1 x m2 array.

Entries come compressed by row: those of row i are `index[start[i]:start[i + 1]]` (their columns), with
values `y` and weights `w` (how often the entry was measured). Exchange rows and columns for the other factor.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Starts = NDArray[np.int64]

# Sums may be reordered (so that the loops vectorise); NaN and infinity keep their meaning.
FAST = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=FAST)
def entries(start: Starts, index: Indices, A: Floats, B: Floats, out: Floats) -> None:
    """out[e] = <a_i, b_j>, the entry of A B' at each stored place."""
    for i in range(start.size - 1):
        a = A[i]
        for e in range(start[i], start[i + 1]):
            b = B[index[e]]
            s = 0.0
            for r in range(a.size):
                s += a[r] * b[r]
            out[e] = s


@njit(cache=True, nogil=True, fastmath=FAST)
def component_energies(start: Starts, index: Indices, w: Floats, U: Floats, V: Floats) -> Floats:
    """h[r] = sum over the stored places of w (u_ir v_jr)^2."""
    h = np.zeros(U.shape[1])
    for i in range(start.size - 1):
        for e in range(start[i], start[i + 1]):
            for r in range(h.size):
                h[r] += w[e] * (U[i, r] * V[index[e], r]) ** 2
    return h


@njit(cache=True, nogil=True, fastmath=FAST)
def solve_positive(P: Floats, b: Floats) -> None:
    """b <- P^-1 b by Cholesky, P = C'C with C upper triangular; only P's upper triangle is read, and lost."""
    n = b.size
    for k in range(n):
        inverse = 1.0 / math.sqrt(P[k, k])
        for j in range(k, n):
            P[k, j] *= inverse
        for i in range(k + 1, n):
            c = P[k, i]
            for j in range(i, n):
                P[i, j] -= c * P[k, j]
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
def ridge_rows(
    start: Starts, index: Indices, y: Floats, w: Floats, B: Floats, ridge: float, A: Floats
) -> float:
    """a_i <- argmin sum_e w_e (y_e - <a_i, b_e>)^2 + ridge |a_i|^2 for each row; sum_e w_e y_e <a_i, b_e>.

    Solves the smaller of the two forms: (B'WB + ridge I) a = B'W y with as many unknowns as the rank, or
    a = B'c, (BB' + ridge W^-1) c = y with as many as the row has entries.
    """
    k = B.shape[1]
    longest = 0
    for i in range(start.size - 1):
        longest = max(longest, start[i + 1] - start[i])
    small = min(k, longest)
    P = np.empty((small, small))
    c = np.empty(small)
    fitted = 0.0
    for i in range(start.size - 1):
        lo, n = start[i], start[i + 1] - start[i]
        a = A[i]
        a[:] = 0.0
        if n == 0:
            continue
        if n < k:
            for p in range(n):
                b = B[index[lo + p]]
                for q in range(p, n):
                    d = B[index[lo + q]]
                    s = 0.0
                    for r in range(k):
                        s += b[r] * d[r]
                    P[p, q] = s
                P[p, p] += ridge / w[lo + p]
                c[p] = y[lo + p]
            solve_positive(P, c[:n])
            for p in range(n):
                b = B[index[lo + p]]
                for r in range(k):
                    a[r] += c[p] * b[r]
                fitted += y[lo + p] * (w[lo + p] * y[lo + p] - ridge * c[p])
        else:
            P[:, :] = 0.0
            for r in range(k):
                P[r, r] = ridge
            for e in range(lo, lo + n):
                b = B[index[e]]
                for r in range(k):
                    t = w[e] * b[r]
                    a[r] += t * y[e]
                    for q in range(r, k):
                        P[r, q] += t * b[q]
            c[:] = a
            solve_positive(P, a)
            for r in range(k):
                fitted += c[r] * a[r]
    return fitted
