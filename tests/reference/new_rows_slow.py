"""New rows given the columns, the slow way: conditioning of m2-dimensional Gaussians, one row and draw at a time."""

from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal

from maxentry.model.priors import HalfCauchy
from maxentry.posterior.coefficients import draw_coefficients


def prior(posterior, c, s):
    """Mean (m2,) and covariance (m2, m2) of a new row, for draw s of chain c."""
    draws, fit, m1, R = posterior.draws, posterior.fit, posterior.shape[0], posterior.chains[c].rank
    A, B = draws.left[c, s, :, :R].astype(float), draws.right[c, s, :, :R].astype(float)
    C = np.zeros((R, R))
    if R:
        C = np.linalg.inv((m1 - R) * np.linalg.inv(A.T @ A) + B.T @ B / draws.sigma2[c, s])
    cov = B @ C @ B.T
    if fit.effects:
        m, tau2 = effects_of_rows(
            A, draws.row[c, s].astype(float), fit.priors_of(posterior.shape)(R).rows, fit.units.scale**2
        )
        F = B + m  # x = (b_j + m)'a + e
        cov = F @ C @ F.T + tau2
    return draws.mu[c, s] + draws.col[c, s].astype(float), cov


def mode(law, unit2, s, n):
    """The variance of n numbers of sum of squares s; of a half-Cauchy law at the mean of its scale given s / n."""
    if isinstance(law, HalfCauchy):
        return (1 / (1 / (law.width**2 * unit2) + n / s) + s / 2) / (1 / 2 + n / 2)
    return (law.scale * unit2 + s / 2) / (law.shape + n / 2)


def effects_of_rows(A, r, law, unit2):
    """How effects r follow the factors A: the slope, and the variance around it for another row."""
    (m1, R), p = A.shape, np.zeros(len(r))
    k, m = 0.0, np.zeros(R)
    if R:
        m = np.linalg.lstsq(A, r, rcond=None)[0]
        p = A @ m
        own = mode(law, unit2, np.sum((r - p) ** 2), m1 - R)
        both = mode(law, unit2 * m1 / R, np.sum(p**2), R)
        k = max(0.0, (both - own) / both)
    tau2 = mode(law, unit2, np.sum((r - k * p) ** 2), m1)
    return k * m, tau2 * (1 + k * R / m1)


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


def linked_laws(posterior, F, Y, new_features):
    """The laws of new rows with features in every draw, F (m1, p) those of the fit; coefficients as they are drawn."""
    centre, scale = F.mean(0), F.std(0) * np.sqrt(F.shape[1])
    f = (new_features - centre) / scale
    draws, found = posterior.draws, []
    drawn = draw_coefficients(draws, posterior.chains, posterior.fit, posterior.observations, 0)
    for (c, s), (Q, w_0, W) in zip(np.ndindex(draws.mu.shape), drawn, strict=True):
        R = posterior.chains[c].rank
        x = np.column_stack([draws.right[c, s, :, :R], np.ones(Y.shape[1])])
        cov, noise = x @ np.linalg.inv(Q) @ x.T, np.full(Y.shape[1], draws.eta2[c, s])
        means = draws.mu[c, s] + draws.col[c, s] + (w_0 + f @ W) @ x.T
        found.append([conditioned(mean, cov, y, noise) for mean, y in zip(means, Y, strict=True)])
    return found
