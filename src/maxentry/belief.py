"""Entries of a matrix by position, and the belief in their values: posterior draws in factor form.

`posterior` builds a `Belief` and `acquisition` reads it, so that neither imports the other. Entry (i, j) of draw s is
X_ij = mu_s + row_si + col_sj + left_si . right_sj.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._types import Array, Indices
from maxentry.errors import ParameterError, is_whole
from maxentry.wording import show

Floats = NDArray[np.floating]
Positions = NDArray[np.integer]

BLOCK_NUMBERS = 4_000_000  # a block of a dense map holds about this many numbers (32 MB)
LEAST_SHARE = 1e-12  # of information: entries far beyond a limit tell next to nothing


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Return the shape as two whole numbers of at least 1, or raise ParameterError."""
    listed = isinstance(shape, tuple | list) or (isinstance(shape, np.ndarray) and shape.ndim == 1)
    pair = tuple(shape) if listed else ()
    if len(pair) != 2 or not all(is_whole(m, 1) for m in pair) or int(pair[0]) * int(pair[1]) >= 2**62:
        raise ParameterError(
            f"expected a shape of two whole numbers of at least 1, with fewer than 2**62 entries, got {show(shape)}"
        )
    return int(pair[0]), int(pair[1])


class Entries(NamedTuple):
    """Entries (i_n, j_n), n = 1..N, by position, in order and with repeats."""

    rows: Indices
    cols: Indices

    @classmethod
    def from_lists(cls, rows: Any, cols: Any) -> Entries:
        """Build entries from sequences of whole numbers."""
        return cls(np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64))

    @classmethod
    def read(cls, given: Any, name: str) -> Entries:
        """Read entries that a user names: a pair of equally long sequences of whole numbers."""
        pair = given if isinstance(given, tuple | list) and len(given) == 2 else ()
        try:
            arrays = [np.asarray(part) for part in pair]
        except (TypeError, ValueError):
            arrays = []
        whole = all(a.ndim == 1 and (a.dtype.kind in "iu" or not a.size) for a in arrays)
        if len(arrays) != 2 or not whole or arrays[0].shape != arrays[1].shape:
            raise ParameterError(
                f"expected {name} entries as a pair of lists of positions, got {show(given)}"
            )
        return cls.from_lists(*arrays)

    @classmethod
    def none(cls) -> Entries:
        """Return an empty set of entries."""
        return cls.from_lists([], [])

    @classmethod
    def from_keys(cls, keys: Indices, m2: int) -> Entries:
        """Return the entries with these keys in a matrix of m2 columns."""
        return cls(keys // m2, keys % m2)

    def keys(self, m2: int) -> Indices:
        """Return one number per entry of a matrix of m2 columns: i m2 + j."""
        return self.rows * m2 + self.cols

    def check_within(self, shape: tuple[int, int], name: str) -> None:
        """Raise ParameterError if an entry is not in a matrix of this shape."""
        for axis, index, m in (("row", self.rows, shape[0]), ("column", self.cols, shape[1])):
            outside = (index < 0) | (index >= m)
            if outside.any():
                got = f"{axis} {index[outside][0]}"
                raise ParameterError(f"expected {name} entries in {axis}s 0 to {m - 1}, got {got}")

    def joined(self, other: Entries) -> Entries:
        """Return these entries followed by the others."""
        return Entries(np.concatenate([self.rows, other.rows]), np.concatenate([self.cols, other.cols]))


class Information(NamedTuple):
    """What is seen of a measurement z = x + noise: the cell between cuts that it lies in and, in one cell, z itself.

    With limits the cell between them is seen; yes or no are two cells, grades K. Without cuts z is seen everywhere, and
    rows or columns have a noise of their own, as they may with grades. The noise, its law and the cuts are the means
    over the draws: what a measurement tells of these is not counted.
    """

    cuts: Array  # (1, K - 1), or (m, K - 1) where rows or columns differ
    cdf: Array  # (KNOTS,) of the noise in units of its sd, knots from -REACH to REACH
    loss: Array  # (KNOTS,) of what a seen value tells of x, the share that a cut takes off there
    seen: int  # the cell in which z itself is seen, -1 for none
    by_row: bool = False
    lines: Array | None = (
        None  # (m,) one over the variances of the noise of rows or columns, times that of all
    )


@dataclass(frozen=True, eq=False, repr=False)
class Belief:
    """S draws of an m1 x m2 matrix in factor form. Only `draw`, `block`, `mean` and `sd` compute dense arrays."""

    left: Floats  # (S, m1, R)
    right: Floats  # (S, m2, R)
    row: Floats  # (S, m1)
    col: Floats  # (S, m2)
    mu: Array  # (S,)
    noise_var: Array  # (S,) variance (scale squared, for Student noise) of one measurement
    # how much a measurement tells of each entry, made when it is needed; None where all are plain values
    inform: Callable[[], Information] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.left.shape[1], self.right.shape[1]

    @property
    def n_draws(self) -> int:
        """The number of draws, S."""
        return int(self.left.shape[0])

    def at(self, rows: Positions, cols: Positions) -> Array:
        """Return the draws at the given entries, (S, n)."""
        i, j = np.asarray(rows), np.asarray(cols)
        x = np.empty((self.n_draws, i.size))
        for s in range(self.n_draws):  # one draw at a time: all at once would copy S n R numbers
            x[s] = self.draw_at(s, i, j)
        return x

    def mean_at(self, rows: Positions, cols: Positions) -> Array:
        """Return the mean over the draws at the given entries, (n,)."""
        i, j = np.asarray(rows), np.asarray(cols)
        total = np.zeros(i.size)
        for s in range(self.n_draws):
            total += self.draw_at(s, i, j)
        return total / self.n_draws

    def draw_at(self, s: int, i: Positions, j: Positions) -> Array:
        """Return draw s at the given entries, (n,)."""
        x: Array = np.einsum("nr,nr->n", self.left[s, i], self.right[s, j]).astype(np.float64)
        x += self.mu[s] + self.row[s, i] + self.col[s, j]
        return x

    @cached_property
    def information(self) -> Information | None:
        """How much a measurement tells of each entry; None where all tell as much."""
        return None if self.inform is None else self.inform()

    def noise_at(self, rows: Positions, cols: Positions) -> Array:
        """Return the working noise of a measurement of each entry, (n,): the variance of a value that tells as much."""
        noise: Array = np.mean(self.noise_var) / self.share_at(rows, cols)
        return noise

    def share_at(self, rows: Positions, cols: Positions) -> Array:
        """Return the noise variance over the working noise of each entry, (n,): at most 1, and 1 for plain values.

        Where rows or columns have a noise of their own, it is theirs that the working noise is at least.

        A value with noise w tells 1/2 log(1 + v/w) nats of an entry of variance v. What a measurement tells is the
        mutual information of what is seen and the draws: of its cell, H(mean p) - mean H(p) for the probabilities p
        of the cells; and of its value if that is seen. For draws that differ little, w is 1 / Fisher's information.
        """
        i, j = np.asarray(rows), np.asarray(cols)
        return self._mean_share(i, j, lambda s: self.draw_at(s, i, j))

    def share_block(self, rows: Positions, cols: Positions) -> Array:
        """Return the same for all entries of some rows and columns, a dense array."""
        return self._mean_share(rows[:, None], cols[None, :], lambda s: self.block(s, rows, cols))

    def _mean_share(self, i: Positions, j: Positions, draw: Callable[[int], Array]) -> Array:
        shape, known, S = np.broadcast_shapes(i.shape, j.shape), self.information, self.n_draws
        if known is None:
            return np.ones(shape)
        lines = None if known.lines is None else known.lines[i if known.by_row else j]
        if lines is not None and not known.cuts.size:
            return np.ascontiguousarray(np.broadcast_to(lines, shape))
        from maxentry.kernels.variances import add_cells

        eta2, cuts, unit = float(np.mean(self.noise_var)), known.cuts, np.ones(1)
        if known.lines is not None and lines is not None:  # in units in which all have the same noise
            cuts, unit = cuts * np.sqrt(known.lines)[:, None], np.sqrt(np.broadcast_to(lines, shape).ravel())
        root, own = 1 / float(np.sqrt(eta2)), len(cuts) > 1
        line = np.broadcast_to((i if known.by_row else j) if own else np.int64(0), shape)
        line, origin = np.ascontiguousarray(line).ravel(), draw(0).ravel() * unit
        sums, p = np.zeros((origin.size, 7)), np.zeros((origin.size, cuts.shape[1] + 1))
        for s in range(S):
            add_cells(draw(s).ravel() * unit, origin, line, root, cuts, *known[1:4], p, sums)
        p, sums = p / S, sums / S
        told = sums[:, 0] - (p * np.log(np.maximum(p, LEAST_SHARE))).sum(1)  # nats
        if known.seen >= 0:
            weight = np.maximum(sums[:, 3], LEAST_SHARE)
            v = np.maximum(sums[:, 5] / weight - (sums[:, 4] / weight) ** 2, 0.0)
            told += sums[:, 3] * 0.5 * np.log1p(v * np.clip(sums[:, 6] / weight, 0.0, 1.0) / eta2)
        v = np.maximum(sums[:, 2] - sums[:, 1] ** 2, LEAST_SHARE * eta2)
        share: Array = np.clip(eta2 * np.expm1(2 * told) / v, LEAST_SHARE, 1.0) * unit**2
        return share.reshape(shape)

    def row_alone(self, i: int) -> Belief:
        """Return what is believed of row i, as a matrix of one row."""
        known = self.information
        if known is not None and known.by_row:  # of this row alone
            lines = None if known.lines is None else known.lines[[i]]
            known = known._replace(cuts=known.cuts[[i]] if len(known.cuts) > 1 else known.cuts, lines=lines)
        inform = None if known is None else lambda: known
        return replace(self, left=self.left[:, [i]], row=self.row[:, [i]], inform=inform)

    def draw(self, s: int) -> Array:
        """Return draw s as a dense m1 x m2 matrix."""
        return self.block(s, slice(None), slice(None))

    def block(self, s: int, rows: Any, cols: Any) -> Array:
        """Return some rows and columns of draw s as a dense array."""
        x: Array = np.asarray(self.left[s, rows] @ self.right[s, cols].T, dtype=np.float64)
        x += self.mu[s] + self.row[s, rows][:, None]
        x += self.col[s, cols]
        return x

    def blocks(self, numbers_an_entry: int = 1) -> Iterator[tuple[slice, slice]]:
        """Yield slices of rows and columns such that a dense block with this many numbers per entry stays small."""
        m1, m2 = self.shape
        wide = max(1, min(m2, BLOCK_NUMBERS // numbers_an_entry))
        tall = max(1, BLOCK_NUMBERS // (numbers_an_entry * wide))
        for i in range(0, m1, tall):
            for j in range(0, m2, wide):
                yield slice(i, min(i + tall, m1)), slice(j, min(j + wide, m2))

    def mean(self) -> Array:
        """Return the mean as a dense matrix: one product of inner dimension S R, a block of draws at a time."""
        mean: Array = self.row.mean(0, dtype=float)[:, None] + self.col.mean(0, dtype=float) + self.mu.mean()
        (m1, m2), R = self.shape, self.left.shape[2]
        step = max(1, BLOCK_NUMBERS // (max(m1, m2) * max(R, 1)))
        for start in range(0, self.n_draws, step):
            A, B = self.left[start : start + step], self.right[start : start + step]
            flat = A.swapaxes(0, 1).reshape(m1, -1) @ B.swapaxes(0, 1).reshape(m2, -1).T
            mean += flat / self.n_draws
        return mean

    def sd(self, mean: Array) -> Array:
        """Return the standard deviation as a dense matrix, given the mean.

        Deviations are summed around the mean, because E x^2 - (E x)^2 loses small values to rounding.
        """
        sd = np.empty(self.shape)
        for rows, cols in self.blocks():
            squares = np.zeros_like(mean[rows, cols])
            for s in range(self.n_draws):
                squares += (self.block(s, rows, cols) - mean[rows, cols]) ** 2
            sd[rows, cols] = np.sqrt(squares / max(self.n_draws - 1, 1))
        return sd
