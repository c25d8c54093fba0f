"""Draw the effects of one side and their variance together, the variance with the effects integrated out.

Given everything else, the residuals of row i without its effect are r_i + noise, so with n_i = sum of w and
s_i = sum of w (e + r_i), precision p = beta/eta2 and r_i ~ N(0, tau2):

    log p(tau2 | y) = sum_i -log(1 + p n_i tau2)/2 + tau2 (p s_i)^2 / (1 + p n_i tau2) / 2  +  log IG(tau2)

tau2 given r instead would creep where there are few observations a row: small effects make a small variance, which
makes small effects.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 1.0  # width of the slice sampler's first bracket, in log tau2
MOST_STEPS = 30


@njit(cache=True, nogil=True, fastmath=True)
def log_marginal(log_tau2: float, n: Array, s: Array, precision: float, shape: float, scale: float) -> float:
    """log p(log tau2 | y), up to a constant; n and s as above."""
    tau2 = math.exp(log_tau2)
    total = -shape * log_tau2 - scale / tau2
    for i in range(n.size):
        if n[i] > 0.0:
            d = 1.0 + precision * n[i] * tau2
            ps = precision * s[i]
            total += 0.5 * (tau2 * ps * ps / d - math.log(d))
    return total


@njit(cache=True, nogil=True)
def draw_variance(
    tau2: float, n: Array, s: Array, precision: float, shape: float, scale: float, rng: np.random.Generator
) -> float:
    """One slice-sampling step (Neal 2003: stepping out, shrinking) on log tau2."""
    x = math.log(tau2)
    height = log_marginal(x, n, s, precision, shape, scale) - rng.standard_exponential()
    low = x - STEP * rng.random()
    high = low + STEP
    # Neal's J and K: a random split of the steps keeps the move reversible where their number is limited.
    down = int(rng.random() * MOST_STEPS)
    up = MOST_STEPS - 1 - down
    while down > 0 and log_marginal(low, n, s, precision, shape, scale) > height:
        low -= STEP
        down -= 1
    while up > 0 and log_marginal(high, n, s, precision, shape, scale) > height:
        high += STEP
        up -= 1
    while True:
        new = low + (high - low) * rng.random()
        if log_marginal(new, n, s, precision, shape, scale) >= height:
            return math.exp(new)
        if new < x:
            low = new
        else:
            high = new


@njit(cache=True, nogil=True)
def redraw_effects(
    effect: Array, sums: Array, moved: float, precision: float, shape: float, scale: float, tau2: float,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw tau2 with the effects integrated out, then the effects in place; return tau2.

    `sums` holds sum w and sum w e for each row, with residuals from before mu moved by `moved`.
    """
    m = effect.size
    n, s = np.empty(m), np.empty(m)
    for i in range(m):
        n[i] = sums[i, 0]
        s[i] = sums[i, 1] + n[i] * (effect[i] - moved)
    tau2 = draw_variance(tau2, n, s, precision, shape, scale, rng)
    for i in range(m):
        p = 1.0 / tau2 + precision * n[i]
        effect[i] = precision * s[i] / p + rng.standard_normal() / math.sqrt(p)
    return tau2
