"""Balanced designs the slow way: all of them one by one, or a linear program."""

import itertools

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array


def squares(entries, R, C):
    """Sum of squares of the row and column totals, given those so far."""
    rows = R + np.bincount(entries.rows, minlength=len(R))
    cols = C + np.bincount(entries.cols, minlength=len(C))
    return int((rows**2).sum() + (cols**2).sum())


def least_by_trying(allowed, n, R, C):
    """Least sum of squares over all choices of n allowed entries."""
    best = None
    for chosen in itertools.combinations(np.argwhere(allowed), n):
        rows, cols = R.copy(), C.copy()
        for i, j in chosen:
            rows[i] += 1
            cols[j] += 1
        total = int((rows**2).sum() + (cols**2).sum())
        best = total if best is None else min(best, total)
    return best


def least_by_program(allowed, n, R, C):
    """The same as a flow: a unit of row or column costs 2 (total so far) + 1, so cheaper ones come first.

    The constraints are those of a network, so a vertex of the linear program is whole.
    """
    i, j = np.nonzero(allowed)
    E, before = i.size, int((R**2).sum() + (C**2).sum())
    if E == 0:
        return before
    limits = np.concatenate([allowed.sum(1), allowed.sum(0)])
    node = np.repeat(np.arange(limits.size), limits)  # a unit of which row, or m1 + of which column
    nth = np.arange(node.size) - np.repeat(np.cumsum(limits) - limits, limits)
    costs = np.concatenate([np.zeros(E), 2 * (np.concatenate([R, C])[node] + nth) + 1])
    entry, unit = np.arange(E), E + np.arange(node.size)
    at = (
        np.concatenate([i, len(R) + j, node, np.full(E, limits.size)]),
        np.concatenate([entry, entry, unit, entry]),
    )
    values = np.concatenate([np.ones(2 * E), -np.ones(node.size), np.ones(E)])
    equal = coo_array((values, at), shape=(limits.size + 1, costs.size)).tocsr()
    found = linprog(costs, A_eq=equal, b_eq=np.append(np.zeros(limits.size), n), bounds=(0, 1))
    assert found.success
    return round(found.fun) + before


def all_balanced(shape, n):
    """All sets of n entries, as sorted keys, with row counts that differ by at most one and column counts too."""
    m1, m2 = shape
    found = []
    for keys in itertools.combinations(range(m1 * m2), n):
        rows = np.bincount(np.array(keys) // m2, minlength=m1)
        cols = np.bincount(np.array(keys) % m2, minlength=m2)
        if np.ptp(rows) <= 1 and np.ptp(cols) <= 1:
            found.append(keys)
    return found


def trade_all(allowed, chosen, passes, rng):
    """Trades of `kernels/design.py` on lists of columns, with its random numbers in its order."""
    chosen = [list(columns) for columns in chosen]
    rows = [i for i, columns in enumerate(chosen) if columns]
    for _ in range(passes):
        shuffle(rows, rng)
        for i, k in zip(rows[::2], rows[1::2], strict=False):
            mine = [j for j in chosen[i] if j not in chosen[k] and allowed[k, j]]
            theirs = [j for j in chosen[k] if j not in chosen[i] and allowed[i, j]]
            pot = mine + theirs
            shuffle(pot, rng)
            given = dict(zip(mine, pot, strict=False)), dict(zip(theirs, pot[len(mine) :], strict=True))
            for row, new in zip((i, k), given, strict=True):
                chosen[row] = [new.get(j, j) for j in chosen[row]]
    return chosen


def shuffle(a, rng):
    for p in range(len(a) - 1, 0, -1):
        q = int(rng.random() * (p + 1))
        a[p], a[q] = a[q], a[p]
