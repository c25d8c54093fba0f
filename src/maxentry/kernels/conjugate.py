"""One sweep of the default sampler (docs/mathematics.md): rows given columns, columns given rows, scales.

`left` is m1 x K and `right` m2 x K. Without effects K = R and X = left right'. With effects K = R + 2: column R holds
the free effects (r of the rows, c of the columns), column R + 1 those aligned with X: p = A m for the rows, q = B n
for the columns. The mean of entry (i, j) is mu + r_i + p_i + c_j + q_j + x_ij.

No `fastmath` in the kernels of the sampler: with it the order of sums, so rounding, so in the end the draws depend on
the processor and on which functions were in Numba's cache when the others were compiled. It gained 1 to 4%.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.effects import aligned_slope, redraw_aligned, redraw_effects, times_slope
from maxentry.kernels.half_sweep import half_sweep
from maxentry.kernels.random import bartlett, inverse_gamma
from maxentry.kernels.small_linalg import cholesky, gram, regauge
from maxentry.kernels.student import update_weights

CALLED = "99783adb678c"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]

# positions in the vector of scalars; S2 are the variances of the aligned effects
MU, SIGMA2, ETA2, TAU2_ROW, TAU2_COL, NU, S2_ROW, S2_COL = 0, 1, 2, 3, 4, 5, 6, 7
N_SCALARS = 8
# positions in the vector of hyperparameters: pairs (shape, scale) of inverse gammas, then the variance of mu
H_SIGMA, H_ETA, H_ROW, H_COL, H_MU = 0, 2, 4, 6, 8


@njit(cache=True, nogil=True)
def augmented_precision(A: Array, R: int, df: int, sigma2: float, rng: np.random.Generator, Q: Array) -> None:
    """Q[:R, :R] <- L + I / sigma2 with L | A ~ Wishart(df, (A'A)^-1), by Bartlett's decomposition."""
    C = np.empty((R, R))
    gram(A, R, C)
    if not cholesky(C, R):  # A has lost rank to rounding: the limit of a vanishing ridge is as good
        gram(A, R, C)
        for a in range(R):
            C[a, a] = C[a, a] * (1.0 + 1e-10) + 1e-290
        cholesky(C, R)
    T = np.empty((R, R))
    bartlett(df, T, rng)
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


@njit(cache=True, nogil=True)
def draw_side(
    indptr: Array, index: Array, values: Array, weights: Array, this: Array, other: Array, R: int, effects: bool,
    aligned: bool, mu: float, precision: float, sigma2: float, tau2: float, s2: float, rng: np.random.Generator,
    F: Array, offset: Array, Q: Array, C: Array, m: Array, here: Array, there: Array,
) -> None:  # fmt: skip
    """Draw the factors and free effects of one side, in place, given the other in the gauge where that is orthonormal.

    Aligned effects p = A m move with A at fixed m: row i has the features v_j + m, and their prior, N(0, s2) for the
    coordinates of p in the frame of A, adds m m'/s2 to the prior precision and takes one degree of freedom from L.
    F, offset, Q, C and m are room to work in.
    """
    regauge(other, this, R, C)
    if R > 0:
        augmented_precision(this, R, this.shape[0] - R - int(aligned), sigma2, rng, Q)
    if aligned:
        aligned_slope(this, R, C, m)
        for a in range(R):
            for b in range(R):
                Q[a, b] += m[a] * m[b] / s2
    for j in range(other.shape[0]):
        for a in range(R):
            F[j, a] = other[j, a] + m[a]
        if effects:
            F[j, R] = 1.0
            offset[j] = other[j, R] + other[j, R + 1]
    if effects:
        Q[R, R] = 1.0 / tau2
    half_sweep(indptr, index, values, weights, F, offset, mu, precision, Q, this, rng, here, there)
    if aligned:
        times_slope(this, R, m)


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
def redraw_side(
    this: Array, R: int, aligned: bool, sums: Array, moved: float, precision: float, shape: float, scale: float,
    tau2: float, s2: float, rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """Draw the effects of one side again, each kind along with its variance; return tau2 and s2."""
    if aligned:
        s2 = redraw_aligned(this, R, sums, moved, precision, shape, scale * this.shape[0] / R, s2, rng)
    tau2 = redraw_effects(this[:, R], sums, moved, precision, shape, scale, tau2, rng)
    return tau2, s2


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
    m1, m2 = left.shape[0], right.shape[0]
    aligned = effects and R > 0 and min(m1, m2) > 2 * R
    K = R + 1 if effects else R
    F_col, F_row, offset_col, offset_row = np.empty((m2, K)), np.empty((m1, K)), np.zeros(m2), np.zeros(m1)
    Q, C, m = np.zeros((K, K)), np.empty((max(R, 1), max(R, 1))), np.zeros(R)
    nothing = np.empty((0, 3))
    by_col, by_row, totals = np.empty((m2, 3)), np.empty((m1, 2)), np.empty(3)
    kept = 0
    for t in range(betas.size):
        beta = betas[t]
        # 1. rows: (a_i, r_i) | V, L, y
        draw_side(
            r_indptr, r_index, r_values, w_row, left, right, R, effects, aligned, scalars[MU], beta / scalars[ETA2],
            scalars[SIGMA2], scalars[TAU2_ROW], scalars[S2_ROW], rng,
            F_col, offset_col, Q, C, m, nothing, nothing,
        )  # fmt: skip
        # 2. columns: (b_j, c_j) | U, L', y, and sums of the residuals on the way
        by_row[:] = 0.0
        draw_side(
            c_indptr, c_index, c_values, w_col, right, left, R, effects, aligned, scalars[MU], beta / scalars[ETA2],
            scalars[SIGMA2], scalars[TAU2_COL], scalars[S2_COL], rng,
            F_row, offset_row, Q, C, m, by_col, by_row,
        )  # fmt: skip
        # 3. mu, eta2, sigma2
        totals[:] = 0.0
        for j in range(m2):
            for k in range(3):
                totals[k] += by_col[j, k]
        moved = update_scales(left, right, R, effects, beta, totals, c_values.size, hyper, scalars, rng)
        # 4. the effects of one side with their variances: of either, by chance, since the other's sums are then old
        if effects:
            precision = beta / scalars[ETA2]
            if rng.random() < 0.5:
                scalars[TAU2_ROW], scalars[S2_ROW] = redraw_side(
                    left, R, aligned, by_row, moved, precision, hyper[H_ROW], hyper[H_ROW + 1],
                    scalars[TAU2_ROW], scalars[S2_ROW], rng,
                )  # fmt: skip
            else:
                scalars[TAU2_COL], scalars[S2_COL] = redraw_side(
                    right, R, aligned, by_col, moved, precision, hyper[H_COL], hyper[H_COL + 1],
                    scalars[TAU2_COL], scalars[S2_COL], rng,
                )  # fmt: skip
            offset_row[:] = left[:, R] + left[:, R + 1]
            offset_col[:] = right[:, R] + right[:, R + 1]
        # 5. the weights of Student noise
        if w_col.size > 0:
            scalars[NU] = update_weights(
                c_indptr, c_index, c_values, c_source, left, right, R, offset_row, offset_col, scalars[MU],
                scalars[ETA2], scalars[NU], beta, w_row, w_col, nu_grid, rng,
            )  # fmt: skip
        if keep_every > 0 and (t + 1) % keep_every == 0:
            out_left[kept, :, :R] = left[:, :R]
            out_right[kept, :, :R] = right[:, :R]
            out_row[kept] = offset_row
            out_col[kept] = offset_col
            out_scalars[kept] = scalars
            kept += 1
