"""Kernels for GPUs (Pallas): the sums of each row, and the draw of its coefficients from them, each in one pass.

`sum_lines`: a program for each line gathers the features of its observations from the cache, some slots at a time. The
products of features with each other are taken on the tensor cores, three of half the digits each, which have the error
of single precision; those with 1 and t are not, which is faster. The sums stay on chip. Rows with more than `PIECE`
observations have more lines; their sums are added in a fixed order.

`draw_lines`: a program for each row factorises its precision in registers, in tiles of 16 x 16, and solves.

All in single precision, R padded with zeros to 16, 32 or 64. Off a GPU they run in the interpreter, for tests.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl

PIECE = 2048  # observations of a line, at most
SUM_SHAPE = {16: (32, 1), 32: (32, 1), 64: (16, 2)}  # slots at a time and warps, by the padded R
DRAW_WARPS = 1
TILE = 16
LEAST_CAPABILITY = 8


class Flat(NamedTuple):
    """One side's observations on a device, row after row; a row's first piece is its line, more pieces follow."""

    places: Array  # (N,) places on the other side
    values: Array  # (N,)
    start: Array  # (m,) where each row begins
    length: Array  # (m,) observations of its first piece
    more_start: Array  # (E,) the same of the other pieces, row by row
    more_length: Array  # (E,)
    more: Array  # (m + 1,) the first of each row's other pieces


def padded_side(R: int) -> int:
    """R rounded up to a side that the kernels have."""
    return max(16, 1 << (R - 1).bit_length())


def has_kernels(device: Any) -> bool:
    """Whether the kernels can be compiled for a device, by the compiler that JAX has for Pallas.

    That is Triton, for NVIDIA's GPUs from compute capability 8 on. JAX 0.11 says that it will be taken out one day, and
    its other compiler has no gathers from the cache. Without it, sums and draws are the library's.
    """
    number = str(getattr(device, "compute_capability", "")).partition(".")[0]
    if device.platform != "gpu" or not number.isdigit() or int(number) < LEAST_CAPABILITY:
        return False
    try:
        from jax.experimental.pallas import triton  # noqa: F401
    except ImportError:
        return False
    # It is said when a sweep is compiled, with none of our calls on the stack, so nothing narrower would do.
    warnings.filterwarnings("ignore", "The Pallas Triton backend is deprecated", DeprecationWarning)
    return True


def interpreted() -> bool:
    """Whether there is no GPU to compile for."""
    return bool(jax.default_backend() == "cpu")


def _precise() -> Any:
    return None if interpreted() else lax.DotAlgorithmPreset.TF32_TF32_F32_X3


def _options(warps: int) -> dict[str, Any]:
    from jax.experimental.pallas import triton

    return {
        "compiler_params": triton.CompilerParams(num_warps=warps, num_stages=2),
        "interpret": interpreted(),
    }


def sum_lines(flat: Flat, F: Array, offset: Array) -> tuple[Array, Array]:
    """Return sum f f' of each row, (m, side, side), and in (m, 3, side) sum f, sum t f, and (n, sum t, sum t^2)."""
    nothing = jnp.zeros(len(flat.more_start) + 1, jnp.int32)
    side = F.shape[1]
    more = jnp.zeros((1, side, side), F.dtype), jnp.zeros((1, 3, side), F.dtype)
    if len(flat.more_start):
        more = _sum(flat.more_start, flat.more_length, nothing, flat, F, offset, *more)
    return _sum(flat.start, flat.length, flat.more, flat, F, offset, *more)


def _sum(
    start: Array, count: Array, more: Array, flat: Flat, F: Array, offset: Array, ff: Array, borders: Array
) -> tuple[Array, Array]:  # fmt: skip
    lines, side = len(start), F.shape[1]
    step, warps = SUM_SHAPE[side]
    shapes = (
        jax.ShapeDtypeStruct((lines, side, side), F.dtype),
        jax.ShapeDtypeStruct((lines, 3, side), F.dtype),
    )
    call = pl.pallas_call(
        partial(_sum_line, step=step, nowhere=len(F) - 1), out_shape=shapes, grid=(lines,), **_options(warps)
    )
    found: tuple[Array, Array] = call(start, count, more, flat.places, flat.values, F, offset, ff, borders)
    return found


def _sum_line(
    start: Any, count: Any, more: Any, index: Any, values: Any, F: Any, offset: Any, more_ff: Any,
    more_borders: Any, out_ff: Any, out_borders: Any, *, step: int, nowhere: int,
) -> None:  # fmt: skip
    from jax.experimental.pallas.triton import load

    line, side, real = pl.program_id(0), F.shape[1], F.dtype
    slot, column = jnp.arange(step), jnp.arange(side)
    first, n = start[line], count[line]
    product = partial(
        lax.dot_general,
        dimension_numbers=(((0,), (0,)), ((), ())),
        precision=_precise(),
        preferred_element_type=real,
    )

    def fetch(k: Any) -> tuple[Array, Array]:
        inside, at = k * step + slot < n, first + k * step + slot
        return load(index.at[at], mask=inside, other=nowhere), load(values.at[at], mask=inside, other=0.0)

    def add(k: Any, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        j, y, ff, f_sum, tf_sum, t_sum, tt_sum = carry
        following = fetch(k + 1)  # on its way while this step multiplies
        f, t = load(F.at[j[:, None], column[None, :]]), y + load(offset.at[j])
        sums = f_sum + f, tf_sum + f * t[:, None], t_sum + t, tt_sum + t * t
        return *following, ff + product(f, f), *sums

    slots, tile = jnp.zeros(step, real), jnp.zeros((step, side), real)
    begin = (*fetch(0), jnp.zeros((side, side), real), tile, tile, slots, slots)
    _, _, ff, f, tf, t, tt = lax.fori_loop(0, (n + step - 1) // step, add, begin)
    last = jnp.where(column == 1, jnp.sum(t), jnp.where(column == 2, jnp.sum(tt), 0.0))
    last = jnp.where(column == 0, n.astype(real), last)
    sums = ff, jnp.sum(f, 0), jnp.sum(tf, 0), last

    def add_more(k: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        ff, f, tf, last = sums
        return ff + more_ff[k], f + more_borders[k, 0], tf + more_borders[k, 1], last + more_borders[k, 2]

    sums = lax.fori_loop(more[line], more[line + 1], add_more, sums)
    out_ff[line], out_borders[line, 0], out_borders[line, 1], out_borders[line, 2] = sums


def draw_lines(
    ff: Array, borders: Array, z: Array, last: Array, own: Array, precision: Array, sd: Array
) -> tuple[Array, Array]:
    """Draw each row's coefficients g, (m, side), as `halves.draw_coefficients` says.

    z: normals, (m, side); last: those of the effects, (m,). Returned with them, in (m, side): the effect,
    g'(sum f f')g, (sum f)'g and (sum t f)'g.
    """
    m, side = z.shape
    shape = jax.ShapeDtypeStruct((m, side), z.dtype)
    scale = jnp.stack([precision, sd])
    call = pl.pallas_call(_draw_line, out_shape=(shape, shape), grid=(m,), **_options(DRAW_WARPS))
    found: tuple[Array, Array] = call(ff, borders, z, last, own, scale)
    return found


def _draw_line(
    ff: Any, borders: Any, z: Any, last: Any, own: Any, scale: Any, out_g: Any, out_sums: Any
) -> None:
    line, side = pl.program_id(0), z.shape[1]
    n = min(side, TILE)
    precision, sd = scale[0], scale[1]
    parts = [pl.ds(k * n, n) for k in range(side // n)]
    w, t = borders[line, 2, 0], borders[line, 2, 1]
    root = jnp.sqrt(1.0 + precision * sd * sd * w)
    f, tf = ([borders[line, k, part] for part in parts] for k in (0, 1))
    ell, y = [precision * sd * x / root for x in f], precision * sd * t / root
    row, col = jnp.arange(n)[:, None], jnp.arange(n)[None, :]
    P: dict[tuple[int, int], Array] = {}
    for i in range(len(parts)):
        for j in range(i + 1):
            tile = precision * ff[line, parts[i], parts[j]] - ell[i][:, None] * ell[j][None, :]
            P[i, j] = tile + jnp.where(row == col, own[parts[i]][:, None], 0.0) if i == j else tile
    v = [precision * b - e * y for b, e in zip(tf, ell, strict=True)]
    for j in range(len(parts)):
        below = range(j + 1, len(parts))
        tiles, v[j] = _factorise([P[j, j], *(P[i, j] for i in below)], v[j])
        P[j, j] = tiles[0]
        for i in below:
            P[i, j] = tiles[i - j]
            v[i] = v[i] - jnp.sum(P[i, j] * v[j][None, :], axis=1)
            for k in range(j + 1, i + 1):
                exact = None if interpreted() else lax.DotAlgorithmPreset.F32_F32_F32
                P[i, k] = P[i, k] - lax.dot_general(
                    P[i, j], P[k, j], (((1,), (1,)), ((), ())), precision=exact,
                    preferred_element_type=jnp.float32,
                )  # fmt: skip
    g = [v[k] + z[line, part] for k, part in enumerate(parts)]
    for j in reversed(range(len(parts))):
        for i in range(j + 1, len(parts)):
            g[j] = g[j] - jnp.sum(P[i, j] * g[i][:, None], axis=0)
        g[j] = _solve_back(P[j, j], g[j])
    f_g, tf_g, l_g = (sum(jnp.sum(x * c) for x, c in zip(xs, g, strict=True)) for xs in (f, tf, ell))
    effect = sd * (y + last[line] - l_g) / root
    squares = jnp.zeros((), jnp.float32)
    for i, one in enumerate(parts):
        for j, other in enumerate(parts):
            squares += jnp.sum(jnp.sum(ff[line, one, other] * g[j][None, :], axis=1) * g[i])
    for k, part in enumerate(parts):
        out_g[line, part] = g[k]
    place = jnp.arange(side)
    sums = jnp.where(place == 0, effect, jnp.where(place == 1, squares, jnp.where(place == 2, f_g, tf_g)))
    out_sums[line] = sums


def _factorise(tiles: list[Array], v: Array) -> tuple[list[Array], Array]:
    """Overwrite the first tile by its Cholesky factor C, those below it by theirs times C'^-1, and v by C^-1 v."""
    n = v.shape[0]
    k = jnp.arange(n)

    def eliminate(j: Any, carry: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
        tiles, v = carry
        here = k[None, :] == j
        columns = [jnp.sum(jnp.where(here, tile, 0.0), axis=1) for tile in tiles]
        inverse = lax.rsqrt(jnp.sum(jnp.where(k == j, columns[0], 0.0)))
        columns = [column * inverse for column in columns]
        columns[0] = jnp.where(k >= j, columns[0], 0.0)
        across = columns[0][None, :]
        y = jnp.sum(jnp.where(k == j, v, 0.0)) * inverse
        v = jnp.where(k == j, y, jnp.where(k > j, v - columns[0] * y, v))
        tiles = [
            jnp.where(here, c[:, None], jnp.where(k[None, :] > j, tile - c[:, None] * across, tile))
            for tile, c in zip(tiles, columns, strict=True)
        ]
        return tiles, v

    found: tuple[list[Array], Array] = lax.fori_loop(0, n, eliminate, (tiles, v))
    return found


def _solve_back(C: Array, x: Array) -> Array:
    """C'^-1 x."""
    n = x.shape[0]
    k = jnp.arange(n)

    def substitute(step: Any, x: Array) -> Array:
        j = n - 1 - step
        row = jnp.sum(jnp.where(k[:, None] == j, C, 0.0), axis=0)
        new = jnp.sum(jnp.where(k == j, x, 0.0)) / jnp.sum(jnp.where(k == j, row, 0.0))
        return jnp.where(k == j, new, jnp.where(k < j, x - row * new, x))

    solved: Array = lax.fori_loop(0, n, substitute, x)
    return solved
