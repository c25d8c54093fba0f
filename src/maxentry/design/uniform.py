"""The baseline: entries uniformly at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

import numpy as np
from scipy import sparse

from maxentry import frames
from maxentry.entries import Entries, Indices
from maxentry.errors import ParameterError
from maxentry.kernels.design import Lists

# Which entries a design may use: a mask, less what is taken, without an m1 x m2 array of its own.


@dataclass(frozen=True)
class Available:
    """Entries that may be measured: those of `keys`, or all others where `listed` is False.

    keys: sorted, distinct, i m2 + j. The short list is kept: what a mask allows, or what is taken.
    """

    shape: tuple[int, int]
    keys: Indices
    listed: bool

    @property
    def count(self) -> int:
        """How many entries may be measured."""
        m1, m2 = self.shape
        return self.keys.size if self.listed else m1 * m2 - self.keys.size

    def nth(self, ranks: Indices) -> Entries:
        """The entries at these places (from 0) in the row-by-row order of the available ones."""
        if self.listed:
            return Entries.from_keys(self.keys[ranks], self.shape[1])
        # keys[t] - t available entries come before the t-th taken one
        before = np.searchsorted(self.keys - np.arange(self.keys.size), ranks, side="right")
        return Entries.from_keys(ranks + before, self.shape[1])

    def margins(self) -> tuple[Indices, Indices]:
        """How many entries may be measured in each row and in each column."""
        m1, m2 = self.shape
        rows = np.bincount(self.keys // m2, minlength=m1)
        cols = np.bincount(self.keys % m2, minlength=m2)
        return (rows, cols) if self.listed else (m2 - rows, m1 - cols)

    def lists(self, row_place: Indices, col_place: Indices) -> Lists:
        """The listed columns of each row, once row i is called row_place[i], column j col_place[j]."""
        m1, m2 = self.shape
        rows, cols = row_place[self.keys // m2], col_place[self.keys % m2]
        keys = np.sort(rows * m2 + cols)
        start = np.searchsorted(keys, np.arange(m1 + 1) * m2)
        return Lists(start, keys % m2, self.listed)


def available(shape: tuple[int, int], mask: Any = None, taken: Entries | None = None) -> Available:
    """What the mask allows (all entries without one), less what is taken."""
    m1, m2 = checked_shape(shape)
    gone = _sorted_distinct(_inside(taken if taken is not None else Entries.none(), m1, m2).keys(m2))
    if mask is None:
        return Available((m1, m2), gone, False)
    return Available((m1, m2), _allowed(mask, gone, m1, m2), True)


def checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """The shape as two whole numbers of at least 1."""
    try:
        m1, m2 = (int(m) for m in shape)
    except (TypeError, ValueError):
        raise ParameterError(f"shape must be two whole numbers, rows and columns, got {shape!r}") from None
    if (m1, m2) != tuple(shape) or min(m1, m2) < 1:
        raise ParameterError(f"shape must be two whole numbers of at least 1, got {tuple(shape)!r}")
    if m1 * m2 >= 2**62:
        raise ParameterError(f"a matrix of {m1} x {m2} has too many entries to number")
    return m1, m2


def checked_count(n: int, pool: Available) -> int:
    """N, a whole number from 0 to what is available."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise ParameterError(f"n must be a whole number of at least 0, got {n!r}")
    if n > pool.count:
        raise ParameterError(f"n = {n} entries were asked for, but only {pool.count} are available")
    return int(n)


def generator(seed: int | np.random.SeedSequence | np.random.Generator | None) -> np.random.Generator:
    """The generator itself, or one that begins at the seed (None: at a new place each time)."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ParameterError(
            f"seed must be a whole number of at least 0, a SeedSequence or a Generator, got {seed!r}"
        ) from None


def _inside(taken: Entries, m1: int, m2: int) -> Entries:
    taken = Entries.of(*taken)
    for name, index, m in (("row", taken.rows, m1), ("column", taken.cols, m2)):
        if index.size and (index.min() < 0 or index.max() >= m):
            raise ParameterError(
                f"taken {name}s must be from 0 to {m - 1}, got {index.min()} to {index.max()}"
            )
    return taken


def _allowed(mask: Any, gone: Indices, m1: int, m2: int) -> Indices:
    """Keys of the True entries of a dense or sparse mask that are not gone, sorted."""
    given: Any = mask if sparse.issparse(mask) else np.asarray(mask)
    if given.shape != (m1, m2) or given.dtype != np.bool_:
        raise ParameterError(
            f"mask must be a {m1} x {m2} array of True and False, got {given.dtype} of shape {given.shape}"
        )
    if not sparse.issparse(mask):
        free = given.flatten()  # a copy, of one byte an entry: far less than looking the gone up in the keys
        free[gone] = False
        return np.flatnonzero(free)
    rows, cols = given.nonzero()
    keys = _sorted_distinct(rows.astype(np.int64) * m2 + cols)
    return keys[~np.isin(keys, gone, assume_unique=True)]


def _sorted_distinct(keys: Indices) -> Indices:
    """Like `np.unique`, whose hashing is many times slower than sorting on a million keys."""
    keys = np.sort(keys)
    return keys[np.diff(keys, prepend=-1) > 0]


# Designs by label: a mask that came in a frame is answered by a frame of its labels.
P = ParamSpec("P")


def by_label(design: Callable[P, Entries]) -> Callable[P, Entries | Any]:
    """The design as it is for arrays; for a mask in a frame, a frame of row and col by its labels."""
    known = signature(design)

    @wraps(design)
    def answered(*args: P.args, **given: P.kwargs) -> Entries | Any:
        call = known.bind(*args, **given)
        mask = call.arguments.get("mask")
        if frames.frame_library(mask) is None:
            return design(*args, **given)
        form, cells = frames.Form.read(mask)
        call.arguments["mask"] = frames.parse_flags(cells)
        return form.entries(*design(*call.args, **call.kwargs), {})

    return answered


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
