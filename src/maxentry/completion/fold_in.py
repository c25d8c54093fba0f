"""New rows given the column space of a nuclear-norm estimate.

By the variational form |X|_* = min (|A|^2 + |B|^2) / 2 over X = A B', attained at A = U D^(1/2), B = V D^(1/2),
the rows of A solve a ridge regression each when B is held: a_i = argmin sum_j (y_ij - b_j'a)^2 + (lambda/2) |a|^2
(in terms of the row of U D, the ridge is (lambda/2) D^-1). The rows the estimate was fitted to come back as they
are: that is its optimality condition G V = lambda U, row by row.
"""

import numpy as np
from numpy.typing import NDArray

from maxentry.completion.entries import Entries, LowRank
from maxentry.completion.result import Completion
from maxentry.errors import DataError

Floats = NDArray[np.float64]

ROW_RIDGE = 1.0  # of the row effects in `completion.penalty.centred`


def fold_in(completion: Completion, Y: Floats) -> Floats:
    """The estimate of every entry of new rows Y (n, m2), NaN where missing; a row of NaN gets the column means."""
    m2 = completion.shape[1]
    if Y.ndim != 2 or Y.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, but one of shape {Y.shape} came.")
    mean = _means(completion, Y)
    i, j = np.nonzero(~np.isnan(Y))
    values = (Y - mean)[i, j]
    _, B = LowRank(completion.U, completion.d, completion.V).balanced()
    if not (i.size and B.shape[1]):
        return mean
    entries = Entries.of((len(Y), m2), i.astype(np.int32), j.astype(np.int32), values)
    A, _ = entries.by_row.ridge(np.ascontiguousarray(B), 0.5 * completion.penalty)
    return mean + A @ B.T


def _means(completion: Completion, Y: Floats) -> Floats:
    """mu + r_i + c_j with the effect r_i of each new row fitted as those of the old rows were."""
    if completion.effects is None:
        return np.zeros(Y.shape)
    level = completion.effects.mu + completion.effects.col
    seen = ~np.isnan(Y)
    r = np.where(seen, Y - level, 0.0).sum(1) / (seen.sum(1) + ROW_RIDGE)
    return np.asarray(level + r[:, None])
