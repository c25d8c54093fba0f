"""Leverage scores by hand, the law of the sample by counting, and that phase 2 knows only phase 1."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2
from tests.evidence.strategies.campaigns import NOW, some, told, truth

from evidence.strategies.leverage import LEVERAGE, draw_entries, fill_zeros, leverage_scores
from evidence.strategies.rule import Request
from maxentry.acquisition import Problem
from maxentry.belief import Entries
from maxentry.compare.scenario import Case, Given

Y = np.random.default_rng(0).normal(5.0, 1.0, (8, 6))
CASE = Case("leverage", Given(Y), 20, 5, 10)


def test_scores_of_a_matrix_of_rank_one_are_by_hand():
    a, b = np.array([3.0, 4.0, 0.0]), np.array([1.0, 1.0])
    mu, nu = leverage_scores(np.outer(a, b), 1)
    np.testing.assert_allclose(mu, 3 * a**2 / 25, atol=1e-12)  # m1 a_i^2 / |a|^2
    np.testing.assert_allclose(nu, [1.0, 1.0])


def test_scores_are_those_of_the_best_approximation_and_average_one():
    M = np.random.default_rng(1).normal(size=(7, 5))
    mu, nu = leverage_scores(M, 2)
    vectors = np.linalg.eigh(M @ M.T)[1]
    np.testing.assert_allclose(mu, 7 / 2 * (vectors[:, -2:] ** 2).sum(1))
    assert np.isclose(mu.mean(), 1.0)
    assert np.isclose(nu.mean(), 1.0)
    assert not np.allclose(mu, leverage_scores(M, 3)[0])


def test_rank_beyond_the_matrix_and_nothing_at_all():
    mu, nu = leverage_scores(np.outer([1.0, 2.0], [1.0, 0.0, 0.0]), 5)
    np.testing.assert_allclose(nu, [3.0, 0.0, 0.0], atol=1e-12)
    mu, nu = leverage_scores(np.zeros((2, 3)), 5)
    assert mu.tolist() == [1.0, 1.0]
    assert nu.tolist() == [1.0, 1.0, 1.0]


def expected_pairs(weight):
    """The law of two drawn one after the other: p_a p_b / (1 - p_a)."""
    p = weight / weight.sum()
    return {(a, b): p[a] * p[b] / (1 - p[a]) for a, b in permutations(range(len(p)), 2)}


def test_the_sample_is_drawn_one_after_the_other_in_proportion_to_mu_plus_nu():
    mu, nu = np.array([0.2, 1.8]), np.array([0.5, 1.0, 1.5])
    problem, rng, n = Problem((2, 3), observed=Entries.from_lists([1], [0])), np.random.default_rng(2), 6000
    cells = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]  # (1, 0) is observed
    counts = dict.fromkeys(permutations(range(5), 2), 0)
    for _ in range(n):
        i, j = draw_entries(mu, nu, problem, 2, rng)[:2]
        drawn = tuple(cells.index(e) for e in zip(i.tolist(), j.tolist(), strict=True))
        counts[drawn] += 1

    def statistic(weight):
        law = expected_pairs(np.array(weight))
        return sum((counts[pair] - n * p) ** 2 / (n * p) for pair, p in law.items())

    limit = chi2.ppf(1 - 1e-4, len(counts) - 1)
    assert statistic([mu[i] + nu[j] for i, j in cells]) < limit
    assert statistic([mu[i] * nu[j] for i, j in cells]) > limit  # products are another law
    assert statistic(np.ones(5)) > limit


def test_scores_of_zero_are_drawn_last_and_no_more_than_there_are():
    mu, nu = np.array([0.0, 1.0]), np.array([0.0, 0.0])
    found = draw_entries(mu, nu, Problem((2, 2)), 9, np.random.default_rng(0))
    assert found.rows.tolist()[:2] == [1, 1]
    assert len(found.rows) == 4


@pytest.mark.parametrize("simulated", [True, False])
def test_phase_one_is_the_first_measurements_among_zeros(simulated):
    entries = some(Y, 12)
    request = Request(told(Y, entries), None, 1, None, None)
    filled = fill_zeros(request, 9, centre=not simulated)
    i, j = (index[:9] for index in entries)
    assert np.count_nonzero(filled) == 9
    np.testing.assert_allclose(filled[i, j], Y[i, j] - (0.0 if simulated else Y[i, j].mean()))


def test_phase_two_does_not_look_at_what_it_measured():
    entries = some(Y, 30)
    other = Y.copy()
    other[entries.rows[20:], entries.cols[20:]] += 100.0  # what phase 2 measures
    choices = [LEVERAGE.policy(truth(Z), CASE, 0)(told(Z, entries), 5, NOW) for Z in (Y, other)]
    assert choices[0].rows.tolist() == choices[1].rows.tolist()
    assert choices[0].cols.tolist() == choices[1].cols.tolist()
    changed = Y.copy()
    changed[entries.rows[:3], entries.cols[:3]] += 100.0  # what phase 1 measured
    third = LEVERAGE.policy(truth(changed), CASE, 0)(told(changed, entries), 5, NOW)
    first = list(zip(choices[0].rows, choices[0].cols, strict=True))
    assert list(zip(third.rows, third.cols, strict=True)) != first


def test_it_starts_uniformly():
    assert LEVERAGE.start == "uniform"
    assert LEVERAGE.estimator is None
