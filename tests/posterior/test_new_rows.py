from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from scipy.stats import truncnorm
from tests.reference import new_rows_slow

import maxentry
from maxentry import Observations, Posterior, Priors, Sampling
from maxentry import estimators as estimating
from maxentry.errors import DataError, LabelError, ParameterError
from maxentry.estimators import fold_in, fold_in_mean
from maxentry.kernels import ridge as kernel
from maxentry.model.likelihood import NoiseLaw
from maxentry.posterior import new_rows as module
from maxentry.posterior.gibbs import Repeats, gather

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


OPTIONS = [
    {"rank": 2},
    {"rank": 0},
    {"rank": 2, "effects": False},
    {"rank": 2, "priors": Priors.paper()},
    {"rank": 2, "dtype": np.float32},
    {"rank": 2, "noise": "columns"},
]


def laws_by_draw(posterior, new):
    """Mean (S, n, m2), covariance of the entries (S, n, m2, m2) and evidence (S, n), by the kernel alone."""
    columns = posterior.columns
    S, K, n = len(columns.Q), columns.Q.shape[1], len(new)
    rows, cols = np.nonzero(~np.isnan(new))
    told = Observations.from_triples(rows, cols, new[rows, cols], (max(2, n), new.shape[1]))
    repeats = gather(posterior.likelihood, posterior.fit.statements(told))
    starts = np.searchsorted(rows, np.arange(n + 1))
    F = np.ones((S, new.shape[1], K))
    F[..., : columns.right.shape[2]] = columns.right
    cov = np.zeros((S, n, new.shape[1], new.shape[1]))
    for k in range(K):  # draws are linear in the normals
        Z = np.zeros((n, S, K))
        Z[..., k] = 1.0
        parts = [np.empty((n, S, K)), np.empty((n, S, K)), np.empty((n, S))]
        kernel.draw_coefficients(
            np.arange(S), starts, cols.astype(np.int32), told.values[None], module._noise_variances(posterior, repeats),
            columns.right, columns.offset, columns.Q, columns.effects, Z, *parts,
        )  # fmt: skip
        centre, G, evidence = parts
        step = np.einsum("smk,nsk->snm", F, G - centre)
        cov += step[..., :, None] * step[..., None, :]
    mean = columns.offset[:, None] + np.einsum("smk,nsk->snm", F, centre)
    return mean, cov, (evidence + 0.5 * columns.log_det).T


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_agrees_with_conditioning_of_every_draw(options):
    _, Y = rank_two(14, 9, 0.7, 0)
    posterior = maxentry.complete(Y, sampling=QUICK, seed=1, **options)
    new = some_new_rows(9)
    mean, cov, evidence = laws_by_draw(posterior, new)
    slow = new_rows_slow.laws(posterior, new)
    np.testing.assert_allclose(mean, [[law.mean for law in draw] for draw in slow], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(cov, [[law.cov for law in draw] for draw in slow], rtol=1e-7, atol=1e-8)
    n = (~np.isnan(new)).sum(1)
    expected = np.array([[law.log_density for law in draw] for draw in slow]) + 0.5 * n * np.log(2 * np.pi)
    np.testing.assert_allclose(evidence, expected, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(fold_in_mean(posterior, new), mean.mean(0), rtol=1e-8, atol=1e-8)


def test_stacked_ranks_are_each_taken_at_their_own():
    _, Y = rank_two(20, 8, 0.5, 0, noise=1.0)
    posterior = maxentry.complete(
        Y, seed=3, sampling=Sampling(chains=8, anneal=20, settle=10, draws=2, thin=1)
    )
    assert len(posterior.rank_weights) > 1
    new = some_new_rows(8)
    slow = new_rows_slow.laws(posterior, new)
    mean = np.mean([[law.mean for law in draw] for draw in slow], axis=0)
    np.testing.assert_allclose(fold_in_mean(posterior, new), mean, rtol=1e-7, atol=1e-8)


def test_draws_have_the_moments_of_the_mixture():
    _, Y = rank_two(101, 9, 0.7, 0, noise=0.5)
    posterior = maxentry.complete(Y[:100], 2, sampling=PROPER, seed=1)
    new, S = Y[100:], posterior.draws.mu.size
    (mean,), (cov,), (evidence,) = (part.swapaxes(0, 1) for part in laws_by_draw(posterior, new))
    rows = posterior.rows(new)
    w = np.exp(evidence - evidence.max())
    w /= w.sum()
    assert rows.effective == pytest.approx(1 / (S * (w @ w)))
    assert rows.effective > module.LEAST_EFFECTIVE  # or the weights below would be others
    centre = w @ mean
    variance = w @ np.diagonal(cov, axis1=1, axis2=2) + w @ (mean - centre) ** 2
    # Resampling at even steps errs by less than independent draws would, which have variance / S.
    apart = np.abs(rows.mean[0] - centre), np.abs(mean.mean(0) - centre)
    assert (apart[0] < 2 * np.sqrt((w @ (mean - centre) ** 2) / S)).all()
    assert apart[0].mean() < 0.5 * apart[1].mean()  # than without weights
    np.testing.assert_allclose(rows.sd[0], np.sqrt(variance), rtol=5 / np.sqrt(2 * S))


def test_weights_choose_draws_and_are_tempered():
    rng = np.random.default_rng(0)
    log_weight = rng.standard_normal(500)
    w = np.exp(log_weight) / np.exp(log_weight).sum()
    which, effective = module._resample(0.3 * log_weight - 700.0, rng)
    w3 = w**0.3 / (w**0.3).sum()
    assert np.abs(np.bincount(which, minlength=500) - 500 * w3).max() < 1
    assert effective == pytest.approx(1 / (500 * (w3 @ w3)))
    which, effective = module._resample(20 * log_weight, rng)
    assert effective < 0.05
    counts = np.bincount(which, minlength=500)
    left = counts.sum() ** 2 / (counts @ counts) / 500
    assert 0.4 < left < 0.55  # rounding to whole counts takes some
    assert np.corrcoef(counts, np.exp(0.5 * log_weight))[0, 1] > 0.8


def test_does_not_depend_on_the_gauge_nor_on_the_rows_beside(monkeypatch):
    _, Y = rank_two(14, 9, 0.7, 0)
    posterior = maxentry.complete(Y, 2, sampling=QUICK, seed=1)
    new = some_new_rows(9)
    T = np.array([[2.0, 0.3], [-1.0, 0.5]])
    turned = posterior.draws._replace(
        left=posterior.draws.left @ T, right=posterior.draws.right @ np.linalg.inv(T).T
    )
    other = Posterior(posterior.observations, posterior.fit, QUICK, posterior.chains, turned)
    for mine, theirs in zip(laws_by_draw(posterior, new), laws_by_draw(other, new), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)
    whole = fold_in(posterior, new)
    monkeypatch.setattr(estimating, "BLOCK_NUMBERS", 1)  # a row at a time
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


@pytest.mark.slow
def test_rows_that_arrive_one_by_one_need_no_refit_until_it_says_so():
    """Their error is within 2% of that of a fit with all that have come; by a fit of too few rows it is not."""
    squares = np.zeros(3)
    for seed in range(8):
        X, Y = rank_two(90, 24, 0.4, 300 + seed, noise=0.5)
        first, few = (maxentry.complete(Y[80 - m : 80], 2, sampling=PROPER, seed=seed) for m in (80, 16))
        end = 80
        while not first.rows(Y[80 : end + 1]).refit:
            end += 1
        assert end > 81
        assert np.isfinite(Y[80:end]).sum() <= module.TIME_TO_REFIT * np.isfinite(Y[:80]).sum()
        refit = maxentry.complete(Y[:end], 2, sampling=PROPER, seed=seed)
        for i in range(80, end):
            hidden, y = np.isnan(Y[i]), Y[i]
            found = first.rows(y).mean[0], few.rows(y).mean[0], refit.mean[i]
            squares += [np.sum((mean - X[i])[hidden] ** 2) for mean in found]
    new, control = np.sqrt(squares[:2] / squares[2])
    assert new < 1.02, (new, control)
    assert control > 1.02, (new, control)


def one_column_draw(rng, S, m2=15):
    """S copies of one draw of columns, and a new row."""
    right, offset = rng.standard_normal((m2, 2)), rng.standard_normal(m2)
    copies = module.Columns(
        np.repeat(right[None], S, 0),
        np.repeat(offset[None], S, 0),
        np.repeat(np.eye(3)[None], S, 0),
        np.zeros(S),
        True,
    )
    F = np.column_stack([right, np.ones(m2)])
    return copies, F, offset, offset + F @ rng.standard_normal(3)


def long_gibbs(F, offset, eta2, seen, draw, sweeps, rng):
    """Mean and sd of x by a long chain; draw(x) -> (latent values, weights) of the seen ones."""
    kept, x = [], offset.copy()
    for sweep in range(sweeps):
        z, w = draw(x[seen])
        f = F[seen]
        C = np.linalg.inv(np.eye(3) + (f.T * w) @ f / eta2)
        x = offset + F @ rng.multivariate_normal(C @ f.T @ (w * (z - offset[seen])) / eta2, C)
        if sweep >= sweeps // 10:
            kept.append(x)
    return np.mean(kept, axis=0), np.std(kept, axis=0)


@pytest.mark.parametrize("kind", ["student", "yes/no", "limits"])
def test_latent_values_and_weights_are_drawn_with_the_coefficients(kind):
    """Against a long chain of one row, in its sds; three sweeps, or values taken as they are, are told apart."""
    S, rng = 1500, np.random.default_rng(3)
    columns, F, offset, x = one_column_draw(rng, S)
    eta2, nu = (0.04, 3.0) if kind == "student" else (1.0, None)
    y, seen = x + np.sqrt(eta2) * rng.standard_normal(15), np.arange(12)
    if kind == "student":
        y[5] += 8
    low, high = y.copy(), y.copy()
    if kind == "yes/no":
        low, high = np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
    elif kind == "limits":
        low[::2] = -np.inf
    rows = np.zeros(12, dtype=int)
    limited = {} if kind == "student" else {"low": low[:12], "high": high[:12]}
    said = Observations.from_triples(rows, seen, y[:12], (2, 15), **limited)
    law = NoiseLaw(np.full(S, eta2), None if nu is None else np.full(S, nu))
    posterior = SimpleNamespace(
        columns=columns, noise_law=law, shape=(9, 15), draws=SimpleNamespace(omega2=None)
    )

    def draw(x):
        z, w = y[:12], np.ones(12)
        if kind == "student":
            return z, rng.gamma((nu + 1) / 2, 2 / (nu + (z - x) ** 2 / eta2))
        ends = (low[:12] - x) / np.sqrt(eta2), (high[:12] - x) / np.sqrt(eta2)
        free = ends[0] < ends[1]
        z = z.copy()
        z[free] = x[free] + np.sqrt(eta2) * truncnorm.rvs(ends[0][free], ends[1][free], random_state=rng)
        return z, w

    mean, sd = long_gibbs(F, offset, eta2, seen, draw, 6000, rng)
    found = {}
    for apart in (False, True):
        _, _, G, _ = module._draw_rows(posterior, 1, Repeats(said), apart)
        drawn = offset + G[0] @ F.T
        found[apart] = np.abs((drawn.mean(0) - mean) / sd).max(), np.abs(drawn.std(0) / sd - 1).max()
    # errors: 1/sqrt(1500) = 0.026 of these draws, twice that of the chain; of sds 0.7 times as much
    assert max(found[False][0], found[True][0]) < 0.2, found
    assert max(found[False][1], found[True][1]) < 0.2, found
    plain = module._draw_rows(
        SimpleNamespace(**posterior.__dict__ | {"noise_law": law._replace(nu=None)}), 1,
        Repeats(Observations.from_triples(rows, seen, y[:12], (2, 15))), True,
    )[2]  # fmt: skip
    assert np.abs(((offset + plain[0] @ F.T).mean(0) - mean) / sd).max() > 0.6


# Forms, answers, asking


@pytest.fixture(scope="module")
def labelled():
    _, Y = rank_two(30, 9, 0.6, 0)
    frame = pd.DataFrame(Y, [f"r{i}" for i in range(30)], [f"c{j}" for j in range(9)])
    return maxentry.complete(frame, 2, sampling=PROPER, seed=1)


def test_new_rows_come_in_many_forms(labelled):
    values = {"c0": 1.0, "c3": 2.5}
    array = np.full(9, np.nan)
    array[[0, 3]] = 1.0, 2.5
    one = labelled.rows(values)
    assert one.mean.index.tolist() == ["new"]
    assert one.mean.columns.tolist() == [f"c{j}" for j in range(9)]
    named = labelled.rows({"gpt": values, "other": {}})
    assert named.mean.index.tolist() == ["gpt", "other"]
    forms = {
        "frame": pd.DataFrame([[2.5, 1.0]], ["gpt"], ["c3", "c0"]),
        "text": pd.DataFrame([["2.5", "1.0"]], ["gpt"], ["c3", "c0"]),
        "polars": pl.DataFrame({"row": ["gpt"], "c3": [2.5], "c0": [1.0]}),
        "series": pd.Series([2.5, 1.0], ["c3", "c0"], name="gpt"),
        "text in a series": pd.Series(["2.5", "1.0"], ["c3", "c0"]),
        "series without labels": pd.Series(array),
        "polars series": pl.Series(array),
        "array": array,
        "matrix": array[None],
        "sparse": scipy.sparse.csr_array(([1.0, 2.5], ([0, 0], [0, 3])), shape=(1, 9)),
    }
    for name, given in forms.items():
        found = labelled.rows(given)
        np.testing.assert_array_equal(found.arrays.mean, one.arrays.mean, err_msg=name)
    assert isinstance(labelled.rows(forms["polars"]).mean, pl.DataFrame)
    assert labelled.rows(forms["series"]).mean.index.tolist() == ["gpt"]
    with pytest.raises(LabelError, match="'c9'"):
        labelled.rows(pd.Series([1.0], ["c9"]))
    with pytest.raises(DataError, match="every label once in its index"):
        labelled.rows(pd.Series([1.0, 2.0], ["c1", "c1"]))
    with pytest.raises(LabelError, match="'c9'"):
        labelled.rows({"c9": 1.0})
    with pytest.raises(DataError, match="every new row, got 3"):
        labelled.rows({"a": {}, "b": 3})
    with pytest.raises(DataError, match="'ten'"):
        labelled.rows({"c1": "ten"})
    with pytest.raises(DataError, match="'x'"):
        labelled.rows(pd.DataFrame(np.zeros((2, 9)), ["x", "x"], [f"c{j}" for j in range(9)]))
    with pytest.raises(DataError, match="at least one new row, got none"):
        labelled.rows(np.empty((0, 9)))


def test_new_rows_answer_as_a_posterior_does(labelled):
    rows = labelled.rows({"a": {"c0": 1.0, "c3": "<2"}, "b": {}})
    low, high = rows.interval(0.8)
    assert ((low < rows.mean) & (rows.mean < high)).to_numpy().all()
    wide = rows.predictive_interval(0.8)
    assert (wide[1] - wide[0]).loc["a", "c0"] > 1.1 * (high - low).loc["a", "c0"]
    one = rows.predict("a", ["c0", "c5"], 0.8)
    np.testing.assert_allclose(one.low, low.loc["a", ["c0", "c5"]])
    assert one.to_frame()["row"].tolist() == ["a", "a"]
    average = rows.average(weights={"c1": 3.0})
    x = rows.belief
    w = np.ones(9)
    w[1] = 3
    slow = np.array([x.draw(s)[0] @ w / w.sum() for s in range(x.n_draws)])
    assert average.loc[0, "mean"] == pytest.approx(slow.mean())
    assert average.loc[0, "sd"] == pytest.approx(slow.std(ddof=1))
    assert average.loc[1, "sd"] > average.loc[0, "sd"]
    assert not rows.refit
    many = np.nan_to_num(rank_two(12, 9, 1.0, 5)[1])
    assert labelled.rows(many).refit


@pytest.mark.parametrize("about", ["row", "average"])
def test_asks_for_what_tells_most(labelled, about):
    rows = labelled.rows({"a": {"c0": 1.0, "c3": 2.5}, "b": {}})
    asked = rows.ask(3, about=about)
    assert asked["row"].tolist() == ["a"] * 3 + ["b"] * 3
    assert not {"c0", "c3"} & set(asked["col"][:3])
    x = rows.belief
    for place, (label, known) in enumerate({"a": [0, 3], "b": []}.items()):
        draws = np.array([x.draw(s)[place] for s in range(x.n_draws)])
        cov, noise = np.cov(draws.T, bias=True), float(np.mean(x.noise_var))
        target = cov.mean(0) if about == "average" else cov
        gain = (
            target**2 / (np.diag(cov) + noise)
            if about == "average"
            else (target**2).sum(0) / (np.diag(cov) + noise)
        )
        gain[known] = -1
        first = asked[asked["row"] == label].iloc[0]
        assert first["col"] == f"c{gain.argmax()}"
    assert set(rows.ask(9, about=about, again=True)["col"][:9]) <= {f"c{j}" for j in range(9)}


def test_refuses_other_wishes(labelled):
    rows = labelled.rows({"c0": 1.0})
    for wrong, message in (
        ({"n": 0}, "at least 1, got 0"),
        ({"n": 2, "about": "all"}, "'row' or 'average', got 'all'"),
    ):
        with pytest.raises(ParameterError, match=message):
            rows.ask(**wrong)
    with pytest.raises(ParameterError, match="about='average'"):
        rows.ask(2, weights={"c1": 2})
    with pytest.raises(DataError, match="got inf at row 'new', column 'c1'"):
        labelled.rows({"c1": np.inf})


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
