"""`complete` with features of rows and columns: cold rows, what matters, saving, going on, and what is refused."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.reference import new_rows_slow

from maxentry import Posterior, complete
from maxentry._io import ThreadTeam
from maxentry.errors import DataError, LabelError, ParameterError, SizeError
from maxentry.model import link as link_model
from maxentry.model import relevance
from maxentry.model.likelihood import GAUSSIAN
from maxentry.model.link import PRIOR, Basis, LinkPrior, find_basis
from maxentry.observations import Observations
from maxentry.posterior import coefficients, gibbs
from maxentry.posterior.coefficients import Lack, _fill_features
from maxentry.posterior.gibbs import gather
from maxentry.posterior.new_rows import LEAST_EFFECTIVE, _draw_rows, read_new_rows
from maxentry.posterior.schedule import Sampling

SHORT = Sampling("population", 4, 40, 40, 20, 2)
M1, M2 = 60, 20
WARM = 45  # the first rows have measurements


def table(seed=0):
    """(F, X, Y): rows that depend on the first two of six features, and measurements of the first of them."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((M1, 6))
    W, B = rng.standard_normal((2, 2)), rng.standard_normal((M2, 2))
    A = F[:, :2] @ W + 0.2 * rng.standard_normal((M1, 2))
    X = A @ B.T + 1.5 * F[:, [0]] + rng.standard_normal(M2)
    Y = np.where(rng.random(X.shape) < 0.4, X + 0.2 * rng.standard_normal(X.shape), np.nan)
    Y[WARM:] = np.nan
    return F, X, Y


@pytest.fixture(scope="module")
def fitted():
    F, X, Y = table()
    return F, X, Y, complete(Y, rank=2, row_features=F, sampling=SHORT, seed=1)


def error(posterior, X):
    return float(np.sqrt(np.mean((posterior.arrays.mean - X)[WARM:] ** 2)))


def test_rows_with_features_and_no_measurement_are_predicted(fitted):
    _, X, Y, posterior = fitted
    without = complete(Y, rank=2, sampling=SHORT, seed=1)
    assert error(posterior, X) < 0.4 * error(without, X)
    low, high = posterior.arrays.interval(0.9)
    assert 0.8 < np.mean((low <= X) & (high >= X)) < 0.98


def test_what_matters_comes_first(fitted):
    found = fitted[3].features()
    assert list(found.columns) == ["side", "feature", "coefficient", "low", "high", "pattern", "matters"]
    assert len(found) == 6
    two = found.iloc[:2]
    strength = np.hypot(found["coefficient"], found["pattern"])
    assert strength[0] > strength[1] > 3 * strength[2]
    assert two["feature"].nunique() == 2
    assert (found["low"] <= found["high"]).all()
    assert "row features: 6" in repr(fitted[3])


def test_new_rows_with_features_are_predicted_as_well_as_cold_ones(fitted):
    F, X, Y, posterior = fitted
    part = complete(Y[:WARM], rank=2, row_features=F[:WARM], sampling=SHORT, seed=1)
    nothing = np.full((M1 - WARM, M2), np.nan)
    new = part.rows(nothing, features=F[WARM:])
    ours = np.sqrt(np.mean((new.arrays.mean - X[WARM:]) ** 2))
    assert ours < 1.2 * error(posterior, X)
    with pytest.warns(UserWarning, match="expected features of the new rows, .* those of any fitted row"):
        blind = part.rows(nothing)
    assert ours < 0.5 * np.sqrt(np.mean((blind.arrays.mean - X[WARM:]) ** 2))
    some = nothing.copy()
    some[:, :6] = X[WARM:, :6]
    told = part.rows(some, features=F[WARM:])
    assert np.sqrt(np.mean((told.arrays.mean - X[WARM:]) ** 2)) < 0.8 * ours


def test_new_rows_without_features_are_as_uncertain_as_rows_of_which_nothing_is_known(fitted):
    """Intervals cover what they say; at the mean of the features, as the control has it, they are far too short."""
    F, X, Y, _ = fitted
    part = complete(Y[:WARM], rank=2, row_features=F[:WARM], sampling=SHORT, seed=1)
    truth = X[WARM:]
    with pytest.warns(UserWarning, match="those of any fitted row"):
        blind = part.rows(np.full(truth.shape, np.nan))
    average = part.rows(np.full(truth.shape, np.nan), features=np.tile(F[:WARM].mean(0), (len(truth), 1)))
    covered = [
        np.mean((p.interval(0.9)[0] <= truth) & (truth <= p.interval(0.9)[1])) for p in (blind, average)
    ]
    assert covered[0] > 0.8
    assert covered[1] < 0.6
    np.testing.assert_array_equal(blind.mean, quietly(part.rows, np.full(truth.shape, np.nan)).mean)


def test_what_is_measured_of_new_rows_without_features_counts_as_in_a_fit_without_any(fitted):
    """And about as much of rows together as of each alone."""
    F, X, Y, _ = fitted
    part, plain = (
        complete(Y[:WARM], rank=2, row_features=given, sampling=SHORT, seed=1) for given in (F[:WARM], None)
    )
    new = X[WARM:].copy()
    new[:, 4:] = np.nan
    blind, other = quietly(part.rows, new), plain.rows(new)
    alone = np.vstack([quietly(part.rows, row).mean for row in new])
    errors = [np.sqrt(np.mean((mean - X[WARM:])[:, 4:] ** 2)) for mean in (blind.mean, alone, other.mean)]
    assert errors[0] < 1.5 * errors[2]
    assert errors[1] < 1.5 * errors[2]
    assert blind.arrays.sd[:, 4:].mean() < 1.3 * other.arrays.sd[:, 4:].mean()


def quietly(function, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)


def test_one_missing_feature_of_a_row_without_measurements_does_not_make_it_unknowable(fitted):
    F, _, Y, posterior = fitted
    holed = F.copy()
    holed[-1, 1] = np.nan  # the only one, in a row of which nothing is measured
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = complete(Y, rank=2, row_features=holed, sampling=SHORT, seed=1)
    plain = complete(Y, rank=2, sampling=SHORT, seed=1)
    sds = [p.arrays.sd[-1].mean() for p in (posterior, found, plain)]
    assert sds[0] < sds[1] < 2.0 * sds[2]


def test_new_rows_with_a_missing_feature_are_as_uncertain_as_it_makes_them(fitted):
    """Intervals cover what they say; at the mean of the feature, as the control has it, they are far too short."""
    F, X, Y, _ = fitted
    part = complete(Y[:WARM], rank=2, row_features=F[:WARM], sampling=SHORT, seed=1)
    truth, holed = X[WARM:], F[WARM:].copy()
    holed[:, 0] = np.nan
    filled = np.where(np.isnan(holed), F[:WARM, 0].mean(), holed)
    blank = np.full(truth.shape, np.nan)
    with pytest.warns(UserWarning, match="as uncertain as that makes them"):
        found = part.rows(blank, features=holed)
    covered = [
        np.mean((p.interval(0.9)[0] <= truth) & (truth <= p.interval(0.9)[1]))
        for p in (found, part.rows(blank, features=filled))
    ]
    assert covered[0] > 0.8
    assert covered[1] < 0.7
    some = holed.copy()
    some[::2] = F[WARM:][::2]  # those that are known stay as they are
    mixed, known = quietly(lambda: part.rows(blank, features=some)), part.rows(blank, features=F[WARM:])
    np.testing.assert_array_equal(mixed.arrays.sd[::2], known.arrays.sd[::2])
    np.testing.assert_array_equal(mixed.arrays.sd[1::2], found.arrays.sd[1::2])


def holed_table(seed, of_measured):
    """Features of which cold rows lack the first and measured ones a share, and what is measured; X."""
    F, X, Y = table(seed)
    holed = F.copy()
    holed[WARM:, 0] = np.nan
    holed[:WARM, 0][np.random.default_rng(seed).random(WARM) < of_measured] = np.nan
    return holed, X, Y


@pytest.mark.parametrize(("of_measured", "short"), [(0.05, 0.6), (0.4, 0.85)])
def test_fitted_rows_without_a_measurement_are_as_uncertain_as_missing_features_make_them(of_measured, short):
    """Over six tables, of rows and of columns alike; the kept draws, in which features are at their mean, are short."""
    covered = []
    for seed in range(6):
        F, X, Y = holed_table(seed, of_measured)
        own = (Y, {"row_features": F}) if seed % 2 else (Y.T, {"col_features": F})
        p = complete(own[0], rank=2, sampling=SHORT, seed=1, **own[1])
        d, truth = p.draws, X if seed % 2 else X.T
        kept = (
            d.mu[..., None, None] + d.row[..., None] + d.col[..., None, :] + d.left @ d.right.swapaxes(2, 3)
        )
        cold = np.s_[WARM:] if seed % 2 else np.s_[:, WARM:]
        ends = p.arrays.interval(0.9), np.quantile(kept.reshape(-1, *truth.shape), [0.05, 0.95], axis=0)
        covered.append([np.mean(((low <= truth) & (truth <= high))[cold]) for low, high in ends])
    mean = np.mean(covered, axis=0)
    assert 0.85 < mean[0] < 0.97
    assert mean[1] < short


def test_what_missing_features_add_is_what_other_lines_have_and_leaves_the_chains_alone():
    F, _, Y = holed_table(0, 0.0)
    F[WARM:, 1] = np.where(np.arange(M1 - WARM) < 7, np.nan, F[WARM:, 1])
    p = complete(Y, rank=2, row_features=F, sampling=SHORT, seed=1)
    basis, W = p.fit.features[0], p.columns.W
    d, S = p.draws, len(W)
    added = np.dstack([p.belief.left - d.left.reshape(S, M1, 2), p.belief.row - d.row.reshape(S, M1)])
    assert not added[:, :WARM].any()
    np.testing.assert_array_equal(p.pooled.left, d.left.reshape(S, M1, 2))
    missing = [basis.features.names.index(name) for name in basis.features.names if "missing" not in name][:2]
    f = np.array(
        [
            [np.linalg.lstsq(w[missing].T, a, rcond=None)[0] for a in rows[WARM:]]
            for w, rows in zip(W, added, strict=True)
        ]
    )
    np.testing.assert_allclose(f @ W[:, missing], added[:, WARM:], atol=1e-9)  # nothing else was added
    np.testing.assert_allclose(f[:, 7:, 1], 0, atol=1e-9)  # where only the first is missing
    known = basis.features.known[:, missing]
    coded = basis.encode(basis.features.matrix)[:, missing]
    drawn = f[:, :7].reshape(-1, 2)  # where both are missing
    for k in range(2):
        values = coded[known[:, k], k]
        gap = np.abs(drawn[:, [k]] - values)
        np.testing.assert_allclose(gap.min(axis=1), 0, atol=1e-9)
        assert {*gap.argmin(axis=1)} == {*range(values.size)}  # any line that knows it
    whole = coded[known.all(axis=1)]  # both of one line, if it knows both
    of_one = np.abs(drawn[:, None] - whole).sum(axis=2).min(axis=1) < 1e-9
    share = known.all(axis=1).sum() / known.any(axis=1).sum()
    assert abs(of_one.mean() - share) < 4.5 * np.sqrt(share * (1 - share) / len(drawn)) + 1 / len(whole)


def test_what_measured_lines_lack_is_taken_from_what_features_do_not_explain():
    """Slow twin: the covariance over the measured lines of what they lack, each feature as its known values vary."""
    F, _, Y = holed_table(0, 0.3)
    F[: WARM // 2, 1] = np.nan
    p = complete(Y, rank=2, row_features=F, sampling=SHORT, seed=1)
    basis, measured = p.fit.features[0], np.arange(M1) < WARM
    lack, X, known = Lack.of(basis, measured), basis.encode(basis.features.matrix), basis.features.known
    rng = np.random.default_rng(0)
    W, Q = rng.standard_normal((basis.p, 3)), np.linalg.inv(np.cov(rng.standard_normal((3, 50))) * 20)
    total = np.zeros((3, 3))
    for i in range(WARM):
        own = np.flatnonzero(~known[i])
        C = np.zeros((own.size, own.size))
        for j, k in np.ndindex(C.shape):
            a, b = own[[j, k]]
            both = known[:, a] & known[:, b]
            C[j, k] = (X[both, a] * X[both, b]).sum() / np.sqrt(known[:, a].sum() * known[:, b].sum())
        total += W[own].T @ C @ W[own] / WARM
    A, precision = lack.shrink(Q, W)
    np.testing.assert_allclose(A @ np.linalg.inv(Q) @ A.T, np.linalg.inv(Q) - total, atol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(precision), np.linalg.inv(Q) - total, atol=1e-9)
    A, precision = lack.shrink(1e3 * Q, W)  # they would explain more than there is
    shares = np.linalg.eigvals(np.linalg.inv(precision) @ (1e3 * Q))
    assert np.min(shares.real) == pytest.approx(coefficients.LEAST_LEFT)


def test_features_that_are_not_given_and_features_that_are_all_missing_are_the_same():
    """Also where measured rows lack some: what these add is part of what a new row may have."""
    F, _, Y = holed_table(0, 0.5)
    p = complete(Y, rank=2, row_features=F, sampling=SHORT, seed=1)
    blank = np.full((3, Y.shape[1]), np.nan)
    nothing, missing = (
        quietly(partial(p.rows, blank, features=x)) for x in (None, np.full((3, F.shape[1]), np.nan))
    )
    sds = [rows.arrays.sd.mean() for rows in (nothing, missing)]
    assert 0.9 < sds[0] / sds[1] < 1.05


def test_rows_that_have_their_features_are_hardly_less_sure_because_others_lack_some():
    """Over six tables; the kept draws, the control, have the spread of what other rows lack in every row."""
    sds, blank = [], np.full((M1 - WARM, table()[1].shape[1]), np.nan)
    for seed in range(6):
        F, _, Y = table(seed)
        holed = F.copy()
        holed[:WARM, :2][np.random.default_rng(seed).random((WARM, 2)) < 0.15] = np.nan
        p, whole = (complete(Y, rank=2, row_features=x, sampling=SHORT, seed=1) for x in (holed, F))
        new, d = p.rows(blank, features=F[WARM:]), p.pooled
        kept = d.mu[:, None, None] + d.row[..., None] + d.col[:, None] + d.left @ d.right.swapaxes(1, 2)
        both = p.arrays.sd[WARM:], new.arrays.sd, whole.arrays.sd[WARM:], kept.std(axis=0)[WARM:]
        sds.append([sd.mean() for sd in both])
    ours, fresh, known, before = np.mean(sds, axis=0)
    assert abs(ours / fresh - 1) < 0.1
    assert 0.95 * known < ours < 1.3 * known
    assert before > 1.5 * known


def test_lines_that_lack_features_take_them_from_many_though_one_line_alone_knows_all(monkeypatch):
    monkeypatch.setattr(relevance, "LEVEL", 1.0)  # they say nothing, and are used
    rng = np.random.default_rng(0)
    F = rng.standard_normal((M1, 8))
    F[rng.random(F.shape) < 0.3] = np.nan
    F[0], F[WARM:] = 1.0, np.nan
    p = complete(table()[2], rank=1, row_features=F, sampling=SHORT, seed=1)
    basis = p.fit.features[0]
    at = np.flatnonzero([("missing" not in name) for name in basis.features.names])
    filled = _fill_features(basis, at, rng)
    assert len(np.unique(filled, axis=0)) == len(filled) > 30
    known = basis.features.known[:, at]
    coded = basis.encode(basis.features.matrix)[:, at]
    for k in range(at.size):
        assert np.isin(filled[:, k].round(9), coded[known[:, k], k].round(9)).all()


def test_draws_larger_than_the_memory_stay_as_they_are_and_say_so(monkeypatch):
    F, _, Y = holed_table(0, 0.2)
    p = complete(Y, rank=2, row_features=F, sampling=SHORT, seed=1)

    def refuse(needed, what):
        raise SizeError(f"expected less, got {what}")

    monkeypatch.setattr(coefficients, "check_memory", refuse)
    with pytest.warns(UserWarning, match="missing of 15 lines is taken for the mean"):
        belief = p.belief
    np.testing.assert_array_equal(belief.left, p.pooled.left)


@pytest.mark.parametrize("share", [[0.2] * 5, [0.8, 0.05, 0.05, 0.05, 0.05]])
def test_a_level_that_is_new_is_as_uncertain_as_few_levels_make_it(share):
    """Rows of five levels are fitted, new ones have a sixth; as one of the five, the control, intervals are short."""
    covered = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        effect, B, level = (
            rng.standard_normal((6, 2)),
            rng.standard_normal((20, 2)),
            rng.choice(5, 110, p=share),
        )
        level[:5], level[100:] = range(5), 5
        X = (effect[level] + 0.2 * rng.standard_normal((110, 2))) @ B.T
        Y = np.where(rng.random(X.shape) < 0.4, X + 0.2 * rng.standard_normal(X.shape), np.nan)[:100]
        features = pd.DataFrame({"solvent": pd.Categorical([f"s{k}" for k in level])})
        p = complete(Y, rank=2, row_features=features[:100], sampling=SHORT, seed=1)
        nothing, missing = np.full((10, 20), np.nan), pd.DataFrame({"solvent": [None] * 10})
        both = [quietly(partial(p.rows, nothing, features=x)) for x in (features[100:], missing)]
        intervals = [rows.arrays.interval(0.9) for rows in both]
        covered.append([np.mean((low <= X[100:]) & (X[100:] <= high)) for low, high in intervals])
    new, one_of_five = np.mean(covered, axis=0)
    assert new > 0.82
    assert new > one_of_five + 0.02


def test_a_feature_that_acts_by_its_pattern_alone_matters():
    rng = np.random.default_rng(0)
    F, B = rng.standard_normal((80, 4)), rng.standard_normal(20)
    X = 2 * F[:, [0]] * (B - B.mean())
    Y = np.where(rng.random(X.shape) < 0.5, X + 0.5 * rng.standard_normal(X.shape), np.nan)
    found = complete(Y, rank=1, row_features=F, sampling=SHORT, seed=1).features().set_index("feature")
    assert found["low"].iloc[0] < 0 < found["high"].iloc[0]  # not by the average
    assert found["matters"].iloc[0]
    assert found["pattern"].iloc[0] > 5 * found["pattern"].iloc[1]
    assert not found["matters"].iloc[1:].all()


def test_without_some_features_that_are_all_a_new_row_has_the_prior_without_any(fitted):
    posterior = fitted[-1]
    basis = posterior.fit.features[0]
    some = posterior.columns.without_some(basis, np.full(basis.p, True))
    np.testing.assert_allclose(some.Q, posterior.columns.without_features(basis).Q, rtol=1e-9)


def test_rows_in_groups_of_the_same_prior_are_drawn_as_rows_together(fitted):
    F, X, _, posterior = fitted
    new = X[WARM:].copy()
    new[:, 3:] = np.nan
    new[2] = np.nan
    _, told, _ = read_new_rows(posterior, new)
    n, columns = len(new), posterior.columns
    means = columns.means(posterior.fit.features[0].encode(F[WARM:]), n)
    known = gather(posterior.fit.likelihood, posterior.fit.statements(told, posterior.value_map))
    halves = [(np.arange(k, n, 2), columns) for k in (0, 1)]
    for together, grouped in zip(
        *(_draw_rows(posterior, n, known, False, means, columns, own) for own in ((), halves)), strict=True
    ):
        np.testing.assert_allclose(grouped, together, rtol=1e-9, atol=1e-12)


def test_a_level_of_one_row_without_measurements_does_not_make_it_unknowable(fitted):
    F, _, Y, posterior = fitted
    strange = pd.DataFrame(F).assign(solvent=pd.Categorical(["a", "b"] * (M1 // 2 - 1) + ["a", "c"]))
    found = complete(Y, rank=2, row_features=strange, sampling=SHORT, seed=1)
    plain = complete(Y, rank=2, sampling=SHORT, seed=1)
    sds = [p.arrays.sd[-1].mean() for p in (posterior, found, plain)]
    assert sds[0] < sds[1] < 2.0 * sds[2]


def test_features_under_labels_of_other_rows_are_refused(fitted):
    F, X, Y, _ = fitted
    cols = [f"T{k}" for k in range(X.shape[1])]
    known = pd.DataFrame(F[:30], [f"K{k}" for k in range(30)], list("abcdef"))
    fit = complete(pd.DataFrame(Y[:30], known.index, cols), 1, row_features=known, sampling=SHORT, seed=1)
    new = pd.DataFrame(np.nan, ["N", "M"], cols)
    with pytest.raises(
        LabelError, match="expected features of 'N' and other new rows, got those of 'K0', 'K1'"
    ):
        fit.rows(new, features=known.iloc[:2])
    counted = fit.rows(new, features=known.iloc[:2].reset_index(drop=True)).mean  # no labels: by position
    np.testing.assert_array_equal(counted, fit.rows(new, features=F[:2]).mean)
    unnamed = fit.rows({}, features={"N": known.iloc[0].to_dict()}).mean
    np.testing.assert_array_equal(unnamed, fit.rows({}, features=F[:1]).mean)


def test_features_of_new_rows_without_labels_are_taken_in_their_order(fitted):
    """Arrays, plain frames and single rows have no labels to go by, whatever the labels of the features."""
    F, X, Y, _ = fitted
    known = pd.DataFrame(F, columns=list("abcdef"))
    fit = complete(Y[:30], 1, row_features=known.iloc[:30], sampling=SHORT, seed=1)
    nothing = np.full((2, X.shape[1]), np.nan)
    expected = fit.rows(nothing, features=F[30:32]).mean
    for labels in ([30, 31], ["x", "y"], [1, 2]):  # the last one has the position of a row among its labels
        given = known.iloc[30:32].set_axis(labels)
        np.testing.assert_array_equal(fit.rows(nothing, features=given).mean, expected)
        np.testing.assert_array_equal(fit.rows(pd.DataFrame(nothing), features=given).mean, expected)
    backwards = known.iloc[[31, 30]].set_axis([1, 0])  # all positions are there
    np.testing.assert_array_equal(fit.rows(nothing, features=backwards).mean, expected)
    one = fit.rows(nothing[0], features=known.iloc[[30]]).mean
    np.testing.assert_array_equal(one, fit.rows(nothing[:1], features=F[[30]]).mean)
    unnamed = fit.rows(pd.Series(nothing[0], np.arange(X.shape[1])), features=known.iloc[[30]]).mean
    np.testing.assert_array_equal(unnamed, one)
    with pytest.raises(DataError, match="expected features of 2 new rows, got 3"):
        fit.rows(nothing, features=known.iloc[30:33])


def test_a_new_row_may_be_called_new(fitted):
    F, _, Y, _ = fitted
    known = pd.DataFrame(F, columns=list("abcdef"))
    fit = complete(Y[:30], 1, row_features=known.iloc[:30], sampling=SHORT, seed=1)
    found = fit.rows({"new": {}}, features=known.iloc[30:32].set_axis(["other", "new"])).mean
    np.testing.assert_array_equal(found, fit.rows({"any": {}}, features=F[[31]]).mean)
    with pytest.raises(
        LabelError, match="expected features of 'new' and other new rows, got those of 'other'"
    ):
        fit.rows({"new": {}}, features=known.iloc[[30]].set_axis(["other"]))


def test_an_empty_mapping_stands_for_all_rows_of_the_features(fitted):
    F, X, Y, _ = fitted
    names, cols = [f"K{k}" for k in range(len(F))], [f"T{k}" for k in range(X.shape[1])]
    known = pd.DataFrame(F, names, list("abcdef"))
    fit = complete(pd.DataFrame(Y[:30], names[:30], cols), 1, row_features=known[:30], sampling=SHORT, seed=1)
    expected = fit.rows(np.full((3, len(cols)), np.nan), features=F[30:33]).mean
    lines = {name: known.loc[name].to_dict() for name in names[30:33]}
    ways = [
        known.iloc[30:33],
        lines,
        F[30:33],
        known.iloc[30:33].reset_index(drop=True),
    ]
    for features in ways:
        np.testing.assert_array_equal(fit.rows({}, features=features).mean, expected)
    for labelled in ways[:2]:
        assert list(fit.rows({}, features=labelled).mean.index) == names[30:33]


def test_features_of_new_rows_are_found_by_label_and_what_is_missing_is_said(fitted):
    F, X, *_ = fitted
    names, cols = [f"K{k}" for k in range(len(F))], [f"T{k}" for k in range(X.shape[1])]
    known = pd.DataFrame(F, names, list("abcdef"))
    Y = pd.DataFrame(X, names, cols).iloc[:30]
    fit = complete(Y, 1, row_features=known.iloc[:30], sampling=SHORT, seed=1)
    new = pd.DataFrame(np.nan, ["K31", "K30"], cols)
    found = fit.rows(new, features=known).mean  # in another order, among others
    np.testing.assert_array_equal(found, fit.rows(new, features=F[[31, 30]]).mean)
    assert not np.allclose(found, fit.rows(new, features=F[[30, 31]]).mean)
    one = fit.rows({}, features=known.iloc[[31]]).mean  # there is no label to go by
    np.testing.assert_array_equal(one, fit.rows({}, features=F[[31]]).mean)
    with pytest.warns(UserWarning, match="'f' is not given: taken as its mean"):
        fit.rows(new, features=known.drop(columns="f"))
    with pytest.warns(UserWarning, match="1 row without features: 'K30'"):
        fit.rows(new, features=known.iloc[31:])
    with pytest.warns(UserWarning, match=r"taken as the mean of their column, and rows .*: b \(1\)"):
        fit.rows({}, features=known.iloc[[31]].assign(b=np.nan))


def test_new_rows_with_features_have_the_law_of_the_slow_twin():
    rng = np.random.default_rng(5)
    F, X, Y = table(5)
    fit = complete(
        Y[:WARM], rank=2, row_features=F[:WARM], seed=1, sampling=Sampling("population", 20, 0, 100, 20, 2)
    )
    new = np.full((2, X.shape[1]), np.nan)
    new[0, :3] = X[-2, :3]
    laws = new_rows_slow.linked_laws(fit, F[:WARM], new, F[-2:])
    for k in range(2):
        rows = fit.rows(new[[k]], features=F[[k - 2]])
        means = np.array([draw[k].mean for draw in laws])
        variances = np.array([np.diag(draw[k].cov) for draw in laws])
        log_w = np.array([draw[k].log_density for draw in laws])
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        mean = w @ means
        sd = np.sqrt(w @ variances + w @ (means - mean) ** 2)
        error = sd / np.sqrt(rows.effective * len(laws))
        assert rows.effective > LEAST_EFFECTIVE  # or the weights would be others
        assert (np.abs(rows.mean[0] - mean) < 4 * error).all()
        np.testing.assert_allclose(rows.sd[0], sd, rtol=5 / np.sqrt(2 * rows.effective * len(laws)))
        others = fit.rows(
            new[[k]], features=rng.standard_normal((1, F.shape[1]))
        )  # control: features of another
        assert (np.abs(others.mean[0] - mean) > 4 * error).any()


def test_saved_and_loaded_they_go_on_as_before(fitted, tmp_path):
    F, _, Y, posterior = fitted
    posterior.save(tmp_path / "p.npz")
    loaded = Posterior.load(tmp_path / "p.npz")
    np.testing.assert_array_equal(loaded.arrays.mean, posterior.arrays.mean)
    np.testing.assert_array_equal(loaded.features()["coefficient"], posterior.features()["coefficient"])
    np.testing.assert_array_equal(loaded.more(2).arrays.mean, posterior.more(2).arrays.mean)
    again = complete(Y, start=loaded, sampling=Sampling("population", 4, 0, 5, 5, 1), seed=2)
    assert again.fit.linked
    given = complete(
        Y, start=posterior, row_features=F, sampling=Sampling("population", 4, 0, 5, 5, 1), seed=2
    )
    np.testing.assert_array_equal(again.arrays.mean, given.arrays.mean)


def test_a_warm_start_takes_new_rows_with_their_features(fitted):
    F, X, Y, _ = fitted
    part = complete(Y[:WARM], rank=2, row_features=F[:WARM], sampling=SHORT, seed=1)
    whole = complete(Y, start=part, row_features=F, seed=3)
    assert error(whole, X) < 0.4 * np.sqrt(np.mean((X - X.mean(0))[WARM:] ** 2))
    with pytest.raises(ParameterError, match="row_features"):
        complete(Y, start=part)


def test_sparse_features_are_those_of_the_same_dense_ones_up_to_their_scale():
    rng = np.random.default_rng(5)
    bits = (rng.random((30, 50)) < 0.1).astype(float)
    sparse, dense = Basis(30, csr_array(bits)), Basis(30, bits)
    np.testing.assert_allclose(sparse.s2, dense.s2, atol=1e-9)
    np.testing.assert_allclose(sparse.apply(np.eye(50)), dense.apply(np.eye(50)), atol=1e-12)
    few, many = Basis(30, bits[:, :20]), Basis(20, bits[:20])  # each by the smaller Gram matrix
    for basis in (few, many):
        F, q = basis.apply(np.eye(basis.p)), int((basis.s2 > 0).sum())
        U = basis.U[:q, : basis.m]
        np.testing.assert_allclose(U @ U.T, np.eye(q), atol=1e-9)
        np.testing.assert_allclose(F @ F.T, (U[1:].T * basis.s2[1:q]) @ U[1:], atol=1e-9)


def test_coefficients_given_a_draw_have_the_law_of_a_ridge_regression():
    rng = np.random.default_rng(6)
    for p in (3, 25):  # fewer features than rows, and more
        basis, G, rho = Basis(12, rng.standard_normal((12, p))), rng.standard_normal((12, 2)), 0.7
        F = basis.apply(np.eye(p))
        draws = [basis.draw_coefficients(G, rho, PRIOR, False, rng) for _ in range(4_000)]
        W = np.array([draw[2] for draw in draws])
        expected = np.linalg.solve(F.T @ F + np.eye(p) / rho, F.T @ G)
        z = (W.mean(0) - expected) / (W.std(0) / np.sqrt(len(W)))
        assert np.abs(z).max() < 4.5
        off = (W.mean(0) - 1.3 * expected) / (W.std(0) / np.sqrt(len(W)))  # control
        assert np.abs(off).max() > 6
        C = np.linalg.inv(F.T @ F + np.eye(p) / rho)
        inverse = np.mean([np.linalg.inv(draw[0]) for draw in draws], axis=0)
        np.testing.assert_allclose(W[:, 0].var(0), C[0, 0] * np.diag(inverse), rtol=0.15)


@pytest.mark.parametrize("rank", [0, 3])
def test_threads_share_a_sweep_to_the_same_bits(rank):
    rng = np.random.default_rng(7)
    i, j = np.divmod(np.sort(rng.permutation(300 * 40)[:3_000]), 40)
    places = Observations((300, 40), i, j, rng.standard_normal(3_000))
    bases = Basis(300, rng.standard_normal((300, 10))), find_basis("observed", places.observed, 1)
    data = gibbs.prepare(places, True, GAUSSIAN, True, None, bases)
    found = []
    for threads in (1, 3):
        rng, nothing = (
            np.random.default_rng(8),
            gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2))),
        )
        priors = gibbs.Priors.weak((300, 40), rank)
        state, hyper = gibbs.init(data, rank, priors, rng), gibbs.hyperparameters(priors)
        with ThreadTeam(threads) as team:
            found.append(
                gibbs.step(
                    state, data, rank, hyper, rng, np.ones(3), nothing, 0, team=team if threads > 1 else None
                )
            )
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_which_entries_were_observed_helps_where_people_chose_them():
    """Over four tables: single ones gain from 1% to 11%."""
    ratios = []
    for seed in range(9, 13):
        rng = np.random.default_rng(seed)
        taste, kind = rng.standard_normal(120), rng.standard_normal(60)
        X = 1.5 * np.outer(taste, kind)
        chosen = rng.random(X.shape) < 0.25 / (1 + np.exp(-2 * X))  # people measure what they will like
        held = chosen & (rng.random(X.shape) < 0.3)
        Y = np.where(chosen & ~held, X + rng.standard_normal(X.shape), np.nan)
        plain = complete(Y, rank=1, sampling=SHORT, seed=1)
        both = complete(Y, rank=1, row_features="observed", col_features="observed", sampling=SHORT, seed=1)
        errors = [np.sqrt(np.mean((p.arrays.mean - X)[held] ** 2)) for p in (both, plain)]
        ratios.append(errors[0] / errors[1])
    assert np.exp(np.mean(np.log(ratios))) < 0.97
    assert both.rows({"new": {0: 1.0, 1: 2.0}}).arrays.mean.shape == (1, 60)
    assert str(both.features()["feature"][0]).startswith("observed ")
    with pytest.raises(ParameterError, match="of new rows is what is measured of them; leave features out"):
        both.rows({"new": {0: 1.0}}, features=[[1.0]])


def test_features_that_say_nothing_cost_little_where_they_are_used_and_more_with_a_vague_prior_of_the_rest(
    monkeypatch,
):
    monkeypatch.setattr(relevance, "LEVEL", 1.0)  # else they would be left out
    tables, plan, ratios = 24, Sampling("population", 4, 60, 60, 20, 3), []
    for seed in range(tables):
        rng = np.random.default_rng([7, seed])
        X = rng.standard_normal((30, 6)) / np.sqrt(1 + np.arange(6)) @ rng.standard_normal((6, 20))
        Y = np.where(rng.random(X.shape) < 0.4, X + 0.3 * rng.standard_normal(X.shape), np.nan)
        errors, F = [], rng.standard_normal((30, 1))
        for prior, features in ((PRIOR, None), (PRIOR, F), (LinkPrior(df=1.0, factors=0.1, effect=0.01), F)):
            monkeypatch.setattr(link_model, "PRIOR", prior)
            mean = complete(Y, 6, row_features=features, sampling=plan, seed=seed).arrays.mean
            errors.append(np.sqrt(np.mean((mean - X)[np.isnan(Y)] ** 2)))
        ratios.append(np.array(errors[1:]) / errors[0])
    ours, vague = np.transpose(ratios)
    assert ours.mean() < 1.11  # 1.07 and three standard errors
    assert vague.mean() - ours.mean() > 3 * np.std(vague - ours, ddof=1) / np.sqrt(tables)


def test_what_is_refused():
    F, _, Y = table()
    from maxentry import Priors

    with pytest.raises(ParameterError, match="priors"):
        complete(Y, row_features=F, priors=Priors.paper())
    with pytest.raises(ParameterError, match="observed"):
        complete(Y, row_features="chosen")
    with pytest.raises(DataError, match="60"):
        complete(Y, row_features=F[:-1])
    plain = complete(Y, rank=1, sampling=Sampling("population", 1, 2, 2, 2, 1), seed=1)
    with pytest.raises(ParameterError, match="features"):
        plain.features()
    with pytest.raises(ParameterError, match="row_features"):
        plain.rows({"new": {0: 1.0}}, features=F[:1])
    with pytest.raises(ParameterError, match="row_features"):
        complete(Y, start=plain, row_features=F)


@pytest.mark.slow
def test_ranks_are_chosen_with_features_and_rows_without_measurements_follow_theirs():
    """Without features, rows that nobody measured are predicted by the mean of the others, an error of one sd."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(30, 3))
    X = F @ rng.normal(size=(3, 2)) @ rng.normal(size=(2, 12))
    Y = np.where(rng.random(X.shape) < 0.5, X + 0.2 * rng.normal(size=X.shape), np.nan)
    Y[:4] = np.nan

    def error(**options):
        posterior = complete(Y, seed=1, effort="quick", progress=False, **options)
        assert len(posterior.rank_weights) >= 1
        return np.sqrt(np.mean((posterior.mean[:4] - X[:4]) ** 2)) / X[:4].std()

    assert error(row_features=F) < 0.25
    assert error() > 0.8
