"""The Gaussian law of every new row's coefficients given the columns (see `maxentry.posterior.fold_in`)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.half_sweep import accumulate
from maxentry.kernels.small_linalg import cholesky, solve_lower, solve_upper

CALLED = "225630fd8ba4"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SETTLED = 1e-4  # change of a weight, which is 1 on average


@njit(cache=True, nogil=True)
def coefficients(
    starts: Indices, index: Indices, values: Array, F: Array, offset: Array, Q: Array, eta2: float,
    nu: float, iterations: int, G: Array, cov: Array,
) -> None:  # fmt: skip
    """G[i], cov[i] <- mean and covariance of row i's coefficients.

    For Student noise the weights are found in up to `iterations` rounds (0: Gaussian noise), until they settle:
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
            if student_weights(start, stop, index, values, F, offset, eta2, nu, P, h, z, w) < SETTLED:
                break
        G[i] = h
        for b in range(K):
            z[:] = 0.0
            z[b] = 1.0
            solve_lower(P, z, K)
            solve_upper(P, z, K)
            cov[i, b] = z


@njit(cache=True, nogil=True)
def student_weights(
    start: int, stop: int, index: Indices, values: Array, F: Array, offset: Array, eta2: float, nu: float,
    C: Array, g: Array, z: Array, w: Array,
) -> float:  # fmt: skip
    """w_n <- (nu + 1) / (nu + E e_n^2 / eta2), E e_n^2 = (y_n - f'g)^2 + f'P^-1 f, P = C C'; the largest change."""
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
