"""The law of the noise that is chosen where the user names none."""

import warnings

import numpy as np
import pandas as pd
import pytest

import maxentry
from maxentry import Observations
from maxentry.errors import ParameterError
from maxentry.model.likelihood import NOISE_NAMES, Likelihood
from maxentry.model.noise import (
    HeldOut,
    choose_noise,
    compare_noises,
    excess,
    find_differing,
    subtract_means,
    warn_of_known_noise,
)
from maxentry.posterior.chains import Sampling
from maxentry.posterior.schedule import data_abound
from maxentry.transform import Transform

MANY, FEW = (300, 120), (60, 40)
OPTIONS = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "seed": 1, "progress": False}
SHORT = Sampling(chains=1, anneal=2, settle=1, draws=2, thin=1)


def grades(seed, shape=MANY, differ=0.6, spread=0.7):
    """Grades of rows whose noise differs by `differ` (sd of its logarithm)."""
    rng = np.random.default_rng(seed)
    x = 3 + spread * (rng.standard_normal((shape[0], 1)) + rng.standard_normal(shape[1])) / 2
    sd = 0.8 * np.exp(differ * rng.standard_normal((shape[0], 1)))
    return np.clip(np.rint(x + sd * rng.standard_normal(shape)), 1, 5)


def choose(Y, wish="auto", kind="grades"):
    o = Observations.of(Y)
    return choose_noise(wish, kind, o, data_abound(o.shape, o.n))


def test_many_grades_have_a_noise_for_each_of_the_lines_that_differ_in_it():
    for seed in range(5):
        assert choose(grades(seed)) == "rows"
        assert choose(grades(seed).T) == "columns"


def test_few_grades_and_other_kinds_have_one_noise():
    assert choose(grades(0, FEW)) == "gaussian"
    assert choose(grades(0), kind="numbers") == "gaussian"
    assert choose((grades(0) > 3).astype(float), kind="yes/no") == "gaussian"


def test_chance_is_taken_for_none():
    """Grades thrown like dice differ in no row and no column."""
    dice = [np.random.default_rng(seed).integers(1, 6, MANY).astype(float) for seed in range(20)]
    assert {choose(Y) for Y in dice} == {"gaussian"}
    assert choose(np.full(MANY, 3.0)) == "gaussian"


@pytest.mark.parametrize("name", NOISE_NAMES)
def test_a_law_that_is_named_is_taken(name):
    assert choose(grades(0), name) == name


def test_what_an_earlier_fit_or_a_gpu_has_settles_it():
    o = Observations.of(grades(0))
    assert choose_noise("auto", "grades", o, True, "gaussian") == "gaussian"
    assert choose_noise("columns", "grades", o, True, "gaussian") == "columns"


@pytest.mark.parametrize("name", ["Auto", "laplace", None, 1, ["auto"], np.zeros(2)])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match="noise must be 'auto', 'gaussian'"):
        choose(grades(0), name)
    with pytest.raises(ParameterError, match="noise must be 'auto', 'gaussian'"):
        maxentry.complete(grades(0, FEW), 1, noise=name, **OPTIONS)


def test_the_excess_is_that_of_a_slow_twin():
    Y = grades(3, (30, 20))
    Y[np.random.default_rng(3).random(Y.shape) < 0.4] = np.nan
    Y[7] = np.nan
    Y[8, 1:] = np.nan
    o = Observations.of(Y)
    squares = subtract_means(o) ** 2
    relative = squares / squares.mean()
    v = np.mean((relative - 1) ** 2)
    total, chance, n, lines = 0.0, 0.0, 0, 0
    for i in range(30):
        mine = [r for r, row in zip(relative, o.rows, strict=True) if row == i]
        if len(mine) >= 2:
            total += len(mine) * (sum(mine) / (len(mine) - 1) - 1) ** 2 - v
            n, lines = n + len(mine), lines + 1
    chance = v * np.sqrt(2 * lines)
    assert total > 5 * chance
    assert excess(squares, o.rows, 30) == pytest.approx(total / n, rel=1e-12)


def test_means_of_rows_and_columns_are_subtracted():
    """Of a whole table once is enough; the slow twin subtracts them from the matrix."""
    Y = grades(4, (12, 9))
    left = Y - Y.mean(1, keepdims=True) - Y.mean(0) + Y.mean()
    np.testing.assert_allclose(subtract_means(Observations.of(Y)), left.ravel(), atol=1e-12)


def test_complete_and_campaigns_take_it_and_a_warm_start_keeps_it(tmp_path):
    Y = grades(0)
    first = maxentry.complete(Y, 0, sampling=SHORT, **OPTIONS)
    assert first.fit.noise == "rows"
    assert "for a typical one of the rows" in str(first)
    dice = np.random.default_rng(0).integers(1, 6, MANY).astype(float)
    again = maxentry.complete(dice, start=first, sampling=SHORT, **OPTIONS)
    assert again.fit.noise == "rows"
    model = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "rank": 0, "effort": "quick", "seed": 1}
    known = pd.DataFrame(Y, [f"user {i}" for i in range(MANY[0])], [f"film {j}" for j in range(MANY[1])])
    campaign = maxentry.Campaign.create(
        tmp_path / "c.db", "films", [*known.index], [*known.columns], values=known, **model
    )
    assert campaign.posterior().fit.noise == "rows"


def warned(Y, noise_sd, transform="none", **more):
    likelihood = Likelihood(noise_sd=noise_sd, limits=more.pop("limits", None))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_known_noise(Observations.of(Y, **more), likelihood, Transform.parse(transform))
    return [str(w.message) for w in said]


def test_a_known_noise_that_cannot_be_is_named():
    Y = 50 + np.random.default_rng(1).standard_normal((20, 10))
    (said,) = warned(Y, 10)
    assert said.startswith("noise_sd is 10, but the values vary by less: their standard deviation is 0.924.")
    assert warned(Y, 1.5) == []  # all may be noise
    assert warned(Y[:3, :3], 10) == []
    assert warned(Y, 10, limits=(0, 50)) == []
    assert warned(Y, 10, se=np.full(Y.shape, 0.1)) == []
    assert "on the scale of transform='log'" in warned(Y, 10, "log")[0]
    assert warned(Y, 0.01, "log") == []
    with pytest.warns(UserWarning, match="noise_sd is 10"):
        maxentry.complete(Y, 1, noise_sd=10, sampling=SHORT, seed=1, progress=False)


# Numbers: laws are compared by measurements that were held out


def unequal(seed, factor, side="columns", shape=(90, 30), share=0.5):
    """A table of rank 1 with levels; the second half of the columns (or rows) has `factor` times the noise."""
    rng = np.random.default_rng([60, seed])
    X = rng.standard_normal((shape[0], 1)) @ rng.standard_normal((1, shape[1]))
    X = X + rng.standard_normal((shape[0], 1)) + rng.standard_normal(shape[1])
    loud = (
        (np.arange(shape[1]) >= shape[1] // 2)
        if side == "columns"
        else (np.arange(shape[0]) >= shape[0] // 2)[:, None]
    )
    Y = X + 0.3 * np.where(loud, factor, 1.0) * rng.standard_normal(shape)
    return X, np.where(rng.random(shape) < share, Y, np.nan)


def fit(Y, **options):
    return maxentry.complete(Y, seed=1, threads=1, progress=False, **options)


@pytest.mark.parametrize("side", ["columns", "rows"])
def test_lines_that_differ_in_noise_have_their_own_by_default(side, monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    X, Y = unequal(0, 6.0, side)
    found, one = fit(Y), fit(Y, noise="gaussian")
    assert (found.fit.noise, one.fit.noise) == (side, "gaussian")
    sds = np.array(list(found.noise_sds.values()))
    half = len(sds) // 2
    assert np.median(sds[half:]) > 2 * np.median(sds[:half])  # 6, and rows have few values
    assert np.mean((found.mean - X) ** 2) < np.mean((one.mean - X) ** 2)
    assert f"for a typical one of the {side}" in repr(found)


def test_a_chosen_noise_is_that_which_one_may_name(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    _, Y = unequal(0, 6.0)
    found, named = fit(Y), fit(Y, noise="columns")
    assert found.rank_choice.weights == named.rank_choice.weights
    np.testing.assert_array_equal(found.draws.left, named.draws.left)
    np.testing.assert_array_equal(found.mean, named.mean)


def test_equal_noises_are_one_and_nothing_else_changes(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    for seed in range(6):
        _, Y = unequal(seed, 1.0)
        found = fit(Y)
        assert found.fit.noise == "gaussian"
        np.testing.assert_array_equal(found.mean, fit(Y, noise="gaussian").mean)


def differing(noise_gain, error_loss, n=400, seed=0):
    """Predictions with one noise, and others that are better by the log score and worse by the square."""
    rng = np.random.default_rng(seed)
    places = np.arange(n, dtype=np.int32) % 20
    one = HeldOut(places, places, rng.chisquare(1, n), rng.standard_normal(n))
    spread = rng.standard_normal((2, n))
    spread = (spread - spread.mean(1, keepdims=True)) / spread.std(1, keepdims=True) / np.sqrt(1 / n)
    gain, loss = (shift + part for shift, part in zip((noise_gain, error_loss), spread, strict=True))
    return one, one._replace(log_scores=one.log_scores + gain, squares=one.squares + loss)


def test_a_noise_of_lines_is_taken_where_it_is_better_beyond_chance_and_not_worse():
    """The standard error of both differences is 1."""
    assert compare_noises(*wrapped(differing(3.0, 1.0))) == "columns"
    assert compare_noises(*wrapped(differing(1.5, -3.0))) == "gaussian"  # no more than chance
    assert compare_noises(*wrapped(differing(9.0, 2.5))) == "gaussian"  # it spoils the means
    one, better = differing(3.0, 0.0)
    assert compare_noises(one, {"columns": better, "rows": differing(5.0, 0.0)[1]}) == "rows"
    assert compare_noises(one, {"columns": one}) == "gaussian"


def wrapped(pair):
    return pair[0], {"columns": pair[1]}


def test_lines_are_tried_where_errors_differ_by_them():
    rng = np.random.default_rng(0)
    rows, cols = (part.ravel().astype(np.int32) for part in np.mgrid[:40, :30])
    for loud, wanted in ((cols < 15, ["columns"]), (rows < 20, ["rows"]), (cols < 0, [])):
        squares = np.where(loud, 9.0, 1.0) * rng.chisquare(1, rows.size)
        assert find_differing(HeldOut(rows, cols, squares, squares), (40, 30)) == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 1},
        {"limits": (-9.0, None)},
        {"noise_sd": 0.1},
        {"noise": "student"},
        {"priors": maxentry.Priors.paper()},
    ],
    ids=str,
)
def test_where_it_is_not_open_one_noise_holds(options, monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    _, Y = unequal(0, 6.0)
    assert fit(Y, **options).fit.noise == options.get("noise", "gaussian")


def test_standard_errors_and_replicates_leave_one_noise(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    _, Y = unequal(0, 6.0)
    i, j = np.nonzero(~np.isnan(Y))
    long = pd.DataFrame({"row": i, "col": j, "value": Y[i, j]})
    assert fit(long).fit.noise == "columns"  # the control
    assert fit(long.assign(se=0.1)).fit.noise == "gaussian"
    again = long.iloc[:200].assign(value=lambda x: x.value + 0.1)
    assert fit(pd.concat([long, again])).fit.noise == "gaussian"


def test_a_campaign_has_one_noise_and_a_warm_start_that_of_its_start(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    _, Y = unequal(0, 6.0)
    campaign = maxentry.Campaign.create("sqlite://", "noise", *Y.shape, seed=1)
    i, j = np.nonzero(~np.isnan(Y))
    campaign.tell(row=list(i), col=list(j), value=list(Y[i, j]))
    assert campaign.posterior(progress=False).fit.noise == "gaussian"
    found = fit(Y)
    assert fit(Y, start=found).fit.noise == "columns"
    assert fit(Y, start=fit(Y, noise="gaussian")).fit.noise == "gaussian"


def test_a_fit_with_noises_of_columns_goes_on_with_one_where_values_have_errors_or_limits(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    X, Y = unequal(0, 6.0)
    start = fit(Y)
    assert start.fit.noise == "columns"
    i, j = np.nonzero(~np.isnan(Y))
    long = pd.DataFrame({"row": i, "col": j, "value": Y[i, j]})
    with_errors = fit(long.assign(se=0.05), start=start)
    with_limit = fit(long.assign(value=["<9", *map(str, long.value[1:])]), start=start)
    named, anew = fit(Y, start=start, noise="gaussian"), fit(Y, noise="gaussian")
    for found in (with_errors, with_limit, named):
        assert found.fit.noise == "gaussian"
        mean = found.mean.loc[range(90), range(30)].to_numpy() if found is not named else found.mean
        assert np.mean((mean - X) ** 2) < 1.3 * np.mean((anew.mean - X) ** 2)
    with pytest.raises(ParameterError, match="start= was fitted with noise='gaussian'"):
        fit(Y, start=named, noise="columns")


def test_few_values_a_line_of_equal_noise_are_none_that_differ():
    """Held-out errors have no mean of their line subtracted, as the values of grades have."""
    for seed in range(20):
        rng = np.random.default_rng([61, seed])
        rows, cols = rng.integers(300, size=600).astype(np.int32), rng.integers(60, size=600).astype(np.int32)
        squares = rng.chisquare(1, 600)
        assert find_differing(HeldOut(rows, cols, squares, squares), (300, 60)) == []
