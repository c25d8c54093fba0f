"""Designs are random as promised: laws by chi-square or z scores at fixed seeds, with samplers that must fail."""

import sys

import numpy as np
import pytest
from scipy.stats import chi2, norm
from tests.reference import balanced_slow as slow

from maxentry.belief import Entries
from maxentry.design import balanced, uniform
from maxentry.design.uniform import find_available
from maxentry.kernels.design import trade_all

module = sys.modules["maxentry.design.balanced"]
# Every test is at this level: one right sampler in ten thousand would fail, at a fixed seed.
LEVEL = 1e-4


def excess(observed, expected):
    """Chi-square statistic over its critical value: above 1 the law is another."""
    return ((observed - expected) ** 2 / expected).sum() / chi2.isf(LEVEL, len(observed) - 1)


def set_excess(designs, all_sets, m2):
    """How far the designs are from all sets being equally likely."""
    place = {keys: k for k, keys in enumerate(all_sets)}
    found = [place[tuple(sorted(entries.keys(m2).tolist()))] for entries in designs]
    return excess(np.bincount(found, minlength=len(all_sets)), len(found) / len(all_sets))


def entry_z(designs, shape, n):
    """Greatest z score of the entries' frequencies over its critical value (Bonferroni over entries)."""
    cells, p = shape[0] * shape[1], n / (shape[0] * shape[1])
    often = sum(np.bincount(entries.keys(shape[1]), minlength=cells) for entries in designs)
    z = (often - len(designs) * p) / np.sqrt(len(designs) * p * (1 - p))
    return np.abs(z).max() / norm.isf(LEVEL / (2 * cells))


# 4 x 4 with two of each row and column: 90 sets; the others have rows or columns that get one more than others
@pytest.mark.parametrize(
    ("shape", "n", "sets"), [((4, 4), 8, 90), pytest.param((3, 4), 5, None, marks=pytest.mark.slow)]
)
def test_all_balanced_designs_are_equally_likely(shape, n, sets):
    all_sets = slow.all_balanced(shape, n)
    assert sets in (None, len(all_sets))
    rng = np.random.default_rng(1)
    designs = [balanced(shape, n, seed=rng) for _ in range(20 * len(all_sets))]
    assert set_excess(designs, all_sets, shape[1]) < 1


def test_without_trades_they_are_not(monkeypatch):
    monkeypatch.setattr(module, "PASSES", 0)
    rng = np.random.default_rng(1)
    all_sets = slow.all_balanced((4, 4), 8)
    designs = [balanced((4, 4), 8, seed=rng) for _ in range(20 * len(all_sets))]
    assert set_excess(designs, all_sets, 4) > 1


def traded(start, passes, rng, lists):
    begin = np.arange(0, start.size + 1, start.size // 4)
    cols = start.copy()
    trade_all(lists, begin, cols, passes, 4, rng)
    return Entries(np.repeat(np.arange(4), start.size // 4), cols)


def test_trades_alone_forget_where_they_began():
    lists = find_available((4, 4)).lists(np.arange(4), np.arange(4))
    start = np.array([0, 1, 0, 1, 2, 3, 2, 3])
    all_sets = slow.all_balanced((4, 4), 8)
    rng = np.random.default_rng(2)
    long, short = ([traded(start, passes, rng, lists) for _ in range(1800)] for passes in (module.PASSES, 1))
    assert set_excess(long, all_sets, 4) < 1
    assert set_excess(short, all_sets, 4) > 1


@pytest.mark.parametrize("seed", range(8))
def test_trades_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    m1, m2 = rng.integers(1, 9, 2)
    allowed = rng.random((m1, m2)) < 0.7
    chosen = allowed & (rng.random((m1, m2)) < 0.6)
    rows, cols = np.nonzero(chosen)
    begin = np.searchsorted(rows, np.arange(m1 + 1))
    for pool in (
        find_available((m1, m2), allowed),
        find_available((m1, m2), taken=Entries.from_lists(*np.nonzero(~allowed))),
    ):
        fast = cols.copy()
        trade_all(pool.lists(np.arange(m1), np.arange(m2)), begin, fast, 5, m2, np.random.default_rng(seed))
        twin = slow.trade_all(allowed, np.split(cols, begin[1:-1]), 5, np.random.default_rng(seed))
        assert fast.tolist() == [j for columns in twin for j in columns]


def shared_pairs(entries, shape):
    """How often two rows have two columns in common."""
    chosen = np.zeros(shape, dtype=int)  # whole numbers: no threaded product
    chosen[entries.rows, entries.cols] = 1
    common = (chosen @ chosen.T)[np.triu_indices(shape[0], 1)]
    return (common * (common - 1) / 2).sum()


def test_trades_are_enough_on_larger_matrices(monkeypatch):
    # Filling gives whole groups of rows the same columns; trades have to take that away
    shape, n = (60, 60), 180
    mean, error = {}, {}
    for passes in (module.PASSES, 10 * module.PASSES, 2):
        monkeypatch.setattr(module, "PASSES", passes)
        rng = np.random.default_rng(3)
        found = [shared_pairs(balanced(shape, n, seed=rng), shape) for _ in range(100)]
        mean[passes], error[passes] = np.mean(found), np.std(found) / np.sqrt(100)
    default, longer, short = mean
    assert abs(mean[default] - mean[longer]) < 4 * np.hypot(error[default], error[longer])
    assert abs(mean[short] - mean[longer]) > 4 * np.hypot(error[short], error[longer])


@pytest.mark.parametrize("n", [3, pytest.param(20, marks=pytest.mark.slow), 33])
def test_every_entry_is_equally_likely(n):
    rng = np.random.default_rng(n)
    assert entry_z([balanced((7, 5), n, seed=rng) for _ in range(1500)], (7, 5), n) < 1
    assert entry_z([uniform((7, 5), n, seed=rng) for _ in range(1500)], (7, 5), n) < 1


def test_the_check_of_entries_can_fail():
    rng = np.random.default_rng(0)
    early = [Entries.from_keys(rng.choice(30, 11, replace=False), 5) for _ in range(1500)]
    assert entry_z(early, (7, 5), 11) > 1


def test_under_a_mask_every_best_design_comes_up():
    allowed = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]], dtype=bool)
    n, none = 5, np.zeros(4, dtype=int)
    least = slow.least_by_program(allowed, n, none, none)
    best = {
        keys
        for keys in slow.all_balanced((4, 4), n)
        if allowed.ravel()[list(keys)].all()
        and slow.squares(Entries.from_keys(np.array(keys), 4), none, none) == least
    }
    found = {tuple(sorted(balanced((4, 4), n, allowed, seed).keys(4).tolist())) for seed in range(1500)}
    assert len(best) > 10
    assert found == best


@pytest.mark.parametrize("design", [balanced, uniform])
def test_a_seed_gives_the_same_entries_in_the_same_order_and_another_gives_others(design):
    mask = np.random.default_rng(0).random((30, 20)) < 0.5
    for given in ({}, {"mask": mask}, {"taken": Entries.from_lists(*np.nonzero(mask))}):
        one, again, other = (design((30, 20), 60, seed=seed, **given) for seed in (1, 1, 2))
        from_sequence = design((30, 20), 60, seed=np.random.SeedSequence(1), **given)
        assert np.array_equal(one, again)
        assert np.array_equal(one, from_sequence)
        assert set(one.keys(20)) != set(other.keys(20))


def test_a_generator_goes_on():
    rng = np.random.default_rng(5)
    assert not np.array_equal(balanced((9, 9), 20, seed=rng), balanced((9, 9), 20, seed=rng))
    assert not np.array_equal(balanced((9, 9), 20), balanced((9, 9), 20))
