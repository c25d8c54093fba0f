"""New rows given the columns, the slow way: conditioning of m2-dimensional Gaussians, one row and draw at a time."""

import numpy as np


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


def conditioned(mean, cov, y, noise):
    """Mean and covariance of a Gaussian given its noisy values y, NaN where there is none; noise (m2,) variances."""
    seen = ~np.isnan(y)
    gain = cov[:, seen] @ np.linalg.inv(cov[np.ix_(seen, seen)] + np.diag(noise[seen]))
    return mean + gain @ (y - mean)[seen], cov - gain @ cov[seen]


def student(mean, cov, y, eta2, nu):
    """The same with Student noise: weights and values in turn, each at its mean-field law, until they settle."""
    seen, w = ~np.isnan(y), np.ones(y.size)
    while True:
        m, C = conditioned(mean, cov, y, eta2 / w)
        new = np.where(seen, (nu + 1) / (nu + ((y - m) ** 2 + np.diag(C)) / eta2), 1.0)
        if np.abs(new - w).max() < 1e-4:
            return m, C
        w = new


def fold_in(posterior, Y):
    """Mean and sd of every entry of the new rows."""
    laws = []
    for c, s in np.ndindex(posterior.draws.mu.shape):
        mean, cov = prior(posterior, c, s)
        eta2 = posterior.draws.eta2[c, s]
        for y in Y:
            if posterior.draws.nu is None:
                m, C = conditioned(mean, cov, y, np.full(y.size, eta2))
            else:
                m, C = student(mean, cov, y, eta2, posterior.draws.nu[c, s])
            laws.append((m, np.diag(C)))
    means, variances = (np.array(part).reshape(-1, *Y.shape) for part in zip(*laws, strict=True))
    return means.mean(0), np.sqrt(variances.mean(0) + means.var(0, ddof=1))
