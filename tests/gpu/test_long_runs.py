"""Long runs of the sweep for GPUs, on JAX's CPU backend: a joint test in which measurements are drawn again and again,
and simulation-based calibration from independent starts."""

import numpy as np
import pytest
from scipy.stats import chisquare

jax = pytest.importorskip("jax")

from tests.gpu.test_law import make_chains  # noqa: E402
from tests.posterior.test_gibbs_geweke import CASES, FAIL, PASS, largest_change, statistics  # noqa: E402
from tests.reference import gibbs_slow as slow  # noqa: E402
from tests.reference.gibbs_slow import State  # noqa: E402

CASE = CASES["rank 1, effects"]
ETA2_SHAPE = 2  # where the shape of the prior of eta2 stands among the hyperparameters


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def draw(n, rng):
    """Positions, and n draws of the state from its prior."""
    i, j = CASE.positions(np.random.default_rng(1))
    return i, j, slow.prior_draws(n, CASE.model(), i, j, rng)


def measure(s: State, i, j, rng):
    """Measurements of every state."""
    mean = s.mu[:, None] + (s.r + s.p)[:, i] + (s.c + s.q)[:, j] + s.X[:, i, j]
    return mean + np.sqrt(s.eta2)[:, None] * rng.standard_normal(mean.shape)


def joint_test(chains, n, rounds, seed):
    """Largest |z| of changes, from n draws of the joint law, after rounds of a sweep and new measurements.

    Every round leaves the joint law as it is, and a small mistake adds up.
    """
    rng = np.random.default_rng(seed)
    i, j, states = draw(n, rng)
    y = measure(states, i, j, rng)
    before = statistics(states, y[:, 0])
    for k in range(rounds):
        states = chains(states, y, 1, 1_000 * seed + k)
        y = measure(states, i, j, rng)
    return largest_change(before, statistics(states, y[:, 0]))


@pytest.mark.slow
def test_a_long_joint_run_leaves_the_law_as_it_is_and_a_wrong_one_does_not():
    chains = make_chains(CASE, 1)
    assert joint_test(chains, 6_000, 40, 1) < PASS
    chains.hyper = chains.hyper.at[ETA2_SHAPE].add(0.5)
    assert joint_test(chains, 6_000, 40, 1) > FAIL


def calibration(chains, n, seed, settle=300, apart=60, draws=9):
    """p values of the ranks of n true values among draws that started elsewhere: of X_11, mu, |X|^2 and eta2.

    Draws are far apart, since mu moves slowly against the effects: 20 sweeps leave it a p value of 0.001.
    """
    rng = np.random.default_rng(seed)
    i, j, truth = draw(n, rng)
    y = measure(truth, i, j, rng)

    def read(s):
        return np.array([s.X[:, 0, 0], s.mu, (s.X**2).sum((1, 2)), s.eta2])

    states = chains(draw(n, rng)[2], y, settle, 1_000 * seed)
    ranks = np.zeros((4, n), dtype=int)
    for k in range(draws):
        states = chains(states, y, apart, 1_000 * seed + k + 1)
        ranks += read(states) < read(truth)
    return np.array([chisquare(np.bincount(rank, minlength=draws + 1)).pvalue for rank in ranks])


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform_and_those_of_a_wrong_prior_are_not():
    """Four tests: the smallest p value of a right sampler is below 1e-4 in one of 2,500 runs."""
    chains = make_chains(CASE, 1)
    assert calibration(chains, 1_000, 1).min() > 1e-4
    chains.hyper = chains.hyper.at[ETA2_SHAPE].add(1.0)
    assert calibration(chains, 1_000, 1, settle=120, apart=20).min() < 1e-6
