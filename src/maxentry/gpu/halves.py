"""One side of a chain on a device: its rows given the other side, the strength of a component, and its effects.

The steps and their laws are those of `maxentry.kernels.gibbs` and `maxentry.kernels.gauge`, which say why; here are
the same formulas over whole arrays, for one chain. One thing differs: the sums S_i of a half-sweep do not depend on
the prior of the rows, so the strength of a component is drawn from them, without a pass over the observations.

`real` is the precision of factors and sums; R x R matrices, sums over rows and scalars are always double.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.scipy.linalg import solve_triangular

from maxentry.gpu.algebra import Total, cholesky, draw_rows, draw_wishart, gram, orthonormalise, solve_slope
from maxentry.gpu.fused import draw_lines
from maxentry.gpu.laws import draw_place, row_normals, slice_step
from maxentry.gpu.sums import Lines, Sums, Table, row_sums
from maxentry.kernels.gibbs import ETA2, MU, SIDES, SIGMA2

double = jnp.float64


class Setup(NamedTuple):
    """What a compiled sweep is made for."""

    shape: tuple[int, int]
    n_obs: int
    R: int
    effects: bool
    aligned: bool
    student: bool
    limits: int = 0  # measurements with ends, whose values are latent
    cuts: tuple[int, ...] = ()  # lines of their table whose upper end is a cut that is drawn
    often: float = 0.0  # share of the sweeps that draw eta2 and cuts without latent values
    ridge: float = 0.0  # of the plain path of annealing
    real: str = "float32"
    blocks: bool = False  # whether Cholesky factors are taken in blocks, as a GPU likes it
    fused: bool = False  # whether sums and draws of rows are by the kernels for GPUs
    chains: int = 1  # that run together
    axis: str | None = None  # of the mesh, where there are several devices

    def total(self, x: Array) -> Array:
        """Add up over the devices."""
        return x if self.axis is None else lax.psum(x, self.axis)

    def whole(self, x: Array) -> Array:
        """Gather the rows of all devices."""
        return x if self.axis is None else lax.all_gather(x, self.axis, tiled=True)


class SideState(NamedTuple):
    """Rows or columns of a chain; zeros where there is no row."""

    factors: Array  # (m, R)
    free: Array  # (m,)
    aligned: Array  # (m,)

    @property
    def effect(self) -> Array:
        """Both kinds of effects together."""
        return self.free + self.aligned


class Chances(NamedTuple):
    """The random numbers of a sweep but those of its rows, and the coins that all chains share."""

    eta2: Array  # standard gamma numbers of the variances
    sigma2: Array
    s2: Array  # (2,) of each side
    scale: Array  # (2,) of the scales of the aligned and of the free effects, where their law is half-Cauchy
    chi2: Array  # (2, R) of each side's Wishart matrix
    bartlett: Array  # (2, R, R) normals of the same
    slope: Array  # (R,) normals of a redrawn slope
    mu: Array  # a normal
    pick: Array  # (3 or more,) uniforms that pick each side's component, and nu
    slices: Array  # (3, UNIFORMS) of each side's strength, and of the variance of effects; then of eta2 and of cuts
    keys: Array  # (3, 2) words that name the random numbers of each side's rows, and of weights or latent values
    coin: (
        Array  # (3,) whether the columns' effects are redrawn, and whether each side's strength is; then eta2
    )


class Drawn(NamedTuple):
    """Sums over the residuals e of each row that was drawn, in double precision, and a normal for its effect."""

    w: Array
    we: Array
    we2: Array
    normal: Array


def log_marginal(
    log_tau2: Array, n: Array, s2: Array, shape: Array | float, scale: Array | float, total: Total
) -> Array:
    """log p(log tau2 | y) of each of some values, up to a constant, the effects integrated out.

    n and s2 have the precision in them.
    """
    tau2 = jnp.exp(log_tau2)
    d = 1.0 + n * tau2[:, None]
    sums = total(jnp.sum(tau2[:, None] * s2 / d - jnp.log(d), axis=1))
    return -shape * log_tau2 - scale / tau2 + 0.5 * sums


class Prior(NamedTuple):
    """The prior of the rows of a side, in double precision."""

    Q: Array  # (R, R) precision of the factors, without the part of aligned effects
    whole: Array  # (R, R) with it
    m: Array  # (R,) slope of the aligned effects
    A: Array  # (m, R) this side's factors in the new gauge
    ridge: Array


class Frame(NamedTuple):
    """Coordinates of rows in which their prior is N(0, I), and the component whose strength is redrawn, if any."""

    C: Array  # (R, R) with C C' = whole; f'g = (C^-1 f)'(C'g)
    inverse: Array
    e: Array  # (R,) eigenvector of the component: C^-1 e is along the last coordinate
    values: Array  # (R,) eigenvalues of L = Q - I / sigma2
    k: Array  # of the component


def plain_frame(prior: Prior) -> Frame:
    """The frame where no strength is redrawn."""
    C, nothing = cholesky(prior.whole), jnp.zeros_like(prior.m)
    return Frame(
        C, solve_triangular(C, jnp.eye(len(C)), lower=True), nothing, nothing, jnp.zeros((), jnp.int32)
    )


def pick_component(uniform: Array, prior: Prior, sigma2: Array) -> Frame:
    """Pick an eigenvalue of L, the weaker its component, the more often; its eigenvector is last in the frame.

    So a new value changes one number on the diagonal of the rows' precision. Along any other direction, one that
    grows a millionfold, as in the first sweeps, would drown the prior of all coordinates in single precision.
    """
    values, W = jnp.linalg.eigh(prior.Q)
    values = values - 1.0 / sigma2
    k = draw_place(uniform, jnp.maximum(values, 0.0))
    e, last = W[:, k], W[:, -1]
    W = W.at[:, k].set(last).at[:, -1].set(e)
    K = cholesky(W.T @ prior.whole @ W)
    return Frame(W @ K, solve_triangular(K, W.T, lower=True), e, values, k)


def redraw_strength(
    slices: Array, prior: Prior, frame: Frame, S: Sums, free: Array, precision: Array, s2: Array, sigma2: Array,
    there: Array, setup: Setup,
) -> Array:  # fmt: skip
    """Draw eigenvalue k of L given y with the rows' parts along its eigenvector integrated out; return its change.

    S: sums with the features C^-1 f.
    """
    R, aligned, (_, _, m, A, ridge), (C, _, e, values, k) = setup.R, setup.aligned, prior, frame
    old, u = values[k], C.T @ e
    v = jnp.pad(u, (0, S.f.shape[1] - R)).astype(S.f.dtype)
    Su = jnp.einsum("mab,a->mb", S.ff, v, precision="highest").astype(double)[:, :R]
    f, tf = (jnp.matmul(x, v, precision="highest").astype(double) for x in (S.f, S.tf))
    sum_w, own = Su @ u, A @ e
    sum_we = tf - free.astype(double) * f - jnp.sum((A @ C) * Su, axis=1)
    n, s = precision * sum_w + 1.0 / sigma2, precision * (sum_we + own * sum_w)
    if aligned:
        along = m @ e
        n = n + along**2 / s2
        s = s - along * (A @ m - along * own) / s2
    n, s = jnp.where(there, n, 0.0), jnp.where(there, s, 0.0)
    others = jnp.where(jnp.arange(R) == k, 0.0, values)

    def log_density(x: Array) -> Array:
        tau2 = jnp.exp(x)
        between = jnp.sum(jnp.log(jnp.abs(1.0 - tau2[:, None] * others)), axis=1)
        between -= jnp.log(1.0 + tau2 * jnp.sum(others))
        return between + log_marginal(x, n, s**2, -0.5 * (1 + int(aligned)), 0.5 * ridge, setup.total)

    new = jnp.exp(-slice_step(slices, -jnp.log(jnp.maximum(old, 1e-300)), log_density))
    return jnp.where(old > 0.0, new - old, 0.0)


def draw_prior(
    which: int, this: SideState, V: Array, T: Array, scalars: Array, beta: Array, chances: Chances, setup: Setup
) -> Prior:  # fmt: skip
    """Draw the prior precision of a row of this side, and find the slope of its aligned effects.

    Aligned effects p = A m move with A at fixed m: row i has the features v_j + m, and their prior, N(0, s2) for the
    coordinates of p in the frame of A, adds m m'/s2 to the prior precision and takes one degree of freedom from L.
    """
    R, total, sigma2 = setup.R, setup.total, scalars[SIGMA2]
    ridge, m = setup.ridge * (1.0 - beta) * sigma2, jnp.zeros(R)
    G = T.T @ gram(this.factors, this.factors, total) @ T + ridge * jnp.eye(R)
    Q = draw_wishart(G, chances.chi2[which], chances.bartlett[which]) + jnp.eye(R) / sigma2
    whole = Q
    if setup.aligned:
        m = solve_slope(G, T.T @ gram(this.factors, this.aligned[:, None], total)[:, 0])
        whole = Q + jnp.outer(m, m) / scalars[SIDES[which][1]]
    return Prior(Q, whole, m, this.factors.astype(double) @ T, ridge)


def half_sweep(
    which: int, lines: Lines, this: SideState, other: SideState, scalars: Array, weights: Array, beta: Array,
    chances: Chances, setup: Setup,
) -> tuple[SideState, SideState, Drawn]:  # fmt: skip
    """Make the other side orthonormal and draw this side given it; return both and the sums of residuals.

    Rows are drawn in coordinates in which their prior is N(0, I), so that single precision serves components of any
    strength: C'a_i of the factors, and the free effect over its sd.
    """
    R, effects, real = setup.R, setup.effects, jnp.dtype(setup.real)
    precision, there = beta / scalars[ETA2], lines.ids < setup.shape[which]
    coin, own = chances.coin[1 + which], jnp.ones(R)
    m, inverse, F = jnp.zeros(0), jnp.zeros((0, 0)), jnp.zeros((len(other.free), 0))
    if R:
        V, T = orthonormalise(other.factors, setup.total)
        other = other._replace(factors=V.astype(real))
        prior = draw_prior(which, this, V, T, scalars, beta, chances, setup)
        frame = lax.cond(
            coin,
            lambda: pick_component(chances.pick[which], prior, scalars[SIGMA2]),
            lambda: plain_frame(prior),
        )
        m, inverse = prior.m, frame.inverse
        F = jnp.matmul(V + m, inverse.T, precision="highest")
    table = make_table(F, other, scalars, setup)
    S = row_sums(lines, table, weights if setup.student else None, setup.chains)
    if R:
        moved = lax.cond(
            coin,
            lambda: redraw_strength(
                chances.slices[which], prior, frame, S, this.free, precision, scalars[SIDES[which][1]],
                scalars[SIGMA2], there, setup,
            ),
            lambda: jnp.zeros(()),
        )  # fmt: skip
        own = own.at[-1].add(moved * jnp.sum((inverse @ frame.e) ** 2))
    z = row_normals(chances.keys[which], lines.ids, R + 2, real)
    sd = jnp.sqrt(scalars[SIDES[which][0]]).astype(real) if effects else jnp.zeros((), real)
    draw = draw_fused if setup.fused else partial(draw_coefficients, blocks=setup.blocks)
    drawn = draw(S, precision.astype(real), own.astype(real), sd, z)
    g, free = jnp.where(there[:, None], drawn.g, 0.0), jnp.where(there, drawn.free, 0.0)
    factors = jnp.matmul(g, inverse.astype(real), precision="highest")
    aligned = jnp.matmul(factors, m.astype(real), precision="highest")
    return SideState(factors, free, aligned), other, _residual_sums(S, drawn, z[:, -1])


class Coefficients(NamedTuple):
    """Coefficients g of every row and its free effect, and products of g with the sums."""

    g: Array  # (m, R)
    free: Array  # (m,)
    squares: Array  # (m,) g'(sum f f')g
    f_g: Array  # (m,)
    tf_g: Array  # (m,)


def draw_coefficients(
    S: Sums, precision: Array, own: Array, sd: Array, z: Array, blocks: bool
) -> Coefficients:
    """Draw the coefficients g of every row and its free effect, of standard deviation `sd` a priori (0: none).

    own: the prior precision of g, a diagonal. The effect is eliminated first: with its factor d = 1 + precision sd^2 w,
    what is left for g is P - l l' with l = precision sd f / sqrt(d), and the effect follows from g.
    """
    R = S.f.shape[1]
    root = jnp.sqrt(1.0 + precision * sd * sd * S.w)
    ell, y = precision * sd * S.f / root[:, None], precision * sd * S.t / root
    P = jnp.diag(own) + precision * S.ff - ell[:, :, None] * ell[:, None, :]
    g = draw_rows(P, precision * S.tf - ell * y[:, None], z[:, :R], blocks)
    free = sd * (y + z[:, R] - jnp.sum(ell * g, axis=1)) / root
    squares = jnp.sum(jnp.einsum("mab,mb->ma", S.ff, g, precision="highest").astype(double) * g, axis=1)
    f_g, tf_g = (jnp.sum(x.astype(double) * g, axis=1) for x in (S.f, S.tf))
    return Coefficients(g, free, squares, f_g, tf_g)


def draw_fused(S: Sums, precision: Array, own: Array, sd: Array, z: Array) -> Coefficients:
    """The same by the kernel for GPUs."""
    assert S.borders is not None
    R, side = own.shape[0], S.ff.shape[1]
    wide = jnp.pad(z[:, :R], ((0, 0), (0, side - R)))
    own = jnp.pad(own, (0, side - R), constant_values=1.0)
    g, sums = draw_lines(S.ff, S.borders, wide, z[:, R], own, precision, sd)
    return Coefficients(g[:, :R], *(sums[:, k] for k in range(4)))


def make_table(F: Array, other: SideState, scalars: Array, setup: Setup) -> Table:
    """What the places of the other side give to an observation, gathered from all devices."""
    offset = -(scalars[MU] + other.effect.astype(double))
    parts = (F, jnp.ones(len(F)), offset)
    whole = (setup.whole(x.astype(setup.real)) for x in parts)
    return Table(*(jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)]) for x in whole))


def _residual_sums(S: Sums, drawn: Coefficients, normal: Array) -> Drawn:
    """Sums of w, w e and w e^2 with e = t - f'g - free."""
    e, squares, f_g, tf_g = (x.astype(double) for x in drawn[1:])
    w, t = S.w.astype(double), S.t.astype(double)
    total = S.tt - 2.0 * tf_g + squares + e * (2.0 * (f_g - t) + w * e)
    return Drawn(w, t - f_g - w * e, jnp.maximum(total, 0.0), normal.astype(double))


def redraw_effects(
    which: int, this: SideState, sums: Drawn, mu_shift: Array | float, scalars: Array, beta: Array, hyper: Array,
    chances: Chances, ids: Array, setup: Setup,
) -> tuple[SideState, Array]:  # fmt: skip
    """Redraw the effects of one side, each kind along with its variance."""
    there = ids < setup.shape[which]
    R, total, real = setup.R, setup.total, this.free.dtype
    at_tau2, at_s2, at = SIDES[which]
    precision, shape = beta / scalars[ETA2], hyper[at]
    we, aligned = sums.we, this.aligned
    if setup.aligned:
        A, old, s2 = this.factors.astype(double), this.aligned.astype(double), scalars[at_s2]
        w = jnp.where(there, 1.0 / s2 + precision * sums.w, 0.0)
        H = gram(A, w[:, None] * A, total)
        rest = precision * (sums.we + sums.w * (old - mu_shift))
        C = jnp.linalg.cholesky(H + 1e-290 * jnp.eye(R))
        m = solve_triangular(C, gram(A, rest[:, None], total)[:, 0], lower=True)
        m = solve_triangular(C.T, m + chances.slope, lower=False)
        new = A @ m
        we = we + sums.w * (old - new)
        scale = _effect_scale(hyper, at, setup.shape[which] / R, s2, chances.scale[0])
        drawn = (scale + 0.5 * total(jnp.sum(new**2))) / chances.s2[which]
        scalars, aligned = scalars.at[at_s2].set(drawn), new.astype(real)
    s = precision * (we + sums.w * (this.free.astype(double) - mu_shift))
    n = precision * sums.w
    scale = _effect_scale(hyper, at, 1.0, scalars[at_tau2], chances.scale[1])
    x = slice_step(
        chances.slices[2], jnp.log(scalars[at_tau2]), lambda x: log_marginal(x, n, s**2, shape, scale, total)
    )
    tau2 = jnp.exp(x)
    p = 1.0 / tau2 + n
    free = s / p + sums.normal / jnp.sqrt(p)
    free = jnp.where(there, free, 0.0).astype(real)
    return this._replace(free=free, aligned=aligned), scalars.at[at_tau2].set(tau2)


def _effect_scale(hyper: Array, at: int, size: float, variance: Array, chance: Array) -> Array:
    """The scale of the inverse gamma of a variance; drawn where its root is half-Cauchy (mathematics, section 7)."""
    width2 = hyper[at + 2] * size
    return jnp.where(width2 > 0.0, chance / (1.0 / width2 + 1.0 / variance), hyper[at + 1] * size)
