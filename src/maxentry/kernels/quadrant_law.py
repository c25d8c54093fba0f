"""A slice step for the quadrant law QL(mu, delta2), Eq. (ql)."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def log_conditional(x: float, k: int, d: Array, mu: Array, delta2: float) -> float:
    """Log density of d_k = x given the others, up to a constant; -inf below zero."""
    if x < 0.0:
        return -math.inf
    gaps = 1.0
    for j in range(d.size):
        if j != k:
            gaps *= abs(x * x - d[j] * d[j]) / delta2
    if gaps == 0.0:
        return -math.inf
    log_density: float = math.log(gaps) - 0.5 * (x - mu[k]) ** 2 / delta2
    return log_density


@njit(cache=True, nogil=True)
def slice_step(d: Array, mu: Array, delta2: float, rng: np.random.Generator) -> None:
    """Update each d_k by slice sampling with stepping out and shrinkage (Neal 2003), in place.

    Each update leaves the conditional of d_k exactly invariant, so the pass leaves QL(mu, delta2) invariant.
    """
    width = 3.0 * math.sqrt(delta2)
    for k in range(d.size):
        here = log_conditional(d[k], k, d, mu, delta2)
        if here == -math.inf:  # d_k ties with another: a point of density zero, left alone
            continue
        level = here - rng.standard_exponential()
        low = d[k] - width * rng.random()
        high = low + width
        while log_conditional(low, k, d, mu, delta2) > level:
            low -= width
        while log_conditional(high, k, d, mu, delta2) > level:
            high += width
        while True:
            x = low + (high - low) * rng.random()
            if log_conditional(x, k, d, mu, delta2) > level:
                d[k] = x
                break
            if x < d[k]:
                low = x
            else:
                high = x
