"""The laws of Algorithm 2's conditionals: densities, an exact slow draw, and its compiled steps on copies.

QL(mu, delta2)   R, d_k >= 0     exp(-sum (d_k - mu_k)^2 / (2 delta2)) prod_{k<l} |d_k^2 - d_l^2|, Eq. (ql)
MF(m, R, F)      m x R frame W   etr(F'W), Eq. (mf)
"""

import math

import numpy as np
from scipy.special import gammaln, hyp0f1, ive, multigammaln

from maxentry.kernels import algorithm2 as kernel


def quadrant_slice_step(d, mu, delta2, rng):
    """Return d after one slice update of each d_k; this leaves QL(mu, delta2) exactly invariant."""
    d = np.array(d, dtype=float)
    kernel.slice_step(d, np.asarray(mu, dtype=float), delta2, rng)
    return d


def quadrant_log_density(d, mu, delta2):
    """Log density of QL(mu, delta2) at d up to a constant, which is known for mu = 0: `quadrant_log_normaliser`."""
    d = np.asarray(d, dtype=float)
    if (d < 0).any():
        return -math.inf
    k, j = np.triu_indices(d.size, 1)
    gaps = np.abs(d[k] ** 2 - d[j] ** 2)
    if (gaps == 0).any():
        return -math.inf
    return float(np.log(gaps).sum() - 0.5 * ((d - mu) ** 2).sum() / delta2)


def quadrant_log_normaliser(R, sigma2):
    """Log of the constant by which exp(quadrant_log_density(d, 0, sigma2)) must be divided to integrate to one.

    It is log[ R! Gamma_R(R/2)^2 2^(R^2/2) / (2^R pi^(R^2/2)) ] + (R^2/2) log sigma2, from the Wishart law of
    M'M. The paper prints Z_R (2 pi sigma2)^(R/2), which has the right power of sigma2 for R = 1 only.
    """
    half = 0.5 * R * R
    constant = (
        gammaln(R + 1) + 2 * multigammaln(0.5 * R, R) + (half - R) * math.log(2) - half * math.log(math.pi)
    )
    return float(constant + half * math.log(sigma2))


def von_mises_fisher_gibbs_step(W, F, rng):
    """Return the frame after one Gibbs pass from W; the pass leaves MF(m, R, F) exactly invariant."""
    axes, H = np.array(W.T, order="C", dtype=float), np.array(F.T, order="C", dtype=float)
    kernel.gibbs_pass(axes, H, rng)
    return axes.T


def draw_von_mises_fisher(F, rng, max_tries=100_000):
    """Draw W ~ MF(m, R, F) by Hoff's (2009) rejection sampler.

    Columns are proposed one by one, each from its vector law in the complement of those before it. At high
    concentration about one proposal in prod_{k<l} sqrt(1 + s_l/s_k) is accepted, with s_1 >= s_2 >= ...
    the singular values of F: exact at any concentration, but only for a small R.
    """
    m, R = F.shape
    left, s, right = np.linalg.svd(F, full_matrices=False)
    H = np.ascontiguousarray((left * s).T)
    W = np.empty((R, m))
    ceiling = [_log_normaliser(s[j], m - j) for j in range(R)]
    for _ in range(max_tries):
        log_ratio = 0.0
        for j in range(R):
            kappa = kernel.redraw_axis(W, j + 1, j, H[j], rng)
            log_ratio += _log_normaliser(kappa, m - j) - ceiling[j]
        if log_ratio >= -rng.standard_exponential():
            return W.T @ right
    raise RuntimeError(f"no draw of MF({m}, {R}, F) was accepted in {max_tries} tries")


def _log_normaliser(kappa, q):
    """Log of the mean of exp(kappa u_1) over u uniform on the unit sphere of R^q, 0F1(; q/2; kappa^2/4)."""
    nu = 0.5 * q - 1.0
    bessel = float(ive(nu, kappa))
    if kappa > 0.0 and 0.0 < bessel < math.inf:
        return math.log(bessel) + kappa - nu * math.log(0.5 * kappa) + float(gammaln(nu + 1.0))
    return math.log(float(hyp0f1(0.5 * q, 0.25 * kappa * kappa)))
