"""Values that were held out: which are chosen, and that errors and shares are those of counting by hand."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from maxentry import Sampling, complete, hold_out
from maxentry.errors import DataError, ParameterError
from maxentry.observations import Observations
from maxentry.summary import held_out
from maxentry.summary.held_out import HeldOut, check_held_out, choose_held_out


def table(m1: int = 20, m2: int = 12, share: float = 0.6) -> Observations:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(m1, 1)) + rng.normal(size=(1, m2)) + 0.1 * rng.normal(size=(m1, m2))
    return Observations.of(np.where(rng.random(X.shape) < share, X, np.nan))


@pytest.mark.parametrize("share", [0.15, 0.6, 1.0])
def test_every_row_and_column_keeps_an_entry(share: float) -> None:
    data = table(share=share)
    held = choose_held_out(data, np.random.default_rng(1))
    rest = data.subset(~held)
    assert held.any()
    assert held.sum() <= max(0.1 * data.n, min(20, 0.25 * data.n))
    for before, after in ((data.row_counts, rest.row_counts), (data.col_counts, rest.col_counts)):
        assert (after[before > 0] > 0).all()
    assert (choose_held_out(data, np.random.default_rng(1)) == held).all()
    assert (choose_held_out(data, np.random.default_rng(2)) != held).any()


def test_all_measurements_of_an_entry_go_together_also_limits() -> None:
    rows, cols = np.repeat(np.arange(40), 3), np.tile([0, 0, 1], 40)
    low, high = np.full(120, 1.0), np.full(120, 1.0)
    low[2::6] = -np.inf
    data = Observations.from_triples(rows, cols, np.ones(120), low=low, high=high, shape=(40, 2))
    held = choose_held_out(data, np.random.default_rng(1))
    keys = data.rows * 2 + data.cols
    assert held.any()
    assert set(keys[held]).isdisjoint(keys[~held])
    assert data.low is not None
    assert np.isinf(data.low[held]).any()


def test_errors_and_shares_are_those_of_the_values_held_out() -> None:
    data, seen = table(), []

    def fit(rest: Observations) -> Any:
        seen.append((rest, complete(rest, 0, seed=1, progress=False)))
        return seen[-1][1]

    found = check_held_out(data, fit, seed=3, level=0.8)
    ((rest, posterior),) = seen
    held = choose_held_out(data, np.random.default_rng(3))
    i, j, y = data.rows[held], data.cols[held], data.values[held]
    assert (found.n, found.of, rest.n) == (held.sum(), data.n, data.n - held.sum())
    predicted = posterior.predict(i, j, 0.8, measured=True)
    assert found.error == pytest.approx(np.sqrt(np.mean((y - predicted.mean) ** 2)))
    assert found.usual == pytest.approx(np.sqrt(np.mean((y - rest.values.mean()) ** 2)))
    X = posterior.belief.at(i, j)
    place = stats.norm.cdf(y, X, np.sqrt(posterior.belief.noise_var)[:, None]).mean(0)
    assert found.inside == np.mean(np.abs(2 * place - 1) <= 0.8)
    assert (found.low, found.high) == held_out.chance_range(int(held.sum()), 0.8)
    assert found.converged is bool(posterior.diagnostics.converged)
    assert found.side is None
    assert found.error < 0.3 * found.usual
    values = np.random.default_rng(1).permutation(data.values)  # the control: nothing to be learned
    other = check_held_out(Observations.of((data.rows, data.cols, values), shape=data.shape), fit, seed=3)
    assert other.error > 0.8 * other.usual


@pytest.mark.parametrize(
    ("kind", "levels"),
    [("yes/no", ()), ("grades", (1, 2, 3)), ("grades", (0.5, 1, 1.5)), ("grades", (10, 20, 30))],
)
def test_yes_and_no_and_grades_are_counted(kind: Any, levels: tuple[float, ...]) -> None:
    level = np.random.default_rng(1).normal(size=(30, 1)) + np.zeros((1, 8))
    values = level > 0 if kind == "yes/no" else np.array(levels)[(level > -1) * 1 + (level > 1)]
    more: dict[str, Any] = {"levels": levels} if kind == "grades" else {}
    data = complete(values, 0, kind=kind, seed=1, progress=False, **more).observations
    found = check_held_out(
        data, lambda rest: complete(rest, 0, kind=kind, seed=1, progress=False, **more), seed=1
    )
    assert found.error < 0.5 * found.usual
    assert found.log_loss < 0.5 * found.usual_log_loss
    said = f"{found.error:.0%} of the predictions are wrong; with the most frequent answer for all, {found.usual:.0%}."
    assert found.sentences()[1] == said
    assert found.sentences()[2].startswith(
        f"Log loss of the probabilities {found.log_loss:.3g} (0 is perfect);"
    )


@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("stretch", [1.0, 4.0, 0.1])
def test_probabilities_are_judged_by_the_answers_held_out(stretch: float, trials: int) -> None:
    rng = np.random.default_rng(7)
    level = rng.normal(size=(60, 1)) + rng.normal(size=(1, 40))
    i, j = (np.repeat(x.ravel(), trials) for x in np.indices(level.shape))
    answers = (level[i, j] + rng.normal(size=i.size) > 0).astype(float)
    data, seen = Observations(level.shape, i, j, answers), []

    def fit(rest: Observations) -> Any:
        posterior = complete(rest, 0, kind="yes/no", seed=1, progress=False)
        whole = posterior.likelihood.probabilities
        p = lambda x, law: whole(stretch * x, law)  # noqa: E731
        likelihood = SimpleNamespace(kind="yes/no", discrete=True, probabilities=p)
        names = ("belief", "diagnostics", "value_map", "interrupted")
        seen.append((rest, posterior, p))
        answers = posterior.answers._replace(likelihood=likelihood)  # type: ignore[arg-type]
        same = {name: getattr(posterior, name) for name in names}
        return SimpleNamespace(likelihood=likelihood, answers=answers, **same)

    found = check_held_out(data, fit, seed=1)
    ((rest, posterior, p),) = seen
    held = choose_held_out(data, np.random.default_rng(1))
    at, y = (data.rows[held], data.cols[held]), data.values[held].astype(int)
    no, yes = p(posterior.belief.at(*at), posterior.answers.law)
    loss = [-np.log(max(held_out.LEAST, yes[k] if y[k] else no[k])) for k in range(y.size)]
    assert found.log_loss == pytest.approx(np.mean(loss))
    assert found.said == pytest.approx(np.maximum(yes, no).mean())
    assert found.inside == np.mean((yes > no) == y)
    share = (rest.values.sum() + 0.5) / (rest.n + 1)
    assert found.usual_log_loss == pytest.approx(-np.mean(np.log(np.where(y == 1, share, 1 - share))))
    rng = np.random.default_rng(2)  # slow twin of the range: answers of an entry are right or wrong together
    _, first = np.unique(data.rows[held] * 40 + data.cols[held], return_index=True)
    sure = np.maximum(yes, no)[first]
    shares = (rng.random((20_000, first.size)) < sure).mean(1)
    assert np.allclose([found.low, found.high], np.quantile(shares, [0.05, 0.95]), atol=1.5 / first.size)
    sure_enough = "are right." if found.inside <= found.high else "Probabilities could be surer."
    verdict = {1.0: sure_enough, 4.0: "Probabilities are too sure.", 0.1: "Probabilities could be surer."}
    assert found.sentences()[3].endswith(verdict[stretch])
    if stretch == 1.0:  # one case in ten is outside the range by chance, hardly any by as much again
        assert abs(found.inside - (found.low + found.high) / 2) < found.high - found.low


def test_limits_are_held_out_and_judged() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 1)) + rng.normal(size=(1, 30)) + 0.5 * rng.normal(size=(60, 30))
    i, j = (x.ravel() for x in np.indices(X.shape))
    y, below = X.ravel(), X.ravel() < -0.5
    low, high = np.where(below, -np.inf, y), np.where(below, -0.5, y)
    data, seen = Observations(X.shape, i, j, np.where(below, -0.5, y), low=low, high=high), []

    def fit(rest: Observations) -> Any:
        seen.append(complete(rest, 0, seed=1, progress=False))
        return seen[-1]

    found = check_held_out(data, fit, seed=1)
    held = choose_held_out(data, np.random.default_rng(1))
    shown = seen[0].predict(i[held], j[held], 0.9, measured=True)
    assert (found.n, found.limits) == (held.sum(), (held & below).sum())
    assert 0.1 < found.limits / found.n < 0.6
    plain = ~below[held]
    assert found.error == pytest.approx(np.sqrt(np.mean((y[held] - shown.mean)[plain] ** 2)))
    assert found.kept == (shown.mean <= -0.5)[~plain].sum()
    assert found.kept > 0.7 * found.limits
    assert found.low <= found.inside <= found.high
    assert found.sentences()[2] == f"{found.limits} of them are limits; predictions agree with {found.kept}."
    scale = {
        "limits": (-0.5, 100.0)
    }  # predictions of a reading never lie below its end, those of an entry do
    ended = check_held_out(data, lambda rest: complete(rest, 0, seed=1, progress=False, **scale), seed=1)
    assert ended.kept > 0.7 * ended.limits
    far = np.where(below, y + 3, y)  # the control: limits on the wrong side of what the rest says
    wrong = Observations(X.shape, i, j, far, low=np.where(below, far, y), high=np.where(below, np.inf, y))
    assert check_held_out(wrong, lambda rest: seen[0], seed=1).inside < found.low
    every = Observations(
        X.shape, i, j, np.full(y.size, -0.5), low=np.full(y.size, -np.inf), high=np.full(y.size, -0.5)
    )
    only = check_held_out(every, lambda rest: seen[0], seed=1)
    assert (only.error, only.limits) == (None, only.n)
    assert only.sentences()[1].startswith(f"{only.n} of them are limits; predictions agree with")


def test_sentences_judge_intervals_by_chance() -> None:
    right = HeldOut(14, 14, 96, 5.2, 18.3, 0.9, 12 / 14, 11 / 14, 1.0).sentences()
    assert right[0].startswith("Held out 14 values of 96, chosen at random")
    assert right[0].endswith("These are few: another choice would give other figures.")
    assert right[1] == "Typical error 5.2 (root mean square); with the mean for all, 18.3."
    assert right[2] == "86% lie inside their 90% intervals; 79% to 100% would if intervals are right."
    many = HeldOut(10_000, 10_000, 100_000, 5.2, 18.3, 0.9, 0.915, 0.895, 0.9049).sentences()
    assert (
        many[2]
        == "92% lie inside their 90% intervals; 90% would if intervals are right. The difference is small."
    )
    narrow = HeldOut(100, 100, 1000, 5.2, 18.3, 0.9, 0.7, 0.85, 0.95).sentences()
    assert "few" not in narrow[0]
    assert narrow[2].endswith("right. Intervals are too narrow.")
    edge = HeldOut(1000, 1000, 9000, 5.2, 18.3, 0.9, 0.8449, 0.845, 0.95).sentences()  # reads 84%, 84% to 95%
    assert edge[2] == "84% lie inside their 90% intervals; 84% to 95% would if intervals are right."
    wide = HeldOut(100, 100, 1000, 5.2, 18.3, 0.9, 1.0, 0.85, 0.95).sentences()
    assert wide[2].endswith("right. Intervals are wider than they need be.")


def test_sentences_of_one_value_and_of_replicates() -> None:
    one = HeldOut(1, 1, 5, 0.25, 1.5, 0.9, 1.0, 0.0, 1.0, side="columns").sentences()
    assert one == [
        "Held out 1 value of 5, chosen at random, and predicted it from the rest. "
        "This is one: another choice would give other figures.",
        "Error 0.25; with the mean for all, 1.5. Errors are in units of the columns' scales.",
        "It lies inside its 90% interval.",
    ]
    outside = HeldOut(1, 1, 5, 0.25, 1.5, 0.9, 0.0, 0.0, 1.0).sentences()[2]
    assert outside == "It lies outside its 90% interval."
    for error, said in ((1.0, "wrong"), (0.0, "right")):
        single = HeldOut(1, 1, 5, error, 0.0, 0.9, 1 - error, 0.0, 1.0, said=0.8).sentences()
        assert single[1:] == [f"The prediction is {said}.", "It was given a probability of 80%."]
    many = HeldOut(90, 30, 900, 1.0, 2.0, 0.9, 0.9, 0.8, 1.0).sentences()[0]
    assert many.startswith(
        "Held out 90 values of 900, all those of 30 entries, chosen at random, and predicted"
    )
    assert "These are few" in many


def test_standard_errors_widen_intervals() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 1)) + rng.normal(size=(1, 30))
    se = np.where(rng.random(X.shape) < 0.5, 0.1, 1.5)
    i, j = (x.ravel() for x in np.indices(X.shape))
    Y = (X + se * rng.normal(size=X.shape)).ravel()
    data = Observations(X.shape, i, j, Y, se=se.ravel())
    found = check_held_out(data, lambda rest: complete(rest, 0, seed=1, progress=False), seed=1)
    assert found.inside is not None
    assert "Intervals are" not in found.sentences()[2]
    assert found.inside > 0.8


def test_the_mass_at_an_end_of_the_scale_is_inside_in_part() -> None:
    rng = np.random.default_rng(6)
    Y = rng.normal(size=(60, 1)) + rng.normal(size=(1, 30)) + rng.normal(size=(60, 30))
    data = Observations.of(np.clip(Y, -0.5, 0.5))
    seen = []

    def fit(rest: Observations) -> Any:
        seen.append(complete(rest, 0, limits=(-0.5, 0.5), seed=1, progress=False))
        return seen[-1]

    found = check_held_out(data, fit, seed=1)
    low, high = held_out.chance_range(found.n, 0.9)
    assert low <= found.inside <= high
    held = choose_held_out(data, np.random.default_rng(1))
    y, shown = data.values[held], seen[0].predict(data.rows[held], data.cols[held], 0.9, measured=True)
    whole = np.mean((y >= shown.low) & (y <= shown.high))  # the control: a whole end is inside
    assert whole > high


def test_values_of_one_entry_count_once() -> None:
    rng = np.random.default_rng(2)
    i, j = (np.repeat(x.ravel(), 4) for x in np.indices((20, 10)))
    data = Observations((20, 10), i, j, rng.normal(size=i.size))
    found = check_held_out(data, lambda rest: complete(rest, 0, seed=1, progress=False), seed=1)
    assert (found.n, found.n_entries) == (80, 20)
    assert (found.low, found.high) == held_out.chance_range(20, 0.9)


def test_columns_in_other_units_do_not_rule_and_limits_are_no_values() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 1)) + 0.3 * rng.normal(size=(40, 6))
    X[:, 0] *= 1e6
    data = Observations.of(X)
    seen = []

    def fit(rest: Observations) -> Any:
        seen.append((rest, complete(rest, 0, scale="auto", seed=1, progress=False)))
        return seen[-1][1]

    found = check_held_out(data, fit, seed=1)
    assert found.side == "columns"
    assert 0.2 < found.error < 1
    assert 0.5 < found.usual < 2
    low, high = data.values.copy(), data.values.copy()
    limited = data.cols == 1
    low[limited], high[limited] = 1e3, np.inf
    values = np.where(limited, 1e3, data.values)
    some = Observations.from_triples(data.rows, data.cols, values, low=low, high=high, shape=data.shape)
    check_held_out(some.subset(data.cols > 0), fit, seed=1)
    rest, posterior = seen[-1]
    assert rest.low is not None
    truth = data.subset(data.cols > 1)
    plain = rest.subset(rest.cols > 1)
    usual = held_out._compare_numbers(posterior, rest, truth, 0.9)["usual"]
    assert usual == pytest.approx(np.sqrt(np.mean((truth.values - plain.values.mean()) ** 2)))


def test_too_few_values_are_refused() -> None:
    data = Observations.of(([0, 1], [0, 1], [1.0, 2.0]), shape=(2, 2))
    with pytest.raises(DataError, match="values that can be held out"):
        check_held_out(data, lambda rest: complete(rest, 0, seed=1), seed=1)


def test_no_more_than_some_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "MOST", 7)
    assert choose_held_out(table(), np.random.default_rng(1)).sum() == 7


def test_python_has_it_too() -> None:
    data = table()
    dense = np.full(data.shape, np.nan)
    dense[data.rows, data.cols] = data.values
    frame = pd.DataFrame(dense, [f"r{i}" for i in range(20)], [f"c{j}" for j in range(12)])
    short: dict[str, Any] = {"rank": 1, "sampling": Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)}
    found = hold_out(frame, seed=3, **short)
    same = check_held_out(Observations.of(frame), lambda rest: complete(rest, seed=3, **short), 3)
    assert found == same
    assert str(found) == "\n".join(same.sentences())
    long = frame.stack().reset_index().set_axis(["who", "what", "much"], axis=1)
    assert hold_out(long, seed=3, row="who", col="what", value="much", **short).n == found.n
    assert hold_out(frame > 0, seed=3, **short).said is not None  # yes and no
    with pytest.raises(ParameterError):
        hold_out(frame, level=2.0)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True])
def test_a_seed_that_is_none_is_refused_first(seed: Any) -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0 or None, got"):
        hold_out("no data", seed=seed)


def test_it_warns_of_what_may_not_be_meant_as_complete_does() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(50.0, 5.0, (12, 6)) + rng.normal(0.0, 10.0, (12, 1))
    values[3, 2] = 5010.0  # 50.1
    frame = pd.DataFrame(values, [f"r{i}" for i in range(11)] + ["mean"], [*"abcdef"]).stack().reset_index()
    frame.columns = pd.Index(["row", "col", "value"])
    frame = pd.concat([frame, frame.iloc[:1]])
    short: dict[str, Any] = {"rank": 1, "sampling": Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)}

    def warned(work: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work(frame, seed=3, **short)
        return [str(x.message) for x in caught]

    found = warned(hold_out)
    for said in ("'mean'", "5010", "the same as an earlier line"):
        assert sum(said in note for note in found) == 1, (said, found)
    assert found == warned(complete)
