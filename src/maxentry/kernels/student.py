"""Student noise as Gaussian noise with a weight for every observation, and the degrees of freedom on a grid."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def update_weights(
    indptr: Array, index: Array, values: Array, source: Array, left: Array, right: Array, R: int,
    offset_row: Array, offset_col: Array, mu: float, eta2: float, nu: float, beta: float,
    w_row: Array, w_col: Array, nu_grid: Array, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Student noise: w_n | e_n ~ Gamma((nu + beta)/2, rate (nu + beta e_n^2/eta2)/2), then nu on its grid, returned.

    The offsets are the whole row and column effects.
    """
    sum_w, sum_log = 0.0, 0.0
    for j in range(right.shape[0]):
        for n in range(indptr[j], indptr[j + 1]):
            i = index[n]
            e = values[n] - mu - offset_row[i] - offset_col[j]
            for a in range(R):
                e -= left[i, a] * right[j, a]
            w = rng.standard_gamma(0.5 * (nu + beta)) / (0.5 * (nu + beta * e * e / eta2))
            w_col[n] = w
            w_row[source[n]] = w
            sum_w += w
            sum_log += math.log(w)
    logp = np.empty(nu_grid.size)
    for k in range(nu_grid.size):
        h = 0.5 * nu_grid[k]
        logp[k] = values.size * (h * math.log(h) - math.lgamma(h)) + h * (sum_log - sum_w)
    top = logp.max()
    total = 0.0
    for k in range(nu_grid.size):
        logp[k] = math.exp(logp[k] - top)
        total += logp[k]
    u = rng.random() * total
    for k in range(nu_grid.size):
        u -= logp[k]
        if u <= 0.0:
            return float(nu_grid[k])
    return float(nu_grid[-1])
