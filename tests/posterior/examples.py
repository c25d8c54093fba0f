"""Small problems for the tests of the posterior."""

import numpy as np
from scipy import stats

from maxentry import Sampling

SHORT = Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)
MANY = Sampling(chains=32, anneal=60, settle=60, draws=10, thin=4)


def low_rank(shape=(12, 9), rank=2, noise=0.1, missing=0.4, seed=0):
    """The truth (entries of variance one plus effects) and what was measured of it, NaN where missing."""
    rng = np.random.default_rng(seed)
    m1, m2 = shape
    X = rng.normal(size=(m1, rank)) @ rng.normal(size=(rank, m2)) / max(rank, 1) ** 0.5
    X += 2.0 + 0.5 * rng.normal(size=(m1, 1)) + 0.5 * rng.normal(size=m2)
    Y = X + noise * rng.normal(size=shape)
    Y[rng.random(shape) < missing] = np.nan
    return X, Y


def matrices(posterior):
    """Every draw of the matrix, dense: (chain, draw, m1, m2)."""
    belief = posterior.belief
    dense = np.stack([belief.draw(s) for s in range(belief.n_draws)])
    return dense.reshape(*posterior.draws.mu.shape, *posterior.shape)


def equal(one, other):
    """Whether two posteriors have the same draws, bit for bit."""
    pairs = zip(one.draws, other.draws, strict=True)
    return all((a is None and b is None) or np.array_equal(a, b) for a, b in pairs)


def largest_z(per_chain, expected=0.0, other=None):
    """The largest |t| over quantities of the mean over independent chains (chain, ...) against `expected`,
    or against the mean of another set of chains, and the value it exceeds with probability 1/1000 by chance."""
    n = per_chain.shape[0]
    difference, variance, df = per_chain.mean(0) - expected, per_chain.var(0, ddof=1) / n, n - 1
    if other is not None:
        difference = difference - other.mean(0)
        variance = variance + other.var(0, ddof=1) / other.shape[0]
    t = np.abs(difference) / np.sqrt(variance)
    return float(np.max(t)), float(stats.t.isf(0.0005 / t.size, df))
