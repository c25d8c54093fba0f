"""Features that say nothing of the values are left out: the fit is the one without them, and says so."""

import warnings

import numpy as np
import pandas as pd
import pytest

from maxentry import Posterior, Priors, complete
from maxentry.errors import DataError, LabelError, ParameterError
from maxentry.model import relevance
from maxentry.posterior import archive
from maxentry.posterior.schedule import Sampling

SHORT = Sampling("population", 4, 20, 20, 10, 2)
NAMES = ["size", "charge", "colour"]
ROWS = [f"r{k}" for k in range(40)]


def table(seed=0):
    """(useful, useless, Y): features of the rows, frames by label, and measurements; the last ten rows have none."""
    rng = np.random.default_rng(seed)
    F, noise = rng.standard_normal((2, 40, 3))
    X = F @ rng.standard_normal((3, 2)) @ rng.standard_normal((2, 12)) + F[:, [0]]
    Y = np.where(rng.random(X.shape) < 0.5, X + 0.3 * rng.standard_normal(X.shape), np.nan)
    Y[30:] = np.nan
    return (*(pd.DataFrame(x, ROWS, NAMES) for x in (F, noise)), pd.DataFrame(Y, ROWS))


def fit(Y, **options):
    return complete(Y, options.pop("rank", 2), sampling=SHORT, seed=1, **options)


def same(one, other):
    for a, b in zip(one.draws, other.draws, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def useful():
    F, _, Y = table()
    return fit(Y, row_features=F)


@pytest.fixture(scope="module")
def idle():
    _, noise, Y = table()
    return fit(Y, row_features=noise)


@pytest.fixture(scope="module")
def plain():
    return fit(table()[2])


def test_draws_are_those_without_features_to_the_last_bit(idle, plain, useful):
    assert idle.fit.p_values[0] > relevance.LEVEL
    same(idle, plain)
    np.testing.assert_array_equal(idle.arrays.sd, plain.arrays.sd)
    assert useful.fit.p_values[0] <= 0.05
    assert useful.fit.idle == (None, None)
    assert not np.array_equal(useful.draws.row, plain.draws.row)


@pytest.mark.parametrize(
    "options", [{"rank": "auto"}, {"noise": "student"}, {"kind": "yes/no"}, {"transform": "log"}]
)
def test_so_are_those_of_other_kinds_of_fits_and_of_columns(options):
    _, noise, Y = table(3)
    values = (
        (Y > 0).astype(float).where(Y.notna())
        if "kind" in options
        else np.exp(Y)
        if "transform" in options
        else Y
    )
    one, other = (fit(values.T, **options, **more) for more in ({"col_features": noise}, {}))
    assert one.fit.idle[1] is not None
    same(one, other)
    assert one.rank_weights == other.rank_weights


def test_one_side_may_say_something_and_the_other_nothing():
    F, _, Y = table()
    noise = np.random.default_rng(3).standard_normal((12, 2))
    both, one = fit(Y, row_features=F, col_features=noise), fit(Y, row_features=F)
    same(both, one)
    assert [given is None for given in both.fit.features] == [False, True]
    assert [given is None for given in both.fit.idle] == [True, False]
    found = both.features()
    assert list(found["side"]) == ["row"] * 3 + ["column"] * 2
    pd.testing.assert_frame_equal(found[:3], one.features())
    assert not found[["coefficient", "low", "high", "pattern", "matters"]][3:].to_numpy().any()
    new = pd.DataFrame(np.ones((2, 3)), ["n1", "n2"], NAMES)
    np.testing.assert_array_equal(both.rows({}, features=new).mean, one.rows({}, features=new).mean)


def test_both_sides_may_say_nothing(plain):
    _, noise, Y = table()
    both = fit(Y, row_features=noise, col_features=np.random.default_rng(3).standard_normal((12, 2)))
    same(both, plain)
    assert len(both.features()) == 5


def test_the_printed_posterior_says_so(idle, useful):
    p = idle.fit.p_values[0]
    line = f"row features: 3, left out: they say nothing of the values beyond chance (p = {p:.3f})"
    assert line in repr(idle).replace("\n", " ")
    assert "left out: they say" in idle._repr_html_()
    assert "row features: 3\n" in repr(useful)
    _, noise, Y = table()
    noise.iloc[3, 0] = np.nan
    one = fit(Y, row_features=noise[["size"]])
    assert "2, left out: they say nothing of the values beyond chance" in repr(one)
    assert "missing values are taken as the mean" in repr(one)
    assert "1, left out: it says nothing" in repr(fit(Y, row_features=noise[["charge"]]))


def test_what_was_left_out_has_coefficients_of_zero(idle, plain):
    found = idle.features()
    assert sorted(found["feature"]) == sorted(NAMES)
    assert not found[["coefficient", "low", "high", "pattern"]].to_numpy().any()
    assert not found["matters"].any()
    with pytest.raises(ParameterError, match="got one without"):
        plain.features()


def test_new_rows_are_read_as_ever_and_answered_as_without_features(idle, plain):
    some = pd.DataFrame(np.ones((2, 12)), ["n1", "n2"])
    new = pd.DataFrame(np.ones((2, 3)), ["n2", "n1"], NAMES)
    wanted = plain.rows(some)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for features in (new, new[["size"]], None):
            pd.testing.assert_frame_equal(idle.rows(some, features=features).mean, wanted.mean)
        all_of_them = idle.rows({}, features=new)
    assert list(all_of_them.mean.index) == ["n2", "n1"]
    nothing = plain.rows({"n2": {}, "n1": {}})
    pd.testing.assert_frame_equal(all_of_them.sd, nothing.sd)
    with pytest.raises(LabelError, match="expected features of 'n1'"):
        idle.rows(some, features=new.set_axis(["x", "y"]))
    with pytest.raises(DataError, match="features of 2 new rows, got 3"):
        idle.rows(np.ones((2, 12)), features=np.ones((3, 3)))
    with pytest.raises(DataError):
        idle.rows(some, features=np.ones((2, 4)))
    with pytest.raises(ParameterError, match="no row_features"):
        plain.rows(some, features=new)


def test_it_is_saved_and_read_again(idle, useful, plain, tmp_path):
    for k, posterior in enumerate((idle, useful)):
        posterior.save(tmp_path / f"{k}.npz")
        again = Posterior.load(tmp_path / f"{k}.npz")
        same(again, posterior)
        assert again.fit.p_values == posterior.fit.p_values
        assert str(again.fit.idle[0]) == str(posterior.fit.idle[0])
        assert repr(again) == repr(posterior)
        pd.testing.assert_frame_equal(again.features(), posterior.features())
        same(again.more(3), posterior.more(3))
    _, noise, Y = table()
    fit(Y, row_features=noise, store=tmp_path / "store")
    stored = Posterior.load(tmp_path / "store")
    same(stored, plain)
    assert stored.fit.idle[0] is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda fit: fit.update(p_values=[2.0, None]),
        lambda fit: fit.update(p_values=[None, None]),
        lambda fit: fit.update(features=fit["idle"]),
        lambda fit: fit.update(idle=["observed", None]),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(idle, tmp_path, monkeypatch, change):
    written = archive._meta

    def meta(parts):
        found = written(parts)
        change(found["fit"])
        return found

    monkeypatch.setattr(archive, "_meta", meta)
    idle.save(tmp_path / "a.npz")
    with pytest.raises(DataError):
        Posterior.load(tmp_path / "a.npz")


def test_a_warm_start_keeps_what_was_decided(idle, useful, plain, monkeypatch):
    F, noise, Y = table()

    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(relevance, "find_p_value", fail)
    without = fit(Y, rank="auto", start=plain)
    for given in (noise, None):
        warm = fit(Y, rank="auto", start=idle, row_features=given)
        same(warm, without)
        assert warm.fit.idle[0] is not None
        assert warm.fit.p_values == idle.fit.p_values
    used = fit(Y, rank="auto", start=useful, row_features=F)
    assert used.fit.features[0] is not None
    assert used.fit.p_values == useful.fit.p_values
    more = pd.concat([Y, Y[:1].set_axis(["new"])])
    with pytest.raises(ParameterError, match="other row_features; expected those of all"):
        fit(more, rank="auto", start=idle)
    with pytest.raises(ParameterError, match="other row_features; expected none"):
        fit(Y, rank="auto", start=plain, row_features=noise)
    longer = fit(more, rank="auto", start=idle, row_features=pd.concat([noise, noise[:1].set_axis(["new"])]))
    assert longer.fit.idle[0].m == 41


def test_what_is_refused_with_features_is_refused_whatever_they_say():
    _, noise, Y = table()
    with pytest.raises(ParameterError, match="priors="):
        fit(Y, row_features=noise, priors=Priors.paper())
    with pytest.raises(ParameterError, match="no features of rows or columns"):
        fit(Y, row_features=noise, engine="gpu")


def test_which_entries_were_observed_is_not_tested():
    posterior = fit(table()[2], row_features="observed")
    assert posterior.fit.features[0] == "observed"
    assert posterior.fit.p_values == (None, None)
