"""Answers to goals against counting by hand over whole matrices, and the probabilities against simulated truths."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.acquisition.beliefs import belief

import maxentry
from maxentry import Sampling, complete
from maxentry.belief import Belief, Entries
from maxentry.errors import MaxentryError, ParameterError
from maxentry.labels import Axis
from maxentry.model.goal import Goal, read_weights
from maxentry.model.likelihood import Likelihood, NoiseLaw
from maxentry.model.priors import InverseGamma, Priors
from maxentry.model.smg import draw_smg
from maxentry.observations import Observations
from maxentry.posterior import decisions
from maxentry.posterior.decisions import Names
from maxentry.posterior.intervals import Answers, Deviation, mean_map
from maxentry.transform import Transform, ValueMap

SHAPE = (7, 5)
NAMES = Names(None, None)
GOALS = ["best 4", "best per row", "best 3 per column", "smallest 2 per row", "smallest 40"]


def matrices(b, answers):
    """All draws in the user's units, m1 x m2 each."""
    whole = slice(None)
    return np.stack([answers.entries(b.draw(s), whole, whole, s) for s in range(b.n_draws)])


@pytest.fixture(params=["plain", "log", "yes/no", "ends", "measured", "log, measured", "ends, measured"])
def drawn(request):
    b = belief(SHAPE, S=60, seed=3)
    if request.param.endswith("measured"):  # entries deviate from the pattern, and some are known to
        rng = np.random.default_rng(4)
        keys = np.sort(rng.choice(35, 12, replace=False))
        told = Observations.of((keys // 5, keys % 5, rng.normal(size=12)), shape=SHAPE)
        value_map = ValueMap(Transform.parse("log" if request.param.startswith("log") else "none"))
        ends = (-0.5, 0.7) if request.param.startswith("ends") else None
        return b, Answers(
            NoiseLaw(b.noise_var), value_map, deviation=Deviation.suppose(told, 40 * b.noise_var), ends=ends
        )
    value_map = ValueMap(Transform.parse("log" if request.param == "log" else "none"))
    kind = Likelihood("yes/no") if request.param == "yes/no" else Likelihood()
    noise = np.ones(60) if request.param == "yes/no" else b.noise_var
    return b, Answers(NoiseLaw(noise), value_map, kind, ends=(-0.5, 0.7) if request.param == "ends" else None)


def test_entries_as_good_as_the_scale_allows_share_the_probability():
    b, goal = belief(SHAPE, S=60, seed=3), Goal.parse("best 3 per row")
    open_scale = Answers(NoiseLaw(b.noise_var))
    ends = open_scale._replace(ends=(-0.5, 0.7))
    X, shown = matrices(b, open_scale), matrices(b, ends)
    assert X.max() > 1
    assert (shown == np.clip(X, -0.5, 0.7)).all()
    found, before = (decisions.find_tops(b, a, goal) for a in (ends, open_scale))
    at_top = (shown == 0.7).sum(2)
    assert (at_top > 3).any()
    for tops in (found, before):
        by_row = np.bincount(tops.keys // SHAPE[1], tops.share)
        np.testing.assert_allclose(by_row, 3)
    assert (
        np.abs(found.share.max() - before.share.max()) > 0.01
    )  # the order beyond the end counts for nothing
    answers = [decisions.answer(b, a, goal, 0.9, NAMES) for a in (ends, open_scale)]
    assert answers[0].at_stake < answers[1].at_stake
    assert max(answers[0].table["high"]) == 0.7
    assert max(answers[0].table["estimate"]) <= 0.7


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ends", [(0.0, 100.0), (0.0, np.inf), (-np.inf, 100.0)])
def test_what_was_measured_comes_first_where_entries_lie_at_the_end(sign, ends):
    rng, S = np.random.default_rng(0), 200
    row = 50 + sign * np.array([60.0, 70.0, 55.0, 30.0])  # the last does not reach the end
    x = row + 3 * rng.normal(size=(S, 4))
    b = Belief(np.zeros((S, 4, 1)), np.zeros((S, 1, 1)), x, np.zeros((S, 1)), np.zeros(S), np.ones(S))
    answers = Answers(NoiseLaw(b.noise_var), ends=ends)
    goal, closed = Goal("best", sign, "column", 1), np.isfinite(ends[1 if sign > 0 else 0])
    first = {}
    for measured in ([], [0], [2], [0, 2], [3]):
        names = Names(None, None, np.array(measured, dtype=np.int64))
        table = decisions.answer(b, answers, goal, 0.9, names).table
        first[tuple(measured)] = table["row"][0]
        prospect = decisions.expect_stake(
            b, answers, goal, Entries.from_lists([3], [0]), np.random.default_rng(0), names.measured
        )
        assert prospect.now == pytest.approx(decisions.answer(b, answers, goal, 0.9, names).at_stake)
    if not closed:
        assert set(first.values()) == {1}  # the best beyond any end
        return
    assert first[()] in (0, 1)  # always at the end
    assert first[0,] == 0
    assert first[2,] == 2  # its mean is within 1% of the scale from the end
    assert first[0, 2] == 0
    assert first[3,] in (0, 1)  # far from the end, measured or not
    tops = decisions.find_tops(b, answers, goal)
    at_end = np.clip(x, *ends) == ends[1 if sign > 0 else 0]
    np.testing.assert_allclose(tops.share, (at_end / at_end.sum(1, keepdims=True)).mean(0)[tops.keys])
    assert 0.3 < tops.share.max() < 0.4


@pytest.mark.parametrize("ends", [(), (0.0, np.inf), (-np.inf, np.inf), (0.0, 100.0)])
def test_measured_entries_come_first_only_where_the_scale_ends(ends):
    mean, keys, measured = np.array([[50.0, 50.3]]), np.array([[0, 1]]), np.array([0])
    np.testing.assert_array_equal(decisions.prefer_measured(mean, ends, keys, measured), mean)
    if ends[1:] == (100.0,):
        near = decisions.prefer_measured(mean + 49.6, ends, keys, measured)
        assert near[0, 0] > near[0, 1]


def test_lines_without_ties_in_a_block_of_their_own_change_nothing(monkeypatch):
    rng, S = np.random.default_rng(0), 50
    x = np.vstack(
        [rng.normal(120, 1, (2, S)), rng.normal(20, 1, (2, S))]
    ).T  # two rows at the end, two far from it
    b = Belief(np.zeros((S, 4, 1)), np.zeros((S, 3, 1)), x, np.zeros((S, 3)), np.zeros(S), np.ones(S))
    answers, goal = Answers(NoiseLaw(b.noise_var), ends=(0.0, 100.0)), Goal("best", 1, "row", 1)
    whole = decisions.find_tops(b, answers, goal)
    monkeypatch.setattr(decisions, "BLOCK_NUMBERS", 3)  # a row at a time
    parts = decisions.find_tops(b, answers, goal)
    np.testing.assert_array_equal(parts.keys, whole.keys)
    np.testing.assert_allclose(parts.share, whole.share)


def test_a_measurement_at_the_end_counts_as_one_beyond_it():
    """t = x + d given that x + d + noise is at least 2, by keeping what is among many draws."""
    rng, S, eta2 = np.random.default_rng(0), 4000, 1.0
    told = Observations.of(([0, 0], [0, 1], [2.0, 2.0]), shape=(2, 3))
    told = replace(told, low=np.array([2.0, 2.0]), high=np.array([np.inf, 2.0]))
    own = Deviation.suppose(told, np.full(S, eta2))
    x, at = np.full((S, 3), 0.5), (np.zeros(3, dtype=int), np.arange(3))
    drawn = own.draw(x, *at)
    n = 400_000
    omega2 = rng.random(n) * eta2
    t = 0.5 + np.sqrt(omega2) * rng.normal(size=n)
    kept = t[t + np.sqrt(eta2 - omega2) * rng.normal(size=n) >= 2.0]
    error = kept.std() / np.sqrt(S)
    # every share of the noise has the same chance given x, so kept draws follow the law of all
    assert drawn[:, 0].mean() == pytest.approx(kept.mean(), abs=4 * error)
    assert drawn[:, 0].std() == pytest.approx(kept.std(), rel=0.05)
    assert drawn[:, 1].mean() == pytest.approx(1.25, abs=0.05)  # a value counts half
    assert drawn[:, 2].mean() == pytest.approx(0.5, abs=0.05)  # not measured
    assert drawn[:, 0].mean() > drawn[:, 1].mean() + 0.1
    whole = own.draw(x[7:8], slice(0, 1), slice(0, 3), 7)
    np.testing.assert_array_equal(whole[0], drawn[7])  # of one draw and a block as of all and a list


def test_several_of_a_line_are_said_to_be_among_the_best():
    b = belief(SHAPE, S=60, seed=3)
    open_scale = Answers(NoiseLaw(b.noise_var))
    for words, start in (
        ("best 3 per row", "Among the 3 best for "),
        ("smallest 2 per column", "Among the 2 smallest for "),
        ("best per row", "Best "),
    ):
        found = decisions.answer(b, open_scale, Goal.parse(words), 0.9, NAMES)
        assert all(line.startswith(start) for line in found.summary[:2])


def test_nothing_lies_beyond_an_end_and_nothing_is_lost_by_it():
    b = belief(SHAPE, S=60, seed=3)
    low, high = np.quantile(matrices(b, Answers(NoiseLaw(b.noise_var))), [0.0, 0.02])
    ends = Answers(NoiseLaw(b.noise_var), ends=(low - 1.0, high))  # nearly all entries are at the upper end
    assert (decisions.chances_to_exceed(b, ends, high) == 0).all()
    assert (decisions.chances_to_exceed(b, ends, high - 1e-6) > 0).any()
    one = Entries(np.array([0]), np.array([0]))
    for goal in (Goal.parse("best 2"), Goal.parse("best per row"), Goal("threshold", threshold=high)):
        assert decisions.answer(b, ends, goal, 0.9, NAMES).at_stake == 0.0
        assert decisions.expect_stake(b, ends, goal, one, np.random.default_rng(0)).now == 0.0


@pytest.fixture(params=["at once", "in blocks", "in pieces"])
def blocks(request, monkeypatch):
    if request.param == "in blocks":
        monkeypatch.setattr(decisions, "BLOCK_NUMBERS", 2 * SHAPE[1])
    if request.param == "in pieces":
        monkeypatch.setattr(decisions, "PIECE", 2)


def slow_best(X, goal):
    """For each line: the probability of each entry to be among its k best, those of greatest mean, and the regret."""
    X = goal.sign * X
    keys = np.arange(X[0].size).reshape(SHAPE)
    lines = {None: [keys.ravel()], "row": list(keys), "column": list(keys.T)}[goal.per]
    flat, share, best, regret = X.reshape(len(X), -1), {}, [], []
    for line in lines:
        k = min(goal.k, len(line))
        counts, short = dict.fromkeys(line.tolist(), 0), 0.0
        mean = flat[:, line].mean(0)
        chosen = line[np.argsort(-mean, kind="stable")[:k]]
        for x in flat:
            last = np.sort(x[line])[-k]
            short += (np.sort(x[line])[-k:].mean() - x[chosen].mean()) / len(flat)
            better, as_good = (x[line] > last).sum(), (x[line] == last).sum()
            for key in line.tolist():
                place = 1.0 if x[key] > last else (k - better) / as_good if x[key] == last else 0.0
                counts[key] += place / len(flat)
        share |= counts
        best.append(np.sort(mean)[-k:])
        regret.append(short)
    return share, best, regret


@pytest.mark.parametrize("words", GOALS)
@pytest.mark.usefixtures("blocks")
def test_best_entries_as_counted_by_hand(drawn, words):
    b, answers = drawn
    goal = Goal.parse(words)
    X = matrices(b, answers)
    share, best, regret = slow_best(X, goal)
    found = decisions.answer(b, answers, goal, 0.9, NAMES)
    table = {name: np.asarray(column) for name, column in found.table.items()}
    keys = table["row"] * SHAPE[1] + table["col"]
    for key, p in zip(keys.tolist(), table["probability"], strict=True):
        assert p == pytest.approx(share[key])
    chosen = keys[table["place"] > 0].reshape(len(best), -1)
    means = goal.sign * X.reshape(len(X), -1).mean(0)
    np.testing.assert_allclose(np.sort(means[chosen], axis=1), best)  # of those that tie any may be chosen
    assert found.at_stake == pytest.approx(np.mean(regret))
    line = {None: 0 * keys, "row": table["row"], "column": table["col"]}[goal.per]
    np.testing.assert_allclose(table["regret"], np.array(regret)[line], atol=1e-12)
    others = keys[table["place"] == 0]
    assert all(share[key] >= decisions.LEAST_SHARE for key in others.tolist())


@pytest.mark.parametrize("words", ["rank rows", "rank columns", "rank rows smallest"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rankings_as_counted_by_hand(drawn, words, weighted):
    b, answers = drawn
    goal = Goal.parse(words)
    n = SHAPE[1] if goal.per == "row" else SHAPE[0]
    w = np.arange(1.0, n + 1) if weighted else None
    X = matrices(b, answers)
    X = X if goal.per == "row" else X.transpose(0, 2, 1)
    averages = np.round(np.average(X, axis=2, weights=w), 10)  # entries at an end make equal averages
    goal = replace(goal, weights=None if w is None else tuple(w))
    found = decisions.answer(b, answers, goal, 0.9, NAMES)
    table = found.table
    order = np.argsort(-goal.sign * averages.mean(0), kind="stable")
    assert table["row" if goal.per == "row" else "col"] == order.tolist()
    np.testing.assert_allclose(table["estimate"], averages.mean(0)[order])
    signed = goal.sign * averages[:, order]
    first = signed == signed.max(1, keepdims=True)
    np.testing.assert_allclose(table["probability"], (first / first.sum(1, keepdims=True)).mean(0))
    above = [(signed[:, i] > signed[:, i + 1]).mean() for i in range(len(order) - 1)]
    np.testing.assert_allclose(table["above_next"][:-1], above)
    all_pairs = (signed[:, :, None] > signed[:, None]).mean(0)
    np.testing.assert_allclose(found.pairs().to_numpy(), all_pairs)
    assert found.pairs().index.tolist() == found.pairs().columns.tolist() == order.tolist()
    assert table["tied"].tolist() == [*(np.array(above) < 0.9), False]
    ranks = np.array([[1 + (x > x[i]).sum() for i in range(len(x))] for x in signed])
    assert (table["rank_low"] <= np.median(ranks, axis=0)).all()
    assert (table["rank_high"] >= np.median(ranks, axis=0)).all()
    assert set(table["rank_low"]) <= set(range(1, len(order) + 1))


@pytest.mark.parametrize("threshold", [-0.5, 0.3, 0.9, 4.0])
def test_what_exceeds_a_threshold_as_counted_by_hand(drawn, threshold):
    b, answers = drawn
    p = (matrices(b, answers) > threshold).mean(0)
    np.testing.assert_allclose(decisions.chances_to_exceed(b, answers, threshold), p)
    found = decisions.answer(b, answers, Goal("threshold", threshold=threshold), 0.9, NAMES)
    assert found.at_stake == pytest.approx(np.minimum(p, 1 - p).mean())
    listed = {(i, j) for i, j in zip(found.table["row"], found.table["col"], strict=True)}
    assert listed == set(zip(*np.nonzero((p > 0.5) | (np.minimum(p, 1 - p) >= 0.05)), strict=True))


def test_large_matrices_are_answered_from_fewer_draws(monkeypatch):
    monkeypatch.setattr(decisions, "MOST_NUMBERS", 20 * SHAPE[0] * SHAPE[1])
    monkeypatch.setattr(decisions, "FEWEST_DRAWS", 10)
    b = belief(SHAPE, S=60)
    assert decisions.choose_draws(b) == sorted(set(decisions.choose_draws(b)))
    assert len(decisions.choose_draws(b)) == 20
    found = decisions.answer(b, Answers(NoiseLaw(b.noise_var)), Goal.parse("best per row"), 0.9, NAMES)
    assert found.at_stake >= 0
    assert set(np.round(20 * found.table["probability"], 9) % 1) == {0.0}


@pytest.mark.parametrize("words", [*GOALS, "rank rows", "rank columns smallest", "threshold 0.4"])
def test_what_is_at_stake_is_that_of_the_answer_and_falls_with_measurements(drawn, words):
    b, answers = drawn
    goal, rng = Goal.parse(words), np.random.default_rng(0)
    found = decisions.answer(b, answers, goal, 0.9, NAMES)
    batch = Entries.from_keys(np.arange(0, 35, 2), SHAPE[1])
    ahead = decisions.expect_stake(b, answers, goal, batch, rng)
    assert ahead.now == pytest.approx(found.at_stake, abs=1e-12)
    assert ahead.after < ahead.now or ahead.now == pytest.approx(0, abs=1e-12)
    lines = {None: 1, "row": 7, "column": 5}[goal.per]
    pairs = lines * (lines - 1) // 2
    assert ahead.choices == {"best": min(35, goal.k * lines), "rank": pairs, "threshold": 35}[goal.kind]
    assert 0 <= ahead.changes <= ahead.choices
    if ahead.now:
        assert ahead.say(goal, 18).startswith("18 more measurements should lower it by ")


def test_the_look_ahead_is_that_of_a_gaussian_posterior():
    """Two entries, one measured: the expected regret after it, by simulation of the exact conditional law."""
    rng, S, v, eta2 = np.random.default_rng(0), 20_000, 1.0, 0.25
    row = np.sqrt(v) * rng.normal(size=(S, 2))
    b = Belief(np.zeros((S, 2, 1)), np.zeros((S, 1, 1)), row, np.zeros((S, 1)), np.zeros(S), np.full(S, eta2))
    answers = Answers(NoiseLaw(b.noise_var))
    ahead = decisions.expect_stake(
        b, answers, Goal("best", k=1), Entries.from_lists([0], [0]), np.random.default_rng(1)
    )
    now, after = ahead.now, ahead.after
    assert 0.1 < ahead.changes < 0.9  # the first is better or worse than the second with probability 1/2
    assert now == pytest.approx(np.sqrt(v / np.pi), rel=0.03)  # E max of two
    known = v**2 / (v + eta2)  # the variance of the mean of the first, once it is measured
    expected = np.sqrt(v / np.pi) - np.sqrt(known / (2 * np.pi))
    assert after == pytest.approx(expected, abs=4 * 0.15 / np.sqrt(decisions.TRUTHS))


def test_large_matrices_are_not_looked_ahead(monkeypatch):
    monkeypatch.setattr(decisions, "MOST_LOOKED_AHEAD", 10)
    b = belief(SHAPE)
    batch = Entries.from_lists([0], [0])
    rng = np.random.default_rng(0)
    assert decisions.expect_stake(b, Answers(NoiseLaw(b.noise_var)), Goal.parse("best"), batch, rng) is None


# The posterior's own


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 1)) * rng.normal(size=6) + rng.normal(size=(9, 1))
    Y = X + 0.1 * rng.normal(size=X.shape)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    frame = pd.DataFrame(Y, [f"L{i}" for i in range(9)], [f"S{j}" for j in range(6)])
    return complete(frame, rank=1, seed=1, progress=False, sampling=Sampling(chains=4, draws=30))


def test_a_posterior_answers_by_label_and_in_frames(fitted):
    best = fitted.best(per="column")
    assert list(best.columns) == [
        *("row", "col", "place", "estimate", "low", "high", "probability", "regret", "observed"),
    ]
    assert best[best.place == 1].col.tolist() == [f"S{j}" for j in range(6)]
    mean = fitted.mean.copy()
    mean[:] = matrices(fitted.belief, fitted.goal_answers).mean(0)
    assert best[best.place == 1].row.tolist() == mean.idxmax().tolist()
    ranking = fitted.ranking("rows")
    assert ranking.row.tolist() == mean.mean(axis=1).sort_values(ascending=False).index.tolist()
    assert fitted.ranking("columns", smallest=True).col.tolist() == (
        mean.mean(axis=0).sort_values().index.tolist()
    )
    above = fitted.exceeds(0.5)
    assert (above.index.tolist(), above.columns.tolist()) == (
        fitted.mean.index.tolist(),
        fitted.mean.columns.tolist(),
    )
    assert isinstance(
        maxentry.complete(fitted.mean.to_numpy(), 1, seed=1, progress=False).exceeds(0.5), np.ndarray
    )
    told = fitted.observations
    times = np.bincount(told.rows * 6 + told.cols, minlength=54)
    for row, col, n in zip(best.row, best.col, best.observed, strict=True):
        assert n == times[int(row[1:]) * 6 + int(col[1:])]


def test_answers_print_as_sentences(fitted):
    assert str(fitted.answer("best 100")).startswith("The 54 best of all entries")
    found = fitted.answer("best 3")
    listed = zip(found.table["place"], found.table["row"], found.table["col"], strict=True)
    others = [f"{row}, {col}" for place, row, col in listed if place == 0]
    assert len(found.summary) == 1 + 3 + bool(others) + 1
    for other in others:  # places of their own are of those that are recommended
        assert other in found.summary[4].removeprefix("Others that may be among them: ")
        assert all(other not in line for line in found.summary[1:4])
    said = str(fitted.answer("best per column")).splitlines()
    assert said[0].startswith("Best for S0: L")
    assert said[-1].startswith("Expected regret: ")
    assert "Best row by average: L" in str(fitted.answer("rank rows"))
    assert "probably above 0.5" in str(fitted.answer("threshold 0.5"))
    assert fitted.answer("best 3").to_dict()["lines"][0]["place"] == 1


def test_answers_name_what_rows_and_columns_are(fitted):
    said = str(fitted.answer("smallest per column", row_name="ligand"))
    assert said.startswith("Best ligand for S0: L")
    assert str(fitted.answer("best per row", col_name="model")).startswith("Best model for L0: S")
    assert str(fitted.answer("rank rows", row_name="ligand")).startswith("Best ligand by average: L")
    named = fitted.mean.rename_axis(index="ligand", columns="substrate")
    own = complete(named, 1, seed=1, progress=False, sampling=Sampling(chains=2, draws=5))
    assert str(own.answer("best per column")).startswith("Best ligand for S0: L")
    assert str(own.answer("rank columns")).startswith("Best substrate by average: S")


def test_a_ranking_says_how_sure_each_line_is_above_the_next(fitted):
    found = fitted.answer("rank rows", level=0.99)
    first, second = found.labels[:2]
    p = found.table["above_next"][0]
    assert f"; above {second}: " in found.summary[1]
    document = found.to_dict()
    assert document["pairs"][0] == {"above": first, "below": second, "probability": p, "tied": bool(p < 0.99)}
    assert [pair["tied"] for pair in document["pairs"]] == [line["tied"] for line in document["lines"]][:-1]
    tied = [line.endswith(", tied") for line in found.summary[1:9]]
    assert tied == found.table["tied"][:8].tolist()
    pairs = fitted.pairs("rows")
    assert pairs.loc[first, second] == p
    assert pairs.loc[second, first] == pytest.approx(1 - p)
    assert fitted.pairs("rows", smallest=True).loc[second, first] == p
    assert fitted.answer("best").to_dict()["pairs"] == []
    with pytest.raises(ParameterError, match="expected a ranking, got the goal 'best'"):
        fitted.answer("best").pairs()


def test_weights_are_read_by_label_or_in_order(fitted):
    order = fitted.ranking(weights=[1, 1, 1, 1, 1, 2])
    pd.testing.assert_frame_equal(order, fitted.ranking(weights={"S5": 2}))
    pd.testing.assert_frame_equal(order, fitted.ranking(weights=pd.Series({"S5": 2.0})))
    axis = Axis.from_labels("column", 2, None)
    for wrong in ([1], [1, -1], [0, 0], [1, np.nan], ["a", 1], {5: 1}, "ab", {0: "x"}, [[1, 2]]):
        with pytest.raises(MaxentryError, match="got"):
            read_weights(wrong, axis)


def test_odd_questions_are_refused(fitted):
    for ask in (
        lambda: fitted.best(per="cell"), lambda: fitted.best(0), lambda: fitted.ranking("cells"),
        lambda: fitted.exceeds("much"), lambda: fitted.answer("fill"), lambda: fitted.best(level=2),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match="got"):
            ask()


def test_measured_values_count_half_where_nothing_tells_noise_from_deviation(fitted):
    """The share of the entries' own is uniform, so that its mean is one half; the law of the fit stays as it is."""
    own, eta2 = fitted.goal_answers.deviation, fitted.belief.noise_var
    np.testing.assert_allclose(own.omega2 + own.nu2, eta2)
    S = len(eta2)
    np.testing.assert_allclose(np.sort(own.omega2 / eta2), (np.arange(S) + 0.5) / S)
    told = fitted.observations
    x = fitted.belief.mean_at(told.rows, told.cols)
    half = mean_map(fitted.belief, fitted.goal_answers)[told.rows, told.cols]
    np.testing.assert_allclose(half, (x + told.values) / 2, atol=0.1 * np.abs(told.values - x).max())
    np.testing.assert_array_equal(fitted.arrays.mean, fitted.belief.mean())  # the pattern, as ever


@pytest.mark.parametrize("how", [{"noise": "student"}, {"noise": "columns"}, {"noise_sd": 0.1}])
def test_what_tells_noise_from_deviation_is_left_to_tell(fitted, how):
    told = fitted.observations
    data = told.rows, told.cols, told.values
    p = complete(
        data, 1, shape=told.shape, seed=1, progress=False, sampling=Sampling(chains=4, draws=5), **how
    )
    assert p.goal_answers.deviation is p.deviation
    assert (p.deviation is None) == ("noise" in how)


def test_one_measurement_of_an_entry_counts_a_value_before_a_limit_and_by_its_standard_error():
    values = [1.0, "<0.2", 3.0, "<9", 2.0, 0.5, 1.5]
    told = Observations.of(([0, 0, 1, 1, 1, 2, 2], [0, 1, 0, 0, 1, 0, 1], values), shape=(3, 2))
    own = Deviation.suppose(told, np.ones(4))
    assert own.keys.tolist() == [0, 1, 2, 3, 4, 5]
    assert own.low.tolist() == [1.0, -np.inf, 3.0, 2.0, 0.5, 1.5]
    assert own.high.tolist() == [1.0, 0.2, 3.0, 2.0, 0.5, 1.5]
    told = Observations.of(([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], np.arange(6.0)), shape=(3, 2))
    known = replace(told, low=None, high=None, se=np.full(6, 2.0))
    x = np.zeros((4, 6))
    mean, _ = Deviation.suppose(known, np.ones(4)).at(x, told.rows, told.cols)
    share = own.omega2[:, None]
    np.testing.assert_allclose(mean, share / (1 + 4) * known.values)


def simulate(seed):
    """A table from the model; what is no pattern is of variance 0.64, a share of any size the entries' own."""
    rng = np.random.default_rng([seed, 15])
    X = draw_smg(10, 6, 1, 60.0, rng).matrix() + 0.7 * rng.normal(size=(10, 1)) + 0.7 * rng.normal(size=6)
    share, (own, noise) = rng.random(), 0.8 * rng.normal(size=(2, 10, 6))
    X = X + np.sqrt(share) * own
    return X, np.where(rng.random(X.shape) < 0.6, X + np.sqrt(1 - share) * noise, np.nan)


def judge(p, answers, X, words):
    """Probabilities of answers about a table, and whether they came true."""
    goal = Goal.parse(words)
    if goal.kind == "threshold":
        return decisions.chances_to_exceed(p.belief, answers, 0.5).ravel(), (X > 0.5).ravel()
    table = decisions.answer(p.belief, answers, goal, 0.9, NAMES).table
    best = X.argmax(0)[table["col"]] if goal.kind == "best" else X.mean(1).argmax()
    return np.asarray(table["probability"]), np.array(table["row"]) == best


@pytest.mark.slow
def test_probabilities_are_right_as_often_as_they_say():
    """On simulated matrices, among all that has probability about p a share p is true; and two controls."""
    words, own = ["best per column", "rank rows", "threshold 0.5"], []
    for seed in range(80):
        X, Y = simulate(seed)
        p = complete(Y, rank=1, seed=seed, progress=False, sampling=Sampling(chains=8, draws=50))
        own.append([judge(p, p.goal_answers, X, goal) for goal in words])
    for pairs in zip(*own, strict=True):
        assert abs(too_sure(pairs)) < 3.5
        surer = [(came - said**2 / (said**2 + (1 - said) ** 2)) * np.sign(0.5 - said) for said, came in pairs]
        assert excess(surer, pairs) > 3.5  # the control: odds squared
        assert abs(excess([came - said for said, came in pairs], pairs)) < 3.5
        assert abs(excess([came - said**0.5 for said, came in pairs], pairs)) > 3.5  # probabilities too large


OWN_PRIORS = Priors(
    noise=InverseGamma(3.0, 6.0), signal=InverseGamma(3.0, 192.0), rows=InverseGamma(3.0, 1.0),
    cols=InverseGamma(3.0, 1.0), mu_var=1.0,
)  # fmt: skip


def draw_table(seed, priors=OWN_PRIORS, shape=(12, 8), measured=40):
    """Entries of a table of rank 1 from the prior, a share of any size of the noise their own; and what is measured."""
    rng, (m1, m2) = np.random.default_rng([seed, 16]), shape
    found = draw_smg(m1, m2, 1, priors.signal.draw(rng), rng).matrix()
    U, _, Vt = np.linalg.svd(found)
    X = found + rng.normal() * np.sqrt(priors.mu_var)
    for law, frame, m in ((priors.rows, U[:, :1], m1), (priors.cols, Vt[:1], m2)):
        aligned = np.sqrt(law.draw(rng) * m) * rng.normal() * frame
        X = X + aligned + np.sqrt(law.draw(rng)) * rng.normal(size=frame.shape)
    eta2, share = priors.noise.draw(rng), rng.random()
    X = X + np.sqrt(share * eta2) * rng.normal(size=shape)
    Y = np.full(m1 * m2, np.nan)
    keys = rng.permutation(m1 * m2)[:measured]
    Y[keys] = X.ravel()[keys] + np.sqrt((1 - share) * eta2) * rng.normal(size=measured)
    return X, Y.reshape(shape)


@pytest.mark.slow
def test_intervals_of_averages_hold_what_they_say_on_tables_of_the_prior():
    """Of tables as the prior has them 90% of averages lie inside; the control believes that rows hardly differ."""
    small = replace(OWN_PRIORS, rows=InverseGamma(0.5, 1e-4), cols=InverseGamma(0.5, 1e-4))
    shares = {"own": [], "control": []}
    for seed in range(80):
        X, Y = draw_table(seed)
        for name, priors in (("own", OWN_PRIORS), ("control", small)):
            p = complete(
                Y, 1, priors=priors, seed=seed, progress=False, sampling=Sampling(chains=8, draws=50)
            )
            found = p.ranking("rows")
            average = X.mean(1)[found["row"]]
            shares[name].append(np.mean((found["low"] <= average) & (average <= found["high"])))
    errors = {name: np.std(x, ddof=1) / len(x) ** 0.5 for name, x in shares.items()}
    assert abs(np.mean(shares["own"]) - 0.9) < 3.5 * errors["own"]
    assert np.mean(shares["control"]) - 0.9 < -3.5 * errors["control"]


def too_sure(pairs):
    """How far the likely came true less often, and the unlikely more often, than they say; in errors."""
    return excess([(came - said) * np.sign(0.5 - said) for said, came in pairs], pairs)


def excess(differences, pairs):
    """The mean over matrices of came - said, where middling probabilities count most, over its standard error."""
    sums = [(said * (1 - said) * d).sum() for d, (said, _) in zip(differences, pairs, strict=True)]
    return np.mean(sums) / (np.std(sums, ddof=1) / len(sums) ** 0.5)


def test_an_answer_marks_what_is_likelier_but_worse_on_average():
    table = {
        "row": ["a", "b", "c", "a"],
        "col": ["x", "x", "x", "y"],
        "probability": np.array([0.25, 0.5, 0.25, 1.0]),
        "place": np.array([1, 0, 0, 1]),
    }
    said = decisions._say_best(Goal.parse("best per column"), table, np.array([0, 0, 0, 1]), 0.5, NAMES)
    assert list(said)[:2] == [
        "Best for x: a (25%), or b (50%, but worse on average) or c (25%)",
        "Best for y: a (>99%)",
    ]
