"""The change of gauge before a half-sweep: one side becomes orthonormal, and what the other side's laws need of that.

X = A B' with B = V T' and V'V = I is (A T) V'. Of A T only its Gram matrix and the slope of its aligned effects are
needed, since A is about to be redrawn: both follow from A'A and A'p, without forming A T. The strength of a component
is drawn here, too, before its rows are.

    A    m x padded R    factors of a side, with columns of zeros up to a multiple of eight
    T    R x R           lower triangular
    G    R x R           (A T)'(A T)
    h    R               (A T)'p, with p the aligned effects
    m    R               slope of the aligned effects, p = A T m

Small dense linear algebra stays inside compiled loops: threaded BLAS on R x R problems costs more than it gives.
"""

import math

import numpy as np
from numba import njit

from maxentry._types import Array
from maxentry.kernels.jit_cache import inner
from maxentry.kernels.rng import draw_variance, fill_bartlett
from maxentry.kernels.simd import LANES, broadcast, fma, load, multiply, store

MAX_JITTERS = (
    700  # from 1e-290 tenfold each: beyond every number; only NaN gets there, and is found after the sweeps
)

MAX_ROTATIONS = 30  # of every pair of directions, to diagonalise; five or six are enough


@inner
def cholesky(P: Array, n: int) -> bool:
    """Overwrite the lower triangle of P[:n, :n] by its Cholesky factor C (P = C C'); False if not positive."""
    for j in range(n):
        for k in range(j):
            c = P[j, k]
            for i in range(j, n):
                P[i, j] -= P[i, k] * c
        if not P[j, j] > 0.0:
            return False
        d = math.sqrt(P[j, j])
        P[j, j] = d
        inv = 1.0 / d
        for i in range(j + 1, n):
            P[i, j] *= inv
    return True


@inner
def solve_lower(C: Array, b: Array, n: int) -> None:
    """b <- C^-1 b for lower triangular C."""
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= C[i, k] * b[k]
        b[i] = s / C[i, i]


@inner
def solve_upper(C: Array, b: Array, n: int) -> None:
    """b <- C'^-1 b for lower triangular C."""
    for i in range(n - 1, -1, -1):
        b[i] /= C[i, i]
        s = b[i]
        for k in range(i):
            b[k] -= C[i, k] * s


@inner
def weighted_gram(A: Array, R: int, weights: Array, t: Array, G: Array, h: Array) -> None:
    """G[:R, :R] <- sum w a a' (both triangles) and h[:R] <- sum w t a over the rows of A.

    Unlike `rows.accumulate_row` it adds in memory: fast enough for one pass over all rows, and compiled sooner.
    """
    length = A.shape[1]
    out = np.zeros((R + 1, length))
    for i in range(A.shape[0]):
        w, last = broadcast(weights[i]), broadcast(t[i])
        for q in range(0, length, LANES):
            v = multiply(w, load(A, i * length + q))
            for a in range(q, R):
                store(out, a * length + q, fma(broadcast(A[i, a]), v, load(out, a * length + q)))
            store(out, R * length + q, fma(last, v, load(out, R * length + q)))
    for a in range(R):
        h[a] = out[R, a]
        for b in range(a + 1):
            G[a, b] = out[a, b]
            G[b, a] = out[a, b]


@inner
def multiply_upper(A: Array, W: Array, R: int) -> None:
    """A <- A W in place, W upper triangular and padded with zeros like A."""
    length = A.shape[1]
    for i in range(A.shape[0]):
        for q in range(
            length - LANES, -1, -LANES
        ):  # from the right: A W there needs only columns to the left
            s = broadcast(0.0)
            for k in range(min(q + LANES, R)):
                s = fma(broadcast(A[i, k]), load(W, k * length + q), s)
            store(A, i * length + q, s)


@njit(cache=True, nogil=True, error_model="numpy")
def cholesky_qr(A: Array, R: int, ones: Array, C: Array, W: Array, h: Array) -> float:
    """One Cholesky-QR pass: A = Q C', A <- Q; return the smallest over the largest diagonal entry of C."""
    weighted_gram(A, R, ones, ones, C, h)
    largest = 0.0
    for a in range(R):
        largest = max(largest, C[a, a])
    jitter = 0.0
    for _ in range(MAX_JITTERS):
        if cholesky(C, R):
            break
        jitter = max(1e-15 * largest, 10.0 * jitter, 1e-290)
        weighted_gram(A, R, ones, ones, C, h)
        for a in range(R):
            C[a, a] += jitter
    low, high = C[0, 0], C[0, 0]
    for a in range(R):
        low, high = min(low, C[a, a]), max(high, C[a, a])
    for b in range(R):  # W = C'^-1: column a of it is row a of C^-1
        W[b, b] = 1.0 / C[b, b]
        for a in range(b + 1, R):
            s = 0.0
            for k in range(b, a):
                s -= C[a, k] * W[b, k]
            W[b, a] = s / C[a, a]
    multiply_upper(A, W, R)
    return float(low / high)


@njit(cache=True, nogil=True)
def orthonormalise(A: Array, R: int, ones: Array, T: Array) -> None:
    """A <- orthonormal columns; T <- lower triangular, so that A B' = A_new (B T)'."""
    length = A.shape[1]
    C, W, h = np.empty((R, R)), np.zeros((length, length)), np.empty(R)
    for a in range(R):
        for b in range(R):
            T[a, b] = 1.0 if a == b else 0.0
    ratio, passes = 0.0, 0
    # squaring the condition number loses digits; another pass restores them
    while ratio < 1e-3 and passes < 5:
        ratio = cholesky_qr(A, R, ones, C, W, h)
        passes += 1
        for a in range(R):  # T <- T C, both lower triangular
            for b in range(a + 1):
                s = 0.0
                for k in range(b, a + 1):
                    s += T[a, k] * C[k, b]
                T[a, b] = s


@inner
def transform_gram(A: Array, p: Array, R: int, ones: Array, T: Array, G: Array, h: Array) -> None:
    """G <- (A T)'(A T) and h <- (A T)'p."""
    H, k = np.empty((R, R)), np.empty(R)
    weighted_gram(A, R, ones, p, H, k)
    for a in range(R):  # H <- H T
        for b in range(R):
            s = 0.0
            for c in range(b, R):
                s += H[a, c] * T[c, b]
            H[a, b] = s
    for a in range(R):  # T' of it
        s = 0.0
        for c in range(a, R):
            s += T[c, a] * k[c]
        h[a] = s
        for b in range(a + 1):
            s = 0.0
            for c in range(a, R):
                s += T[c, a] * H[c, b]
            G[a, b] = s
            G[b, a] = s


@inner
def solve_slope(G: Array, h: Array, R: int, m: Array) -> None:
    """m <- G^-1 h: the slope of the aligned effects p = A m, from A'A and A'p."""
    C = G[:R, :R].copy()
    for a in range(R):
        m[a] = h[a]
        C[a, a] = C[a, a] * (1.0 + 1e-12) + 1e-290  # A may be of lower rank to rounding: p has no part there
    cholesky(C, R)
    solve_lower(C, m, R)
    solve_upper(C, m, R)


@inner
def diagonalise(S: Array, R: int, E: Array) -> None:
    """S[:R, :R] <- its eigenvalues, on the diagonal, and E[:R, :R] <- its eigenvectors, in columns (cyclic Jacobi)."""
    for a in range(R):
        for b in range(R):
            E[a, b] = 1.0 if a == b else 0.0
    for _ in range(MAX_ROTATIONS):
        left = False
        for a in range(R):
            for b in range(a + 1, R):
                if abs(S[a, b]) <= 1e-15 * math.sqrt(abs(S[a, a] * S[b, b])):
                    continue
                left = True
                half = 0.5 * (S[b, b] - S[a, a]) / S[a, b]
                t = math.copysign(1.0, half) / (abs(half) + math.hypot(1.0, half))
                c = 1.0 / math.hypot(1.0, t)
                s = t * c
                for k in range(R):
                    x, y = S[k, a], S[k, b]
                    S[k, a], S[k, b] = c * x - s * y, s * x + c * y
                    x, y = E[k, a], E[k, b]
                    E[k, a], E[k, b] = c * x - s * y, s * x + c * y
                for k in range(R):
                    x, y = S[a, k], S[b, k]
                    S[a, k], S[b, k] = c * x - s * y, s * x + c * y
                S[a, b], S[b, a] = 0.0, 0.0
        if not left:
            return


@inner
def redraw_strength(
    indptr: Array, index: Array, values: Array, weights: Array, factors: Array, free: Array, F: Array, offset: Array,
    mu: float, precision: float, R: int, T: Array, slope: Array, s2: float, aligned: bool, ridge: float, sigma2: float,
    Q: Array, rng: np.random.Generator,
) -> None:  # fmt: skip
    """Draw an eigenvalue of L, Q = L + I / sigma2, given y with the rows' parts along its eigenvector integrated out.

    L given A pins the strength of a component to what it is, up to a factor: one near zero would stay there for
    hundreds of sweeps. `factors` are in the old gauge, A T in the new one. The weaker a component, the more often it
    is chosen.
    """
    m, E, S = free.size, np.empty((R, R)), Q[:R, :R].copy()
    diagonalise(S, R, E)
    total = 0.0
    for a in range(R):
        S[a, a] -= 1.0 / sigma2
        total += S[a, a]
    u, k = rng.random() * total, 0
    while k < R - 1 and u >= S[k, k]:
        u -= S[k, k]
        k += 1
    others, count, along = np.empty(R - 1), 0, 0.0
    for a in range(R):
        along += slope[a] * E[a, k]
        if a != k:
            others[count] = S[a, a]
            count += 1
    feature = np.empty(offset.size)
    for j in range(offset.size):
        f = 0.0
        for a in range(R):
            f += F[j, a] * E[a, k]
        feature[j] = f
    n, s, ones, row = np.empty(m), np.empty(m), np.ones(m), np.empty(R)
    length = F.shape[1]
    g = np.empty(length)  # sum w f (V_j + m) with f the feature of the eigenvector
    for i in range(m):
        own, p = 0.0, 0.0
        for b in range(R):
            x = 0.0
            for a in range(b, R):
                x += factors[i, a] * T[a, b]
            row[b] = x
            own += x * E[b, k]
            p += x * slope[b]
        sum_w, sum_we, known = 0.0, 0.0, mu + free[i]
        for q in range(0, length, LANES):
            store(g, q, broadcast(0.0))
        for o in range(indptr[i], indptr[i + 1]):
            j = index[o]
            f = feature[j] * weights[o] if weights.size > 0 else feature[j]
            sum_w += f * feature[j]
            sum_we += f * (values[o] - known - offset[j])
            for q in range(0, length, LANES):
                store(g, q, fma(broadcast(f), load(F, j * length + q), load(g, q)))
        for a in range(R):
            sum_we -= row[a] * g[a]
        n[i] = 1.0 / sigma2 + precision * sum_w
        s[i] = precision * (sum_we + own * sum_w)
        if aligned:
            n[i] += along * along / s2
            s[i] -= along * (p - along * own) / s2
        s[i] *= s[i]
    shape = -0.5 * (1 + int(aligned))
    old = S[k, k]
    if old > 0.0:
        law = (shape, 0.5 * ridge, math.inf)
        new = 1.0 / draw_variance(1.0 / old, n, ones, s, 1.0, law, others, rng)
        for a in range(R):
            for b in range(R):
                Q[a, b] += (new - old) * E[a, k] * E[b, k]


@inner
def matvec(A: Array, R: int, m: Array, p: Array) -> None:
    """p <- A m."""
    for i in range(A.shape[0]):
        s = 0.0
        for a in range(R):
            s += A[i, a] * m[a]
        p[i] = s


@inner
def draw_augmented_precision(
    G: Array, R: int, df: int, sigma2: float, rng: np.random.Generator, Q: Array
) -> None:
    """Q[:R, :R] <- L + I / sigma2 with L | A ~ Wishart(df, G^-1), G = A'A, by Bartlett's decomposition."""
    C = G[:R, :R].copy()
    if not cholesky(C, R):  # A has lost rank to rounding: the limit of a vanishing ridge is as good
        for a in range(R):
            for b in range(R):
                C[a, b] = G[a, b]
            C[a, a] = C[a, a] * (1.0 + 1e-10) + 1e-290
        cholesky(C, R)
    T = np.empty((R, R))
    fill_bartlett(df, T, rng)
    # G^-1 = C'^-1 C^-1, so L = W W' with W = C'^-1 T
    for i in range(R - 1, -1, -1):
        for k in range(i + 1, R):
            for b in range(R):
                T[i, b] -= C[k, i] * T[k, b]
        for b in range(R):
            T[i, b] /= C[i, i]
    for a in range(R):
        for b in range(a + 1):
            s = 0.0
            for k in range(R):
                s += T[a, k] * T[b, k]
            Q[a, b] = s
            Q[b, a] = s
        Q[a, a] += 1.0 / sigma2
