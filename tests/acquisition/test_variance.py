"""The variance of all entries together, now and later, is the trace of the dense covariance."""

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, entries
from tests.reference import acquisition_slow as slow

from maxentry.acquisition import total_variance
from maxentry.acquisition.draw_field import DrawField
from maxentry.belief import Entries

SHAPE = (9, 7)


@pytest.mark.parametrize("R", [0, 2])
def test_total_variance_and_what_measuring_leaves(R):
    b, more = belief(SHAPE, R=R), entries(SHAPE, 5, np.random.default_rng(0))
    cov, eta2 = slow.draw_covariance(b), float(np.mean(b.noise_var))
    assert total_variance.total_variance(b) == pytest.approx(np.trace(cov), rel=1e-9)
    left = np.trace(slow.given(cov, more.keys(7), eta2))
    assert total_variance.TotalVariance(b).after(more) == pytest.approx(left, rel=1e-9)
    assert total_variance.TotalVariance(b).after(Entries.none()) == total_variance.total_variance(b)


def test_one_gram_matrix_serves_several_questions(monkeypatch):
    formed, gram = [], total_variance.gram_matrix
    monkeypatch.setattr(total_variance, "gram_matrix", lambda draws: formed.append(1) or gram(draws))
    b, rng = belief(SHAPE), np.random.default_rng(0)
    totals = total_variance.TotalVariance(b)
    few, more = entries(SHAPE, 3, rng), entries(SHAPE, 8, rng)
    left = [totals.now(), totals.after(few), totals.after(more)]
    assert len(formed) == 1
    assert left == [
        total_variance.total_variance(b),
        total_variance.TotalVariance(b).after(few),
        total_variance.TotalVariance(b).after(more),
    ]


@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_both_ways_to_the_gram_matrix_agree(monkeypatch, block):
    monkeypatch.setattr(total_variance, "BLOCK_NUMBERS", block)
    b = belief(SHAPE, S=11)
    D = slow.dense_draws(b)
    D -= D.mean(0)
    draws = DrawField.from_belief(b)
    for way in (total_variance._gram_of_entries, total_variance._gram_of_factors):
        np.testing.assert_allclose(way(draws), D @ D.T, rtol=0, atol=1e-11)


def test_a_large_level_does_not_drown_the_variance():
    b = belief(SHAPE)
    expected = total_variance.total_variance(b)
    b.mu[:] += 1e7
    b.row[:] += 1e6 * np.arange(9)
    assert total_variance.total_variance(b) == pytest.approx(expected, rel=1e-6)


def test_one_draw_has_no_variance():
    assert total_variance.total_variance(belief(SHAPE, S=1)) == 0.0
