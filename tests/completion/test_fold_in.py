import numpy as np
import pytest
from tests.completion.conditions import simulated

from maxentry.completion import largest_penalty, nuclear_norm
from maxentry.completion.result import fold_in
from maxentry.errors import DataError


def dense(observations):
    Y = np.full(observations.shape, np.nan)
    Y[observations.rows, observations.cols] = observations.values
    return Y


@pytest.fixture(scope="module")
def problem():
    observations, X = simulated(30, 20, 3, 0.5, 0.1)
    return observations, X + 0.0, 0.1 * largest_penalty(observations)


@pytest.mark.parametrize("center", [False, True])
def test_rows_of_the_fit_come_back_as_they_are(problem, center):
    observations, _, penalty = problem
    shifted = type(observations)(
        observations.shape, observations.rows, observations.cols, observations.values + 5 * center
    )
    completion = nuclear_norm(shifted, penalty, center=center, tol=1e-12)
    assert completion.rank >= 3
    np.testing.assert_allclose(fold_in(completion, dense(shifted)), completion.matrix(), atol=1e-5)
    # not at another penalty, for which V is not optimal
    other = type(completion)(**(vars(completion) | {"penalty": 2 * penalty}))
    assert np.abs(fold_in(other, dense(shifted)) - completion.matrix()).max() > 0.05


def test_a_new_row_solves_its_ridge_regression_and_beats_zero(problem):
    observations, X, penalty = problem
    old = observations.subset(observations.rows < 25)
    completion = nuclear_norm(type(old)((25, 20), old.rows, old.cols, old.values), 0.3 * penalty, tol=1e-10)
    new = dense(observations)[25:]
    estimate = fold_in(completion, new)
    V, d = completion.V, completion.d
    for y, x in zip(new, estimate, strict=True):
        seen = ~np.isnan(y)
        a = V.T @ x
        np.testing.assert_allclose(V @ a, x, atol=1e-10)
        # stationarity of |y - V a|^2 + (lambda/2) a' D^-1 a
        np.testing.assert_allclose(2 * V[seen].T @ (y - x)[seen], completion.penalty * a / d, atol=1e-8)
    missing = np.isnan(new)
    error, zero = (np.sum((x - X[25:])[missing] ** 2) for x in (estimate, np.zeros_like(estimate)))
    assert error < 0.25 * zero


def test_an_empty_row_gets_the_column_means(problem):
    observations, _, penalty = problem
    completion = nuclear_norm(observations, penalty, center=True)
    estimate = fold_in(completion, np.full((2, 20), np.nan))
    np.testing.assert_allclose(estimate[0], completion.effects.mu + completion.effects.col)
    rank_zero = nuclear_norm(observations, 1e6)
    assert rank_zero.rank == 0
    np.testing.assert_array_equal(fold_in(rank_zero, dense(observations)), 0.0)


def test_refuses_rows_of_another_length(problem):
    observations, _, penalty = problem
    with pytest.raises(DataError, match="n x 20, got shape"):
        fold_in(nuclear_norm(observations, penalty), np.zeros((2, 19)))
