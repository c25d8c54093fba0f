import numpy as np
import pytest
from tests.reference import fold_in_slow

import maxentry
from maxentry import Posterior, Priors, Sampling
from maxentry.errors import DataError
from maxentry.posterior import fold_in as module
from maxentry.posterior.fold_in import ColumnDraw, ObservedRows, coefficients, fold_in, fold_in_mean

QUICK = Sampling(chains=3, anneal=20, settle=10, draws=4, thin=1)
PROPER = Sampling(chains=12, anneal=150, settle=80, draws=12, thin=5)


def rank_two(m1, m2, observed, seed, noise=0.1):
    """Rows and columns with means, a rank-2 part, and noisy observations of a random part."""
    rng = np.random.default_rng(seed)
    X = 3 + rng.standard_normal((m1, 1)) + rng.standard_normal(m2)
    X += rng.standard_normal((m1, 2)) @ rng.standard_normal((2, m2))
    Y = X + noise * rng.standard_normal(X.shape)
    Y[rng.random(X.shape) > observed] = np.nan
    return X, Y


def some_new_rows(m2):
    """A full row, an empty one, and some in between."""
    _, Y = rank_two(4, m2, 0.5, 7)
    Y[0] = np.arange(m2)
    Y[1] = np.nan
    return Y


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 2},
        {"rank": 0},
        {"rank": 2, "effects": False},
        {"rank": 2, "noise": "student"},
        {"rank": 2, "priors": Priors.paper()},
        {"rank": 2, "dtype": np.float32},
    ],
    ids=str,
)
def test_agrees_with_conditioning_of_every_draw(options):
    _, Y = rank_two(14, 9, 0.7, 0)
    posterior = maxentry.complete(Y, sampling=QUICK, seed=1, **options)
    new = some_new_rows(9)
    mean, sd = fold_in(posterior, new)
    slow_mean, slow_sd = fold_in_slow.fold_in(posterior, new)
    np.testing.assert_allclose(mean, slow_mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sd, slow_sd, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(fold_in_mean(posterior, new), mean, rtol=1e-12)


def test_stacked_ranks_are_each_taken_at_their_own():
    _, Y = rank_two(20, 8, 0.5, 0, noise=1.0)
    posterior = maxentry.complete(
        Y, seed=3, sampling=Sampling(chains=8, anneal=20, settle=10, draws=2, thin=1)
    )
    assert len(posterior.rank_weights) > 1
    new = some_new_rows(8)
    slow_mean, slow_sd = fold_in_slow.fold_in(posterior, new)
    np.testing.assert_allclose(fold_in(posterior, new), (slow_mean, slow_sd), rtol=1e-7, atol=1e-8)


def test_does_not_depend_on_the_gauge_nor_on_the_rows_beside(monkeypatch):
    _, Y = rank_two(14, 9, 0.7, 0)
    posterior = maxentry.complete(Y, 2, sampling=QUICK, seed=1)
    new = some_new_rows(9)
    T = np.array([[2.0, 0.3], [-1.0, 0.5]])
    turned = posterior.draws._replace(
        left=posterior.draws.left @ T, right=posterior.draws.right @ np.linalg.inv(T).T
    )
    other = Posterior(posterior.observations, posterior.fit, QUICK, posterior.chains, turned)
    whole = fold_in(posterior, new)
    np.testing.assert_allclose(fold_in(other, new), whole, rtol=1e-9)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 1)  # a row at a time
    np.testing.assert_allclose(fold_in(posterior, new), whole, rtol=1e-12)
    np.testing.assert_allclose(fold_in_mean(posterior, new), whole.mean, rtol=1e-12)


def test_rows_of_the_fit_come_back_as_the_posterior_has_them():
    _, Y = rank_two(50, 30, 0.4, 0)
    posterior = maxentry.complete(Y, 2, sampling=PROPER, seed=1)
    folded = fold_in(posterior, Y)
    # Both estimate the posterior mean; the plain one has variance sd^2 / S or, correlated, a few times that.
    S = PROPER.chains * PROPER.draws
    unit = posterior.sd**2 / S

    def excess(mean):
        return float(np.median((mean - posterior.mean) ** 2 / unit))

    assert excess(folded.mean) < 4
    assert excess(fold_in_mean(posterior, np.roll(Y, 1, axis=0))) > 40
    assert excess(fold_in_mean(posterior, np.full_like(Y, np.nan))) > 40
    # The sds are of S draws each, with relative error about 1/sqrt(2 S).
    assert abs(np.median(folded.sd / posterior.sd) - 1) < 3 / np.sqrt(2 * S)


def test_a_new_row_comes_out_as_if_refitted_with_it():
    X, Y = rank_two(60, 30, 0.4, 1)
    old, new = slice(0, 50), slice(50, 60)
    folded = fold_in(maxentry.complete(Y[old], 2, sampling=PROPER, seed=1), Y[new])
    refit = maxentry.complete(Y, 2, sampling=PROPER, seed=2)
    missing = np.isnan(Y[new])
    column_means = np.broadcast_to(np.nanmean(Y[old], axis=0), missing.shape)

    def rms(error):
        return float(np.sqrt(np.mean(error[missing] ** 2)))

    # E (E[x|y] - E[x|y, more])^2 = Var(x|y) - E Var(x|y, more): less than the variance fold-in states.
    assert rms((folded.mean - refit.mean[new]) / folded.sd) < 1
    assert rms((column_means - refit.mean[new]) / folded.sd) > 5
    assert rms(folded.mean - X[new]) < 0.2 * rms(column_means - X[new])


@pytest.mark.slow
def test_intervals_of_new_rows_cover():
    """Cover 90% of new rows' missing entries, within the error of independent matrices; half the sd does not."""
    covered = []
    for seed in range(24):
        # noise well above what the weak prior of its variance adds, or all intervals would be too wide
        X, Y = rank_two(70, 12, 0.6, 100 + seed, noise=0.5)
        posterior = maxentry.complete(Y[:40], 2, sampling=PROPER, seed=seed)
        mean, sd = fold_in(posterior, Y[40:])
        z = (np.abs(X[40:] - mean) / sd)[np.isnan(Y[40:])]
        covered.append([np.mean(z < 1.645), np.mean(z < 1.645 / 2)])
    share, error = np.mean(covered, axis=0), np.std(covered, axis=0, ddof=1) / np.sqrt(len(covered))
    honest, halved = np.abs(share - 0.9) < 3 * error
    assert honest, (share, error)
    assert not halved


def gibbs(columns, y, sweeps, rng):
    """The mean of a new row given columns and Student noise, by simulation."""
    seen = ~np.isnan(y)
    f, t, total = columns.F[seen], (y - columns.offset)[seen], 0
    w = np.ones(t.size)
    for sweep in range(sweeps):
        C = np.linalg.inv(columns.Q + (f.T * w) @ f / columns.eta2)
        g = rng.multivariate_normal(C @ f.T @ (w * t) / columns.eta2, C)
        e2 = (t - f @ g) ** 2 / columns.eta2
        w = rng.gamma((columns.nu + 1) / 2, 2 / (columns.nu + e2))
        if sweep >= sweeps // 10:
            total = total + g
    return columns.offset + columns.F @ (total / (sweeps - sweeps // 10))


def row_with_an_outlier(rng):
    columns = ColumnDraw(rng.standard_normal((15, 3)), rng.standard_normal(15), np.eye(3), 0.04, 3.0)
    y = columns.offset + columns.F @ rng.standard_normal(3) + 0.2 * rng.standard_t(3, 15)
    y[[2, 8]] = np.nan
    y[5] += 8
    return columns, y


def test_student_noise_withstands_an_outlier():
    """The mean-field mean is near the exact one, in its own sds, and taking the noise for Gaussian is not."""
    distances = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        columns, y = row_with_an_outlier(rng)
        exact = gibbs(columns, y, 1500, rng)
        G, cov = coefficients(columns, ObservedRows.from_array(y[None]))
        gaussian, _ = coefficients(columns._replace(nu=None), ObservedRows.from_array(y[None]))
        sd = np.sqrt(np.einsum("ja,ab,jb->j", columns.F, cov[0], columns.F))
        means = (columns.offset + columns.F @ g for g in (G[0], gaussian[0]))
        distances.append([np.abs((mean - exact) / sd).max() for mean in means])
    student, gaussian = np.median(distances, axis=0)
    assert student < 0.5
    assert gaussian > 2


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (np.zeros((2, 8)), r"n x 9, got shape \(2, 8\)"),
        (np.zeros(9), r"n x 9, got shape \(9,\)"),
        ([[np.inf, *[0.0] * 8]], "got inf at row 0, column 0"),
        ([["a", *[0.0] * 8]], "got 'a' .* at row 0, column 0"),
    ],
)
def test_refuses_what_is_no_row(new, message):
    _, Y = rank_two(14, 9, 0.7, 0)
    posterior = maxentry.complete(Y, 1, sampling=QUICK, seed=1)
    with pytest.raises(DataError, match=message):
        fold_in(posterior, new)
