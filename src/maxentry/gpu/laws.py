"""Random draws on a device: one slice step on the log of a variance, a value from a grid, normals by row.

A random generator takes long to compile, and a sweep would need it at a dozen places. So all random numbers of a sweep
but those of its rows are drawn beforehand, and these functions take uniform numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax
from jax.extend.random import threefry_2x32

STEPS = 30  # of a bracket
MOST_TRIES = 60  # half of the bracket is cut off by each, more or less: 60 leave nothing of it
TOGETHER = 12  # tries in one kernel: all 60 would take seconds to compile
UNIFORMS = 3 + MOST_TRIES  # of a slice step


def slice_step(uniforms: Array, x: Array, log_density: Callable[[Array], Array], step: float = 1.0) -> Array:
    """One slice step from x (Neal 2003: stepping out, shrinking); log_density takes a vector of points.

    Where the bracket may end is known beforehand, and so is where it shrinks to as long as no point is inside: a point
    takes the place of the end on its side of x. So all points are evaluated at once, which is as fast as one of them,
    and no loop waits for the host.
    """
    down = jnp.floor(uniforms[2] * STEPS).astype(jnp.int32)
    low = x - step * uniforms[1]
    high, k = low + step, jnp.arange(STEPS - 1)
    below = k < down
    ends = jnp.where(below, low - step * k, high + step * (k - down))
    densities = log_density(jnp.append(ends, x))
    height = densities[-1] + jnp.log1p(-uniforms[0])
    inside = densities[:-1] > height
    low = low - step * jnp.sum(below & jnp.cumprod(inside).astype(bool))
    high = high + step * jnp.sum(~below & jnp.cumprod(inside | below).astype(bool))
    points = _shrink(low, high, x, uniforms[3:])
    inside = log_density(points) > height
    return jnp.where(inside.any(), points[jnp.argmax(inside)], x)


def _shrink(low: Array, high: Array, x: Array, uniforms: Array) -> Array:
    """The points that are tried one after the other, until one is inside."""

    def some(ends: tuple[Array, Array], uniforms: Array) -> tuple[tuple[Array, Array], Array]:
        (low, high), points = ends, []
        for t in range(TOGETHER):
            points.append(low + (high - low) * uniforms[t])
            left = points[-1] < x
            low, high = lax.select(left, points[-1], low), lax.select(left, high, points[-1])
        return (low, high), jnp.stack(points)

    return lax.scan(some, (low, high), uniforms.reshape(-1, TOGETHER))[1].ravel()


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
        u = _join_words(bits)
    else:  # 23 bits in the middle of their cells: never 0 or 1
        u = ((jnp.concatenate([bits[0], bits[1]], axis=1)[:, :K] >> 9).astype(dtype) + 0.5) * dtype.type(
            2.0**-23
        )
    return jnp.sqrt(dtype.type(2.0)) * lax.erf_inv(2 * u - 1)


def name_uniforms(key: Array, names: Array) -> Array:
    """A uniform number for each name, in double precision, wherever it stands: the name is hashed with the key."""
    words = jnp.stack([names.astype(jnp.uint32), jnp.zeros(names.shape, jnp.uint32)])
    return _join_words(threefry_2x32(key, words).reshape(2, -1))


def _join_words(bits: Array) -> Array:
    """Uniform numbers from two words of 32 bits each, never 0 or 1."""
    high, low = bits.astype(jnp.float64)
    return jnp.minimum((high + (low + 0.5) * 2.0**-32) * 2.0**-32, 1 - 2.0**-53)
