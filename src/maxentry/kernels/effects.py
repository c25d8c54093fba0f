"""The effects of one side: free ones, r, and those aligned with X, p = A m; each drawn with its variance.

**Free.** Given everything else, the residuals of row i without its effect are r_i + noise. With n_i the sum of w,
s_i that of w (e + r_i), precision p = beta/eta2 and r_i ~ N(0, tau2), r can be integrated out:

    log p(tau2 | y) = sum_i -log(1 + p n_i tau2)/2 + tau2 (p s_i)^2 / (1 + p n_i tau2) / 2  +  log IG(tau2)

tau2 given r instead would creep where there are few observations a row: small effects make a small variance, which
makes small effects.

**Aligned.** p = A m lies in the column space of A, with independent N(0, s2) coordinates in any orthonormal frame of
it: m ~ N(0, s2 (A'A)^-1), the g-prior of a regression on A.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.gauge import cholesky, solve_lower, solve_upper, weighted_gram
from maxentry.kernels.rng import draw_inverse_gamma

Array = NDArray[np.float64]

STEP = 1.0  # width of the slice sampler's first bracket, in log tau2
MAX_STEPS = 30
MAX_COUNT = 4096  # observations of a row up to which rows of equal count are grouped


@njit(cache=True, nogil=True)
def log_marginal(
    log_tau2: float, n: Array, rows: Array, s2: Array, precision: float, shape: float, scale: float
) -> float:
    """log p(log tau2 | y) up to a constant; a group of `rows` rows has the same n, and s2 is the sum of their s^2."""
    tau2 = math.exp(log_tau2)
    total = -shape * log_tau2 - scale / tau2
    for k in range(n.size):
        d = 1.0 + precision * n[k] * tau2
        total += 0.5 * (tau2 * precision * precision * s2[k] / d - rows[k] * math.log(d))
    return total


@njit(cache=True, nogil=True)
def draw_variance(
    tau2: float, n: Array, rows: Array, s2: Array, precision: float, shape: float, scale: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """One slice-sampling step (Neal 2003: stepping out, shrinking) on log tau2."""
    x = math.log(tau2)
    height = log_marginal(x, n, rows, s2, precision, shape, scale) - rng.standard_exponential()
    low = x - STEP * rng.random()
    high = low + STEP
    # Neal's J and K: a random split of the steps keeps the move reversible where their number is limited.
    down = int(rng.random() * MAX_STEPS)
    up = MAX_STEPS - 1 - down
    while down > 0 and log_marginal(low, n, rows, s2, precision, shape, scale) > height:
        low -= STEP
        down -= 1
    while up > 0 and log_marginal(high, n, rows, s2, precision, shape, scale) > height:
        high += STEP
        up -= 1
    for _ in range(1000):  # a few dozen are enough for numbers; NaN would shrink for ever
        new = low + (high - low) * rng.random()
        if log_marginal(new, n, rows, s2, precision, shape, scale) >= height:
            return math.exp(new)
        if new < x:
            low = new
        else:
            high = new
    return tau2


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def redraw_effects(
    effect: Array, sums: Array, mu_shift: float, precision: float, shape: float, scale: float, tau2: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw tau2 with the effects integrated out, then the effects in place; return tau2.

    `sums` holds sum w and sum w e for each row, with residuals from before mu changed by `mu_shift`.
    """
    m = effect.size
    n, s = np.empty(m), np.empty(m)
    for i in range(m):
        n[i] = sums[i, 0]
        s[i] = sums[i, 1] + n[i] * (effect[i] - mu_shift)
    counts, rows, s2 = group_equal_counts(n, s)
    tau2 = draw_variance(tau2, counts, rows, s2, precision, shape, scale, rng)
    for i in range(m):
        p = 1.0 / tau2 + precision * n[i]
        effect[i] = precision * s[i] / p + rng.standard_normal() / math.sqrt(p)
    return tau2


@njit(cache=True, nogil=True)
def matvec(A: Array, R: int, m: Array, p: Array) -> None:
    """p <- A m."""
    for i in range(A.shape[0]):
        s = 0.0
        for a in range(R):
            s += A[i, a] * m[a]
        p[i] = s


@njit(cache=True, nogil=True)
def redraw_aligned(
    A: Array, R: int, p: Array, sums: Array, mu_shift: float, precision: float, shape: float, scale: float, s2: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw m | s2, y (a regression of the residuals on A) and p = A m in place, then s2 | p; return s2.

    Row i weighs 1/s2 + precision n_i, of its prior and of its residuals. `sums` as in `redraw_effects`; its residuals
    are kept in step with p. A is padded with zeros to a multiple of eight columns.
    """
    H, m = np.empty((R, R)), np.empty(R)
    old, w, t = p.copy(), np.empty(p.size), np.empty(p.size)
    for i in range(p.size):
        w[i] = 1.0 / s2 + precision * sums[i, 0]
        t[i] = precision * (sums[i, 1] + sums[i, 0] * (old[i] - mu_shift)) / w[i]
    weighted_gram(A, R, w, t, H, m)
    for a in range(R):
        H[a, a] += 1e-290
    cholesky(H, R)
    solve_lower(H, m, R)
    for a in range(R):
        m[a] += rng.standard_normal()
    solve_upper(H, m, R)
    matvec(A, R, m, p)
    p2 = 0.0
    for i in range(p.size):
        sums[i, 1] += sums[i, 0] * (old[i] - p[i])
        p2 += p[i] * p[i]
    return float(draw_inverse_gamma(shape + 0.5 * R, scale + 0.5 * p2, rng))
