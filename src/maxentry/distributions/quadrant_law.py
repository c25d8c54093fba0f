"""The quadrant law QL(mu, delta2), Eq. (ql), of R unordered singular values d_k >= 0.

Its density is proportional to exp(-sum (d_k - mu_k)^2 / (2 delta2)) prod_{k<l} |d_k^2 - d_l^2|.
QL(0, sigma2) is the law of the singular values of an R x R matrix of iid N(0, sigma2), in random order.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, multigammaln

from maxentry.errors import ParameterError
from maxentry.kernels.quadrant_law import slice_step

Array = NDArray[np.float64]


def draw_centred_quadrant(R: int, sigma2: float, rng: np.random.Generator) -> Array:
    """Draw d ~ QL(0, sigma2) exactly, in random order."""
    _check_scale(sigma2)
    if R < 1:
        raise ParameterError(f"the quadrant law needs R >= 1, got {R}")
    M = math.sqrt(sigma2) * rng.standard_normal((R, R))
    return rng.permutation(np.linalg.svd(M, compute_uv=False))


def quadrant_slice_step(d: Array, mu: Array, delta2: float, rng: np.random.Generator) -> Array:
    """Return d after one slice update of each d_k; this leaves QL(mu, delta2) exactly invariant."""
    d, mu = np.array(d, dtype=float), np.asarray(mu, dtype=float)
    _check_scale(delta2)
    if d.ndim != 1 or mu.shape != d.shape:
        raise ParameterError(f"d and mu must be vectors of one length, got shapes {d.shape} and {mu.shape}")
    if (d < 0).any() or np.unique(d).size < d.size:
        raise ParameterError(f"d must be non-negative and distinct, got {d}")
    slice_step(d, mu, delta2, rng)
    return d


def quadrant_log_density(d: Array, mu: Array, delta2: float) -> float:
    """Log density of QL(mu, delta2) at d up to a constant, which is known for mu = 0: `log_normaliser`."""
    d = np.asarray(d, dtype=float)
    if (d < 0).any():
        return -math.inf
    k, j = np.triu_indices(d.size, 1)
    gaps = np.abs(d[k] ** 2 - d[j] ** 2)
    if (gaps == 0).any():
        return -math.inf
    return float(np.log(gaps).sum() - 0.5 * ((d - mu) ** 2).sum() / delta2)


def quadrant_log_normaliser(R: int, sigma2: float) -> float:
    """Log of the constant by which exp(log_density(d, 0, sigma2)) must be divided to integrate to one.

    It is log[ R! Gamma_R(R/2)^2 2^(R^2/2) / (2^R pi^(R^2/2)) ] + (R^2/2) log sigma2, from the Wishart law of
    M'M. The paper prints Z_R (2 pi sigma2)^(R/2), which has the right power of sigma2 for R = 1 only.
    """
    _check_scale(sigma2)
    half = 0.5 * R * R
    constant = (
        gammaln(R + 1) + 2 * multigammaln(0.5 * R, R) + (half - R) * math.log(2) - half * math.log(math.pi)
    )
    return float(constant + half * math.log(sigma2))


def _check_scale(value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(f"the quadrant law's variance must be a positive finite number, got {value!r}")
