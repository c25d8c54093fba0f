"""Coherence and observational entropy for given subspaces: Lemma 1 and Lemma 2 of the paper.

    U, V        m1 x R and m2 x R     frames; P_U = U U', P_V = V V' (or any factors of P_U and P_V)
    rows, cols  N                     the entries Omega = {(i_n, j_n)}, repeats allowed
    phi_ij      R^2                   u_i (x) v_j, the features of entry (i, j): x_ij = phi_ij' vec(M)
    Phi         N x R^2               the features of Omega
    R_N         N x N                 Phi Phi', with entries nu_{i_n,i_n'}(U) nu_{j_n,j_n'}(V)
    gamma2      -                     eta2 / sigma2
    S           R^2 x R^2             (Phi'Phi + gamma2 I)^-1; Cov(vec M | y) = eta2 S

Coherence is mu_i = ||P e_i||^2 and cross-coherence nu_{i,k} = e_k' P e_i. Projections are idempotent, so
mu_i = nu_{i,i}. A posterior mean of projections is not idempotent, and there the two differ. The lemmas need
nu_{i,i}, which keeps R_N a covariance matrix, so that is what `coherence` computes.

Given U and V, vec(M) ~ N(0, sigma2 I), so y on Omega is Gaussian with covariance sigma2 R_N + eta2 I.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from maxentry._types import Indices
from maxentry.errors import ParameterError

Floats = NDArray[np.float64]


def coherence(U: Floats) -> Floats:
    """mu_i for every i, from a frame U (m x R)."""
    mu: Floats = np.einsum("ir,ir->i", U, U)
    return mu


def features(U: Floats, V: Floats, rows: Indices, cols: Indices) -> Floats:
    """Phi: the row phi_ij = u_i (x) v_j for each given entry, so that R_N = Phi Phi'."""
    u, v = U[rows], V[cols]
    return (u[:, :, None] * v[:, None, :]).reshape(len(rows), U.shape[1] * V.shape[1])


def observational_entropy(
    U: Floats, V: Floats, rows: Indices, cols: Indices, sigma2: float, eta2: float
) -> float:
    """Lemma 1: H(Y_Omega) = 1/2 log det{2 pi e (sigma2 R_N + eta2 I)}, in nats, for given subspaces.

    The paper prints exp H = C det{...}; it is C det{...}^(1/2), which has the same maximiser.
    The determinant is taken of the smaller of Phi Phi' and Phi'Phi (N x N or R^2 x R^2).
    """
    if not (sigma2 >= 0 and eta2 > 0):
        raise ParameterError(f"expected sigma2 >= 0 and eta2 > 0, got sigma2 = {sigma2}, eta2 = {eta2}")
    Phi = features(U, V, rows, cols)
    N, q = Phi.shape
    gram = Phi @ Phi.T if q >= N else Phi.T @ Phi
    log_det = np.linalg.slogdet(sigma2 * gram + eta2 * np.eye(len(gram))).logabsdet
    log_det += max(N - q, 0) * np.log(eta2)
    return float(0.5 * (N * np.log(2 * np.pi * np.e) + log_det))


def core_covariance(U: Floats, V: Floats, rows: Indices, cols: Indices, gamma2: float) -> Floats:
    """S = (Phi'Phi + gamma2 I)^-1: eta2 S is the covariance of vec(M) given y on Omega."""
    if not gamma2 > 0:
        raise ParameterError(f"expected gamma2 = eta2 / sigma2 > 0, got {gamma2}")
    Phi = features(U, V, rows, cols)
    q = Phi.shape[1]
    S = cho_solve(cho_factor(Phi.T @ Phi + gamma2 * np.eye(q)), np.eye(q))
    return (S + S.T) / 2


def score_map(U: Floats, V: Floats, S: Floats, gamma2: float) -> Floats:
    """Lemma 2 at every entry (m1 x m2), gamma2 phi_ij' S phi_ij, by one matrix product of inner dimension R(R+1)/2.

    The paper prints mu_i mu_j - nu' [R_N + gamma2 I]^-1 nu. The two are equal by the push-through identity
    I - Phi' (Phi Phi' + g I)^-1 Phi = g (Phi'Phi + g I)^-1, with g = gamma2, and here nothing is N x N.
    """
    left, right = score_factors(U, V, S, gamma2)
    scores: Floats = left @ right.T
    return scores


def score_factors(U: Floats, V: Floats, S: Floats, gamma2: float) -> tuple[Floats, Floats]:
    """Lemma 2 at entry (i, j) as the product of row i of the one and row j of the other.

    phi_ij' S phi_ij = sum over a <= b, c <= d of (u_ia u_ib) T_{ab,cd} (v_jc v_jd), with T the entries of S
    folded over a <-> b and c <-> d.
    """
    R1, R2 = U.shape[1], V.shape[1]
    T = S.reshape(R1, R2, R1, R2).transpose(0, 2, 1, 3).reshape(R1, R1, R2 * R2)
    T = _fold(T).reshape(-1, R2, R2).transpose(1, 2, 0)
    T = _fold(T).T
    return _pair_products(U) @ (gamma2 * T), _pair_products(V)


def _pair_products(U: Floats) -> Floats:
    a, b = np.triu_indices(U.shape[1])
    by_column = np.ascontiguousarray(U.T)  # whole columns are gathered, so they should lie together
    products: Floats = (by_column[a] * by_column[b]).T
    return products


def _fold(T: Floats) -> Floats:
    """(R, R, q) -> (R(R+1)/2, q): the sum of T_ab and T_ba for a < b, and T_aa."""
    a, b = np.triu_indices(T.shape[0])
    folded: Floats = T[a, b] + T[b, a]
    folded[a == b] /= 2
    return folded
