"""Conjugate gradients with noise in the right-hand side: the draws of Cholesky, their law, fits with many features."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tests.posterior import test_link_geweke as geweke
from tests.reference import link_slow

from maxentry import complete
from maxentry._io import ThreadTeam
from maxentry.kernels import gradients
from maxentry.model import link
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.link import PRIOR, Basis
from maxentry.observations import Observations
from maxentry.posterior import chains, gibbs
from maxentry.posterior.diagnostics import warn_of_steps
from maxentry.posterior.schedule import Sampling
from maxentry.progress import _NoProgress


@pytest.fixture
def iterate(monkeypatch):
    """No features are few enough for singular vectors."""
    monkeypatch.setattr(link, "MOST", 0)


def fingerprints(m, p, seed, density=0.1):
    bits = random_array((m, p), density=density, rng=np.random.default_rng(seed), format="csr")
    bits.data[:] = 1.0
    return csr_array(bits)


@pytest.mark.parametrize(("m", "p", "K", "rho"), [(60, 40, 3, 1.0), (40, 90, 4, 30.0), (50, 50, 9, 0.01)])
def test_draws_are_those_of_cholesky_given_the_same_noise(iterate, m, p, K, rho):
    basis, rng = Basis(m, fingerprints(m, p, 1)), np.random.default_rng(2)
    F, G = basis.apply(np.eye(p)), rng.standard_normal((m, K))
    Q = np.cov(rng.standard_normal((K, 3 * K))) + np.eye(K)
    work = gradients.allocate(basis.sparse, K)
    gradients.set_sides(work, G, np.zeros(m), K, False, 1 / rho, np.random.default_rng(3))
    Z1, Z2 = replay_noise(m, p, K)
    steps = gradients.solve_blocks(np.zeros(1, np.int64), work, 1 / rho)
    assert 2 < steps < gradients.MOST_STEPS
    C, W, z = np.linalg.cholesky(Q), np.empty((p, K)), np.empty(K)
    for k in range(p):
        gradients.combine(work.X, k, K, C, W[k], z)
    expected = link_slow.draw_given_noise(F, G, Q, rho, Z1, Z2)
    sd = np.sqrt(np.outer(np.diag(np.linalg.inv(F.T @ F + np.eye(p) / rho)), np.diag(np.linalg.inv(Q))))
    assert np.abs((W - expected) / sd).max() < 1e-5  # far below the error of any number of draws
    said = np.array([work.Y[a // 8, :, a % 8] for a in range(K)]).T
    mean = F @ np.linalg.solve(F.T @ F + np.eye(p) / rho, F.T @ G)
    np.testing.assert_allclose(said, mean, atol=1e-5 * np.abs(G).max())
    other = link_slow.draw_given_noise(F, G, Q, 1.1 * rho, Z1, Z2)  # control
    assert np.abs((W - other) / sd).max() > 1e-3


def replay_noise(m, p, K):
    """The normals of `set_sides`, block by block of eight columns: of rows, then of features."""
    rng, Z1, Z2 = np.random.default_rng(3), np.empty((m, K)), np.empty((p, K))
    for first in range(0, 2 * K, 8):
        own = [c - K for c in range(max(first, K), min(first + 8, 2 * K))]
        for Z in (Z1, Z2):
            Z[:, own] = rng.standard_normal((len(Z), len(own)))
    return Z1, Z2


def test_nothing_to_solve_ends_at_once(iterate):
    work = gradients.allocate(Basis(30, fingerprints(30, 20, 1)).sparse, 1)
    for array in (work.B, work.X, work.Y):
        array[:] = 0.0
    assert gradients.solve_blocks(np.zeros(1, np.int64), work, 1.0) == 0
    assert not work.X.any()


def test_the_solver_is_bounded_where_the_ridge_vanishes(iterate):
    work = gradients.allocate(Basis(40, fingerprints(40, 90, 1)).sparse, 2)
    gradients.set_sides(work, np.ones((40, 2)), np.zeros(40), 2, False, 1e-300, np.random.default_rng(1))
    assert gradients.solve_blocks(np.zeros(1, np.int64), work, 1e-300) <= gradients.MOST_STEPS
    assert np.isfinite(work.X).all()


def bumps(m, p):
    """Neighbouring bumps along a line: features that are almost sums of others."""
    return csr_array(np.exp(-(((np.linspace(0, 1, m)[:, None] - np.linspace(0, 1, p)) / 0.03) ** 2)))


@pytest.mark.parametrize(("lam", "short"), [(1e-2, False), (1e-12, True)])
def test_a_solver_that_stops_before_its_tolerance_is_counted(iterate, lam, short):
    work = gradients.allocate(Basis(300, bumps(300, 250)).sparse, 2)
    gradients.set_sides(work, np.ones((300, 2)), np.zeros(300), 2, False, lam, np.random.default_rng(1))
    steps = gradients.solve_blocks(np.zeros(1, np.int64), work, lam)
    assert (steps == gradients.MOST_STEPS) == short
    assert work.solved.tolist() == [[1, short]]


def test_chains_say_that_it_stopped_and_how_often(iterate):
    with pytest.warns(UserWarning, match=r"stopped after 2,000 steps in 3 of 40 systems"):
        warn_of_steps([(20, 1), (20, 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_steps([(20, 0), (20, 0)])
        warn_of_steps([])


def test_a_fit_counts_its_regressions(iterate):
    rng, shape = np.random.default_rng(9), (30, 12)
    i, j = np.divmod(np.sort(rng.permutation(360)[:150]), 12)
    places = Observations(shape, i, j, rng.standard_normal(150))
    data = gibbs.prepare(places, True, GAUSSIAN, True, None, (Basis(30, fingerprints(30, 20, 1)), Basis(12)))
    weak, sampling = (
        gibbs.Priors.weak(shape, 2),
        Sampling("long", chains=2, anneal=0, settle=3, draws=2, thin=2),
    )
    begun = chains.spawn_chains(np.random.SeedSequence(1), data, [2, 2], lambda _: weak)
    run = chains.run_chains(begun, data, lambda _: weak, sampling, _NoProgress())
    assert [chain.solved for chain in run.chains] == [(7, 0)] * 2  # a sweep has one of 2 (R + 1) = 6 sides


@pytest.mark.parametrize("p", [3, 25])
def test_coefficients_given_a_draw_have_the_law_of_a_ridge_regression(iterate, p):
    rng = np.random.default_rng(6)
    basis, G, rho = Basis(12, rng.standard_normal((12, p))), rng.standard_normal((12, 2)), 0.7
    F = basis.apply(np.eye(p))
    draws = [basis.draw_coefficients(G, rho, PRIOR, False, rng) for _ in range(4_000)]
    W = np.array([draw[2] for draw in draws])
    C = np.linalg.inv(F.T @ F + np.eye(p) / rho)
    z = (W.mean(0) - C @ F.T @ G) / (W.std(0) / np.sqrt(len(W)))
    assert np.abs(z).max() < 4.5
    inverse = np.diag(np.mean([np.linalg.inv(draw[0]) for draw in draws], axis=0))
    np.testing.assert_allclose(W.var(0), np.outer(np.diag(C), inverse), rtol=0.2)
    w_0 = np.array([draw[1] for draw in draws])
    np.testing.assert_allclose(w_0.mean(0), G.sum(0) / 13, atol=4.5 * w_0.std() / np.sqrt(len(W)))
    np.testing.assert_allclose(w_0.var(0), inverse / 13, rtol=0.2)


narrow_prior = geweke.narrow_prior


@pytest.mark.parametrize("name", ["both", "more features than rows", "no effects"])
def test_sweeps_leave_the_joint_law_as_it_is(iterate, name):
    assert geweke.start_test(name, 1_500, 4, seed=1) < geweke.PASS


@pytest.mark.slow
@pytest.mark.parametrize("name", geweke.CASES)
def test_sweeps_leave_the_joint_law_as_it_is_in_many_starts(iterate, name):
    assert geweke.start_test(name, 10_000, 5, seed=2) < geweke.PASS


def test_threads_share_a_sweep_to_the_same_bits(iterate):
    rng = np.random.default_rng(7)
    i, j = np.divmod(np.sort(rng.permutation(300 * 40)[:3_000]), 40)
    places = Observations((300, 40), i, j, rng.standard_normal(3_000))
    data = gibbs.prepare(
        places, True, GAUSSIAN, True, None, (Basis(300, fingerprints(300, 80, 8)), Basis(40))
    )
    nothing, found = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2))), []
    for threads in (1, 3):
        rng, priors = np.random.default_rng(8), gibbs.Priors.weak((300, 40), 9)
        state, hyper = gibbs.init(data, 9, priors, rng), gibbs.hyperparameters(priors)
        with ThreadTeam(threads) as team:
            own = team if threads > 1 else None
            found.append(gibbs.step(state, data, 9, hyper, rng, np.ones(3), nothing, 0, team=own))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_fit_is_that_with_singular_vectors_up_to_monte_carlo_error(monkeypatch):
    rng = np.random.default_rng(9)
    F = fingerprints(80, 60, 9)
    told = F @ rng.standard_normal((60, 2))
    X = (told - told.mean(0)) @ rng.standard_normal((2, 15))
    Y = np.where(rng.random(X.shape) < 0.5, X + 0.3 * rng.standard_normal(X.shape), np.nan)
    Y[60:] = np.nan
    plan, fits = Sampling("population", 8, 0, 120, 40, 4), []
    for most in (1_000, 0):
        monkeypatch.setattr(link, "MOST", most)
        fits.append(complete(Y, rank=2, row_features=F, sampling=plan, seed=1))
    apart = (fits[0].arrays.mean - fits[1].arrays.mean) / fits[0].arrays.sd
    assert np.sqrt(np.mean(apart**2)) < 0.2
    np.testing.assert_allclose(fits[1].arrays.sd.mean(), fits[0].arrays.sd.mean(), rtol=0.1)
    plain = complete(Y, rank=2, sampling=plan, seed=1).arrays  # control
    assert np.sqrt(np.mean(((fits[0].arrays.mean - plain.mean) / fits[0].arrays.sd) ** 2)) > 0.4


@pytest.mark.parametrize(
    ("m", "p", "stored", "gradients"),
    [
        (900, 9_000, 900, False),  # few rows
        (1_500, 2_000, 49 * 1_500, True),  # 30 x 49 are fewer than 1,500
        (1_500, 2_000, 51 * 1_500, False),
        (2_000, 1_500, 51 * 2_000, False),
        (5_001, 6_000, 4_000 * 5_001, True),  # too many rows for vectors
    ],
)
def test_gradients_are_taken_where_they_are_less_work(m, p, stored, gradients):
    class Bits:
        shape, nnz = (m, p), stored

    assert Basis(m, Bits()).iterates == gradients


def test_vectors_are_taken_of_dense_features():
    assert not Basis(1_500, np.zeros((1_500, 1_200))).iterates


def test_more_rows_and_features_than_singular_vectors_are_found_of():
    m, p, rng = link.MOST + 100, link.MOST + 200, np.random.default_rng(10)
    F = fingerprints(m, p, 10, density=0.002)
    F = F[:, np.unique(F.indices)]  # bits that nobody has are left out
    i = rng.integers(0, m, 8_000)
    Y = csr_array((rng.standard_normal(i.size), (i, rng.integers(0, 6, i.size))), shape=(m, 6))
    plan = Sampling("population", 1, 0, 2, 2, 1)
    posterior = complete(Y, rank=1, row_features=F, sampling=plan, seed=1)
    assert np.isfinite(posterior.arrays.mean).all()
    assert len(posterior.features()) == F.shape[1] > link.MOST
    new = posterior.rows(np.full((1, 6), np.nan), features=F[[0]])
    assert np.isfinite(new.arrays.mean).all()
