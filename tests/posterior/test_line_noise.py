"""Columns, or rows, with a noise of their own: what it gains, what it costs, and that its law is right."""

import numpy as np
import pytest
from scipy.stats import kstest
from tests.posterior.examples import equal

from maxentry import Posterior, Priors, Sampling, complete
from maxentry.campaign.fits import _noise_variances
from maxentry.errors import ParameterError
from maxentry.estimators import fold_in_mean
from maxentry.model.likelihood import LINE_NU_VALUES, NoiseLaw
from maxentry.model.priors import InverseGamma
from maxentry.posterior import gibbs

PLAN = Sampling(chains=8, anneal=80, settle=80, draws=8, thin=5)


def unlike_columns(seed=0, shape=(60, 24), factor=10.0):
    """X, Y with every third column `factor` times as noisy as the others, and which entries are seen."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 1)) @ rng.normal(size=(1, shape[1])) + rng.normal(size=(shape[0], 1))
    sd = np.where(np.arange(shape[1]) % 3 == 0, 0.2 * factor, 0.2)
    return X, X + sd * rng.normal(size=shape), rng.random(shape) < 0.4, sd


def fit(Y, seen, noise, **options):
    options = {"sampling": PLAN, "seed": 0, "progress": False} | options
    return complete(np.where(seen, Y, np.nan), 1, noise=noise, **options)


@pytest.fixture(scope="module")
def both():
    X, Y, seen, sd = unlike_columns()
    return X, Y, seen, sd, {noise: fit(Y, seen, noise) for noise in ("gaussian", "columns")}


def test_quiet_columns_are_learnt_better_and_their_intervals_are_closer_to_theirs():
    """Four tables. The prior holds columns for less unlike than ten times, so that their noises are pulled together."""
    errors, covered = [], []
    for seed in range(4):
        X, Y, seen, sd = unlike_columns(seed)
        quiet = sd < 1
        fits = {noise: fit(Y, seen, noise) for noise in ("gaussian", "columns")}
        errors.append([np.sqrt(np.mean((p.mean - X)[:, quiet] ** 2)) for p in fits.values()])
        for p in fits.values():
            low, high = p.predictive_interval()
            inside = (low <= Y) & (high >= Y)
            covered.append([np.mean(inside[:, which][~seen[:, which]]) for which in (quiet, ~quiet)])
    one, own = np.mean(errors, axis=0)
    assert own < 0.6 * one
    one, own = np.reshape(covered, (4, 2, 2)).mean(axis=0)
    assert np.abs(own - 0.9).max() < 0.08
    assert one[0] > 0.97  # the control: one noise for all is too large for quiet columns ...
    assert one[1] < 0.77  # ... and too small for noisy ones


def test_the_noise_of_each_column_is_told(both):
    *_, sd, fits = both
    found = fits["columns"].noise_sds
    assert list(found) == list(range(24))
    assert np.abs(np.log(np.array(list(found.values())) / sd)).max() < 0.6
    assert "for a typical one of the columns" in repr(fits["columns"])
    assert fits["gaussian"].noise_sds == {}
    assert fits["columns"].noise_df is None


def test_chosen_entries_have_the_intervals_of_the_map(both):
    *_, fits = both
    p = fits["columns"]
    low, high = p.predictive_interval()
    chosen = p.predict([3, 4, 5], [0, 1, 2])
    at = [3, 4, 5], [0, 1, 2]
    assert np.allclose(chosen.new_low, low[at])
    assert np.allclose(chosen.new_high, high[at])


def test_rows_are_the_columns_of_the_turned_table(both):
    _, Y, seen, sd, fits = both
    turned = fit(Y.T, seen.T, "rows")
    found = np.array(list(turned.noise_sds.values()))
    assert np.allclose(found, list(fits["columns"].noise_sds.values()), rtol=0.4)
    low, high = turned.predictive_interval()
    widths = np.median(high - low, axis=1)
    assert widths[sd > 1].min() > 2 * widths[sd < 1].max()


def test_equal_noises_are_found_equal():
    X, Y, seen, _ = unlike_columns(seed=1, factor=1.0)
    one, own = (fit(Y, seen, noise) for noise in ("gaussian", "columns"))
    widths = [np.median(np.subtract(*p.predictive_interval()[::-1])) for p in (one, own)]
    assert widths[1] == pytest.approx(widths[0], rel=0.2)
    assert np.ptp(np.log(list(own.noise_sds.values()))) < 0.4
    errors = [np.sqrt(np.mean((p.mean - X) ** 2)) for p in (one, own)]
    assert errors[1] < 1.1 * errors[0]


def test_it_is_saved_stored_continued_and_started_from(both, tmp_path):
    _, Y, seen, _, fits = both
    p = fits["columns"]
    p.save(tmp_path / "p.npz")
    again = Posterior.load(tmp_path / "p.npz")
    assert equal(p, again)
    assert again.noise_sds == p.noise_sds
    stored = fit(Y, seen, "columns", store=tmp_path / "fit")
    assert equal(p, stored)
    assert Posterior.load(tmp_path / "fit").noise_sds == p.noise_sds
    assert equal(p.more(2), again.more(2))
    more = seen.copy()
    more[:3] = True
    warm = fit(Y, more, "columns", start=again)
    assert np.allclose(np.log(list(warm.noise_sds.values())), np.log(list(p.noise_sds.values())), atol=0.7)
    assert fit(Y, more, "gaussian", start=again).fit.noise == "gaussian"
    with pytest.raises(ParameterError, match="start= was fitted with noise='columns'"):
        fit(Y, more, "student", start=again)
    with pytest.raises(
        ParameterError, match="noise must be 'auto', 'gaussian', 'student', 'columns' or 'rows'"
    ):
        fit(Y, seen, "lines")


def test_a_new_row_trusts_quiet_columns(both):
    """A value that is wrong by 2 moves the rest of a new row much less in a noisy column than in a quiet one."""
    X, *_, fits = both
    row = X[:1, :6].copy()
    Y = np.full((3, 24), np.nan)
    Y[:, :6] = row
    Y[1, 3] += 2.0  # noisy
    Y[2, 4] += 2.0  # quiet
    right, noisy, quiet = fold_in_mean(fits["columns"], Y)[:, 6:]
    assert np.abs(noisy - right).max() < 0.3 * np.abs(quiet - right).max()


def test_threads_do_not_change_the_draws():
    _, Y, seen, _ = unlike_columns(shape=(20, 12))
    one, two = (fit(Y, seen, "columns", threads=threads) for threads in (1, 2))
    assert equal(one, two)


def test_a_law_without_lines_has_a_spread_of_one():
    law = NoiseLaw(np.ones(3), None)
    assert law.spread_at(np.arange(2), np.arange(2)).shape == (1, 1)
    assert law.spread_at(slice(0, 2), slice(0, 2)).shape == (1, 1, 1)
    lines = law._replace(spread=np.arange(12.0).reshape(3, 4), by_row=True)
    assert lines.spread_at(slice(1, 3), slice(0, 5)).shape == (3, 2, 1)
    assert np.array_equal(lines.spread_at(np.array([1, 1]), np.array([7, 8]))[0], [1.0, 1.0])


PRIORS = Priors(
    InverseGamma(5.0, 0.4), InverseGamma(6.0, 5.0), InverseGamma(5.0, 2.0), InverseGamma(6.0, 1.0), 0.5
)


def rank_of_truth(seed, noise):
    """Places of the truth among the draws: an entry, eta2, the noise of a column with values and of one without."""
    rng = np.random.default_rng([seed, 5])
    m1, m2 = 8, 6
    sigma2, eta2, tau2_row, tau2_col = (
        law.scale / rng.standard_gamma(law.shape)
        for law in (PRIORS.signal, PRIORS.noise, PRIORS.rows, PRIORS.cols)
    )
    mu = np.sqrt(PRIORS.mu_var) * rng.normal()
    u, v = (a / np.linalg.norm(a) for a in (rng.normal(size=m1), rng.normal(size=m2)))
    s2 = [law.scale * m / rng.standard_gamma(law.shape) for law, m in ((PRIORS.rows, m1), (PRIORS.cols, m2))]
    r = np.sqrt(tau2_row) * rng.normal(size=m1) + u * np.sqrt(s2[0]) * rng.normal()
    c = np.sqrt(tau2_col) * rng.normal(size=m2) + v * np.sqrt(s2[1]) * rng.normal()
    X = mu + r[:, None] + c + np.sqrt(sigma2) * rng.normal() * np.outer(u, v)
    nu = rng.choice(gibbs.LINE_NU_GRID)
    w = rng.gamma(nu / 2, 2 / nu, m2)
    Y = X + np.sqrt(eta2 / w) * rng.normal(size=(m1, m2))
    seen = rng.random((m1, m2)) < 0.7
    seen[:, 5] = False
    plan = Sampling("long", chains=1, anneal=0, settle=300, draws=60, thin=8)
    p = complete(
        np.where(seen, Y, np.nan), 1, noise=noise, priors=PRIORS, sampling=plan, seed=seed, progress=False, threads=1
    )  # fmt: skip
    law = p.noise_law
    var = law.var[:, None] * (law.spread**2 if law.spread is not None else np.ones((1, m2)))
    draws = [p.belief.at([0], [0])[:, 0], p.draws.eta2.ravel(), var[:, 0], var[:, 5]]
    truth = [X[0, 0], eta2, eta2 / w[0], eta2 / w[5]]
    return [np.mean(d < t) for d, t in zip(draws, truth, strict=True)]


@pytest.mark.slow
def test_truths_fall_anywhere_among_the_draws(monkeypatch):
    """Simulation-based calibration; the control takes one noise for all."""
    monkeypatch.setattr(gibbs, "LINE_NU_GRID", np.array([2.0, 4.0, 10.0, 40.0, 200.0]))
    right = np.array([rank_of_truth(seed, "columns") for seed in range(200)])
    assert min(kstest(column, "uniform").pvalue for column in right.T) > 0.002
    wrong = np.array([rank_of_truth(seed, "gaussian") for seed in range(200)])
    assert min(kstest(column, "uniform").pvalue for column in wrong.T) < 1e-4


def test_the_grid_reaches_equal_noises():
    assert min(LINE_NU_VALUES) == 10
    assert np.sqrt(2 / max(LINE_NU_VALUES)) < 0.015


def test_the_expected_error_of_a_campaign_counts_the_noise_of_all_columns(both):
    *_, sd, fits = both
    assert np.mean(_noise_variances(fits["columns"])) == pytest.approx(np.mean(sd**2), rel=0.4)
    assert np.array_equal(_noise_variances(fits["gaussian"]), fits["gaussian"].belief.noise_var)
