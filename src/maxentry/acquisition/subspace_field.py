"""MaxEnt, the paper's criterion: Lemma 2 for the subspaces of a belief's draws.

| symbol | meaning | shape |
|---|---|---|
| X_s = L_s R_s' | draw s, effects in the factors: L = [left, mu + row, 1], R = [right, 1, col] | m1 x m2 |
| U_s, V_s | frames of its column and row space; q_s is its rank | m1 x q_s, m2 x q_s |
| P_U | mean over the draws of U_s U_s': its trace is the mean rank, its eigenvalues are at most 1 | m1 x m1 |
| U, V | P_U = U U': eigenvectors times roots of eigenvalues, largest first; V likewise | m1 x q1, m2 x q2 |
| sigma2 | mean of ||X_s||_F^2 / q_s^2: E||X||_F^2 = q^2 sigma2 of the SMG model, solved for sigma2 | scalar |
| phi_ij | u_i (x) v_j, so that x_ij = phi_ij' vec(M), M iid N(0, sigma2) | p = q1 q2 |

Given the subspaces and the observed entries, Var(x_ij | y) = eta2 phi_ij' S phi_ij, S = (Phi'Phi + gamma2 I)^-1
(Lemma 2, `model.entropy`); the values of y do not matter. With fewer observations than features the observed entries
are directions instead (`draw_field`), and nothing of size p x p is formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular

from maxentry._io import checkpoint
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition.draw_field import (
    WeightedField,
    Work,
    cholesky_factor,
    measurement_directions,
    noise_floor,
)
from maxentry.acquisition.greedy import greedy_information
from maxentry.acquisition.problem import Problem, Selection, check_belief
from maxentry.belief import Belief, Entries
from maxentry.model.entropy import coherence, features, score_factors

MOST_FEATURES = 1024
MOST_LARGE = 256  # for more than LARGE entries: as many as the bounds of rows and columns can use
LARGE = 10_000_000
MOST_SMALL = 4096  # a matrix with at most this many entries has at most as many features: none is cut
FEW_FEATURES = 256  # up to this many, rows and columns are bounded by their remaining variance
BLOCK_NUMBERS = 4_000_000  # numbers of a block of factors or features
UNEQUAL = 4  # from this ratio of q1 and q2 on, or its inverse, products of pairs cost more than cores
NEGLIGIBLE = 1e-10  # singular values and eigenvalues below this share of the largest count as zero


def maximise_entropy(
    subspaces: Callable[[Belief, int], Subspaces],
    belief: Belief | None,
    problem: Problem,
    n: int,
    rng: np.random.Generator,
) -> Selection:
    """The entries that maximise the determinant of Lemma 1, greedily.

    Gain: 1/2 log(1 + sigma2 score / eta2) in nats, with the score of Lemma 2.
    """
    belief = check_belief(belief, problem)
    m1, m2 = problem.shape
    most = MOST_SMALL if m1 * m2 <= MOST_SMALL else MOST_FEATURES if m1 * m2 <= LARGE else MOST_LARGE
    own = belief.information is not None
    shares = belief.share_at(*problem.observed) if own else None
    field = lemma2_field(subspaces(belief, most), float(np.mean(belief.noise_var)), problem.observed, shares)
    return greedy_information(WeightedField(field, belief) if own else field, problem, n, rng)


class Subspaces(NamedTuple):
    """Factors of P_U and P_V, and the variance of the core."""

    U: Array  # (m1, q1)
    V: Array  # (m2, q2)
    sigma2: float


def mean_projections(belief: Belief, most: int) -> Subspaces:
    """Factors of the posterior-mean projections with q1 q2 <= most.

    They are exact where that is enough; else the pair (q1, q2) is significant whose tr P_U tr P_V is greatest.
    """
    U, V, sigma2, _ = _frames(belief)
    U, V = (_factor(side, min(most, len(side))) for side in (U, V))
    q1, q2 = _affordable((U**2).sum(0), (V**2).sum(0), most)
    return Subspaces(U[:, :q1], V[:, :q2], sigma2)


def nearest_projections(belief: Belief, most: int) -> Subspaces:
    """Frames of the projections nearest to the means: leading eigenvectors, as many as the mean rank, rounded."""
    U, V, sigma2, rank = _frames(belief)
    q = min(round(rank), int(np.sqrt(most)))
    U, V = (_factor(side, q) for side in (U, V))
    U, V = U / np.sqrt((U**2).sum(0)), V / np.sqrt((V**2).sum(0))
    return Subspaces(U, V, sigma2)


def _frames(belief: Belief) -> tuple[Array, Array, float, float]:
    """U_s / sqrt(S) side by side, (m1, sum of q_s), and V likewise; sigma2; and the mean of q_s."""
    S, parts, sigma2 = belief.n_draws, [], 0.0
    L, R = _with_effects(belief, slice(0, 1))
    step = max(1, BLOCK_NUMBERS // max(L.size + R.size, 1))
    for start in range(0, S, step):
        checkpoint()
        (Q1, T1), (Q2, T2) = map(np.linalg.qr, _with_effects(belief, slice(start, start + step)))
        u, d, vt = np.linalg.svd(T1 @ T2.swapaxes(1, 2), full_matrices=False)
        significant = d > NEGLIGIBLE * d.max(axis=1, keepdims=True, initial=0.0)
        q = np.maximum(significant.sum(1), 1)
        sigma2 += float((np.where(significant, d, 0.0) ** 2 / (q**2)[:, None]).sum()) / S
        frames = Q1 @ u, Q2 @ vt.swapaxes(1, 2)
        parts.append([_side_by_side(side, significant) for side in frames])
    U, V = (np.concatenate(side, axis=1) / np.sqrt(S) for side in zip(*parts, strict=True))
    return U, V, sigma2, U.shape[1] / S


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


def _side_by_side(frames: Array, significant: Flags) -> Array:
    """The significant columns of the frames (S, m, k), as one m x n matrix."""
    columns: Array = frames.transpose(1, 0, 2).reshape(frames.shape[1], -1)[:, significant.ravel()]
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
    significant = values > NEGLIGIBLE * values[0]
    vectors = vectors[:, significant]
    U: Array = vectors * np.sqrt(values[significant]) if wide else frames @ vectors
    return U


def _affordable(left: Array, right: Array, most: int) -> tuple[int, int]:
    """q1 and q2 with q1 q2 <= most that keep most of (sum of left) (sum of right), which are decreasing."""
    if len(left) == 0 or len(right) == 0:
        return 0, 0
    q1 = np.arange(1, min(len(left), most) + 1)
    q2 = np.minimum(most // q1, len(right))
    best = int(np.argmax(np.cumsum(left)[q1 - 1] * np.cumsum(right)[q2 - 1]))
    return int(q1[best]), int(q2[best])


def lemma2_field(
    subspaces: Subspaces, eta2: float, observed: Entries, shares: Array | None = None
) -> SubspaceField:
    """x given the subspaces and the observed entries, in the cheaper of two equivalent forms (Lemma 2).

    shares: each observed entry has noise eta2 / share; None where they have the same.
    """
    q = subspaces.U.shape[1] * subspaces.V.shape[1]
    mu_i, mu_j = (np.sqrt(coherence(X))[:, None] for X in subspaces[:2])
    eta2 = max(eta2, noise_floor([(np.sqrt(subspaces.sigma2) * mu_i, mu_j)]))
    prior = SubspaceField(*subspaces, eta2, np.empty((0, q)))
    if q == 0 or len(observed.rows) < q:
        F = prior.features(*observed)
        F = F if shares is None else F * np.sqrt(shares)[:, None]
        return replace(prior, measured=measurement_directions(F, eta2))
    precision = eta2 * np.eye(q)
    step = max(1, BLOCK_NUMBERS // q)
    for start in range(0, len(observed.rows), step):
        checkpoint()
        some = slice(start, start + step)
        F = prior.features(observed.rows[some], observed.cols[some])
        F = F if shares is None else F * np.sqrt(shares[some])[:, None]
        precision += F.T @ F
    return CoreField(*subspaces, eta2, prior.measured, cholesky_factor(precision))


@dataclass(frozen=True, eq=False, repr=False)
class SubspaceField:
    """Features sigma phi_ij; observed entries are directions."""

    U: Array
    V: Array
    sigma2: float
    eta2: float
    measured: Array  # (N, p)

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return len(self.U), len(self.V)

    @property
    def p(self) -> int:
        """q1 q2."""
        return int(self.U.shape[1] * self.V.shape[1])

    def features(self, rows: Indices, cols: Indices) -> Array:
        """sigma u_i (x) v_j for each entry."""
        F: Array = np.sqrt(self.sigma2) * features(self.U, self.V, rows, cols)
        return F

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """sigma2 (mu_i mu_j - sum_t (u_i' W_t v_j)^2), W_t the directions as q1 x q2 matrices."""
        prior = np.multiply.outer(coherence(self.U[rows]), coherence(self.V[cols]))
        return self.sigma2 * np.maximum(prior - self._forms(self._explained, rows, cols), 0.0)

    def variances_at(self, rows: Indices, cols: Indices) -> Array:
        """The same for some entries, from their features."""
        F = self.features(rows, cols)
        v: Array = np.einsum("np,np->n", F, F) - ((F @ self.measured.T) ** 2).sum(1)
        return np.maximum(v, 0.0)

    def upper(self, rows: Indices, cols: Indices) -> Array | None:
        """None: the variances themselves are cheap."""
        return None

    def estimates(self, rows: Indices, cols: Indices) -> NDArray[np.float32]:
        """v/eta2, which costs little here."""
        return (self.variances(rows, cols) / self.eta2).astype(np.float32)

    @property
    def work(self) -> Work:
        """Products of q1 q2 numbers; features are compared with every measured direction."""
        return Work(self.p, self.p, self.p * (1 + len(self.measured)))

    @property
    def _by_rows(self) -> bool:
        """Whether rows are the side on which `_cores` costs less."""
        (m1, q1), (m2, q2) = self.U.shape, self.V.shape
        return bool(m1 * q2 <= m2 * q1)

    def _cores(self, W: Array) -> Array:
        """B_i = sum_t W_t' u_i u_i' W_t for each row i, (m1, q2, q2); or the same for each column, (m2, q1, q1)."""
        W = W.reshape(len(W), self.U.shape[1], self.V.shape[1])
        X, W = (self.U, W) if self._by_rows else (self.V, W.transpose(0, 2, 1))
        n, q, p = W.shape
        flat = np.ascontiguousarray(W.transpose(1, 0, 2)).reshape(q, n * p)
        B, step = np.empty((len(X), p, p)), max(1, BLOCK_NUMBERS // max(n * p, 1))
        for start in range(0, len(X), step):
            checkpoint()
            some = X[start : start + step]
            T = (some @ flat).reshape(len(some), n, p)
            B[start : start + step] = T.swapaxes(1, 2) @ T
        return B

    def _forms(self, B: Array, rows: Indices, cols: Indices) -> Array:
        """sum_t (u_i' W_t v_j)^2 of a block of entries, from `_cores`."""
        X, B = (self.V[cols], B[rows]) if self._by_rows else (self.U[rows], B[cols])
        forms: Array = np.einsum("ijq,jq->ij", X @ B, X)
        return forms if self._by_rows else forms.T

    @cached_property
    def _explained(self) -> Array:
        """The cores of the measured directions."""
        return self._cores(self.measured)

    @property
    def core(self) -> Array:
        """Cov(vec M | y), (p, p)."""
        return self.sigma2 * (np.eye(self.p) - self.measured.T @ self.measured)

    def bounds(self) -> list[tuple[Array, Array]]:
        """By coherence: Var(x_ij) <= sigma2 mu_i mu_j; for small p also by what remains of each row or column.

        Var(x_ij | y) = v_j' B_i v_j <= mu_j |B_i| (spectral norm), B_i = (u_i (x) I)' Cov(vec M | y) (u_i (x) I).
        """
        mu_i, mu_j = (np.sqrt(coherence(X))[:, None] for X in (self.U, self.V))
        bounds = [(np.sqrt(self.sigma2) * mu_i, mu_j)]
        if 0 < self.p <= FEW_FEATURES:
            q1, q2 = self.U.shape[1], self.V.shape[1]
            core = self.core.reshape(q1, q2, q1, q2)
            bounds.append((_largest(self.U, core), mu_j))
            bounds.append((mu_i, _largest(self.V, core.transpose(1, 0, 3, 2))))
        return bounds


def _largest(U: Array, core: Array) -> Array:
    """|B_i|^(1/2) for each row of U, as a column; core is (q1, q2, q1, q2)."""
    q1, q2 = core.shape[:2]
    pairs = (U[:, :, None] * U[:, None, :]).reshape(len(U), q1 * q1)
    B = (pairs @ core.transpose(0, 2, 1, 3).reshape(q1 * q1, q2 * q2)).reshape(len(U), q2, q2)
    largest: Array = np.sqrt(np.maximum(np.linalg.eigvalsh(B)[:, -1:], 0.0))
    return largest


@dataclass(frozen=True, eq=False, repr=False)
class CoreField(SubspaceField):
    """The observed entries are in the features sqrt(eta2) C^-1 sigma phi_ij, C C' = sigma2 Phi'Phi + eta2 I."""

    C: Array

    def features(self, rows: Indices, cols: Indices) -> Array:
        """sqrt(eta2) C^-1 sigma phi_ij for each entry."""
        F: Array = solve_triangular(self.C, super().features(rows, cols).T, lower=True).T
        return np.ascontiguousarray(np.sqrt(self.eta2) * F)

    @property
    def work(self) -> Work:
        """Features are solutions of triangular systems."""
        return Work(self.p, self.p, self.p * self.p)

    @cached_property
    def _inverse(self) -> Array:
        """C^-1."""
        inverse: Array = solve_triangular(self.C, np.eye(self.p), lower=True)
        return inverse

    @property
    def core(self) -> Array:
        """Cov(vec M | y) = sigma2 eta2 (C C')^-1 = eta2 S."""
        return self.sigma2 * self.eta2 * (self._inverse.T @ self._inverse)

    @cached_property
    def factors(self) -> tuple[Array, Array]:
        """Factors of the map of Lemma 2."""
        return score_factors(self.U, self.V, self.core, 1.0)

    @cached_property
    def _left(self) -> Array:
        """The cores of the remaining variance of each row, or column."""
        return self._cores(self._inverse)

    def variances(self, rows: Indices, cols: Indices) -> Array:
        """Lemma 2 in feature space, eta2 phi' S phi: by one product, or where q1 and q2 differ much, by cores."""
        if max(self.U.shape[1], self.V.shape[1]) ** 2 > UNEQUAL * self.p:
            return self.sigma2 * self.eta2 * self._forms(self._left, rows, cols)
        left, right = self.factors
        return np.maximum(left[rows] @ right[cols].T, 0.0)
