"""New rows for estimators: mean and sd of every entry, of rows that do not depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from maxentry import frames
from maxentry._types import Array
from maxentry.belief import BLOCK_NUMBERS
from maxentry.errors import DataError
from maxentry.labels import as_array, floats
from maxentry.observations import Observations
from maxentry.posterior.new_rows import Fitted, NewRows


class RowMoments(NamedTuple):
    """Posterior mean and standard deviation of every entry of some new rows, (n, m2)."""

    mean: Array
    sd: Array


def fold_in(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None = None) -> RowMoments:
    """Mean and sd of every entry of new rows Y (n, m2), NaN where missing; no row depends on those beside it.

    ends: lower and upper ends (n, m2) of what was measured, where some of it is limits or ranges. The sd, without the
    noise of measurements, holds both the uncertainty of the row given the columns and that of the columns.
    """
    found = [(new.exact_mean(), new.arrays.sd) for new in _blocks(posterior, Y, ends)]
    return RowMoments(*map(np.vstack, zip(*found, strict=True)))


def fold_in_mean(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None = None) -> Array:
    """The mean of `fold_in`, without the cost of the sd."""
    return np.vstack([new.exact_mean() for new in _blocks(posterior, Y, ends)])


def _blocks(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None) -> Iterator[NewRows]:
    """New rows, so many at once that their draws stay small."""
    given, m2 = as_array(Y), posterior.shape[1]
    if given.ndim != 2 or given.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, got shape {given.shape}")
    values = floats(given, lambda k: f"row {k // m2}, column {k % m2}")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise DataError(f"expected finite numbers, got {values[i, j]} at row {i}, column {j}")
    columns = posterior.columns
    most = int((~np.isnan(values)).sum(1).max(initial=0))
    step = max(1, BLOCK_NUMBERS // (m2 + columns.Q[:, 0].size + len(columns.Q) * most))
    form = frames.Form(None, None, posterior.observations.col_labels)
    with threadpool_limits(1):  # threads on matrices this thin cost more than they give
        for start in range(0, len(values), step):
            part = values[start : start + step]
            i, j = np.nonzero(~np.isnan(part))
            low, high = (None, None) if ends is None else (end[start : start + step][i, j] for end in ends)
            shape = max(2, len(part)), m2  # the least that observations have
            told = Observations.from_triples(i, j, part[i, j], shape, low=low, high=high) if i.size else None
            yield NewRows(posterior, form._replace(row_labels=tuple(range(len(part)))), told, apart=True)
