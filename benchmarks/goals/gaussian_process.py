"""A Gaussian process on one-hot encoded rows and columns, as tools of Bayesian optimisation use by default.

Its kernel is Matérn's 5/2 of the distance, with one length for rows and one for columns. Encoded so, two entries differ
in their row or not, and in their column or not, so that the kernel has four values: 1, k(row), k(column) and k(both).
That is the covariance of

    mean + effect of the row + effect of the column + a deviation of the entry's own,

and draws are those of a linear model. Lengths and noise are those of greatest marginal likelihood, with log-normal
priors around one (lengths) and a tenth of the variance (noise).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

DRAWS = 256
START = np.log([1.0, 1.0, 0.1])  # lengths of rows and columns, noise variance
PRIOR_SD = np.array([1.0, 1.0, 2.0])
STEPS = 60


def matern(d: float) -> float:
    return float((1 + np.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-np.sqrt(5) * d))


def components(lengths: np.ndarray) -> tuple[float, float, float, float]:
    """Variances of the mean, of effects of rows, of columns, and of own deviations; their sum is one."""
    row, col = matern(np.sqrt(2) / lengths[0]), matern(np.sqrt(2) / lengths[1])  # another row, another column
    both = matern(float(np.sqrt(2 / lengths[0] ** 2 + 2 / lengths[1] ** 2)))
    return both, col - both, row - both, 1 - row - col + both


class Process(NamedTuple):
    """A fit: draws are of values in the user's units."""

    shape: tuple[int, int]
    rows: np.ndarray
    cols: np.ndarray
    values: np.ndarray  # standardised
    level: float
    spread: float
    log: np.ndarray  # of lengths and noise
    scale: float  # variance of the kernel

    def draw(self, keys: np.ndarray, S: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the values at some entries, (S, n): the prior, moved by what was measured (Matheron's rule)."""
        i, j = np.divmod(keys, self.shape[1])
        one, by_row, by_col, own = (np.sqrt(self.scale * part) for part in components(np.exp(self.log[:2])))
        u, r, c = (rng.standard_normal((S, n)) for n in (1, *self.shape))
        deviation = own * rng.standard_normal((S, self.shape[0] * self.shape[1]))

        def prior(rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
            at = deviation[:, rows * self.shape[1] + cols]
            return one * u + by_row * r[:, rows] + by_col * c[:, cols] + at

        noise = self.scale * np.exp(self.log[2])
        cov = self.scale * covariance(self.rows, self.cols, self.rows, self.cols, self.log)
        factor = cho_factor(cov + noise * np.eye(len(self.rows)), lower=True)
        told = prior(self.rows, self.cols) + np.sqrt(noise) * rng.standard_normal((S, len(self.rows)))
        moved = cho_solve(factor, (self.values - told).T)
        cross = self.scale * covariance(i, j, self.rows, self.cols, self.log)
        return self.level + self.spread * (prior(i, j) + (cross @ moved).T)


def covariance(i: np.ndarray, j: np.ndarray, k: np.ndarray, l: np.ndarray, log: np.ndarray) -> np.ndarray:  # noqa: E741
    one, by_row, by_col, own = components(np.exp(log[:2]))
    same_row, same_col = i[:, None] == k, j[:, None] == l
    return one + by_row * same_row + by_col * same_col + own * (same_row & same_col)


def fit(shape: tuple[int, int], rows: np.ndarray, cols: np.ndarray, values: np.ndarray) -> Process:
    """Standardise, and find the lengths and the noise."""
    level, spread = float(values.mean()), float(values.std()) or 1.0
    y, n = (values - level) / spread, len(values)

    def solve(log: np.ndarray) -> tuple[float, float]:
        cov = covariance(rows, cols, rows, cols, log) + (np.exp(log[2]) + 1e-8) * np.eye(n)
        factor = cho_factor(cov, lower=True)
        scale = float(y @ cho_solve(factor, y)) / n  # the variance of greatest likelihood given the others
        return 0.5 * n * np.log(scale) + float(np.log(np.diag(factor[0])).sum()), scale

    def loss(log: np.ndarray) -> float:
        log = np.clip(log, -7, 7)
        return solve(log)[0] + 0.5 * float(np.sum(((log - START) / PRIOR_SD) ** 2))

    found = minimize(loss, START, method="Nelder-Mead", options={"maxfev": STEPS})
    log = np.clip(found.x, -7, 7)
    return Process(shape, rows, cols, y, level, spread, log, solve(log)[1])
