"""Coherence and cross-coherence against their definitions with basis vectors."""

import numpy as np
from scipy.stats import beta, kstest
from tests.reference.entropy_slow import cross_coherence

from maxentry.model.entropy import coherence
from maxentry.model.smg import uniform_frame

M, R = 7, 3
U = np.linalg.qr(np.random.default_rng(0).standard_normal((M, R)))[0]
P = U @ U.T
EVERY = np.arange(M)


def test_coherence_is_the_squared_length_of_the_projected_basis_vector() -> None:
    definition = [np.linalg.norm(P @ e) ** 2 for e in np.eye(M)]
    np.testing.assert_allclose(coherence(U), definition, rtol=1e-12)
    assert np.isclose(coherence(U).sum(), R)  # on average R/m, whatever the subspace


def test_cross_coherence_is_the_inner_product_of_projected_basis_vectors() -> None:
    i, k = np.array([0, 2, 2]), np.array([5, 2])
    definition = [[np.eye(M)[b] @ P @ np.eye(M)[a] for b in k] for a in i]
    np.testing.assert_allclose(cross_coherence(U, i, k), definition, atol=1e-14)


def test_both_depend_on_the_subspace_and_not_on_its_frame() -> None:
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((R, R)))[0]
    np.testing.assert_allclose(coherence(U @ rotation), coherence(U), rtol=1e-12)
    np.testing.assert_allclose(
        cross_coherence(U @ rotation, EVERY, EVERY), cross_coherence(U, EVERY, EVERY), atol=1e-14
    )


def test_under_the_uniform_prior_coherence_is_beta_and_sharing_a_row_correlates() -> None:
    """E nu^2 is R(R+2)/(m(m+2)) within a row and R(m-R)/(m(m-1)(m+2)) across rows: hence balance."""
    rng = np.random.default_rng(2)
    frames = [uniform_frame(M, R, rng) for _ in range(4000)]
    assert kstest([coherence(F)[3] for F in frames], beta(R / 2, (M - R) / 2).cdf).pvalue > 1e-3
    within, across = R * (R + 2) / (M * (M + 2)), R * (M - R) / (M * (M - 1) * (M + 2))
    nu2 = np.array([cross_coherence(F, EVERY[:1], EVERY[:2])[0] ** 2 for F in frames])
    z = (nu2.mean(axis=0) - [within, across]) / (nu2.std(axis=0) / np.sqrt(len(nu2)))
    assert np.all(np.abs(z) < 4)
    swapped = (nu2.mean(axis=0) - [across, within]) / (nu2.std(axis=0) / np.sqrt(len(nu2)))
    assert np.all(np.abs(swapped) > 10)  # negative control
