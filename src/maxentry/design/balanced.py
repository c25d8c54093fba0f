"""Balanced designs, the first entries of a campaign: level counts of rows and columns, no entry twice (paper, §3.2).

The totals made level are those of `row_counts` and `col_counts` with the new entries. What is least is

    sum_i (row total i)^2 + sum_j (column total j)^2,

a flow problem with convex costs: rows, entries, columns. The steps:

1. `level_counts` gives the best margins of rows and of columns, each by themselves.
2. `fill_rows` makes entries with these row margins, and nearly these column margins. If both are met, nothing can be
   better. Without mask, counts and taken entries both always are (Gale and Ryser), and counts differ by at most one.
3. Else `minimise_squares` moves along alternating paths until the sum of squares is least.
4. `trade_all` makes the choice random and keeps the margins.

Rows and columns are renamed at random first, so that ties are broken at random too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxentry._types import Indices
from maxentry.belief import Entries
from maxentry.design.uniform import Available, accept_frames, check_count, find_available, make_generator
from maxentry.errors import ParameterError
from maxentry.kernels.design import (
    ColumnLists,
    LinkedEntries,
    fill_rows,
    follow_rising_paths,
    link_entries,
    trade_all,
)
from maxentry.labels import as_array

PASSES = 32  # of trades; each doubles how far information reaches, so this mixes more rows than memory holds


@accept_frames
def balanced(
    shape: tuple[int, int],
    n: int,
    mask: Any = None,
    seed: int | np.random.SeedSequence | np.random.Generator | None = None,
    *,
    row_counts: Any = None,
    col_counts: Any = None,
    taken: Entries | None = None,
) -> Entries:
    """Choose n new entries at random so that row counts are as level as possible, and column counts too.

    With nothing but shape and n, row counts differ by at most one, column counts too, all such sets of entries
    are equally likely (in the limit of many trades), and time and memory are O(n + m1 + m2). Otherwise the sum
    of squares of all row and column totals is the least there is.

    mask: True where an entry may be measured, an m1 x m2 array or a `scipy.sparse` one; None for all. For a frame the
        entries come as a frame of its labels, row and col.
    seed: the same seed gives the same entries.
    row_counts, col_counts: what each row and column has already (zero if not given; `taken` is not counted).
    taken: entries that are not available. The entries come in random order.
    """
    pool = find_available(shape, mask, taken)
    n = check_count(n, pool)
    row_counts = _check_counts(row_counts, pool.shape[0], "row")
    col_counts = _check_counts(col_counts, pool.shape[1], "col")
    rng = make_generator(seed)
    row_order, col_order = (rng.permutation(m) for m in pool.shape)
    rows, cols = _arrange(pool, n, row_order, col_order, row_counts[row_order], col_counts[col_order], rng)
    shuffled = rng.permutation(n)
    return Entries(row_order[rows[shuffled]], col_order[cols[shuffled]])


def _arrange(
    pool: Available,
    n: int,
    row_order: Indices,
    col_order: Indices,
    R: Indices,
    C: Indices,
    rng: np.random.Generator,
) -> tuple[Indices, Indices]:
    """Choose the entries, by renamed rows and columns; R and C are the counts so far."""
    m1, m2 = pool.shape
    lists = pool.lists(np.argsort(row_order), np.argsort(col_order))
    row_limits, col_limits = pool.margins()
    row_limits, col_limits = row_limits[row_order], col_limits[col_order]
    x, y = level_counts(R, row_limits, n), level_counts(C, col_limits, n)
    cols = fill_rows(lists, x, y.copy(), np.argsort(row_limits - x, kind="stable"))
    rows = np.repeat(np.arange(m1), x)
    if np.any(np.bincount(cols, minlength=m2) != y):
        top = int((R + x)[x > 0].max() + (C + y)[y > 0].max()) - 1  # the highest totals with new entries
        rows, cols = minimise_squares(lists, rows, cols, R, C, top)
    by_row = np.argsort(rows, kind="stable")
    rows, cols = rows[by_row], cols[by_row]
    begin = np.searchsorted(rows, np.arange(m1 + 1))
    trade_all(lists, begin, cols, PASSES, m2, rng)
    return rows, cols


def level_counts(counts: Indices, limits: Indices, n: int) -> Indices:
    """Return whole x with sum n and 0 <= x <= limits that minimises sum (counts + x)^2; ties go to the first.

    Water filling: counts are raised to a common level t, so far as the limits allow, and what is left of n goes
    one each to those at t. Any other x has a unit to move from a higher total to a lower.
    """

    def raise_to(t: int) -> Indices:
        return np.clip(t - counts, 0, limits)

    low, high = int(counts.min()), int((counts + limits).max())
    while low < high:
        t = (low + high + 1) // 2
        low, high = (t, high) if raise_to(t).sum() <= n else (low, t - 1)
    x = raise_to(low)
    extendable = np.flatnonzero((counts + x == low) & (x < limits))
    x[extendable[: n - int(x.sum())]] += 1
    return x


def minimise_squares(
    lists: ColumnLists, rows: Indices, cols: Indices, R: Indices, C: Indices, L: int
) -> tuple[Indices, Indices]:
    """Move entries until sum (R + new)^2 + sum (C + new)^2 is least, at the same number; L is the price to start from.

    For a price L of an entry, sum of squares - 2 L (number of entries) changes by 2 (2 - rise) when a path from u
    up to v is followed (heights as in `kernels/design.py`). It is least when no path rises by 2 or more, as the
    residual network of the flow then has no negative cycle. From there, paths that cross from a row to a column (one
    more entry) or back (one less) and rise by exactly 1 keep it least. What is least for some price is
    least for its number of entries; the number grows with the price, so the price is found by bisection.
    """
    n, (m1, m2) = rows.size, (R.size, C.size)
    row_total, col_total = R + np.bincount(rows, minlength=m1), C + np.bincount(cols, minlength=m2)
    links = link_entries(rows, cols, n + m1 + m2, m1, m2)
    low: int | None = None  # prices that are not too low, not too high, as far as known
    high: int | None = None
    stride = 0
    while True:
        links = _raise_paths(lists, links, row_total, col_total, L, rise=2)[0]
        short = n - int(links.size[0])
        if short != 0:
            links, left = _raise_paths(lists, links, row_total, col_total, L, rise=1, entries=short)
        if links.size[0] == n:
            chosen = _slots_in_use(links)
            return links.row[chosen], links.col[chosen]
        low, high = (L + 1 - left, high) if short > 0 else (low, L - 1 + left)
        if low is not None and high is not None:
            L = (low + high) // 2
        else:
            L = low + stride if low is not None else int(high or 0) - stride
            stride = max(1, 2 * stride)


def _raise_paths(
    lists: ColumnLists,
    links: LinkedEntries,
    row_total: Indices,
    col_total: Indices,
    L: int,
    rise: int,
    entries: int = 0,
) -> tuple[LinkedEntries, int]:  # fmt: skip
    """Follow paths that rise by `rise`: all, or until so many entries are added (removed, if negative)."""
    before, left = int(links.size[0]), 0
    while entries == 0 or links.size[0] != before + entries:
        limit = abs(before + entries - int(links.size[0])) if entries else -1
        moves, left = follow_rising_paths(
            lists, links, row_total, col_total, L, rise, int(np.sign(entries)), limit
        )
        if moves >= 0:
            break
        used, m1, m2 = _slots_in_use(links), links.row_first.size, links.col_first.size
        links = link_entries(links.row[used], links.col[used], 2 * links.row.size, m1, m2)
    return links, left


def _slots_in_use(links: LinkedEntries) -> Indices:
    """Return the slots in use."""
    used = np.ones(links.row.size, dtype=bool)
    used[links.free[: links.size[1]]] = False
    return np.flatnonzero(used)


def _check_counts(counts: Any, m: int, side: str) -> Indices:
    """Return the counts so far as m whole numbers of at least 0, or raise ParameterError."""
    if counts is None:
        return np.zeros(m, dtype=np.int64)
    given = as_array(counts)
    if given.shape != (m,) or not np.issubdtype(given.dtype, np.integer) or (given < 0).any():
        raise ParameterError(
            f"{side}_counts must be {m} whole numbers of at least 0, got {given.dtype} of shape {given.shape}"
        )
    return given.astype(np.int64)
