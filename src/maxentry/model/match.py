"""Which measurements two sets of observations of a matrix share, where rows, columns or values were added between."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxentry._types import Array, Indices
from maxentry.errors import LabelError, ParameterError
from maxentry.observations import Observations

FEW = 0.03  # share of new observations up to which chains hardly have to move


def change_fraction(old: Observations, new: Observations, rows: Indices, cols: Indices) -> float:
    """Return the share of measurements that only one of the two has: added, corrected or removed.

    rows, cols: positions of the old rows and columns in the new matrix.
    """
    if abs(new.n - old.n) > FEW * new.n:  # more than few anyway
        return abs(new.n - old.n) / new.n
    match = MeasurementMatch.find(old, new, rows, cols)
    alike = old.values[match.before] == new.values[match.after]
    if old.low is not None or new.low is not None:
        for end in ("low", "high"):
            ends = (o.values if getattr(o, end) is None else getattr(o, end) for o in (old, new))
            alike &= next(ends)[match.before] == next(ends)[match.after]
    same = int(alike.sum())
    return (old.n + new.n - 2 * same) / new.n


class MeasurementMatch(NamedTuple):
    """Positions of the measurements that two sets of observations share; replicates are matched in order."""

    before: Indices
    after: Indices
    n: int  # measurements of the new ones

    @classmethod
    def find(cls, old: Observations, new: Observations, rows: Indices, cols: Indices) -> MeasurementMatch:
        """Match by entry; rows, cols: positions of the old rows and columns in the new matrix."""
        m2 = new.shape[1]
        keys = rows[old.rows] * m2 + cols[old.cols]
        order = np.argsort(keys, kind="stable")
        earlier, later = keys[order], new.rows.astype(np.int64) * m2 + new.cols  # sorted, both
        which = np.arange(new.n) - np.searchsorted(later, later)  # of the measurements of one entry
        at = np.searchsorted(earlier, later) + which
        there = np.flatnonzero(earlier[np.minimum(at, old.n - 1)] == later)
        there = there[at[there] < old.n]
        return cls(order[at[there]], there, new.n)

    def move(self, weights: Array) -> Array:
        """Student weights at their new positions; new measurements start at weight one."""
        moved = np.ones(self.n)
        if weights.size:
            moved[self.after] = weights[self.before]
        return moved

    def move_latent(self, latent: Array, before: Any, after: Any) -> Array:
        """Latent values at their new positions; those of measurements that are new or other than before as told.

        before, after: the `GibbsData` of the old and of the new ones.
        """
        if after.limits is None:
            return np.empty(0)
        moved = after.by_row.values.copy()
        if before.limits is not None:
            old = np.full(before.by_row.values.size, np.nan)
            old[before.limits.rows] = latent
            both = old[self.before], after.by_row.values[self.after] == before.by_row.values[self.before]
            known = ~np.isnan(both[0]) & both[1]
            moved[self.after[known]] = both[0][known]
        return np.asarray(moved[after.limits.rows])


def find_positions(old: Observations, new: Observations) -> tuple[Indices, Indices]:
    """Positions of the old rows and columns in the new matrix."""
    if any(a > b for a, b in zip(old.shape, new.shape, strict=True)):
        raise ParameterError(
            f"start= is of a {old.shape} matrix, so the data must be as large, got {new.shape}"
        )
    try:
        rows = new.row_index(list(old.row_axis.labels or range(old.shape[0])))
        cols = new.col_index(list(old.col_axis.labels or range(old.shape[1])))
    except LabelError as error:
        raise ParameterError(f"start= has rows or columns that the data do not have: {error}") from error
    return rows, cols


def move_rows(factor: Array, to: Indices, m: int) -> Array:
    """Move the rows of a factor to their new positions; new rows start at zero."""
    moved = np.zeros((m, factor.shape[1]))
    moved[to] = factor
    return moved
