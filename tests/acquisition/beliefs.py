"""Small beliefs and problems about them, by seed."""

import numpy as np

from maxentry.acquisition import Costs, Limits, Problem
from maxentry.belief import Belief, Entries


def belief(shape, S=9, R=2, seed=0, *, spread=0.5, effects=True, coherent=False, noise=0.1, dtype=float):
    """Draws around one matrix; coherent ones have a few rows and columns far larger than the others."""
    rng = np.random.default_rng(seed)
    m1, m2 = shape
    left = rng.normal(size=(m1, R)) + spread * rng.normal(size=(S, m1, R))
    right = rng.normal(size=(m2, R)) + spread * rng.normal(size=(S, m2, R))
    if coherent:
        left *= np.exp(1.5 * rng.normal(size=(m1, 1)))
        right *= np.exp(1.5 * rng.normal(size=(m2, 1)))
    row, col = 0.3 * rng.normal(size=(S, m1)), 0.3 * rng.normal(size=(S, m2))
    mu = rng.normal(size=S)
    if not effects:
        row, col, mu = 0 * row, 0 * col, 0 * mu
    factors = (x.astype(dtype) for x in (left, right, row, col))
    return Belief(*factors, mu, noise * rng.gamma(5.0, 0.2, size=S))


def entries(shape, n, rng):
    """n entries, perhaps some twice."""
    return Entries.from_lists(rng.integers(shape[0], size=n), rng.integers(shape[1], size=n))


def problem(shape, seed=0, *, mask=True, again=False, costs=True, limits=None, observed=4, pending=2):
    """A problem with a bit of everything."""
    rng = np.random.default_rng(seed)
    m1, m2 = shape
    return Problem(
        shape,
        observed=entries(shape, observed, rng),
        pending=entries(shape, pending, rng),
        mask=rng.random(shape) < 0.8 if mask else None,
        again=again,
        costs=Costs(rng.random(shape), rng.random(m1), rng.random(m2)) if costs else Costs(),
        limits=Limits() if limits is None else limits,
    )
