"""Random draws in compiled loops: normal, inverse gamma, grid, Wishart (Bartlett 1933), a variance given row sums."""

import math

import numpy as np
from numba import njit

from maxentry._types import Array

STEP = 1.0  # of the slice sampler: width of the first bracket, in log tau2
MAX_STEPS = 30


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


@njit(cache=True, nogil=True)
def log_marginal(
    log_tau2: float, n: Array, rows: Array, s2: Array, precision: float, shape: float, scale: float, others: Array
) -> float:  # fmt: skip
    """log p(log tau2 | y) up to a constant; a group of `rows` rows has the same n, and s2 is the sum of their s^2.

    `others` are the other eigenvalues of L where 1/tau2 is one, and empty otherwise (`redraw_strength`).
    """
    tau2 = math.exp(log_tau2)
    total, weight = -shape * log_tau2 - scale / tau2, 1.0
    for j in range(others.size):
        total += math.log(abs(1.0 - tau2 * others[j]))
        weight += tau2 * others[j]
    total -= math.log(weight)
    quadratic, product = 0.0, 1.0
    for k in range(n.size):
        d = 1.0 + precision * n[k] * tau2
        quadratic += s2[k] / d
        if rows[k] == 1.0 and d < 1e100:  # one logarithm for many factors
            product *= d
            if product > 1e200:
                total -= 0.5 * math.log(product)
                product = 1.0
        else:
            total -= 0.5 * rows[k] * math.log(d)
    return total + 0.5 * (tau2 * precision * precision * quadratic - math.log(product))


@njit(cache=True, nogil=True)
def draw_variance(
    tau2: float, n: Array, rows: Array, s2: Array, precision: float, shape: float, scale: float, others: Array,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """One slice-sampling step (Neal 2003: stepping out, shrinking) on log tau2."""
    x = math.log(tau2)
    height = log_marginal(x, n, rows, s2, precision, shape, scale, others) - rng.standard_exponential()
    low = x - STEP * rng.random()
    high = low + STEP
    # Neal's J and K: a random split of the steps keeps the move reversible where their number is limited.
    down = int(rng.random() * MAX_STEPS)
    up = MAX_STEPS - 1 - down
    while down > 0 and log_marginal(low, n, rows, s2, precision, shape, scale, others) > height:
        low -= STEP
        down -= 1
    while up > 0 and log_marginal(high, n, rows, s2, precision, shape, scale, others) > height:
        high += STEP
        up -= 1
    for _ in range(1000):  # a few dozen are enough for numbers; NaN would shrink for ever
        new = low + (high - low) * rng.random()
        if log_marginal(new, n, rows, s2, precision, shape, scale, others) >= height:
            return math.exp(new)
        if new < x:
            low = new
        else:
            high = new
    return tau2
