"""Batches as wholes: the determinant they add up to, how much is looked at, and what happens when much is asked."""

import tracemalloc

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, problem
from tests.reference import acquisition_slow as slow

from maxentry import acquisition
from maxentry._io import cancellable
from maxentry.acquisition import Limits, Problem, draw_field, greedy, total_variance
from maxentry.acquisition.draw_field import DrawField
from maxentry.acquisition.greedy import GreedySearch
from maxentry.acquisition.problem import read_costs
from maxentry.belief import Entries
from maxentry.errors import DataError, ParameterError

SHAPE = (12, 10)


def choose(name, b, q, n):
    return acquisition.choose(name, b, q, n, rng=np.random.default_rng(0))


@pytest.mark.parametrize("name", ["maxent", "maxent_nearest", "predictive_variance"])
def test_gains_of_a_batch_add_up_to_the_log_determinant(name):
    b, q = belief(SHAPE), problem(SHAPE)
    chosen, eta2 = choose(name, b, q, 9), float(np.mean(b.noise_var))
    cov, measured = slow.prior(name, b, q)
    keys = Entries(chosen.rows, chosen.cols).keys(10)
    cov = slow.given(cov, measured.keys(10), eta2)[np.ix_(keys, keys)]
    expected = np.linalg.slogdet(np.eye(9) + cov / eta2)[1] / 2
    assert chosen.gain.sum() == pytest.approx(expected, rel=1e-9)


def test_gains_of_integrated_variance_add_up_to_the_fall_of_the_mean_variance():
    b, q = belief(SHAPE), problem(SHAPE)
    chosen = choose("integrated_variance", b, q, 9)
    batch = Entries(chosen.rows, chosen.cols)
    fall = total_variance.TotalVariance(b).after(q.pending) - total_variance.TotalVariance(b).after(
        q.pending.joined(batch)
    )
    assert chosen.gain.sum() == pytest.approx(fall / 120, rel=1e-9)


def test_a_batch_is_not_the_top_of_one_map():
    """Two rows hold nearly all variance: singly all entries of one look best, jointly both are needed."""
    b = belief((20, 20), S=60, R=1, effects=False, spread=1.0)
    first = [choose("predictive_variance", b, Problem((20, 20)), 1)]
    joint = choose("predictive_variance", b, Problem((20, 20)), 10)
    v = DrawField.from_belief(b).variances(np.arange(20), np.arange(20)).ravel()
    top = np.argsort(-v)[:10]
    keys = Entries(joint.rows, joint.cols).keys(20)
    assert keys[0] == top[0] == Entries(first[0].rows, first[0].cols).keys(20)[0]
    assert set(keys) != set(top)
    cov, eta2 = slow.draw_covariance(b), float(np.mean(b.noise_var))

    def information(of):
        return np.linalg.slogdet(np.eye(10) + cov[np.ix_(of, of)] / eta2)[1]

    assert information(keys) > information(top)


@pytest.mark.parametrize("name", ["maxent_nearest", "predictive_variance"])
def test_screening_leaves_most_of_a_coherent_matrix_alone(monkeypatch, name):
    monkeypatch.setattr(greedy, "TILE", 4)
    b = belief((120, 100), S=20, R=2, coherent=True, effects=False)
    for observed in (0, 40):
        q = problem((120, 100), mask=False, costs=False, observed=observed, pending=0)
        assert choose(name, b, q, 3).evaluated < 0.2 * 12_000


def test_entries_of_an_opened_tile_are_screened_one_by_one(monkeypatch):
    """Rows and columns alike, so that tiles have like bounds: all are opened, yet few entries are evaluated."""
    monkeypatch.setattr(greedy, "TILE", 6)
    monkeypatch.setattr(draw_field, "WORTHWHILE", 0)  # as if the matrix were large
    b, q = belief((30, 30), S=40, R=1, spread=0.3, effects=False), Problem((30, 30))
    b.noise_var[:] = 10.0  # so that scores differ as variances do
    chosen, every = choose("predictive_variance", b, q, 3), slow.choose("predictive_variance", b, q, 3)
    assert Entries(chosen.rows, chosen.cols).keys(30).tolist() == every[0].tolist()
    monkeypatch.setattr(DrawField, "upper", lambda *_: None)
    without = choose("predictive_variance", b, q, 3)
    assert without.rows.tolist() == chosen.rows.tolist()
    assert chosen.evaluated < 0.5 * without.evaluated


def test_an_upper_bound_that_is_none_gives_another_answer(monkeypatch):
    """The control: were the bounds of single entries too low, something else would be found."""
    monkeypatch.setattr(greedy, "TILE", 6)
    monkeypatch.setattr(draw_field, "WORTHWHILE", 0)
    b, q = belief((30, 30), S=40, R=1, spread=0.3, effects=False), Problem((30, 30))
    b.noise_var[:] = 10.0
    honest, upper = choose("predictive_variance", b, q, 12), DrawField.upper
    monkeypatch.setattr(DrawField, "upper", lambda *a: 0.05 * upper(*a))
    assert choose("predictive_variance", b, q, 12).rows.tolist() != honest.rows.tolist()


def test_a_bound_that_is_none_gives_another_answer(monkeypatch):
    """The control: were the bounds too low, the search would not find what exhaustive search finds."""
    monkeypatch.setattr(greedy, "TILE", 1)
    honest, wrong, bounds = [], [], DrawField.bounds
    for seed in range(10):
        b, q = belief(SHAPE, seed=seed), problem(SHAPE, seed)
        keys, _ = slow.choose("predictive_variance", b, q, 3)
        for factor, found in ((1.0, honest), (0.3, wrong)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(DrawField, "bounds", lambda x, f=factor: [(f * P, Q) for P, Q in bounds(x)])
                chosen = choose("predictive_variance", b, q, 3)
            found.append(Entries(chosen.rows, chosen.cols).keys(10).tolist() == keys.tolist())
    assert all(honest)
    assert not all(wrong)


def test_candidates_that_were_dropped_are_found_again(monkeypatch):
    monkeypatch.setattr(greedy, "TILE", 3)
    monkeypatch.setattr(greedy, "MOST_OPEN", 6)
    b, q = belief(SHAPE, S=30), Problem(SHAPE)
    search, found = GreedySearch(DrawField.from_belief(b), q, 30), []
    while len(found) < 30:
        key, _ = search.next()
        found.append(key)
    assert search.reopened  # tiles were opened a second time
    assert found == slow.choose("predictive_variance", b, q, 30)[0].tolist()
    assert search.evaluated <= 120  # each entry is counted once


def test_a_shortlist_begins_with_the_best_entry_and_never_leaves_the_available(monkeypatch):
    monkeypatch.setattr(total_variance, "MOST_MAPPED", 50)
    monkeypatch.setattr(total_variance, "HELD_BYTES", 8 * 9 * 25)
    monkeypatch.setattr(total_variance, "CHUNK", 2)
    b, q = belief(SHAPE), problem(SHAPE)
    chosen = choose("integrated_variance", b, q, 6)
    keys, gains = slow.choose("integrated_variance", b, q, 6)
    assert Entries(chosen.rows, chosen.cols).keys(10)[0] == keys[0]
    assert chosen.gain[0] == pytest.approx(gains[0], rel=1e-9)
    assert chosen.gain.sum() > 0.8 * gains.sum()
    assert slow.available(q)[chosen.rows, chosen.cols].all()
    everything = choose(
        "integrated_variance", b, q, 200
    )  # lists of 25 follow each other until nothing is left
    assert sorted(everything.entries.keys(10)) == np.flatnonzero(slow.available(q)).tolist()
    assert everything.evaluated == chosen.evaluated == np.count_nonzero(slow.available(q))


@pytest.mark.parametrize("lines", ["rows", "cols"])
def test_a_shortlist_reaches_as_far_as_the_limits_want(monkeypatch, lines):
    """Two rows hold nearly all variance: a list of the greatest bounds alone would hold no entry of another."""
    shape = (30, 30)
    monkeypatch.setattr(total_variance, "MOST_MAPPED", 50)
    monkeypatch.setattr(total_variance, "HELD_BYTES", 8 * 9 * 40)
    b = belief(shape, effects=False)
    side = b.left if lines == "rows" else b.right
    side[:, :2] *= 100
    limits = Limits(per_row=1) if lines == "rows" else Limits(per_col=1)
    made, candidates_of = [], total_variance._make_shortlist
    monkeypatch.setattr(total_variance, "_make_shortlist", lambda *a: made.append(1) or candidates_of(*a))
    chosen = choose("integrated_variance", b, Problem(shape, limits=limits), 10)
    assert len(set((chosen.rows if lines == "rows" else chosen.cols).tolist())) == 10
    assert len(made) == 1
    assert len(choose("integrated_variance", b, Problem(shape, limits=limits), 100).rows) == 30


@pytest.mark.parametrize("name", ["uniform", "balanced"])
def test_designs_within_limits_need_little_of_a_large_matrix(name):
    shape = (3000, 2000)
    q = problem(shape, mask=False, costs=False, pending=400, limits=Limits(per_row=2, per_col=1))
    choose(name, None, q, 1000)  # compiles what is not cached yet, which takes memory of its own
    tracemalloc.start()
    chosen = choose(name, None, q, 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6  # half a byte an entry
    assert len(chosen.rows) == 1000
    assert np.bincount(chosen.rows).max() <= 2
    assert np.bincount(chosen.cols).max() == 1
    assert not np.isin(chosen.entries.keys(2000), q.taken.keys(2000)).any()


def test_integrated_variance_may_rise_as_others_join():
    """Why nothing of it is lazy: an entry's gain given another can be above its gain alone."""
    rose = False
    for seed in range(3):
        b = belief((5, 4), S=6, R=1, seed=seed)
        cov, eta2 = slow.draw_covariance(b), 1e-3
        alone = [slow.gain_of("integrated_variance", cov, [a], eta2) for a in range(20)]
        for first in range(20):
            after = slow.given(cov, [first], eta2)
            later = [slow.gain_of("integrated_variance", after, [a], eta2) for a in range(20)]
            rose |= any(y > x * (1 + 1e-6) for x, y in zip(alone, later, strict=True))
    assert rose


class Stop(Exception):
    pass


@pytest.mark.parametrize(
    ("name", "limits"),
    [(name, Limits(plates=plates)) for name in acquisition.CRITERIA for plates in (None, "rows")
     if plates is None or name not in ("uniform", "balanced")],
)  # fmt: skip
def test_a_choice_can_be_cancelled(name, limits):
    def stop():
        raise Stop

    with cancellable(stop), pytest.raises(Stop):
        choose(name, belief(SHAPE), problem(SHAPE, limits=limits), 3)


@pytest.mark.parametrize("size", [1e90, np.nan])
def test_draws_that_are_no_numbers_to_compute_with_are_refused(size):
    b = belief(SHAPE)
    b.left[0, 0, 0] = size
    with pytest.raises(DataError, match=r"expected draws below 1e\+70 to choose by"):
        choose("predictive_variance", b, problem(SHAPE), 3)


@pytest.mark.parametrize("costs", [np.full((2, 2), 1j), np.full((2, 2), np.datetime64("2030-01-01")), "dear"])
def test_costs_that_are_no_numbers_are_refused(costs: object) -> None:
    with pytest.raises(ParameterError, match="cost"):
        read_costs(costs, ("a", "b"), ("c", "d"))
