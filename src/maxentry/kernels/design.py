"""Combinatorial kernels of `design/`, in four parts.

1. Latin squares: the moves of Jacobson and Matthews (1996).
2. A first arrangement with given row totals: Gale and Ryser's construction.
3. Alternating paths that make row and column totals more level.
4. Random trades between rows, which keep all totals.

Entries that may be measured come as one list of columns for each row (`ColumnLists`).
"""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

from maxentry._types import Flags, Indices
from maxentry.kernels.jit_cache import inner


class ColumnLists(NamedTuple):
    """Row i lists cols[start[i]:start[i + 1]]: the only ones allowed if `listed`, else the ones forbidden."""

    start: Indices
    cols: Indices
    listed: bool


@inner
def mark_columns(lists: ColumnLists, i: int, mark: Indices, t: int) -> None:
    """Set mark[j] = t for the columns that row i lists."""
    for p in range(lists.start[i], lists.start[i + 1]):
        mark[lists.cols[p]] = t


# 1. Latin squares


class Square(NamedTuple):
    """A Latin square, proper or improper, by its lines.

    A proper square is a cube of zeros and ones in which every line, along rows, columns or symbols, adds up to one. An
    improper square has one cell of -1 besides; the three lines through it hold two ones each, the second of which is
    in hole = (r, c, s, r2, c2, s2), with r < 0 if the square is proper.
    """

    symbol: Indices  # [row, column]
    col: Indices  # [row, symbol]
    row: Indices  # [column, symbol]
    hole: Indices


@njit(cache=True, nogil=True)
def cyclic_square(m: int) -> Square:
    """Return the Latin square of addition modulo m."""
    square = Square(
        np.empty((m, m), np.int64), np.empty((m, m), np.int64), np.empty((m, m), np.int64), np.full(6, -1)
    )
    for r in range(m):
        for c in range(m):
            s = (r + c) % m
            square.symbol[r, c], square.col[r, s], square.row[c, s] = s, c, r
    return square


@njit(cache=True, nogil=True)
def walk_squares(square: Square, visits: int, rng: np.random.Generator) -> int:
    """Move until `visits` proper squares have been met, repeats counted; return the number of moves.

    Counted are proper squares, not moves: the chain seen at its proper squares only is reversible with the
    uniform law. The first proper square after a given number of moves is not uniform, as the
    stretches of improper squares that lead to a proper one differ in length.
    """
    moves = 0
    while visits > 0:
        move_square(square, rng)
        moves += 1
        if square.hole[0] < 0:
            visits -= 1
    return moves


@inner
def move_square(square: Square, rng: np.random.Generator) -> None:
    """One move: add 1 at a zero cell (if proper) or at the -1, and mend the lines through it.

    (r, c, s) gets the 1; the ones (r, c, s2), (r, c2, s), (r2, c, s) on its lines are taken away (of two, either), and
    what that breaks is mended on the cube {r, r2} x {c, c2} x {s, s2}. Its far corner (r2, c2, s2) goes down by one.
    """
    symbol, col, row, hole = square
    m = symbol.shape[0]
    if hole[0] < 0:
        r, c = random_below(m, rng), random_below(m, rng)
        s = (symbol[r, c] + 1 + random_below(m - 1, rng)) % m
        r2, c2, s2 = row[c, s], col[r, s], symbol[r, c]
        symbol[r, c], col[r, s], row[c, s] = s, c, r
    else:
        r, c, s = hole[0], hole[1], hole[2]
        r2, row[c, s] = random_order(row[c, s], hole[3], rng)
        c2, col[r, s] = random_order(col[r, s], hole[4], rng)
        s2, symbol[r, c] = random_order(symbol[r, c], hole[5], rng)
    symbol[r, c2] = symbol[r2, c] = s2
    col[r, s2] = col[r2, s] = c2
    row[c, s2] = row[c2, s] = r2
    if symbol[r2, c2] == s2:
        symbol[r2, c2], col[r2, s2], row[c2, s2] = s, c, r
        hole[0] = -1
    else:
        hole[0], hole[1], hole[2] = r2, c2, s2
        hole[3], hole[4], hole[5] = r, c, s


@inner
def random_below(k: int, rng: np.random.Generator) -> int:
    """Draw a whole number below k, all equally likely."""
    return int(rng.random() * k)


@inner
def random_order(a: int, b: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return the two numbers in random order."""
    return (a, b) if rng.random() < 0.5 else (b, a)


# 2. A first arrangement: every row takes the columns that still need most


@njit(cache=True, nogil=True)
def fill_rows(lists: ColumnLists, x: Indices, need: Indices, order: Indices) -> Indices:
    """Give row i x[i] columns, in the given `order` of rows; return them row by row, x.sum() in all.

    A row takes the allowed columns with the greatest `need`, which is used up (changed in place). Where
    everything is allowed and a 0/1 matrix has these margins, this makes one (Gale 1957, Ryser 1957); else
    rows still come out right, and columns nearly. O(listed + x.sum() + m1 + m2) where few are forbidden.
    """
    begin = np.zeros(x.size + 1, dtype=np.int64)
    for i in range(x.size):
        begin[i + 1] = begin[i] + x[i]
    cols = np.empty(begin[-1], dtype=np.int64)
    ranking, place, end = sort_by_need(need)
    mark = np.full(need.size, -1)
    for i in order:
        mine = cols[begin[i] : begin[i + 1]]
        if lists.listed:
            allowed = lists.cols[lists.start[i] : lists.start[i + 1]]
            wanted = np.empty(allowed.size, np.int64)
            for p in range(allowed.size):
                wanted[p] = need[allowed[p]]
            best = sort_falling(wanted)
            for p in range(mine.size):
                mine[p] = allowed[best[p]]
        else:
            mark_columns(lists, i, mark, i)
            p = 0
            for k in range(mine.size):
                while mark[ranking[p]] == i:
                    p += 1
                mine[k] = ranking[p]
                p += 1
        for j in mine:
            lower_need(j, need, ranking, place, end)
    return cols


@inner
def sort_falling(keys: Indices) -> Indices:
    """Return the places of the keys from the greatest to the least, equal ones as they stand.

    A merge sort: NumPy's takes Numba longer to compile than all else that chooses a first design.
    """
    order, spare = np.empty(keys.size, np.int64), np.empty(keys.size, np.int64)
    for p in range(keys.size):
        order[p] = p
    width = 1
    while width < keys.size:
        for start in range(0, keys.size, 2 * width):
            middle, end = min(start + width, keys.size), min(start + 2 * width, keys.size)
            a, b = start, middle
            for p in range(start, end):
                if a < middle and (b == end or keys[order[a]] >= keys[order[b]]):
                    spare[p] = order[a]
                    a += 1
                else:
                    spare[p] = order[b]
                    b += 1
        order, spare = spare, order
        width *= 2
    return order


@inner
def sort_by_need(need: Indices) -> tuple[Indices, Indices, Indices]:
    """Return the columns by falling need, the place of each, and how many have a need of at least v = 0, 1, ..."""
    order = sort_falling(need)
    place = np.empty(need.size, np.int64)
    end = np.zeros(need[order[0]] + 2, dtype=np.int64)
    for p in range(order.size):
        place[order[p]] = p
        end[need[order[p]]] += 1
    for v in range(end.size - 2, -1, -1):
        end[v] += end[v + 1]
    return order, place, end


@inner
def lower_need(j: int, need: Indices, order: Indices, place: Indices, end: Indices) -> None:
    """Lower the need of column j by one (not below 0), and keep the order: it swaps places with its last equal."""
    v = need[j]
    if v == 0:
        return
    p, q = place[j], end[v] - 1
    other = order[q]
    order[p], order[q] = other, j
    place[other], place[j] = p, q
    end[v] -= 1
    need[j] = v - 1


# 3. Alternating paths
#
# A path goes from a row to a column by an entry that may be added, from a column to a row by a chosen entry that is
# given up. Inner nodes keep their totals; a row gains one at the start of a path and loses one at its end, a column the
# other way round. The height of a row is its total, that of a column L less its total.
LOWEST = -(2**62)  # below any height


class LinkedEntries(NamedTuple):
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
    """The state of a breadth-first search; nodes are rows 0..m1-1, then columns."""

    seen: Flags
    parent: Indices  # of a column: the row it was reached from
    via: Indices  # of a row: the slot it was reached by
    mark: Indices  # of a column: the clock when a row that cannot add it was last expanded
    clock: Indices  # [0]: rows expanded so far
    after: Indices  # of a column: the next one not seen; the last place begins the list
    waiting: Flags  # is the column in that list?
    queue: Indices
    height: Indices


class Goal(NamedTuple):
    """Where a search ends: at a node of at least this height, of any kind (crossing 0), a column (1) or a row (-1)."""

    height: int
    crossing: int


@njit(cache=True, nogil=True)
def link_entries(rows: Indices, cols: Indices, capacity: int, m1: int, m2: int) -> LinkedEntries:
    """Return linked lists of these entries, with `capacity` slots."""
    links = LinkedEntries(
        np.empty(capacity, np.int64), np.empty(capacity, np.int64),
        np.full(m1, -1), np.empty(capacity, np.int64), np.empty(capacity, np.int64),
        np.full(m2, -1), np.empty(capacity, np.int64), np.empty(capacity, np.int64),
        np.arange(capacity - 1, -1, -1), np.array([0, capacity]),
    )  # fmt: skip
    for n in range(rows.size):
        add_entry(links, rows[n], cols[n])
    return links


@inner
def push(first: Indices, after: Indices, before: Indices, node: int, s: int) -> None:
    """Put slot s at the front of the node's list."""
    after[s], before[s] = first[node], -1
    if first[node] >= 0:
        before[first[node]] = s
    first[node] = s


@inner
def unlink(first: Indices, after: Indices, before: Indices, node: int, s: int) -> None:
    """Take slot s out of the node's list."""
    if before[s] >= 0:
        after[before[s]] = after[s]
    else:
        first[node] = after[s]
    if after[s] >= 0:
        before[after[s]] = before[s]


@inner
def add_entry(links: LinkedEntries, i: int, j: int) -> None:
    """Choose entry (i, j)."""
    links.size[1] -= 1
    links.size[0] += 1
    s = links.free[links.size[1]]
    links.row[s], links.col[s] = i, j
    push(links.row_first, links.row_next, links.row_prev, i, s)
    push(links.col_first, links.col_next, links.col_prev, j, s)


@inner
def remove_entry(links: LinkedEntries, s: int) -> None:
    """Give up the entry in slot s."""
    unlink(links.row_first, links.row_next, links.row_prev, links.row[s], s)
    unlink(links.col_first, links.col_next, links.col_prev, links.col[s], s)
    links.free[links.size[1]] = s
    links.size[1] += 1
    links.size[0] -= 1


@inner
def move_entry(links: LinkedEntries, s: int, i: int) -> None:
    """Give up the entry in slot s for the one of row i in the same column."""
    unlink(links.row_first, links.row_next, links.row_prev, links.row[s], s)
    links.row[s] = i
    push(links.row_first, links.row_next, links.row_prev, i, s)


@njit(cache=True, nogil=True)
def follow_rising_paths(
    lists: ColumnLists,
    links: LinkedEntries,
    rows: Indices,
    cols: Indices,
    L: int,
    rise: int,
    crossing: int,
    limit: int,
) -> tuple[int, int]:
    """Move along paths that rise by at least `rise` until there are none, or `limit` were made; totals in place.

    crossing 0: between any two nodes; 1: from a row to a column only (one more entry); -1: from a column to a row
    only (one less). Starts are taken from the lowest up. What a start reaches without finding an end is of no use to
    a higher start either, and no later path can enter or leave it: it stays seen for good. So when all
    starts are done no path is left. Returns the number of moves (-1: no free slot, enlarge and call again), and
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
    starts = [(height[node], node) for node in range(m1 + m2) if can_start(node, m1, crossing)]
    heapify(starts)
    while starts and moves != limit:
        low, source = heappop(starts)
        if search.seen[source] or low != height[source]:
            continue
        end, tail, highest = find_path(lists, links, source, Goal(low + rise, crossing), search)
        if end < 0:
            left = max(left, highest - low)
            continue
        reset_search(search, tail, m1)
        if source < m1 <= end and links.size[1] == 0:
            return -1, left
        flip_path(links, source, end, m1, search)
        change_height(rows, cols, height, source, 1)
        change_height(rows, cols, height, end, -1)
        heappush(starts, (height[source], source))
        if can_start(end, m1, crossing):
            heappush(starts, (height[end], end))
        moves += 1
    return moves, left


@inner
def can_start(node: int, m1: int, crossing: int) -> bool:
    """Whether paths may begin at this node."""
    return crossing == 0 or (crossing == 1) == (node < m1)


@inner
def change_height(rows: Indices, cols: Indices, height: Indices, node: int, by: int) -> None:
    """Raise the node's height, and change its total accordingly."""
    height[node] += by
    if node < rows.size:
        rows[node] += by
    else:
        cols[node - rows.size] -= by


@inner
def find_path(
    lists: ColumnLists, links: LinkedEntries, source: int, goal: Goal, search: Search
) -> tuple[int, int, int]:
    """Search breadth first from a node for an end of a path.

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
            tail, height = expand_row(lists, links, node, goal, search, tail)
        else:
            tail, height = expand_column(links, node, goal, search, tail)
        highest = max(highest, height)
        if highest >= goal.height:
            return search.queue[tail - 1], tail, highest
    return -1, tail, highest


@inner
def enqueue(node: int, m1: int, goal: Goal, search: Search, tail: int) -> int:
    """Queue a node; return its height if it is on the goal's side."""
    search.seen[node] = True
    search.queue[tail] = node
    on_side = goal.crossing == 0 or (goal.crossing == 1) == (node >= m1)
    return search.height[node] if on_side else LOWEST


@inner
def reset_search(search: Search, tail: int, m1: int) -> None:
    """Mark the nodes of the last search as not seen."""
    m2 = search.mark.size
    for p in range(tail):
        node = search.queue[p]
        search.seen[node] = False
        j = node - m1
        if j >= 0 and not search.waiting[j]:
            search.waiting[j], search.after[j], search.after[m2] = True, search.after[m2], j


@inner
def expand_row(
    lists: ColumnLists, links: LinkedEntries, i: int, goal: Goal, search: Search, tail: int
) -> tuple[int, int]:
    """Queue the columns not seen that row i may add, up to an end; return the queue's length and greatest height."""
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
                highest = max(highest, enqueue(m1 + j, m1, goal, search, tail))
                tail += 1
                if highest >= goal.height:
                    break
        return tail, highest
    mark_columns(lists, i, search.mark, now)
    last, j = m2, search.after[m2]
    while j != m2 and highest < goal.height:
        if not search.seen[m1 + j] and search.mark[j] != now:
            search.parent[j] = i
            highest = max(highest, enqueue(m1 + j, m1, goal, search, tail))
            tail += 1
        if search.seen[m1 + j]:
            search.after[last], search.waiting[j] = search.after[j], False
        else:
            last = j
        j = search.after[j]
    return tail, highest


@inner
def expand_column(links: LinkedEntries, node: int, goal: Goal, search: Search, tail: int) -> tuple[int, int]:
    """Queue the rows not seen that chose this column, up to an end; return the queue's length and greatest height."""
    m1, highest = links.row_first.size, LOWEST
    s = links.col_first[node - m1]
    while s >= 0 and highest < goal.height:
        i = links.row[s]
        if not search.seen[i]:
            search.via[i] = s
            highest = max(highest, enqueue(i, m1, goal, search, tail))
            tail += 1
        s = links.col_next[s]
    return tail, highest


@inner
def flip_path(links: LinkedEntries, source: int, end: int, m1: int, search: Search) -> None:
    """Change the chosen entries along the path from source to end."""
    added = -1
    node = end
    if end >= m1:
        added = node = search.parent[end - m1]
    while node != source:
        s = search.via[node]
        if m1 + links.col[s] == source:
            remove_entry(links, s)
            break
        giver = search.parent[links.col[s]]
        move_entry(links, s, giver)
        node = giver
    if added >= 0:
        add_entry(links, added, end - m1)


# 4. Random trades between rows
#
# Two rows pool the columns that only one of them has, and both may have, and share them out again at random
# ("curveball", Verhelst 2008; all rows in random pairs at a time, Carstens et al. 2018). A trade is as likely as its
# reverse, so the uniform law on the arrangements that trades can reach is kept.


@njit(cache=True, nogil=True)
def trade_all(
    lists: ColumnLists, begin: Indices, cols: Indices, passes: int, m2: int, rng: np.random.Generator
) -> None:
    """Let all rows trade in random pairs, `passes` times; row i has cols[begin[i]:begin[i + 1]], in place."""
    rows, n = np.empty(begin.size - 1, np.int64), 0
    for i in range(begin.size - 1):
        if begin[i + 1] > begin[i]:  # the others have nothing to trade
            rows[n] = i
            n += 1
    rows = rows[:n]
    has, may = np.full((2, m2), -1), np.full((2, m2), -1)
    pool, where = np.empty(2 * m2, dtype=np.int64), np.empty(2 * m2, dtype=np.int64)
    t = 0
    for _ in range(passes):
        shuffle(rows, rng)
        for p in range(0, rows.size - 1, 2):
            trade(lists, begin, cols, rows[p], rows[p + 1], has, may, pool, where, t, rng)
            t += 1


@inner
def trade(
    lists: ColumnLists, begin: Indices, cols: Indices, i: int, k: int,
    has: Indices, may: Indices, pool: Indices, where: Indices, t: int, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Trade between rows i and k; the work arrays hold t where row 0 or 1 of the pair has or lists a column."""
    pair = (i, k)
    for side in range(2):
        mark_columns(lists, pair[side], may[side], t)
        for p in range(begin[pair[side]], begin[pair[side] + 1]):
            has[side, cols[p]] = t
    n = 0
    for side in range(2):
        for p in range(begin[pair[side]], begin[pair[side] + 1]):
            j = cols[p]
            if has[1 - side, j] != t and (may[1 - side, j] == t) == lists.listed:
                pool[n], where[n] = j, p
                n += 1
    shuffle(pool[:n], rng)
    for p in range(n):
        cols[where[p]] = pool[p]


@inner
def shuffle(a: Indices, rng: np.random.Generator) -> None:
    """Put the elements in random order (Fisher and Yates)."""
    for p in range(a.size - 1, 0, -1):
        q = int(rng.random() * (p + 1))
        a[p], a[q] = a[q], a[p]
