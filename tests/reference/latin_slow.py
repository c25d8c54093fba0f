"""Jacobson and Matthews' moves on the whole cube: eight corners of a smaller cube go up or down by one."""

import itertools

import numpy as np

from maxentry.belief import Entries
from maxentry.design.latin import random_square


def cube_of(square):
    """Zeros and ones [row, column, symbol] of a square of symbols."""
    return (square[:, :, None] == np.arange(len(square))).astype(int)


def lines_add_up(cube):
    """Every line adds up to one, and there is at most one cell that is not 0 or 1: a -1."""
    sums = all((cube.sum(axis) == 1).all() for axis in range(3))
    return sums and (cube == -1).sum() <= 1 and np.isin(cube, (-1, 0, 1)).all()


def step(cube, last, rng, stubborn=False):
    """One move in place; `last` is where the previous one added its 1, and so does the return value.

    It uses the random numbers in the compiled step's order. Stubborn: a slip, always the older of two ones.
    """
    m = len(cube)
    hole = np.argwhere(cube == -1)
    if hole.size == 0:
        r, c = int(rng.random() * m), int(rng.random() * m)
        s = (int(cube[r, c].argmax()) + 1 + int(rng.random() * (m - 1))) % m
    else:
        r, c, s = (int(k) for k in hole[0])
    ones = []
    for line, newest in zip((cube[:, c, s], cube[r, :, s], cube[r, c, :]), last, strict=True):
        on = np.flatnonzero(line == 1)
        if on.size == 2:
            older = on[on != newest][0]
            on = [older if stubborn or rng.random() < 0.5 else newest]
        ones.append(int(on[0]))
    for corner in itertools.product((0, 1), repeat=3):
        at = tuple(near if far == 0 else one for far, near, one in zip(corner, (r, c, s), ones, strict=True))
        cube[at] += (-1) ** sum(corner)
    return r, c, s


def all_squares(m):
    """All Latin squares of order m, row after row."""
    found = [[]]
    for _ in range(m):
        found = [
            [*rows, row]
            for rows in found
            for row in itertools.permutations(range(m))
            if all(a != b for above in rows for a, b in zip(above, row, strict=True))
        ]
    return [np.array(rows) for rows in found]


def intercalates(square):
    """Number of 2 x 2 sub-squares."""
    pairs = itertools.combinations(range(len(square)), 2)
    count = 0
    for r, q in pairs:
        to = np.empty(len(square), dtype=int)
        to[square[r]] = square[q]
        count += (to[square[q]] == square[r]).sum() // 2
    return count


def stacked(shape, rng):
    """Algorithm 1 for m1 >= m2, squares and all; the last one is cut off."""
    m1, m2 = shape
    tall = np.vstack([random_square(m2, rng) for _ in range(-(-m1 // m2))])[:m1]
    return Entries.from_lists(*np.nonzero(tall == 0))
