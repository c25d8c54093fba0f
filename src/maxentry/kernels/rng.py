"""Random draws in compiled loops: normal, inverse gamma, grid, Wishart (Bartlett 1933), slices of variances."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array
from maxentry.kernels.jit_cache import inner


@njit(cache=True, nogil=True)
def fill_normal(out: Array, rng: np.random.Generator) -> None:
    """Fill an array of any shape with independent N(0, 1)."""
    flat = out.reshape(-1)
    for i in range(flat.size):
        flat[i] = rng.standard_normal()


@inner
def draw_inverse_gamma(a: float, b: float, rng: np.random.Generator) -> float:
    """Draw x ~ IG(a, b), density proportional to x^(-a-1) exp(-b/x)."""
    return b / rng.standard_gamma(a)


@inner
def draw_from_grid(grid: Array, logp: Array, rng: np.random.Generator) -> float:
    """Draw one of the values of a grid; logp, up to a constant, is overwritten."""
    top, total = logp[0], 0.0
    for k in range(1, grid.size):
        top = max(top, logp[k])
    for k in range(grid.size):
        logp[k] = math.exp(logp[k] - top)
        total += logp[k]
    u = rng.random() * total
    for k in range(grid.size):
        u -= logp[k]
        if u <= 0.0:
            return float(grid[k])
    return float(grid[-1])


@inner
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


@inner
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


@inner
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


@inner
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
MAX_COUNT = 4096  # observations of a row up to which rows of equal count are grouped


@inner
def group_equal_counts(n: Array, s: Array) -> tuple[Array, Array, Array]:
    """Group rows of equal n > 0: return n, the number of rows and the sum of s^2 of each group."""
    m, top = n.size, 0
    for i in range(m):
        k = int(n[i]) if n[i] <= MAX_COUNT else -1
        if k != n[i]:
            return n, (n > 0.0).astype(np.float64), s * s  # Student weights or long rows: no two alike
        top = max(top, k)
    rows, s2 = np.zeros(top + 1), np.zeros(top + 1)
    for i in range(m):
        rows[int(n[i])] += 1.0
        s2[int(n[i])] += s[i] * s[i]
    groups = 0
    counts = np.empty(top + 1)
    for k in range(1, top + 1):
        if rows[k] > 0.0:
            counts[groups], rows[groups], s2[groups] = k, rows[k], s2[k]
            groups += 1
    return counts[:groups], rows[:groups], s2[:groups]


@inner
def log_prior(log_variance: float, law: tuple[float, float, float]) -> float:
    """The log density of a log variance: inverse gamma of shape and scale, or of a half-Cauchy root.

    law: shape, scale and, of a half-Cauchy root, its squared width, or infinity.
    """
    shape, scale, width2 = law
    variance = math.exp(log_variance)
    return -shape * log_variance - scale / variance - math.log1p(variance / width2)


@inner
def log_marginal(
    log_tau2: float, n: Array, rows: Array, s2: Array, precision: float, law: tuple[float, float, float],
    others: Array,
) -> float:  # fmt: skip
    """log p(log tau2 | y) up to a constant; a group of `rows` rows has the same n, and s2 is the sum of their s^2.

    `others` are the other eigenvalues of L where 1/tau2 is one, and empty otherwise (`redraw_strength`).
    """
    tau2 = math.exp(log_tau2)
    total: float = log_prior(log_tau2, law)
    weight = 1.0
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


@inner
def draw_variance(
    tau2: float, n: Array, rows: Array, s2: Array, precision: float, law: tuple[float, float, float], others: Array,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """One slice step on log tau2."""
    x = math.log(tau2)
    height = log_marginal(x, n, rows, s2, precision, law, others)
    s = begin_slice(x, height, FIRST_STEP, -np.inf, np.inf, rng)
    while not move_slice(s, log_marginal(s[POINT], n, rows, s2, precision, law, others), rng):
        pass
    return math.exp(s[POINT])


# Standard errors, and deviations of entries


class Errors(NamedTuple):
    """Known errors of the measurements, and of entries that deviate from the pattern, in classes of equal variance.

    A measurement has variance v = omega2 + error. Its error is `var`, or nu2 / `times`: it is the mean of that many
    with the noise nu2. eta2 = omega2 + nu2 has the prior, and the share nu2 / eta2 is uniform, or nu2 is known.
    """

    group: NDArray[np.int32]  # (N,) the class of each measurement, in the order of the right side
    times: Array  # (C,) 0: `var` holds
    var: Array  # (C,)
    n: Array  # (C,) measurements in the class
    squares: Array  # (C,) sums of their squared residuals, to work in
    mean: Array  # (N,) to work in
    prior: Array  # (2,) shape and scale of the inverse gamma of eta2
    noise: Array  # (3,) nu2 (negative: it is learned), degrees of freedom and sum of squares within entries


LOG_OMEGA2, LOG_ETA2, SHARE = 0, 1, 2  # what a slice step moves; the others are fixed


@inner
def error_variance(c: int, errors: Errors, omega2: float, nu2: float) -> float:
    """Return the variance of the measurements of a class around the pattern."""
    return float(omega2 + (nu2 / errors.times[c] if errors.times[c] > 0.0 else errors.var[c]))


@inner
def log_error_density(x: float, which: int, eta2: float, share: float, errors: Errors, beta: float) -> float:
    """log p(x) given the residuals, up to a constant: of log omega2, log eta2 or the share of the noise in it."""
    if which == LOG_OMEGA2:
        omega2, nu2 = math.exp(x), errors.noise[0]
        eta2 = omega2 + nu2
    else:
        eta2 = math.exp(x) if which == LOG_ETA2 else eta2
        nu2 = (x if which == SHARE else share) * eta2
        omega2 = eta2 - nu2
    total, product = 0.0, 1.0
    for c in range(errors.n.size):
        v = error_variance(c, errors, omega2, nu2)
        total += errors.squares[c] / v
        if errors.n[c] > 1.0:
            total += errors.n[c] * math.log(v)
        else:
            product *= v  # one logarithm for many
            if not 1e-150 < product < 1e150:
                total += math.log(product)
                product = 1.0
    total += math.log(product)
    if errors.noise[1] > 0.0:
        total += errors.noise[1] * math.log(nu2) + errors.noise[2] / nu2
    prior = -(errors.prior[0] + 1.0) * math.log(eta2) - errors.prior[1] / eta2
    return float(-0.5 * beta * total + prior + (x if which != SHARE else 0.0))


@inner
def slice_errors(
    x: float, which: int, eta2: float, share: float, errors: Errors, beta: float, rng: np.random.Generator
) -> float:
    """One slice step on log omega2, log eta2 or the share, whose bracket is all of (0, 1)."""
    step, least, most = (1e6, 0.0, 1.0) if which == SHARE else (0.5, -np.inf, np.inf)
    s = begin_slice(x, log_error_density(x, which, eta2, share, errors, beta), step, least, most, rng)
    while not move_slice(s, log_error_density(s[POINT], which, eta2, share, errors, beta), rng):
        pass
    return float(s[POINT])


@inner
def redraw_errors(
    errors: Errors, values: Array, beta: float, eta2: float, share: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Draw the noise beside known errors, and the deviation of entries beside the noise; return eta2 and the share."""
    for c in range(errors.n.size):
        errors.squares[c] = 0.0
    for n in range(values.size):
        e = values[n] - errors.mean[n]
        errors.squares[errors.group[n]] += e * e
    nu2 = errors.noise[0]
    if nu2 >= 0.0:
        x = math.log(max(eta2 - nu2, 1e-6 * eta2))
        omega2 = math.exp(slice_errors(x, LOG_OMEGA2, eta2, share, errors, beta, rng))
        return omega2 + nu2, nu2 / (omega2 + nu2)
    eta2 = math.exp(slice_errors(math.log(eta2), LOG_ETA2, eta2, share, errors, beta, rng))
    return eta2, slice_errors(share, SHARE, eta2, share, errors, beta, rng)


@njit(cache=True, nogil=True)
def weigh_errors(
    errors: Errors, eta2: float, share: float, source: NDArray[np.int32], left: Array, right: Array
) -> None:
    """Set the weights eta2 / v of the measurements, on both sides."""
    nu2 = share * eta2
    for n in range(source.size):
        w = eta2 / error_variance(errors.group[n], errors, eta2 - nu2, nu2)
        right[n] = w
        left[source[n]] = w
