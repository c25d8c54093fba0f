"""Choosing for a goal, against the rules written out entry by entry; candidates of large matrices; a wrong mode."""

from dataclasses import replace

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, problem

from maxentry.acquisition import Costs, Limits, Problem, targets
from maxentry.acquisition.targets import GoalCriterion
from maxentry.belief import Belief, Entries
from maxentry.errors import ParameterError, SizeError
from maxentry.model.goal import Goal
from maxentry.model.likelihood import Likelihood, NoiseLaw

SHAPE = (6, 5)


def choose(words, b, q, n, convert=None, weights=None):
    criterion = GoalCriterion(replace(Goal.parse(words), weights=weights), convert)
    return criterion.choose(b, q, n, np.random.default_rng(0))


def keys(chosen, m2=SHAPE[1]):
    return (chosen.rows * m2 + chosen.cols).tolist()


def free_keys(q):
    return np.flatnonzero(q.available(np.arange(q.shape[0]), np.arange(q.shape[1])))


def slow_improvement(goal, X, q, n):
    """Greedy expected improvement of the k best of each line, a draw and an entry at a time."""
    S, m2 = len(X), q.shape[1]
    flat = goal.sign * X.reshape(S, -1)
    line = {None: lambda a: 0, "row": lambda a: a // m2, "column": lambda a: a % m2}[goal.per]
    known = sorted({*q.observed.keys(m2).tolist(), *q.pending.keys(m2).tolist()})
    free = free_keys(q).tolist()
    cost = dict(zip(free, q.costs.at(np.array(free) // m2, np.array(free) % m2), strict=True))
    lowest = flat[:, known + free].min(1)
    chosen, gains = [], []
    for _ in range(n):
        score = {}
        for a in free:
            if a in chosen:
                continue
            better = 0.0
            for s in range(S):
                mine = sorted((flat[s, b] for b in known + chosen if line(b) == line(a)), reverse=True)[
                    : goal.k
                ]
                bar = mine[-1] if len(mine) == goal.k else lowest[s]
                better += max(flat[s, a] - bar, 0.0) / S
            score[a] = better / cost[a]
        best = max(score, key=score.get)
        gains.append(score[best] * cost[best])
        chosen.append(best)
    return chosen, gains


@pytest.mark.parametrize("words", ["best 1", "best 3", "best per row", "smallest 2 per column"])
@pytest.mark.parametrize("user_units", [False, True])
def test_best_entries_by_expected_improvement(words, user_units):
    b, q, goal = belief(SHAPE, S=12, seed=5), problem(SHAPE, seed=2, observed=6), Goal.parse(words)
    convert = (lambda x, *_: np.exp(x)) if user_units else None
    X = np.stack([b.draw(s) for s in range(b.n_draws)])
    chosen = choose(words, b, q, 4, convert)
    expected, gains = slow_improvement(goal, np.exp(X) if user_units else X, q, 4)
    assert keys(chosen) == expected
    np.testing.assert_allclose(chosen.gain, gains)


def slow_knowledge(F, X, q, n, eta2):
    """Greedy fall of the sum of the targets' variances, with covariances of a joint Gaussian of entries and targets."""
    S, m2 = len(X), q.shape[1]
    joint = np.cov(np.column_stack([X.reshape(S, -1), F]).T, bias=True)
    size = X[0].size
    free, chosen, gains = free_keys(q).tolist(), [], []
    cost = dict(zip(free, q.costs.at(np.array(free) // m2, np.array(free) % m2), strict=True))

    def condition(C, a):
        return C - np.outer(C[:, a], C[a]) / (C[a, a] + eta2)

    for a in q.pending.keys(m2).tolist():
        joint = condition(joint, a)
    for _ in range(n):
        gain = {
            a: np.trace(joint[size:, size:] - condition(joint, a)[size:, size:])
            for a in free
            if a not in chosen
        }
        best = max(gain, key=lambda a: gain[a] / cost[a])
        gains.append(gain[best])
        chosen.append(best)
        joint = condition(joint, best)
    return chosen, gains


def slow_ranking(averages, sign=1):
    """Averages, and which line is the first of each draw, weighed by the sum of the averages' variances."""
    S, m = averages.shape
    first, total = np.zeros((S, m)), sum(np.var(averages[:, b]) for b in range(m))
    for s in range(S):
        first[s, max(range(m), key=lambda b: sign * averages[s, b])] = 1.0
    return np.column_stack([averages, np.sqrt(total) * first])


@pytest.mark.parametrize("words", ["rank rows", "rank columns", "rank rows smallest", "threshold 0.2"])
def test_targets_by_the_fall_of_their_variance(words):
    b, q = belief(SHAPE, S=40, seed=5), problem(SHAPE, seed=2, observed=6)
    X = np.stack([b.draw(s) for s in range(b.n_draws)])
    F = X.reshape(40, -1) > 0.2
    if words.startswith("rank"):
        F = slow_ranking(X.mean(1 if "columns" in words else 2), -1 if "smallest" in words else 1)
    chosen = choose(words, b, q, 4)
    expected, gains = slow_knowledge(F, X, q, 4, b.noise_var.mean())
    assert keys(chosen) == expected
    np.testing.assert_allclose(chosen.gain, gains, rtol=1e-6)


def test_lines_that_may_be_the_first_are_asked_about_more():
    """Six rows are known equally badly; two may be the first, and which row is the last is sure."""
    rng, S = np.random.default_rng(3), 400
    none, level = np.zeros((S, 6, 1)), np.array([30.0, 30.0, 20.0, 10.0, 0.0, -10.0])
    b = Belief(none, none[:, :5], level + rng.normal(size=(S, 6)), np.zeros((S, 5)), np.zeros(S), np.ones(S))
    first = choose("rank rows", b, Problem(SHAPE), 2).rows
    last = choose("rank rows smallest", b, Problem(SHAPE), 6).rows
    assert sorted(first.tolist()) == [0, 1]
    assert sorted(last.tolist()) == [0, 1, 2, 3, 4, 5]


def test_the_first_counts_as_far_as_it_is_in_doubt():
    averages = np.array([[3.0, 3.0, 1.0, 0.0], [3.0, 1.0, 2.0, 0.0]])
    scale = np.sqrt(averages.var(0).sum())
    found = targets.add_first(averages, 1)
    np.testing.assert_array_equal(found[:, :4], averages)
    np.testing.assert_allclose(found[:, 4:] / scale, [[0.5, 0.5], [1, 0]])  # equal lines share it
    np.testing.assert_array_equal(targets.add_first(averages, -1), averages)  # the last is sure
    alone = averages[:, 1:2]
    np.testing.assert_array_equal(targets.add_first(alone, 1), alone)


def test_equal_lines_are_ranked():
    """Rows that are equal in every draw: entries are chosen, the same ones each time."""
    b = belief(SHAPE, S=40, seed=5)
    equal = Belief(b.left[:, [0] * 6], b.right, b.row[:, [0] * 6], b.col, b.mu, b.noise_var)
    chosen = choose("rank rows", equal, Problem(SHAPE), 8)
    assert len(set(keys(chosen))) == 8
    assert keys(chosen) == keys(choose("rank rows", equal, Problem(SHAPE), 8))


def test_entries_whose_measurement_tells_little_gain_little():
    """Averages of rows where the answers of one row are nearly sure: it is not asked about."""
    b = belief(SHAPE, S=40, seed=5, spread=0.3)
    sure = Belief(b.left, b.right, b.row + np.array([9.0, 0, 0, 0, 0, 0]), b.col, b.mu, np.ones(40))
    law = NoiseLaw(np.ones(40))
    yes_no = replace(sure, inform=lambda: Likelihood("yes/no").information(law, None))
    plain = choose("rank rows", sure, Problem(SHAPE), 30)
    aware = choose("rank rows", yes_no, Problem(SHAPE), 30)
    assert np.flatnonzero(aware.rows == 0).mean() > 25
    assert np.flatnonzero(plain.rows == 0).mean() < 20


def test_weights_say_which_columns_count():
    b = belief(SHAPE, S=40, seed=5)
    b = Belief(b.left * 0.01, b.right, b.row, b.col, b.mu, b.noise_var)
    weights = (0.0, 0.0, 1.0, 0.0, 0.0)
    goal = Goal("rank", per="row", weights=weights)
    X = np.stack([b.draw(s) for s in range(b.n_draws)])
    np.testing.assert_allclose(targets.average_lines(b, None, goal), X[:, :, 2])
    np.testing.assert_allclose(targets.average_lines(b, lambda x, *_: np.exp(x), goal), np.exp(X)[:, :, 2])


@pytest.mark.parametrize(
    "words", ["best 2", "best per row", "smallest 2 per column", "rank rows", "threshold 0"]
)
def test_candidates_of_a_large_matrix_are_a_part_with_the_best_in_it(words, monkeypatch):
    b, q = belief(SHAPE, S=30, seed=1), problem(SHAPE, seed=2)
    monkeypatch.setattr(targets, "MOST_CANDIDATES", 20)
    monkeypatch.setattr(targets, "MOST_SAMPLED", 10)
    monkeypatch.setattr(targets, "BLOCK_NUMBERS", 2 * SHAPE[1])
    few = choose(words, b, q, 3)
    free = set(free_keys(q).tolist())
    assert set(keys(few)) <= free
    assert len(set(keys(few))) == 3
    if words.startswith(("best", "smallest")):
        goal = Goal.parse(words)
        found = targets.screen_best(b, q, goal, None, 3)
        x = goal.sign * np.where(q.available(np.arange(6), np.arange(5)), b.draw(0), np.nan)
        listed = set(found.keys(SHAPE[1]).tolist())
        best = {None: [np.nanargmax(x)], "row": np.arange(6) * 5 + np.nanargmax(x, 1),
                "column": np.nanargmax(x, 0) * 5 + np.arange(5)}[goal.per]  # fmt: skip
        assert {int(a) for a in best} <= listed


@pytest.mark.parametrize("per", [None, "row", "column"])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_the_best_entries_of_lines_are_those_of_a_full_sort(per, depth):
    x = np.random.default_rng(depth).normal(size=(7, 6))
    x[2], x[:, 1] = -np.inf, -np.inf  # taken
    places = np.arange(x.size).reshape(x.shape)
    lines = {None: [places.ravel()], "row": list(places), "column": list(places.T)}[per]
    expected = {int(a) for line in lines for a in line[np.argsort(-x.ravel()[line])][:depth]}
    found = {int(a) for a in targets._best_entries(x, per, depth)}
    finite = set(np.flatnonzero(np.isfinite(x.ravel())).tolist())
    assert found & finite == expected & finite


@pytest.mark.parametrize("words", ["best 3", "smallest 2 per row", "best per column"])
def test_of_many_measured_entries_those_that_may_be_the_best_are_looked_at(words, monkeypatch):
    b, q = belief(SHAPE, S=30, seed=1, spread=0.01, effects=False), problem(SHAPE, seed=2, observed=20)
    whole = choose(words, b, q, 3)
    monkeypatch.setattr(targets, "MOST_MEASURED", 2)
    goal = Goal.parse(words)
    assert len(targets._best_measured(b, q, goal, None).rows) < 20
    few = choose(words, b, q, 3)
    assert keys(few) == keys(whole)
    np.testing.assert_allclose(few.gain, whole.gain)


class Counted(Belief):
    """Counts the entries of draws that are formed."""

    formed = 0

    def at(self, rows, cols):
        Counted.formed += self.n_draws * len(rows)
        return super().at(rows, cols)

    def draw_at(self, s, i, j):
        Counted.formed += np.broadcast(i, j).size
        return super().draw_at(s, i, j)

    def block(self, s, rows, cols):
        Counted.formed += (rows.stop - rows.start) * (cols.stop - cols.start)
        return super().block(s, rows, cols)


@pytest.mark.parametrize("words", ["best", "best 9 per row", "best per column", "rank rows", "threshold 1"])
def test_of_a_large_matrix_few_entries_of_draws_are_formed(words, monkeypatch):
    """Some draws of all entries, and all draws of some: else 8 of 1,000 x 1,000 take many times as long."""
    S, (m1, m2) = 200, (60, 50)
    b, q = belief((m1, m2), S=S, seed=1), problem((m1, m2), seed=2, observed=300)
    counted = Counted(b.left, b.right, b.row, b.col, b.mu, b.noise_var)
    few = {
        "SCREENS": 6,
        "MOST_CANDIDATES": 400,
        "MOST_SAMPLED": 200,
        "MOST_TARGETS": 100,
        "MOST_MEASURED": 150,
    }
    for name, most in few.items():
        monkeypatch.setattr(targets, name, most)
    monkeypatch.setattr(Counted, "formed", 0)
    chosen = choose(words, counted, q, 8)
    assert keys(chosen, m2) == keys(choose(words, b, q, 8), m2)
    screened = 6 * (m1 * m2 + 300)
    lines = (9 + targets.SPARE) * m1  # measured entries of each line that are looked at
    assert 0 < Counted.formed <= screened + S * (400 + 150 + lines) < S * m1 * m2


def test_few_entries_left_of_a_large_matrix_are_all_candidates(monkeypatch):
    monkeypatch.setattr(targets, "MOST_CANDIDATES", 4)
    mask = np.zeros(SHAPE, dtype=bool)
    mask[1, :3] = True
    q = Problem(SHAPE, observed=Entries.from_lists([1], [0]), mask=mask)
    assert sorted(keys(choose("rank rows", belief(SHAPE), q, 5))) == [6, 7]


def test_a_batch_looks_in_several_places_while_modes_differ():
    """Half of the draws say that the first row is best, the others the last one: both are tried at once."""
    S, (m1, m2) = 20, SHAPE
    row = np.zeros((S, m1))
    row[:10, 0], row[10:, -1] = 5.0, 4.0
    rng = np.random.default_rng(0)
    b = Belief(
        np.zeros((S, m1, 1)),
        np.zeros((S, m2, 1)),
        row,
        0.01 * rng.normal(size=(S, m2)),
        np.zeros(S),
        np.ones(S),
    )
    chosen = choose("best 1", b, Problem(SHAPE), 2)
    assert set(chosen.rows.tolist()) == {0, m1 - 1}
    greatest = np.argsort(-b.mean().ravel())[:2] // m2
    assert set(greatest.tolist()) == {0}  # by the mean alone, both would be of the same row


def test_whole_plates_by_the_sum_of_gains():
    b = belief(SHAPE, S=30, seed=1)
    q = Problem(SHAPE, limits=Limits(plates="rows"), costs=Costs(row=np.arange(1.0, 7.0)))
    chosen = choose("best 5", b, q, 2)
    assert np.bincount(chosen.rows, minlength=6)[chosen.rows].tolist() == [5] * 10
    X = b.at(
        *Entries.from_keys(np.arange(30), 5)
    )  # nothing is measured: the bar is the least entry of each draw
    alone = (X - X.min(1, keepdims=True)).mean(0)[chosen.rows * 5 + chosen.cols]
    np.testing.assert_allclose(chosen.gain[:5], alone[:5])
    assert (chosen.gain[5:] < alone[5:]).all()  # given the first plate


@pytest.mark.parametrize("plates", ["rows", "3x2"])
def test_plates_that_gain_nothing_are_those_known_least(plates):
    """One entry is the best in every draw, and measured; the last two rows are known least."""
    rng, S, (m1, m2) = np.random.default_rng(0), 40, SHAPE
    row = np.array([9.0, 0, 0, 0, 0, 0]) + np.array([0.0, 0.1, 0.1, 0.1, 1.0, 1.0]) * rng.normal(size=(S, m1))
    none = np.zeros((S, m1, 1)), np.zeros((S, m2, 1))
    b = Belief(*none, row, np.zeros((S, m2)), np.zeros(S), np.ones(S))
    q = Problem(SHAPE, observed=Entries.from_lists([0], [0]), limits=Limits(plates=plates))
    chosen = choose("best 1", b, q, 2)
    assert not chosen.gain.any()
    assert set(chosen.rows.tolist()) >= {4, 5}
    first = Problem(SHAPE, limits=Limits(plates=plates))  # nothing is measured: the best row gains most
    assert 0 in choose("best 1", b, first, 1).rows


def test_filling_has_criteria_of_its_own():
    with pytest.raises(ParameterError, match="got fill"):
        choose("fill", belief(SHAPE), Problem(SHAPE), 1)


@pytest.mark.parametrize("words", ["best", "best 3", "best per row"])
def test_what_is_measured_is_not_the_best_to_measure_next(words):
    """Though entries may be asked for again: it counts already, and would be chosen again and again."""
    b, observed = belief(SHAPE), Entries.from_lists([0, 1, 2], [0, 1, 2])
    found = keys(choose(words, b, Problem(SHAPE, observed, again=True), 6))
    assert found[:3] == keys(choose(words, b, Problem(SHAPE, observed), 3))
    assert len({*found[:3], *observed.keys(SHAPE[1]).tolist()}) == 6
    every = Entries.from_keys(np.arange(30), SHAPE[1])
    assert len(set(keys(choose(words, b, Problem(SHAPE, every, again=True), 4)))) > 1


def test_plates_of_a_goal_that_would_not_fit_are_refused(monkeypatch):
    b, q = belief(SHAPE), Problem(SHAPE, limits=Limits(plates="rows"))
    assert len(set(choose("best", b, q, 2).rows.tolist())) == 2
    monkeypatch.setattr(targets, "MOST_NUMBERS", b.n_draws * 30 - 1)
    with pytest.raises(SizeError, match=r"at most 269 draws of entries .* got 270; ask for single entries"):
        choose("best", b, q, 2)


def test_the_best_of_columns_is_the_first_of_equals_also_where_all_are_taken():
    x = np.random.default_rng(0).integers(4, size=(9, 7)).astype(float)
    x[:, 3] = -np.inf
    found = targets._best_entries(x, "column", 1)
    np.testing.assert_array_equal(found, x.argmax(0) * 7 + np.arange(7))


def test_measured_entries_are_judged_by_the_same_draws_in_blocks_of_any_size(monkeypatch):
    b, goal = belief(SHAPE), Goal.parse("best per column")
    q = Problem(SHAPE, Entries.from_keys(np.arange(0, 30, 2), 5))
    scale = 1 + np.arange(b.n_draws)

    def convert(x, rows, cols, draws):
        return np.cbrt(x) * scale[draws][..., None] + rows - cols

    monkeypatch.setattr(targets, "MOST_MEASURED", 1)
    monkeypatch.setattr(targets, "SPARE", 0)
    x = np.array(
        [
            convert(b.draw(s)[np.arange(30) // 5, np.arange(30) % 5], *np.divmod(np.arange(30), 5), s)
            for s in targets._some_draws(b)
        ]
    )
    value = np.where(np.arange(30) % 2 == 0, x.sum(0), -np.inf).reshape(SHAPE)
    for numbers in (1, 100, 10**6):
        monkeypatch.setattr(targets, "BLOCK_NUMBERS", numbers)
        found = targets._best_measured(b, q, goal, convert)
        assert found.keys(5).tolist() == sorted((value.argmax(0) * 5 + np.arange(5)).tolist())
