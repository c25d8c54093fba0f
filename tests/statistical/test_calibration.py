"""Reduced simulation-based calibration; `python -m benchmarks.calibration` is the full one, at the paper's size."""

import numpy as np
import pytest
from benchmarks.agreement import printed_slip
from benchmarks.calibration import LEVELS, PAPER, Case, Study, Way, statistic_names, study, threshold, uniform

from maxentry import Sampling

MATRICES = 150
SHAPE, RANK = (12, 12), 3  # 63 degrees of freedom
LONG = Sampling("long", chains=4, anneal=400, settle=0, draws=12, thin=150)
Z = 3.5  # of a coverage, over its clustered standard error


@pytest.fixture(scope="module")
def right():
    return [study(Case(SHAPE, RANK, N), Way(PAPER, LONG), MATRICES, seed=1) for N in (40, 90)]


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform(right):
    assert right[0].u.shape == (MATRICES, len(statistic_names(RANK)))
    assert uniform(right)


@pytest.mark.slow
def test_intervals_cover_what_they_say(right):
    for result in right:
        mean, error = result.coverage()
        assert error.max() < 0.03  # the test can see a few per cent
        assert (np.abs(mean - LEVELS) < Z * error).all()


@pytest.mark.slow
def test_negative_control_the_printed_slip_fails_on_as_many_matrices():
    wrong = Way(printed_slip(PAPER, RANK), LONG)
    result = study(Case(SHAPE, RANK, 90), wrong, MATRICES, seed=1)
    assert not uniform([result])
    ks = dict(zip(statistic_names(RANK), result.p_values()[0], strict=True))
    assert ks["sigma2"] < threshold([result]) / 100


@pytest.mark.slow
def test_negative_control_one_chain_without_annealing_does_not_cover():
    """Forty sweeps from the prior find an interpolation of the data and take it for the truth."""
    stuck = Way(PAPER, Sampling("long", chains=1, anneal=0, settle=0, draws=40, thin=1))
    mean, error = study(Case(SHAPE, RANK, 40), stuck, MATRICES, seed=1).coverage()
    assert mean[-1] < LEVELS[-1] - 2 * Z * error[-1]


@pytest.mark.process
def test_the_same_matrices_are_simulated_for_every_way_of_sampling_and_every_number_of_workers():
    tiny = Sampling("long", chains=2, anneal=1, settle=0, draws=4, thin=1)
    case = Case(SHAPE, RANK, 40)
    a, b = (study(case, Way(PAPER, tiny), 4, seed=2, workers=workers) for workers in (1, 2))
    for x, y in zip(a[1:], b[1:], strict=True):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(a.u, study(case, Way(PAPER, tiny), 4, seed=3).u)


def test_a_study_sees_what_is_not_uniform():
    rng = np.random.default_rng(0)
    case, rest = Case(SHAPE, RANK, 40), np.zeros((MATRICES, 3))
    u = rng.random((MATRICES, 11))
    assert uniform([Study(case, u, u, rest, rest)])
    u[:, 4] = rng.beta(2, 2, MATRICES)  # truth in the middle of the draws: too wide a posterior
    assert not uniform([Study(case, u, u, rest, rest)])
