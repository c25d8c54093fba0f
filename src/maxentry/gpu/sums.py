"""Sums over the observations of each row, the bulk of a sweep, with features f (R numbers) and targets t.

t = y - mu - effect of the other side. `Sums` holds all that a row's draw needs. `Table` has the features of every
place of the other side, and in its last row the zeros that empty slots point to: there `one` is 0, elsewhere 1.

On a GPU, in single precision and without weights, a kernel does it (`maxentry.gpu.fused`). Elsewhere the features of a
block are gathered first and multiplied by the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.sharding import PartitionSpec

from maxentry.gpu.fused import Flat, padded_side, sum_lines
from maxentry.gpu.layout import FlatRows, Layout

GATHERED_NUMBERS = 4e8  # at a time, over all chains: longer blocks are taken in parts


class DeviceBlock(NamedTuple):
    """A `layout.Block` on the device."""

    places: Array
    values: Array
    slots: Array
    pieces: Array


@partial(jax.tree_util.register_dataclass, data_fields=["blocks", "ids", "flat"], meta_fields=["rows"])
@dataclass(frozen=True)
class Lines:
    """One side's observations on a device: blocks of `rows` rows each, then rows without observations; or flat."""

    blocks: tuple[DeviceBlock, ...]
    ids: Array  # (m,) the row at each place, which names its random numbers
    rows: tuple[int, ...]
    flat: Flat | None = None  # for the kernel for GPUs

    @classmethod
    def of(cls, layout: Layout, put: Any) -> Lines:
        """Move a layout to the device; put(array, shared) does so, shared: the same on all devices."""
        blocks = tuple(
            DeviceBlock(put(b.places), put(b.values), put(b.slots), put(b.pieces, True))
            for b in layout.blocks
        )
        return cls(blocks, put(layout.order.rows), layout.rows)

    @classmethod
    def of_flat(cls, rows: FlatRows, put: Any) -> Lines:
        """Move rows to the device as the kernel for GPUs reads them."""
        *spread, more, ids = rows
        return cls((), put(ids), (), Flat._make([*(put(a) for a in spread), put(more, True)]))

    def with_values(self, values: Array) -> Lines:
        """The same places with other values, which are in row order with a zero behind them."""
        blocks = tuple(b._replace(values=values[b.slots].astype(b.values.dtype)) for b in self.blocks)
        return Lines(blocks, self.ids, self.rows)

    def specs(self, axis: str) -> Lines:
        """How the arrays are spread over an axis of a mesh."""
        here: Any = PartitionSpec(axis)
        shared: Any = PartitionSpec()
        flat = None if self.flat is None else Flat._make([*[here] * 6, shared])
        return Lines((DeviceBlock(here, here, here, shared),) * len(self.blocks), here, self.rows, flat)

    def here(self) -> Lines:
        """The part of this device, without the axis of the devices."""
        blocks = tuple(DeviceBlock(b.places[0], b.values[0], b.slots[0], b.pieces) for b in self.blocks)
        flat = None if self.flat is None else Flat._make([*(a[0] for a in self.flat[:6]), self.flat.more])
        return Lines(blocks, self.ids[0], self.rows, flat)


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
    borders: Array | None = None  # (m, 3, R): the others together, of the kernel for GPUs


def row_sums(lines: Lines, table: Table, weights: Array | None, chains: int) -> Sums:
    """The sums of every row."""
    if lines.flat is not None:
        return _fused_sums(lines.flat, table)
    parts = []
    for block, rows in zip(lines.blocks, lines.rows, strict=True):
        sums = _library_sums(block, table, weights, chains)
        if block.pieces.size:
            add = partial(
                jax.ops.segment_sum, segment_ids=block.pieces, num_segments=rows, indices_are_sorted=True
            )
            sums = Sums(*(add(s) for s in sums[:6]))
        parts.append(sums[:6])
    empty, R = lines.ids.shape[0] - sum(lines.rows), table.F.shape[-1]
    shapes = ((empty, R, R), (empty, R), (empty, R), (empty,), (empty,), (empty,))
    parts.append(tuple(jnp.zeros(shape, table.F.dtype) for shape in shapes))
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

    lines, width = block.places.shape
    parts = max(1, -(-lines * width * table.F.shape[-1] * chains // int(GATHERED_NUMBERS)))
    inputs = (block.places, block.values, block.slots)
    if parts == 1:
        return of_lines(inputs)
    each = lines // parts
    whole = parts * each
    stacked = tuple(a[:whole].reshape(parts, each, a.shape[-1]) for a in inputs)
    sums = Sums(*(s.reshape(whole, *s.shape[2:]) for s in lax.map(of_lines, stacked)[:6]))
    if whole == lines:
        return sums
    rest = of_lines((block.places[whole:], block.values[whole:], block.slots[whole:]))
    return Sums(*(jnp.concatenate(pair) for pair in zip(sums[:6], rest[:6], strict=True)))


def _fused_sums(flat: Flat, table: Table) -> Sums:
    """The same by the kernel for GPUs; without weights, in single precision. R is padded: see `fused`."""
    F = jnp.pad(table.F, ((0, 0), (0, padded_side(table.F.shape[1]) - table.F.shape[1])))
    ff, borders = sum_lines(flat, F, table.offset)
    w, t, tt = (borders[:, 2, k] for k in range(3))
    return Sums(ff, borders[:, 0], borders[:, 1], w, t, tt, borders)


def residuals(lines: Lines, table: Table, own: Array, effect: Array) -> list[Array]:
    """t - f'a - effect of every slot, block by block, with a and the effect of its row."""
    first, found = 0, []
    for block, rows in zip(lines.blocks, lines.rows, strict=True):
        a, r = own[first : first + rows], effect[first : first + rows]
        if block.pieces.size:
            a, r = a[block.pieces], r[block.pieces]
        fitted = jnp.einsum("lwa,la->lw", table.F[block.places], a, precision="highest")
        t = block.values.astype(fitted.dtype) + table.offset[block.places]
        found.append(t - fitted - r[:, None])
        first += rows
    return found
