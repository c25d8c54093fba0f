"""Random draws in compiled loops: normal, inverse gamma, grid, Wishart (Bartlett 1933), a variance given row sums."""

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


# Slice sampling (Neal 2003: stepping out, shrinking). The caller evaluates the log density, so that this stands once:
#     s = begin_slice(x, log_density(x), step, least, most, rng)
#     while not move_slice(s, log_density(s[POINT]), rng):
#         pass
# Then s[POINT] is the new point.

POINT, START, HEIGHT, LOW, HIGH, STEP, DOWN, UP, LEAST, MOST, STAGE, TRIES = range(12)
STEPS = 30  # of a bracket
MOST_TRIES = 1000  # numbers need a few dozen; NaN would shrink for ever


@njit(cache=True, nogil=True)
def begin_slice(
    x: float, log_density: float, step: float, least: float, most: float, rng: np.random.Generator
) -> Array:
    """Return a slice through the density at x, which is zero outside (least, most), and the first point to evaluate."""
    s = np.zeros(12)
    s[START], s[HEIGHT], s[STEP] = x, log_density - rng.standard_exponential(), step
    s[LOW], s[LEAST], s[MOST] = x - step * rng.random(), least, most
    s[HIGH] = s[LOW] + step
    # Neal's J and K: a random split of the steps keeps the move reversible where their number is limited.
    s[DOWN] = math.floor(rng.random() * STEPS)
    s[UP] = STEPS - 1 - s[DOWN]
    _next_point(s, rng)
    return s


@njit(cache=True, nogil=True)
def move_slice(s: Array, log_density: float, rng: np.random.Generator) -> bool:
    """Take the log density at s[POINT]. Return whether that is the new point; if not, s[POINT] is to be evaluated."""
    if s[STAGE] == 0.0:
        if log_density > s[HEIGHT]:
            s[LOW] -= s[STEP]
            s[DOWN] -= 1.0
        else:
            s[STAGE] = 1.0
    elif s[STAGE] == 1.0:
        if log_density > s[HEIGHT]:
            s[HIGH] += s[STEP]
            s[UP] -= 1.0
        else:
            s[STAGE] = 2.0
    else:
        if log_density >= s[HEIGHT]:
            return True
        s[TRIES] += 1.0
        if s[TRIES] >= MOST_TRIES:
            s[POINT] = s[START]
            return True
        s[LOW if s[POINT] < s[START] else HIGH] = s[POINT]
    _next_point(s, rng)
    return False


@njit(cache=True, nogil=True)
def _next_point(s: Array, rng: np.random.Generator) -> None:
    """Set s[POINT]: an end of the bracket while it may grow, then a point inside."""
    if s[STAGE] == 0.0:
        if s[DOWN] > 0.0 and s[LOW] > s[LEAST]:
            s[POINT] = s[LOW]
            return
        s[STAGE] = 1.0
    if s[STAGE] == 1.0:
        if s[UP] > 0.0 and s[HIGH] < s[MOST]:
            s[POINT] = s[HIGH]
            return
        s[STAGE] = 2.0
    s[LOW], s[HIGH] = max(s[LOW], s[LEAST]), min(s[HIGH], s[MOST])
    s[POINT] = s[LOW] + (s[HIGH] - s[LOW]) * rng.random()


# The variance of effects

FIRST_STEP = 1.0  # width of the first bracket, in log tau2


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
    """One slice step on log tau2."""
    x = math.log(tau2)
    height = log_marginal(x, n, rows, s2, precision, shape, scale, others)
    s = begin_slice(x, height, FIRST_STEP, -np.inf, np.inf, rng)
    while not move_slice(s, log_marginal(s[POINT], n, rows, s2, precision, shape, scale, others), rng):
        pass
    return math.exp(s[POINT])
