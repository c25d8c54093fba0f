"""The uniform design, entries at random, and what all designs share: the available entries, checks, frames.

The available entries are those of a mask less those taken. They are kept as a sorted list of keys i m2 + j, of the
allowed or of the taken entries, so that no m1 x m2 array is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

import numpy as np
from scipy import sparse

from maxentry import frames
from maxentry._types import Indices
from maxentry.belief import Entries, check_shape
from maxentry.errors import ParameterError, is_whole
from maxentry.kernels.design import ColumnLists
from maxentry.labels import as_array
from maxentry.wording import show

P = ParamSpec("P")


def accept_frames(design: Callable[P, Entries]) -> Callable[P, Entries | Any]:
    """Let a design take its mask as a frame, and then return a frame of row and col labels."""
    parameters = signature(design)

    @wraps(design)
    def design_by_label(*args: P.args, **kwargs: P.kwargs) -> Entries | Any:
        call = parameters.bind(*args, **kwargs)
        mask = call.arguments.get("mask")
        if frames.frame_library(mask) is None:
            return design(*args, **kwargs)
        form, cells = frames.Form.read(mask)
        call.arguments["mask"] = frames.parse_flags(cells)
        return form.entries(*design(*call.args, **call.kwargs), {})

    return design_by_label


@accept_frames
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
    pool = find_available(shape, mask, taken)
    return pool.nth(draw_distinct(pool.count, check_count(n, pool), make_generator(seed)))


def draw_distinct(count: int, n: int, rng: np.random.Generator) -> Indices:
    """Draw n distinct numbers below count, in random order and O(n) memory.

    Up to half of them: draw until n are distinct; NumPy's own way may take O(count).
    """
    if 2 * n > count:
        return rng.permutation(count)[:n]
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < n:
        drawn = np.concatenate([drawn, rng.integers(count, size=n - drawn.size)])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return drawn


# The entries that a design may use


@dataclass(frozen=True)
class Available:
    """Entries that may be measured: those of `keys`, or all others where `listed` is False.

    keys: sorted, distinct, i m2 + j.
    """

    shape: tuple[int, int]
    keys: Indices
    listed: bool

    @property
    def count(self) -> int:
        """The number of available entries."""
        m1, m2 = self.shape
        return self.keys.size if self.listed else m1 * m2 - self.keys.size

    def nth(self, ranks: Indices) -> Entries:
        """Return the entries at these ranks (from 0) in the row-by-row order of the available ones."""
        if self.listed:
            return Entries.from_keys(self.keys[ranks], self.shape[1])
        # keys[t] - t available entries come before the t-th taken one
        before = np.searchsorted(self.keys - np.arange(self.keys.size), ranks, side="right")
        return Entries.from_keys(ranks + before, self.shape[1])

    def margins(self) -> tuple[Indices, Indices]:
        """Count the available entries of each row and of each column."""
        m1, m2 = self.shape
        rows = np.bincount(self.keys // m2, minlength=m1)
        cols = np.bincount(self.keys % m2, minlength=m2)
        return (rows, cols) if self.listed else (m2 - rows, m1 - cols)

    def lists(self, row_place: Indices, col_place: Indices) -> ColumnLists:
        """Return the listed columns of each row, with row i renamed to row_place[i] and column j to col_place[j]."""
        m1, m2 = self.shape
        rows, cols = row_place[self.keys // m2], col_place[self.keys % m2]
        keys = np.sort(rows * m2 + cols)
        start = np.searchsorted(keys, np.arange(m1 + 1) * m2)
        return ColumnLists(start, keys % m2, self.listed)


def find_available(shape: tuple[int, int], mask: Any = None, taken: Entries | None = None) -> Available:
    """Return what the mask allows (all entries without one), less what is taken."""
    m1, m2 = check_shape(shape)
    taken = Entries.none() if taken is None else Entries.read(taken, "taken")
    taken.check_within((m1, m2), "taken")
    taken_keys = _sort_unique(taken.keys(m2))
    if mask is None:
        return Available((m1, m2), taken_keys, False)
    return Available((m1, m2), _mask_keys(mask, taken_keys, m1, m2), True)


def check_count(n: int, pool: Available) -> int:
    """Return n as a whole number from 0 to what is available, or raise ParameterError."""
    if not is_whole(n, 0):
        raise ParameterError(f"n must be a whole number of at least 0, got {show(n)}")
    if n > pool.count:
        raise ParameterError(f"n must be at most {pool.count}, the number of available entries, got {n}")
    return int(n)


def make_generator(seed: int | np.random.SeedSequence | np.random.Generator | None) -> np.random.Generator:
    """Return the generator itself, or one seeded by `seed` (None: differently each time)."""
    try:
        return np.random.default_rng(seed)
    except Exception:  # of any kind, by what was passed
        raise ParameterError(
            f"seed must be a whole number of at least 0, a SeedSequence or a Generator, got {show(seed)}"
        ) from None


def _mask_keys(mask: Any, taken: Indices, m1: int, m2: int) -> Indices:
    """Return the sorted keys of the True entries of a dense or sparse mask that are not taken."""
    array: Any = mask if sparse.issparse(mask) else as_array(mask)
    if array.shape != (m1, m2) or array.dtype != np.bool_:
        raise ParameterError(
            f"mask must be a {m1} x {m2} array of True and False, got {array.dtype} of shape {array.shape}"
        )
    if not sparse.issparse(mask):
        free = array.flatten()  # a copy of one byte an entry: cheaper than a search for the taken keys
        free[taken] = False
        return np.flatnonzero(free)
    rows, cols = array.nonzero()
    keys = _sort_unique(rows.astype(np.int64) * m2 + cols)
    return keys[~np.isin(keys, taken, assume_unique=True)]


def _sort_unique(keys: Indices) -> Indices:
    """Sort and drop repeats, like `np.unique`, whose hashing is many times slower on a million keys."""
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]
