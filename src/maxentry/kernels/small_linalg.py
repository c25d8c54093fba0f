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
