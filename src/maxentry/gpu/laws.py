"""Random draws on a device: one slice step on the log of a variance, a value from a grid, normals by row.

A random generator takes long to compile, and a sweep would need it at a dozen places. So all random numbers of a sweep
but those of its rows are drawn beforehand, and these functions take uniform numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jax.extend.random import threefry_2x32

STEPS = 30  # of a bracket
MOST_TRIES = 60  # half of the bracket is cut off by each, more or less: 60 leave nothing of it
UNIFORMS = 3 + MOST_TRIES  # of a slice step
GROW_DOWN, GROW_UP, SHRINK, DONE = 0, 1, 2, 3


class Slice(NamedTuple):
    """A slice through a density (Neal 2003: stepping out, shrinking) and the point to evaluate next."""

    point: Array
    low: Array
    high: Array
    down: Array
    up: Array
    stage: Array
    tries: Array


def slice_step(uniforms: Array, x: Array, log_density: Callable[[Array], Array], step: float = 1.0) -> Array:
    """One slice step from x; all chains of a batch go on until the last is done."""
    height = log_density(x) + jnp.log1p(-uniforms[0])
    low = x - step * uniforms[1]
    down = jnp.floor(uniforms[2] * STEPS).astype(jnp.int32)
    zero = jnp.zeros_like(down)
    start = _next_point(Slice(x, low, low + step, down, STEPS - 1 - down, zero + GROW_DOWN, zero), uniforms)

    def advance(s: Slice) -> Slice:
        inside = log_density(s.point) > height
        grow_down, grow_up = inside & (s.stage == GROW_DOWN), inside & (s.stage == GROW_UP)
        shrinking = s.stage == SHRINK
        done = shrinking & (inside | (s.tries >= MOST_TRIES - 1))
        shrink = shrinking & ~done
        moved = Slice(
            s.point,
            jnp.where(grow_down, s.low - step, jnp.where(shrink & (s.point < x), s.point, s.low)),
            jnp.where(grow_up, s.high + step, jnp.where(shrink & (s.point >= x), s.point, s.high)),
            s.down - grow_down,
            s.up - grow_up,
            jnp.where(done, DONE, jnp.where(~shrinking & ~inside, s.stage + 1, s.stage)),
            s.tries + shrinking,
        )
        moved = _next_point(moved, uniforms)
        return moved._replace(point=jnp.where(done, jnp.where(inside, s.point, x), moved.point))

    return lax.while_loop(lambda s: s.stage < DONE, advance, start).point


def _next_point(s: Slice, uniforms: Array) -> Slice:
    """Set the point: an end of the bracket while it may grow, then a point inside."""
    stage = jnp.where((s.stage == GROW_DOWN) & (s.down <= 0), GROW_UP, s.stage)
    stage = jnp.where((stage == GROW_UP) & (s.up <= 0), SHRINK, stage)
    within = s.low + (s.high - s.low) * uniforms[jnp.minimum(3 + s.tries, UNIFORMS - 1)]
    point = jnp.where(stage == GROW_DOWN, s.low, jnp.where(stage == GROW_UP, s.high, within))
    return s._replace(point=point, stage=stage)


def draw_place(uniform: Array, weights: Array) -> Array:
    """Draw a position with probabilities proportional to the weights."""
    sums = jnp.cumsum(weights)
    return jnp.minimum(jnp.searchsorted(sums, uniform * sums[-1], side="right"), weights.size - 1)


def row_normals(key: Array, rows: Array, K: int, dtype: jnp.dtype) -> Array:
    """Normals for rows, (m, K): a row has the same ones wherever it stands, and on however many devices.

    Counters are hashed with the key: number k of row i is that of counter (i, k). key: two words of 32 bits.
    """
    m, words = len(rows), K if dtype == jnp.float64 else -(-K // 2)
    name = jnp.broadcast_to(rows.astype(jnp.uint32)[:, None], (m, words))
    count = jnp.broadcast_to(jnp.arange(words, dtype=jnp.uint32), (m, words))
    bits = threefry_2x32(key, jnp.stack([name, count])).reshape(2, m, words)
    if dtype == jnp.float64:
        u = (bits[0].astype(dtype) + (bits[1].astype(dtype) + 0.5) * 2.0**-32) * 2.0**-32
    else:  # 23 bits in the middle of their cells: never 0 or 1
        u = ((jnp.concatenate([bits[0], bits[1]], axis=1)[:, :K] >> 9).astype(dtype) + 0.5) * dtype.type(
            2.0**-23
        )
    return jnp.sqrt(dtype.type(2.0)) * lax.erf_inv(2 * u - 1)
