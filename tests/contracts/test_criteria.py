"""What every criterion keeps to, whatever it finds best."""

from random import Random

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, entries, problem

from maxentry import acquisition
from maxentry.acquisition import CRITERIA, Costs, Limits, Problem, Selection, greedy
from maxentry.acquisition.targets import GoalCriterion
from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError
from maxentry.model.goal import Goal

SHAPE = (8, 7)
DESIGNS = ("uniform", "balanced")
BY_BELIEF = [name for name in CRITERIA if name not in DESIGNS]


ECONOMIES = ("at ease", "little held")


@pytest.fixture(params=ECONOMIES)
def economy(request, monkeypatch):
    """Every promise is kept too where a matrix is treated as a large one is: in tiles, with few features held."""
    economise(request.param, monkeypatch)


def economise(economy, monkeypatch):
    if economy == "little held":
        monkeypatch.setattr(greedy, "TILE", 2)
        monkeypatch.setattr(greedy, "HELD_BYTES", 0)
        monkeypatch.setattr(greedy, "FEW", 7)


# Criteria of goals: the largest entries, one of each column, averages, and what is above a value.
GOALS = [
    GoalCriterion(Goal.parse(words), None)
    for words in ("best 3", "smallest per column", "rank rows", "threshold 0.5")
]


# Designs and goals know neither tiles nor features.
@pytest.fixture(
    params=[*DESIGNS, *GOALS, *((name, economy) for name in BY_BELIEF for economy in ECONOMIES)],
    ids=lambda x: str(getattr(x, "goal", x)),
)
def name(request, monkeypatch):
    if not isinstance(request.param, tuple):
        return request.param
    name, economy = request.param
    economise(economy, monkeypatch)
    return name


def choose(name, q, n=5, b=None, seed=3):
    b = belief(q.shape) if b is None else b
    chosen = acquisition.choose(name, b, q, n, rng=np.random.default_rng(seed))
    check(chosen, q)
    return chosen


def check(chosen, q):
    assert len(chosen.rows) == len(chosen.cols) == len(chosen.gain) == len(chosen.cost)
    assert chosen.rows.dtype == chosen.cols.dtype == np.int64
    assert ((chosen.rows >= 0) & (chosen.rows < q.shape[0])).all()
    assert ((chosen.cols >= 0) & (chosen.cols < q.shape[1])).all()
    np.testing.assert_array_equal(chosen.cost, q.costs.at(chosen.rows, chosen.cols))


def keys(chosen, q):
    return Entries(chosen.rows, chosen.cols).keys(q.shape[1]).tolist()


def test_gains_are_finite_and_not_negative_and_those_of_designs_are_unknown(name):
    gain = choose(name, problem(SHAPE)).gain
    assert np.isnan(gain).all() if name in DESIGNS else (np.isfinite(gain) & (gain >= 0)).all()


def test_only_available_entries_are_chosen_and_each_once(name):
    q = problem(SHAPE, observed=20, pending=10)
    chosen = keys(choose(name, q, 100), q)
    free = set(np.flatnonzero(q.mask)) - set(q.observed.keys(7).tolist()) - set(q.pending.keys(7).tolist())
    assert sorted(chosen) == sorted(free)  # all of them, since more were asked for


def test_observed_and_pending_entries_are_available_again_when_asked_for(name):
    q = problem(SHAPE, observed=100, pending=100, mask=False, again=True)
    assert len(keys(choose(name, q, 4), q)) == 4


@pytest.mark.usefixtures("economy")
def test_replicates_are_chosen_where_noise_makes_them_worthwhile():
    mask = np.zeros(SHAPE, dtype=bool)
    mask[2, 3] = True
    for name in BY_BELIEF:
        q = Problem(SHAPE, mask=mask, again=True)
        chosen = choose(name, q, 3)
        assert keys(chosen, q) == [17, 17, 17]
        assert (np.diff(chosen.gain) < 0).all()


@pytest.mark.usefixtures("economy")
def test_pending_entries_change_the_choice():
    for name in BY_BELIEF:
        q = problem(SHAPE, pending=0, costs=False)
        first = choose(name, q, 2)
        pending = Problem(SHAPE, q.observed, Entries.from_lists(first.rows[:1], first.cols[:1]), q.mask)
        assert keys(choose(name, pending, 1), q) == keys(first, q)[1:]


def test_batches_of_one_after_another_are_the_batch(name):
    if name in DESIGNS:
        pytest.skip("random")
    q = problem(SHAPE, costs=True)
    together, pending, singly = choose(name, q, 5), q.pending, []
    for _ in range(5):
        one = choose(name, Problem(SHAPE, q.observed, pending, q.mask, costs=q.costs), 1)
        singly += keys(one, q)
        pending = pending.joined(Entries(one.rows, one.cols))
    assert keys(together, q) == singly


@pytest.mark.parametrize(
    "limits", [Limits(per_row=1), Limits(per_col=2), Limits(per_row=2, per_col=1)], ids=str
)
def test_limits_hold_and_are_used_up(name, limits):
    q = problem(SHAPE, mask=False, observed=0, pending=0, limits=limits)
    chosen = choose(name, q, 100)
    per_row, per_col = np.bincount(chosen.rows, minlength=8), np.bincount(chosen.cols, minlength=7)
    assert per_row.max() <= (limits.per_row or 100)
    assert per_col.max() <= (limits.per_col or 100)
    quota = np.outer(per_row < (limits.per_row or 100), per_col < (limits.per_col or 100))
    quota[chosen.rows, chosen.cols] = False
    assert not quota.any()  # no further entry could have joined


@pytest.mark.parametrize("limits", [Limits(), Limits(plates="rows")], ids=str)
def test_entries_evaluated_are_counted_once(limits, economy):
    q = problem(SHAPE, limits=limits)
    free = np.array(q.mask)
    free[q.taken.rows, q.taken.cols] = False
    for name in BY_BELIEF:
        few, all_ = choose(name, q, 1), choose(name, q, 100)
        assert len(few.rows) <= few.evaluated <= all_.evaluated == np.count_nonzero(free)
        assert limits.plates is None or few.evaluated == all_.evaluated  # every plate is scored at first


@pytest.mark.parametrize("plates", ["rows", "cols"])
def test_plates_are_all_available_entries_of_whole_lines(name, plates):
    q = problem(SHAPE, limits=Limits(plates=plates))
    chosen = choose(name, q, 3)
    lines, across = (chosen.rows, chosen.cols) if plates == "rows" else (chosen.cols, chosen.rows)
    assert len(set(lines.tolist())) == 3
    free = np.array(q.mask)
    taken = q.observed.joined(q.pending)
    free[taken.rows, taken.cols] = False
    free = free if plates == "rows" else free.T
    for line in set(lines.tolist()):
        np.testing.assert_array_equal(across[lines == line], np.flatnonzero(free[line]))
    assert len(set(choose(name, q, 100).rows.tolist())) == 8


def test_the_same_question_gets_the_same_answer(name):
    q = problem(SHAPE)
    first, second = choose(name, q), choose(name, q)
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)
    if name not in DESIGNS:
        assert keys(choose(name, q, seed=4), q) == keys(first, q)


def test_asking_for_none_gives_none(name):
    assert keys(choose(name, problem(SHAPE), 0), problem(SHAPE)) == []
    assert keys(choose(name, problem(SHAPE, limits=Limits(plates="rows")), 0), problem(SHAPE)) == []


def test_nothing_available_gives_nothing(name):
    for limits in (Limits(), Limits(per_row=1), Limits(plates="cols")):
        q = Problem(SHAPE, mask=np.zeros(SHAPE, dtype=bool), limits=limits)
        assert keys(choose(name, q), q) == []


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 5), (5, 1), (5, 4)])
def test_tiny_matrices(name, shape):
    q = Problem(shape)
    assert len(set(keys(choose(name, q, 100, belief(shape, R=1)), q))) == shape[0] * shape[1]


@pytest.mark.parametrize("S", [1, 2])
def test_few_draws(name, S):
    assert len(keys(choose(name, problem(SHAPE), 5, belief(SHAPE, S)), problem(SHAPE))) == 5


def test_a_belief_of_rank_zero(name):
    assert len(keys(choose(name, problem(SHAPE), 5, belief(SHAPE, R=0)), problem(SHAPE))) == 5


def without_factors(mu, shape=SHAPE):
    """Draws that differ in their level only."""
    S, (m1, m2) = len(mu), shape
    return Belief(
        np.zeros((S, m1, 2)), np.zeros((S, m2, 2)), np.zeros((S, m1)), np.zeros((S, m2)), mu, np.ones(S)
    )


@pytest.mark.usefixtures("economy")
def test_a_belief_without_variance_gives_the_first_available_entries():
    zero = without_factors(np.zeros(4))
    for name in BY_BELIEF:
        chosen = choose(name, Problem(SHAPE), 3, zero)
        assert keys(chosen, Problem(SHAPE)) == [0, 1, 2]
        assert (chosen.gain == 0).all()
        assert len(choose(name, Problem(SHAPE, limits=Limits(plates="rows")), 2, zero).rows) == 14


@pytest.mark.usefixtures("economy")
def test_where_all_entries_are_equal_the_first_are_chosen():
    """With more equals than features are held."""
    level = without_factors(np.array([-1.0, 0.5, 2.0, 0.1]))
    for name in ("predictive_variance", "integrated_variance"):
        for again, expected in ((False, [0, 1, 2, 3]), (True, [0, 0, 0, 0])):
            q = Problem(SHAPE, again=again)
            chosen = choose(name, q, 4, level)
            assert keys(chosen, q) == expected
            assert (chosen.gain > 0).all()


@pytest.mark.parametrize("noise", [1e-8, 1e-30])
def test_noise_far_below_the_variances_leaves_whole_batches_and_finite_gains(noise, economy):
    b = belief(SHAPE, S=20)
    b.noise_var[:] = noise
    for name in BY_BELIEF:
        for pending in (0, 30):
            q = Problem(SHAPE, pending=Entries.from_keys(np.arange(pending), 7))
            chosen = choose(name, q, 100, b)
            assert len(chosen.rows) == 56 - pending
            assert (np.isfinite(chosen.gain) & (chosen.gain >= 0)).all()
            if name != "integrated_variance":
                assert (np.diff(chosen.gain) <= 1e-5 + 0.01 * chosen.gain[:-1]).all()
            plates = choose(name, Problem(SHAPE, pending=q.pending, limits=Limits(plates="rows")), 100, b)
            assert len(plates.rows) == 56 - pending
            assert (np.isfinite(plates.gain) & (plates.gain >= 0)).all()


def test_single_precision_beliefs_choose_as_their_numbers_say(name):
    b = belief(SHAPE, dtype=np.float32)
    wide = Belief(*(np.asarray(x, dtype=float) for x in (b.left, b.right, b.row, b.col)), b.mu, b.noise_var)
    q = problem(SHAPE)
    assert keys(choose(name, q, 5, b), q) == keys(choose(name, q, 5, wide), q)


@pytest.mark.usefixtures("economy")
def test_dear_entries_are_left_to_the_last():
    for name in BY_BELIEF:
        cost = np.ones(SHAPE)
        best = choose(name, Problem(SHAPE), 1)
        cost[best.rows, best.cols] = 1e6
        chosen = choose(name, Problem(SHAPE, costs=Costs(entry=cost)), 100)
        assert (chosen.rows[-1], chosen.cols[-1]) == (best.rows[0], best.cols[0])


@pytest.mark.usefixtures("economy")
def test_scaling_all_costs_changes_nothing():
    rng = np.random.default_rng(0)
    row, col = rng.random(8) + 0.1, rng.random(7)
    for name in BY_BELIEF:
        q, dear = (Problem(SHAPE, costs=Costs(row=c * row, col=c * col)) for c in (1.0, 8.0))
        assert keys(choose(name, q), q) == keys(choose(name, dear), q)


def test_a_criterion_of_ones_own_is_used():
    def first(belief, problem, n, rng):
        index = np.arange(n)
        return Selection(0 * index, index, 1.0 * index, np.ones(n))

    class First:
        choose = staticmethod(first)

    for own in (first, First()):
        assert choose(own, Problem(SHAPE), 3).cols.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: choose("best", Problem(SHAPE)), "criterion must be one of maxent,.*got 'best'"),
        (lambda: choose(3, Problem(SHAPE)), r"or a function \(belief, problem, n, rng\) -> Selection, got 3"),
        (lambda: choose(None, Problem(SHAPE)), "criterion must be one of .*, got None"),
        (lambda: choose("maxent", Problem(SHAPE), -1), "0 or more entries, got -1"),
        (lambda: choose("uniform", Problem(SHAPE), 2.5), "whole number of entries to choose, got 2.5"),
        (lambda: Problem((0, 7)), r"at least 1.*got \(0, 7\)"),
        (lambda: Problem(SHAPE, mask=np.ones(SHAPE, dtype=int)), "mask of True and False, got one of int64"),
        (lambda: Problem(SHAPE, costs=Costs(row=np.full(8, 1e308), col=np.full(7, 1e308))), "infinite one"),
        (lambda: Problem(SHAPE, costs=Costs(np.full(SHAPE, 1e308), np.full(8, 1e308))), "infinite one"),
        (lambda: acquisition.choose("maxent", None, Problem(SHAPE), 1, rng=None), "expected a belief"),
        (lambda: choose("maxent", Problem(SHAPE), 1, belief((3, 3))), r"shape \(8, 7\), got \(3, 3\)"),
        (lambda: choose("maxent", Problem(SHAPE), 1, belief(SHAPE, noise=0.0)), "above zero, got 0"),
        (lambda: Problem(SHAPE, mask=np.ones((7, 8), dtype=bool)), "expected a mask of shape"),
        (lambda: Problem(SHAPE, observed=Entries.from_lists([8], [0])), "rows 0 to 7, got row 8"),
        (lambda: Problem(SHAPE, pending=Entries.from_lists([0], [-1])), "columns 0 to 6, got column -1"),
        (lambda: Problem(SHAPE, costs=Costs(row=np.ones(3))), r"row costs of shape \(8,\), got \(3,\)"),
        (lambda: Problem(SHAPE, costs=Costs(entry=np.full(SHAPE, np.nan))), "finite entry costs, got nan"),
        (lambda: Problem(SHAPE, costs=Costs(row=np.zeros(8), col=np.ones(7) - 1)), "above zero, got an entry"),
        (lambda: Limits(per_row=0), "per_row of at least 1, got 0"),
        (lambda: Limits(plates="plates"), "plates 'rows', 'cols', a block like '8x12' or None, got 'plates'"),
        (lambda: Limits(per_row=1, plates="rows"), "got both"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        wrong()


def test_designs_need_no_belief_and_balanced_levels_the_counts():
    rng = np.random.default_rng(0)
    q = Problem(SHAPE, observed=entries(SHAPE, 6, rng), pending=Entries.from_lists([0], [0]))
    for name in DESIGNS:
        assert len(acquisition.choose(name, None, q, 9, rng=rng).rows) == 9
    q = Problem(SHAPE, observed=Entries.from_lists([0, 1, 2], [0, 0, 1]))
    chosen = acquisition.choose("balanced", None, q, 13, rng=rng)
    counts = np.bincount(np.concatenate([q.observed.rows, chosen.rows]), minlength=8)
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("wrong", [Random, len, object, lambda belief: None])
def test_a_function_that_takes_something_else_is_refused(wrong):
    with pytest.raises(ParameterError, match=r"criterion must be one of .* \(belief, problem, n, rng\)"):
        acquisition.choose(wrong, None, Problem((4, 3), Entries.none()), 1, rng=np.random.default_rng(1))


def test_the_names_are_those_of_the_criteria():
    assert tuple(CRITERIA) == acquisition.CRITERION_NAMES
    for name in acquisition.CRITERION_NAMES:
        problem = Problem((3, 3))
        if name in acquisition.WITHOUT_BELIEF:
            assert len(acquisition.choose(name, None, problem, 2, rng=np.random.default_rng(0)).rows) == 2
        else:
            with pytest.raises(ParameterError, match="belief"):
                acquisition.choose(name, None, problem, 2, rng=np.random.default_rng(0))
