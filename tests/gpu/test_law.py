"""The sweep for GPUs leaves the joint law of state and measurements as it is; on JAX's CPU backend."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from tests.posterior.test_gibbs_geweke import CASES, FAIL, PASS, largest_change, statistics  # noqa: E402
from tests.reference import gibbs_slow as slow  # noqa: E402
from tests.reference.gibbs_gpu import ManyChains  # noqa: E402
from tests.reference.gibbs_slow import State  # noqa: E402

from maxentry.gpu import halves  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def start_test(case, n, sweeps, seed, chains=None, **options):
    """As of the compiled sweep: largest |z| of changes by some sweeps, from n draws of the joint law of state and y."""
    rng = np.random.default_rng(seed)
    i, j = case.positions(rng)
    starts = slow.prior_draws(n, case.model(), i, j, rng)
    y = np.array([slow.measure(State(*(f[k] for f in starts)), i, j, case.beta, rng) for k in range(n)])
    chains = chains or make_chains(case, seed, **options)
    ends = chains(starts, y, sweeps, seed)
    return largest_change(statistics(starts, y[:, 0]), statistics(ends, y[:, 0]))


def make_chains(case, seed, **options):
    i, j = case.positions(np.random.default_rng(seed))
    return ManyChains(case.model()._replace(priors=case.tempered(i.size)), i, j, **options)


@pytest.mark.slow
def test_sweeps_leave_the_joint_law_as_it_is_and_wrong_ones_do_not():
    case = CASES["rank 2, effects"]
    chains = make_chains(case, 1)
    assert start_test(case, 40_000, 5, 1, chains) < PASS
    right = chains.hyper
    for k in (
        0,
        2,
        4,
        6,
    ):  # one more in the shape of the law of sigma2, eta2, tau2 and s2 of the rows, of the columns
        chains.hyper = right.at[k].add(1.0)
        assert start_test(case, 8_000, 3, 1, chains) > FAIL


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["replicates", "rank 0, effects", "rank 2, no room to align", "student, effects", "tempered"]
)
def test_sweeps_leave_the_joint_law_as_it_is_in_all_branches(name):
    assert start_test(CASES[name], 40_000, 5, seed=2) < PASS


@pytest.mark.slow
def test_sweeps_in_single_precision_with_rows_last_leave_the_joint_law_as_it_is():
    assert start_test(CASES["rank 2, effects"], 40_000, 5, seed=3, real="float32", blocks=True) < PASS


@pytest.mark.slow
def test_negative_control_a_component_redrawn_as_if_chosen_evenly_is_seen(monkeypatch):
    """Which component is redrawn depends on its strength; the law of the strength must make up for that."""
    monkeypatch.setattr(halves, "draw_place", lambda uniform, weights: np.int32(0))
    assert start_test(CASES["rank 2, effects"], 40_000, 5, seed=2) > FAIL
