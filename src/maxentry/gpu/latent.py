"""Latent values on a device: what is known of a measurement is that it lies between two ends.

    z_n ~ N(x_n, eta2 / beta),   low_n < z_n <= high_n       (a limit, a yes or no, a grade)

The laws are those of `maxentry.kernels.latent`, which says why; here they are formulas over whole arrays, in double
precision. A truncated normal is drawn by inverting the log of its tail, which holds however far out the ends are.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.special import log_ndtr, ndtri

from maxentry.gpu.halves import Chances, Setup, SideState, double, make_table
from maxentry.gpu.laws import name_uniforms, slice_step
from maxentry.gpu.sums import Lines, residuals
from maxentry.kernels.gibbs import ETA2, H_ETA, N_SCALARS
from maxentry.kernels.latent import KNOWN
from maxentry.posterior.gibbs import GibbsData

LOG_ROOT_2PI = 0.5 * float(np.log(2 * np.pi))
NARROW = 1e-5  # intervals whose density is exponential to all digits that count
FAR = -600.0  # log of a tail that is not inverted by the library


class Ends(NamedTuple):
    """Which ends hold for which measurement; the last line of `table` is infinite, and that of plain values."""

    pair: Any  # (N + 1,) the line of `table`, in row order
    table: Any  # (P + 1, 2) low and high, in standard units; those of grades move with the cuts

    @classmethod
    def of(cls, data: GibbsData) -> Ends:
        """The ends on the host; arrays without elements where all measurements are plain values."""
        if data.limits is None:
            return cls(np.empty(0, np.int32), np.empty((0, 2)))
        latent = data.limits.shared
        pair = np.full(data.by_row.values.size + 1, len(latent.ends) - 1, np.int32)
        pair[latent.source] = latent.pair[: latent.source.size]
        return cls(pair, latent.ends)


class Flat(NamedTuple):
    """The measurements of this device one after the other, with empty slots, whose ends are infinite, too."""

    slots: Array  # their positions in row order, which name their random numbers
    pair: Array  # the line of the table that holds
    mean: Array  # the entry
    value: Array  # as it is: latent, or a plain value

    def standardise(self, table: Array, sd: Array) -> tuple[Array, Array]:
        """The ends as those of a standard normal; finite ones where a measurement has none."""
        low, high = ((table[self.pair, k] - self.mean) / sd for k in (0, 1))
        none = self.pair == len(table) - 1
        return jnp.where(none, -1.0, low), jnp.where(none, 1.0, high)


def draw_between(uniform: Array, low: Array, high: Array) -> Array:
    """A standard normal between two ends, one of which may be infinite."""
    mirror = low + high < 0  # so that the nearer tail is the upper one
    a, b = jnp.where(mirror, -high, low), jnp.where(mirror, -low, high)
    width, tail = b - a, log_ndtr(-a)
    inside = -jnp.expm1(log_ndtr(-b) - tail)
    x = jnp.where(
        _is_narrow(a, width), _draw_narrow(uniform, a, width), _quantile(tail + jnp.log1p(-uniform * inside))
    )
    x = jnp.clip(x, a, b)
    return jnp.where(mirror, -x, x)


def log_between(low: Array, high: Array) -> Array:
    """log P(low < Z <= high) of a standard normal Z."""
    mirror = low + high < 0
    a, b = jnp.where(mirror, -high, low), jnp.where(mirror, -low, high)
    width, tail = b - a, log_ndtr(-a)
    narrow, middle = _is_narrow(a, width), a + 0.5 * jnp.where(jnp.isfinite(width), width, 0.0)
    d = jnp.minimum(log_ndtr(-b) - tail, -1e-300)
    wide = tail + jnp.where(d > -0.7, jnp.log(-jnp.expm1(d)), jnp.log1p(-jnp.exp(d)))
    thin = jnp.log(jnp.maximum(width, 1e-300)) - 0.5 * middle**2 - LOG_ROOT_2PI
    return jnp.where(narrow, thin, wide)


def _is_narrow(a: Array, width: Array) -> Array:
    return width * jnp.maximum(1.0, jnp.abs(a)) < NARROW


def _draw_narrow(uniform: Array, a: Array, width: Array) -> Array:
    """In a narrow interval the density falls exponentially."""
    width = jnp.where(jnp.isfinite(width), width, 0.0)
    k = (a + 0.5 * width) * width
    safe = jnp.where(jnp.abs(k) < 1e-9, 1.0, k)
    share = jnp.where(jnp.abs(k) < 1e-9, uniform, -jnp.log1p(uniform * jnp.expm1(-safe)) / safe)
    return a + width * share


def _quantile(log_tail: Array) -> Array:
    """x with log P(Z > x) = log_tail: by the library, far out by Newton's steps."""
    near = -ndtri(jnp.exp(jnp.maximum(log_tail, FAR)))
    t = -2.0 * jnp.minimum(log_tail, FAR)
    far = jnp.sqrt(t - 2 * LOG_ROOT_2PI - jnp.log(t))
    for _ in range(2):
        log_q = log_ndtr(-far)
        hazard = jnp.exp(-0.5 * far**2 - LOG_ROOT_2PI - log_q)
        far = far + (log_q + 0.5 * t) / hazard
    return jnp.where(log_tail > FAR, near, far)


def current_ends(ends: Ends, scalars: Array, setup: Setup) -> Array:
    """The table of ends with the cuts as they are now."""
    table = ends.table
    for c, k in enumerate(setup.cuts):
        cut = scalars[N_SCALARS + c]
        table = table.at[k, 1].set(cut).at[k + 1, 0].set(cut)
    return table


def update_latent(
    rows: Lines, left: SideState, right: SideState, scalars: Array, ends: Ends, beta: Array, hyper: Array,
    chances: Chances, setup: Setup,
) -> tuple[Array, Array]:  # fmt: skip
    """Draw the latent values; now and then eta2 and the cuts without them before. Return the scalars and all values.

    rows: with the values as they are, which are kept where a measurement is a plain value.
    """
    found = residuals(rows, make_table(right.factors, right, scalars, setup), left.factors, left.effect)
    slots, value, e = (
        jnp.concatenate([x.ravel() for x in each])
        for each in ([b.slots for b in rows.blocks], [b.values for b in rows.blocks], found)
    )
    flat = Flat(slots, ends.pair[slots], value.astype(double) - e.astype(double), value.astype(double))
    scalars = lax.cond(
        chances.coin[3],
        lambda: redraw_scales(flat, scalars, ends, beta, hyper, chances, setup),
        lambda: scalars,
    )
    sd = jnp.sqrt(scalars[ETA2] / beta)
    low, high = flat.standardise(current_ends(ends, scalars, setup), sd)
    z = flat.mean + sd * draw_between(name_uniforms(chances.keys[2], slots), low, high)
    z = jnp.where(flat.pair == len(ends.table) - 1, flat.value, z)
    return scalars, setup.total(jnp.zeros(setup.n_obs + 1).at[slots].set(z).at[-1].set(0.0))


def redraw_scales(
    flat: Flat, scalars: Array, ends: Ends, beta: Array, hyper: Array, chances: Chances, setup: Setup
) -> Array:
    """Draw eta2 and the cuts, each by a slice step with the latent values integrated out."""
    latent = flat.pair < len(ends.table) - 1
    plain = ~latent & (flat.slots < setup.n_obs)
    squares = jnp.sum(jnp.where(plain, (flat.value - flat.mean) ** 2, 0.0))
    shape = hyper[H_ETA] + 0.5 * beta * setup.total(jnp.sum(plain))
    scale = hyper[H_ETA + 1] + 0.5 * beta * setup.total(squares)

    def log_probability(table: Array, sd: Array, chosen: Array) -> Array:
        """Of the chosen measurements."""
        logs = log_between(*flat.standardise(table, sd))
        return setup.total(jnp.sum(jnp.where(chosen, logs, 0.0)))

    def log_noise(x: Array) -> Array:
        table, sd = current_ends(ends, scalars, setup), jnp.sqrt(jnp.exp(x) / beta)
        return log_probability(table, sd, latent) - shape * x - scale * jnp.exp(-x)

    step = 4.0 * float(np.sqrt(2.0 / (setup.n_obs + 8.0)))
    log_eta2 = jnp.log(scalars[ETA2])
    drawn = slice_step(chances.slices[3], log_eta2, partial(lax.map, log_noise), step)
    scalars = scalars.at[ETA2].set(jnp.exp(jnp.where(hyper[H_ETA] < KNOWN, drawn, log_eta2)))
    sd = jnp.sqrt(scalars[ETA2] / beta)
    for c, k in enumerate(setup.cuts):
        table, old = current_ends(ends, scalars, setup), scalars[N_SCALARS + c]
        beside = (flat.pair == k) | (flat.pair == k + 1)

        def log_cut(
            t: Array, k: int = k, table: Array = table, old: Array = old, beside: Array = beside
        ) -> Array:
            """At t sds from where the cut is; its prior is uniform between the cuts beside it."""
            x = old + sd * t
            moved = table.at[k, 1].set(x).at[k + 1, 0].set(x)
            inside = (x > table[k, 0]) & (x < table[k + 1, 1])
            return jnp.where(inside, log_probability(moved, sd, beside), -jnp.inf)

        moved = slice_step(chances.slices[4 + c], jnp.zeros(()), partial(lax.map, log_cut), step)
        scalars = scalars.at[N_SCALARS + c].set(old + sd * moved)
    return scalars
