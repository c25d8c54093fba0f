"""Sweeps of the paper's Algorithm 2 (BayeSMG), corrected: X = U D V' with U, V frames and D singular values.

    U, V        R x m1, R x m2    frames, stored transposed: one axis is a contiguous row
    d           R                 singular values, the diagonal of D
    Y           m1 x m2           the mean of c measurements of each entry, drawn where missing
    mean, count m1 x m2           the entries' measured means, and how many measurements each has
    sigma2      -                 variance of the entries of U'XV
    eta2        -                 variance of the noise of one measurement

First the slice step for D, then the matrix von Mises-Fisher pass for U and V, then the sweep.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array
from maxentry.kernels.rng import draw_inverse_gamma, fill_normal

MAX_TRIES = 100_000  # of a slice or a rejection: numbers need a few dozen; NaN would go on for ever
Counts = NDArray[np.int64]

# The quadrant law QL(mu, delta2), Eq. (ql)


@njit(cache=True, nogil=True)
def log_conditional(x: float, k: int, d: Array, mu: Array, delta2: float) -> float:
    """Log density of d_k = x given the others, up to a constant; -inf below zero."""
    if x < 0.0:
        return -math.inf
    gaps = 1.0
    for j in range(d.size):
        if j != k:
            gaps *= abs(x * x - d[j] * d[j]) / delta2
    if gaps == 0.0:
        return -math.inf
    log_density: float = math.log(gaps) - 0.5 * (x - mu[k]) ** 2 / delta2
    return log_density


@njit(cache=True, nogil=True)
def slice_step(d: Array, mu: Array, delta2: float, rng: np.random.Generator) -> None:
    """Update each d_k by slice sampling with stepping out and shrinkage (Neal 2003), in place.

    Each update leaves the conditional of d_k exactly invariant, so the pass leaves QL(mu, delta2) invariant.
    """
    width = 3.0 * math.sqrt(delta2)
    for k in range(d.size):
        here = log_conditional(d[k], k, d, mu, delta2)
        if here == -math.inf:  # d_k ties with another: a point of density zero
            continue
        level = here - rng.standard_exponential()
        low = d[k] - width * rng.random()
        high = low + width
        for _ in range(MAX_TRIES):
            if not log_conditional(low, k, d, mu, delta2) > level:
                break
            low -= width
        for _ in range(MAX_TRIES):
            if not log_conditional(high, k, d, mu, delta2) > level:
                break
            high += width
        for _ in range(MAX_TRIES):
            x = low + (high - low) * rng.random()
            if log_conditional(x, k, d, mu, delta2) > level:
                d[k] = x
                break
            if x < d[k]:
                low = x
            else:
                high = x


# The matrix von Mises-Fisher law MF(m, R, F), Eq. (mf)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(a: Array, b: Array) -> float:
    """Inner product of two short vectors, without the overhead of BLAS."""
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@njit(cache=True, nogil=True)
def draw_cosine_defect(kappa: float, q: int, rng: np.random.Generator) -> float:
    """Draw s = 1 - cos(angle to the mean direction) of vMF(kappa) on the unit sphere of R^q (Wood 1994).

    The defect rather than the cosine: at kappa = 1e6 the cosine is 1 to within rounding of its square root.
    """
    if q == 1:
        return 0.0 if rng.random() * (1.0 + math.exp(-2.0 * kappa)) < 1.0 else 2.0
    b = (q - 1.0) / (2.0 * kappa + math.sqrt(4.0 * kappa * kappa + (q - 1.0) ** 2))
    s0 = 2.0 * b / (1.0 + b)
    s = s0
    for _ in range(MAX_TRIES):
        z = rng.beta(0.5 * (q - 1.0), 0.5 * (q - 1.0))
        s = 2.0 * b * z / (1.0 - (1.0 - b) * z)
        log_ratio = kappa * (s0 - s) + (q - 1.0) * math.log((s0 + s - s0 * s) / (s0 * (2.0 - s0)))
        if log_ratio >= -rng.standard_exponential():
            return s
    return s


@njit(cache=True, nogil=True)
def project_out(x: Array, W: Array, n: int, skip: int) -> None:
    """Subtract from x its part in the span of rows 0..n-1 of W, less row `skip`; twice, for rounding."""
    for _ in range(2):
        for k in range(n):
            if k != skip:
                c = dot(W[k], x)
                for i in range(x.size):
                    x[i] -= c * W[k, i]


@njit(cache=True, nogil=True)
def redraw_axis(W: Array, n: int, j: int, h: Array, rng: np.random.Generator) -> float:
    """Redraw row j of W from vMF(h) on the unit sphere of the complement of the other rows below n.

    Returns kappa, the length of the part of h in that complement (Hoff 2009, section 3: |N'h|).
    The tangent direction is a projected Gaussian, so no basis N of the complement is formed.
    """
    m = W.shape[1]
    q = m - n + 1
    axis = h.copy()
    project_out(axis, W, n, j)
    kappa = math.sqrt(dot(axis, axis))
    length = kappa
    if kappa <= 1e-14 * math.sqrt(
        dot(h, h)
    ):  # h is in the span of the others: uniform, about an arbitrary axis
        kappa = 0.0
        fill_normal(axis, rng)
        project_out(axis, W, n, j)
        length = math.sqrt(dot(axis, axis))
    for i in range(m):
        axis[i] /= length
    s = draw_cosine_defect(kappa, q, rng)
    W[j] = (1.0 - s) * axis
    if q > 1:
        tangent = np.empty(m)
        fill_normal(tangent, rng)
        for _ in range(2):
            c = dot(axis, tangent)
            for i in range(m):
                tangent[i] -= c * axis[i]
            project_out(tangent, W, n, j)
        scale = math.sqrt(s * (2.0 - s) / dot(tangent, tangent))
        for i in range(m):
            W[j, i] += scale * tangent[i]
    return kappa


@njit(cache=True, nogil=True)
def rotate_rows(A: Array, k: int, j: int, c: float, s: float) -> None:
    """Rotate rows k and j of A: (c a_k + s a_j, -s a_k + c a_j)."""
    for i in range(A.shape[1]):
        a, b = A[k, i], A[j, i]
        A[k, i] = c * a + s * b
        A[j, i] = c * b - s * a


@njit(cache=True, nogil=True)
def orthogonalise(H: Array, W: Array, Q: Array) -> None:
    """Rotate the rows of H to be mutually orthogonal (one-sided Jacobi), W along; Q collects the rotation.

    This is Hoff's rotation by the right singular vectors of F. It depends on H alone, so it
    leaves every law exactly as it was however far the iteration is carried.
    """
    R = H.shape[0]
    for k in range(R):
        for j in range(R):
            Q[k, j] = 1.0 if k == j else 0.0
    for _ in range(30):
        done = True
        for k in range(R - 1):
            for j in range(k + 1, R):
                a, b, c = dot(H[k], H[k]), dot(H[j], H[j]), dot(H[k], H[j])
                if abs(c) <= 1e-9 * math.sqrt(a * b):
                    continue
                done = False
                t = 0.5 * math.atan2(2.0 * c, a - b)
                cos, sin = math.cos(t), math.sin(t)
                rotate_rows(H, k, j, cos, sin)
                rotate_rows(W, k, j, cos, sin)
                rotate_rows(Q, k, j, cos, sin)
        if done:
            return


@njit(cache=True, nogil=True)
def rotate_planes(W: Array, H: Array, rng: np.random.Generator) -> None:
    """Rotate every pair of rows of W in its plane by an angle drawn from its conditional, a von Mises law.

    A column redrawn in the complement of the others cannot rotate inside their common span, so without
    this step the span's own frame moves by the square of the step size only.
    """
    R = W.shape[0]
    for k in range(R - 1):
        for j in range(k + 1, R):
            # tr(H W') after a rotation by t is a cos t + b sin t + constant
            a = dot(H[k], W[k]) + dot(H[j], W[j])
            b = dot(H[k], W[j]) - dot(H[j], W[k])
            kappa = math.hypot(a, b)
            s = draw_cosine_defect(kappa, 2, rng)
            cos, sin = 1.0 - s, math.sqrt(s * (2.0 - s))
            if rng.random() < 0.5:
                sin = -sin
            if kappa > 0.0:
                cos, sin = (cos * a - sin * b) / kappa, (sin * a + cos * b) / kappa
            rotate_rows(W, k, j, cos, sin)


@njit(cache=True, nogil=True)
def gibbs_pass(W: Array, H: Array, rng: np.random.Generator) -> None:
    """One Gibbs pass on the frame W, in place, leaving MF with parameter H invariant; H is overwritten."""
    R, m = W.shape
    Q = np.empty((R, R))
    orthogonalise(H, W, Q)
    for j in range(R):
        redraw_axis(W, R, j, H[j], rng)
    rotate_planes(W, H, rng)
    rotated = W.copy()
    for k in range(R):
        for i in range(m):
            s = 0.0
            for j in range(R):
                s += Q[j, k] * rotated[j, i]
            W[k, i] = s


# Algorithm 2


@njit(cache=True, nogil=True)
def fill_row(i: int, U: Array, d: Array, V: Array, x: Array) -> None:
    """Fill x with row i of X = U D V'."""
    x[:] = 0.0
    for r in range(d.size):
        a = U[r, i] * d[r]
        for j in range(x.size):
            x[j] += a * V[r, j]


@njit(cache=True, nogil=True)
def impute(
    U: Array, d: Array, V: Array, eta2: float, mean: Array, count: Counts, c: int, Y: Array,
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """Draw the measurements that are missing to make c of each entry; Y becomes the entries' means.

    Returns the part of the sum of squares about these means that the drawn measurements bring. With no
    replicates c = 1: the missing entries of Y are N(x_ij, eta2), and the return value is zero.
    """
    m1, m2 = Y.shape
    x = np.empty(m2)
    within, df = 0.0, 0
    for i in range(m1):
        fill_row(i, U, d, V, x)
        for j in range(m2):
            k = count[i, j]
            n = c - k
            if n == 0:
                Y[i, j] = mean[i, j]
                continue
            z = x[j] + math.sqrt(eta2 / n) * rng.standard_normal()
            df += n - 1
            if k == 0:
                Y[i, j] = z
            else:
                Y[i, j] = (k * mean[i, j] + n * z) / c
                within += (mean[i, j] - z) ** 2 * k * n / c
    if df > 0:
        within += eta2 * 2.0 * rng.standard_gamma(0.5 * df)
    return within


@njit(cache=True, nogil=True)
def project_rows(Y: Array, V: Array, F: Array) -> None:
    """F = (Y V)', (R, m1)."""
    for i in range(Y.shape[0]):
        for r in range(V.shape[0]):
            F[r, i] = dot(Y[i], V[r])


@njit(cache=True, nogil=True)
def project_cols(Y: Array, U: Array, F: Array) -> None:
    """F = (Y'U)', (R, m2)."""
    F[:] = 0.0
    for i in range(Y.shape[0]):
        for r in range(U.shape[0]):
            u = U[r, i]
            for j in range(Y.shape[1]):
                F[r, j] += u * Y[i, j]


@njit(cache=True, nogil=True)
def residual_sum_of_squares(Y: Array, U: Array, d: Array, V: Array) -> float:
    """Squared Frobenius norm of Y - X, summed directly: its expansion cancels when eta2 is small."""
    x = np.empty(Y.shape[1])
    total = 0.0
    for i in range(Y.shape[0]):
        fill_row(i, U, d, V, x)
        for j in range(x.size):
            x[j] -= Y[i, j]
        total += dot(x, x)
    return total


@njit(cache=True, nogil=True)
def sweep(
    U: Array, d: Array, V: Array, sigma2: float, eta2: float,
    mean: Array, count: Counts, within: float, c: int, hyper: Array,
    Y: Array, F: Array, G: Array, rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """One pass of Algorithm 2 over (Y, U, V, D, sigma2, eta2), in place; returns sigma2 and eta2.

    The mean of c measurements of an entry has noise variance v = eta2/c (c = 1 without replicates).
    hyper = (alpha_eta, beta_eta, alpha_sigma, beta_sigma).
    """
    R, m1, m2 = d.size, Y.shape[0], Y.shape[1]
    # Missing Y ~ N(X, eta2) at the current X (the paper integrates the core out: slip 3)
    within += impute(U, d, V, eta2, mean, count, c, Y, rng)
    v = eta2 / c
    # U ~ MF(m1, R, Y V D / eta2)
    project_rows(Y, V, F)
    for r in range(R):
        F[r] *= d[r] / v
    gibbs_pass(U, F, rng)
    # V ~ MF(m2, R, Y'U D / eta2); the u_k'Y v_k of the next step need Y'U again, unscaled
    project_cols(Y, U, G)
    scaled = G.copy()
    for r in range(R):
        scaled[r] *= d[r] / v
    gibbs_pass(V, scaled, rng)
    # D ~ QL(mu, delta2)
    mu = np.empty(R)
    for r in range(R):
        mu[r] = sigma2 * dot(G[r], V[r]) / (v + sigma2)
    slice_step(d, mu, v * sigma2 / (v + sigma2), rng)
    # sigma2 ~ IG(alpha + R^2/2, beta + tr D^2/2) (the paper prints R/2: slip 1)
    sigma2 = draw_inverse_gamma(hyper[2] + 0.5 * R * R, hyper[3] + 0.5 * dot(d, d), rng)
    # eta2 ~ IG(alpha + m1 m2/2, beta + |Y - X|^2/2) at the current X (the paper's is a sweep old: slip 2)
    rss = within + c * residual_sum_of_squares(Y, U, d, V)
    eta2 = draw_inverse_gamma(hyper[0] + 0.5 * c * m1 * m2, hyper[1] + 0.5 * rss, rng)
    return sigma2, eta2


@njit(cache=True, nogil=True)
def run_sweeps(
    U: Array, d: Array, V: Array, scales: Array,
    mean: Array, count: Counts, within: float, hyper: Array, thin: int,
    left: Array, right: Array, sigma2: Array, eta2: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Run thin sweeps for each row of the output arrays left = U D, right = V, sigma2, eta2.

    The state (U, d, V, scales = [sigma2, eta2]) is updated in place.
    """
    c = max(1, count.max())
    Y, F, G = np.empty_like(mean), np.empty_like(U), np.empty_like(V)
    for s in range(sigma2.size):
        for _ in range(thin):
            scales[0], scales[1] = sweep(
                U, d, V, scales[0], scales[1], mean, count, within, c, hyper, Y, F, G, rng
            )
        sigma2[s], eta2[s] = scales[0], scales[1]
        for r in range(d.size):
            left[s, :, r] = U[r] * d[r]
            right[s, :, r] = V[r]
