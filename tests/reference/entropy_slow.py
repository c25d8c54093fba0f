"""The paper's formulas for given subspaces as printed, N x N: cross-coherence, R_N, Proposition 1 and Lemma 2."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxentry.model.entropy import coherence


def cross_coherence(U, i, k):
    """nu_{i,k} for every pair of the index arrays `i` and `k`, as a len(i) x len(k) table, from a frame U."""
    return U[i] @ U[k].T


def R_N(U, V, rows, cols):
    """The N x N products of cross-coherences of the entries Omega; Cov(x_Omega | U, V) = sigma2 R_N."""
    return cross_coherence(U, rows, rows) * cross_coherence(V, cols, cols)


def entropy_bound(U, V, rows, cols, sigma2, eta2):
    """Proposition 1, corrected: a lower bound on det{sigma2 R_N + eta2 I}^(1/N), which may be negative.

    min over n of  sigma2 mu_{i_n} mu_{j_n} + eta2 - Psi_n  with
    Psi_n = sigma2 (N-1)/2 {max over n' != n of nu^2_{i_n,i_n'} + max over n' != n of nu^2_{j_n,j_n'}}.

    The paper divides Psi by R, and that is not a bound for R >= 2: docs/paper_to_code.md has the proof of
    the form above and a counterexample to the printed one. Where the bound is positive,
    H(Y_Omega) >= N/2 log(2 pi e bound).
    """
    N = len(rows)
    signal = coherence(U)[rows] * coherence(V)[cols]
    worst = _largest_square_off_diagonal(U, rows) + _largest_square_off_diagonal(V, cols)
    return float(np.min(sigma2 * (signal - (N - 1) / 2 * worst) + eta2))


def _largest_square_off_diagonal(U, index):
    """max over n' != n of nu^2_{i_n,i_n'}, for each n; zero where there is only one entry."""
    nu2 = cross_coherence(U, index, index) ** 2
    np.fill_diagonal(nu2, 0.0)
    return nu2.max(axis=1)


def lemma2_score(U, V, rows, cols, gamma2, i, j):
    """Lemma 2 as printed: mu_i mu_j - nu' [R_N + gamma2 I]^-1 nu at the candidates (i, j); cost O(N^3).

    sigma2 times the score is Var(x_ij | y) for given subspaces, and
    det(Omega + (i, j)) / det(Omega) = sigma2 (score + gamma2) for the determinant of Lemma 1.
    """
    nu = cross_coherence(U, rows, i) * cross_coherence(V, cols, j)
    factor = cho_factor(R_N(U, V, rows, cols) + gamma2 * np.eye(len(rows)))
    return coherence(U)[i] * coherence(V)[j] - np.einsum("nk,nk->k", nu, cho_solve(factor, nu))
