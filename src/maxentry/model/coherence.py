"""Coherence mu_i and cross-coherence nu_{i,i'} of a subspace (paper, section 3.2).

With P = U U' the projection onto the subspace, mu_i = ||P e_i||^2 and nu_{i,k} = e_k' P e_i. Because P is
symmetric and idempotent, ||P e_i||^2 = e_i' P e_i = nu_{i,i}: coherence is the diagonal of cross-coherence.
A posterior mean of projections is not idempotent (its eigenvalues lie below one), and there the two differ;
Lemmas 1 and 2 need nu_{i,i}, which keeps R_N a covariance matrix, so that is what is computed here.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def coherence(U: Floats) -> Floats:
    """mu_i for every i, from a frame U (m x R)."""
    mu: Floats = np.einsum("ir,ir->i", U, U)
    return mu


def cross_coherence(U: Floats, i: Indices, k: Indices) -> Floats:
    """nu_{i,k} for every pair of the index arrays `i` and `k`, as a len(i) x len(k) table, from a frame U."""
    nu: Floats = U[i] @ U[k].T
    return nu


def projection_coherence(P: Floats) -> Floats:
    """mu_i for every i, from a projection P (m x m) or a mean of projections."""
    return np.diagonal(P).copy()


def projection_cross_coherence(P: Floats, i: Indices, k: Indices) -> Floats:
    """nu_{i,k} for every pair of the index arrays `i` and `k`, from a projection or a mean of projections."""
    return P[np.ix_(i, k)]
