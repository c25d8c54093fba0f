"""Sweeps of the default sampler on a device: rows given columns, columns given rows, then the scales.

Chains are a batch dimension (`jax.vmap`); rows and columns may be spread over devices (`jax.shard_map`), and then only
factors and R x R sums travel. All chains of a batch toss the same coins (whose effects are redrawn, and whether a
strength is): a branch that all take costs nothing where it is not taken.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax, random
from jax.scipy.special import gammaln

from maxentry.gpu.halves import (
    Chances,
    Drawn,
    Setup,
    SideState,
    double,
    half_sweep,
    make_table,
    redraw_effects,
)
from maxentry.gpu.latent import Ends, update_latent
from maxentry.gpu.laws import UNIFORMS, draw_place
from maxentry.gpu.sums import Lines, residuals
from maxentry.kernels.gibbs import ETA2, H_ETA, H_MU, H_SIGMA, MU, NU, RATE, SIDES, SIGMA2
from maxentry.model.likelihood import NU_VALUES


class State(NamedTuple):
    """The state of a chain on the device."""

    left: SideState
    right: SideState
    scalars: Array  # (8,), with grades one more for each inner cut
    weights: Array  # (N + 1,) of Student noise in row order, then a zero; empty for Gaussian noise
    values: Array  # (N + 1,) in row order, then a zero, where some are latent; else empty


def draw_chances(key: Array, coins: Array, beta: Array, hyper: Array, setup: Setup) -> Chances:
    """Draw the chances of a sweep; `coins` is a key that all chains share."""
    R = setup.R
    df = jnp.array([m - R - int(setup.aligned) for m in setup.shape], double)
    # latent values count as whole measurements at any beta
    whole = setup.n_obs * beta + (1.0 - beta) * setup.limits
    more = int(setup.limits > 0)
    shapes = jnp.concatenate(
        [
            jnp.stack([hyper[H_ETA] + 0.5 * whole, hyper[H_SIGMA] + 0.5 * R * R]),
            jnp.stack([hyper[at] for *_, at in SIDES]) + 0.5 * R,
            jnp.ones(2, double),
            (0.5 * (df[:, None] - jnp.arange(R))).ravel(),
        ]
    )
    gammas, normals, uniforms, words = random.split(key, 4)
    g = random.gamma(gammas, shapes, dtype=double)
    z = random.normal(normals, (2 * R * R + R + 1,), double)
    u = random.uniform(uniforms, (3 + more * (1 + len(setup.cuts)), 1 + UNIFORMS), double)
    return Chances(
        eta2=g[0],
        sigma2=g[1],
        s2=g[2:4],
        scale=g[4:6],
        chi2=2.0 * g[6:].reshape(2, R),
        bartlett=z[: 2 * R * R].reshape(2, R, R),
        slope=z[2 * R * R : -1],
        mu=z[-1],
        pick=u[:, 0],
        slices=u[:, 1:],
        keys=random.bits(words, (3, 2), jnp.uint32),
        coin=random.uniform(coins, (3 + more,), double)
        < jnp.array([0.5, RATE, RATE, setup.often][: 3 + more]),
    )


def update_scales(
    sums: Drawn, right: SideState, scalars: Array, beta: Array, hyper: Array, chances: Chances, setup: Setup
) -> tuple[Array, Array]:  # fmt: skip
    """Draw mu, eta2 and sigma2, each from its conditional (mu before eta2); return the scalars and the change of mu."""
    w, we, we2 = (setup.total(jnp.sum(x)) for x in sums[:3])
    d = jnp.zeros((), double)
    if setup.effects:
        precision = beta / scalars[ETA2]
        p = 1.0 / hyper[H_MU] + precision * w
        mu = precision * (we + scalars[MU] * w) / p + chances.mu / jnp.sqrt(p)
        d = mu - scalars[MU]
        we2 = we2 + d * d * w - 2.0 * d * we
        scalars = scalars.at[MU].set(mu)
    scale = hyper[H_ETA + 1] + 0.5 * beta * jnp.maximum(we2, 0.0)
    scalars = scalars.at[ETA2].set(scale / chances.eta2)
    if setup.R:
        x2 = setup.total(jnp.sum(right.factors.astype(double) ** 2))
        scalars = scalars.at[SIGMA2].set((hyper[H_SIGMA + 1] + 0.5 * x2) / chances.sigma2)
    return scalars, d


def update_weights(lines: Lines, state: State, beta: Array, chances: Chances, setup: Setup) -> State:
    """Draw the weights of Student noise, then nu on its grid.

    w_n | e_n ~ Gamma((nu + beta)/2, rate (nu + beta e_n^2/eta2)/2).
    """
    left, right, scalars = state[:3]
    gammas = random.wrap_key_data(chances.keys[2], impl="threefry2x32")
    table = make_table(right.factors, right, scalars, setup)
    nu, eta2 = scalars[NU], scalars[ETA2]
    weights, sum_w, sum_log, first = jnp.zeros(setup.n_obs + 1), jnp.zeros(()), jnp.zeros(()), 0
    for block, rows, e in zip(
        lines.blocks, lines.rows, residuals(lines, table, left.factors, left.effect), strict=True
    ):
        names = lines.ids[first : first + rows]
        if block.pieces.size:  # a piece has a name of its own behind those of the rows
            names = setup.shape[0] + names[block.pieces] + setup.shape[0] * jnp.arange(len(block.pieces))
        keys = jax.vmap(partial(random.fold_in, gammas))(names)
        log_g = jax.vmap(partial(random.loggamma, a=0.5 * (nu + beta), shape=(e.shape[1],), dtype=double))(
            keys
        )
        log_w = log_g - jnp.log(0.5 * (nu + beta * e.astype(double) ** 2 / eta2))
        there = block.slots < setup.n_obs
        w = jnp.where(there, jnp.exp(log_w), 0.0)
        sum_w, sum_log = sum_w + jnp.sum(w), sum_log + jnp.sum(jnp.where(there, log_w, 0.0))
        weights = weights.at[block.slots.ravel()].set(w.ravel())
        first += rows
    values = jnp.array(NU_VALUES, double)
    h = 0.5 * values
    sum_w, sum_log = setup.total(sum_w), setup.total(sum_log)
    logp = setup.n_obs * (h * jnp.log(h) - gammaln(h)) + h * (sum_log - sum_w)
    nu = values[draw_place(chances.pick[2], jnp.exp(logp - jnp.max(logp)))]
    scalars = scalars.at[NU].set(nu)
    return state._replace(scalars=scalars, weights=setup.total(weights).astype(state.weights.dtype))


def sweep(
    state: State,
    rows: Lines,
    cols: Lines,
    beta: Array,
    hyper: Array,
    chances: Chances,
    ends: Ends,
    setup: Setup,
) -> State:
    """One sweep of one chain."""
    left, right, scalars, weights, values = state
    if setup.limits:
        rows, cols = rows.with_values(values), cols.with_values(values)
    coin = chances.coin[0]  # whether the columns' effects are redrawn, or the rows'
    left, right, sums = half_sweep(0, rows, left, right, scalars, weights, beta, chances, setup)
    if setup.effects:
        left, scalars = lax.cond(
            coin,
            lambda: (left, scalars),
            lambda: redraw_effects(0, left, sums, 0.0, scalars, beta, hyper, chances, rows.ids, setup),
        )
    right, left, sums = half_sweep(1, cols, right, left, scalars, weights, beta, chances, setup)
    scalars, shift = update_scales(sums, right, scalars, beta, hyper, chances, setup)
    if setup.effects:
        right, scalars = lax.cond(
            coin,
            lambda: redraw_effects(1, right, sums, shift, scalars, beta, hyper, chances, cols.ids, setup),
            lambda: (right, scalars),
        )
    if setup.limits:
        scalars, new = update_latent(rows, left, right, scalars, ends, beta, hyper, chances, setup)
        values = new.astype(values.dtype)
    state = State(left, right, scalars, weights, values)
    return update_weights(rows, state, beta, chances, setup) if setup.student else state


def run_sweeps(
    states: State, rows: Lines, cols: Lines, betas: Array, first: Array, n: Array, hyper: Array, keys: Array,
    coins: Array, ends: Ends, setup: Setup,
) -> State:  # fmt: skip
    """Run the first n sweeps of betas on a batch of chains, each with a key of its own.

    first: the number of the first sweep, which names its random numbers with the key: draws do not depend on how many
    sweeps are run at a time.
    """
    numbers = first + jnp.arange(betas.size)

    def of_sweep(key: Array, number: Array, beta: Array) -> Chances:
        return draw_chances(random.fold_in(key, number), random.fold_in(coins, number), beta, hyper, setup)

    chances = jax.vmap(lambda key: jax.vmap(partial(of_sweep, key))(numbers, betas))(keys)
    coins_of = chances.coin[0]  # of one chain, so that it is no batch dimension

    def body(t: Array, states: State) -> State:
        def one(state: State, *drawn: Array) -> State:
            now = Chances._make([*(x[t] for x in drawn), coins_of[t]])
            return sweep(state, rows, cols, betas[t], hyper, now, ends, setup)

        after: State = jax.vmap(one)(states, *chances[:-1])
        return after

    end: State = lax.fori_loop(0, n, body, states)
    return end
