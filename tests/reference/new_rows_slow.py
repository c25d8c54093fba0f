"""New rows given the columns, the slow way: conditioning of m2-dimensional Gaussians, one row and draw at a time."""

from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal


def prior(posterior, c, s):
    """Mean (m2,) and covariance (m2, m2) of a new row, for draw s of chain c."""
    draws, fit, m1, R = posterior.draws, posterior.fit, posterior.shape[0], posterior.chains[c].rank
    A, B = draws.left[c, s, :, :R].astype(float), draws.right[c, s, :, :R].astype(float)
    cov = np.zeros((len(B), len(B)))
    if R:
        cov += B @ np.linalg.inv((m1 - R) * np.linalg.inv(A.T @ A) + B.T @ B / draws.sigma2[c, s]) @ B.T
    if fit.effects:
        law, scale, r = fit.priors_of(posterior.shape)(R).rows, fit.units.scale, draws.row[c, s].astype(float)
        cov += (law.scale * scale**2 + np.sum(r**2) / 2) / (law.shape + m1 / 2)
    return draws.mu[c, s] + draws.col[c, s].astype(float), cov


class Law(NamedTuple):
    """A new row given what is observed of it, and the log density of that."""

    mean: np.ndarray
    cov: np.ndarray
    log_density: float


def conditioned(mean, cov, y, noise):
    """The law of a Gaussian given its noisy values y, NaN where there is none; noise (m2,) variances."""
    seen = ~np.isnan(y)
    total = cov[np.ix_(seen, seen)] + np.diag(noise[seen])
    gain = cov[:, seen] @ np.linalg.inv(total)
    density = multivariate_normal(mean[seen], total).logpdf(y[seen]) if seen.any() else 0.0
    return Law(mean + gain @ (y - mean)[seen], cov - gain @ cov[seen], float(density))


def laws(posterior, Y):
    """The law of every new row in every draw."""
    found, spread = [], posterior.noise_law.spread
    for k, (c, s) in enumerate(np.ndindex(posterior.draws.mu.shape)):
        mean, cov = prior(posterior, c, s)
        noise = np.full(Y.shape[1], posterior.draws.eta2[c, s]) * (1.0 if spread is None else spread[k] ** 2)
        found.append([conditioned(mean, cov, y, noise) for y in Y])
    return found
