"""Moves along alternating paths that make row and column totals more level, for `design/balanced.py`.

A path goes from a row to a column by an entry that may be added, from a column to a row by a chosen entry
that is given up. Inner nodes keep their totals; a row gains one at the start of a path and loses one at its end, a
column the other way round. The height of a row is its total, that of a column L less its total.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.lists import Lists, stamp

Indices = NDArray[np.int64]


class Links(NamedTuple):
    """The chosen entries: slot s holds (row[s], col[s]), and is in the linked lists of its row and column.

    by_row and by_col: first (per row or column), next and previous (per slot), -1 for none.
    free: unused slots, a stack of which size[1] are in use; size[0] counts the chosen entries.
    """

    row: Indices
    col: Indices
    row_first: Indices
    row_next: Indices
    row_prev: Indices
    col_first: Indices
    col_next: Indices
    col_prev: Indices
    free: Indices
    size: Indices


class Search(NamedTuple):
    """Where a search has been: nodes are rows 0..m1-1, then columns."""

    seen: NDArray[np.bool_]
    parent: Indices  # of a column: the row it was reached from
    via: Indices  # of a row: the slot it was reached by
    mark: Indices  # of a column: the last row that cannot add it
    after: Indices  # of a column: the next one not seen; the last place begins the list
    queue: Indices


@njit(cache=True, nogil=True)
def new_links(rows: Indices, cols: Indices, room: int, m1: int, m2: int) -> Links:
    """Links that hold these entries, with room for more."""
    links = Links(
        np.empty(room, np.int64), np.empty(room, np.int64),
        np.full(m1, -1), np.empty(room, np.int64), np.empty(room, np.int64),
        np.full(m2, -1), np.empty(room, np.int64), np.empty(room, np.int64),
        np.arange(room - 1, -1, -1), np.array([0, room]),
    )  # fmt: skip
    for n in range(rows.size):
        take_slot(links, rows[n], cols[n])
    return links


@njit(cache=True, nogil=True)
def push(first: Indices, after: Indices, before: Indices, node: int, s: int) -> None:
    """Put slot s at the front of the node's list."""
    after[s], before[s] = first[node], -1
    if first[node] >= 0:
        before[first[node]] = s
    first[node] = s


@njit(cache=True, nogil=True)
def unlink(first: Indices, after: Indices, before: Indices, node: int, s: int) -> None:
    """Take slot s out of the node's list."""
    if before[s] >= 0:
        after[before[s]] = after[s]
    else:
        first[node] = after[s]
    if after[s] >= 0:
        before[after[s]] = before[s]


@njit(cache=True, nogil=True)
def take_slot(links: Links, i: int, j: int) -> None:
    """Choose entry (i, j)."""
    links.size[1] -= 1
    links.size[0] += 1
    s = links.free[links.size[1]]
    links.row[s], links.col[s] = i, j
    push(links.row_first, links.row_next, links.row_prev, i, s)
    push(links.col_first, links.col_next, links.col_prev, j, s)


@njit(cache=True, nogil=True)
def free_slot(links: Links, s: int) -> None:
    """Give up the entry in slot s."""
    unlink(links.row_first, links.row_next, links.row_prev, links.row[s], s)
    unlink(links.col_first, links.col_next, links.col_prev, links.col[s], s)
    links.free[links.size[1]] = s
    links.size[1] += 1
    links.size[0] -= 1


@njit(cache=True, nogil=True)
def hand_over(links: Links, s: int, i: int) -> None:
    """Give up the entry in slot s for the one of row i in the same column."""
    unlink(links.row_first, links.row_next, links.row_prev, links.row[s], s)
    links.row[s] = i
    push(links.row_first, links.row_next, links.row_prev, i, s)


@njit(cache=True, nogil=True)
def scan(
    lists: Lists, links: Links, rows: Indices, cols: Indices, L: int, rise: int, crossing: int, limit: int
) -> tuple[int, int]:
    """Move along disjoint paths that rise by at least `rise`; at most `limit` of them. Totals in place.

    crossing 0: paths between any two nodes; 1: from a row to a column only (one more entry); -1: from a column to a
    row only (one less). Nodes are searched once each, from the lowest start up: what a start reaches and finds
    no end for is no use to a higher start either. So if no path is found there is none.
    Returns the number of moves (-1: no free slot, make room) and the greatest rise seen, which is the
    greatest there is if there were no moves.
    """
    m1, m2 = rows.size, cols.size
    height = np.concatenate((rows, L - cols))
    search = Search(
        np.zeros(m1 + m2, np.bool_), np.full(m2, -1), np.full(m1, -1), np.full(m2, -1),
        np.roll(np.arange(m2 + 1), -1), np.empty(m1 + m2, np.int64),
    )  # fmt: skip
    moves, best, highest = 0, -(2**62), height.max()
    for source in np.argsort(height, kind="mergesort"):
        wrong_side = (crossing == 1 and source >= m1) or (crossing == -1 and source < m1)
        if search.seen[source] or wrong_side:
            continue
        if crossing == 0 and height[source] + rise > highest:
            break
        end, best = find(lists, links, height, source, rise, crossing, search, best)
        if end < 0:
            continue
        if source < m1 <= end and links.size[1] == 0:
            return -1, best
        move(links, source, end, m1, search)
        rows_change(rows, cols, source, 1)
        rows_change(rows, cols, end, -1)
        moves += 1
        if moves == limit:
            break
    return moves, best


@njit(cache=True, nogil=True)
def rows_change(rows: Indices, cols: Indices, node: int, change: int) -> None:
    """Raise the node's height by `change`."""
    if node < rows.size:
        rows[node] += change
    else:
        cols[node - rows.size] -= change


@njit(cache=True, nogil=True)
def find(
    lists: Lists,
    links: Links,
    height: Indices,
    source: int,
    rise: int,
    crossing: int,
    search: Search,
    best: int,
) -> tuple[int, int]:
    """Search breadth first from a node for an end that is higher by `rise`: the end or -1, and the best rise."""
    m1 = links.row_first.size
    search.seen[source] = True
    search.queue[0] = source
    head, tail = 0, 1
    while head < tail:
        node = search.queue[head]
        head += 1
        found = tail
        tail = (
            expand_row(lists, links, node, search, tail)
            if node < m1
            else expand_col(links, node, search, tail)
        )
        for p in range(found, tail):
            end = search.queue[p]
            if crossing == 0 or (crossing == 1) == (end >= m1):
                best = max(best, height[end] - height[source])
                if height[end] - height[source] >= rise:
                    return end, best
    return -1, best


@njit(cache=True, nogil=True)
def expand_row(lists: Lists, links: Links, i: int, search: Search, tail: int) -> int:
    """Queue the columns not seen that row i may add; returns the new end of the queue."""
    m1, m2 = links.row_first.size, links.col_first.size
    s = links.row_first[i]
    while s >= 0:
        search.mark[links.col[s]] = i
        s = links.row_next[s]
    if lists.listed:
        for p in range(lists.start[i], lists.start[i + 1]):
            j = lists.cols[p]
            if not search.seen[m1 + j] and search.mark[j] != i:
                search.seen[m1 + j], search.parent[j], search.queue[tail] = True, i, m1 + j
                tail += 1
        return tail
    stamp(lists, i, search.mark, i)
    last, j = m2, search.after[m2]
    while j != m2:
        if search.seen[m1 + j]:
            search.after[last] = search.after[j]
        elif search.mark[j] == i:
            last = j
        else:
            search.seen[m1 + j], search.parent[j], search.queue[tail] = True, i, m1 + j
            search.after[last] = search.after[j]
            tail += 1
        j = search.after[j]
    return tail


@njit(cache=True, nogil=True)
def expand_col(links: Links, node: int, search: Search, tail: int) -> int:
    """Queue the rows not seen that chose this column; returns the new end of the queue."""
    s = links.col_first[node - links.row_first.size]
    while s >= 0:
        i = links.row[s]
        if not search.seen[i]:
            search.seen[i], search.via[i], search.queue[tail] = True, s, i
            tail += 1
        s = links.col_next[s]
    return tail


@njit(cache=True, nogil=True)
def move(links: Links, source: int, end: int, m1: int, search: Search) -> None:
    """Change the chosen entries along the path from source to end."""
    added = -1
    node = end
    if end >= m1:
        added = node = search.parent[end - m1]
    while node != source:
        s = search.via[node]
        if m1 + links.col[s] == source:
            free_slot(links, s)
            break
        giver = search.parent[links.col[s]]
        hand_over(links, s, giver)
        node = giver
    if added >= 0:
        take_slot(links, added, end - m1)
