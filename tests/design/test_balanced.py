"""Balanced designs: as level as anything can be, under any mask, with any counts before."""

import sys
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import balanced_slow as slow

from maxentry.belief import Entries
from maxentry.campaign import policy
from maxentry.campaign.campaign import Campaign
from maxentry.design import balanced
from maxentry.errors import ParameterError
from maxentry.kernels.design import fill_rows

module = sys.modules["maxentry.design.balanced"]
SEEDS = st.integers(0, 2**32 - 1)


def counts(entries, shape):
    return [np.bincount(index, minlength=m) for index, m in zip(entries, shape, strict=True)]


@st.composite
def plain_cases(draw):
    shape = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    return shape, draw(st.integers(0, shape[0] * shape[1]))


@st.composite
def hard_cases(draw, most=9):
    """Shape, allowed entries, n, counts so far; of all densities, some with rows and columns of nothing."""
    rng = np.random.default_rng(draw(SEEDS))
    shape = draw(st.integers(1, most)), draw(st.integers(1, most))
    kind = draw(st.sampled_from(["even", "skew", "triangle"]))
    chance = np.full(shape, draw(st.floats(0, 1)))
    if kind == "skew":
        chance = np.outer(rng.random(shape[0]), rng.random(shape[1]))
    if kind == "triangle":
        chance = (np.arange(shape[0])[:, None] >= np.arange(shape[1])) * 0.9
    allowed = rng.random(shape) < chance
    n = draw(st.integers(0, int(allowed.sum())))
    top = draw(st.sampled_from([0, 1, 3, 30]))
    return allowed, n, rng.integers(0, top + 1, shape[0]), rng.integers(0, top + 1, shape[1])


@settings(deadline=None, derandomize=True, max_examples=200)
@given(plain_cases(), SEEDS)
def test_counts_differ_by_at_most_one_for_any_shape_and_n(case, seed):
    shape, n = case
    entries = balanced(shape, n, seed=seed)
    assert np.unique(entries.keys(shape[1])).size == len(entries.rows) == n
    for index, count in zip(entries, counts(entries, shape), strict=True):
        assert index.size == 0 or index.min() >= 0
        assert count.sum() == n
        assert np.ptp(count) <= 1


@settings(deadline=None, derandomize=True, max_examples=150)
@given(hard_cases(), SEEDS, st.sampled_from(["mask", "sparse", "taken", "both"]))
def test_with_masks_taken_entries_and_counts_nothing_is_more_level(case, seed, given_as):
    allowed, n, R, C = case
    gone = (
        ~allowed
        if given_as == "taken"
        else ~allowed & (np.arange(allowed.size).reshape(allowed.shape) % 2 == 0)
    )
    taken = Entries.from_lists(*np.nonzero(gone)) if given_as in ("taken", "both") else None
    mask = {"mask": allowed, "sparse": sparse.csr_array(allowed), "taken": None, "both": allowed | gone}[
        given_as
    ]
    entries = balanced(allowed.shape, n, mask, seed, row_counts=R, col_counts=C, taken=taken)
    assert np.unique(entries.keys(allowed.shape[1])).size == len(entries.rows) == n
    assert allowed[entries.rows, entries.cols].all()
    assert slow.squares(entries, R, C) == slow.least_by_program(allowed, n, R, C)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(hard_cases(most=4))
def test_the_linear_program_finds_what_trying_everything_finds(case):
    allowed, n, R, C = case
    assert slow.least_by_program(allowed, n, R, C) == slow.least_by_trying(allowed, n, R, C)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(hard_cases(), SEEDS, st.integers(-10, 60), st.booleans())
def test_levelling_is_exact_from_any_start_and_any_price(case, seed, price, listed):
    allowed, n, R, C = case
    keys = np.random.default_rng(seed).permutation(np.flatnonzero(allowed))[:n]
    m1, m2 = allowed.shape
    pool = module.Available((m1, m2), np.flatnonzero(allowed == listed), listed)
    lists = pool.lists(np.arange(m1), np.arange(m2))
    rows, cols = module.minimise_squares(lists, keys // m2, keys % m2, R, C, price)
    entries = Entries(rows, cols)
    assert np.unique(entries.keys(m2)).size == n
    assert allowed[rows, cols].all()
    assert slow.squares(entries, R, C) == slow.least_by_program(allowed, n, R, C)


def skew_mask(rng, shape=(12, 9)):
    return rng.random(shape) < np.outer(rng.random(shape[0]), rng.random(shape[1]))


def test_filling_without_levelling_is_seen_to_fall_short(monkeypatch):
    monkeypatch.setattr(module, "minimise_squares", lambda lists, rows, cols, *_: (rows, cols))
    worse = 0
    for seed in range(30):
        allowed = skew_mask(np.random.default_rng(seed))
        R, C, n = np.zeros(12, dtype=int), np.zeros(9, dtype=int), int(allowed.sum()) // 2
        entries = balanced(allowed.shape, n, allowed, seed)
        worse += slow.squares(entries, R, C) > slow.least_by_program(allowed, n, R, C)
    assert worse > 0


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.integers(1, 12), st.integers(1, 12), SEEDS)
def test_filling_makes_any_margins_that_can_be_made(m1, m2, seed):
    # Gale and Ryser: margins of a 0/1 matrix, here taken from one
    rng = np.random.default_rng(seed)
    matrix = rng.random((m1, m2)) < np.outer(rng.random(m1), rng.random(m2)) * 2
    lists = module.Available((m1, m2), np.empty(0, dtype=np.int64), False).lists(np.arange(m1), np.arange(m2))
    x, y = matrix.sum(1), matrix.sum(0)
    cols = fill_rows(lists, x, y.copy(), rng.permutation(m1))
    made = np.zeros((m1, m2), dtype=int)
    np.add.at(made, (np.repeat(np.arange(m1), x), cols), 1)
    assert made.max(initial=0) <= 1
    assert np.array_equal(made.sum(0), y)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=8), st.data())
def test_level_pours_one_unit_after_the_other_where_it_is_lowest(rows, data):
    R, limits = (np.array(side) for side in zip(*rows, strict=True))
    n = data.draw(st.integers(0, int(limits.sum())))
    one_by_one = np.zeros_like(R)
    for _ in range(n):
        open_ = np.flatnonzero(one_by_one < limits)
        one_by_one[open_[np.argmin((R + one_by_one)[open_])]] += 1
    x = module.level_counts(R, limits, n)
    assert x.sum() == n
    assert (x >= 0).all()
    assert (x <= limits).all()
    assert ((R + x) ** 2).sum() == ((R + one_by_one) ** 2).sum()


def test_counts_before_are_made_up_for():
    R, C = np.array([3, 0, 0, 1]), np.array([0, 2, 2])
    entries = balanced((4, 3), 5, seed=0, row_counts=R, col_counts=C)
    rows, cols = counts(entries, (4, 3))
    assert sorted(R + rows) == [2, 2, 2, 3]
    assert list(C + cols) == [3, 3, 3]


def test_a_matrix_of_ten_thousand_million_entries_takes_seconds_and_linear_memory():
    shape, n = (10**5, 10**5), 10**6
    balanced((5, 4), 7, seed=0)
    tracemalloc.start()
    began = time.process_time()
    entries = balanced(shape, n, seed=1)
    took, peak = time.process_time() - began, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(np.ptp(count) == 0 for count in counts(entries, shape))
    assert np.diff(np.sort(entries.keys(shape[1]))).min() > 0
    assert peak < 200 * (n + sum(shape))
    assert took < 20  # of processor time; about one second when nothing else runs


@pytest.mark.parametrize("n", [4000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_masks_of_2000_by_2000_take_seconds(n):
    rng = np.random.default_rng(0)
    mask = skew_mask(rng, (2000, 2000))
    balanced((5, 4), 3, mask[:5, :4] | True, 0)
    began = time.process_time()
    entries = balanced(mask.shape, n, mask, 1)
    assert time.process_time() - began < 20  # of processor time; about one second when nothing else runs
    assert mask[entries.rows, entries.cols].all()
    assert np.diff(np.sort(entries.keys(2000))).min() > 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": 13}, "n must be at most 12, the number of available entries, got 13"),
        ({"mask": np.eye(4, 3) > 0, "n": 4}, "n must be at most 3"),
        ({"taken": Entries.from_lists([0, 0, 0], [0, 1, 1]), "n": 11}, "n must be at most 10"),
        ({"n": -1}, "n must be a whole number"),
        ({"n": 2.0}, "n must be a whole number"),
        ({"shape": (4, 0)}, "expected a shape of two whole numbers"),
        ({"shape": (4, 2.5)}, "expected a shape of two whole numbers"),
        ({"shape": 4}, "expected a shape of two whole numbers"),
        ({"mask": np.ones((3, 4), dtype=bool)}, "mask must be a 4 x 3 array"),
        ({"mask": np.ones((4, 3))}, "mask must be a 4 x 3 array of True and False, got float64"),
        ({"taken": Entries.from_lists([4], [0])}, "expected taken entries in rows 0 to 3, got row 4"),
        ({"taken": Entries.from_lists([0], [-1])}, "expected taken entries in columns 0 to 2, got column -1"),
        ({"row_counts": [1, 2, 3]}, "row_counts must be 4 whole numbers"),
        ({"col_counts": [1, 2, -3]}, "col_counts must be 3 whole numbers"),
        ({"col_counts": [1.0, 2.0, 3.0]}, "col_counts must be 3 whole numbers"),
        ({"seed": -1}, "seed must be"),
        ({"seed": "today"}, "seed must be"),
    ],
)
def test_mistakes_are_told(changes, words):
    with pytest.raises(ParameterError, match=words):
        balanced(**{"shape": (4, 3), "n": 5, "seed": 0} | changes)


@pytest.mark.parametrize(
    ("m", "n", "twice", "never"),
    [
        (100, 100, 30, 30),
        (100, 110, 30, 20),
        (100, 130, 0, 0),
        (50, 100, 0, 0),
        (100, 40, 12, 72),
        (16, 16, 4, 4),
        (15, 15, 0, 0),
    ],
)
def test_some_lines_are_to_be_measured_twice_and_as_many_not_at_all(m, n, twice, never):
    added = policy.double_lines(m, n, np.zeros(m, int), np.random.default_rng(0))
    if twice == 0:
        assert not added.any()
        return
    assert [(added == k).sum() for k in (0, 2)] == [twice, never]
    assert sorted(module.level_counts(added, np.full(m, 9), n)) == sorted(2 - added)


def test_lines_that_have_two_entries_serve_as_doubled():
    counts = np.repeat([2, 0], [50, 50])
    assert not policy.double_lines(100, 100, counts, np.random.default_rng(0)).any()


@pytest.mark.parametrize("n", [40, 100, 260])
def test_with_a_mask_lines_get_what_they_have_of_all_that_can_be_measured(n):
    measurable = np.random.default_rng(1).integers(0, 60, size=100)
    measurable[:4] = 0
    wanted = []
    for seed in range(200):
        added = policy.share_lines(measurable, n, np.random.default_rng(seed))
        wanted.append(added.max() - added)
        assert wanted[-1].sum() == n
        assert not wanted[-1][:4].any()
        assert (wanted[-1] > 1).sum() >= int(policy.DOUBLED * min(100, n))
    np.testing.assert_allclose(np.mean(wanted, axis=0), n * measurable / measurable.sum(), atol=0.25)


def test_where_all_can_be_measured_equally_the_shares_are_those_without_a_mask():
    rng = np.random.default_rng(0)
    for n, counts in ((100, {0: 30, 1: 40, 2: 30}), (250, {0: 50, 1: 50}), (110, {0: 20, 1: 50, 2: 30})):
        added = policy.share_lines(np.full(100, 30), n, rng)
        assert dict(zip(*np.unique(added.max() - added, return_counts=True), strict=True)) == counts
    assert not policy.share_lines(np.arange(15), 15, rng).any()  # too few
    assert policy.share_lines(np.zeros(20, int), 0, rng).tolist() == [0] * 20


def test_the_first_values_are_a_sample_of_those_that_can_be_measured():
    """Where rows of large values can be measured at more places, equal numbers a row are no sample (the control)."""
    bias, control = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        M = rng.normal(size=(60, 1)) + rng.normal(size=(60, 40))
        mask = rng.random(M.shape) < 1 / (1 + np.exp(-2 * M))
        mean, sd = M[mask].mean(), M[mask].std()
        campaign = Campaign.create("sqlite://", "masked", 60, 40, mask=mask, seed=seed)
        asked = campaign.ask(60, frame="columns")
        assert mask[asked["row"], asked["col"]].all()
        bias.append((M[asked["row"], asked["col"]].mean() - mean) / sd)
        control.append((M[balanced((60, 40), 60, mask, seed)].mean() - mean) / sd)
    assert abs(np.mean(bias)) < 0.1
    assert np.mean(control) < -0.15
