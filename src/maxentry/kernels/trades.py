"""Random trades between rows: they change which entries are chosen, and no row or column count.

Two rows throw the columns that only one of them has, and both may have, into one pot and share it out
again at random ("curveball", Verhelst 2008; all rows in random pairs at a time, Carstens et al. 2018).
A trade is as likely as its reverse, so the uniform law on the arrangements that trades can reach is kept.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.lists import Lists, stamp

CALLED = "55bba7e54efe"  # a digest of the kernels imported, by which Numba knows when to compile again

Indices = NDArray[np.int64]


@njit(cache=True, nogil=True)
def trade_all(
    lists: Lists, begin: Indices, cols: Indices, passes: int, m2: int, rng: np.random.Generator
) -> None:
    """Let all rows trade in random pairs, `passes` times; row i has cols[begin[i]:begin[i + 1]], in place."""
    rows = np.flatnonzero(begin[1:] > begin[:-1])  # the others have nothing to trade
    has, may = np.full((2, m2), -1), np.full((2, m2), -1)
    pot, where = np.empty(2 * m2, dtype=np.int64), np.empty(2 * m2, dtype=np.int64)
    t = 0
    for _ in range(passes):
        shuffle(rows, rng)
        for p in range(0, rows.size - 1, 2):
            trade(lists, begin, cols, rows[p], rows[p + 1], has, may, pot, where, t, rng)
            t += 1


@njit(cache=True, nogil=True)
def trade(
    lists: Lists, begin: Indices, cols: Indices, i: int, k: int,
    has: Indices, may: Indices, pot: Indices, where: Indices, t: int, rng: np.random.Generator,
) -> None:  # fmt: skip
    """One trade between rows i and k; the work arrays hold t where row 0 or 1 of the pair has or lists a column."""
    pair = (i, k)
    for side in range(2):
        stamp(lists, pair[side], may[side], t)
        for p in range(begin[pair[side]], begin[pair[side] + 1]):
            has[side, cols[p]] = t
    n = 0
    for side in range(2):
        for p in range(begin[pair[side]], begin[pair[side] + 1]):
            j = cols[p]
            if has[1 - side, j] != t and (may[1 - side, j] == t) == lists.listed:
                pot[n], where[n] = j, p
                n += 1
    shuffle(pot[:n], rng)
    for p in range(n):
        cols[where[p]] = pot[p]


@njit(cache=True, nogil=True)
def shuffle(a: Indices, rng: np.random.Generator) -> None:
    """Put the elements in random order (Fisher and Yates)."""
    for p in range(a.size - 1, 0, -1):
        q = int(rng.random() * (p + 1))
        a[p], a[q] = a[q], a[p]
