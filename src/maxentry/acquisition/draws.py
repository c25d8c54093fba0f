"""A belief's draws as a Gaussian field: the features of an entry are its centred draws, f_a = d_a / sqrt(S).

A, B    m1 x R x S, m2 x R x S    factors, draws last
a, b    m1 x S, m2 x S            effects less their means over the draws; mu is in a
d_a     S                         draws of entry a less their mean, so that Cov(x_a, x_b) = d_a . d_b / S
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.draw_bounds import Around, Closer, around_means, draw_bounds
from maxentry.acquisition.field import noise_floor
from maxentry.belief import Belief
from maxentry.kernels import acquisition as kernel
from maxentry.kernels import blocks
from maxentry.kernels.threads import most_threads

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ENTRIES_A_THREAD = 8192  # fewer are not worth a thread
BOUND_COST = (
    2  # bounding an entry takes so many times (R + 1)(R + 2) multiplications of those of its variance, R S
)
SAME = 1e-13  # draws that differ by less than this share of their size differ by rounding
BLOCK_NUMBERS = 4_000_000  # a block of a map or of factors holds about this many numbers (32 MB)


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """The field of a belief's draws; covariances are those of the S draws themselves (divisor S)."""

    A: Array
    B: Array
    a: Array
    b: Array
    noise_var: float
    size: float  # of the draws: no number that went into one is much larger

    @classmethod
    def of(cls, belief: Belief) -> Draws:
        """The draws of a belief, in the order the compiled loops read them."""
        used = np.any(belief.left, axis=(0, 1)) & np.any(belief.right, axis=(0, 1))
        row = np.asarray(belief.row, dtype=float).T + belief.mu
        col = np.asarray(belief.col, dtype=float).T
        level = col.mean(0)  # a level may move between rows and columns: held by the rows, bounds are tighter
        row, col = row + level, col - level
        A, B = _draws_last(belief.left[:, :, used]), _draws_last(belief.right[:, :, used])
        return cls(
            A,
            B,
            np.ascontiguousarray(row - row.mean(1, keepdims=True)),
            np.ascontiguousarray(col - col.mean(1, keepdims=True)),
            float(np.mean(belief.noise_var)),
            _longest(A) * _longest(B) + _greatest(belief.row, belief.col, belief.mu),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.a), len(self.b)

    @property
    def p(self) -> int:
        """S."""
        return int(self.a.shape[1])

    @property
    def least(self) -> float:
        """Variances below this are rounding of equal draws, and count as zero."""
        return (SAME * self.size) ** 2

    @cached_property
    def eta2(self) -> float:
        """The variance of the noise of one measurement, not below what rounding leaves of variances (`noise_floor`)."""
        return max(self.noise_var, noise_floor(self.bounds()))

    @property
    def measured(self) -> Array:
        """Nothing: the observed entries are in the draws."""
        return np.empty((0, self.p))

    def features(self, rows: Indices, cols: Indices) -> Array:
        """d_a / sqrt(S) for each entry, (n, S)."""
        F = np.empty((len(rows), self.p))

        def part(some: Indices) -> None:
            here = slice(some[0], some[-1] + 1)
            kernel.centred_draws(self.A, self.B, self.a, self.b, rows[here], cols[here], self.least, F[here])

        in_parts(part, len(rows), 1)
        return F

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """The variance of the draws at each entry of a block."""
        v = np.empty((len(rows), len(cols)))

        def part(some: Indices) -> None:
            here = slice(some[0], some[-1] + 1)
            blocks.variances(self.A, self.B, self.a, self.b, rows[here], cols, self.least, v[here])

        in_parts(part, len(rows), len(cols))
        return v

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The variance of the draws at some entries."""
        v = np.empty(len(rows))

        def part(some: Indices) -> None:
            here = slice(some[0], some[-1] + 1)
            kernel.variances_at(self.A, self.B, self.a, self.b, rows[here], cols[here], self.least, v[here])

        in_parts(part, len(rows), 1)
        return v

    def products(self, w: Array, keys: Indices) -> Array:
        """f . w for each row of w (which sum to zero) and each entry by its key, (len(w), n), from the factors.

        sum_s w_s x_ij^s is one product of inner dimension S R for all entries of some rows; keys are increasing.
        """
        (m1, m2), R = self.shape, self.A.shape[1]
        found = np.empty((len(w), len(keys)))
        w = w / np.sqrt(self.p)
        B = self.B.reshape(m2, -1).T
        step = max(1, BLOCK_NUMBERS // max(m2, R * self.p))
        for i in range(0, m1, step):
            some = slice(*np.searchsorted(keys, (i * m2, (i + step) * m2)))
            for k, w_k in enumerate(w):
                A = self.A[i : i + step] * w_k
                x = A.reshape(len(A), -1) @ B + (self.a[i : i + step] @ w_k)[:, None] + self.b @ w_k
                found[k, some] = x.ravel()[keys[some] - i * m2]
        return found

    def bounds(self) -> list[tuple[Array, Array]]:
        """Bounds on the standard deviation of every entry (see `draw_bounds`)."""
        return self._bounds

    @cached_property
    def _bounds(self) -> list[tuple[Array, Array]]:
        return draw_bounds(self.A, self.B, self.a.std(1), self.b.std(1), self._around)

    @cached_property
    def _around(self) -> tuple[Around, Around] | None:
        return around_means(self.A, self.B, self.a, self.b)

    @cached_property
    def _closer(self) -> Closer | None:
        return None if self._around is None else Closer.of(*self._around)

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """Bounds of the variances at each entry of a block; None where they would cost as much as these."""
        R, S = self.A.shape[1:]
        if BOUND_COST * (R + 1) * (R + 2) > R * S or self._closer is None:
            return None
        return self._closer.variances(rows, cols)


def in_parts(part: Callable[[Indices], None], n: int, entries_each: int) -> None:
    """Do part(numbers) for all numbers below n, on as many threads as the number of entries is worth."""
    threads = min(most_threads(), n, n * entries_each // ENTRIES_A_THREAD + 1)
    numbers = np.arange(n)
    if threads <= 1:
        if n:
            part(numbers)
        return
    mine, *others = np.array_split(numbers, threads)
    helping = [_helpers().submit(part, some) for some in others]
    try:
        part(mine)
    finally:
        wait(helping)
    for done in helping:
        done.result()


@cache
def _helpers() -> ThreadPoolExecutor:
    """Threads that stay: to begin one takes as long as a thousand entries."""
    return ThreadPoolExecutor(max(1, most_threads() - 1), "maxentry-acquisition")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)  # a fork has none of its parent's threads


def _draws_last(factors: NDArray[np.floating]) -> Array:
    return np.ascontiguousarray(factors.transpose(1, 2, 0), dtype=np.float64)


def _longest(X: Array) -> float:
    """The length of the longest row of any draw."""
    return float(np.sqrt(np.einsum("irs,irs->is", X, X).max(initial=0.0)))


def _greatest(*parts: NDArray[np.floating]) -> float:
    """The sum of the greatest sizes of the parts."""
    return sum(float(np.abs(part).max(initial=0.0)) for part in parts)
