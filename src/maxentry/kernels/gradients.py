"""Ridge regressions on many sparse features by conjugate gradients, eight right-hand sides at a time.

    F        m x p    features, centred: what is stored of them less their means
    G        m x K    coefficients of the rows (`kernels.link`)
    lam      -        ridge, 1 / rho
    X        p x 2K   X_1 = (F'F + lam I)^-1 F'G and X_2 = (F'F + lam I)^-1 (F'Z1 + sqrt(lam) Z2), of normals Z1, Z2
    Y        m x 2K   F X

With Q = CC', W = X_1 + X_2 C^-1 is a draw of the coefficients of the features given G and Q: noise in the right-hand
side, as Macau has it, exact up to the tolerance of the solver. The columns of X do not depend on each other, and each
block of eight ends by itself, so that threads may share them to the same bits.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._types import Array, Indices32
from maxentry.kernels.gauge import solve_upper
from maxentry.kernels.simd import LANES, broadcast, fetch_and_increment, fma, fnma, load, multiply, store

TOLERANCE = (
    1e-7  # of the residual's length, over the right-hand side's, where each coordinate has its own scale
)
MOST_STEPS = 2000


class Sparse(NamedTuple):
    """Features by row and by column, and arrays to work in: a block for every eight columns of X."""

    starts: NDArray[np.int64]  # (m + 1,)
    columns: Indices32
    values: Array
    col_starts: NDArray[np.int64]  # (p + 1,)
    rows: Indices32
    col_values: Array
    centre: Array  # (p,) means
    squares: Array  # (p,) squared lengths of the columns of F
    B: Array  # (blocks, p, 8) right-hand sides, later residuals
    X: Array  # (blocks, p, 8)
    D: Array  # (blocks, p, 8) directions
    A: Array  # (blocks, p, 8) their images
    Y: Array  # (blocks, m, 8)
    solved: NDArray[
        np.int64
    ]  # (blocks, 2) how often a block was solved, and how often it stopped before its tolerance


def allocate(features: tuple[Any, ...], K: int) -> Sparse:
    """Arrays to work in beside the first eight, for K coefficients of a row."""
    m, p, blocks = features[0].size - 1, features[3].size - 1, -(-2 * K // LANES)
    of_features = (np.empty((blocks, p, LANES)) for _ in range(4))
    return Sparse._make(
        (*features, *of_features, np.empty((blocks, m, LANES)), np.zeros((blocks, 2), np.int64))
    )


@njit(cache=True, nogil=True)
def apply(F: Sparse, X: Array, Y: Array) -> None:
    """Y <- F X, of eight columns."""
    shift = broadcast(0.0)
    for k in range(F.centre.size):
        shift = fnma(broadcast(F.centre[k]), load(X, k * LANES), shift)
    for i in range(F.starts.size - 1):
        y = shift
        for e in range(F.starts[i], F.starts[i + 1]):
            y = fma(broadcast(F.values[e]), load(X, F.columns[e] * LANES), y)
        store(Y, i * LANES, y)


@njit(cache=True, nogil=True)
def apply_transposed(F: Sparse, Y: Array, X: Array) -> None:
    """X <- F'Y, of eight columns."""
    total = broadcast(0.0)
    for i in range(F.starts.size - 1):
        total = fma(broadcast(1.0), load(Y, i * LANES), total)
    for k in range(F.centre.size):
        x = fnma(broadcast(F.centre[k]), total, broadcast(0.0))
        for e in range(F.col_starts[k], F.col_starts[k + 1]):
            x = fma(broadcast(F.col_values[e]), load(Y, F.rows[e] * LANES), x)
        store(X, k * LANES, x)


@njit(cache=True, nogil=True)
def set_sides(
    F: Sparse, factors: Array, effect: Array, R: int, effects: bool, lam: float, rng: np.random.Generator
) -> None:
    """B <- F'G and F'Z1 + sqrt(lam) Z2 with standard normals Z1, Z2; zero in the columns that are left over."""
    K, root = R + int(effects), math.sqrt(lam)
    for b in range(F.B.shape[0]):
        for i in range(F.starts.size - 1):
            for lane in range(LANES):
                c = b * LANES + lane
                if c < K:
                    F.Y[b, i, lane] = factors[i, c] if c < R else effect[i]
                else:
                    F.Y[b, i, lane] = rng.standard_normal() if c < 2 * K else 0.0
        apply_transposed(F, F.Y[b], F.B[b])
        for k in range(F.centre.size):
            for c in range(max(b * LANES, K), min((b + 1) * LANES, 2 * K)):
                F.B[b, k, c - b * LANES] += root * rng.standard_normal()


@njit(cache=True, nogil=True)
def solve_block(F: Sparse, lam: float, b: int) -> int:
    """X <- (F'F + lam I)^-1 B of a block, from zero, each coordinate scaled by its own square; return the steps."""
    B, X, D, A, Y = F.B[b], F.X[b], F.D[b], F.A[b], F.Y[b]
    p, zero, scale = F.centre.size, broadcast(0.0), 1.0 / (F.squares + lam)
    step, size, first = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    total = zero
    for k in range(p):
        r = load(B, k * LANES)
        d = multiply(broadcast(scale[k]), r)
        total = fma(r, d, total)
        store(D, k * LANES, d)
        store(X, k * LANES, zero)
    store(size, 0, total)
    first[:] = size
    F.solved[b, 0] += 1
    for n in range(MOST_STEPS):
        if (size <= TOLERANCE * TOLERANCE * first).all():
            return n
        apply(F, D, Y)
        apply_transposed(F, Y, A)
        total = zero
        for k in range(p):
            d = load(D, k * LANES)
            a = fma(broadcast(lam), d, load(A, k * LANES))
            total = fma(d, a, total)
            store(A, k * LANES, a)
        store(step, 0, total)
        for lane in range(LANES):
            step[lane] = size[lane] / step[lane] if step[lane] > 0.0 else 0.0
        alpha, total = load(step, 0), zero
        for k in range(p):
            at = k * LANES
            store(X, at, fma(alpha, load(D, at), load(X, at)))
            r = fnma(alpha, load(A, at), load(B, at))
            total = fma(r, multiply(broadcast(scale[k]), r), total)
            store(B, at, r)
        store(step, 0, total)
        for lane in range(LANES):
            old = size[lane]
            size[lane] = step[lane]
            step[lane] = step[lane] / old if old > 0.0 else 0.0
        beta = load(step, 0)
        for k in range(p):
            at = k * LANES
            store(D, at, fma(beta, load(D, at), multiply(broadcast(scale[k]), load(B, at))))
    F.solved[b, 1] += 1
    return MOST_STEPS


@njit(cache=True, nogil=True)
def solve_blocks(counter: NDArray[np.int64], F: Sparse, lam: float) -> int:
    """Solve blocks until all are solved, and Y <- F X; several threads may do so at once. Return the most steps."""
    most, b = 0, fetch_and_increment(counter)
    while b < F.B.shape[0]:
        most = max(most, solve_block(F, lam, b))
        apply(F, F.X[b], F.Y[b])
        b = fetch_and_increment(counter)
    return most


@njit(cache=True, nogil=True)
def combine(X: Array, i: int, K: int, C: Array, out: Array, z: Array) -> None:
    """out <- row i of X_1 + X_2 C^-1, Q = CC'."""
    for a in range(K):
        z[a] = X[(K + a) // LANES, i, (K + a) % LANES]
    solve_upper(C, z, K)
    for a in range(K):
        out[a] = X[a // LANES, i, a % LANES] + z[a]
