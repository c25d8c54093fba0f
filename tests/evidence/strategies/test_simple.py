"""The greatest variances by sorting all of them; row and column means against the normal equations."""

import numpy as np
from tests.evidence.strategies.campaigns import NOW, belief, some, told, truth

from evidence.strategies.simple import (
    MEANS,
    TOP_VARIANCE,
    choose_largest,
    choose_top_variance,
    estimate_means,
)
from maxentry.acquisition import Costs, Problem, choose
from maxentry.belief import Entries

SHAPE = (5, 4)


def by_sorting(known, problem, n):
    """Slow and obvious."""
    X = np.array([known.draw(s) for s in range(known.n_draws)])
    taken = set(zip(*(index.tolist() for index in problem.taken), strict=True))
    gain = 0.5 * np.log1p(X.var(0) / known.noise_var.mean())
    free = [(i, j) for i in range(SHAPE[0]) for j in range(SHAPE[1]) if (i, j) not in taken]
    return sorted(free, key=lambda e: (-gain[e] / float(problem.costs.at(*e)), e))[:n]


def pairs(found):
    return list(zip(found.rows.tolist(), found.cols.tolist(), strict=True))


def test_it_takes_the_greatest_variances_of_what_is_open():
    known, problem = belief(SHAPE), Problem(SHAPE, observed=Entries.from_lists([0, 3], [1, 2]))
    assert pairs(choose_top_variance(known, problem, 6)) == by_sorting(known, problem, 6)


def test_with_costs_it_takes_the_most_per_cost():
    known, cost = belief(SHAPE), np.random.default_rng(1).uniform(0.2, 5.0, SHAPE)
    problem = Problem(SHAPE, costs=Costs(cost))
    assert pairs(choose_top_variance(known, problem, 6)) == by_sorting(known, problem, 6)
    assert by_sorting(known, problem, 6) != by_sorting(known, Problem(SHAPE), 6)  # costs do change it


def test_equals_are_taken_in_order_of_position():
    found = choose_largest(np.ones((2, 3)), Problem((2, 3), observed=Entries.from_lists([0], [1])), 3)
    assert pairs(found) == [(0, 0), (0, 2), (1, 0)]


def test_its_batches_are_not_joint():
    """The first is that of predictive variance; of two entries that say the same, one comes right after the other."""
    known = belief(SHAPE)
    twin = np.concatenate([known.left[:, :1], known.left[:, :4]], axis=1)  # rows 0 and 1 are one row
    row = np.concatenate([known.row[:, :1], known.row[:, :4]], axis=1)
    same = type(known)(twin, known.right, row, known.col, known.mu, known.noise_var)
    problem, rng = Problem(SHAPE), np.random.default_rng(0)
    ours = pairs(choose("predictive_variance", same, problem, 2, rng=rng))
    theirs = pairs(choose_top_variance(same, problem, 20))
    assert theirs[0] == ours[0]
    together = [abs(theirs.index((0, j)) - theirs.index((1, j))) for j in range(SHAPE[1])]
    assert together == [1, 1, 1, 1]


def test_its_policy_reads_the_campaigns_posterior():
    Y = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 6.0)) + np.eye(6)[:, :5]
    state = told(Y, some(Y, 15), rank=1)
    batch = TOP_VARIANCE.policy(truth(Y), None, 0)(state, 3, NOW)
    from maxentry.campaign import fits

    problem = Problem(state.shape, observed=state.told)
    assert pairs(batch) == pairs(choose_top_variance(fits.fit_posterior(state).belief, problem, 3))


# Row and column means

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
    found = estimate_means(told(Y, entries), i, j, 0.9)
    assert found.low is None
    assert found.high is None
    wanted = by_normal_equations(entries, Y[tuple(entries)], Y.shape)
    np.testing.assert_allclose(found.mean.reshape(Y.shape), wanted, rtol=1e-8)
    assert not np.allclose(found.mean, Y[tuple(entries)].mean(), rtol=1e-2)  # more than the mean of all


def test_they_are_taken_on_the_scale_of_the_model():
    positive, entries = np.exp(Y), some(Y, 12)
    i, j = (index.ravel() for index in np.indices(Y.shape))
    on_log = estimate_means(told(positive, entries, transform="log"), i, j, 0.9).mean
    np.testing.assert_allclose(on_log, np.exp(estimate_means(told(Y, entries), i, j, 0.9).mean), rtol=1e-8)


def test_a_row_without_entries_has_the_columns_level():
    entries = Entries.from_lists([0, 1, 2], [0, 0, 1])
    found = estimate_means(told(Y, entries), np.array([3, 4]), np.array([0, 0]), 0.9).mean
    assert found[0] == found[1]


def test_it_is_an_estimate_on_uniform_entries():
    assert (MEANS.start, MEANS.acquisition, MEANS.policy) == ("uniform", "uniform", None)
    assert MEANS.estimator(None, None, 0) is estimate_means
