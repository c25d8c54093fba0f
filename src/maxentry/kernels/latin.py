"""Moves of Jacobson and Matthews (1996) on Latin squares, proper and improper.

A square is a cube of zeros and ones in which every line, along rows, columns or symbols, adds up to one. An
improper square has one cell of -1 besides. Lines are kept instead of the cube: the symbol at (row, column), the
column at (row, symbol), the row at (column, symbol). The three lines through the -1 hold two ones each; the second
of each is in `hole`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Square(NamedTuple):
    """A Latin square by its lines; hole = (r, c, s, r2, c2, s2): the -1 and the second ones, r < 0 if proper."""

    symbol: Indices  # [row, column]
    col: Indices  # [row, symbol]
    row: Indices  # [column, symbol]
    hole: Indices


@njit(cache=True, nogil=True)
def cyclic(m: int) -> Square:
    """The square of addition modulo m."""
    square = Square(
        np.empty((m, m), np.int64), np.empty((m, m), np.int64), np.empty((m, m), np.int64), np.full(6, -1)
    )
    for r in range(m):
        for c in range(m):
            s = (r + c) % m
            square.symbol[r, c], square.col[r, s], square.row[c, s] = s, c, r
    return square


@njit(cache=True, nogil=True)
def walk(square: Square, visits: int, rng: np.random.Generator) -> int:
    """Move until `visits` proper squares have been met (one may be met again); returns the number of moves.

    Counted are proper squares, not moves: the chain seen at its proper squares only is reversible with the
    uniform law. The first proper square after a given number of moves is not uniform, as the
    stretches of improper squares that lead to a proper one differ in length.
    """
    moves = 0
    while visits > 0:
        step(square, rng)
        moves += 1
        if square.hole[0] < 0:
            visits -= 1
    return moves


@njit(cache=True, nogil=True)
def step(square: Square, rng: np.random.Generator) -> None:
    """One move: add 1 at a zero cell (if proper) or at the -1, and mend the lines through it.

    (r, c, s) gets the 1; the ones (r, c, s2), (r, c2, s), (r2, c, s) on its lines are taken away (of two, either), and
    what that breaks is mended on the cube {r, r2} x {c, c2} x {s, s2}. Its far corner (r2, c2, s2) goes down by one.
    """
    symbol, col, row, hole = square
    m = symbol.shape[0]
    if hole[0] < 0:
        r, c = below(m, rng), below(m, rng)
        s = (symbol[r, c] + 1 + below(m - 1, rng)) % m
        r2, c2, s2 = row[c, s], col[r, s], symbol[r, c]
        symbol[r, c], col[r, s], row[c, s] = s, c, r
    else:
        r, c, s = hole[0], hole[1], hole[2]
        r2, row[c, s] = either(row[c, s], hole[3], rng)
        c2, col[r, s] = either(col[r, s], hole[4], rng)
        s2, symbol[r, c] = either(symbol[r, c], hole[5], rng)
    symbol[r, c2] = symbol[r2, c] = s2
    col[r, s2] = col[r2, s] = c2
    row[c, s2] = row[c2, s] = r2
    if symbol[r2, c2] == s2:
        symbol[r2, c2], col[r2, s2], row[c2, s2] = s, c, r
        hole[0] = -1
    else:
        hole[0], hole[1], hole[2] = r2, c2, s2
        hole[3], hole[4], hole[5] = r, c, s


@njit(cache=True, nogil=True)
def below(k: int, rng: np.random.Generator) -> int:
    """A whole number below k, all equally likely."""
    return int(rng.random() * k)


@njit(cache=True, nogil=True)
def either(a: int, b: int, rng: np.random.Generator) -> tuple[int, int]:
    """The two numbers in random order."""
    return (a, b) if rng.random() < 0.5 else (b, a)
