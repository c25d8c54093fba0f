"""Matrix von Mises-Fisher draws; frames are stored transposed, (R, m), one axis a contiguous row."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry.kernels.random import fill_normal

CALLED = "b8d84853a526"  # a digest of the kernels imported, by which Numba knows when to compile again

Array = NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(a: Array, b: Array) -> float:
    """Inner product of two short vectors, without the overhead of BLAS."""
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@njit(cache=True, nogil=True)
def cosine_defect(kappa: float, q: int, rng: np.random.Generator) -> float:
    """Draw s = 1 - cos(angle to the mean direction) of vMF(kappa) on the unit sphere of R^q (Wood 1994).

    The defect rather than the cosine: at kappa = 1e6 the cosine is 1 to within rounding of its square root.
    """
    if q == 1:
        return 0.0 if rng.random() * (1.0 + math.exp(-2.0 * kappa)) < 1.0 else 2.0
    b = (q - 1.0) / (2.0 * kappa + math.sqrt(4.0 * kappa * kappa + (q - 1.0) ** 2))
    s0 = 2.0 * b / (1.0 + b)
    while True:
        z = rng.beta(0.5 * (q - 1.0), 0.5 * (q - 1.0))
        s = 2.0 * b * z / (1.0 - (1.0 - b) * z)
        log_ratio = kappa * (s0 - s) + (q - 1.0) * math.log((s0 + s - s0 * s) / (s0 * (2.0 - s0)))
        if log_ratio >= -rng.standard_exponential():
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
    if kappa <= 1e-14 * math.sqrt(dot(h, h)):  # nothing left of h: uniform, about an arbitrary axis
        kappa = 0.0
        fill_normal(axis, rng)
        project_out(axis, W, n, j)
        length = math.sqrt(dot(axis, axis))
    for i in range(m):
        axis[i] /= length
    s = cosine_defect(kappa, q, rng)
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
    """Rows (k, j) of A become (c k + s j, -s k + c j)."""
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
def turn_planes(W: Array, H: Array, rng: np.random.Generator) -> None:
    """Turn every pair of rows of W in its plane by an angle drawn from its conditional, a von Mises law.

    A column redrawn in the complement of the others cannot turn inside their common span, so without
    this step the span's own frame moves by the square of the step size only.
    """
    R = W.shape[0]
    for k in range(R - 1):
        for j in range(k + 1, R):
            # tr(H W') after a turn by t is a cos t + b sin t + constant
            a = dot(H[k], W[k]) + dot(H[j], W[j])
            b = dot(H[k], W[j]) - dot(H[j], W[k])
            kappa = math.hypot(a, b)
            s = cosine_defect(kappa, 2, rng)
            cos, sin = 1.0 - s, math.sqrt(s * (2.0 - s))
            if rng.random() < 0.5:
                sin = -sin
            if kappa > 0.0:
                cos, sin = (cos * a - sin * b) / kappa, (sin * a + cos * b) / kappa
            rotate_rows(W, k, j, cos, sin)


@njit(cache=True, nogil=True)
def gibbs(W: Array, H: Array, rng: np.random.Generator) -> None:
    """One Gibbs pass on the frame W, in place, leaving MF with parameter H invariant; H is overwritten."""
    R, m = W.shape
    Q = np.empty((R, R))
    orthogonalise(H, W, Q)
    for j in range(R):
        redraw_axis(W, R, j, H[j], rng)
    turn_planes(W, H, rng)
    rotated = W.copy()
    for k in range(R):
        for i in range(m):
            s = 0.0
            for j in range(R):
                s += Q[j, k] * rotated[j, i]
            W[k, i] = s
