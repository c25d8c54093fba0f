"""One sweep of the default sampler (docs/mathematics.md): rows given columns, columns given rows, scales.

X = left.factors right.factors'. With effects the mean of entry (i, j) is mu + r_i + p_i + c_j + q_j + x_ij, where r
and c are the free effects of rows and columns, p = A m and q = B n those aligned with X.

A sweep is a few phases, which are written into `sweeps` when that is compiled (`inline`): functions of so many arrays
take long to compile, and are by themselves only where threads share a sweep. There, `posterior.shared` deals out the
long phases, the rows of a side and the normals that they need, which no other phase needs. Both have the same bits.

Numbers are assigned one by one, not as slices: the words of the error that a slice might raise are compiled, too, and
take three seconds.

No `fastmath` in the kernels of the sampler: with it the order of sums, so rounding, so in the end the draws depend on
the processor and on which functions were in Numba's cache when the others were compiled. It gained 1 to 4%.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.effects import redraw_aligned, redraw_effects
from maxentry.kernels.gauge import cholesky, moved_gram, orthonormalise, slope_of
from maxentry.kernels.rng import bartlett, fill_normal, inverse_gamma
from maxentry.kernels.rows import draw_rows
from maxentry.kernels.threads import take

# Student noise as Gaussian noise with a weight for every observation, and the degrees of freedom on a grid.
Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def update_weights(
    indptr: Array, index: Array, values: Array, source: Array, left: Array, right: Array, R: int,
    offset_row: Array, offset_col: Array, mu: float, eta2: float, nu: float, beta: float,
    w_row: Array, w_col: Array, nu_grid: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Student noise: w_n | e_n ~ Gamma((nu + beta)/2, rate (nu + beta e_n^2/eta2)/2), then nu on its grid, returned.

    The offsets are the whole row and column effects.
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
    top = logp.max()
    total = 0.0
    for k in range(nu_grid.size):
        logp[k] = math.exp(logp[k] - top)
        total += logp[k]
    u = rng.random() * total
    for k in range(nu_grid.size):
        u -= logp[k]
        if u <= 0.0:
            return float(nu_grid[k])
    return float(nu_grid[-1])


Indices = NDArray[np.int32]
# positions in the vector of scalars; S2 are the variances of the aligned effects
MU, SIGMA2, ETA2, TAU2_ROW, TAU2_COL, NU, S2_ROW, S2_COL = 0, 1, 2, 3, 4, 5, 6, 7
N_SCALARS = 8
# positions in the vector of hyperparameters: pairs (shape, scale) of inverse gammas, then the variance of mu
H_SIGMA, H_ETA, H_ROW, H_COL, H_MU = 0, 2, 4, 6, 8
SIDES = ((TAU2_ROW, S2_ROW, H_ROW), (TAU2_COL, S2_COL, H_COL))


class Side(NamedTuple):
    """One side: its observations, what is drawn of it, and room to work in. Matrices have columns of zeros to a
    multiple of eight."""

    indptr: NDArray[np.int64]
    places: Indices  # of the other side
    values: Array
    weights: Array  # of Student noise, in this side's order; for Gaussian noise an empty array of truths
    factors: Array  # (m, padded R)
    free: Array  # (m,) effects, zeros where the model has none
    aligned: Array
    effect: Array  # their sum, up to date when the other side is drawn
    F: Array  # (m, padded R), the factors as features of the other side
    Z: Array  # (m, K) normals of the next draw
    here: Array  # (m, 4) sums of residuals, and squared lengths


class Room(NamedTuple):
    """What both sides share."""

    Q: Array  # (K + SPARE, K) prior precision of a row, zeros below
    T: Array  # (R, R) the change of gauge
    G: Array  # (R, R) Gram matrix of the side to be drawn, in the new gauge
    h: Array  # (R,) and its product with the aligned effects
    slope: Array  # (R,) of the aligned effects
    ones: Array
    state: Array  # beta of this sweep, the side whose effects are drawn again, by how much mu moved


BETA, COIN, MOVED = 0, 1, 2


@njit(cache=True, nogil=True)
def augmented_precision(G: Array, R: int, df: int, sigma2: float, rng: np.random.Generator, Q: Array) -> None:
    """Q[:R, :R] <- L + I / sigma2 with L | A ~ Wishart(df, G^-1), G = A'A, by Bartlett's decomposition."""
    C = G[:R, :R].copy()
    if not cholesky(C, R):  # A has lost rank to rounding: the limit of a vanishing ridge is as good
        for a in range(R):
            for b in range(R):
                C[a, b] = G[a, b]
            C[a, a] = C[a, a] * (1.0 + 1e-10) + 1e-290
        cholesky(C, R)
    T = np.empty((R, R))
    bartlett(df, T, rng)
    # G^-1 = C'^-1 C^-1, so L = W W' with W = C'^-1 T
    for i in range(R - 1, -1, -1):
        for k in range(i + 1, R):
            for b in range(R):
                T[i, b] -= C[k, i] * T[k, b]
        for b in range(R):
            T[i, b] /= C[i, i]
    for a in range(R):
        for b in range(a + 1):
            s = 0.0
            for k in range(R):
                s += T[a, k] * T[b, k]
            Q[a, b] = s
            Q[b, a] = s
        Q[a, a] += 1.0 / sigma2


@njit(cache=True, nogil=True, inline="always")
def turn(this: Side, other: Side, room: Room, R: int) -> None:
    """The gauge where the other side is orthonormal: its factors, and the Gram matrix of this one's, not yet moved."""
    if R > 0:
        orthonormalise(other.factors, R, room.ones, room.T)
        moved_gram(this.factors, this.aligned, R, room.ones, room.T, room.G, room.h)


@njit(cache=True, nogil=True, inline="always")
def set_prior(
    this: Side, other: Side, room: Room, R: int, effects: bool, aligned: bool, sigma2: float, tau2: float,
    s2: float, rng: np.random.Generator,
) -> None:  # fmt: skip
    """The prior precision of a row of this side, drawn, and the features that the other side gives it.

    Aligned effects p = A m move with A at fixed m: row i has the features v_j + m, and their prior, N(0, s2) for the
    coordinates of p in the frame of A, adds m m'/s2 to the prior precision and takes one degree of freedom from L.
    """
    Q, m = room.Q, room.slope
    if R > 0:
        augmented_precision(room.G, R, this.free.size - R - int(aligned), sigma2, rng, Q)
    if aligned:
        slope_of(room.G, room.h, R, m)
        for a in range(R):
            for b in range(R):
                Q[a, b] += m[a] * m[b] / s2
    for j in range(other.free.size):
        for a in range(R):
            other.F[j, a] = other.factors[j, a] + m[a]
        other.effect[j] = other.free[j] + other.aligned[j]
    if effects:
        Q[R, R] = 1.0 / tau2


@njit(cache=True, nogil=True, inline="always")
def draw(
    first: int, last: int, this: Side, other: Side, room: Room, R: int, effects: bool, scalars: Array
) -> None:
    """Rows first to last of this side; a multiple of eight to begin with."""
    draw_rows(
        first, last, this.indptr, this.places, this.values, this.weights, other.F, other.effect, scalars[MU],
        room.state[BETA] / scalars[ETA2], room.Q, room.slope, R, effects, this.Z,
        this.factors, this.free, this.aligned, this.here,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def draw_dealt(
    counter: NDArray[np.int64], edges: NDArray[np.int64], this: Side, other: Side, room: Room, R: int, effects: bool,
    scalars: Array,
) -> None:  # fmt: skip
    """Rows from edges[k] to edges[k + 1] for every k that `counter` gives this thread, until there are no more."""
    k = take(counter)
    while k < edges.size - 1:
        draw(edges[k], edges[k + 1], this, other, room, R, effects, scalars)
        k = take(counter)


@njit(cache=True, nogil=True)
def update_scales(
    R: int, effects: bool, beta: float, totals: Array, n_obs: int, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw mu, eta2 and sigma2, each from its conditional (mu before eta2); return by how much mu moved.

    `totals` are sum w, sum w e and sum w e^2 over all observations, and the sum of squares of X.
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
        scalars[SIGMA2] = inverse_gamma(
            hyper[H_SIGMA] + 0.5 * R * R, hyper[H_SIGMA + 1] + 0.5 * totals[3], rng
        )
    return d


@njit(cache=True, nogil=True, inline="always")
def redraw_side(
    this: Side, which: int, room: Room, R: int, aligned: bool, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw the effects of one side again, each kind along with its variance."""
    tau2, s2, at = SIDES[which]
    precision, moved, shape, scale = (
        room.state[BETA] / scalars[ETA2],
        room.state[MOVED],
        hyper[at],
        hyper[at + 1],
    )
    if aligned:
        scalars[s2] = redraw_aligned(
            this.factors, R, this.aligned, this.here, moved, precision, shape, scale * this.free.size / R,
            scalars[s2], rng,
        )  # fmt: skip
    scalars[tau2] = redraw_effects(this.free, this.here, moved, precision, shape, scale, scalars[tau2], rng)


# Phases of a sweep


@njit(cache=True, nogil=True, inline="always")
def before_rows(
    left: Side, right: Side, room: Room, R: int, effects: bool, aligned: bool, beta: float, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """The prior of the rows, and which side's effects this sweep draws again: of either, by chance."""
    room.state[BETA] = beta
    room.state[COIN] = 1.0 if effects and rng.random() < 0.5 else 0.0
    set_prior(
        left, right, room, R, effects, aligned, scalars[SIGMA2], scalars[TAU2_ROW], scalars[S2_ROW], rng
    )


@njit(cache=True, nogil=True, inline="always")
def between(
    left: Side, right: Side, room: Room, R: int, effects: bool, aligned: bool, hyper: Array, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """The effects of the rows, if it is their turn, the sums of their residuals being new; then the columns' prior."""
    room.state[MOVED] = 0.0
    if effects and room.state[COIN] == 0.0:
        redraw_side(left, 0, room, R, aligned, hyper, scalars, rng)
    turn(right, left, room, R)
    set_prior(
        right, left, room, R, effects, aligned, scalars[SIGMA2], scalars[TAU2_COL], scalars[S2_COL], rng
    )


@njit(cache=True, nogil=True, inline="always")
def after_columns(
    left: Side, right: Side, room: Room, R: int, effects: bool, aligned: bool, source: Indices, nu_grid: Array,
    hyper: Array, scalars: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """mu, eta2, sigma2; the effects of the columns, if it is their turn; the weights of Student noise."""
    beta, totals = room.state[BETA], np.zeros(4)
    for j in range(right.free.size):
        for k in range(4):
            totals[k] += right.here[j, k]
    room.state[MOVED] = update_scales(R, effects, beta, totals, right.values.size, hyper, scalars, rng)
    if effects and room.state[COIN] == 1.0:
        redraw_side(right, 1, room, R, aligned, hyper, scalars, rng)
    for i in range(left.free.size):
        left.effect[i] = left.free[i] + left.aligned[i]
    for j in range(right.free.size):
        right.effect[j] = right.free[j] + right.aligned[j]
    if right.weights.size > 0:
        scalars[NU] = update_weights(
            right.indptr, right.places, right.values, source, left.factors, right.factors, R, left.effect,
            right.effect, scalars[MU], scalars[ETA2], scalars[NU], beta, left.weights, right.weights, nu_grid, rng,
        )  # fmt: skip


@njit(cache=True, nogil=True, inline="always")
def keep(
    place: int, R: int, left: Side, right: Side, scalars: Array,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """The state as draw number `place`."""
    for i in range(left.free.size):
        for a in range(R):
            out_left[place, i, a] = left.factors[i, a]
        out_row[place, i] = left.effect[i]
    for j in range(right.free.size):
        for a in range(R):
            out_right[place, j, a] = right.factors[j, a]
        out_col[place, j] = right.effect[j]
    for k in range(scalars.size):
        out_scalars[place, k] = scalars[k]


@njit(cache=True, nogil=True)
def sweeps(
    betas: Array, keep_every: int, R: int, effects: bool, aligned: bool, left: Side, right: Side, room: Room,
    source: Indices, nu_grid: Array, hyper: Array, scalars: Array, rng: np.random.Generator,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """Run one sweep for each beta, in place; keep every `keep_every`-th state (0: none) in the out arrays."""
    for t in range(betas.size):
        fill_normal(left.Z, rng)
        turn(left, right, room, R)
        before_rows(left, right, room, R, effects, aligned, betas[t], scalars, rng)
        fill_normal(right.Z, rng)
        draw(0, left.free.size, left, right, room, R, effects, scalars)
        between(left, right, room, R, effects, aligned, hyper, scalars, rng)
        draw(0, right.free.size, right, left, room, R, effects, scalars)
        after_columns(left, right, room, R, effects, aligned, source, nu_grid, hyper, scalars, rng)
        if keep_every > 0 and (t + 1) % keep_every == 0:
            keep(t // keep_every, R, left, right, scalars, out_left, out_right, out_row, out_col, out_scalars)
