"""Coherence and cross-coherence against their definitions with basis vectors."""

import numpy as np

from maxentry.model.coherence import (
    coherence,
    cross_coherence,
    projection_coherence,
    projection_cross_coherence,
)

M, R = 7, 3
U = np.linalg.qr(np.random.default_rng(0).standard_normal((M, R)))[0]
P = U @ U.T
EVERY = np.arange(M)


def test_coherence_is_the_squared_length_of_the_projected_basis_vector() -> None:
    definition = [np.linalg.norm(P @ e) ** 2 for e in np.eye(M)]
    np.testing.assert_allclose(coherence(U), definition, rtol=1e-12)
    np.testing.assert_allclose(projection_coherence(P), definition, rtol=1e-12)
    assert np.isclose(coherence(U).sum(), R)  # on average R/m, whatever the subspace


def test_cross_coherence_is_the_inner_product_of_projected_basis_vectors() -> None:
    i, k = np.array([0, 2, 2]), np.array([5, 2])
    definition = [[np.eye(M)[b] @ P @ np.eye(M)[a] for b in k] for a in i]
    np.testing.assert_allclose(cross_coherence(U, i, k), definition, atol=1e-14)
    np.testing.assert_allclose(projection_cross_coherence(P, i, k), definition, atol=1e-14)


def test_both_depend_on_the_subspace_and_not_on_its_frame() -> None:
    rotation = np.linalg.qr(np.random.default_rng(1).standard_normal((R, R)))[0]
    np.testing.assert_allclose(coherence(U @ rotation), coherence(U), rtol=1e-12)
    np.testing.assert_allclose(
        cross_coherence(U @ rotation, EVERY, EVERY), cross_coherence(U, EVERY, EVERY), atol=1e-14
    )


def test_a_mean_of_projections_takes_its_diagonal_and_keeps_the_trace() -> None:
    frames = [np.linalg.qr(np.random.default_rng(s).standard_normal((M, R)))[0] for s in range(5)]
    mean = np.mean([F @ F.T for F in frames], axis=0)
    assert np.isclose(projection_coherence(mean).sum(), R)
    assert np.all(projection_coherence(mean) > np.einsum("ij,ij->i", mean, mean))  # ||P e_i||^2 is less
