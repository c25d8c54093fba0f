"""The variance of all entries together, now and once some entries are measured.

    G      S x S    Gram matrix of the centred draws, G_st = sum over all entries of d_s d_t
    K      S x S    I - W'W; the covariance of entries a and b given what is measured is d_a' K d_b / S

The total variance given the measured is tr(K G) / S: no map of the entries is formed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.draws import Draws
from maxentry.acquisition.field import with_pending
from maxentry.belief import Belief
from maxentry.entries import Entries

Array = NDArray[np.float64]

BLOCK_NUMBERS = 4_000_000  # a block of draws or of products of factors holds about this many numbers (32 MB)


class Totals:
    """The total variance of a belief, now and after any entries: G, the dear part, is formed once."""

    def __init__(self, belief: Belief) -> None:
        self._draws = Draws.of(belief)
        self._G = gram(self._draws)

    def now(self) -> float:
        """The sum over all entries of the variance of the draws (divisor S)."""
        return self.after(Entries.none())

    def after(self, entries: Entries) -> float:
        """The total variance once these entries are measured (whatever their values), tr(K G) / S."""
        return remaining(self._G, with_pending(self._draws, entries)) / self._draws.p


def total_variance(belief: Belief) -> float:
    """The sum over all entries of the variance of the draws (divisor S): S x S numbers, no map."""
    return Totals(belief).now()


def after(belief: Belief, entries: Entries) -> float:
    """The total variance once these entries are measured (whatever their values), tr(K G) / S."""
    return Totals(belief).after(entries)


def remaining(G: Array, W: Array) -> float:
    """tr(K G) for K = I - W'W."""
    return float(np.trace(G) - np.einsum("ks,ks->", W @ G, W))


def gram(draws: Draws) -> Array:
    """G, from the draws of all entries or from the factors, whichever is less work."""
    (m1, m2), q = draws.shape, draws.A.shape[1] + 2
    return _gram_of_entries(draws) if m1 * m2 <= q * q * (m1 + m2) else _gram_of_factors(draws)


def _gram_of_entries(draws: Draws) -> Array:
    """G = sum of d d' over the entries, some rows at a time."""
    (m1, m2), S = draws.shape, draws.p
    G = np.zeros((S, S))
    step = max(1, BLOCK_NUMBERS // (m2 * S))
    for start in range(0, m1, step):
        rows, cols = np.divmod(np.arange(start * m2, min(start + step, m1) * m2), m2)
        F = draws.features(rows, cols)
        G += F.T @ F
    return G * S


def _gram_of_factors(draws: Draws) -> Array:
    """G from <X_s, X_t> = sum of (L_s'L_t) o (R_s'R_t), with L = [A, a, 1] and R = [B, 1, b], twice centred."""
    q, S = draws.A.shape[1] + 2, draws.p
    G = np.empty((S, S))
    step = max(1, BLOCK_NUMBERS // (q * q * S))
    for start in range(0, S, step):
        part = slice(start, min(start + step, S))
        left = _products(draws.A, draws.a, part, effects_first=True)
        right = _products(draws.B, draws.b, part, effects_first=False)
        G[part] = np.einsum("asbt,asbt->st", left, right)
    G -= G.mean(0)
    G -= G.mean(1, keepdims=True)
    return (G + G.T) / 2


def _products(A: Array, a: Array, part: slice, *, effects_first: bool) -> Array:
    """L_s'L_t for the draws s of a part and all t, (q, width, q, S), some rows at a time."""
    (m, R, S), width = A.shape, part.stop - part.start
    q = R + 2
    products = np.zeros((q * width, q * S))
    step = max(1, BLOCK_NUMBERS // (q * S))
    for i in range(0, m, step):
        effects = [a[i : i + step, None, :], np.ones_like(a[i : i + step, None, :])]
        L = np.concatenate([A[i : i + step], *(effects if effects_first else effects[::-1])], axis=1)
        products += L[:, :, part].reshape(len(L), -1).T @ L.reshape(len(L), -1)
    return products.reshape(q, width, q, S)
