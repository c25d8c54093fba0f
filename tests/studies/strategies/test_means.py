"""Row and column means against the normal equations, and that they are what a strategy is judged by."""

import numpy as np
from tests.studies.strategies.told import some, told

from maxentry.entries import Entries
from maxentry.studies.strategies.means import MEANS, means

Y = np.random.default_rng(0).normal(3.0, 1.0, (5, 4))


def by_normal_equations(entries, y, shape):
    """Slow and obvious: mu is free, effects have a ridge of 1."""
    m1, m2 = shape
    A = np.zeros((len(y), 1 + m1 + m2))
    A[:, 0] = 1.0
    A[np.arange(len(y)), 1 + entries.rows] = 1.0
    A[np.arange(len(y)), 1 + m1 + entries.cols] = 1.0
    ridge = np.diag([0.0] + [1.0] * (m1 + m2))
    beta = np.linalg.solve(A.T @ A + ridge, A.T @ y)
    return beta[0] + beta[1 : 1 + m1, None] + beta[1 + m1 :]


def test_they_are_the_penalised_least_squares_fit():
    entries = some(Y, 12)
    i, j = (index.ravel() for index in np.indices(Y.shape))
    found = means(told(Y, entries), i, j, 0.9)
    assert found.low is None
    assert found.high is None
    wanted = by_normal_equations(entries, Y[tuple(entries)], Y.shape)
    np.testing.assert_allclose(found.mean.reshape(Y.shape), wanted, rtol=1e-8)
    assert not np.allclose(found.mean, Y[tuple(entries)].mean(), rtol=1e-2)  # more than the mean of all


def test_they_are_taken_on_the_scale_of_the_model():
    positive, entries = np.exp(Y), some(Y, 12)
    i, j = (index.ravel() for index in np.indices(Y.shape))
    on_log = means(told(positive, entries, transform="log"), i, j, 0.9).mean
    np.testing.assert_allclose(on_log, np.exp(means(told(Y, entries), i, j, 0.9).mean), rtol=1e-8)


def test_a_row_without_entries_has_the_columns_level():
    entries = Entries.of([0, 1, 2], [0, 0, 1])
    found = means(told(Y, entries), np.array([3, 4]), np.array([0, 0]), 0.9).mean
    assert found[0] == found[1]


def test_it_is_an_estimate_on_uniform_entries():
    assert (MEANS.start, MEANS.acquisition, MEANS.policy) == ("uniform", "uniform", None)
    assert MEANS.estimator(None, None, 0) is means
