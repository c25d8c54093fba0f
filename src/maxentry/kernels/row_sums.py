"""The sums that one row's conditional needs, over its observations: tiles put together for any number of features."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.lanes import LANES
from maxentry.kernels.tiles import BLOCK, STRIP, adder, below, diagonal

CALLED = "f9938c08802d"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]

NEAR = 2048  # numbers of F that stay in the nearest cache from pass to pass, half of it

none, one, two, three, four = (adder(diagonal(strips), True) for strips in range(5))
one_below, two_below, three_below, four_below = (adder(below(strips), False) for strips in range(1, 5))


@njit(cache=True, nogil=True)
def on_diagonal(
    strips: int, start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, at: int,
    offset: Array, mu: float, fresh: bool, out: Array, sums: Array,
) -> None:  # fmt: skip
    """The tiles of up to four strips from feature `at` on, on the diagonal, and their borders."""
    n, block = F.shape[1], at // BLOCK
    if strips == 1:
        one(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 2:
        two(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 3:
        three(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    elif strips == 4:
        four(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)
    else:
        none(start, stop, index, values, weights, F, n, at, at, offset, mu, fresh, out, sums, block)


@njit(cache=True, nogil=True)
def left_of_diagonal(
    strips: int, start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, at: int, col: int,
    offset: Array, mu: float, fresh: bool, out: Array, sums: Array,
) -> None:  # fmt: skip
    """The tile of up to four strips from feature `at` on times the eight columns from `col` on."""
    n = F.shape[1]
    if strips == 1:
        one_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    elif strips == 2:
        two_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    elif strips == 3:
        three_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)
    else:
        four_below(start, stop, index, values, weights, F, n, at, col, offset, mu, fresh, out, sums, 0)


@njit(cache=True, nogil=True)
def row_sums(
    start: int, stop: int, index: Array, values: Array, weights: Array, F: Array, R: int, offset: Array,
    mu: float, out: Array, sums: Array,
) -> None:  # fmt: skip
    """Sums over one row's observations, t = y - mu - offset: out <- sum w f f' (lower triangle), and in its last two
    rows sum w t f and sum w f; sums <- sum w, sum w t, sum w t^2.

    Rows of F have R features and zeros up to a multiple of eight; out is two rows longer than they. Where there are
    several passes, a few observations go through all of them before the next.
    """
    strips = (R + STRIP - 1) // STRIP
    step = max(stop - start, 1) if strips < 4 else max(NEAR // F.shape[1], 8)
    for first in range(start, max(stop, start + 1), step):
        last, fresh = min(first + step, stop), first == start
        for at in range(0, max(strips * STRIP, 1), BLOCK):
            here = min(4, strips - at // STRIP)
            on_diagonal(here, first, last, index, values, weights, F, at, offset, mu, fresh, out, sums)
            for col in range(0, at, LANES):
                left_of_diagonal(
                    here, first, last, index, values, weights, F, at, col, offset, mu, fresh, out, sums
                )
