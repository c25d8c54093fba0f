"""Random draws inside compiled loops: normal, inverse gamma, from a grid, Wishart (Bartlett 1933)."""

import math

import numpy as np
from numba import njit

from maxentry._types import Array


@njit(cache=True, nogil=True)
def fill_normal(out: Array, rng: np.random.Generator) -> None:
    """Fill an array of any shape with independent N(0, 1)."""
    flat = out.reshape(-1)
    for i in range(flat.size):
        flat[i] = rng.standard_normal()


@njit(cache=True, nogil=True)
def draw_inverse_gamma(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw x ~ IG(a, b), density proportional to x^(-a-1) exp(-b/x)."""
    return b / rng.standard_gamma(a)


@njit(cache=True, nogil=True)
def draw_from_grid(grid: Array, logp: Array, rng: np.random.Generator) -> float:
    """Draw one of the values of a grid; logp, up to a constant, is overwritten."""
    top = logp.max()
    total = 0.0
    for k in range(grid.size):
        logp[k] = math.exp(logp[k] - top)
        total += logp[k]
    u = rng.random() * total
    for k in range(grid.size):
        u -= logp[k]
        if u <= 0.0:
            return float(grid[k])
    return float(grid[-1])


@njit(cache=True, nogil=True)
def fill_bartlett(df: float, T: Array, rng: np.random.Generator) -> None:
    """Fill T with the lower-triangular factor of T T' ~ Wishart(df, I), df > R - 1 real."""
    R = T.shape[0]
    for k in range(R):
        for j in range(k):
            T[k, j] = rng.standard_normal()
        T[k, k] = math.sqrt(2.0 * rng.standard_gamma(0.5 * (df - k)))
        for j in range(k + 1, R):
            T[k, j] = 0.0
