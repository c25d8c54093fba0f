"""Small dense linear algebra inside compiled loops: threaded BLAS on R x R problems costs more than it gives."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def cholesky(P: Array, n: int) -> bool:
    """Overwrite the lower triangle of P[:n, :n] by its Cholesky factor C (P = C C'); False if not positive."""
    for j in range(n):
        for k in range(j):
            c = P[j, k]
            for i in range(j, n):
                P[i, j] -= P[i, k] * c
        if not P[j, j] > 0.0:
            return False
        d = math.sqrt(P[j, j])
        P[j, j] = d
        inv = 1.0 / d
        for i in range(j + 1, n):
            P[i, j] *= inv
    return True


@njit(cache=True, nogil=True)
def solve_lower(C: Array, b: Array, n: int) -> None:
    """b <- C^-1 b for lower triangular C."""
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= C[i, k] * b[k]
        b[i] = s / C[i, i]


@njit(cache=True, nogil=True)
def solve_upper(C: Array, b: Array, n: int) -> None:
    """b <- C'^-1 b for lower triangular C."""
    for i in range(n - 1, -1, -1):
        b[i] /= C[i, i]
        s = b[i]
        for k in range(i):
            b[k] -= C[i, k] * s


@njit(cache=True, nogil=True)
def gram(A: Array, R: int, G: Array) -> None:
    """G[:R, :R] <- A' A over the first R columns of A (both triangles)."""
    for a in range(R):
        for b in range(R):
            G[a, b] = 0.0
    for i in range(A.shape[0]):
        for a in range(R):
            x = A[i, a]
            for b in range(a + 1):
                G[a, b] += x * A[i, b]
    for a in range(R):
        for b in range(a):
            G[b, a] = G[a, b]


@njit(cache=True, nogil=True, error_model="numpy")
def _orthonormalise_once(A: Array, B: Array, R: int, C: Array) -> float:
    """One Cholesky-QR pass: A = Q C', A <- Q, B <- B C, so that A B' stays; the spread of C's diagonal."""
    gram(A, R, C)
    largest = 0.0
    for a in range(R):
        largest = max(largest, C[a, a])
    jitter = 0.0
    while not cholesky(C, R):  # ends: the jitter grows without bound, also from zero
        jitter = max(1e-15 * largest, 10.0 * jitter, 1e-290)
        gram(A, R, C)
        for a in range(R):
            C[a, a] += jitter
    low, high = C[0, 0], C[0, 0]
    for a in range(R):
        low, high = min(low, C[a, a]), max(high, C[a, a])
    for i in range(A.shape[0]):
        for a in range(R):
            s = A[i, a]
            for k in range(a):
                s -= C[a, k] * A[i, k]
            A[i, a] = s / C[a, a]
    for j in range(B.shape[0]):
        for a in range(R):  # (B C)[j, a] = sum_{k >= a} B[j, k] C[k, a]: later columns are still the old ones
            s = 0.0
            for k in range(a, R):
                s += B[j, k] * C[k, a]
            B[j, a] = s
    return float(low / high)


@njit(cache=True, nogil=True)
def regauge(A: Array, B: Array, R: int, C: Array) -> None:
    """Move the scale from A to B: A <- orthonormal columns, with A B' unchanged (the QR of mathematics.md)."""
    if R == 0:
        return
    spread = _orthonormalise_once(A, B, R, C)
    passes = 0
    while (
        spread < 1e-3 and passes < 4
    ):  # squaring the condition number loses digits; a second pass restores them
        spread = _orthonormalise_once(A, B, R, C)
        passes += 1
