"""One sweep of the default sampler (docs/mathematics.md): rows given columns, columns given rows, scales.

The matrix is X = A B' with A = left[:, :R] and B = right[:, :R]. With effects on, the last column of `left` holds r
and the last of `right` holds c: a row effect is one more coefficient, on the constant feature, so (a_i, r_i) are
drawn jointly. K = R + 1 with effects, K = R without.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.effects import redraw_effects
from maxentry.kernels.random import bartlett, inverse_gamma
from maxentry.kernels.small_linalg import cholesky, gram, regauge, solve_lower, solve_upper

Array = NDArray[np.float64]

# positions in the vector of scalars
MU, SIGMA2, ETA2, TAU2_ROW, TAU2_COL, NU = 0, 1, 2, 3, 4, 5
N_SCALARS = 6
# positions in the vector of hyperparameters: pairs (shape, scale) of inverse gammas, then the variance of mu
H_SIGMA, H_ETA, H_ROW, H_COL, H_MU = 0, 2, 4, 6, 8
N_HYPER = 9


@njit(cache=True, nogil=True, fastmath=True)
def augmented_precision(A: Array, R: int, sigma2: float, rng: np.random.Generator, Q: Array) -> None:
    """Q[:R, :R] <- L + I / sigma2 with L | A ~ Wishart(m - R, (A'A)^-1), by Bartlett's decomposition."""
    m = A.shape[0]
    C = np.empty((R, R))
    gram(A, R, C)
    if not cholesky(C, R):  # A has lost rank to rounding: the limit of a vanishing ridge is as good
        gram(A, R, C)
        for a in range(R):
            C[a, a] = C[a, a] * (1.0 + 1e-10) + 1e-290
        cholesky(C, R)
    T = np.empty((R, R))
    bartlett(m - R, T, rng)
    # (A'A)^-1 = C'^-1 C^-1, so L = W W' with W = C'^-1 T
    for b in range(R):
        for i in range(R - 1, -1, -1):
            s = T[i, b]
            for k in range(i + 1, R):
                s -= C[k, i] * T[k, b]
            T[i, b] = s / C[i, i]
    for a in range(R):
        for b in range(a + 1):
            s = 0.0
            for k in range(R):
                s += T[a, k] * T[b, k]
            Q[a, b] = s
            Q[b, a] = s
        Q[a, a] += 1.0 / sigma2


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


@njit(cache=True, nogil=True)
def with_constant(factor: Array, R: int, effects: bool, F: Array) -> None:
    """F <- the features of the other side: its R factors and, with effects, the constant."""
    for i in range(factor.shape[0]):
        for a in range(R):
            F[i, a] = factor[i, a]
        if effects:
            F[i, R] = 1.0


@njit(cache=True, nogil=True)
def update_scales(
    left: Array, right: Array, R: int, effects: bool, beta: float, totals: Array, n_obs: int, hyper: Array,
    scalars: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw mu, eta2 and sigma2, each from its conditional (mu before eta2); return by how much mu moved.

    `totals` are sum w, sum w e and sum w e^2 over all observations.
    """
    d = 0.0
    if effects:
        precision = beta / scalars[ETA2]
        p = 1.0 / hyper[H_MU] + precision * totals[0]
        mean = precision * (totals[1] + scalars[MU] * totals[0]) / p
        mu = mean + rng.standard_normal() / math.sqrt(p)
        d = mu - scalars[MU]
        totals[2] += d * d * totals[0] - 2.0 * d * totals[1]
        scalars[MU] = mu
    rss = max(totals[2], 0.0)
    scalars[ETA2] = inverse_gamma(hyper[H_ETA] + 0.5 * beta * n_obs, hyper[H_ETA + 1] + 0.5 * beta * rss, rng)
    if R > 0:
        x2 = 0.0
        for j in range(right.shape[0]):
            for a in range(R):
                x2 += right[j, a] * right[j, a]
        scalars[SIGMA2] = inverse_gamma(hyper[H_SIGMA] + 0.5 * R * R, hyper[H_SIGMA + 1] + 0.5 * x2, rng)
    return d


@njit(cache=True, nogil=True)
def update_weights(
    indptr: Array, index: Array, values: Array, source: Array, left: Array, right: Array, R: int, effects: bool,
    beta: float, scalars: Array, w_row: Array, w_col: Array, nu_grid: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Student noise: w_n | e_n ~ Gamma((nu + beta)/2, rate (nu + beta e_n^2/eta2)/2), then nu on its grid."""
    nu, eta2 = scalars[NU], scalars[ETA2]
    sum_w, sum_log = 0.0, 0.0
    for j in range(right.shape[0]):
        for n in range(indptr[j], indptr[j + 1]):
            i = index[n]
            e = values[n] - scalars[MU]
            if effects:
                e -= left[i, R] + right[j, R]
            for a in range(R):
                e -= left[i, a] * right[j, a]
            w = rng.standard_gamma(0.5 * (nu + beta)) / (0.5 * (nu + beta * e * e / eta2))
            w_col[n] = w
            w_row[source[n]] = w
            sum_w += w
            sum_log += math.log(w)
    logp = np.empty(nu_grid.size)
    for k in range(nu_grid.size):
        h = 0.5 * nu_grid[k]
        logp[k] = values.size * (h * math.log(h) - math.lgamma(h)) + h * (sum_log - sum_w)
    top = logp.max()
    total = 0.0
    for k in range(nu_grid.size):
        logp[k] = math.exp(logp[k] - top)
        total += logp[k]
    u = rng.random() * total
    for k in range(nu_grid.size):
        u -= logp[k]
        if u <= 0.0:
            scalars[NU] = nu_grid[k]
            break


@njit(cache=True, nogil=True)
def sweeps(
    betas: Array, keep_every: int, R: int, effects: bool,
    r_indptr: Array, r_index: Array, r_values: Array,
    c_indptr: Array, c_index: Array, c_values: Array, c_source: Array,
    w_row: Array, w_col: Array, nu_grid: Array, hyper: Array,
    left: Array, right: Array, scalars: Array, rng: np.random.Generator,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """Run one sweep for each beta, in place; keep every `keep_every`-th state (0: none) in the out arrays."""
    K = R + 1 if effects else R
    m1, m2 = left.shape[0], right.shape[0]
    F_right, F_left = np.empty((m2, K)), np.empty((m1, K))
    zero_row, zero_col = np.zeros(m1), np.zeros(m2)
    Q, C = np.zeros((K, K)), np.empty((max(R, 1), max(R, 1)))
    nothing = np.empty((0, 3))
    by_col, by_row, totals = np.empty((m2, 3)), np.empty((m1, 2)), np.empty(3)
    kept = 0
    for t in range(betas.size):
        beta = betas[t]
        # 1. rows: (a_i, r_i) | V, L, y
        regauge(right, left, R, C)
        if R > 0:
            augmented_precision(left, R, scalars[SIGMA2], rng, Q)
        if effects:
            Q[R, R] = 1.0 / scalars[TAU2_ROW]
        with_constant(right, R, effects, F_right)
        half_sweep(
            r_indptr, r_index, r_values, w_row, F_right, right[:, R] if effects else zero_col, scalars[MU],
            beta / scalars[ETA2], Q, left, rng, nothing, nothing,
        )  # fmt: skip
        # 2. columns: (b_j, c_j) | U, L', y, and the residuals on the way
        regauge(left, right, R, C)
        if R > 0:
            augmented_precision(right, R, scalars[SIGMA2], rng, Q)
        if effects:
            Q[R, R] = 1.0 / scalars[TAU2_COL]
        with_constant(left, R, effects, F_left)
        by_row[:] = 0.0
        half_sweep(
            c_indptr, c_index, c_values, w_col, F_left, left[:, R] if effects else zero_row, scalars[MU],
            beta / scalars[ETA2], Q, right, rng, by_col, by_row,
        )  # fmt: skip
        # 3. scales, the effects' variances (one side or the other, at random), the weights of Student noise
        for k in range(3):
            totals[k] = by_col[:, k].sum()
        moved = update_scales(left, right, R, effects, beta, totals, c_values.size, hyper, scalars, rng)
        if effects:
            precision = beta / scalars[ETA2]
            if rng.random() < 0.5:
                scalars[TAU2_ROW] = redraw_effects(
                    left[:, R],
                    by_row,
                    moved,
                    precision,
                    hyper[H_ROW],
                    hyper[H_ROW + 1],
                    scalars[TAU2_ROW],
                    rng,
                )
            else:
                scalars[TAU2_COL] = redraw_effects(
                    right[:, R],
                    by_col,
                    moved,
                    precision,
                    hyper[H_COL],
                    hyper[H_COL + 1],
                    scalars[TAU2_COL],
                    rng,
                )
        if w_col.size > 0:
            update_weights(
                c_indptr, c_index, c_values, c_source, left, right, R, effects, beta, scalars, w_row, w_col,
                nu_grid, rng,
            )  # fmt: skip
        if keep_every > 0 and (t + 1) % keep_every == 0:
            out_left[kept, :, :R] = left[:, :R]
            out_right[kept, :, :R] = right[:, :R]
            if effects:
                out_row[kept] = left[:, R]
                out_col[kept] = right[:, R]
            out_scalars[kept] = scalars
            kept += 1
