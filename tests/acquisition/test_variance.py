"""The variance of all entries together, now and later, is the trace of the dense covariance."""

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, entries
from tests.reference import acquisition_slow as slow

from maxentry.acquisition import variance
from maxentry.acquisition.draws import Draws
from maxentry.entries import Entries

SHAPE = (9, 7)


@pytest.mark.parametrize("R", [0, 2])
def test_total_variance_and_what_measuring_leaves(R):
    b, more = belief(SHAPE, R=R), entries(SHAPE, 5, np.random.default_rng(0))
    cov, eta2 = slow.draw_covariance(b), float(np.mean(b.noise_var))
    assert variance.total_variance(b) == pytest.approx(np.trace(cov), rel=1e-9)
    left = np.trace(slow.given(cov, more.keys(7), eta2))
    assert variance.after(b, more) == pytest.approx(left, rel=1e-9)
    assert variance.after(b, Entries.none()) == variance.total_variance(b)


def test_one_gram_matrix_serves_several_questions(monkeypatch):
    formed, gram = [], variance.gram
    monkeypatch.setattr(variance, "gram", lambda draws: formed.append(1) or gram(draws))
    b, rng = belief(SHAPE), np.random.default_rng(0)
    totals = variance.Totals(b)
    few, more = entries(SHAPE, 3, rng), entries(SHAPE, 8, rng)
    left = [totals.now(), totals.after(few), totals.after(more)]
    assert len(formed) == 1
    assert left == [variance.total_variance(b), variance.after(b, few), variance.after(b, more)]


@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_both_ways_to_the_gram_matrix_agree(monkeypatch, block):
    monkeypatch.setattr(variance, "BLOCK_NUMBERS", block)
    b = belief(SHAPE, S=11)
    D = slow.dense_draws(b)
    D -= D.mean(0)
    draws = Draws.of(b)
    for way in (variance._gram_of_entries, variance._gram_of_factors):
        np.testing.assert_allclose(way(draws), D @ D.T, rtol=0, atol=1e-11)


def test_a_large_level_does_not_drown_the_variance():
    b = belief(SHAPE)
    expected = variance.total_variance(b)
    b.mu[:] += 1e7
    b.row[:] += 1e6 * np.arange(9)
    assert variance.total_variance(b) == pytest.approx(expected, rel=1e-6)


def test_one_draw_has_no_variance():
    assert variance.total_variance(belief(SHAPE, S=1)) == 0.0
