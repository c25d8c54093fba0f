"""The laws of the model: how to draw from them, and their densities.

    IG(shape, scale)     x > 0            density proportional to x^(-shape-1) exp(-scale/x)
    Wishart(df, scale)   R x R, df real   |S|^((df-R-1)/2) exp(-tr(scale^-1 S)/2)
    QL(mu, delta2)       R, d_k >= 0      exp(-sum (d_k - mu_k)^2 / (2 delta2)) prod_{k<l} |d_k^2 - d_l^2|, Eq. (ql)
    MF(m, R, F)          m x R frame W    etr(F'W), Eq. (mf)

QL is the paper's quadrant law: QL(0, sigma2) is the law of the singular values of an R x R matrix of iid N(0, sigma2),
in random order. MF is the matrix von Mises-Fisher law on the Stiefel manifold V(R, m), the m x R matrices with
orthonormal columns (R-frames in R^m).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, hyp0f1, ive, multigammaln

from maxentry.errors import ParameterError
from maxentry.kernels import algorithm2 as kernel
from maxentry.kernels.rng import fill_wishart

Array = NDArray[np.float64]


def draw_inverse_gamma(
    shape: float, scale: float, rng: np.random.Generator, size: int | tuple[int, ...] = ()
) -> Array:
    """Draw an array of the given size from IG(shape, scale), whose mean is scale/(shape - 1)."""
    _check_inverse_gamma(shape, scale)
    return np.asarray(scale / rng.standard_gamma(shape, size))


def inverse_gamma_log_density(x: float, shape: float, scale: float) -> float:
    """Log density of IG(shape, scale) at x."""
    _check_inverse_gamma(shape, scale)
    if x <= 0:
        return -math.inf
    return float(shape * math.log(scale) - gammaln(shape) - (shape + 1) * math.log(x) - scale / x)


def _check_inverse_gamma(shape: float, scale: float) -> None:
    for name, value in (("shape", shape), ("scale", scale)):
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f"an inverse gamma needs a positive finite {name}, got {value!r}")


def draw_wishart(df: float, scale: Array, rng: np.random.Generator) -> Array:
    """Draw an R x R matrix S ~ Wishart(df, scale), E S = df * scale, by Bartlett's decomposition."""
    scale = np.asarray(scale, dtype=float)
    if scale.ndim != 2 or scale.shape[0] != scale.shape[1]:
        raise ParameterError(f"the scale of a Wishart law must be a square matrix, got shape {scale.shape}")
    R = scale.shape[0]
    if not (math.isfinite(df) and df > R - 1):
        raise ParameterError(f"a Wishart law of {R} x {R} matrices needs df > {R - 1}, got {df!r}")
    try:
        factor = np.linalg.cholesky(scale)
    except np.linalg.LinAlgError:
        raise ParameterError(
            "the scale of a Wishart law must be positive definite, got one that is not"
        ) from None
    S = np.empty((R, R))
    fill_wishart(df, factor, S, rng)
    return S


def uniform_frame(m: int, R: int, rng: np.random.Generator) -> Array:
    """Draw an R-frame from the uniform (Haar) law on V(R, m), which is MF(m, R, 0).

    QR of a Gaussian matrix, with the signs that make the triangular factor's diagonal positive: without
    them the law depends on the QR routine's own choice of signs.
    """
    if not 1 <= R <= m:
        raise ParameterError(f"a frame needs 1 <= R <= m, got m = {m} and R = {R}")
    Q, T = np.linalg.qr(rng.standard_normal((m, R)))
    frame: Array = Q * np.where(np.diagonal(T) < 0, -1.0, 1.0)
    return frame


def draw_quadrant_at_zero(R: int, sigma2: float, rng: np.random.Generator) -> Array:
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
    kernel.slice_step(d, mu, delta2, rng)
    return d


def quadrant_log_density(d: Array, mu: Array, delta2: float) -> float:
    """Log density of QL(mu, delta2) at d up to a constant, which is known for mu = 0: `quadrant_log_normaliser`."""
    d = np.asarray(d, dtype=float)
    if (d < 0).any():
        return -math.inf
    k, j = np.triu_indices(d.size, 1)
    gaps = np.abs(d[k] ** 2 - d[j] ** 2)
    if (gaps == 0).any():
        return -math.inf
    return float(np.log(gaps).sum() - 0.5 * ((d - mu) ** 2).sum() / delta2)


def quadrant_log_normaliser(R: int, sigma2: float) -> float:
    """Log of the constant by which exp(quadrant_log_density(d, 0, sigma2)) must be divided to integrate to one.

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
    ceiling = [_log_normaliser(s[j], m - j) for j in range(R)]
    for _ in range(max_tries):
        log_ratio = 0.0
        for j in range(R):
            kappa = kernel.redraw_axis(W, j + 1, j, H[j], rng)
            log_ratio += _log_normaliser(kappa, m - j) - ceiling[j]
        if log_ratio >= -rng.standard_exponential():
            frame: Array = W.T @ right
            return frame
    raise ParameterError(
        f"no draw of MF({m}, {R}, F) was accepted in {max_tries} tries; use von_mises_fisher_gibbs_step for this F"
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
    kernel.gibbs_pass(axes, H, rng)
    return axes.T


def _log_normaliser(kappa: float, q: int) -> float:
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
