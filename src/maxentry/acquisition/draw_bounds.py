"""Bounds on the standard deviation of an entry over factored draws, that fall apart into rows and columns.

With row factors a_i and column factors b_j of a draw (effects apart), by Minkowski and Cauchy-Schwarz

    sd(x_ij) <= sd(a_i . b_j) + sd(row_i) + sd(col_j),
    sd(a_i . b_j) <= (E|a_i|^4)^(1/4) (E|b_j|^4)^(1/4)                                                       (far)
    sd(a_i . b_j) <= sd(da_i . b_j*) + sd(a_i* . db_j) + (E|da_i|^4)^(1/4) (E|db_j|^4)^(1/4)                 (near)

where a_i = a_i* + da_i around the means a_i*, b_j*, and sd(da_i . b_j*) <= |Cov(a_i)|^(1/2) |b_j*| (spectral norm). The
draws' factors are turned to each other first (X = A B' = (A O)(B O)' for orthogonal O), so that the means are large and
the deviations small; whatever O is, the bound holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.kernels.acquisition import turned_spread

Array = NDArray[np.float64]

WORTHWHILE = 10  # evaluating so many times as many entries costs as much as the turned bound


def draw_bounds(A: Array, B: Array, row_sd: Array, col_sd: Array) -> list[tuple[Array, Array]]:
    """Pairs (P, Q) with sd(x_ij) <= P_i . Q_j; A is (m1, R, S), B is (m2, R, S)."""
    effects = [row_sd, np.ones_like(row_sd)], [np.ones_like(col_sd), col_sd]
    kinds = [([_fourth(A)], [_fourth(B)])]
    (m1, R, _), m2 = A.shape, len(B)
    if R > 0 and m1 * m2 > WORTHWHILE * R * (m1 + m2):
        (A_mean, A_spread, A_fourth), (B_mean, B_spread, B_fourth) = _around_means(A, B)
        kinds.append(([A_spread, A_mean, A_fourth], [B_mean, B_spread, B_fourth]))
    return [
        (np.stack(rows + effects[0], axis=1), np.stack(cols + effects[1], axis=1)) for rows, cols in kinds
    ]


def _fourth(X: Array) -> Array:
    """(E|x_i|^4)^(1/4)."""
    lengths = np.einsum("irs,irs->is", X, X)
    fourth: Array = np.sqrt(np.sqrt(np.mean(lengths**2, axis=1)))
    return fourth


def _around_means(A: Array, B: Array) -> list[tuple[Array, Array, Array]]:
    """|x_i*|, |Cov(x_i)|^(1/2) and (E|dx_i|^4)^(1/4) for the rows of A, and of B, with the draws turned."""
    turns = _turns(A, B, A[:, :, -1], B[:, :, -1])
    turns = _turns(A, B, _turned_mean(A, turns), _turned_mean(B, turns))
    return [_spread(X, turns) for X in (A, B)]


def _turns(A: Array, B: Array, A_to: Array, B_to: Array) -> Array:
    """Orthogonal O_s (R, R, S) that bring [A_s; B_s] O_s nearest to [A_to; B_to] (Procrustes).

    Each side counts by its size, since the draws may hold the scale of X in one of them.
    """
    R, S = A.shape[1:]
    products = np.zeros((R * S, R))
    for X, to in ((A, A_to), (B, B_to)):
        products += X.reshape(len(X), R * S).T @ to / max(float((to**2).sum()), np.finfo(float).tiny)
    u, _, vt = np.linalg.svd(products.reshape(R, S, R).swapaxes(0, 1))
    return np.ascontiguousarray((u @ vt).transpose(1, 2, 0))


def _turned_mean(X: Array, turns: Array) -> Array:
    R, S = X.shape[1:]
    mean: Array = X.reshape(len(X), R * S) @ turns.swapaxes(1, 2).reshape(R * S, R) / S
    return mean


def _spread(X: Array, turns: Array) -> tuple[Array, Array, Array]:
    mean = _turned_mean(X, turns)
    cov, fourth = np.empty((len(X), X.shape[1], X.shape[1])), np.empty(len(X))
    turned_spread(X, turns, mean, cov, fourth)
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(cov)[:, -1], 0.0))
    return np.linalg.norm(mean, axis=1), spread, np.sqrt(np.sqrt(fourth))
