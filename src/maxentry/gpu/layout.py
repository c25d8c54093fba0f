"""Observations as a GPU reads them: dense blocks of rows with about as many observations, padded to one width.

| symbol | meaning |
|---|---|
| D | devices; each has every D-th row in the order of falling degree, so that all have about the same work |
| place | where a row stands: device * (rows a device) + position |
| width | slots of a row in its block: its number of observations, rounded up on a ladder |
| piece | `PIECE` slots of a row with more than `WIDEST` observations |

A slot holds the place of its observation on the other side, and its value. An empty slot points to a row of zeros
behind the last place. Rows stand in the order of the blocks, so the sums of a block are those of consecutive rows.
Filling the blocks is compiled and shared by threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array
from maxentry.errors import SizeError
from maxentry.observations import Half

WIDEST, PIECE = 1024, 512
LADDER = np.array([4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024])
TASK = 2_000_000  # slots that a thread fills at a time

Ints = NDArray[np.int32]


class Order(NamedTuple):
    """Where the rows of a side stand on the devices."""

    rows: Ints  # (D, rows a device) the row at each place; the number of rows where there is none
    place: Ints  # (m,) the place of each row
    degree: NDArray[
        np.int64
    ]  # (rows a device,) the most observations of a row at a position, over the devices

    @classmethod
    def by_degree(cls, indptr: NDArray[np.int64], devices: int) -> Order:
        """Deal the rows to the devices, those with most observations first."""
        degree = np.diff(indptr)
        m = degree.size
        each = -(-m // devices)
        dealt = np.full(each * devices, m, dtype=np.int32)
        dealt[:m] = np.argsort(-degree, kind="stable")
        rows = np.ascontiguousarray(dealt.reshape(each, devices).T)
        place = np.empty(m + 1, dtype=np.int32)
        place[rows.ravel()] = np.arange(rows.size, dtype=np.int32)
        most = np.append(degree, 0)[dealt[::devices]]
        return cls(rows, place[:m], most)


class Block(NamedTuple):
    """Consecutive rows of one width; of rows in pieces, `pieces` says to which of the rows a line belongs."""

    places: Ints  # (D, lines, width) on the other side
    values: NDArray[np.floating]  # (D, lines, width)
    slots: (
        Ints  # (D, lines, width) positions of the observations in row order; (D, lines, 0) where not needed
    )
    pieces: Ints  # (lines,), empty where a line is a row


class Layout(NamedTuple):
    """One side's observations in blocks, in the order of the rows; rows after the last block have none."""

    blocks: tuple[Block, ...]
    rows: tuple[int, ...]  # of each block
    order: Order


def arrange(
    half: Half, mine: Order, other: Order, dtype: type[np.floating], slots: bool, threads: int
) -> Layout:
    """Fill the blocks of a side; slots: whether noise has weights, which both sides must find."""
    blocks, counts, n = [], [], half.values.size
    source = half.source if half.source.size else np.arange(n, dtype=np.int32)
    with ThreadPoolExecutor(threads) as pool:
        tasks = []
        for first, last, width in _spans(mine.degree):
            parts = (
                -(-mine.degree[first:last] // width)
                if width == PIECE and mine.degree[first] > WIDEST
                else None
            )
            position = np.arange(last - first) if parts is None else np.repeat(np.arange(last - first), parts)
            piece = np.zeros(position.size, dtype=np.int64)
            if parts is not None:
                piece = np.arange(position.size) - np.repeat(np.cumsum(parts) - parts, parts)
            shape = (len(mine.rows), position.size, width)
            block = Block(
                np.empty(shape, np.int32),
                np.empty(shape, dtype),
                np.empty(shape if slots else (*shape[:2], 0), np.int32),
                np.empty(0, np.int32) if parts is None else position.astype(np.int32),
            )
            blocks.append(block)
            counts.append(last - first)
            step = max(1, TASK // width)
            for d, rows in enumerate(mine.rows):
                for at in range(0, position.size, step):
                    part = slice(at, at + step)
                    tasks.append(
                        pool.submit(
                            fill_lines,
                            rows[first + position[part]],
                            piece[part],
                            half.indptr,
                            half.index,
                            half.values,
                            source,
                            other.place,
                            other.rows.size,
                            block.places[d, part],
                            block.values[d, part],
                            block.slots[d, part],
                        )
                    )
        for task in tasks:
            task.result()
    return Layout(tuple(blocks), tuple(counts), mine)


def _spans(degree: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return (first, last, width) of each block: positions of one width on the ladder, longest first."""
    rung = LADDER[np.minimum(np.searchsorted(LADDER, degree), LADDER.size - 1)]
    width = np.where(degree > WIDEST, PIECE + 1, rung) * (degree > 0)  # in pieces: no width of the ladder
    edges = np.flatnonzero(np.diff(width)) + 1
    firsts, lasts = np.append(0, edges), np.append(edges, degree.size)
    spans = [
        (int(a), int(b), int(min(width[a], WIDEST))) for a, b in zip(firsts, lasts, strict=True) if a < b
    ]
    return [(a, b, PIECE if w == PIECE + 1 else w) for a, b, w in spans if w > 0]


@njit(cache=True, nogil=True)
def fill_lines(
    rows: Ints, piece: NDArray[np.int64], indptr: NDArray[np.int64], index: Ints, values: Array, source: Ints,
    place: Ints, nowhere: int, out_index: Ints, out_values: Array, out_slots: Ints,
) -> None:  # fmt: skip
    """Fill lines of a block with the observations of their rows, from the beginning of their pieces."""
    width, n_slots = out_index.shape[1], out_slots.shape[1]
    for line in range(rows.size):
        start, stop = 0, 0
        if rows[line] < indptr.size - 1:
            start = indptr[rows[line]] + piece[line] * width
            stop = indptr[rows[line] + 1]
        for k in range(width):
            n = start + k
            there = n < stop
            out_index[line, k] = place[index[n]] if there else nowhere
            out_values[line, k] = values[n] if there else 0.0
            if n_slots > 0:
                out_slots[line, k] = source[n] if there else values.size


class FlatRows(NamedTuple):
    """One side's observations row after row, in the order of the rows; all with the devices first (`fused.Flat`)."""

    places: Ints
    values: NDArray[np.floating]
    start: Ints
    length: Ints
    more_start: Ints
    more_length: Ints
    more: Ints
    rows: Ints


def flatten(half: Half, mine: Order, other: Order, piece: int, threads: int) -> FlatRows:
    """Put the rows of each device one after the other, in single precision; pieces have at most `piece` of them."""
    D, m = mine.rows.shape
    degree = np.append(np.diff(half.indptr), 0)[mine.rows]
    pieces = np.maximum(-(-mine.degree // piece), 1)  # the same on all devices: those of the longest row
    more = np.append(0, np.cumsum(pieces - 1))
    row = np.repeat(np.arange(m), pieces - 1)
    number = 1 + np.arange(row.size) - more[row]
    start = np.cumsum(degree, axis=1) - degree
    length = int(degree.sum(axis=1).max())
    if length >= 2**31:
        raise SizeError(f"expected fewer than 2^31 observations on a GPU, got {length}; use more GPUs")
    index, values = np.zeros((D, length), np.int32), np.zeros((D, length), np.float32)
    edges = np.linspace(0, m, 8 * threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        tasks = [
            pool.submit(
                copy_rows, mine.rows[d, a:b], start[d, a:b], half.indptr, half.index, half.values, other.place,
                index[d], values[d],
            )
            for d in range(D)
            for a, b in pairwise(edges)
        ]  # fmt: skip
        for task in tasks:
            task.result()
    left = np.clip(degree[:, row] - number * piece, 0, piece)
    parts = (start, np.minimum(degree, piece), start[:, row] + number * piece, left)
    start32, count, more_start, more_count = (part.astype(np.int32) for part in parts)
    return FlatRows(index, values, start32, count, more_start, more_count, more.astype(np.int32), mine.rows)


@njit(cache=True, nogil=True)
def copy_rows(
    rows: Ints, start: NDArray[np.int64], indptr: NDArray[np.int64], index: Ints, values: Array, place: Ints,
    out_index: Ints, out_values: Array,
) -> None:  # fmt: skip
    """Copy the observations of some rows to where they start."""
    for k in range(rows.size):
        if rows[k] < indptr.size - 1:
            at = start[k]
            for n in range(indptr[rows[k]], indptr[rows[k] + 1]):
                out_index[at] = place[index[n]]
                out_values[at] = values[n]
                at += 1
