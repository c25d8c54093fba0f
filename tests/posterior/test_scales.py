"""Columns and rows in other units: found where they differ beyond doubt, modelled on scales of their own, answered in
the user's units."""

import numpy as np
import pandas as pd
import pytest
from tests.posterior.examples import MANY, SHORT, equal, low_rank

from maxentry import Posterior, complete
from maxentry.errors import DataError, ParameterError
from maxentry.estimators import fold_in
from maxentry.posterior.archive import read
from maxentry.transform import LineSpreads, find_scales

ODD = 3
ROWS, COLS = [f"r{i}" for i in range(30)], [f"c{j}" for j in range(12)]


def table(m1=30, m2=12, known=0.7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m1, 2)) @ rng.normal(size=(2, m2))
    return np.where(rng.random(X.shape) < known, X + 0.1 * rng.normal(size=X.shape), np.nan)


def in_other_units(Y, factor=100.0, shift=500.0, column=ODD):
    changed = Y.copy()
    changed[:, column] = shift + factor * Y[:, column]
    return changed


def scales_of(Y, wish="auto", centred=True):
    rows, cols = (index.astype(np.int32) for index in np.nonzero(~np.isnan(Y)))
    return find_scales(wish, rows, cols, Y[rows, cols], Y.shape, centred)


# Which lines


def test_ordinary_tables_have_one_scale():
    for seed in range(20):
        Y = table(seed=seed)
        Y[:, 0] *= 3.0  # more varied than the others, and no other unit
        Y[:, 1] = 1.0  # constant
        Y[:, 2] = 2.0 + 1e-4 * Y[:, 2]  # nearly constant
        Y[:, 4] += 5.0
        assert scales_of(Y) is None
        assert scales_of(Y.T) is None


def test_a_pile_at_a_limit_is_no_unit():
    """Most lines of a table of log run times are time-outs, all but equal; those that vary are in the same units."""
    rng = np.random.default_rng(0)
    Y = 8.5 + 1e-5 * rng.normal(size=(200, 20))
    Y[::5] = rng.uniform(-4, 8, size=(40, 20))
    for known in (1.0, 0.3, 0.1):
        seen = np.where(rng.random(Y.shape) < known, Y, np.nan)
        assert scales_of(seen) is None
        assert scales_of(seen.T) is None


@pytest.mark.parametrize(("factor", "shift"), [(100.0, 0.0), (100.0, 500.0), (1e-5, 0.0), (1.0, 200.0)])
@pytest.mark.parametrize("side", ["columns", "rows"])
def test_a_line_in_other_units_is_found(factor, shift, side):
    Y = in_other_units(table(known=0.9), factor, shift)
    scales = scales_of(Y if side == "columns" else Y.T)
    assert scales.side == side
    np.testing.assert_array_equal(scales.own, [ODD])
    assert abs(np.log(scales.factor[ODD] / factor)) < np.log(3)
    others = np.delete(np.arange(12), ODD)
    np.testing.assert_array_equal(scales.factor[others], 1.0)
    np.testing.assert_array_equal(scales.shift[others], 0.0)


def test_few_values_are_no_evidence():
    Y = in_other_units(table(), shift=0.0)
    for n, found in ((2, False), (12, True)):
        few = Y.copy()
        few[np.flatnonzero(~np.isnan(Y[:, ODD]))[n:], ODD] = np.nan
        assert (scales_of(few) is not None) == found


@pytest.mark.parametrize(("shape", "n"), [((30, 30), 30), ((30, 30), 45), ((100, 40), 60), ((12, 8), 20)])
def test_few_values_alike_by_chance_are_no_unit(shape, n):
    """Of a handful of lines with three values or more, one may have three that are nearly equal."""
    for seed in range(150):
        rng = np.random.default_rng([seed, n])
        X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
        seen = np.full(X.size, np.nan)
        chosen = rng.choice(X.size, n, replace=False)
        seen[chosen] = X.ravel()[chosen]
        assert scales_of(seen.reshape(shape)) is None


def test_hits_among_few_values_are_no_unit():
    """Most yields are low and some are high: two of four high ones look like another unit, and are none."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Y = np.where(
            rng.random((40, 30)) < 0.1, rng.uniform(30, 95, (40, 30)), np.abs(rng.normal(0, 1.5, (40, 30)))
        )
        Y[np.argsort(rng.random(Y.shape), axis=0) >= 4] = np.nan  # four values of each column
        assert scales_of(Y) is None


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("side", ["columns", "rows"])
def test_a_line_of_few_values_all_far_away_is_in_other_units(n, side):
    for seed in range(20):
        Y = in_other_units(table(seed=seed), shift=5000.0)
        some = np.flatnonzero(~np.isnan(Y[:, ODD]))
        Y[some[n:], ODD] = np.nan
        found = scales_of(Y if side == "columns" else Y.T)
        assert (found.side, found.own.tolist()) == (side, [ODD])
        Y[some[:n], ODD] = 60.0  # far, but another line has as much once
        Y[np.flatnonzero(~np.isnan(Y[:, 0]))[0], 0] = 60.0
        assert scales_of(Y if side == "columns" else Y.T) is None


@pytest.mark.parametrize("background", [0.1, 0.3])
def test_hits_among_values_near_zero_are_no_unit(background):
    """But where half of six values are hits, and next to none of the others, as in one of these forty tables."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Y = background * np.round(np.abs(rng.normal(size=(40, 30))))
        Y[rng.random(Y.shape) < 0.08] = 1
        Y = np.where(Y == 1, rng.uniform(20, 90, Y.shape), Y)
        Y[rng.random(Y.shape) > 0.1] = np.nan
        found += scales_of(Y) is not None or scales_of(Y.T) is not None
    assert found <= 1  # by the typical values alone, of which most are near zero: seven


def test_one_entry_measured_again_is_no_line_in_another_unit():
    Y = table()
    rows, cols = np.nonzero(~np.isnan(Y))
    keep = cols != ODD
    i, j = (
        np.append(rows[keep], [0, 0, 0]).astype(np.int32),
        np.append(cols[keep], [ODD] * 3).astype(np.int32),
    )
    y = np.append(Y[rows[keep], cols[keep]], [5000.0, 5100.0, 5200.0])
    spreads = LineSpreads.measure(j, y, Y.shape[1], True)
    assert spreads.scales("columns", every=False, entries=(j, i, y)) is None
    i[-1] = 1
    assert spreads.scales("columns", every=False, entries=(j, i, y)).scales.own.tolist() == [ODD]


def test_intervals_of_a_line_in_other_units_with_few_values_are_not_too_short():
    """Its sd is about 100. With half of the range of its values as their scale, the control, 90% held 34% with two."""
    covered = []
    for seed in range(16):
        X = table(known=1.0, seed=seed)
        truth = in_other_units(X, shift=5000.0)
        Y = np.where(np.random.default_rng(seed).random(X.shape) < 0.6, truth, np.nan)
        Y[2 + seed % 4 :, ODD] = np.nan
        Y[: 2 + seed % 4, ODD] = truth[: 2 + seed % 4, ODD]
        low, high = complete(Y, 2, sampling=SHORT, seed=1, progress=False).predictive_interval()
        covered.append(((low <= truth) & (truth <= high))[6:, ODD].mean())
    assert np.mean(covered) > 0.75


@pytest.mark.parametrize("known", [0.35, 0.7])
@pytest.mark.parametrize("factor", [100.0, 0.1, 0.02])
def test_where_many_lines_are_in_other_units_those_of_the_other_side_are_not_taken_for_small(known, factor):
    """Columns with hardly any value of the odd rows have a thousandth of the spread of the others.

    Odd rows that vary less than the others have factors below 1, and are not small for that.
    """
    for seed in (*range(10), 11, 21, 23, 53, 59):
        Y = table(30, 18, known, seed)
        Y[:10] = 5000 + factor * Y[:10]
        for turned, side in ((Y, "rows"), (Y.T, "columns")):
            found = scales_of(turned)
            assert found.side == side
            assert set(found.own) <= set(range(10))
            assert found.own.size >= 9  # one may have a single value


def run_times(rng, m=60):
    """Times in s that vary by factors, of rows of which some take fifty times as long as others, up to a time-out."""
    size = 2 + 1.5 * rng.normal(size=(m, 1)) + 4.0 * (rng.random((m, 1)) < 0.3)
    X = size + 0.7 * rng.normal(size=m) + rng.normal(size=(m, 2)) @ rng.normal(size=(2, m))
    return np.minimum(np.exp(X + 0.2 * rng.normal(size=X.shape)), 5000)


def concentrations(rng, m1=30, m2=24):
    X = 0.8 * rng.normal(size=(m1, 2)) @ rng.normal(size=(2, m2)) + 0.7 * rng.normal(size=(m1, 1))
    return np.exp(X + 0.7 * rng.normal(size=m2) + 0.2 * rng.normal(size=X.shape))


def hits_in_some_rows(rng):
    often = np.where(rng.random((40, 1)) < 0.2, 0.5, 0.02)
    hits = np.where(rng.random((40, 30)) < often, rng.uniform(20, 90, (40, 30)), 0)
    return np.abs(hits + 0.5 * rng.normal(size=hits.shape))


@pytest.mark.parametrize("make", [run_times, concentrations, hits_in_some_rows])
@pytest.mark.parametrize("known", [0.05, 0.25, 0.5])
def test_tables_whose_values_vary_by_factors_have_one_scale(make, known):
    """Spreads and locations alone split most tables of run times. Two hits of a row may look like a unit by chance."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 15])
        Y = make(rng)
        Y[rng.random(Y.shape) > known] = np.nan
        found += scales_of(Y) is not None or scales_of(Y.T) is not None
    assert found <= 1


def test_columns_of_positive_values_in_other_units_are_found():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        yields = 45 + 12 * rng.normal(size=(30, 1)) + 12 * rng.normal(size=12) + 8 * rng.normal(size=(30, 12))
        Y = np.where(rng.random(yields.shape) < 0.6, np.clip(yields, 1, 99), np.nan)
        Y[:, ODD] *= 100
        assert scales_of(Y).own.tolist() == [ODD]
        metrics = rng.uniform(0.6, 0.9, (30, 1)) * rng.uniform(0.9, 1.1, (30, 12))
        metrics *= np.array([1, 300, 1e9, 1, 300, 1e5, 1, 300, 1, 1e9, 1, 1])  # accuracies, ms, bytes, …
        Y = np.where(rng.random(metrics.shape) < 0.5, metrics, np.nan)
        assert scales_of(Y).own.tolist() == [1, 2, 4, 5, 7, 9]


@pytest.mark.parametrize("n", [3, 4, 5, None])
def test_one_wild_value_is_no_unit(n):
    Y = table()
    if n is not None:
        Y[np.flatnonzero(~np.isnan(Y[:, ODD]))[n:], ODD] = np.nan
    Y[np.flatnonzero(~np.isnan(Y[:, ODD]))[1], ODD] = 1e6
    assert scales_of(Y) is None


def test_a_table_of_many_units_has_a_scale_for_each():
    units = np.array([1.0, 300.0, 1e-5, 5e4, 1.0, 2.0, 1.0, 1e7, 1.0, 1.0, 1.0, 1.0])
    scales = scales_of(table() * units)
    np.testing.assert_array_equal(scales.own, [1, 2, 3, 7])


@pytest.mark.parametrize(("odd", "m2"), [(1, 2), (2, 4), (3, 6), (5, 10)])
def test_half_of_the_columns_may_be_in_other_units(odd, m2):
    Y = table(m2=m2)
    Y[:, :odd] *= 1000
    assert scales_of(Y).own.tolist() == list(range(odd))


@pytest.mark.parametrize("level", [2020.0, 1e6])
def test_a_constant_column_far_from_the_others_is_moved(level):
    Y = table()
    Y[:, ODD] = np.where(np.isnan(Y[:, ODD]), np.nan, level)
    for wish in ("auto", "columns"):
        scales = scales_of(Y, wish)
        assert ODD in scales.own
        assert np.abs(level - scales.shift[ODD]) < 10


def test_of_many_values_those_of_every_column_are_looked_at(monkeypatch):
    """Values come row by row: every so many-th of them would be of the same few columns."""
    monkeypatch.setattr("maxentry.transform.MOST_VALUES", 300)
    for column in range(4):
        Y = in_other_units(table(200, 4, known=1.0), 1000.0, 0.0, column)
        assert scales_of(Y).own.tolist() == [column]


def test_wishes():
    Y = in_other_units(table())
    assert scales_of(Y, "none") is None
    every = scales_of(Y, "columns")
    assert (every.side, len(every.own)) == ("columns", 11)  # one is the typical one
    assert scales_of(Y, "rows").side == "rows"
    # few values: shrunken towards the typical scale
    spreads = LineSpreads(
        np.array([90, 90, 90, 5, 90]),
        np.zeros(5),
        np.array([1.0, 1, 1, 4, 4]),
        *np.ones((2, 5)),
        *np.zeros((2, 5)),
        True,
    )
    factor = spreads.scales("columns", every=True).scales.factor
    assert 1.5 < factor[3] < 0.8 * factor[4] < 4
    # without means there are no locations
    assert (scales_of(Y, "columns", centred=False).shift == 0).all()


# What a posterior answers


@pytest.fixture(scope="module")
def posterior():
    Y = pd.DataFrame(in_other_units(table()), ROWS, COLS)
    watch = (["r0", "r1"], ["c3", "c4"])
    return complete(Y, 2, sampling=SHORT, seed=1, watch=watch)


@pytest.fixture(scope="module")
def scaled(posterior):
    """The fit of the values that are modelled."""
    o = posterior.observations
    z = np.full(o.shape, np.nan)
    z[o.rows, o.cols] = posterior.value_map.forward(o.values, o.rows, o.cols)
    watch = (["r0", "r1"], ["c3", "c4"])
    return complete(pd.DataFrame(z, ROWS, COLS), 2, sampling=SHORT, seed=1, scale="none", watch=watch)


def mapped(posterior, array):
    scales = posterior.fit.scales
    return scales.shift + scales.factor * array


def test_the_model_is_of_the_scaled_values(posterior, scaled):
    assert equal(posterior, scaled)
    assert abs(np.log(posterior.scales["c3"] / 100)) < np.log(2)
    assert list(posterior.scales) == ["c3"]
    assert scaled.scales == {}


def test_answers_are_in_the_users_units(posterior, scaled):
    factor = posterior.fit.scales.factor
    np.testing.assert_allclose(posterior.arrays.mean, mapped(posterior, scaled.arrays.mean), rtol=1e-9)
    np.testing.assert_allclose(posterior.arrays.sd, factor * scaled.arrays.sd, rtol=1e-9)
    for name in ("interval", "predictive_interval"):
        ends = zip(getattr(posterior.arrays, name)(0.8), getattr(scaled.arrays, name)(0.8), strict=True)
        for found, expected in ends:
            np.testing.assert_allclose(found, mapped(posterior, expected), rtol=1e-9)
    np.testing.assert_allclose(
        posterior.arrays.sample(3, seed=0), mapped(posterior, scaled.arrays.sample(3, seed=0)), rtol=1e-9
    )
    low, high = posterior.arrays.predictive_interval(0.8)
    entry = posterior.predict(["r2", "r2"], ["c3", "c5"], level=0.8)
    np.testing.assert_allclose(entry.mean, posterior.arrays.mean[2, [3, 5]])
    np.testing.assert_allclose(entry.sd, posterior.arrays.sd[2, [3, 5]])
    np.testing.assert_allclose(entry.new_low, low[2, [3, 5]])
    np.testing.assert_allclose(entry.new_high, high[2, [3, 5]])
    at = [0, 1], [3, 4]
    np.testing.assert_allclose(posterior.watched.mean, mapped(posterior, np.zeros(12))[[3, 4]]
                               + factor[[3, 4]] * scaled.watched.mean)  # fmt: skip
    np.testing.assert_allclose(
        posterior.watched.mean, posterior.arrays.mean[at], atol=5 * posterior.arrays.sd[at].max()
    )


def test_rows_answer_like_columns():
    Y = in_other_units(table(12, 30).T)  # one column of 12, as a row
    tall, wide = complete(Y, 2, sampling=SHORT, seed=1, scale="columns"), complete(
        Y.T, 2, sampling=SHORT, seed=1, scale="rows"
    )  # fmt: skip
    for found, expected in ((wide.fit.scales.factor, tall.fit.scales.factor), (wide.scales, tall.scales)):
        assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected
    o = wide.observations
    z = np.full(o.shape, np.nan)
    z[o.rows, o.cols] = wide.value_map.forward(o.values, o.rows, o.cols)
    plain = complete(z, 2, sampling=SHORT, seed=1, scale="none")
    assert equal(wide, plain)
    scales = wide.fit.scales
    expected = scales.shift[:, None] + scales.factor[:, None] * plain.mean
    np.testing.assert_allclose(wide.mean, expected, rtol=1e-9)
    np.testing.assert_allclose(
        wide.interval()[1], scales.shift[:, None] + scales.factor[:, None] * plain.interval()[1]
    )


def test_ordinary_tables_have_the_draws_they_had():
    Y = low_rank(noise=0.3)[1]
    assert equal(complete(Y, 2, sampling=SHORT, seed=1), complete(Y, 2, sampling=SHORT, seed=1, scale="none"))


def test_it_is_said(posterior):
    factor = posterior.scales["c3"]
    assert f"columns on scales of their own: c3 (x {factor:.3g})" in repr(posterior)
    moved = complete(in_other_units(table(), 1.0, 1000.0), 1, sampling=SHORT, seed=1)
    assert f"columns on scales of their own: {ODD} (location only)" in repr(moved)
    assert "scales" not in repr(complete(table(), 1, sampling=SHORT, seed=1))
    many = repr(complete(table(), 1, sampling=SHORT, seed=1, scale="columns"))
    assert "and 3 more" in many


def test_arviz_has_entries_in_the_users_units(posterior):
    data = posterior.to_arviz().posterior
    names = [str(name) for name in data["X_unobserved"].coords["X_unobserved_of"].values]
    k = next(k for k, name in enumerate(names) if name.endswith(", c3]"))
    i = ROWS.index(names[k].removeprefix("X[").split(",")[0])
    found = data["X_unobserved"].values[..., k].mean()
    np.testing.assert_allclose(found, posterior.arrays.mean[i, ODD])


def test_it_comes_back_from_its_file_and_goes_on(posterior, tmp_path):
    posterior.save(tmp_path / "fit.npz")
    loaded = Posterior.load(tmp_path / "fit.npz")
    assert loaded.scales == posterior.scales
    pd.testing.assert_frame_equal(loaded.to_frame(), posterior.to_frame())
    assert equal(loaded.more(2), posterior.more(2))


def test_a_damaged_file_is_refused(posterior, tmp_path):
    file = tmp_path / "fit.npz"
    posterior.save(file)
    for name, value in (
        ("scales_factor", np.ones(11)),
        ("scales_factor", np.zeros(12)),
        ("scales_shift", None),
    ):
        with np.load(file) as stored:
            arrays = dict(stored)
        arrays.pop(name)
        if value is not None:
            arrays[name] = value
        np.savez(tmp_path / "damaged.npz", **arrays)
        with pytest.raises(DataError):
            read(tmp_path / "damaged.npz")


def test_a_warm_start_keeps_the_scales(posterior):
    Y = in_other_units(table())
    more = np.vstack([np.where(np.isnan(Y), in_other_units(table(known=0.9, seed=0)), Y), Y[:1]])
    later = complete(
        pd.DataFrame(more[:, ::-1], [*ROWS, "new"], COLS[::-1]), sampling=SHORT, seed=2, start=posterior
    )
    assert later.scales == posterior.scales
    assert (
        np.abs(later.arrays.mean[0, ::-1] - posterior.arrays.mean[0]).max() < 5 * posterior.arrays.sd[0].max()
    )
    with pytest.raises(ParameterError, match="start= was fitted with scale='auto', got scale='none'"):
        complete(pd.DataFrame(Y, ROWS, COLS), start=posterior, scale="none")


def test_new_rows_are_folded_in_on_the_scales(posterior, scaled):
    new = np.full((1, 12), np.nan)
    new[0, [0, ODD, 5]] = [0.5, 430.0, -1.0]
    z = (new - posterior.fit.scales.shift) / posterior.fit.scales.factor
    found, expected = fold_in(posterior, new), fold_in(scaled, z)
    np.testing.assert_allclose(found.mean, mapped(posterior, expected.mean))
    np.testing.assert_allclose(found.sd, posterior.fit.scales.factor * expected.sd)


@pytest.mark.parametrize("scale", ["yes", None, 1, ["columns"]])
def test_other_wishes_are_refused(scale):
    with pytest.raises(ParameterError, match="scale must be 'auto', 'columns', 'rows' or 'none', got"):
        complete(table(), 1, scale=scale)


def test_one_column_in_other_units_does_not_break_the_others():
    """The column is replaced by numbers of sd 100; before, errors of the others were up to 1.06 of their sd."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 30))
    Y = np.where(rng.random(X.shape) < 0.35, X + 0.1 * rng.normal(size=X.shape), np.nan)
    Y[:, ODD] = np.where(np.isnan(Y[:, ODD]), np.nan, 100 * rng.normal(size=60))
    others = np.delete(np.arange(30), ODD)

    def error(Y, **options):
        fitted = complete(Y, 2, sampling=MANY, seed=1, **options)
        return float(np.sqrt(np.mean((fitted.mean - X)[:, others] ** 2)) / X[:, others].std())

    without = Y.copy()
    without[:, ODD] = np.nan
    found, alone, unscaled = error(Y), error(without), error(Y, scale="none")
    assert found < 0.12
    assert found < 1.5 * alone
    assert unscaled > 3 * found  # the control
