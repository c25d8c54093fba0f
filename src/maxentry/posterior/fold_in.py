"""New rows given the fitted columns: no sampling, one small Gaussian law for each row and draw.

In a draw, a new row is x_j = mu + c_j + f_j'g with the features f_j = (b_j, 1) of column j and the coefficients
g = (a, r). Given what is observed of the row, g is drawn as the sampler draws the rows it was fitted to
(docs/mathematics.md):

    g | y ~ N(P^-1 h, P^-1),   P = Q + sum w_j f_j f_j' / eta2,   h = sum w_j f_j (y_j - mu - c_j) / eta2

where Q, the precision of g's prior, is at its conditional mean given the draw (X = A B', in any gauge):

    of a:  E[L | A] + B'B / sigma2 = (m1 - R) (A'A)^-1 + B'B / sigma2
    of r:  E[1 / tau2 | r_1..r_m1] = (alpha + m1 / 2) / (beta + sum r_i^2 / 2)      for tau2 ~ IG(alpha, beta)

The weights w are 1 for Gaussian noise; for Student noise they are the means of the mean-field (variational) law
of g and w. The draws are mixed with equal weights: new rows do not change what is believed of the columns.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from maxentry._types import Array
from maxentry.belief import BLOCK_NUMBERS
from maxentry.errors import DataError, ParameterError
from maxentry.kernels import ridge as kernel
from maxentry.labels import as_array, floats
from maxentry.posterior.posterior import Posterior
from maxentry.progress import compiling_notice
from maxentry.transform import NONE

STUDENT_ITERATIONS = 100  # at most; ten are usual


class NewRows(NamedTuple):
    """Posterior mean and standard deviation of every entry of some new rows, (n, m2)."""

    mean: Array
    sd: Array


class ColumnDraw(NamedTuple):
    """The law of new rows in one draw: x_j = offset_j + f_j'g + noise, g ~ N(0, Q^-1)."""

    F: Array  # (m2, K)
    offset: Array  # (m2,), mu + c_j
    Q: Array  # (K, K)
    eta2: float
    nu: float | None  # of Student noise
    spread: Array | float = 1.0  # (m2,) where columns have a noise of their own: its sd over sqrt(eta2)


class ObservedRows(NamedTuple):
    """The observed entries of new rows, row by row."""

    cols: NDArray[np.intp]
    values: Array
    starts: NDArray[np.intp]
    shape: tuple[int, int]

    @classmethod
    def from_array(cls, Y: Array) -> "ObservedRows":
        """The entries of Y that are not NaN."""
        rows, cols = np.nonzero(~np.isnan(Y))
        return cls(cols, Y[rows, cols], np.searchsorted(rows, np.arange(len(Y) + 1)), Y.shape)


def fold_in(posterior: Posterior, Y: ArrayLike) -> NewRows:
    """Mean and sd of every entry (less noise) of new rows Y (n, m2), NaN where missing, given the fitted columns.

    A row without any observation has the mean and spread of the rows that were fitted. The sd holds both the
    uncertainty of the row given the columns and that of the columns.
    """
    new = _check_new_rows(Y, posterior)
    mean, sd = np.empty_like(new), np.empty_like(new)
    with threadpool_limits(1):  # threads on matrices this thin cost more than they give
        for block, seen in _blocks(posterior, new):
            mean[block], sd[block] = _moments(posterior, seen)
    shift, factor = _column_scales(posterior)
    return NewRows(shift + factor * mean, factor * sd)


def _moments(posterior: Posterior, seen: ObservedRows) -> tuple[Array, Array]:
    """Mean and sd over the draws, the variance by the law of total variance."""
    mean, within, between = (np.zeros(seen.shape) for _ in range(3))
    for S, columns in enumerate(column_draws(posterior), 1):
        G, cov = coefficients(columns, seen)
        x = columns.offset + G @ columns.F.T
        within += _flat(cov) @ _squares(columns.F).T
        step = x - mean
        mean += step / S
        between += step * (x - mean)  # Welford: around the mean, which squares of x would lose
    return mean, np.sqrt(np.maximum(within, 0.0) / S + between / max(S - 1, 1))


def fold_in_mean(posterior: Posterior, Y: ArrayLike) -> Array:
    """The mean of `fold_in`, without the cost of the sd."""
    new = _check_new_rows(Y, posterior)
    mean = np.zeros_like(new)
    with threadpool_limits(1):
        for block, seen in _blocks(posterior, new):
            for columns in column_draws(posterior):
                mean[block] += columns.offset + coefficients(columns, seen)[0] @ columns.F.T
    shift, factor = _column_scales(posterior)
    return shift + factor * (mean / posterior.draws.mu.size)


def _column_scales(posterior: Posterior) -> tuple[Array | float, Array | float]:
    """Shift and factor of each column; new rows have no scales of their own."""
    scales = posterior.fit.scales
    return (0.0, 1.0) if scales is None or scales.side == "rows" else (scales.shift, scales.factor)


def column_draws(posterior: Posterior) -> Iterator[ColumnDraw]:
    """Every draw's columns, with the prior precision of a new row's coefficients."""
    draws, fit, (m1, m2) = posterior.draws, posterior.fit, posterior.shape
    assert fit.units is not None
    law = posterior.noise_law
    by_col = (
        None if law.by_row else law.spread
    )  # the noise of a new row is not known: that of a typical one is taken
    for c, chain in enumerate(posterior.chains):
        R, tau2 = chain.rank, fit.priors_of(posterior.shape)(chain.rank).rows
        K = R + fit.effects
        for s in range(draws.mu.shape[1]):
            A, B, r = (np.asarray(array[c, s], np.float64) for array in (draws.left, draws.right, draws.row))
            F, Q = np.ones((m2, K)), np.zeros((K, K))
            if R:
                assert draws.sigma2 is not None
                A, F[:, :R] = A[:, :R], B[:, :R]
                Q[:R, :R] = (m1 - R) * np.linalg.inv(A.T @ A) + F[:, :R].T @ F[:, :R] / draws.sigma2[c, s]
            if fit.effects:
                Q[R, R] = (tau2.shape + 0.5 * m1) / (tau2.scale * fit.units.scale**2 + 0.5 * r @ r)
            k = c * draws.mu.shape[1] + s
            nu, spread = None if law.nu is None else float(law.nu[k]), 1.0 if by_col is None else by_col[k]
            yield ColumnDraw(F, draws.mu[c, s] + draws.col[c, s], Q, float(draws.eta2[c, s]), nu, spread)


def coefficients(columns: ColumnDraw, seen: ObservedRows) -> tuple[Array, Array]:
    """Mean (n, K) and covariance (n, K, K) of the rows' coefficients g."""
    F, offset, Q, eta2, nu, spread = columns
    n, K = seen.shape[0], F.shape[1]
    values = seen.values
    if isinstance(spread, np.ndarray):  # in units of each column's noise
        F, offset, values = F / spread[:, None], offset / spread, values / spread[seen.cols]
    G, cov = np.empty((n, K)), np.empty((n, K, K))
    student = (0.0, 0) if nu is None else (nu, STUDENT_ITERATIONS)
    kernel.fit_coefficients(seen.starts, seen.cols, values, F, offset, Q, eta2, *student, G, cov)
    return G, cov


def _squares(F: Array) -> Array:
    """vec(f_j f_j') of every column, (m2, K^2)."""
    return _flat(F[:, :, None] * F[:, None, :])


def _flat(matrices: Array) -> Array:
    return matrices.reshape(len(matrices), -1)


def _blocks(posterior: Posterior, new: Array) -> Iterator[tuple[slice, ObservedRows]]:
    """Slices of the new rows, for which m2 and K^2 numbers a row stay small, with what is observed of them."""
    compiling_notice([kernel.fit_coefficients])
    K = posterior.draws.rank + posterior.fit.effects
    step = max(1, BLOCK_NUMBERS // (posterior.shape[1] + K * K))
    for start in range(0, len(new), step):
        block = slice(start, start + step)
        yield block, ObservedRows.from_array(new[block])


def _check_new_rows(Y: ArrayLike, posterior: Posterior) -> Array:
    if posterior.transform != NONE:
        raise ParameterError(
            f"new rows need a posterior without transform, got one with transform='{posterior.transform}'; "
            "transform the values yourself, or add the rows and fit again"
        )
    m2, given = posterior.shape[1], as_array(Y)
    if given.ndim != 2 or given.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, got shape {given.shape}")
    values = floats(given, lambda k: f"row {k // m2}, column {k % m2}")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise DataError(f"expected finite numbers, got {values[i, j]} at row {i}, column {j}")
    shift, factor = _column_scales(posterior)
    return np.asarray((values - shift) / factor)
