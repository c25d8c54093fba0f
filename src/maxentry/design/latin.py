"""Random Latin squares, and the designs read off them: entries that hold the same symbol (§3.2, Algorithm 1)."""

from __future__ import annotations

import numpy as np

from maxentry._types import Indices
from maxentry.belief import Entries, check_shape
from maxentry.errors import ParameterError, is_whole
from maxentry.kernels.design import cyclic_square, walk_squares
from maxentry.wording import show


def random_square(m: int, rng: np.random.Generator, visits: int | None = None) -> Indices:
    """Draw a Latin square of order m: an m x m array of symbols 0..m-1, each once in every row and column.

    Jacobson and Matthews' chain from the cyclic square until it has been at `visits` proper squares (m^2 + 64 if not
    given; some m moves each, so about m^3 moves in all: 5 ms for m = 50, a second for 300, a minute for
    1000), then rows, columns and symbols in random order. The chain's law is the uniform one.
    """
    m, _ = check_shape((m, m))
    if visits is not None and not is_whole(visits, 0):
        raise ParameterError(f"visits must be a whole number of at least 0, got {visits}")
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(f"rng must be a numpy.random.Generator, got {show(rng)}")
    square = cyclic_square(m)
    if m > 1:
        walk_squares(square, m * m + 64 if visits is None else int(visits), rng)
    rows, cols, symbols = (rng.permutation(m) for _ in range(3))
    drawn: Indices = symbols[square.symbol[np.ix_(rows, cols)]]
    return drawn


def draw_symbols(m: int, k: int, rng: np.random.Generator) -> Entries:
    """Draw the entries of the first k symbols of one random square: N = k m, every row and column k times."""
    if not 0 <= k <= m:
        raise ParameterError(f"k must be from 0 to {m}, the symbols of a square of order {m}, got {k}")
    return Entries.from_lists(*np.nonzero(random_square(m, rng) < k))


def stack_squares(shape: tuple[int, int], rng: np.random.Generator) -> Entries:
    """Draw the initial design of Algorithm 1: symbol 'a' of random Latin squares stacked along the longer side.

    max(m1, m2) entries: every row once if m1 >= m2, every column equally often or once more. Where m2 does not divide
    m1, the last square is cut off; the paper's floor(m1/m2) squares would leave rows with nothing.
    One symbol of a uniform square is a uniform permutation (permuting the rows of a square permutes the
    symbol's columns, and changes no probability), so the permutations are drawn and the squares are not.
    """
    m1, m2 = check_shape(shape)
    if m1 < m2:
        transposed = stack_squares((m2, m1), rng)
        return Entries(transposed.cols, transposed.rows)
    squares = -(-m1 // m2)
    a = np.concatenate([rng.permutation(m2) for _ in range(squares)])
    return Entries.from_lists(np.arange(m1), a[:m1])
