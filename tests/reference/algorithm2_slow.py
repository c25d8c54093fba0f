"""Algorithm 2 in plain NumPy, one obvious line per step, with each of the paper's slips as a switch.

It shares no draw with the compiled sweep but the rejection sampler of the von Mises-Fisher law.
"""

import numpy as np
from tests.reference import algorithm2_laws as mf

from maxentry.posterior.algorithm2 import Algorithm2State


def x_of(state):
    return state.U * state.D @ state.V.T


def quadrant_pass(d, mu, delta2, rng):
    """Each d_k from its conditional, by inverting its distribution function on a fine grid."""
    d, sd = d.copy(), np.sqrt(delta2)
    for k in range(d.size):
        x = np.linspace(max(0.0, mu[k] - 8 * sd), max(0.0, mu[k]) + 8 * sd, 2000)
        density = np.exp(-0.5 * ((x - mu[k]) ** 2 - (max(mu[k], 0) - mu[k]) ** 2) / delta2)
        for other in np.delete(d, k):
            density *= np.abs(x**2 - other**2)
        cdf = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        d[k] = np.interp(rng.random() * cdf[-1], cdf, x)
    return d


def impute_current(state, y, mask, rng):
    Y = x_of(state) + np.sqrt(state.eta2) * rng.standard_normal(y.shape)
    return np.where(mask, y, Y)


def impute_without_core(state, y, mask, rng):
    """As printed: missing Y ~ N(X^P, Sigma^P + eta2 I), with the core M integrated out given U and V."""
    cov = state.sigma2 * np.kron(state.U @ state.U.T, state.V @ state.V.T)
    seen, hidden = np.flatnonzero(mask), np.flatnonzero(~mask)
    gain = np.linalg.solve(
        cov[np.ix_(seen, seen)] + state.eta2 * np.eye(seen.size), cov[np.ix_(seen, hidden)]
    ).T
    mean = gain @ y[mask]
    spread = cov[np.ix_(hidden, hidden)] - gain @ cov[np.ix_(seen, hidden)] + state.eta2 * np.eye(hidden.size)
    Y = y.copy()
    Y[~mask] = mean + np.linalg.cholesky(spread) @ rng.standard_normal(hidden.size)
    return Y


def sweep(state, y, mask, priors, rng, slips=()):
    """One sweep on values y where mask is True; slips is a subset of {1, 2, 3}, numbered as in the docs."""
    (m1, m2), R = y.shape, state.D.size
    previous = x_of(state)
    Y = (impute_without_core if 3 in slips else impute_current)(state, y, mask, rng)
    U = mf.draw_von_mises_fisher(Y @ state.V * state.D / state.eta2, rng)
    V = mf.draw_von_mises_fisher(Y.T @ U * state.D / state.eta2, rng)
    mu = state.sigma2 * np.diagonal(U.T @ Y @ V) / (state.eta2 + state.sigma2)
    D = quadrant_pass(state.D, mu, state.eta2 * state.sigma2 / (state.eta2 + state.sigma2), rng)
    df = R if 1 in slips else R**2
    sigma2 = (priors.signal.scale + (D**2).sum() / 2) / rng.standard_gamma(priors.signal.shape + df / 2)
    X = previous if 2 in slips else U * D @ V.T
    rss = ((Y - X) ** 2).sum()
    eta2 = (priors.noise.scale + rss / 2) / rng.standard_gamma(priors.noise.shape + m1 * m2 / 2)
    return Algorithm2State(U, D, V, float(sigma2), float(eta2))
