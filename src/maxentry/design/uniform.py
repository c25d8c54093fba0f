"""The baseline: entries uniformly at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxentry.design.available import available, checked_count, generator
from maxentry.design.by_label import by_label
from maxentry.entries import Entries, Indices


@by_label
def uniform(
    shape: tuple[int, int],
    n: int,
    *,
    mask: Any = None,
    taken: Entries | None = None,
    seed: int | np.random.SeedSequence | np.random.Generator | None = None,
) -> Entries:
    """Choose n distinct available entries: every set of n equally likely, in random order.

    mask: True where an entry may be measured, an m1 x m2 array or a `scipy.sparse` one; None for all. For a frame the
        entries come as a frame of its labels, row and col.
    taken: entries that are not available. seed: the same seed gives the same entries.
    """
    pool = available(shape, mask, taken)
    return pool.nth(distinct(pool.count, checked_count(n, pool), generator(seed)))


def distinct(count: int, n: int, rng: np.random.Generator) -> Indices:
    """Draw n distinct numbers below count, in random order and O(n) memory.

    Up to half of them: draw until n different ones have come; NumPy's own way may take O(count).
    """
    if 2 * n > count:
        return rng.permutation(count)[:n]
    seen = np.empty(0, dtype=np.int64)
    while seen.size < n:
        more = rng.integers(count, size=n - seen.size)
        joined = np.concatenate([seen, more])
        seen = joined[np.sort(np.unique(joined, return_index=True)[1])]
    return seen
