"""The SMG by its law: moments, singular values, covariance given the subspaces; and the simulated data."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2, invgamma, ks_2samp, kstest

from maxentry.errors import DataError, ParameterError, RankError
from maxentry.model.priors import Priors
from maxentry.model.smg import SMG, draw_smg, simulate, uniform_entries

Floats = NDArray[np.float64]
M1, M2, R, SIGMA2, DRAWS = 6, 4, 2, 1.7, 8000


@pytest.fixture(scope="module")
def draws() -> list[SMG]:
    rng = np.random.default_rng(20)
    return [draw_smg(M1, M2, R, SIGMA2, rng) for _ in range(DRAWS)]


@pytest.fixture(scope="module")
def matrices(draws: list[SMG]) -> Floats:
    return np.array([X.matrix() for X in draws])


def z_score(samples: Floats, expected: float | Floats) -> Floats:
    """How many standard errors the mean of the samples (first axis) lies from the expected value."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return np.asarray((samples.mean(axis=0) - expected) / error)


def test_a_draw_has_the_rank_and_its_factors_are_frames(draws: list[SMG], matrices: Floats) -> None:
    X = draws[0]
    assert X.shape == (M1, M2)
    np.testing.assert_allclose(X.U.T @ X.U, np.eye(R), atol=1e-14)
    np.testing.assert_allclose(X.V.T @ X.V, np.eye(R), atol=1e-14)
    assert np.linalg.matrix_rank(matrices[0]) == R
    rows, cols = np.array([0, 5, 5]), np.array([3, 0, 0])
    np.testing.assert_allclose(X.at(rows, cols), matrices[0][rows, cols], atol=1e-14)


def test_the_squared_norm_has_mean_R_squared_sigma2(matrices: Floats) -> None:
    norm2 = np.sum(matrices**2, axis=(1, 2))
    assert abs(z_score(norm2, R**2 * SIGMA2)) < 4
    assert kstest(norm2 / SIGMA2, chi2(R**2).cdf).pvalue > 1e-3
    assert abs(z_score(norm2, R * SIGMA2)) > 10  # negative control


def test_every_entry_has_mean_zero_and_the_prior_variance(matrices: Floats) -> None:
    variance = SIGMA2 * (R / M1) * (R / M2)
    # The largest of 24 standard normals exceeds 4.5 once in 6,000 such tests.
    assert np.max(np.abs(z_score(matrices, 0.0))) < 4.5
    assert np.max(np.abs(z_score(matrices**2, variance))) < 4.5
    assert np.min(np.abs(z_score(matrices**2, SIGMA2 * R / (M1 * M2)))) > 10  # negative control


def largest_singular_value_cdf(repulsion: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """The law of max(d_1, d_2) under exp(-(d_1^2+d_2^2) / 2 sigma2) repulsion(|d_1^2 - d_2^2|), gridded."""
    step = 0.01
    d = np.arange(step / 2, 12 * np.sqrt(SIGMA2), step)
    joint = np.exp(-(d[:, None] ** 2 + d**2) / (2 * SIGMA2)) * repulsion(np.abs(d[:, None] ** 2 - d**2))
    density = np.tril(joint).sum(axis=1)
    mass = np.cumsum(density) / density.sum()
    return lambda x: np.interp(x, d + step / 2, mass)


def test_the_singular_values_follow_the_quadrant_law(matrices: Floats) -> None:
    largest = np.linalg.norm(matrices, ord=2, axis=(1, 2))
    assert kstest(largest, largest_singular_value_cdf(lambda gap: gap)).pvalue > 1e-3
    assert kstest(largest, largest_singular_value_cdf(np.ones_like)).pvalue < 1e-6  # negative control


@pytest.mark.parametrize(("a", "b"), [((0, 0), (0, 0)), ((0, 0), (1, 0)), ((2, 1), (3, 2))])
def test_the_covariance_given_the_subspaces(
    draws: list[SMG], matrices: Floats, a: tuple[int, int], b: tuple[int, int]
) -> None:
    """E[x_a x_b | U, V] = sigma2 P_U[i,k] P_V[j,l]: the error is uncorrelated with the right side itself."""
    p = np.array([(X.U[a[0]] @ X.U[b[0]]) * (X.V[a[1]] @ X.V[b[1]]) for X in draws])
    products = matrices[:, *a] * matrices[:, *b]
    assert abs(z_score((products - SIGMA2 * p) * p, 0.0)) < 4
    assert abs(z_score((products - SIGMA2 * p.mean()) * p, 0.0)) > 6  # negative control: p does matter


def test_a_draw_has_the_law_of_definition_1(matrices: Floats) -> None:
    """The slow twin: project a full Gaussian matrix Z on two random subspaces."""
    rng = np.random.default_rng(21)
    twins, one_sided = [], []
    for _ in range(3000):
        U, V = (np.linalg.qr(rng.standard_normal((m, R)))[0] for m in (M1, M2))
        Z = np.sqrt(SIGMA2) * rng.standard_normal((M1, M2))
        one_sided.append(U @ U.T @ Z)
        twins.append(U @ U.T @ Z @ V @ V.T)
    for statistic in (lambda X: X[:, 0, 0], lambda X: X[:, 1].sum(axis=1), lambda X: np.abs(X).max((1, 2))):
        assert ks_2samp(statistic(matrices), statistic(np.array(twins))).pvalue > 1e-3
        assert ks_2samp(statistic(matrices), statistic(np.array(one_sided))).pvalue < 1e-6  # negative control


def test_rank_zero_is_the_zero_matrix_and_full_rank_is_allowed() -> None:
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(draw_smg(3, 2, 0, 1.0, rng).matrix(), np.zeros((3, 2)))
    assert np.linalg.matrix_rank(draw_smg(3, 2, 2, 1.0, rng).matrix()) == 2


@pytest.mark.parametrize("rank", [-1, 3])
def test_an_impossible_rank_is_refused(rank: int) -> None:
    with pytest.raises(RankError, match=f"a 3 x 2 matrix has a rank between 0 and 2, got {rank}"):
        draw_smg(3, 2, rank, 1.0, np.random.default_rng(0))


def test_uniform_entries_are_different_and_uniform() -> None:
    rng = np.random.default_rng(1)
    counts = np.zeros((3, 4))
    for _ in range(2000):
        rows, cols = uniform_entries((3, 4), 5, rng)
        assert len(set(zip(rows.tolist(), cols.tolist(), strict=True))) == 5
        counts[rows, cols] += 1
    expected, sd = 2000 * 5 / 12, np.sqrt(2000 * (5 / 12) * (7 / 12))
    assert np.max(np.abs(counts - expected)) < 4 * sd
    with pytest.raises(DataError, match="has 12 entries, cannot choose 13"):
        uniform_entries((3, 4), 13, rng)


def test_simulated_values_are_the_entries_plus_noise() -> None:
    s = simulate((80, 60), 3, 4000, np.random.default_rng(2), sigma2=2.0, eta2=0.25)
    noise = s.values - s.X.matrix()[s.rows, s.cols]
    assert kstest(noise / 0.5, "norm").pvalue > 1e-3
    assert kstest(noise / 0.45, "norm").pvalue < 1e-3  # negative control
    assert (s.sigma2, s.eta2) == (2.0, 0.25)


def test_a_simulation_is_repeatable_and_measures_the_given_entries() -> None:
    rows, cols = np.array([0, 0, 2]), np.array([1, 1, 0])
    one, two = (simulate((4, 3), 1, (rows, cols), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.rows, rows)
    assert one.values[0] != one.values[1]  # replicates of one entry have noise of their own
    assert (one.sigma2, one.eta2) == (1.0, 1e-4)  # the paper's


def test_variances_are_drawn_from_priors_where_asked() -> None:
    rng, priors = np.random.default_rng(4), Priors.paper()
    many = [simulate((4, 3), 1, 2, rng, sigma2=priors.signal, eta2=priors.noise) for _ in range(1000)]
    assert kstest([s.sigma2 for s in many], invgamma(9, scale=10).cdf).pvalue > 1e-3
    assert kstest([s.eta2 for s in many], invgamma(9, scale=1e-3).cdf).pvalue > 1e-3
    assert kstest([s.eta2 for s in many], invgamma(9, scale=1.2e-3).cdf).pvalue < 1e-3  # negative control


def test_entries_and_variances_that_make_no_sense_are_refused() -> None:
    rng = np.random.default_rng(5)
    with pytest.raises(DataError, match="column indices must lie between 0 and 2, got 0 to 3"):
        simulate((4, 3), 1, (np.array([0, 1]), np.array([0, 3])), rng)
    with pytest.raises(DataError, match="got 2 rows and 1 columns"):
        simulate((4, 3), 1, (np.array([0, 1]), np.array([0])), rng)
    with pytest.raises(ParameterError, match="eta2 must be a finite number, 0 or more, got -1"):
        simulate((4, 3), 1, 2, rng, eta2=-1.0)
