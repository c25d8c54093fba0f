"""A first arrangement: every row takes the columns that still need most (Gale and Ryser's construction)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.lists import Lists, stamp

CALLED = "55bba7e54efe"  # a digest of the kernels imported, by which Numba knows when to compile again

Indices = NDArray[np.int64]


@njit(cache=True, nogil=True)
def fill(lists: Lists, x: Indices, need: Indices, turns: Indices) -> Indices:
    """Give row i x[i] columns, in the order of `turns`; returns them row by row, x.sum() in all.

    A row takes the allowed columns with the greatest `need`, which is used up (changed in place). Where
    everything is allowed and a 0/1 matrix has these margins, this makes one (Gale 1957, Ryser 1957); else
    rows still come out right, and columns nearly. O(listed + x.sum() + m1 + m2) where few are forbidden.
    """
    begin = np.zeros(x.size + 1, dtype=np.int64)
    begin[1:] = np.cumsum(x)
    cols = np.empty(begin[-1], dtype=np.int64)
    order, place, end = sorted_by_need(need)
    mark = np.full(need.size, -1)
    for i in turns:
        mine = cols[begin[i] : begin[i + 1]]
        if lists.listed:
            allowed = lists.cols[lists.start[i] : lists.start[i + 1]]
            mine[:] = allowed[np.argsort(-need[allowed], kind="mergesort")[: mine.size]]
        else:
            stamp(lists, i, mark, i)
            p = 0
            for k in range(mine.size):
                while mark[order[p]] == i:
                    p += 1
                mine[k] = order[p]
                p += 1
        for j in mine:
            use(j, need, order, place, end)
    return cols


@njit(cache=True, nogil=True)
def sorted_by_need(need: Indices) -> tuple[Indices, Indices, Indices]:
    """Columns by falling need, the place of each, and how many have a need of at least v = 0, 1, ..."""
    order = np.argsort(-need, kind="mergesort")
    place = np.empty_like(order)
    end = np.zeros(need.max() + 2, dtype=np.int64)
    for p in range(order.size):
        place[order[p]] = p
        end[need[order[p]]] += 1
    for v in range(end.size - 2, -1, -1):
        end[v] += end[v + 1]
    return order, place, end


@njit(cache=True, nogil=True)
def use(j: int, need: Indices, order: Indices, place: Indices, end: Indices) -> None:
    """Lower the need of column j by one (not below 0), and keep the order: it changes place with its last equal."""
    v = need[j]
    if v == 0:
        return
    p, q = place[j], end[v] - 1
    other = order[q]
    order[p], order[q] = other, j
    place[other], place[j] = p, q
    end[v] -= 1
    need[j] = v - 1
