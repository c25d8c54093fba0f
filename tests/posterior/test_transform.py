"""A posterior on a transformed scale answers in the user's units: every answer is the mapped draws'."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.posterior.examples import SHORT, equal, low_rank, matrices
from tests.reference.transform_slow import inverse_slow

from maxentry import Posterior, complete
from maxentry.errors import DataError, ParameterError
from maxentry.estimators import fold_in, fold_in_mean
from maxentry.model.likelihood import COPIES
from maxentry.transform import NONE, Transform

ROWS, COLS = [f"r{i}" for i in range(12)], [f"c{j}" for j in range(9)]
SCALES = [Transform("log"), Transform("logit"), Transform("logit", 0, 100)]
Z = low_rank(noise=0.3)[1]


def fitted_on(scale, **options):
    values = pd.DataFrame(scale.inverse(Z), ROWS, COLS)
    return complete(values, 2, transform=str(scale), sampling=SHORT, seed=1, **options)


@pytest.fixture(scope="module", params=SCALES, ids=str)
def posterior(request):
    return fitted_on(request.param)


def mapped_draws(posterior):
    """Every draw in the user's units, (draw, m1, m2), number by number."""
    z = matrices(posterior).reshape(-1, *posterior.shape)
    return np.vectorize(lambda x: inverse_slow(posterior.transform, float(x)))(z)


def test_the_model_is_that_of_the_transformed_values(posterior):
    back = posterior.transform.forward(posterior.observations.values)
    z = Z.copy()
    z[~np.isnan(Z)] = back  # the logarithms themselves, so that the draws agree bit for bit
    assert equal(posterior, complete(pd.DataFrame(z, ROWS, COLS), 2, sampling=SHORT, seed=1))
    np.testing.assert_allclose(posterior.observations.values, posterior.transform.inverse(Z[~np.isnan(Z)]))
    assert posterior.noise_sd == np.sqrt(posterior.draws.eta2).mean()


def test_maps_are_the_moments_and_quantiles_of_the_mapped_draws(posterior):
    y = mapped_draws(posterior)
    np.testing.assert_allclose(posterior.arrays.mean, y.mean(0), rtol=1e-10)
    np.testing.assert_allclose(posterior.arrays.sd, y.std(0, ddof=1), rtol=1e-9)
    low, high = posterior.arrays.interval(0.8)
    z = matrices(posterior).reshape(-1, *posterior.shape)
    for found, q in ((low, 0.1), (high, 0.9)):
        expected = posterior.transform.inverse(np.quantile(z, q, axis=0, method="weibull"))
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    # The control: by Jensen, the mean on the scale is not the mean in the user's units.
    jensen = posterior.transform.inverse(posterior.belief.mean())
    assert (abs(posterior.arrays.mean - jensen) > 1e-6 * jensen).mean() > 0.9


def test_new_measurements_have_noise_on_the_scale(posterior):
    low, high = posterior.arrays.predictive_interval(0.5)
    extra = posterior.answers.law.stratified()
    z = matrices(posterior).reshape(-1, *posterior.shape)
    noisy = (z[None] + extra[:, :, None, None]).reshape(COPIES * len(z), *posterior.shape)
    for found, q in ((low, 0.25), (high, 0.75)):
        expected = posterior.transform.inverse(np.quantile(noisy, q, axis=0, method="weibull"))
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    inner = posterior.arrays.interval(0.5)
    assert np.median((high - low) / (inner[1] - inner[0])) > 1.2


def test_everything_lies_in_the_domain(posterior):
    x = posterior.arrays.sample(5, seed=0)
    ends = posterior.arrays.interval(0.999) + posterior.arrays.predictive_interval(0.999)
    for array in (posterior.arrays.mean, *ends, x):
        assert posterior.transform.inside(array).all()
    y = mapped_draws(posterior)
    assert all(np.isclose(y, draw, rtol=1e-12).all(axis=(1, 2)).any() for draw in x)


def test_predictions_by_label_and_frames_are_the_maps(posterior):
    found = posterior.predict(["r3", "r0"], ["c8", "c1"], level=0.8)
    at = ([3, 0], [8, 1])
    low, high = posterior.arrays.interval(0.8)
    new_low, new_high = posterior.arrays.predictive_interval(0.8)
    arrays = posterior.arrays
    maps = dict(mean=arrays.mean, sd=arrays.sd, low=low, high=high, new_low=new_low, new_high=new_high)
    for name, of_all in maps.items():
        np.testing.assert_allclose(getattr(found, name), of_all[at], rtol=1e-10, err_msg=name)
    long = posterior.to_frame(level=0.8)
    np.testing.assert_array_equal(long["mean"], posterior.arrays.mean.ravel())
    np.testing.assert_array_equal(long["high"], high.ravel())
    np.testing.assert_array_equal(posterior.to_frame("wide", "sd"), posterior.arrays.sd)


def test_arviz_has_entries_in_the_users_units_and_the_rest_on_the_scale(posterior):
    import arviz  # here: it takes seconds to load

    data = posterior.to_arviz().posterior
    label = str(data["X_unobserved"].coords["X_unobserved_of"].values[0])
    i, j = label.removeprefix("X[").removesuffix("]").split(", ")
    y = mapped_draws(posterior).reshape(*posterior.draws.mu.shape, *posterior.shape)
    found = data["X_unobserved"].values[..., 0]
    np.testing.assert_allclose(found, y[:, :, ROWS.index(i), COLS.index(j)])
    np.testing.assert_array_equal(data["eta2"].values, posterior.draws.eta2)
    assert np.isfinite(arviz.rhat(posterior.to_arviz())["X_observed"].values).all()


def test_words_name_the_scale(posterior):
    text = repr(posterior)
    assert f"transform: {posterior.transform};" in text
    assert f"{posterior.noise_sd:.4g}, on the {posterior.transform} scale" in text
    assert "transform" not in repr(complete(Z, 2, sampling=SHORT, seed=1))


def test_it_comes_back_from_its_file_and_goes_on(posterior, tmp_path):
    posterior.save(tmp_path / "fit.npz")
    loaded = Posterior.load(tmp_path / "fit.npz")
    assert loaded.fit == posterior.fit
    assert loaded.transform == posterior.transform
    pd.testing.assert_frame_equal(loaded.to_frame(), posterior.to_frame())
    more = posterior.more(2)
    assert equal(loaded.more(2), more)
    assert more.transform == posterior.transform


def test_single_precision_is_mapped_in_double():
    fitted = fitted_on(Transform("log"), dtype=np.float32)
    assert fitted.arrays.mean.dtype == fitted.arrays.sample(1).dtype == np.float64
    np.testing.assert_allclose(fitted.arrays.mean, fitted_on(Transform("log")).mean, rtol=1e-5)


def test_no_transform_changes_nothing():
    plain, none = (complete(Z, 2, sampling=SHORT, seed=1, **o) for o in ({}, {"transform": "none"}))
    assert plain.transform == NONE
    assert equal(plain, none)
    np.testing.assert_array_equal(plain.mean, none.mean)


def test_the_rank_is_chosen_on_the_scale_of_the_model(monkeypatch):
    monkeypatch.setattr("maxentry.posterior.schedule.WORK", 1e6)
    y = np.exp(Z)
    one = complete(y, transform="log", sampling=SHORT, seed=1)
    other = complete(np.log(y), sampling=SHORT, seed=1)
    assert one.rank_choice.__dict__ == other.rank_choice.__dict__
    assert equal(one, other)


# Warm starts


def test_a_warm_start_goes_on_on_the_same_scale(posterior):
    frame = pd.DataFrame(posterior.transform.inverse(Z), ROWS, COLS)
    warm = complete(frame, start=posterior, transform=posterior.transform, sampling=SHORT, seed=3)
    assert warm.fit == posterior.fit
    assert posterior.transform.inside(warm.arrays.mean).all()


@pytest.mark.parametrize("other", ["none", "logit(0, 1000)"])
def test_another_scale_than_that_of_the_start_is_refused(posterior, other):
    frame = pd.DataFrame(posterior.transform.inverse(Z), ROWS, COLS)
    with pytest.raises(ParameterError, match=r"start= was fitted with transform="):
        complete(frame, start=posterior, transform=other, sampling=SHORT)


# What is refused


def test_values_off_the_scale_are_named_by_label():
    frame = pd.DataFrame(np.exp(Z), ROWS, COLS)
    frame.loc["r4", "c3"] = -0.5
    with pytest.raises(DataError, match=r"positive.*got -0\.5 at row 'r4', column 'c3'"):
        complete(frame, 1, transform="log")
    with pytest.raises(DataError, match="below 1 for the logit scale"):
        complete(frame, 1, transform="logit")
    with pytest.raises(ParameterError, match="transform must be"):
        complete(frame, 1, transform="cube")


def test_new_rows_are_answered_in_the_units_of_the_data(posterior):
    """The draws are those of the transformed values, and answers are these mapped back."""
    back = posterior.transform.forward(posterior.observations.values)
    z, told = Z.copy(), np.full((1, 9), np.nan)
    z[~np.isnan(Z)] = back
    on_scale = told.copy()
    told[0, [1, 4, 7]], on_scale[0, [1, 4, 7]] = posterior.observations.values[:3], back[:3]
    plain = complete(z, 2, sampling=SHORT, seed=1)
    new, on_scale = posterior.rows(told), plain.rows(on_scale)
    for mine, theirs in zip(
        (new.belief.left, new.belief.row), (on_scale.belief.left, on_scale.belief.row), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
    draws = np.stack([posterior.transform.inverse(new.belief.draw(s)) for s in range(new.belief.n_draws)])
    np.testing.assert_allclose(new.arrays.mean, draws.mean(0))
    mean, sd = fold_in(posterior, told)
    np.testing.assert_allclose(fold_in_mean(posterior, told), mean)
    assert posterior.transform.inside(mean).all()
    assert (sd > 0).all()
    with pytest.raises(DataError, match="for the log"):
        posterior.rows({COLS[0]: -0.5})


# Files written before there were transforms


OLD = Path(__file__).parent / "format_1.npz"


def test_a_file_without_transform_still_loads():
    with np.load(OLD) as file:
        meta = json.loads(str(file["meta"]))
    assert meta["maxentry_posterior"] == 1
    assert "transform" not in meta["fit"]
    old = Posterior.load(OLD)
    assert old.transform == NONE
    assert old.predict("a", "v").mean == pytest.approx(2.53388137)
    assert old.more(1).draws.mu.shape == (2, 4)
