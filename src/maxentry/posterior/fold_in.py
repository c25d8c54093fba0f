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
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from maxentry.belief import BLOCK_NUMBERS
from maxentry.errors import DataError
from maxentry.observations.numbers import as_array, floats
from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]

STUDENT_ITERATIONS = 20  # a fixed number, so that a row's result does not depend on the rows beside it


class NewRows(NamedTuple):
    """Posterior mean and standard deviation of every entry of some new rows, (n, m2)."""

    mean: Array
    sd: Array


class Columns(NamedTuple):
    """What one draw says of new rows: x_j = offset_j + f_j'g + noise, g ~ N(0, Q^-1)."""

    F: Array  # (m2, K)
    offset: Array  # (m2,), mu + c_j
    Q: Array  # (K, K)
    eta2: float
    nu: float | None  # of Student noise


class Seen(NamedTuple):
    """The observed entries of new rows, row by row."""

    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: Array
    starts: NDArray[np.intp]
    shape: tuple[int, int]

    @classmethod
    def of(cls, Y: Array) -> "Seen":
        """The entries of Y that are not NaN."""
        rows, cols = np.nonzero(~np.isnan(Y))
        return cls(rows, cols, Y[rows, cols], np.searchsorted(rows, np.arange(len(Y) + 1)), Y.shape)

    def sums(self, terms: Array, features: Array) -> Array:
        """sum over each row's entries of term * features of the column, (n, k)."""
        return np.asarray(csr_array((terms, self.cols, self.starts), shape=self.shape) @ features)


def fold_in(posterior: Posterior, Y: ArrayLike) -> NewRows:
    """Mean and sd of every entry (less noise) of new rows Y (n, m2), NaN where missing, given the fitted columns.

    A row without any observation has the mean and spread of the rows that were fitted. The sd holds both the
    uncertainty of the row given the columns and that of the columns.
    """
    new = _checked(Y, posterior.shape[1])
    mean, sd = np.empty_like(new), np.empty_like(new)
    for block in _blocks(posterior, len(new)):
        seen = Seen.of(new[block])
        centre, within, between = (np.zeros(seen.shape) for _ in range(3))
        with threadpool_limits(1):
            for S, columns in enumerate(draws_of_columns(posterior), 1):
                G, cov = coefficients(columns, seen)
                x = columns.offset + G @ columns.F.T
                within += _flat(cov) @ _squares(columns.F).T
                step = x - centre
                centre += step / S
                between += step * (x - centre)  # Welford: around the mean, which squares of x would lose
        mean[block] = centre
        sd[block] = np.sqrt(np.maximum(within, 0.0) / S + between / max(S - 1, 1))
    return NewRows(mean, sd)


def fold_in_mean(posterior: Posterior, Y: ArrayLike) -> Array:
    """The mean of `fold_in` alone, at a fraction of its cost."""
    new = _checked(Y, posterior.shape[1])
    mean = np.zeros_like(new)
    for block in _blocks(posterior, len(new)):
        seen = Seen.of(new[block])
        with threadpool_limits(1):
            for columns in draws_of_columns(posterior):
                mean[block] += columns.offset + coefficients(columns, seen)[0] @ columns.F.T
    return mean / posterior.draws.mu.size


def draws_of_columns(posterior: Posterior) -> Iterator[Columns]:
    """Every draw's columns, with the prior precision of a new row's coefficients."""
    draws, fit, (m1, m2) = posterior.draws, posterior.fit, posterior.shape
    assert fit.units is not None
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
            nu = None if draws.nu is None else float(draws.nu[c, s])
            yield Columns(F, draws.mu[c, s] + draws.col[c, s], Q, float(draws.eta2[c, s]), nu)


def coefficients(columns: Columns, seen: Seen) -> tuple[Array, Array]:
    """Mean (n, K) and covariance (n, K, K) of the rows' coefficients g."""
    residual = seen.values - columns.offset[seen.cols]
    w = np.ones(seen.values.size)
    if columns.nu is not None:
        for _ in range(STUDENT_ITERATIONS):
            G, cov = _weighted(columns, seen, residual, w)
            f = columns.F[seen.cols]
            e2 = (residual - np.einsum("na,na->n", f, G[seen.rows])) ** 2
            e2 += np.einsum("na,nab,nb->n", f, cov[seen.rows], f)
            w = (columns.nu + 1) / (columns.nu + e2 / columns.eta2)
    return _weighted(columns, seen, residual, w)


def _weighted(columns: Columns, seen: Seen, residual: Array, w: Array) -> tuple[Array, Array]:
    """N(P^-1 h, P^-1) of every row."""
    F, K, n = columns.F, columns.F.shape[1], seen.shape[0]
    P = columns.Q + seen.sums(w / columns.eta2, _squares(F)).reshape(n, K, K)
    h = seen.sums(w * residual / columns.eta2, F)
    both = np.concatenate([h[:, :, None], np.broadcast_to(np.eye(K), (n, K, K))], axis=2)
    solved = np.linalg.solve(P, both)
    return solved[:, :, 0], solved[:, :, 1:]


def _squares(F: Array) -> Array:
    """vec(f_j f_j') of every column, (m2, K^2)."""
    return _flat(F[:, :, None] * F[:, None, :])


def _flat(matrices: Array) -> Array:
    return matrices.reshape(len(matrices), -1)


def _blocks(posterior: Posterior, n: int) -> Iterator[slice]:
    """Slices of rows small enough for (n, m2) maps and, with Student noise, K^2 numbers an entry."""
    m2, K = posterior.shape[1], posterior.draws.rank + posterior.fit.effects
    numbers = m2 * K * K if posterior.draws.nu is not None else m2 + 2 * K * K
    step = max(1, BLOCK_NUMBERS // numbers)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _checked(Y: ArrayLike, m2: int) -> Array:
    given = as_array(Y)
    if given.ndim != 2 or given.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, but one of shape {given.shape} came.")
    values = floats(given, lambda k: f"row {k // m2}, column {k % m2}")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise DataError(f"expected finite numbers, but the value at row {i}, column {j} is {values[i, j]}.")
    return values
