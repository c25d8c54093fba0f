"""Sweeps of the paper's Algorithm 2 (BayeSMG), corrected; frames are stored transposed, (R, m)."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.quadrant_law import slice_step
from maxentry.kernels.random import inverse_gamma
from maxentry.kernels.von_mises_fisher import dot, gibbs

CALLED = "c34df850f775"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@njit(cache=True, nogil=True)
def row_of_x(i: int, U: Array, d: Array, V: Array, x: Array) -> None:
    """Fill x with row i of X = U D V'."""
    x[:] = 0.0
    for r in range(d.size):
        a = U[r, i] * d[r]
        for j in range(x.size):
            x[j] += a * V[r, j]


@njit(cache=True, nogil=True)
def impute(
    U: Array, d: Array, V: Array, eta2: float, mean: Array, count: Counts, c: int, Y: Array,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw the measurements that are missing to make c of each entry; Y becomes the entries' means.

    Returns the part of the sum of squares about these means that the drawn measurements bring. With no
    replicates c = 1: the missing entries of Y are N(x_ij, eta2), and the return value is zero.
    """
    m1, m2 = Y.shape
    x = np.empty(m2)
    within, df = 0.0, 0
    for i in range(m1):
        row_of_x(i, U, d, V, x)
        for j in range(m2):
            k = count[i, j]
            n = c - k
            if n == 0:
                Y[i, j] = mean[i, j]
                continue
            z = x[j] + math.sqrt(eta2 / n) * rng.standard_normal()
            df += n - 1
            if k == 0:
                Y[i, j] = z
            else:
                Y[i, j] = (k * mean[i, j] + n * z) / c
                within += (mean[i, j] - z) ** 2 * k * n / c
    if df > 0:
        within += eta2 * 2.0 * rng.standard_gamma(0.5 * df)
    return within


@njit(cache=True, nogil=True)
def project_rows(Y: Array, V: Array, F: Array) -> None:
    """F = (Y V)', (R, m1)."""
    for i in range(Y.shape[0]):
        for r in range(V.shape[0]):
            F[r, i] = dot(Y[i], V[r])


@njit(cache=True, nogil=True)
def project_cols(Y: Array, U: Array, F: Array) -> None:
    """F = (Y'U)', (R, m2)."""
    F[:] = 0.0
    for i in range(Y.shape[0]):
        for r in range(U.shape[0]):
            u = U[r, i]
            for j in range(Y.shape[1]):
                F[r, j] += u * Y[i, j]


@njit(cache=True, nogil=True)
def residual_sum_of_squares(Y: Array, U: Array, d: Array, V: Array) -> float:
    """Squared Frobenius norm of Y - X, summed directly: its expansion cancels when eta2 is small."""
    x = np.empty(Y.shape[1])
    total = 0.0
    for i in range(Y.shape[0]):
        row_of_x(i, U, d, V, x)
        for j in range(x.size):
            x[j] -= Y[i, j]
        total += dot(x, x)
    return total


@njit(cache=True, nogil=True)
def sweep(
    U: Array, d: Array, V: Array, sigma2: float, eta2: float,
    mean: Array, count: Counts, within: float, c: int, hyper: Array,
    Y: Array, F: Array, G: Array, rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """One pass of Algorithm 2 over (Y, U, V, D, sigma2, eta2), in place; returns sigma2 and eta2.

    The mean of c measurements of an entry has noise variance v = eta2/c (c = 1 without replicates).
    hyper = (alpha_eta, beta_eta, alpha_sigma, beta_sigma).
    """
    R, m1, m2 = d.size, Y.shape[0], Y.shape[1]
    # Missing Y ~ N(X, eta2) at the current X (the paper integrates the core out: slip 3)
    within += impute(U, d, V, eta2, mean, count, c, Y, rng)
    v = eta2 / c
    # U ~ MF(m1, R, Y V D / eta2)
    project_rows(Y, V, F)
    for r in range(R):
        F[r] *= d[r] / v
    gibbs(U, F, rng)
    # V ~ MF(m2, R, Y'U D / eta2); the u_k'Y v_k of the next step need Y'U again, unscaled
    project_cols(Y, U, G)
    scaled = G.copy()
    for r in range(R):
        scaled[r] *= d[r] / v
    gibbs(V, scaled, rng)
    # D ~ QL(mu, delta2)
    mu = np.empty(R)
    for r in range(R):
        mu[r] = sigma2 * dot(G[r], V[r]) / (v + sigma2)
    slice_step(d, mu, v * sigma2 / (v + sigma2), rng)
    # sigma2 ~ IG(alpha + R^2/2, beta + tr D^2/2) (the paper prints R/2: slip 1)
    sigma2 = inverse_gamma(hyper[2] + 0.5 * R * R, hyper[3] + 0.5 * dot(d, d), rng)
    # eta2 ~ IG(alpha + m1 m2/2, beta + |Y - X|^2/2) at the current X (the paper's is a sweep old: slip 2)
    rss = within + c * residual_sum_of_squares(Y, U, d, V)
    eta2 = inverse_gamma(hyper[0] + 0.5 * c * m1 * m2, hyper[1] + 0.5 * rss, rng)
    return sigma2, eta2


@njit(cache=True, nogil=True)
def sweeps(
    U: Array, d: Array, V: Array, scales: Array,
    mean: Array, count: Counts, within: float, hyper: Array, thin: int,
    left: Array, right: Array, sigma2: Array, eta2: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Run thin sweeps for each row of the output arrays left = U D, right = V, sigma2, eta2.

    The state (U, d, V, scales = [sigma2, eta2]) is updated in place.
    """
    c = max(1, count.max())
    Y, F, G = np.empty_like(mean), np.empty_like(U), np.empty_like(V)
    for s in range(sigma2.size):
        for _ in range(thin):
            scales[0], scales[1] = sweep(
                U, d, V, scales[0], scales[1], mean, count, within, c, hyper, Y, F, G, rng
            )
        sigma2[s], eta2[s] = scales[0], scales[1]
        for r in range(d.size):
            left[s, :, r] = U[r] * d[r]
            right[s, :, r] = V[r]
