"""Sweeps of the default sampler (docs/mathematics.md): rows given columns, columns given rows, then the scales.

    A, B      m1 x R, m2 x R    factors of X = A B': `left.factors`, `right.factors`
    r, c      m1, m2            free effects: `left.free`, `right.free`
    p, q      m1, m2            effects aligned with X, p = A m and q = B n: `left.aligned`, `right.aligned`
    w         N                 weights of Student noise, or of noise by column or row; one for Gaussian noise
    beta      -                 power of the likelihood: 1, or less while a chain is annealed

The mean of entry (i, j) is mu + r_i + p_i + c_j + q_j + x_ij.

**Free.** Given everything else, the residuals of row i without its effect are r_i + noise. With n_i the sum of w,
s_i that of w (e + r_i), precision p = beta/eta2 and r_i ~ N(0, tau2), r can be integrated out:

    log p(tau2 | y) = sum_i -log(1 + p n_i tau2)/2 + tau2 (p s_i)^2 / (1 + p n_i tau2) / 2  +  log prior

tau2 given r instead would creep where there are few observations a row: small effects make a small variance, which
makes small effects.

**Aligned.** p = A m lies in the column space of A, with independent N(0, s2) coordinates in any orthonormal frame of
it: m ~ N(0, s2 (A'A)^-1), the g-prior of a regression on A. s2 is drawn with m integrated out, for the same reason.

The phases of a sweep are inlined into `run_sweeps`: functions of so many arrays take long to compile. They are compiled
by themselves only where threads share a sweep (`maxentry.posterior.gibbs`): the threads draw the rows of a side and
the normals for them, which no other phase needs. Both ways give the same bits.

Numbers are assigned one by one, not as slices: the text of the error that a slice might raise is compiled, too, and
takes three seconds.

No `fastmath` in the kernels of the sampler: with it the order of sums, so rounding, so in the end the draws depend on
the processor and on which functions were in Numba's cache when the others were compiled. It gained 1 to 4%.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array, Indices32
from maxentry.kernels.gauge import (
    cholesky,
    draw_augmented_precision,
    matvec,
    orthonormalise,
    redraw_strength,
    solve_lower,
    solve_slope,
    solve_upper,
    transform_gram,
    weighted_gram,
)
from maxentry.kernels.jit_cache import inner
from maxentry.kernels.latent import KNOWN, Latent, entry_means, fill_latent, redraw_scales
from maxentry.kernels.rng import (
    POINT,
    Errors,
    begin_slice,
    draw_from_grid,
    draw_inverse_gamma,
    draw_variance,
    fill_normal,
    group_equal_counts,
    log_prior,
    move_slice,
    redraw_errors,
    weigh_errors,
)
from maxentry.kernels.rows import draw_rows
from maxentry.kernels.simd import fetch_and_increment

# Positions in the vector of scalars; TAU2 are the variances of the free effects, S2 those of the aligned ones.
MU, SIGMA2, ETA2, TAU2_ROW, TAU2_COL, NU, S2_ROW, S2_COL = 0, 1, 2, 3, 4, 5, 6, 7
N_SCALARS = 8
SHARE = NU  # in its place: of the noise in eta2, where entries deviate from the pattern (Gaussian noise)
# Positions in the vector of hyperparameters: shape and scale of inverse gammas, then the variance of mu. Of the effects
# also the squared width of a half-Cauchy law; 0: they are inverse gammas.
H_SIGMA, H_ETA, H_ROW, H_COL, H_MU = 0, 2, 4, 7, 10
SIDES = ((TAU2_ROW, S2_ROW, H_ROW), (TAU2_COL, S2_COL, H_COL))

SLOPE_STEP = 1.0  # width of the first bracket, in log s2
RATE = 0.25  # of half-sweeps that redraw the strength of a component
FIXED = 1e40  # shape of an inverse gamma without spread


class Side(NamedTuple):
    """The rows or the columns: their observations, their part of the state, and arrays to work in.

    Matrices of padded R have columns of zeros up to a multiple of eight.
    """

    indptr: NDArray[np.int64]
    positions: Indices32  # (N,) of the observations, on the other side
    values: Array
    weights: Array  # (N,) of Student noise, in this side's order; for Gaussian noise an empty array of bool
    factors: Array  # (m, padded R)
    free: Array  # (m,) effects; zeros where the model has none
    aligned: Array  # (m,)
    effect: Array  # (m,) free + aligned, computed before the other side is drawn
    F: Array  # (m, padded R) the factors, as regressors of the other side
    Z: Array  # (m, K) standard normals for the next draw
    residual_sums: Array  # (m, 4) sum w, w e and w e^2 of each row's residuals, and |a_i|^2


class Scratch(NamedTuple):
    """Arrays used by the row and the column half-sweep."""

    Q: Array  # (K + PADDING_ROWS, K) prior precision of a row, zeros below
    T: Array  # (R, R) change of gauge
    G: Array  # (R, R) Gram matrix of the side to be drawn, in the new gauge
    h: Array  # (R,) product of that side with its aligned effects
    slope: Array  # (R,) of the aligned effects
    ones: Array  # (max(m1, m2),)
    state: Array  # (6,) beta, whose effects are redrawn, the change of mu, the ridge, number of limits, weighted lines


BETA, COIN, MU_SHIFT, RIDGE, LIMITS, LINES = 0, 1, 2, 3, 4, 5
BY_COL, BY_ROW = 1.0, 2.0  # which lines have a noise of their own; 0: none


# The effects of one side, each kind drawn with its variance


@inner
def effect_law(hyper: Array, at: int, size: float) -> tuple[float, float, float]:
    """The law of a variance whose unit is `size`, as `log_prior` takes it.

    A half-Cauchy root gives the variance v the density v^(-1/2) / (v + w^2).
    """
    if hyper[at + 2] > 0.0:
        return -0.5, 0.0, hyper[at + 2] * size
    return hyper[at], hyper[at + 1] * size, math.inf


@inner
def redraw_effects(
    effect: Array, sums: Array, mu_shift: float, precision: float, law: tuple[float, float, float], tau2: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw tau2 with the effects integrated out, then the effects in place; return tau2.

    `sums` holds sum w and sum w e for each row, with residuals from before mu changed by `mu_shift`.
    """
    m = effect.size
    n, s = np.empty(m), np.empty(m)
    for i in range(m):
        n[i] = sums[i, 0]
        s[i] = sums[i, 1] + n[i] * (effect[i] - mu_shift)
    counts, rows, s2 = group_equal_counts(n, s)
    tau2 = draw_variance(tau2, counts, rows, s2, precision, law, np.empty(0), rng)
    for i in range(m):
        p = 1.0 / tau2 + precision * n[i]
        effect[i] = precision * s[i] / p + rng.standard_normal() / math.sqrt(p)
    return tau2


@inner
def redraw_aligned(
    A: Array, R: int, ones: Array, p: Array, sums: Array, mu_shift: float, precision: float,
    law: tuple[float, float, float], s2: float, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw s2 with m integrated out, then m (a regression of the residuals on A) and p = A m in place; return s2.

    One slice step on log s2, as for free effects. `sums` as in `redraw_effects`; its residuals are kept in step with p.
    A is padded with zeros to a multiple of eight columns.
    """
    G, P, L = np.empty((R, R)), np.empty((R, R)), np.empty((R, R))
    h, m = np.empty(R), np.empty(R)
    old, w, t = p.copy(), np.empty(p.size), np.zeros(p.size)
    for i in range(p.size):
        w[i] = precision * sums[i, 0]
        if sums[i, 0] > 0.0:
            t[i] = sums[i, 1] / sums[i, 0] + old[i] - mu_shift
    weighted_gram(A, R, ones, t, G, h)
    weighted_gram(A, R, w, t, P, h)
    x = math.log(s2)
    s = begin_slice(x, log_slope_marginal(x, G, P, h, law, L, m), SLOPE_STEP, -np.inf, np.inf, rng)
    while not move_slice(s, log_slope_marginal(s[POINT], G, P, h, law, L, m), rng):
        pass
    log_slope_marginal(s[POINT], G, P, h, law, L, m)  # L and m of the point that is taken
    root = math.exp(0.5 * s[POINT])
    for a in range(R):
        m[a] = root * (rng.standard_normal() + root * m[a])
    solve_upper(L, m, R)
    matvec(A, R, m, p)
    for i in range(p.size):
        sums[i, 1] += sums[i, 0] * (old[i] - p[i])
    return math.exp(s[POINT])


@inner
def log_slope_marginal(
    log_s2: float, G: Array, P: Array, h: Array, law: tuple[float, float, float], L: Array, m: Array
) -> float:
    """log p(log s2 | y) up to a constant: -log |H| / 2 + s2 h'H^-1 h / 2 with H = LL' = G + s2 P; m <- L^-1 h.

    G = A'A and P, h are of the regression on A: m ~ N(0, s2 G^-1).
    """
    R, s2 = h.size, math.exp(log_s2)
    for jitter in (0.0, 1e-10):  # A may have lost rank to rounding
        for a in range(R):
            m[a] = h[a]
            for b in range(R):
                L[a, b] = G[a, b] + s2 * P[a, b]
            L[a, a] = L[a, a] * (1.0 + jitter) + 1e-290
        if cholesky(L, R):
            break
    solve_lower(L, m, R)
    total: float = log_prior(log_s2, law)
    for a in range(R):
        total += 0.5 * s2 * m[a] * m[a] - math.log(L[a, a])
    return total


# One side given the other


@njit(cache=True, nogil=True, inline="always")
def change_gauge(this: Side, other: Side, scratch: Scratch, R: int) -> None:
    """Make the other side orthonormal, and compute what this side's Gram matrix becomes, without moving it."""
    if R > 0:
        orthonormalise(other.factors, R, scratch.ones, scratch.T)
        transform_gram(this.factors, this.aligned, R, scratch.ones, scratch.T, scratch.G, scratch.h)


@njit(cache=True, nogil=True, inline="always")
def set_prior(
    this: Side, other: Side, scratch: Scratch, R: int, effects: bool, aligned: bool, which: int, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw the prior precision of a row of this side, and set the features that the other side gives it.

    Aligned effects p = A m move with A at fixed m: row i has the features v_j + m, and their prior, N(0, s2) for the
    coordinates of p in the frame of A, adds m m'/s2 to the prior precision and takes one degree of freedom from L.
    On the plain path of annealing the determinant of the prior is |A'A + ridge I|, so that no component vanishes.
    """
    Q, m = scratch.Q, scratch.slope
    sigma2, tau2, s2 = scalars[SIGMA2], scalars[SIDES[which][0]], scalars[SIDES[which][1]]
    ridge = 0.0
    if R > 0:
        ridge = scratch.state[RIDGE] * (1.0 - scratch.state[BETA]) * sigma2
        for a in range(R):
            scratch.G[a, a] += ridge
        draw_augmented_precision(scratch.G, R, this.free.size - R - int(aligned), sigma2, rng, Q)
    if aligned:
        solve_slope(scratch.G, scratch.h, R, m)
    for j in range(other.free.size):
        for a in range(R):
            other.F[j, a] = other.factors[j, a] + m[a]
        other.effect[j] = other.free[j] + other.aligned[j]
    if R > 0 and rng.random() < RATE:
        redraw_strength(
            this.indptr, this.positions, this.values, this.weights, this.factors, this.free, other.F, other.effect,
            scalars[MU], scratch.state[BETA] / scalars[ETA2], R, scratch.T, m, s2, aligned, ridge, sigma2, Q, rng,
        )  # fmt: skip
    if aligned:
        for a in range(R):
            for b in range(R):
                Q[a, b] += m[a] * m[b] / s2
    if effects:
        Q[R, R] = 1.0 / tau2


@njit(cache=True, nogil=True, inline="always")
def draw_block(
    first: int, last: int, this: Side, other: Side, scratch: Scratch, R: int, effects: bool, scalars: Array
) -> None:
    """Draw rows first to last of this side; `first` is a multiple of eight."""
    draw_rows(
        first, last, this.indptr, this.positions, this.values, this.weights, other.F, other.effect, scalars[MU],
        scratch.state[BETA] / scalars[ETA2], scratch.Q, scratch.slope, R, effects, this.Z,
        this.factors, this.free, this.aligned, this.residual_sums,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def draw_blocks(
    counter: NDArray[np.int64], edges: NDArray[np.int64], this: Side, other: Side, scratch: Scratch, R: int,
    effects: bool, scalars: Array,
) -> None:  # fmt: skip
    """Draw rows edges[k] to edges[k + 1] for every k that this thread fetches from `counter`, until all are drawn."""
    k = fetch_and_increment(counter)
    while k < edges.size - 1:
        draw_block(edges[k], edges[k + 1], this, other, scratch, R, effects, scalars)
        k = fetch_and_increment(counter)


@inner
def update_scales(
    R: int, effects: bool, beta: float, totals: Array, n_obs: int, hyper: Array, scalars: Array,
    rng: np.random.Generator, limits: float = 0.0,
) -> float:  # fmt: skip
    """Draw mu, eta2 and sigma2, each from its conditional (mu before eta2); return the change of mu.

    `totals` are sum w, sum w e and sum w e^2 over all observations, and the sum of squares of X. `limits` of the
    observations are latent values, which count as whole ones at any beta (`kernels.latent`).
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
    scalars[ETA2] = draw_inverse_gamma(
        hyper[H_ETA] + 0.5 * (beta * n_obs + (1.0 - beta) * limits), hyper[H_ETA + 1] + 0.5 * beta * rss, rng
    )
    if R > 0:
        scalars[SIGMA2] = draw_inverse_gamma(
            hyper[H_SIGMA] + 0.5 * R * R, hyper[H_SIGMA + 1] + 0.5 * totals[3], rng
        )
    return d


@njit(cache=True, nogil=True, inline="always")
def redraw_side(
    this: Side, which: int, scratch: Scratch, R: int, aligned: bool, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Redraw the effects of one side, each kind along with its variance."""
    tau2, s2, at = SIDES[which]
    precision, mu_shift = scratch.state[BETA] / scalars[ETA2], scratch.state[MU_SHIFT]
    if aligned:
        law = effect_law(hyper, at, this.free.size / R)
        scalars[s2] = redraw_aligned(
            this.factors, R, scratch.ones, this.aligned, this.residual_sums, mu_shift, precision, law, scalars[s2], rng
        )  # fmt: skip
    law = effect_law(hyper, at, 1.0)
    scalars[tau2] = redraw_effects(
        this.free, this.residual_sums, mu_shift, precision, law, scalars[tau2], rng
    )


@inner
def update_weights(
    indptr: Array, index: Array, values: Array, source: Array, left: Array, right: Array, R: int,
    offset_row: Array, offset_col: Array, mu: float, eta2: float, nu: float, beta: float,
    w_row: Array, w_col: Array, nu_grid: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw the weights of Student noise, then nu on its grid; return nu.

    Student noise is Gaussian noise with a weight for every observation:
    w_n | e_n ~ Gamma((nu + beta)/2, rate (nu + beta e_n^2/eta2)/2). The offsets are free + aligned effects.
    """
    sum_w, sum_log = 0.0, 0.0
    for j in range(right.shape[0]):
        for n in range(indptr[j], indptr[j + 1]):
            i = index[n]
            e = values[n] - mu - offset_row[i] - offset_col[j]
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
    return float(draw_from_grid(nu_grid, logp, rng))


@inner
def update_line_weights(
    indptr: Array, index: Array, values: Array, source: Array, left: Array, right: Array, R: int,
    offset_row: Array, offset_col: Array, mu: float, eta2: float, by_row: bool,
    w_row: Array, w_col: Array, nu_grid: Array, hyper: Array, scalars: Array, rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """Draw nu on its grid with the weights integrated out, then a weight for each column (or row), then eta2 with them.

    Return nu and eta2. The weights are the last of the scalars where these have places for them.

    With n residuals e of a line and q = sum e^2/eta2, w ~ Gamma((nu + n)/2, rate (nu + q)/2), and

        log p(nu | e) = sum over lines of h log h - log G(h) + log G(h + n/2) - (h + n/2) log(h + q/2),  h = nu/2
    """
    m = left.shape[0] if by_row else right.shape[0]
    n, q = np.zeros(m), np.zeros(m)
    for j in range(right.shape[0]):
        for k in range(indptr[j], indptr[j + 1]):
            i = index[k]
            e = values[k] - mu - offset_row[i] - offset_col[j]
            for a in range(R):
                e -= left[i, a] * right[j, a]
            line = i if by_row else j
            n[line] += 1.0
            q[line] += e * e / eta2
    logp = np.empty(nu_grid.size)
    for k in range(nu_grid.size):
        h = 0.5 * nu_grid[k]
        logp[k] = m * (h * math.log(h) - math.lgamma(h))
        for line in range(m):
            logp[k] += math.lgamma(h + 0.5 * n[line]) - (h + 0.5 * n[line]) * math.log(h + 0.5 * q[line])
    nu = draw_from_grid(nu_grid, logp, rng)
    for line in range(m):
        q[line] = rng.standard_gamma(0.5 * (nu + n[line])) / (0.5 * (nu + q[line]))
    eta2 = redraw_common_noise(eta2, q, nu, hyper, rng)
    if scalars.size >= N_SCALARS + m:
        scalars[scalars.size - m :] = q
    for j in range(right.shape[0]):
        for k in range(indptr[j], indptr[j + 1]):
            w_col[k] = q[index[k]] if by_row else q[j]
            w_row[source[k]] = w_col[k]
    return float(nu), eta2


@inner
def redraw_common_noise(eta2: float, w: Array, nu: float, hyper: Array, rng: np.random.Generator) -> float:
    """Draw eta2 with the noise eta2/w of each line as it is, and w in step; return eta2.

    eta2 given w and w given eta2 creep where lines are long: each keeps to the other. One slice step on x = log eta2:

        log p(x) = -shape x - scale exp(-x) + lines nu x / 2 - nu exp(x) sum(w/eta2) / 2
    """
    shape, scale = hyper[H_ETA], hyper[H_ETA + 1]
    if shape >= KNOWN:
        return eta2
    slope, rate = 0.5 * w.size * nu - shape, 0.5 * nu * w.sum() / eta2
    x = math.log(eta2)
    height = slope * x - scale * math.exp(-x) - rate * math.exp(x)
    s = begin_slice(x, height, 4.0 / math.sqrt(w.size * nu), -np.inf, np.inf, rng)
    while True:
        x = s[POINT]
        if move_slice(s, slope * x - scale * math.exp(-x) - rate * math.exp(x), rng):
            break
    new = math.exp(s[POINT])
    for line in range(w.size):
        w[line] *= new / eta2
    return float(new)


# The phases of a sweep, in their order


@njit(cache=True, nogil=True, inline="always")
def begin_sweep(
    left: Side, right: Side, scratch: Scratch, R: int, effects: bool, aligned: bool, beta: float, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Toss which side's effects this sweep redraws, and set the prior of the rows."""
    scratch.state[BETA] = beta
    scratch.state[COIN] = 1.0 if effects and rng.random() < 0.5 else 0.0
    set_prior(left, right, scratch, R, effects, aligned, 0, scalars, rng)


@njit(cache=True, nogil=True, inline="always")
def switch_sides(
    left: Side, right: Side, scratch: Scratch, R: int, effects: bool, aligned: bool, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Redraw the rows' effects if it is their turn, change the gauge, and set the prior of the columns."""
    scratch.state[MU_SHIFT] = 0.0
    if effects and scratch.state[COIN] == 0.0:
        redraw_side(left, 0, scratch, R, aligned, hyper, scalars, rng)
    change_gauge(right, left, scratch, R)
    set_prior(right, left, scratch, R, effects, aligned, 1, scalars, rng)


@njit(cache=True, nogil=True, inline="always")
def finish_sweep(
    left: Side, right: Side, scratch: Scratch, R: int, effects: bool, aligned: bool, source: Indices32, nu_grid: Array,
    hyper: Array, scalars: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw mu, eta2 and sigma2, the columns' effects if it is their turn, and the weights of the noise."""
    beta, totals = scratch.state[BETA], np.zeros(4)
    for j in range(right.free.size):
        for k in range(4):
            totals[k] += right.residual_sums[j, k]
    scratch.state[MU_SHIFT] = update_scales(
        R, effects, beta, totals, right.values.size, hyper, scalars, rng, scratch.state[LIMITS]
    )
    if effects and scratch.state[COIN] == 1.0:
        redraw_side(right, 1, scratch, R, aligned, hyper, scalars, rng)
    for i in range(left.free.size):
        left.effect[i] = left.free[i] + left.aligned[i]
    for j in range(right.free.size):
        right.effect[j] = right.free[j] + right.aligned[j]
    if right.weights.size > 0 and scratch.state[LINES] > 0.0:
        if (
            beta < 1.0
        ):  # equal noises while a chain is annealed: a line must not call structure noise by itself
            for k in range(right.weights.size):
                left.weights[k] = 1.0
                right.weights[k] = 1.0
        else:
            scalars[NU], scalars[ETA2] = update_line_weights(
                right.indptr, right.positions, right.values, source, left.factors, right.factors, R, left.effect,
                right.effect, scalars[MU], scalars[ETA2], scratch.state[LINES] == BY_ROW, left.weights, right.weights,
                nu_grid, hyper, scalars, rng,
            )  # fmt: skip
    elif right.weights.size > 0 and nu_grid.size > 0:
        scalars[NU] = update_weights(
            right.indptr, right.positions, right.values, source, left.factors, right.factors, R, left.effect,
            right.effect, scalars[MU], scalars[ETA2], scalars[NU], beta, left.weights, right.weights, nu_grid, rng,
        )  # fmt: skip


@njit(cache=True, nogil=True)
def update_errors(
    errors: Errors, left: Side, right: Side, scratch: Scratch, source: Indices32, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw the noise beside known errors and deviations of entries, and weigh the measurements by all of it.

    `update_scales` must keep what is drawn here: its prior is put at it, without spread.
    """
    entry_means(
        right.indptr, right.positions, left.factors, right.factors, left.effect, right.effect,
        scalars[MU], errors.mean,
    )  # fmt: skip
    eta2, share = redraw_errors(errors, right.values, scratch.state[BETA], scalars[ETA2], scalars[SHARE], rng)
    weigh_errors(errors, eta2, share, source, left.weights, right.weights)
    scalars[ETA2], scalars[SHARE] = eta2, share
    hyper[H_ETA], hyper[H_ETA + 1] = FIXED, FIXED * eta2


@njit(cache=True, nogil=True)
def update_latent(
    latent: Latent, left: Side, right: Side, scratch: Scratch, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw the latent values of limits, yes or no, and grades; now and then eta2 and the cuts without them before."""
    beta, scales = scratch.state[BETA], rng.random() < latent.often[0]
    entry_means(
        latent.indptr, latent.rows, left.factors, right.factors, left.effect, right.effect, scalars[MU], latent.mean,
    )  # fmt: skip
    if scales:
        if latent.every.size > 0:
            entry_means(
                right.indptr, right.positions, left.factors, right.factors, left.effect, right.effect, scalars[MU],
                latent.every,
            )  # fmt: skip
        scalars[ETA2] = redraw_scales(
            latent, right.values, right.weights, beta, scalars[ETA2], hyper[H_ETA], hyper[H_ETA + 1],
            scalars[N_SCALARS:], rng,
        )  # fmt: skip
    fill_latent(latent, right.weights, beta / scalars[ETA2], left.values, right.values, rng)


@njit(cache=True, nogil=True, inline="always")
def store_draw(
    s: int, R: int, left: Side, right: Side, scalars: Array,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """Copy the state to draw s of the out arrays."""
    for i in range(left.free.size):
        for a in range(R):
            out_left[s, i, a] = left.factors[i, a]
        out_row[s, i] = left.effect[i]
    for j in range(right.free.size):
        for a in range(R):
            out_right[s, j, a] = right.factors[j, a]
        out_col[s, j] = right.effect[j]
    for k in range(scalars.size):
        out_scalars[s, k] = scalars[k]


@njit(cache=True, nogil=True)
def run_sweeps(
    betas: Array, thin: int, R: int, effects: bool, aligned: bool, left: Side, right: Side, scratch: Scratch,
    source: Indices32, latent: Latent | None, errors: Errors | None, nu_grid: Array, hyper: Array, scalars: Array,
    rng: np.random.Generator,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """Run one sweep for each beta, in place; store every `thin`-th state (0: none) in the out arrays."""
    for t in range(betas.size):
        fill_normal(left.Z, rng)
        change_gauge(left, right, scratch, R)
        begin_sweep(left, right, scratch, R, effects, aligned, betas[t], scalars, rng)
        fill_normal(right.Z, rng)
        draw_block(0, left.free.size, left, right, scratch, R, effects, scalars)
        switch_sides(left, right, scratch, R, effects, aligned, hyper, scalars, rng)
        draw_block(0, right.free.size, right, left, scratch, R, effects, scalars)
        finish_sweep(left, right, scratch, R, effects, aligned, source, nu_grid, hyper, scalars, rng)
        if errors is not None:
            update_errors(errors, left, right, scratch, source, hyper, scalars, rng)
        if latent is not None:
            update_latent(latent, left, right, scratch, hyper, scalars, rng)
        if thin > 0 and (t + 1) % thin == 0:
            store_draw(t // thin, R, left, right, scalars, out_left, out_right, out_row, out_col, out_scalars)
