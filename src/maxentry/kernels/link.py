"""Sweeps with features of rows or columns (docs/mathematics.md, section 20): what features say is the prior of a row.

    g_i      K         coefficients of row i: its factors a_i and, with effects, its effect r_i
    G        m x K     all of them
    U        q x m     orthonormal rows: the constant, then the left singular vectors of the centred features
    d_k      q         prior variance, in units of Q^-1, of the coordinate of G along U_k: rho s_k^2; of the constant, m
    rho      -         ridge variance: what features explain of G over what they do not
    Q        K x K     precision of G around what features say
    M        m x K     what features say: G ~ N(M, Q^-1) row by row

Let H = U G. With the coefficients of the features integrated out h_k ~ N(0, (1 + d_k) Q^-1), and all else of G has the
precision Q. So Q given G and rho is Wishart, rho given G and Q a slice step, and U M given both is Gaussian.
M is never part of the state of a chain. Rows are drawn as they are without features, with M as their prior mean.

Where both sides of the features are long, U is not known (`kernels.gradients`). Q given G and rho is drawn likewise, by
the sum G'F (F'F + I/rho)^-1 F'G; then the coefficients W; then rho given W, and given W over its root.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array, Indices32
from maxentry.kernels.gauge import cholesky, draw_augmented_precision, solve_upper, weighted_gram
from maxentry.kernels.gibbs import (
    BETA,
    COIN,
    ETA2,
    MU,
    S2_COL,
    S2_ROW,
    Scratch,
    Side,
    finish_sweep,
    store_draw,
    update_errors,
    update_latent,
)
from maxentry.kernels.gradients import Sparse, combine, set_sides, solve_blocks
from maxentry.kernels.jit_cache import inner
from maxentry.kernels.latent import Latent
from maxentry.kernels.rng import POINT, Errors, begin_slice, draw_variance, fill_normal, move_slice
from maxentry.kernels.rows import draw_rows
from maxentry.kernels.simd import LANES, broadcast, fetch_and_increment, fma, horizontal_sum, load, store

RHO = (
    S2_ROW,
    S2_COL,
)  # in the place of the variances of aligned effects, which there are none of with features
DF, FACTORS, EFFECT, SHAPE, SCALE = 0, 1, 2, 3, 4


class Link(NamedTuple):
    """The features of a side, and arrays to work in. U has rows and columns of zeros up to multiples of eight."""

    U: Array  # (padded q, padded m)
    s2: Array  # (padded q,) m of the constant, then squared singular values
    prior: Array  # degrees of freedom of Q beyond K - 1, its scales for factors and effect, law of rho
    free: Array  # (padded m,)
    H: Array  # (padded q, padded R) of the factors: U G, later U M
    h: Array  # (padded q,) of the effects
    M: Array  # (padded m, padded R) of the factors
    r: Array  # (padded m,) of the effects
    sparse: Sparse  # of no features where U is known


@inner
def project(U: Array, G: Array, H: Array) -> None:
    """H <- U G, eight rows of U at a time; G may have fewer rows than U has columns."""
    m, length = G.shape
    for k in range(0, U.shape[0], LANES):
        for q in range(0, length, LANES):
            zero = broadcast(0.0)
            x0, x1, x2, x3, x4, x5, x6, x7 = zero, zero, zero, zero, zero, zero, zero, zero
            for i in range(m):
                g = load(G, i * length + q)
                x0 = fma(broadcast(U[k, i]), g, x0)
                x1 = fma(broadcast(U[k + 1, i]), g, x1)
                x2 = fma(broadcast(U[k + 2, i]), g, x2)
                x3 = fma(broadcast(U[k + 3, i]), g, x3)
                x4 = fma(broadcast(U[k + 4, i]), g, x4)
                x5 = fma(broadcast(U[k + 5, i]), g, x5)
                x6 = fma(broadcast(U[k + 6, i]), g, x6)
                x7 = fma(broadcast(U[k + 7, i]), g, x7)
            at = k * length + q
            store(H, at, x0)
            store(H, at + length, x1)
            store(H, at + 2 * length, x2)
            store(H, at + 3 * length, x3)
            store(H, at + 4 * length, x4)
            store(H, at + 5 * length, x5)
            store(H, at + 6 * length, x6)
            store(H, at + 7 * length, x7)


@inner
def expand(U: Array, H: Array, M: Array) -> None:
    """M <- U'H, eight rows of M at a time."""
    length, m = H.shape[1], U.shape[1]
    for i in range(0, m, LANES):
        for q in range(0, length, LANES):
            zero = broadcast(0.0)
            x0, x1, x2, x3, x4, x5, x6, x7 = zero, zero, zero, zero, zero, zero, zero, zero
            for k in range(U.shape[0]):
                h = load(H, k * length + q)
                x0 = fma(broadcast(U[k, i]), h, x0)
                x1 = fma(broadcast(U[k, i + 1]), h, x1)
                x2 = fma(broadcast(U[k, i + 2]), h, x2)
                x3 = fma(broadcast(U[k, i + 3]), h, x3)
                x4 = fma(broadcast(U[k, i + 4]), h, x4)
                x5 = fma(broadcast(U[k, i + 5]), h, x5)
                x6 = fma(broadcast(U[k, i + 6]), h, x6)
                x7 = fma(broadcast(U[k, i + 7]), h, x7)
            at = i * length + q
            store(M, at, x0)
            store(M, at + length, x1)
            store(M, at + 2 * length, x2)
            store(M, at + 3 * length, x3)
            store(M, at + 4 * length, x4)
            store(M, at + 5 * length, x5)
            store(M, at + 6 * length, x6)
            store(M, at + 7 * length, x7)


@inner
def project_vector(U: Array, g: Array, h: Array) -> None:
    """h <- U g, both of padded length."""
    m = U.shape[1]
    for k in range(U.shape[0]):
        x = broadcast(0.0)
        for i in range(0, m, LANES):
            x = fma(load(U, k * m + i), load(g, i), x)
        h[k] = horizontal_sum(x)


@inner
def expand_vector(U: Array, h: Array, r: Array) -> None:
    """r <- U'h."""
    m = U.shape[1]
    for i in range(0, m, LANES):
        x = broadcast(0.0)
        for k in range(U.shape[0]):
            x = fma(load(U, k * m + i), broadcast(h[k]), x)
        store(r, i, x)


@inner
def add_gram(A: Array, r: Array, R: int, effects: bool, weights: Array, S: Array) -> None:
    """S <- S + sum w g g' over the rows g = (a, r) of A and r."""
    G, h = np.empty((R, R)), np.empty(R)
    weighted_gram(A, R, weights, r, G, h)
    for a in range(R):
        for b in range(R):
            S[a, b] += G[a, b]
        if effects:
            S[R, a] += h[a]
            S[a, R] += h[a]
    if effects:
        for i in range(A.shape[0]):
            S[R, R] += weights[i] * r[i] * r[i]


@inner
def draw_precision(
    link: Link,
    factors: Array,
    ones: Array,
    R: int,
    effects: bool,
    rho: float,
    rng: np.random.Generator,
    Q: Array,
) -> None:
    """Q | G, rho ~ Wishart(df + m, (prior + G'G - sum_k d_k/(1 + d_k) h_k h_k')^-1)."""
    K = R + int(effects)
    S, weights = np.zeros((K, K)), np.empty(link.s2.size)
    for k in range(link.s2.size):
        d = link.s2[k] * (rho if k > 0 else 1.0)
        weights[k] = -d / (1.0 + d)
    add_gram(factors, link.free, R, effects, ones, S)
    add_gram(link.H, link.h, R, effects, weights, S)
    for a in range(K):
        S[a, a] += link.prior[EFFECT] if a == R else link.prior[FACTORS]
    draw_augmented_precision(S, K, factors.shape[0] + K - 1 + link.prior[DF], math.inf, rng, Q)


@inner
def draw_ridge(link: Link, R: int, effects: bool, rho: float, Q: Array, rng: np.random.Generator) -> float:
    """rho | G, Q: one slice step on its logarithm."""
    q, K, g = link.s2.size - 1, R + int(effects), np.empty(R + 1)
    if q <= 0 or not link.s2[1] > 0.0:
        return rho
    squares, rows = np.empty(q), np.full(q, float(K))
    for k in range(q):
        for a in range(R):
            g[a] = link.H[k + 1, a]
        g[R] = link.h[k + 1]
        total = 0.0
        for a in range(K):
            for b in range(K):
                total += g[a] * Q[a, b] * g[b]
        squares[k] = link.s2[k + 1] * total
    law = (link.prior[SHAPE], link.prior[SCALE], math.inf)
    return float(draw_variance(rho, link.s2[1:], rows, squares, 1.0, law, np.empty(0), rng))


@inner
def draw_coordinates(
    link: Link, R: int, effects: bool, rho: float, Q: Array, rng: np.random.Generator
) -> None:
    """U M | G, Q, rho in the place of U G: N(d/(1 + d) h_k, d/(1 + d) Q^-1)."""
    K = R + int(effects)
    C, z = Q[:K, :K].copy(), np.empty(K)
    cholesky(C, K)
    for k in range(link.s2.size):
        d = link.s2[k] * (rho if k > 0 else 1.0)
        for a in range(K):
            z[a] = rng.standard_normal()
        solve_upper(C, z, K)
        share = d / (1.0 + d)
        for a in range(R):
            link.H[k, a] = share * link.H[k, a] + math.sqrt(share) * z[a]
        if effects:
            link.h[k] = share * link.h[k] + math.sqrt(share) * z[R]


@njit(cache=True, nogil=True)
def draw_sparse_precision(
    link: Link, factors: Array, ones: Array, R: int, effects: bool, rng: np.random.Generator, Q: Array
) -> None:
    """Q | G, rho as `draw_precision` has it, with G'Y_1 in place of the sum over the features' singular vectors."""
    m, K, Y = factors.shape[0], R + int(effects), link.sparse.Y
    S, s, g = np.zeros((K, K)), np.zeros(K), np.empty(K)
    add_gram(factors, link.free, R, effects, ones, S)
    for i in range(m):
        for a in range(K):
            g[a] = factors[i, a] if a < R else link.free[i]
            s[a] += g[a]
        for a in range(K):
            y = Y[a // LANES, i, a % LANES]
            for b in range(K):
                S[a, b] -= 0.5 * y * g[b]  # both triangles, which rounding would tell apart
                S[b, a] -= 0.5 * y * g[b]
    for a in range(K):
        for b in range(K):
            S[a, b] -= s[a] * s[b] / (1.0 + m)  # the constant
        S[a, a] += link.prior[EFFECT] if a == R else link.prior[FACTORS]
    draw_augmented_precision(S, K, m + K - 1 + link.prior[DF], math.inf, rng, Q)


@njit(cache=True, nogil=True)
def draw_sparse_ridge(
    link: Link,
    factors: Array,
    R: int,
    effects: bool,
    rho: float,
    Q: Array,
    C: Array,
    rng: np.random.Generator,
) -> float:
    """rho | W, Q, then rho | W / sqrt(rho), G, Q, which moves where the first does not; return it.

    FW in `link` is multiplied by the root of what rho moves in the second.
    """
    F, K = link.sparse, R + int(effects)
    w, z, g, p = np.empty(K), np.empty(K), np.empty(K), F.centre.size
    squares = 0.0
    for k in range(p):
        combine(F.X, k, K, C, w, z)
        squares += quadratic(w, w, Q, K)
    rho = (link.prior[SCALE] + 0.5 * squares) / rng.standard_gamma(link.prior[SHAPE] + 0.5 * p * K)
    own, cross = 0.0, 0.0  # of FW / sqrt(rho), with itself and with G
    for i in range(factors.shape[0]):
        for a in range(K):
            w[a] = link.M[i, a] if a < R else link.r[i]
            g[a] = factors[i, a] if a < R else link.free[i]
        own += quadratic(w, w, Q, K)
        cross += quadratic(w, g, Q, K)
    x = math.log(rho)
    own, cross = own / rho, cross / math.sqrt(rho)
    s = begin_slice(x, log_scale_density(x, own, cross, link.prior), 0.5, -np.inf, np.inf, rng)
    while not move_slice(s, log_scale_density(s[POINT], own, cross, link.prior), rng):
        pass
    root = math.exp(0.5 * (s[POINT] - x))
    for i in range(factors.shape[0]):
        for a in range(R):
            link.M[i, a] *= root
        link.r[i] *= root
    return math.exp(s[POINT])


@njit(cache=True, nogil=True)
def quadratic(a: Array, b: Array, Q: Array, K: int) -> float:
    """a'Q b."""
    total = 0.0
    for k in range(K):
        for n in range(K):
            total += a[k] * Q[k, n] * b[n]
    return total


@njit(cache=True, nogil=True)
def log_scale_density(x: float, own: float, cross: float, prior: Array) -> float:
    """log p(log rho | W / sqrt(rho), G, Q), up to a constant."""
    half = math.exp(0.5 * x)
    return float(-prior[SHAPE] * x - prior[SCALE] / (half * half) + cross * half - 0.5 * own * half * half)


@njit(cache=True, nogil=True)
def finish_sparse(
    this: Side, link: Link, scratch: Scratch, R: int, effects: bool, which: int, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw Q, rho and what features say, given the solutions."""
    K, m, Q = R + int(effects), this.free.size, scratch.Q
    draw_sparse_precision(link, this.factors, scratch.ones, R, effects, rng, Q)
    C, g, z = Q[:K, :K].copy(), np.empty(K), np.empty(K)
    cholesky(C, K)
    for i in range(m):
        combine(link.sparse.Y, i, K, C, g, z)
        for a in range(R):
            link.M[i, a] = g[a]
        link.r[i] = g[R] if effects else 0.0
    rho = scalars[RHO[which]]
    scalars[RHO[which]] = draw_sparse_ridge(link, this.factors, R, effects, rho, Q, C, rng)
    for a in range(K):
        z[a] = rng.standard_normal() / math.sqrt(1.0 + m)
    solve_upper(C, z, K)
    for a in range(R):
        z[a] += this.factors[:, a].sum() / (1.0 + m)
        link.M[:m, a] += z[a]
    if effects:
        z[R] += link.free[:m].sum() / (1.0 + m)
        link.r[:m] += z[R]


@njit(cache=True, nogil=True)
def begin_link(this: Side, other: Side, link: Link, R: int) -> None:
    """Copy the effects of this side, and what rows are drawn from of the other."""
    for i in range(this.free.size):
        link.free[i] = this.free[i]
    for j in range(other.free.size):
        for a in range(R):
            other.F[j, a] = other.factors[j, a]
        other.effect[j] = other.free[j]


@njit(cache=True, nogil=True)
def set_link(
    this: Side, other: Side, link: Link, scratch: Scratch, R: int, effects: bool, which: int, scalars: Array,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw Q, rho and what features say of this side, and set what its rows are drawn from."""
    rho = scalars[RHO[which]]
    begin_link(this, other, link, R)
    if link.U.size == 0:
        set_sides(link.sparse, this.factors, link.free, R, effects, 1.0 / rho, rng)
        solve_blocks(np.zeros(1, np.int64), link.sparse, 1.0 / rho)
        finish_sparse(this, link, scratch, R, effects, which, scalars, rng)
        return
    project(link.U, this.factors, link.H)
    project_vector(link.U, link.free, link.h)
    draw_precision(link, this.factors, scratch.ones, R, effects, rho, rng, scratch.Q)
    rho = draw_ridge(link, R, effects, rho, scratch.Q, rng)
    scalars[RHO[which]] = rho
    draw_coordinates(link, R, effects, rho, scratch.Q, rng)
    expand(link.U, link.H, link.M)
    expand_vector(link.U, link.h, link.r)


@inner
def draw_linked_block(
    first: int, last: int, this: Side, other: Side, link: Link, scratch: Scratch, R: int, effects: bool, scalars: Array
) -> None:  # fmt: skip
    """Draw rows first to last of this side around what features say of them; `first` is a multiple of eight."""
    draw_rows(
        first, last, this.indptr, this.positions, this.values, this.weights, other.F, other.effect, scalars[MU],
        scratch.state[BETA] / scalars[ETA2], scratch.Q, scratch.slope, R, effects, this.Z,
        this.factors, this.free, this.aligned, this.residual_sums, link.M, link.r,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def draw_linked_blocks(
    counter: NDArray[np.int64], edges: NDArray[np.int64], this: Side, other: Side, link: Link, scratch: Scratch,
    R: int, effects: bool, scalars: Array,
) -> None:  # fmt: skip
    """As `gibbs.draw_blocks`: threads fetch blocks until all are drawn."""
    k = fetch_and_increment(counter)
    while k < edges.size - 1:
        draw_linked_block(edges[k], edges[k + 1], this, other, link, scratch, R, effects, scalars)
        k = fetch_and_increment(counter)


@njit(cache=True, nogil=True)
def set_norm(left: Side, right: Side, scratch: Scratch, R: int) -> None:
    """Put |X|^2 where `finish_sweep` looks for it, of which sigma2 is drawn; nothing else depends on sigma2."""
    A, B, total = np.empty((R, R)), np.empty((R, R)), 0.0
    weighted_gram(left.factors, R, scratch.ones, scratch.ones, A, scratch.h)
    weighted_gram(right.factors, R, scratch.ones, scratch.ones, B, scratch.h)
    for a in range(R):
        for b in range(R):
            total += A[a, b] * B[a, b]
    for j in range(right.free.size):
        right.residual_sums[j, 3] = total if j == 0 else 0.0


@njit(cache=True, nogil=True)
def run_linked_sweeps(
    betas: Array, thin: int, R: int, effects: bool, left: Side, right: Side, row_link: Link, col_link: Link,
    scratch: Scratch, source: Indices32, latent: Latent | None, errors: Errors | None, nu_grid: Array,
    hyper: Array, scalars: Array, rng: np.random.Generator,
    out_left: Array, out_right: Array, out_row: Array, out_col: Array, out_scalars: Array,
) -> None:  # fmt: skip
    """Run one sweep for each beta, in place, as `gibbs.run_sweeps` does."""
    for t in range(betas.size):
        scratch.state[BETA], scratch.state[COIN] = betas[t], 0.0
        fill_normal(left.Z, rng)
        set_link(left, right, row_link, scratch, R, effects, 0, scalars, rng)
        draw_linked_block(0, left.free.size, left, right, row_link, scratch, R, effects, scalars)
        fill_normal(right.Z, rng)
        set_link(right, left, col_link, scratch, R, effects, 1, scalars, rng)
        draw_linked_block(0, right.free.size, right, left, col_link, scratch, R, effects, scalars)
        set_norm(left, right, scratch, R)
        finish_sweep(left, right, scratch, R, effects, False, source, nu_grid, hyper, scalars, rng)
        if errors is not None:
            update_errors(errors, left, right, scratch, source, hyper, scalars, rng)
        if latent is not None:
            update_latent(latent, left, right, scratch, hyper, scalars, rng)
        if thin > 0 and (t + 1) % thin == 0:
            store_draw(t // thin, R, left, right, scalars, out_left, out_right, out_row, out_col, out_scalars)
