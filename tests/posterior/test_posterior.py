"""What a posterior answers: maps, predictions by label, samples, frames, ArviZ, words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.posterior.examples import SHORT, low_rank, matrices

from maxentry import Sampling, complete
from maxentry.errors import LabelError, MaxentryError, ParameterError, SizeError
from maxentry.model.likelihood import NoiseLaw
from maxentry.posterior import intervals as module
from maxentry.posterior.diagnostics import split_rhat
from maxentry.posterior.intervals import Answers, interval_map

ROWS = [f"r{i}" for i in range(12)]
COLS = [f"c{j}" for j in range(9)]


@pytest.fixture(scope="module")
def posterior():
    return complete(pd.DataFrame(low_rank()[1], ROWS, COLS), 2, sampling=SHORT, seed=1)


@pytest.fixture(scope="module")
def unlabelled():
    return complete(low_rank()[1], 2, sampling=SHORT, seed=1)


def test_maps_are_the_moments_of_the_draws(posterior):
    x = matrices(posterior).reshape(-1, 12, 9)
    assert posterior.shape == posterior.arrays.mean.shape == posterior.arrays.sd.shape == (12, 9)
    assert posterior.belief.n_draws == SHORT.chains * SHORT.draws
    np.testing.assert_allclose(posterior.arrays.mean, x.mean(0), atol=1e-12)
    np.testing.assert_allclose(posterior.arrays.sd, x.std(0, ddof=1), atol=1e-12)


def test_the_mean_is_the_same_before_and_after_the_sd_was_asked_for():
    fitted = complete(low_rank()[1], 1, sampling=SHORT, seed=1)
    before = fitted.mean.copy()
    fitted.sd
    np.testing.assert_array_equal(fitted.mean, before)


def test_noise_and_rank_are_those_of_the_draws(posterior):
    assert posterior.rank == 2
    assert posterior.rank_weights == {2: 1.0}
    assert posterior.noise_sd == pytest.approx(np.sqrt(posterior.draws.eta2).mean())
    assert posterior.noise_df is None


# By label


def test_predictions_by_label_are_the_maps(posterior):
    rows, cols = ["r3", "r0", "r11"], ["c8", "c0", "c4"]
    found = posterior.predict(rows, cols, level=0.8)
    at = ([3, 0, 11], [8, 0, 4])
    low, high = posterior.arrays.interval(0.8)
    new_low, new_high = posterior.arrays.predictive_interval(0.8)
    assert found.rows == tuple(rows)
    assert found.cols == tuple(cols)
    assert found.level == 0.8
    arrays = posterior.arrays
    maps = dict(mean=arrays.mean, sd=arrays.sd, low=low, high=high, new_low=new_low, new_high=new_high)
    for name, of_all in maps.items():
        np.testing.assert_allclose(getattr(found, name), of_all[at], atol=1e-12, err_msg=name)


def test_many_predictions_in_blocks_are_the_same(posterior, monkeypatch):
    i, j = np.divmod(np.arange(12 * 9), 9)
    rows, cols = [ROWS[k] for k in i], [COLS[k] for k in j]
    found = posterior.predict(rows * 40, cols * 40)
    np.testing.assert_allclose(
        found.mean.reshape(40, 12, 9), np.broadcast_to(posterior.arrays.mean, (40, 12, 9))
    )
    np.testing.assert_allclose(found.high[-108:].reshape(12, 9), posterior.arrays.interval()[1], atol=1e-12)


def test_predictive_intervals_have_the_noise_of_the_model():
    fitted = complete(low_rank()[1], 1, noise="student", sampling=SHORT, seed=1)
    student, gaussian = (
        interval_map(fitted.belief, 0.9, Answers(NoiseLaw(fitted.belief.noise_var, nu)), measured=True)
        for nu in (fitted.draws.nu.ravel(), None)
    )
    np.testing.assert_array_equal(fitted.predictive_interval(0.9), student)
    assert np.mean(student[1] - student[0]) > np.mean(gaussian[1] - gaussian[0])


def test_one_row_serves_many_columns_and_one_entry_is_a_number(posterior):
    row = posterior.predict("r2", COLS)
    np.testing.assert_allclose(row.mean, posterior.arrays.mean[2], atol=1e-12)
    assert row.rows == ("r2",) * 9
    assert posterior.predict(ROWS, "c1").mean.shape == (12,)
    one = posterior.predict("r2", "c1")
    assert one.mean.shape == ()
    assert float(one.mean) == pytest.approx(posterior.arrays.mean[2, 1])
    assert one.to_frame().shape == (1, 8)
    assert posterior.predict([], []).mean.size == 0


def test_a_block_of_entries_has_the_shape_of_its_labels(unlabelled):
    found = unlabelled.predict(np.arange(12)[:, None], np.arange(9)[None])
    np.testing.assert_allclose(found.sd, unlabelled.arrays.sd, atol=1e-12)
    assert len(found.to_frame()) == 108


def test_predictions_make_a_frame(posterior):
    frame = posterior.predict("r2", ["c1", "c5"]).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == ["row", "col", "mean", "sd", "low", "high", "new_low", "new_high"]
    assert frame["col"].tolist() == ["c1", "c5"]
    assert frame["mean"].tolist() == pytest.approx(posterior.arrays.mean[2, [1, 5]])


def test_unknown_labels_and_unequal_lengths_are_refused(posterior, unlabelled):
    with pytest.raises(LabelError, match=r"'r12'.* col_labels= of complete name them, or add_rows"):
        posterior.predict("r12", "c1")
    with pytest.raises(LabelError, match="did you mean 'c1'"):
        posterior.predict("r1", ["c0", "cc1"])
    with pytest.raises(LabelError, match=r"positions from 0 to 8, got 9\.$"):
        unlabelled.predict(0, 9)
    with pytest.raises(LabelError):
        unlabelled.predict(-1, 0)
    with pytest.raises(ParameterError, match="got 2 and 3"):
        posterior.predict(["r1", "r2"], ["c1", "c2", "c3"])


# Samples


def test_samples_are_draws_without_replacement(posterior):
    x = matrices(posterior).reshape(-1, 12, 9)
    S = len(x)
    every = posterior.arrays.sample(S, seed=0)
    assert every.shape == (S, 12, 9)
    np.testing.assert_allclose(np.sort(every[:, 0, 0]), np.sort(x[:, 0, 0]))
    assert posterior.arrays.sample().shape == (1, 12, 9)
    assert posterior.arrays.sample(3 * S, seed=0).shape == (3 * S, 12, 9)
    np.testing.assert_array_equal(posterior.arrays.sample(2, seed=5), posterior.arrays.sample(2, seed=5))
    assert not np.array_equal(posterior.arrays.sample(2, seed=5), posterior.arrays.sample(2, seed=6))


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_a_number_of_samples_that_is_none_is_refused(posterior, n):
    with pytest.raises(ParameterError, match="at least 1"):
        posterior.arrays.sample(n)


def test_maps_that_would_not_fit_are_refused_and_predict_still_works(monkeypatch):
    fitted = complete(low_rank()[1], 1, sampling=SHORT, seed=1)
    monkeypatch.setattr(module, "LARGEST_MAP", 107)
    asks = (
        lambda: fitted.mean,
        lambda: fitted.sd,
        lambda: fitted.interval(),
        lambda: fitted.predictive_interval(),
        lambda: fitted.sample(),
        lambda: fitted.to_frame(),
        lambda: fitted.to_frame("wide"),
    )
    for ask in asks:
        with pytest.raises(SizeError, match=r"12 x 9.*predict"):
            ask()
    assert fitted.predict(0, 0).mean.shape == ()
    monkeypatch.setattr(module, "LARGEST_MAP", 108)
    assert fitted.mean.shape == (12, 9)
    with pytest.raises(SizeError, match="2 times"):
        fitted.sample(2)


# Frames


def test_a_long_frame_has_every_entry_and_how_often_it_was_measured(posterior):
    frame = posterior.to_frame(level=0.5)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame) == ["row", "col", "mean", "sd", "low", "high", "observed"]
    assert frame["row"].tolist() == [r for r in ROWS for _ in COLS]
    assert frame["col"].tolist() == COLS * 12
    low, high = posterior.arrays.interval(0.5)
    maps = dict(mean=posterior.arrays.mean, sd=posterior.arrays.sd, low=low, high=high)
    for name, of_all in maps.items():
        np.testing.assert_array_equal(frame[name], of_all.ravel())
    np.testing.assert_array_equal(frame["observed"], (~np.isnan(low_rank()[1])).ravel())


def test_replicates_are_counted():
    rows, cols = ["a", "a", "b", "b", "a"], ["x", "x", "x", "y", "x"]
    fitted = complete((rows, cols, [1.0, 2, 3, 4, 5]), 0, sampling=SHORT, seed=1)
    assert fitted.to_frame()["observed"].tolist() == [3, 0, 1, 1]


@pytest.mark.parametrize("what", ["mean", "sd", "low", "high"])
def test_wide_frames_hold_the_maps(posterior, unlabelled, what):
    low, high = posterior.arrays.interval(0.8)
    expected = dict(mean=posterior.arrays.mean, sd=posterior.arrays.sd, low=low, high=high)[what]
    frame = posterior.to_frame("wide", what, level=0.8)
    assert frame.index.tolist() == ROWS
    assert frame.columns.tolist() == COLS
    np.testing.assert_array_equal(frame, expected)
    plain = unlabelled.to_frame("wide", what, level=0.8)
    assert plain.index.tolist() == list(range(12))
    np.testing.assert_array_equal(plain, expected)


def test_polars_in_polars_out(posterior):
    wide = pl.DataFrame({"row": ROWS} | {c: low_rank()[1][:, j] for j, c in enumerate(COLS)})
    fitted = complete(wide, 2, sampling=SHORT, seed=1)
    np.testing.assert_array_equal(fitted.arrays.sd, posterior.arrays.sd)
    long = fitted.to_frame()
    assert isinstance(long, pl.DataFrame)
    assert long.columns == ["row", "col", "mean", "sd", "low", "high", "observed"]
    assert long["row"].to_list() == [r for r in ROWS for _ in COLS]
    back = fitted.to_frame("wide")
    assert back.columns == ["row", *COLS]
    np.testing.assert_array_equal(back.drop("row").to_numpy(), fitted.arrays.mean)
    assert isinstance(fitted.predict("r0", "c0").to_frame(), pl.DataFrame)


def test_forms_that_do_not_exist_are_refused(posterior):
    with pytest.raises(ParameterError, match="'broad'"):
        posterior.to_frame("broad")
    with pytest.raises(ParameterError, match="'median'"):
        posterior.to_frame("wide", "median")


# ArviZ and words


@pytest.mark.parametrize("rank", [0, 2])
def test_arviz_gets_the_watched_quantities_and_agrees_on_rhat(rank):
    import arviz  # here: it takes seconds to load

    frame = pd.DataFrame(low_rank()[1], ROWS, COLS)
    longer = Sampling(chains=4, anneal=20, settle=20, draws=40, thin=1)
    fitted = complete(frame, rank, sampling=longer, seed=1)
    data = fitted.to_arviz()
    names = {"mu", "eta2", "X_observed", "X_unobserved"}
    low = {"sigma2", "singular_values", "projections"} if rank else set()
    assert set(data.posterior.data_vars) == names | low
    assert dict(data.posterior.sizes)["chain"] == 4
    assert dict(data.posterior.sizes)["draw"] == 40
    x = data.posterior["X_observed"]
    assert x.dims == ("chain", "draw", "X_observed_of")
    label = str(x.coords["X_observed_of"].values[0])
    i, j = label.removeprefix("X[").removesuffix("]").split(", ")
    np.testing.assert_allclose(x.values[..., 0], matrices(fitted)[:, :, ROWS.index(i), COLS.index(j)])
    theirs = arviz.rhat(data)["X_observed"].values
    np.testing.assert_allclose(split_rhat(x.values), theirs, rtol=1e-6)
    np.testing.assert_array_equal(data.posterior["eta2"].values, fitted.draws.eta2)


def test_words_say_what_was_fitted(posterior):
    text = repr(posterior)
    assert "12 x 9" in text
    assert "rank: 2" in text
    assert "4 chains x 6" in text
    assert f"{posterior.noise_sd:.4g}" in text


def test_html_escapes_labels():
    rows = [f"<b>{i}</b>" for i in range(12)]
    fitted = complete(pd.DataFrame(low_rank()[1], rows, COLS), 2, sampling=SHORT, seed=1)
    said = replace(fitted.diagnostics, converged=False, advice="<b>0</b> moved")
    fitted.__dict__["diagnostics"] = said
    assert "<b>" in repr(fitted)
    assert "<b>" not in fitted._repr_html_()
    assert "&lt;b&gt;" in fitted._repr_html_()
    assert fitted._repr_html_().startswith("<table>")


def test_a_run_that_is_too_short_says_so_and_what_to_do(posterior):
    tiny = complete(
        low_rank()[1], 2, sampling=Sampling(chains=4, anneal=2, settle=0, draws=8, thin=1), seed=1
    )
    assert not tiny.diagnostics.converged
    assert "too few" in tiny.diagnostics.advice
    assert "NOT converged" in repr(tiny)
    assert tiny.diagnostics.advice in repr(tiny)
    few = complete(low_rank()[1], 2, sampling=Sampling(chains=4, anneal=20, draws=2), seed=1)
    assert "Too few draws" in repr(few)
    enough = complete(low_rank(missing=0.2)[1], 1, seed=1)
    assert enough.diagnostics.converged
    assert "NOT converged" not in repr(enough)


def test_errors_are_ours(posterior):
    for ask in (
        lambda: posterior.arrays.interval(2),
        lambda: posterior.predict("no", "c0"),
        lambda: posterior.arrays.sample(0),
    ):
        with pytest.raises(MaxentryError):
            ask()


def test_a_printed_posterior_names_the_limits_that_a_scale_seems_to_have():
    rows, cols = np.linspace(0, 70, 8), np.linspace(0, 70, 6)
    table = np.clip(rows[:, None] + cols, 0, 100)
    table[-2:, -2:] = np.nan  # where the pattern of the others goes on beyond 100
    whole = complete(table, 0, seed=1, progress=False)
    assert "estimates lie beyond 0 to 100; if the scale ends there, say limits=(0, 100)" in repr(whole)
    assert "if the scale ends" not in repr(complete(2 * table, 0, seed=1, progress=False))
    known = complete(table, 0, seed=1, limits=(0, 100), progress=False)
    assert "if the scale ends" not in repr(known)
