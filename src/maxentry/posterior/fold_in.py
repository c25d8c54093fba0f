"""New rows given the fitted columns: no sampling, one small Gaussian law for each row and draw.

In a draw, a new row is x_j = mu + c_j + f_j'g with the features f_j = (b_j, 1) of column j and the coefficients
g = (a, r). Given what is observed of the row, g is drawn as the sampler draws the rows it was fitted to
(docs/mathematics.md):

    g | y ~ N(P^-1 h, P^-1),   P = Q + sum w_j f_j f_j' / eta2,   h = sum w_j f_j (y_j - mu - c_j) / eta2

where Q, the precision of g's prior, is at its conditional mean given the draw (X = A B', in any gauge):

    of a:  E[L | A] + B'B / sigma2 = (m1 - R) (A'A)^-1 + B'B / sigma2
    of r:  E[1 / tau2 | r_1..r_m1] = (alpha + m1 / 2) / (beta + sum r_i^2 / 2)      for tau2 ~ IG(alpha, beta)

The weights w are 1 for Gaussian noise; for Student noise they are the means of the mean-field (variational) law
of g and w. Latent values of limits, yes and no, or grades are at their means under such a law of g and z. The draws
are mixed with equal weights: new rows do not change what is believed of the columns.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr
from threadpoolctl import threadpool_limits

from maxentry._types import Array
from maxentry.belief import BLOCK_NUMBERS
from maxentry.errors import DataError, ParameterError
from maxentry.kernels import ridge as kernel
from maxentry.labels import as_array, floats
from maxentry.model.likelihood import GAUSSIAN, Likelihood, NoiseLaw
from maxentry.observations import Observations
from maxentry.posterior.posterior import Posterior
from maxentry.progress import compiling_notice
from maxentry.transform import NONE

STUDENT_ITERATIONS = 100  # at most; ten are usual
LATENT_ITERATIONS = 100
LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


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
    cuts: Array | None = None  # between grades
    spread: Array | None = None  # (m2,) where columns have a noise of their own: its sd over sqrt(eta2)
    omega2: float | None = None  # of what entries deviate from the pattern, a part of eta2


class ObservedRows(NamedTuple):
    """The observed entries of new rows, row by row."""

    cols: NDArray[np.intp]
    values: Array
    starts: NDArray[np.intp]
    shape: tuple[int, int]
    rows: NDArray[np.intp]
    said: Observations | None = None  # where these are no plain values

    @classmethod
    def from_array(
        cls, Y: Array, likelihood: Likelihood = GAUSSIAN, ends: Sequence[Array] | None = None
    ) -> "ObservedRows":
        """The entries of Y that are not NaN; ends: those of limits and ranges, equal ones of plain values."""
        rows, cols = np.nonzero(~np.isnan(Y))
        starts, values, said = np.searchsorted(rows, np.arange(len(Y) + 1)), Y[rows, cols], None
        if rows.size and (likelihood.discrete or likelihood.limits is not None or ends is not None):
            shape = max(2, len(Y)), Y.shape[1]  # the least that observations have
            low, high = (None, None) if ends is None else (end[rows, cols] for end in ends)
            told = Observations.from_triples(rows, cols, values, shape, low=low, high=high)
            said = likelihood.statements(told)
        return cls(cols, values, starts, Y.shape, rows, None if said is None or said.low is None else said)


def fold_in(posterior: Posterior, Y: ArrayLike, ends: Sequence[Array] | None = None) -> NewRows:
    """Mean and sd of every entry (less noise) of new rows Y (n, m2), NaN where missing, given the fitted columns.

    With yes/no or grades they are of the probability of yes, or of the expected grade. ends: lower and upper ends
    (n, m2) of what was measured, where some of it is limits or ranges.

    A row without any observation has the mean and spread of the rows that were fitted. The sd holds both the
    uncertainty of the row given the columns and that of the columns.
    """
    new, ends = _check_new_rows(Y, posterior), _scale_ends(ends, posterior)
    mean, sd = np.empty_like(new), np.empty_like(new)
    with threadpool_limits(1):  # threads on matrices this thin cost more than they give
        for block, seen in _blocks(posterior, new, ends):
            mean[block], sd[block] = _moments(posterior, seen)
    shift, factor = _column_scales(posterior)
    return NewRows(shift + factor * mean, factor * sd)


def _moments(posterior: Posterior, seen: ObservedRows) -> tuple[Array, Array]:
    """Mean and sd over the draws, the variance by the law of total variance."""
    mean, within, between = (np.zeros(seen.shape) for _ in range(3))
    for S, columns in enumerate(column_draws(posterior), 1):
        G, cov = coefficients(columns, seen)
        x, variance = columns.offset + G @ columns.F.T, _flat(cov) @ _squares(columns.F).T
        x, variance = _answers(posterior, columns, *_deviate(columns, seen, x, variance))
        within += variance
        step = x - mean
        mean += step / S
        between += step * (x - mean)  # Welford: around the mean, which squares of x would lose
    return mean, np.sqrt(np.maximum(within, 0.0) / S + between / max(S - 1, 1))


def _deviate(columns: ColumnDraw, seen: ObservedRows, x: Array, variance: Array) -> tuple[Array, Array]:
    """Mean and variance of entries with their own deviations; one that is observed is near its measurement."""
    if columns.omega2 is None:
        return x, variance
    k, values = np.zeros(x.shape), np.zeros(x.shape)
    plain = slice(None) if seen.said is None else seen.said.low == seen.said.high
    at = seen.rows[plain], seen.cols[plain]
    k[at], values[at] = columns.omega2 / columns.eta2, seen.values[plain]
    return x + k * (values - x), (1 - k) ** 2 * variance + columns.omega2 * (1 - k)


def _answers(posterior: Posterior, columns: ColumnDraw, x: Array, variance: Array) -> tuple[Array, Array]:
    """Mean and variance of the answers to entries N(x, variance) of one draw; the variance to first order."""
    likelihood = posterior.likelihood
    if not likelihood.discrete:
        return x, variance
    law = NoiseLaw(columns.eta2 + np.maximum(variance, 0.0), None, columns.cuts)
    step = 1e-4 * np.sqrt(columns.eta2)
    slope = (likelihood.answers(x + step, law) - likelihood.answers(x - step, law)) / (2 * step)
    return likelihood.answers(x, law), slope**2 * variance


def fold_in_mean(posterior: Posterior, Y: ArrayLike, ends: Sequence[Array] | None = None) -> Array:
    """The mean of `fold_in`, without the cost of the sd."""
    new, ends = _check_new_rows(Y, posterior), _scale_ends(ends, posterior)
    mean = np.zeros_like(new)
    with threadpool_limits(1):
        for block, seen in _blocks(posterior, new, ends):
            for columns in column_draws(posterior):
                G, cov = coefficients(columns, seen)
                x = columns.offset + G @ columns.F.T
                x, _ = _deviate(columns, seen, x, np.zeros(x.shape))
                if posterior.likelihood.discrete:
                    x, _ = _answers(posterior, columns, x, _flat(cov) @ _squares(columns.F).T)
                mean[block] += x
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
    law, omega2 = posterior.noise_law, None if draws.omega2 is None else draws.omega2.ravel()
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
            parts = (None if part is None else part[k] for part in (law.nu, law.cuts, by_col, omega2))
            yield ColumnDraw(F, draws.mu[c, s] + draws.col[c, s], Q, float(draws.eta2[c, s]), *parts)


def coefficients(columns: ColumnDraw, seen: ObservedRows) -> tuple[Array, Array]:
    """Mean (n, K) and covariance (n, K, K) of the rows' coefficients g."""
    F, offset, Q, eta2, nu, cuts, spread, _ = columns
    n, K = seen.shape[0], F.shape[1]
    values = seen.values
    if spread is not None:  # in units of each column's noise
        F, offset, values = F / spread[:, None], offset / spread, values / spread[seen.cols]
    G, cov = np.empty((n, K)), np.empty((n, K, K))
    student = (0.0, 0) if nu is None else (nu, STUDENT_ITERATIONS)
    z = values if seen.said is None else seen.said.values
    for _ in range(1 if seen.said is None else LATENT_ITERATIONS):
        kernel.fit_coefficients(seen.starts, seen.cols, z, F, offset, Q, eta2, *student, G, cov)
        if seen.said is not None:
            x, before = offset[seen.cols] + np.einsum("nk,nk->n", G[seen.rows], F[seen.cols]), z
            z = latent_means(x, np.sqrt(eta2), seen.said, cuts)
            if np.abs(z - before).max() < 1e-4 * np.sqrt(eta2):
                break
    return G, cov


def latent_means(x: Array, sd: float, said: Observations, cuts: Array | None) -> Array:
    """The means of latent values N(x, sd^2) between the ends of what was said; plain values as they are."""
    assert said.low is not None
    assert said.high is not None
    low, high = said.low, said.high
    if cuts is not None:
        edges, k = np.concatenate([[-np.inf], cuts, [np.inf]]), said.values.astype(np.intp)
        low, high = edges[k - 1], edges[k]
    a, b = (low - x) / sd, (high - x) / sd
    a, b, sign = np.where(a + b < 0, -b, a), np.where(a + b < 0, -a, b), np.where(a + b < 0, -1.0, 1.0)
    tail = log_ndtr(-a)
    at_a, at_b = (np.exp(-0.5 * np.minimum(t * t, 1e300) - LOG_ROOT_2PI - tail) for t in (a, b))
    mean = (at_a - at_b) / np.maximum(-np.expm1(log_ndtr(-b) - tail), 1e-12)
    return np.where(said.low == said.high, said.values, x + sign * sd * np.clip(mean, a, b))


def _squares(F: Array) -> Array:
    """vec(f_j f_j') of every column, (m2, K^2)."""
    return _flat(F[:, :, None] * F[:, None, :])


def _flat(matrices: Array) -> Array:
    return matrices.reshape(len(matrices), -1)


def _blocks(
    posterior: Posterior, new: Array, ends: Sequence[Array] | None
) -> Iterator[tuple[slice, ObservedRows]]:
    """Slices of the new rows, for which m2 and K^2 numbers a row stay small, with what is observed of them."""
    compiling_notice([kernel.fit_coefficients])
    K = posterior.draws.rank + posterior.fit.effects
    step = max(1, BLOCK_NUMBERS // (posterior.shape[1] + K * K))
    for start in range(0, len(new), step):
        block = slice(start, start + step)
        part = None if ends is None else [end[block] for end in ends]
        yield block, ObservedRows.from_array(new[block], posterior.likelihood, part)


def _scale_ends(ends: Sequence[Array] | None, posterior: Posterior) -> list[Array] | None:
    shift, factor = _column_scales(posterior)
    return None if ends is None else [(end - shift) / factor for end in ends]


def _check_new_rows(Y: ArrayLike, posterior: Posterior) -> Array:
    if posterior.transform != NONE:
        raise ParameterError(
            f"new rows need a posterior without transform, got one with transform='{posterior.transform}'; "
            "transform the values yourself, or add the rows and fit again"
        )
    if posterior.fit.scales is not None and posterior.likelihood.limits is not None:
        raise ParameterError("new rows need a posterior without scales or without limits, got one with both")
    m2, given = posterior.shape[1], as_array(Y)
    if given.ndim != 2 or given.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, got shape {given.shape}")
    values = floats(given, lambda k: f"row {k // m2}, column {k % m2}")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise DataError(f"expected finite numbers, got {values[i, j]} at row {i}, column {j}")
    shift, factor = _column_scales(posterior)
    return np.asarray((values - shift) / factor)
