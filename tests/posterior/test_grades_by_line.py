"""Grades whose rows, or columns, have a noise of their own: everything that is said of them knows it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import maxentry
from maxentry.errors import ParameterError
from maxentry.posterior.chains import Sampling

SHORT = Sampling(chains=2, anneal=40, settle=40, draws=20, thin=1)
OPTIONS = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "seed": 1, "progress": False}


def table(seed=0, shape=(40, 30), part=0.6):
    """Grades of rows of which every second one is noisy: (grades with NaN, latent values, their noise)."""
    rng = np.random.default_rng(seed)
    sd = np.where(np.arange(shape[0]) % 2, 0.2, 1.6)
    x = 3 + rng.normal(0, 0.6, shape[0])[:, None] + rng.normal(0, 0.6, shape[1])
    z = x + sd[:, None] * rng.standard_normal(shape)
    Y = 1.0 + (z[:, :, None] > np.array([1.5, 2.4, 3.4, 4.5])).sum(2)
    return np.where(rng.random(shape) < part, Y, np.nan), x, sd


def fit(Y, noise="rows", **more):
    return maxentry.complete(Y, 1, noise=noise, sampling=SHORT, **OPTIONS | more)


@pytest.fixture(scope="module")
def posterior():
    return fit(table()[0])


def test_noisy_rows_are_told_from_the_others(posterior):
    sds = np.array(list(posterior.noise_sds.values()))
    assert sds[::2].min() > sds[1::2].max()
    assert "of the rows" in str(posterior)


@pytest.mark.parametrize("noise", ["rows", "columns"])
def test_probabilities_are_those_of_a_slow_twin_everywhere(noise):
    Y, _, _ = table()
    p = fit(Y, noise)
    d, (m1, m2) = p.draws, Y.shape
    flat = [np.asarray(a).reshape(-1, *a.shape[2:]) for a in (d.left, d.right, d.row, d.col, d.mu, d.eta2)]
    cuts, spread = d.cuts.reshape(-1, 4), d.spread.reshape(-1, m1 if noise == "rows" else m2)
    assert spread.std(axis=1).max() > 0.1
    mean = np.zeros((5, m1, m2))
    for s, (left, right, row, col, mu, eta2) in enumerate(zip(*flat, strict=True)):
        x = mu + row[:, None] + col + left @ right.T
        sd = np.sqrt(eta2) * (spread[s][:, None] if noise == "rows" else spread[s][None, :])
        above = [np.ones_like(x), *(ndtr((x - c) / sd) for c in cuts[s]), np.zeros_like(x)]
        mean += np.array([above[k] - above[k + 1] for k in range(5)]) / len(cuts)
    np.testing.assert_allclose(p.probabilities(), mean, atol=1e-12)
    i, j = np.array([0, 7, 31]), np.array([3, 29, 0])
    np.testing.assert_allclose(p.probabilities(i, j), mean[:, i, j], atol=1e-12)
    expected = np.einsum("k,kij->ij", np.arange(1, 6), mean)
    np.testing.assert_allclose(p.mean, expected, atol=1e-10)
    np.testing.assert_allclose(p.predict(i, j).mean, expected[i, j], atol=1e-10)
    low, high = p.interval(0.9)
    assert ((low <= p.mean) & (p.mean <= high)).mean() > 0.99


def test_it_predicts_held_out_grades_better_than_one_noise_for_all():
    Y, _, _ = table(part=1.0)
    held = np.random.default_rng(1).random(Y.shape) < 0.3
    some = np.where(held, np.nan, Y)
    k = Y[held].astype(int) - 1
    own, one = (fit(some, noise).probabilities()[:, held] for noise in ("rows", "gaussian"))
    losses = [-np.log(p[k, np.arange(k.size)]) for p in (own, one)]
    gain = losses[1] - losses[0]
    assert gain.mean() > 4 * gain.std() / np.sqrt(gain.size)


def test_threads_storage_and_files_keep_the_draws(posterior, tmp_path):
    Y = table()[0]
    shared = fit(Y, threads=2)
    assert np.array_equal(shared.draws.spread, posterior.draws.spread)
    mapped = fit(Y, store=tmp_path / "store")
    assert np.array_equal(mapped.draws.spread, posterior.draws.spread)
    posterior.save(tmp_path / "fit.npz")
    loaded = maxentry.Posterior.load(tmp_path / "fit.npz")
    assert np.array_equal(loaded.probabilities(), posterior.probabilities())
    later = maxentry.complete(Y, start=loaded, progress=False, **WITHOUT_RANK)
    assert np.corrcoef([*later.noise_sds.values()], [*posterior.noise_sds.values()])[0, 1] > 0.9


WITHOUT_RANK = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "seed": 2, "noise": "rows"}


def test_a_warm_start_takes_new_rows(posterior):
    Y, _, _ = table()
    more = np.vstack([Y, table(seed=5)[0][:3]])
    later = maxentry.complete(more, start=posterior, progress=False, **WITHOUT_RANK)
    assert len(later.noise_sds) == 43
    assert later.draws.spread.shape[-1] == 43


def test_watched_entries_know_the_noise_of_their_rows():
    Y, _, _ = table()
    watched = ([0, 1, 2], [5, 6, 7])
    p = fit(Y, watch=watched)
    few = p.predict(*map(np.array, watched))
    assert np.abs(p.watched.mean - few.mean).max() < 4 * p.watched.mcse.max() + 1e-9


def test_new_rows_and_features_go_with_it(posterior):
    high, low = (
        posterior.rows(pd.DataFrame([{0: grade, 3: grade, 9: grade}], index=["new"])) for grade in (5.0, 1.0)
    )
    assert high.predict("new", 1).mean > low.predict("new", 1).mean + 0.5
    assert high.ask(3)["gain"].min() > 0
    Y = table()[0]
    p = fit(Y, row_features=np.random.default_rng(0).normal(size=(40, 2)))
    sds = np.array(list(p.noise_sds.values()))
    assert np.median(sds[::2]) > 1.5 * np.median(sds[1::2])


def test_refusals_say_what_is_for_what():
    Y = table()[0]
    with pytest.raises(ParameterError, match="noise is for kind='numbers', got noise='student'"):
        fit(Y, "student")
    with pytest.raises(ParameterError, match="noise is for kind='numbers' or 'grades'"):
        maxentry.complete(np.where(Y > 3, 1.0, 0.0), 1, kind="yes/no", noise="rows", progress=False)
