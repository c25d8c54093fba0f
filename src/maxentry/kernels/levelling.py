"""Moves along alternating paths that make row and column totals more level, for `design/balanced.py`.

A path goes from a row to a column by an entry that may be added, from a column to a row by a chosen entry
that is given up. Inner nodes keep their totals; a row gains one at the start of a path and loses one at its end, a
column the other way round. The height of a row is its total, that of a column L less its total.
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.lists import Lists, stamp

CALLED = "55bba7e54efe"  # a digest of the kernels imported, by which Numba knows when to compile again

Indices = NDArray[np.int64]
LOWEST = -(2**62)  # below any height


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
    mark: Indices  # of a column: when a row that cannot add it was last looked at
    clock: Indices  # [0]: rows looked at so far
    after: Indices  # of a column: the next one not seen; the last place begins the list
    waiting: NDArray[np.bool_]  # is the column in that list?
    queue: Indices
    height: Indices


class Goal(NamedTuple):
    """What a search is for: an end at least so high, on any side (crossing 0), a column (1) or a row (-1)."""

    height: int
    crossing: int


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
def raise_all(
    lists: Lists, links: Links, rows: Indices, cols: Indices, L: int, rise: int, crossing: int, limit: int
) -> tuple[int, int]:
    """Move along paths that rise by at least `rise` until there are none, or `limit` were made; totals in place.

    crossing 0: between any two nodes; 1: from a row to a column only (one more entry); -1: from a column to a row
    only (one less). Starts are taken from the lowest up. What a start reaches without finding an end is of no use to
    a higher start either, and no later path can enter or leave it: it is put away for good. So when all
    starts are done no path is left. Returns the number of moves (-1: no free slot, make room and go on), and
    the greatest rise that is left.
    """
    m1, m2 = rows.size, cols.size
    height = np.concatenate((rows, L - cols))
    search = Search(
        np.zeros(m1 + m2, np.bool_), np.full(m2, -1), np.full(m1, -1), np.full(m2, -1), np.zeros(1, np.int64),
        np.roll(np.arange(m2 + 1), -1), np.ones(m2, np.bool_), np.empty(m1 + m2, np.int64),
        height,
    )  # fmt: skip
    moves, left = 0, LOWEST
    starts = [(height[node], node) for node in range(m1 + m2) if starts_here(node, m1, crossing)]
    heapify(starts)
    while starts and moves != limit:
        low, source = heappop(starts)
        if search.seen[source] or low != height[source]:
            continue
        end, tail, highest = find(lists, links, source, Goal(low + rise, crossing), search)
        if end < 0:
            left = max(left, highest - low)
            continue
        forget(search, tail, m1)
        if source < m1 <= end and links.size[1] == 0:
            return -1, left
        move(links, source, end, m1, search)
        change(rows, cols, height, source, 1)
        change(rows, cols, height, end, -1)
        heappush(starts, (height[source], source))
        if starts_here(end, m1, crossing):
            heappush(starts, (height[end], end))
        moves += 1
    return moves, left


@njit(cache=True, nogil=True)
def starts_here(node: int, m1: int, crossing: int) -> bool:
    """Whether paths may begin at this node."""
    return crossing == 0 or (crossing == 1) == (node < m1)


@njit(cache=True, nogil=True)
def change(rows: Indices, cols: Indices, height: Indices, node: int, by: int) -> None:
    """Raise the node's height, and change its total accordingly."""
    height[node] += by
    if node < rows.size:
        rows[node] += by
    else:
        cols[node - rows.size] -= by


@njit(cache=True, nogil=True)
def find(lists: Lists, links: Links, source: int, goal: Goal, search: Search) -> tuple[int, int, int]:
    """Search breadth first from a node for an end.

    Returns the end (-1 for none), how many nodes the queue holds, and the greatest height met on the goal's side.
    """
    m1, highest = links.row_first.size, LOWEST
    search.seen[source] = True
    search.queue[0] = source
    head, tail = 0, 1
    while head < tail:
        node = search.queue[head]
        head += 1
        if node < m1:
            tail, height = look_from_row(lists, links, node, goal, search, tail)
        else:
            tail, height = look_from_col(links, node, goal, search, tail)
        highest = max(highest, height)
        if highest >= goal.height:
            return search.queue[tail - 1], tail, highest
    return -1, tail, highest


@njit(cache=True, nogil=True)
def meet(node: int, m1: int, goal: Goal, search: Search, tail: int) -> int:
    """Queue a node; returns its height if it is on the goal's side."""
    search.seen[node] = True
    search.queue[tail] = node
    on_side = goal.crossing == 0 or (goal.crossing == 1) == (node >= m1)
    return search.height[node] if on_side else LOWEST


@njit(cache=True, nogil=True)
def forget(search: Search, tail: int, m1: int) -> None:
    """Make the nodes of the last search as if not seen."""
    m2 = search.mark.size
    for p in range(tail):
        node = search.queue[p]
        search.seen[node] = False
        j = node - m1
        if j >= 0 and not search.waiting[j]:
            search.waiting[j], search.after[j], search.after[m2] = True, search.after[m2], j


@njit(cache=True, nogil=True)
def look_from_row(
    lists: Lists, links: Links, i: int, goal: Goal, search: Search, tail: int
) -> tuple[int, int]:
    """Queue the columns not seen that row i may add, up to an end: the queue's new length, the greatest height."""
    m1, m2, highest = links.row_first.size, links.col_first.size, LOWEST
    search.clock[0] += 1
    now = search.clock[0]
    s = links.row_first[i]
    while s >= 0:
        search.mark[links.col[s]] = now
        s = links.row_next[s]
    if lists.listed:
        for p in range(lists.start[i], lists.start[i + 1]):
            j = lists.cols[p]
            if not search.seen[m1 + j] and search.mark[j] != now:
                search.parent[j] = i
                highest = max(highest, meet(m1 + j, m1, goal, search, tail))
                tail += 1
                if highest >= goal.height:
                    break
        return tail, highest
    stamp(lists, i, search.mark, now)
    last, j = m2, search.after[m2]
    while j != m2 and highest < goal.height:
        if not search.seen[m1 + j] and search.mark[j] != now:
            search.parent[j] = i
            highest = max(highest, meet(m1 + j, m1, goal, search, tail))
            tail += 1
        if search.seen[m1 + j]:
            search.after[last], search.waiting[j] = search.after[j], False
        else:
            last = j
        j = search.after[j]
    return tail, highest


@njit(cache=True, nogil=True)
def look_from_col(links: Links, node: int, goal: Goal, search: Search, tail: int) -> tuple[int, int]:
    """Queue the rows not seen that chose this column, up to an end: the queue's new length, the greatest height."""
    m1, highest = links.row_first.size, LOWEST
    s = links.col_first[node - m1]
    while s >= 0 and highest < goal.height:
        i = links.row[s]
        if not search.seen[i]:
            search.via[i] = s
            highest = max(highest, meet(i, m1, goal, search, tail))
            tail += 1
        s = links.col_next[s]
    return tail, highest


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
