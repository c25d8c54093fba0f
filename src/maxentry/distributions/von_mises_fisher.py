"""The matrix von Mises-Fisher law MF(m, R, F) on V(R, m), Eq. (mf): density proportional to etr(F'W)."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hyp0f1, ive

from maxentry.errors import ParameterError
from maxentry.kernels import von_mises_fisher as kernel

Array = NDArray[np.float64]


def von_mises_fisher_log_density(W: Array, F: Array) -> float:
    """tr(F'W): the log density at the frame W, up to the constant log 0F1(; m/2; F'F/4)."""
    return float(np.vdot(F, W))


def draw_von_mises_fisher(F: Array, rng: np.random.Generator, max_tries: int = 100_000) -> Array:
    """Draw W ~ MF(m, R, F) by Hoff's (2009) rejection sampler.

    Columns are proposed one by one, each from its vector law in the complement of those before it. At high
    concentration about one proposal in prod_{k<l} sqrt(1 + s_l/s_k) is accepted, with s_1 >= s_2 >= ...
    the singular values of F: exact at any concentration, but only for a small R.
    """
    F = _check_von_mises_fisher(F)
    m, R = F.shape
    left, s, right = np.linalg.svd(F, full_matrices=False)
    H = np.ascontiguousarray((left * s).T)
    W = np.empty((R, m))
    ceiling = [_log_total_mass(s[j], m - j) for j in range(R)]
    for _ in range(max_tries):
        log_ratio = 0.0
        for j in range(R):
            kappa = kernel.redraw_axis(W, j + 1, j, H[j], rng)
            log_ratio += _log_total_mass(kappa, m - j) - ceiling[j]
        if log_ratio >= -rng.standard_exponential():
            frame: Array = W.T @ right
            return frame
    raise ParameterError(
        f"no draw of MF({m}, {R}, F) was accepted in {max_tries} tries; use column_gibbs_step for this F"
    )


def von_mises_fisher_gibbs_step(W: Array, F: Array, rng: np.random.Generator) -> Array:
    """Return the frame after one Gibbs pass from W; the pass leaves MF(m, R, F) exactly invariant.

    1. Rotate W and F by the right singular vectors of F (Hoff 2009).
    2. Redraw each column from its vector von Mises-Fisher law in the complement of the other columns (Hoff
       2009; Wood 1994 for the vector law).
    3. Turn each pair of columns in its own plane, by an angle drawn from its von Mises conditional. This is
       not in Hoff: at high concentration his columns hardly turn inside their common span.
    4. Rotate back.
    """
    F = _check_von_mises_fisher(F)
    if W.shape != F.shape:
        raise ParameterError(f"the frame W must have the shape of F, {F.shape}, got {W.shape}")
    axes, H = np.array(W.T, order="C", dtype=float), np.array(F.T, order="C")
    kernel.gibbs(axes, H, rng)
    return axes.T


def _log_total_mass(kappa: float, q: int) -> float:
    """Log of the mean of exp(kappa u_1) over u uniform on the unit sphere of R^q, 0F1(; q/2; kappa^2/4)."""
    nu = 0.5 * q - 1.0
    bessel = float(ive(nu, kappa))
    if kappa > 0.0 and 0.0 < bessel < math.inf:
        return math.log(bessel) + kappa - nu * math.log(0.5 * kappa) + float(gammaln(nu + 1.0))
    return math.log(float(hyp0f1(0.5 * q, 0.25 * kappa * kappa)))


def _check_von_mises_fisher(F: Array) -> Array:
    F = np.asarray(F, dtype=float)
    if F.ndim != 2 or not 1 <= F.shape[1] <= F.shape[0]:
        raise ParameterError(f"F must be an m x R matrix with 1 <= R <= m, got shape {F.shape}")
    if not np.isfinite(F).all():
        raise ParameterError("F must be finite, got a matrix with NaN or inf in it")
    return F
