"""The subspaces of a belief's draws: the mean of their projections, or the projection nearest to it.

X_s = L_s R_s'    draw s with its effects in the factors, L = [left, mu + row, 1], R = [right, 1, col]
U_s, V_s          frames of its column and row space, q_s columns each (its rank)
P_U               mean over the draws of U_s U_s': its trace is the mean rank, its eigenvalues are at most 1
U                 m1 x q1, P_U = U U': eigenvectors times roots of eigenvalues, largest first
sigma2            mean of ||X_s||_F^2 / q_s^2: E||X||_F^2 = q^2 sigma2 of the SMG model, solved for sigma2
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from maxentry.belief import Belief

Array = NDArray[np.float64]

BLOCK_NUMBERS = 4_000_000  # of the factors of some draws, taken apart at once
NEGLIGIBLE = 1e-10  # size of a singular value, or eigenvalue, beside the largest that counts as zero


class Subspaces(NamedTuple):
    """Factors of P_U and P_V, and the variance of the core."""

    U: Array  # (m1, q1)
    V: Array  # (m2, q2)
    sigma2: float


def mean_projections(belief: Belief, most: int) -> Subspaces:
    """Factors of the posterior-mean projections with q1 q2 <= most.

    They are exact where that is enough; else the pair (q1, q2) is kept whose tr P_U tr P_V is greatest.
    """
    frames = _frames(belief)
    U, V = (_factor(side, min(most, len(side))) for side in (frames.U, frames.V))
    q1, q2 = _affordable((U**2).sum(0), (V**2).sum(0), most)
    return Subspaces(U[:, :q1], V[:, :q2], frames.sigma2)


def nearest_projections(belief: Belief, most: int) -> Subspaces:
    """Frames of the projections nearest to the means: leading eigenvectors, as many as the mean rank, rounded."""
    frames = _frames(belief)
    q = min(round(frames.rank), int(np.sqrt(most)))
    U, V = (_factor(side, q) for side in (frames.U, frames.V))
    U, V = U / np.sqrt((U**2).sum(0)), V / np.sqrt((V**2).sum(0))
    return Subspaces(U, V, frames.sigma2)


class _Frames(NamedTuple):
    U: Array  # (m1, sum of q_s): U_s / sqrt(S), side by side
    V: Array
    sigma2: float
    rank: float  # mean of q_s


def _frames(belief: Belief) -> _Frames:
    S, parts, sigma2 = belief.n_draws, [], 0.0
    L, R = _with_effects(belief, slice(0, 1))
    step = max(1, BLOCK_NUMBERS // max(L.size + R.size, 1))
    for start in range(0, S, step):
        u, d, v = _svd(*_with_effects(belief, slice(start, start + step)))
        kept = d > NEGLIGIBLE * d.max(axis=1, keepdims=True, initial=0.0)
        q = np.maximum(kept.sum(1), 1)
        sigma2 += float((np.where(kept, d, 0.0) ** 2 / (q**2)[:, None]).sum()) / S
        parts.append((_side_by_side(u, kept), _side_by_side(v, kept)))
    U, V = (np.concatenate(side, axis=1) / np.sqrt(S) for side in zip(*parts, strict=True))
    return _Frames(U, V, sigma2, U.shape[1] / S)


def _with_effects(belief: Belief, draws: slice) -> tuple[Array, Array]:
    """L_s and R_s of some draws, with columns for the effects where there are any."""
    left, right = (np.asarray(X[draws], dtype=float) for X in (belief.left, belief.right))
    row, col = (np.asarray(x[draws], dtype=float)[..., None] for x in (belief.row, belief.col))
    row = row + belief.mu[draws, None, None]
    if np.any(belief.row) or np.any(belief.mu):
        left, right = np.concatenate([left, row], axis=2), np.concatenate([right, np.ones_like(col)], axis=2)
    if np.any(belief.col):
        left, right = np.concatenate([left, np.ones_like(row)], axis=2), np.concatenate([right, col], axis=2)
    return left, right


def _svd(L: Array, R: Array) -> tuple[Array, Array, Array]:
    """Frames and singular values of L_s R_s', through the QR of the factors."""
    (Q1, T1), (Q2, T2) = np.linalg.qr(L), np.linalg.qr(R)
    u, d, vt = np.linalg.svd(T1 @ T2.swapaxes(1, 2), full_matrices=False)
    return Q1 @ u, d, Q2 @ vt.swapaxes(1, 2)


def _side_by_side(frames: Array, kept: NDArray[np.bool_]) -> Array:
    """The columns that are kept of the frames (S, m, k), as one m x n matrix."""
    columns: Array = frames.transpose(1, 0, 2).reshape(frames.shape[1], -1)[:, kept.ravel()]
    return columns


def _factor(frames: Array, most: int) -> Array:
    """The leading columns of U with U U' = frames frames', through the smaller of its two Gram matrices."""
    m, n = frames.shape
    if min(m, n, most) == 0:
        return np.empty((m, 0))
    wide = m <= n
    gram = frames @ frames.T if wide else frames.T @ frames
    values, vectors = eigh(gram, subset_by_index=[max(len(gram) - most, 0), len(gram) - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > NEGLIGIBLE * values[0]
    vectors = vectors[:, kept]
    U: Array = vectors * np.sqrt(values[kept]) if wide else frames @ vectors
    return U


def _affordable(left: Array, right: Array, most: int) -> tuple[int, int]:
    """q1 and q2 with q1 q2 <= most that keep most of (sum of left) (sum of right), which are decreasing."""
    if len(left) == 0 or len(right) == 0:
        return 0, 0
    q1 = np.arange(1, min(len(left), most) + 1)
    q2 = np.minimum(most // q1, len(right))
    best = int(np.argmax(np.cumsum(left)[q1 - 1] * np.cumsum(right)[q2 - 1]))
    return int(q1[best]), int(q2[best])
