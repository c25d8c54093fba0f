"""Lemma 1 and Lemma 2 against independent computations; nothing here is random but the fixed designs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from tests.reference.entropy_slow import R_N, lemma2_score

from maxentry.errors import ParameterError
from maxentry.model.entropy import (
    core_covariance,
    features,
    observational_entropy,
    score_map,
)

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Design = tuple[Floats, Floats, Indices, Indices]


def design(seed: int, m1: int = 6, m2: int = 5, R: int = 2, N: int = 8) -> Design:
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((m, R)))[0] for m in (m1, m2))
    rows, cols = np.divmod(rng.choice(m1 * m2, N, replace=False), m2)
    return U, V, rows, cols


def unobserved(U: Floats, V: Floats, rows: Indices, cols: Indices) -> tuple[Indices, Indices]:
    free = np.ones((len(U), len(V)), dtype=bool)
    free[rows, cols] = False
    i, j = np.nonzero(free)
    return i, j


def test_R_N_is_the_covariance_of_a_linear_model_in_the_features() -> None:
    U, V, rows, cols = design(0)
    Phi = features(U, V, rows, cols)
    np.testing.assert_allclose(R_N(U, V, rows, cols), Phi @ Phi.T, atol=1e-14)
    M = np.random.default_rng(1).standard_normal((2, 2))
    np.testing.assert_allclose(Phi @ M.ravel(), (U @ M @ V.T)[rows, cols], atol=1e-14)


@pytest.mark.parametrize("N", [1, 3, 4, 5, 20])  # on both sides of R^2 = 4
def test_lemma_1_is_the_entropy_of_the_gaussian_law_of_the_observations(N: int) -> None:
    U, V, rows, cols = design(2, N=N)
    sigma2, eta2 = 1.7, 0.3
    # Covariance of Definition 1 itself: vec(P_U Z P_V) = (P_U kron P_V) vec(Z).
    K = np.kron(U @ U.T, V @ V.T)
    at = rows * len(V) + cols
    covariance = sigma2 * (K @ K.T)[np.ix_(at, at)] + eta2 * np.eye(N)
    expected = multivariate_normal(np.zeros(N), covariance).entropy()
    assert observational_entropy(U, V, rows, cols, sigma2, eta2) == pytest.approx(expected, rel=1e-12)
    printed = np.linalg.slogdet(covariance).logabsdet  # log of the paper's E, which lacks the square root
    without_constant = expected - N / 2 * np.log(2 * np.pi * np.e)
    assert printed == pytest.approx(2 * without_constant, rel=1e-10)


def test_lemma_1_counts_replicates_of_an_entry() -> None:
    U, V, rows, cols = design(3, N=3)
    rows, cols = np.append(rows, rows[0]), np.append(cols, cols[0])
    covariance = 1.5 * R_N(U, V, rows, cols) + 0.2 * np.eye(4)
    expected = multivariate_normal(np.zeros(4), covariance).entropy()
    assert observational_entropy(U, V, rows, cols, 1.5, 0.2) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("gamma2", [1e-4, 0.1, 10.0])
def test_lemma_2_finds_the_entry_that_maximises_lemma_1(seed: int, gamma2: float) -> None:
    U, V, rows, cols = design(seed)
    sigma2 = 2.0
    i, j = unobserved(U, V, rows, cols)
    scores = lemma2_score(U, V, rows, cols, gamma2, i, j)
    det = [
        np.linalg.det(
            sigma2 * R_N(U, V, np.append(rows, a), np.append(cols, b))
            + sigma2 * gamma2 * np.eye(len(rows) + 1)
        )
        for a, b in zip(i, j, strict=True)
    ]
    assert np.argmax(scores) == np.argmax(det)
    before = np.linalg.det(sigma2 * R_N(U, V, rows, cols) + sigma2 * gamma2 * np.eye(len(rows)))
    np.testing.assert_allclose(np.array(det) / before, sigma2 * (scores + gamma2), rtol=1e-7)


def test_the_largest_coherence_alone_does_not_decide() -> None:
    """Negative control: were the second term of Lemma 2 zero, the argmax would be another one."""
    changed = 0
    for seed in range(10):
        U, V, rows, cols = design(seed)
        i, j = unobserved(U, V, rows, cols)
        coherent = lemma2_score(U, V, rows[:0], cols[:0], 0.1, i, j)
        changed += np.argmax(coherent) != np.argmax(lemma2_score(U, V, rows, cols, 0.1, i, j))
    assert changed >= 5


@pytest.mark.parametrize(("R", "N"), [(1, 5), (2, 3), (3, 8), (3, 40)])
@pytest.mark.parametrize("gamma2", [1e-4, 0.1, 10.0])
def test_the_feature_form_of_lemma_2_agrees_with_the_printed_one(R: int, N: int, gamma2: float) -> None:
    U, V, rows, cols = design(4, m1=9, m2=7, R=R, N=N)
    i, j = (k.ravel() for k in np.indices((9, 7)))
    printed = lemma2_score(U, V, rows, cols, gamma2, i, j)
    S = core_covariance(U, V, rows, cols, gamma2)
    np.testing.assert_allclose(score_map(U, V, S, gamma2).ravel(), printed, rtol=1e-9)


def test_the_score_map_takes_sides_of_different_rank() -> None:
    """Factors of mean projections have more than R columns, and not equally many."""
    rng = np.random.default_rng(5)
    U, V = rng.standard_normal((6, 4)), rng.standard_normal((5, 2))
    rows, cols = np.array([0, 1, 5]), np.array([4, 4, 0])
    i, j = (k.ravel() for k in np.indices((6, 5)))
    S = core_covariance(U, V, rows, cols, 0.3)
    np.testing.assert_allclose(
        score_map(U, V, S, 0.3).ravel(), lemma2_score(U, V, rows, cols, 0.3, i, j), rtol=1e-9
    )


def test_the_score_is_the_posterior_variance_of_the_entry_in_units_of_sigma2() -> None:
    U, V, rows, cols = design(6)
    sigma2, eta2 = 2.0, 0.5
    every = np.divmod(np.arange(30), 5)
    prior = sigma2 * R_N(U, V, *every)
    at = rows * 5 + cols
    gain = np.linalg.solve(prior[np.ix_(at, at)] + eta2 * np.eye(len(at)), prior[at])
    posterior = np.diag(prior - prior[:, at] @ gain)
    np.testing.assert_allclose(
        sigma2 * lemma2_score(U, V, rows, cols, eta2 / sigma2, *every), posterior, rtol=1e-9
    )


def test_variances_that_make_no_sense_are_refused() -> None:
    U, V, rows, cols = design(7)
    with pytest.raises(ParameterError, match=r"eta2 > 0, got sigma2 = 1\.0, eta2 = 0"):
        observational_entropy(U, V, rows, cols, 1.0, 0.0)
    with pytest.raises(ParameterError, match="gamma2 = eta2 / sigma2 > 0, got nan"):
        core_covariance(U, V, rows, cols, float("nan"))
