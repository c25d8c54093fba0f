"""Sums over the observations of each row, the bulk of a sweep, with features f (R numbers) and targets t.

t = y - mu - effect of the other side. `Sums` holds all that a row's draw needs. `Table` has the features of every
place of the other side, and in its last row the zeros that empty slots point to: there `one` is 0, elsewhere 1.

On a GPU a kernel of its own gathers the features of a line and multiplies them on the tensor cores, the sums kept on
chip: three products of half the digits each, which have the error of single precision. Elsewhere, and with weights, the
features are gathered first and multiplied by the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec

from maxentry.gpu.layout import Layout

GATHERED_NUMBERS = 4e8  # at a time, over all chains: longer blocks are taken in parts
LEAST_SIDE = 16  # of a product on the tensor cores
KERNEL_SHAPE = {16: (64, 1), 32: (32, 1), 64: (32, 4)}  # slots at a time and warps, by the features of a line


class DeviceBlock(NamedTuple):
    """A `layout.Block` on the device."""

    index: Array
    values: Array
    slots: Array
    pieces: Array


@partial(jax.tree_util.register_dataclass, data_fields=["blocks", "ids"], meta_fields=["rows"])
@dataclass(frozen=True)
class Lines:
    """One side's observations on a device: blocks of `rows` rows each, then rows without observations."""

    blocks: tuple[DeviceBlock, ...]
    ids: Array  # (m,) the row at each place, which names its random numbers
    rows: tuple[int, ...]

    @classmethod
    def of(cls, layout: Layout, put: Any) -> Lines:
        """Move a layout to the device; put(array, shared) does so, shared: the same on all devices."""
        blocks = tuple(
            DeviceBlock(put(b.index), put(b.values), put(b.slots), put(b.pieces, True)) for b in layout.blocks
        )
        return cls(blocks, put(layout.order.rows), layout.rows)

    def specs(self, axis: str) -> Lines:
        """How the arrays are spread over an axis of a mesh."""
        here: Any = PartitionSpec(axis)
        shared: Any = PartitionSpec()
        return Lines((DeviceBlock(here, here, here, shared),) * len(self.blocks), here, self.rows)

    def here(self) -> Lines:
        """The part of this device, without the axis of the devices."""
        blocks = tuple(DeviceBlock(b.index[0], b.values[0], b.slots[0], b.pieces) for b in self.blocks)
        return Lines(blocks, self.ids[0], self.rows)


class Table(NamedTuple):
    """What the places of the other side give to an observation."""

    F: Array  # (places + 1, R) features
    one: Array  # (places + 1,)
    offset: Array  # (places + 1,) -mu - effect


class Sums(NamedTuple):
    """Sums of each row over its observations; with weights w, every product is times w."""

    ff: Array  # (m, R, R)
    f: Array  # (m, R)
    tf: Array  # (m, R)
    w: Array  # (m,)
    t: Array  # (m,)
    tt: Array  # (m,)


def row_sums(lines: Lines, table: Table, weights: Array | None, fused: bool, chains: int) -> Sums:
    """The sums of every row; fused: by the kernel for GPUs."""
    parts = []
    for block, rows in zip(lines.blocks, lines.rows, strict=True):
        sums = _fused_sums(block, table) if fused else _library_sums(block, table, weights, chains)
        if block.pieces.size:
            add = partial(
                jax.ops.segment_sum, segment_ids=block.pieces, num_segments=rows, indices_are_sorted=True
            )
            sums = Sums(*(add(s) for s in sums))
        parts.append(sums)
    empty, R = lines.ids.shape[0] - sum(lines.rows), table.F.shape[-1]
    shapes = ((empty, R, R), (empty, R), (empty, R), (empty,), (empty,), (empty,))
    parts.append(Sums(*(jnp.zeros(shape, table.F.dtype) for shape in shapes)))
    return Sums(*(jnp.concatenate(each) for each in zip(*parts, strict=True)))


def _library_sums(block: DeviceBlock, table: Table, weights: Array | None, chains: int) -> Sums:
    """Gather the features of a block, or of parts of it one after the other, and multiply them."""

    def of_lines(part: tuple[Array, Array, Array]) -> Sums:
        index, values, slots = part
        f, one = table.F[index], table.one[index]
        t = values.astype(f.dtype) * one + table.offset[index]
        w = one if weights is None else weights[slots].astype(f.dtype)
        wf = f if weights is None else f * w[..., None]
        product = partial(jnp.einsum, precision="highest")
        ff, tf = product("lwa,lwb->lab", wf, f), product("lw,lwb->lb", t, wf)
        return Sums(ff, jnp.sum(wf, 1), tf, jnp.sum(w, 1), jnp.sum(w * t, 1), jnp.sum(w * t * t, 1))

    lines, width = block.index.shape
    parts = max(1, -(-lines * width * table.F.shape[-1] * chains // int(GATHERED_NUMBERS)))
    inputs = (block.index, block.values, block.slots)
    if parts == 1:
        return of_lines(inputs)
    each = lines // parts
    whole = parts * each
    stacked = tuple(a[:whole].reshape(parts, each, a.shape[-1]) for a in inputs)
    sums = Sums(*(s.reshape(whole, *s.shape[2:]) for s in lax.map(of_lines, stacked)))
    if whole == lines:
        return sums
    rest = of_lines((block.index[whole:], block.values[whole:], block.slots[whole:]))
    return Sums(*(jnp.concatenate(pair) for pair in zip(sums, rest, strict=True)))


def _fused_sums(block: DeviceBlock, table: Table) -> Sums:
    """The same in one kernel for GPUs, a program for each line; without weights, in single precision."""
    from jax.experimental.pallas import triton

    R, (lines, width) = table.F.shape[-1], block.index.shape
    side = max(LEAST_SIDE, 1 << (R - 1).bit_length())
    F = jnp.pad(table.F, ((0, 0), (0, side - R)))
    step, warps = KERNEL_SHAPE[side]
    kernel = partial(sum_line, width=width, step=step, nowhere=len(F) - 1)
    real = F.dtype
    ff, borders = pl.pallas_call(
        kernel,
        out_shape=(
            jax.ShapeDtypeStruct((lines, side, side), real),
            jax.ShapeDtypeStruct((lines, 3, side), real),
        ),
        grid=(lines,),
        compiler_params=triton.CompilerParams(num_warps=warps, num_stages=2),
        interpret=jax.default_backend() == "cpu",
    )(block.index, block.values, F, table.one, table.offset)
    w, t, tt = (borders[:, 2, k] for k in range(3))
    return Sums(ff[:, :R, :R], borders[:, 0, :R], borders[:, 1, :R], w, t, tt)


def sum_line(
    index: Any, values: Any, F: Any, one: Any, offset: Any, ff: Any, borders: Any, *,
    width: int, step: int, nowhere: int,
) -> None:  # fmt: skip
    """Add up one line, `step` slots at a time; the arguments are references to whole arrays."""
    from jax.experimental.pallas.triton import load

    line, side, real = pl.program_id(0), F.shape[1], F.dtype
    slot, column = jnp.arange(step), jnp.arange(side)
    products = None if jax.default_backend() == "cpu" else lax.DotAlgorithmPreset.TF32_TF32_F32_X3

    def add(k: Any, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        inside, here = k * step + slot < width, pl.ds(k * step, step)
        j = load(index.at[line, here], mask=inside, other=nowhere)
        y = load(values.at[line, here], mask=inside, other=0.0)
        f, w = load(F.at[j[:, None], column[None, :]]), load(one.at[j])
        t = y * w + load(offset.at[j])
        ff = lax.dot_general(f, f, (((0,), (0,)), ((), ())), precision=products, preferred_element_type=real)
        new = ff, jnp.sum(f, 0), jnp.sum(f * t[:, None], 0), jnp.sum(w), jnp.sum(t), jnp.sum(t * t)
        return tuple(old + more for old, more in zip(sums, new, strict=True))

    zero = jnp.zeros((), real)
    start = (jnp.zeros((side, side), real), jnp.zeros(side, real), jnp.zeros(side, real), zero, zero, zero)
    steps = -(-width // step)
    sums = lax.fori_loop(0, steps, add, start) if steps > 1 else add(0, start)
    ff[line], borders[line, 0], borders[line, 1] = sums[:3]
    borders[line, 2] = jnp.where(
        column == 0, sums[3], jnp.where(column == 1, sums[4], jnp.where(column == 2, sums[5], zero))
    )


def residuals(lines: Lines, table: Table, own: Array, effect: Array) -> list[Array]:
    """t - f'a - effect of every slot, block by block, with a and the effect of its row."""
    first, found = 0, []
    for block, rows in zip(lines.blocks, lines.rows, strict=True):
        a, r = own[first : first + rows], effect[first : first + rows]
        if block.pieces.size:
            a, r = a[block.pieces], r[block.pieces]
        fitted = jnp.einsum("lwa,la->lw", table.F[block.index], a, precision="highest")
        t = block.values.astype(fitted.dtype) + table.offset[block.index]
        found.append(t - fitted - r[:, None])
        first += rows
    return found
