"""The choice of the penalty by hold-out."""

import numpy as np
import pytest
from tests.completion.conditions import simulated

from maxentry.completion import choose_penalty, largest_penalty, nuclear_norm, penalty_path
from maxentry.errors import DataError, ParameterError
from maxentry.observations import Observations


def error(observations, X, penalty):
    return np.linalg.norm(nuclear_norm(observations, penalty, tol=1e-3).matrix() - X) / np.linalg.norm(X)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_chosen_penalty_is_nearly_the_best_for_the_unseen_truth(seed):
    observations, X = simulated(80, 60, 3, 0.35, 0.3, seed=seed)
    chosen = choose_penalty(observations, seed=seed)
    oracle = min(error(observations, X, p) for p in chosen.penalties)
    assert error(observations, X, chosen.penalty) < 1.1 * oracle
    # Penalties far from it would not pass: the test has power.
    assert error(observations, X, 5 * chosen.penalty) > 1.1 * oracle
    assert error(observations, X, chosen.penalty / 8) > 1.1 * oracle


def test_pure_noise_calls_for_a_zero_estimate():
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((60, 50)) < 0.4, rng.standard_normal((60, 50)), np.nan)
    observations = Observations.of(Y)
    assert choose_penalty(observations, seed=0).penalty > 0.5 * largest_penalty(observations)


def test_the_choice_is_a_function_of_the_seed():
    observations, _ = simulated(40, 30, 2, 0.4, 0.3)
    one, same, other = (choose_penalty(observations, seed=s) for s in (1, 1, 2))
    assert one.penalty == same.penalty
    assert np.array_equal(one.errors, same.errors)
    assert not np.array_equal(one.errors[:5], other.errors[:5])
    default = nuclear_norm(observations, seed=1)
    assert default.penalty == one.penalty
    assert default.converged


def test_the_path_is_left_after_the_minimum():
    observations, _ = simulated(60, 50, 2, 0.4, 0.5)
    chosen = choose_penalty(observations, seed=0)
    assert chosen.penalties.size == chosen.errors.size < 25
    assert chosen.penalty == chosen.penalties[np.argmin(chosen.errors)]


def test_replicates_are_held_out_together():
    # Each entry measured 20 times, no structure between entries: whoever left replicates of a held-out entry
    # in the fit would "predict" it and choose a small penalty.
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((40, 30)) < 0.4)
    truth = rng.standard_normal(i.size)
    rows, cols = np.tile(i, 20), np.tile(j, 20)
    values = np.tile(truth, 20) + 0.1 * rng.standard_normal(rows.size)
    observations = Observations.from_triples(rows, cols, values, shape=(40, 30))
    assert choose_penalty(observations, seed=0).penalty > 0.4 * largest_penalty(observations)


def test_centring_is_learnt_from_the_kept_entries():
    observations, X = simulated(60, 50, 2, 0.4, 0.2)
    shifted = Observations.from_triples(
        observations.rows, observations.cols, observations.values + 50.0, shape=observations.shape
    )
    result = nuclear_norm(shifted, center=True, seed=0)
    plain = nuclear_norm(observations, center=True, seed=0)
    assert result.penalty == pytest.approx(plain.penalty, rel=1e-6)
    assert np.allclose(result.matrix() - 50.0, plain.matrix(), atol=1e-3)
    assert np.linalg.norm(plain.matrix() - X) / np.linalg.norm(X) < 0.35


def test_the_path_is_geometric():
    path = penalty_path(8.0, points=4, ratio=1 / 8)
    assert np.allclose(path, [8, 4, 2, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": 0.0}, "held_out between 0 and 1, got 0.0"),
        ({"held_out": 1.0}, "held_out between 0 and 1, got 1.0"),
        ({"splits": 0}, "at least one split, got 0"),
        ({"points": 1}, "at least 2 points"),
        ({"ratio": 1.5}, "ratio between 0 and 1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    observations, _ = simulated(10, 8, 1, 0.5, 0.2)
    with pytest.raises(ParameterError, match=message):
        choose_penalty(observations, **options)


def test_one_entry_cannot_be_held_out():
    observations = Observations.from_triples([0, 0], [1, 1], [1.0, 2.0], shape=(2, 2))
    with pytest.raises(DataError, match="2 distinct entries"):
        choose_penalty(observations, seed=0)


def test_data_of_zeros_have_a_penalty():
    observations = Observations.from_triples([0, 1, 2], [0, 1, 1], [0.0, 0.0, 0.0], shape=(3, 2))
    assert nuclear_norm(observations, seed=0).rank == 0
