"""Uniform designs: distinct, available, every set equally likely, and no m1 x m2 array."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2

from maxentry.belief import Entries
from maxentry.design import uniform
from maxentry.design.uniform import find_available
from maxentry.errors import ParameterError


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.data())
def test_entries_are_distinct_and_available(m1, m2, seed, data):
    rng = np.random.default_rng(seed)
    mask, gone = rng.random((m1, m2)) < 0.6, rng.random((m1, m2)) < 0.3
    given_mask = data.draw(st.sampled_from([None, mask, sparse.coo_array(mask)]))
    taken = data.draw(st.sampled_from([None, Entries.from_lists(*np.nonzero(gone))]))
    allowed = (mask if given_mask is not None else np.full((m1, m2), True)) & ~(
        gone if taken is not None else False
    )
    n = data.draw(st.integers(0, int(allowed.sum())))
    entries = uniform((m1, m2), n, mask=given_mask, taken=taken, seed=seed)
    assert len(set(entries.keys(m2).tolist())) == len(entries.rows) == n
    assert allowed[entries.rows, entries.cols].all()


@pytest.mark.parametrize("listed", [True, False])
def test_the_nth_available_entry_is_counted_row_by_row(listed):
    allowed = np.random.default_rng(0).random((6, 7)) < 0.5
    pool = (
        find_available((6, 7), allowed)
        if listed
        else find_available((6, 7), taken=Entries.from_lists(*np.nonzero(~allowed)))
    )
    assert pool.count == allowed.sum()
    found = pool.nth(np.arange(pool.count)).keys(7)
    assert np.array_equal(found, np.flatnonzero(allowed))
    for fast, slow in zip(pool.margins(), (allowed.sum(1), allowed.sum(0)), strict=True):
        assert np.array_equal(fast, slow)


def excess(draws, sets):
    place = {chosen: k for k, chosen in enumerate(sets)}
    observed = np.bincount([place[draw] for draw in draws], minlength=len(sets))
    expected = len(draws) / len(sets)
    return ((observed - expected) ** 2 / expected).sum() / chi2.isf(1e-4, len(sets) - 1)


@pytest.mark.parametrize("n", [2, 4])  # below and above half: two ways of drawing
def test_every_set_in_every_order_is_equally_likely(n):
    rng = np.random.default_rng(n)
    sets = list(itertools.permutations([0, 1, 2, 4, 5], n))
    draws = [
        tuple(uniform((2, 3), n, taken=Entries.from_lists([1], [0]), seed=rng).keys(3)) for _ in range(4000)
    ]
    assert excess(draws, sets) < 1
    assert excess([draw if draw[0] else draw[::-1] for draw in draws], sets) > 1


def test_a_large_matrix_takes_memory_for_its_entries_only():
    tracemalloc.start()
    entries = uniform((10**5, 10**5), 10**6, seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.diff(np.sort(entries.keys(10**5))).min() > 0
    assert peak < 200 * 10**6


def test_mistakes_are_told():
    with pytest.raises(ParameterError, match="n must be at most 6, the number of available entries, got 7"):
        uniform((2, 3), 7, seed=0)
    with pytest.raises(ParameterError, match="n must be at most 0"):
        uniform((2, 3), 1, mask=np.zeros((2, 3), dtype=bool), seed=0)
