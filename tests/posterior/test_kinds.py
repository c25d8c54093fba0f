"""Limits, yes/no and grades: what is told, what is answered, and that all that works for numbers works for them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtr
from scipy.stats import norm
from tests.reference import latent_slow as slow

from maxentry import Observations, Posterior, Sampling, complete
from maxentry.errors import DataError, ParameterError
from maxentry.estimators import fold_in, fold_in_mean
from maxentry.model.likelihood import GAUSSIAN, Likelihood, NoiseLaw
from maxentry.posterior import chains
from maxentry.posterior.chains import model_values
from maxentry.posterior.rank import mixture_weights, stacking_weights
from maxentry.transform import Transform, ValueMap

INF, NAN = np.inf, np.nan
SHORT = Sampling("population", 8, 40, 30, 6, 4)
rng = np.random.default_rng(0)
X = rng.standard_normal((24, 1)) @ rng.standard_normal((1, 18)) + 0.5 * rng.standard_normal((24, 1))
NOISY = X + 0.3 * rng.standard_normal(X.shape)
SEEN = rng.random(X.shape) < 0.6
NUMBERS = np.where(SEEN, NOISY, NAN)
ANSWERS = np.where(SEEN, NOISY > 0, NAN)
GRADES = np.where(SEEN, np.clip(np.round(NOISY + 3), 1, 5), NAN)
TOLD = {"limits": NUMBERS, "yes/no": ANSWERS, "grades": GRADES}
OPTIONS = {"limits": {"limits": (0.0, None)}, "yes/no": {"kind": "yes/no"}, "grades": {"kind": "grades"}}
KINDS = ("limits", "yes/no", "grades")


def fit(kind, seed=1, data=None, **options):
    told = TOLD[kind] if data is None else data
    return complete(told, 1, sampling=SHORT, seed=seed, **OPTIONS[kind] | options)


@pytest.fixture(scope="module")
def fits():
    return {kind: fit(kind) for kind in KINDS}


def observed(values, **beside):
    n = len(values)
    return Observations((n + 1, 2), np.arange(n), np.zeros(n, int), np.array(values, float), **beside)


# What is told


def test_standard_errors_are_on_the_scale_of_the_model_beside_any_range():
    """A range whose middle the transform has no place for must not keep the other errors in the user's units."""
    o = observed(
        [100.0, 200.0, -0.25], low=[100.0, 200.0, -1.0], high=[100.0, 200.0, 0.5], se=[10.0, 10.0, 0.0]
    )
    z = model_values(ValueMap(Transform("log")), o)
    np.testing.assert_allclose(z.se, [0.1, 0.05, 0.0])


def test_the_score_of_a_value_knows_its_standard_error():
    law = NoiseLaw(np.ones(2))
    x = np.zeros((2, 3))
    o = observed([10.0, 10.0, 1.0], low=[10.0, 10.0, -INF], high=[10.0, 10.0, 1.0], se=[0.0, 10.0, 0.0])
    score = GAUSSIAN.log_score(x, o, law)
    np.testing.assert_allclose(score[:2], [norm.logpdf(10), norm.logpdf(10, scale=np.sqrt(101))])
    plain = observed([10.0, 10.0], se=[0.0, 10.0])
    np.testing.assert_allclose(GAUSSIAN.log_score(x[:, :2], plain, law), score[:2])


def test_values_at_the_ends_of_the_scale_are_limits():
    o = observed([-1.0, 0.0, 3.0, 100.0, 120.0, 5.0], low=[NAN] * 5 + [-INF], high=[NAN] * 5 + [5.0])
    said = Likelihood(limits=(0, 100)).statements(o)
    np.testing.assert_array_equal(said.low, [-INF, -INF, 3, 100, 100, -INF])
    np.testing.assert_array_equal(said.high, [0, 0, 3, INF, INF, 5])
    np.testing.assert_array_equal(said.values, [0, 0, 3, 100, 100, 5])
    one_end = Likelihood(limits=(None, 100)).statements(observed([-1.0, 100.0]))
    np.testing.assert_array_equal(one_end.low, [-1, 100])


def test_yes_and_no_and_grades_are_statements():
    said = Likelihood("yes/no").statements(observed([1, 0]))
    assert list(zip(said.low, said.high, strict=True)) == [(0, INF), (-INF, 0)]
    law = Likelihood("grades", levels=("poor", "fair", "good", "best"))
    said = law.statements(observed([1, 2, 4]))
    assert list(zip(said.low, said.high, strict=True)) == [(-INF, 1.5), (1.5, 2.5), (3.5, INF)]
    halves = Likelihood("grades", levels=(0.5, 1, 1.5, 2))
    np.testing.assert_array_equal(halves.statements(observed([1.5, 0.5, 2])).values, [3, 1, 4])
    assert halves.scores == (0.5, 1, 1.5, 2)
    assert law.scores == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ({"kind": "yes/no"}, [0, 1, 2], r"expected yes or no \(1 or 0\), got 2 at row 2, column 0"),
        ({"kind": "grades"}, [1, 2.5, 3], "expected one of the grades 1, 2, 3, got 2.5 at row 1"),
        ({"kind": "grades", "levels": ["a", "b", "c"]}, [1, 4, 3], "expected a grade of 1 to 3, got 4"),
    ],
)
def test_other_values_are_refused_by_their_place(options, values, message):
    with pytest.raises(DataError, match=message):
        complete(observed(values), 0, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "text"}, "kind must be 'numbers', 'yes/no' or 'grades', got 'text'"),
        ({"kind": "yes/no", "noise": "student"}, "noise is for kind='numbers'"),
        ({"kind": "yes/no", "limits": (0, 1)}, "limits is for kind='numbers'"),
        ({"levels": [1, 2, 3]}, "levels are for kind='grades'"),
        ({"kind": "grades", "levels": [1, 2]}, "3 to 100 distinct names"),
        ({"kind": "grades", "levels": [3, 2, 1]}, "numbers that rise"),
        ({"kind": "grades", "levels": 5}, "levels must be a list"),
        ({"limits": (1, 0)}, r"limits must be a pair \(low, high\)"),
        ({"limits": 7}, "limits must be a pair"),
        ({"kind": "yes/no", "transform": "log"}, "transform and scale are for kind='numbers'"),
        ({"limits": (0, 100), "transform": "percent"}, "limits must lie within the logit"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ParameterError, match=message) as refusal:
        complete(ANSWERS, 1, **options)
    assert len(str(refusal.value)) <= 300


def test_limits_of_single_values_and_of_the_scale_are_one():
    low = np.where(NUMBERS <= 0, -INF, NUMBERS)
    high = np.where(NUMBERS <= 0, 0.0, NUMBERS)
    one, other = fit("limits", data=(low, high), limits=None), fit("limits")
    np.testing.assert_array_equal(one.mean, other.mean)


def test_without_limits_that_bite_nothing_changes():
    plain = complete(NUMBERS, 1, sampling=SHORT, seed=1)
    far = complete(NUMBERS, 1, sampling=SHORT, seed=1, limits=(-1e3, 1e3))
    np.testing.assert_array_equal(plain.mean, far.mean)


# What is answered


def test_entries_below_a_limit_are_estimated_below_it(fits):
    p = fits["limits"]
    below = SEEN & (NOISY < -0.5)
    assert p.mean[below].mean() < -0.3
    clipped = complete(np.maximum(NUMBERS, 0), 1, sampling=SHORT, seed=1)
    errors = [np.sqrt(np.mean((np.maximum(q.mean, 0) - np.maximum(X, 0)) ** 2)) for q in (p, clipped)]
    assert errors[0] < 1.1 * errors[1]
    assert np.abs(p.mean - X).mean() < 0.75 * np.abs(clipped.mean - X).mean()
    low, high = p.predictive_interval(0.9)
    assert low.min() == 0
    assert p.interval()[0].min() < 0
    assert np.mean((np.maximum(NOISY, 0) >= low) & (np.maximum(NOISY, 0) <= high)) > 0.85


def test_predictions_of_a_measurement_stay_inside(fits):
    p = fits["limits"]
    i, j = np.divmod(np.arange(X.size), X.shape[1])
    entry, shown = p.predict(i, j), p.predict(i, j, measured=True)
    assert entry.mean.min() < -0.5
    assert shown.mean.min() >= 0
    assert shown.low.min() == 0
    np.testing.assert_array_equal(shown.low, entry.new_low)
    np.testing.assert_allclose(entry.mean, p.mean.ravel(), rtol=1e-9, atol=1e-12)
    sure = entry.low > 1.5  # far from the limit both are the same
    np.testing.assert_allclose(shown.mean[sure], entry.mean[sure], atol=0.05)
    with pytest.raises(ParameterError, match="measured must be True or False"):
        p.predict([0], [0], measured=1)


def test_yes_no_answers_are_probabilities(fits):
    p = fits["yes/no"]
    np.testing.assert_array_equal(p.draws.eta2, 1.0)
    draws = p.belief.at([3, 5], [2, 7])
    np.testing.assert_allclose(p.predict([3, 5], [2, 7]).mean, ndtr(draws).mean(0))
    np.testing.assert_allclose(p.mean[[3, 5], [2, 7]], ndtr(draws).mean(0))
    np.testing.assert_allclose(p.sd[[3, 5], [2, 7]], ndtr(draws).std(0, ddof=1))
    low, high = p.interval(0.8)
    assert 0 <= low.min() < high.max() <= 1
    assert ((low < p.mean) & (p.mean < high)).mean() > 0.95
    assert set(np.unique(p.predictive_interval())) == {0.0, 1.0}
    brier = np.mean((p.mean - ndtr(X / 0.3))[~SEEN] ** 2)
    assert brier < 0.6 * np.mean((ndtr(X / 0.3)[~SEEN] - np.nanmean(ANSWERS)) ** 2)
    assert p.sample(2, seed=0).min() > 0
    shown = p.predict([3, 5], [2, 7], measured=True)
    chance = ndtr(draws).mean(0)
    assert (np.abs(shown.mean - chance) < 4 * np.sqrt(chance * (1 - chance) / len(draws))).all()


def test_yes_and_no_do_not_start_from_a_stretched_scale_where_data_abound(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((40, 1)) * np.exp(0.3 * rng.standard_normal(400)) - rng.standard_normal(400)
    told = (x + rng.standard_normal(x.shape) > 0).astype(float)

    def spread():
        draws = complete(told, 4, kind="yes/no", sampling=SHORT, seed=0, progress=False).belief
        return draws.at(*(index.ravel() for index in np.indices(x.shape))).std() / x.std()

    assert 0.9 < spread() < 1.15
    monkeypatch.setattr(chains, "_stretches", lambda data: False)
    assert spread() > 1.5  # the control: what annealing stretches does not come back in a short run


def test_grades_have_probabilities_that_add_up_to_their_expectation(fits):
    p = fits["grades"]
    prob = p.probabilities()
    assert prob.shape == (5, 24, 18)
    np.testing.assert_allclose(prob.sum(0), 1.0)
    np.testing.assert_allclose(np.tensordot(np.arange(1, 6), prob, 1), p.mean, rtol=1e-9)
    np.testing.assert_allclose(p.probabilities([3, 5], [2, 7]), prob[:, [3, 5], [2, 7]])
    cuts, eta, x = p.answers.law.cuts, np.sqrt(p.belief.noise_var), p.belief.at([3], [2])[:, 0]
    by_hand = np.mean([slow.probabilities_of_grades(x[s], cuts[s], eta[s]) for s in range(len(x))], axis=0)
    np.testing.assert_allclose(prob[:, 3, 2], by_hand)
    assert set(np.unique(p.predictive_interval())) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert np.mean(prob.argmax(0)[~SEEN] + 1 == np.clip(np.round(NOISY + 3), 1, 5)[~SEEN]) > 0.5
    np.testing.assert_array_equal(p.draws.cuts[..., [0, -1]], np.broadcast_to([1.5, 4.5], (8, 6, 2)))
    assert p.draws.cuts[..., 1].std() > 0


def test_names_of_grades_are_codes_and_numbers_are_scores():
    halves = fit("grades", data=GRADES / 2, levels=(0.5, 1.0, 1.5, 2.0, 2.5))
    np.testing.assert_allclose(halves.mean, fit("grades").mean / 2)
    named = fit("grades", levels=("E", "D", "C", "B", "A"))
    np.testing.assert_array_equal(named.mean, fit("grades").mean)


def test_yes_and_no_have_probabilities_and_numbers_none(fits):
    p = fits["yes/no"].probabilities()
    np.testing.assert_allclose(p[1], fits["yes/no"].mean)
    np.testing.assert_allclose(p.sum(0), 1.0)
    for ask in (fits["limits"].probabilities, fits["limits"].most_likely):
        for at in ((), (3, 4)):
            with pytest.raises(
                ParameterError, match="probabilities are for kind='yes/no' or 'grades', got kind="
            ):
                ask(*at)


@pytest.mark.parametrize("kind", ["yes/no", "grades"])
def test_the_most_likely_grade(kind, fits):
    p, names = fits[kind].probabilities(), ("no", "yes") if kind == "yes/no" else (1, 2, 3, 4, 5)
    likely = fits[kind].most_likely()
    assert likely.shape == fits[kind].shape
    assert likely[3, 4] == names[p[:, 3, 4].argmax()] == fits[kind].most_likely(3, 4)
    assert fits[kind].most_likely([3, 5], [4, 6]).tolist() == [likely[3, 4], likely[5, 6]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_probabilities_have_labels_where_the_data_have(library):
    levels, words = ["poor", "fair", "good"], np.array(["poor", "fair", "good"], dtype=object)
    cells = np.where(SEEN, words[np.clip(np.nan_to_num(GRADES), 1, 3).astype(int) - 1], None)[:6, :4]
    wide = pd.DataFrame(cells, index=list("abcdef"), columns=list("wxyz"))
    columns = {name: cells[:, j].tolist() for j, name in enumerate("wxyz")}
    frame = wide if library == "pandas" else pl.DataFrame({"name": list("abcdef"), **columns})
    p = complete(frame, 0, kind="grades", levels=levels, sampling=SHORT, seed=1)
    table, likely = p.probabilities(), p.most_likely()
    at, array = p.probabilities(["b", "c"], ["x", "y"]), p.framed(None).probabilities()
    assert [*at.columns] == ["row", "col", *levels]
    np.testing.assert_allclose(at[levels].to_numpy()[0], array[:, 1, 1])
    if library == "pandas":
        assert table.index.names == ["grade", "row"]
        np.testing.assert_allclose(table.loc[("fair", "b")], array[1, 1])
        assert likely.loc["b", "x"] == p.most_likely("b", "x")
        assert [*likely.index] == list("abcdef")
    else:
        assert table.columns == ["grade", "name", *"wxyz"]
        assert table["grade"].unique(maintain_order=True).to_list() == levels
        assert likely.columns == ["name", *"wxyz"]
        assert likely["x"][1] == p.most_likely("b", "x")


def test_maps_of_what_an_instrument_shows_are_those_of_predictions(fits):
    for kind in KINDS:
        mean, sd = fits[kind].arrays.measured()
        shown = fits[kind].predict([3, 5], [4, 6], measured=True)
        np.testing.assert_allclose(mean[[3, 5], [4, 6]], shown.mean)
        np.testing.assert_allclose(sd[[3, 5], [4, 6]], shown.sd)


def test_a_table_of_limits_alone_gives_a_warning():
    low, high = np.full((3, 3), -INF), np.ones((3, 3))
    quick = Sampling("population", 2, 2, 2, 2, 1)
    with pytest.warns(UserWarning, match="all 9 measurements are limits, and none is a value or a range"):
        complete((low, high), 0, sampling=quick, seed=1)
    with pytest.warns(UserWarning, match="all 9 measurements are limits"):
        complete(np.zeros((3, 3)), 0, limits=(0, 1), sampling=quick, seed=1)
    low[0, 0] = 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete((low, high), 0, sampling=quick, seed=1)
        complete(np.eye(3), 0, kind="yes/no", sampling=quick, seed=1)


@pytest.mark.parametrize("scaled", [False, True])
def test_new_rows_with_limits_in_cells_are_those_of_the_fit(scaled):
    told = NUMBERS.copy()
    if scaled:
        told[:, 2] *= 1000
    low, high = told.copy(), told.copy()
    low[(told < -0.5) & (np.arange(18) != 2)], high[(told < -0.5) & (np.arange(18) != 2)] = -INF, -0.5
    p = complete((low, high), 1, sampling=SHORT, seed=1)
    assert bool(p.scales) == scaled
    values = np.where(np.isinf(low), high, told)
    mean, plain = fold_in_mean(p, values, (low, high)), fold_in_mean(p, values)
    np.testing.assert_allclose(fold_in(p, values, (low, high)).mean, mean)
    far = np.abs(mean - p.mean)[:, 0].mean(), np.abs(plain - p.mean)[:, 0].mean()
    assert far[0] < 0.6 * far[1]  # taken for values, limits pull rows up


# Everything else


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_stores_do_not_change_the_draws(kind, fits, tmp_path):
    again = fit(kind, threads=1, store=tmp_path / "draws", watch=([3, 5], [2, 7]))
    np.testing.assert_array_equal(again.mean, fits[kind].mean)
    np.testing.assert_array_equal(Posterior.load(tmp_path / "draws").mean, fits[kind].mean)
    error = np.abs(again.watched.mean - again.predict([3, 5], [2, 7]).mean)
    assert (error < 6 * again.watched.mcse).all()


@pytest.mark.parametrize("kind", KINDS)
def test_saved_posteriors_go_on_where_they_stopped(kind, fits, tmp_path):
    fits[kind].save(tmp_path / "p.npz")
    loaded = Posterior.load(tmp_path / "p.npz")
    assert loaded.likelihood == fits[kind].likelihood
    np.testing.assert_array_equal(loaded.more(2).mean, fits[kind].more(2).mean)
    np.testing.assert_array_equal(loaded.chains[0].state.latent, fits[kind].chains[0].state.latent)
    assert (
        loaded.chains[0].state.latent.size == (SEEN & (NOISY <= 0)).sum() if kind == "limits" else SEEN.sum()
    )


def test_damaged_files_are_refused(fits, tmp_path):
    fits["grades"].save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as file:
        parts = dict(file)
    for name, wrong in (
        ("chain0_latent", np.zeros(3)), ("chain1_scalars", np.ones(8)), ("draws_cuts", np.ones((8, 6, 4))),
        ("values", np.full(SEEN.sum(), 2.5)),
    ):  # fmt: skip
        np.savez(tmp_path / "q.npz", **parts | {name: wrong})
        with pytest.raises(DataError, match="expected"):
            Posterior.load(tmp_path / "q.npz")


@pytest.mark.parametrize("kind", KINDS)
def test_a_warm_start_keeps_latent_values_of_known_measurements(kind, fits):
    more, old = TOLD[kind].copy(), fits[kind]
    more[~SEEN & (np.arange(18) < 3)] = 1.0
    again = complete(more, start=old, sampling=Sampling("population", 8, 0, 0, 4, 1), seed=2, **OPTIONS[kind])
    assert again.observations.n > old.observations.n
    kept = np.s_[:, 3:]  # columns without new measurements
    assert np.corrcoef(again.mean[kept].ravel(), old.mean[kept].ravel())[0, 1] > 0.9
    with pytest.raises(ParameterError, match="start= was fitted with kind="):
        complete(np.where(SEEN, 1.0, NAN), start=old, kind="grades" if kind == "yes/no" else "yes/no")


def test_another_kind_than_that_of_the_start_is_refused_whatever_the_noise():
    start = complete(NUMBERS, 1, noise="student", sampling=SHORT, seed=1)
    with pytest.raises(ParameterError, match="start= was fitted with kind='numbers', got 'yes/no'"):
        complete(ANSWERS, start=start, kind="yes/no")


def test_what_a_warm_start_moves(fits):
    from maxentry.model.match import MeasurementMatch

    fit_, old = fits["limits"].fit, fits["limits"].observations
    extra = Observations.from_array(np.where(SEEN | (np.arange(18) < 3), NOISY, NAN))
    before, after = fit_.data(old), fit_.data(extra)
    match = MeasurementMatch.find(old, extra, np.arange(24), np.arange(18))
    moved = match.move_latent(-1.0 - np.arange(before.limits.rows.size), before, after)
    where = dict(
        zip(
            zip(extra.rows[after.limits.rows], extra.cols[after.limits.rows], strict=True), moved, strict=True
        )
    )
    for k, n in enumerate(before.limits.rows):
        assert where.pop((old.rows[n], old.cols[n])) == -1.0 - k
    assert where
    np.testing.assert_allclose(list(where.values()), (0 - fit_.units.shift) / fit_.units.scale)


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_are_answered_like_fitted_ones(kind, fits):
    p = fits[kind]
    found = fold_in(p, TOLD[kind])
    np.testing.assert_allclose(found.mean, fold_in_mean(p, TOLD[kind]))
    near = np.abs(found.mean - p.mean) < 3 * p.sd + 0.02
    assert near.mean() > 0.97
    if kind == "yes/no":
        assert 0 < found.mean.min() < found.mean.max() < 1


@pytest.mark.parametrize("noise", ["gaussian", "student"])
def test_limits_go_with_transforms_and_student_noise(noise):
    y = np.exp(NUMBERS)
    p = complete(y, 1, sampling=SHORT, seed=1, transform="log", limits=(1.0, None), noise=noise)
    q = complete(NUMBERS, 1, sampling=SHORT, seed=1, limits=(0.0, None), noise=noise)
    np.testing.assert_allclose(np.log(p.interval()[0]), q.interval()[0], atol=1e-6)
    assert p.predictive_interval()[0].min() == 1.0


def test_the_summary_names_the_kind(fits):
    assert "numbers with limits 0 and above" in repr(fits["limits"]) or "limits" in repr(fits["limits"])
    assert "yes/no; answers are probabilities" in repr(fits["yes/no"])
    assert "expected grades; cuts at 1.50" in repr(fits["grades"])


# Standard errors


def test_standard_errors_weigh_measurements(tmp_path):
    r = np.random.default_rng(3)
    se = np.where(r.random(X.shape) < 0.5, 2.0, 0.1)
    y = X + se * r.standard_normal(X.shape)
    i, j = np.nonzero(SEEN)
    given = Observations(X.shape, i, j, y[i, j], se=se[i, j])
    without = complete(np.where(SEEN, y, NAN), 1, sampling=SHORT, seed=1)
    p = complete(given, 1, sampling=SHORT, seed=1)
    errors = [np.sqrt(np.mean((q.mean - X) ** 2)) for q in (p, without)]
    assert errors[0] < 0.5 * errors[1]
    assert p.noise_sd < 0.3 < 1.0 < without.noise_sd
    low, high = p.interval(0.9)
    assert 0.8 < np.mean((low <= X) & (high >= X)) < 0.98
    p.save(tmp_path / "p.npz")
    np.testing.assert_array_equal(Posterior.load(tmp_path / "p.npz").more(2).mean, p.more(2).mean)
    scaled = Observations(X.shape, i, j, 1e3 * y[i, j], se=1e3 * se[i, j])
    np.testing.assert_allclose(
        complete(scaled, 1, sampling=SHORT, seed=1).mean / 1e3, p.mean, rtol=1e-6, atol=1e-9
    )
    with pytest.raises(ParameterError, match="got 261 with one; leave them out"):
        complete(given, 1, noise="student")


def test_standard_errors_go_through_a_transform():
    r = np.random.default_rng(4)
    i, j = np.nonzero(SEEN)
    se, z = r.uniform(0.05, 1.0, i.size), NOISY[i, j]
    logs = complete(Observations(X.shape, i, j, z, se=se), 1, sampling=SHORT, seed=1)
    y = Observations(X.shape, i, j, np.exp(z), se=se * np.exp(z))
    found = complete(y, 1, sampling=SHORT, seed=1, transform="log")
    np.testing.assert_allclose(np.log(found.interval()[0]), logs.interval()[0], atol=1e-6)


# The choice of ranks


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_are_judged_by_log_score(kind):
    p = complete(TOLD[kind], sampling=SHORT, seed=1, **OPTIONS[kind])
    assert p.rank_choice.weights[p.rank_choice.ranks.index(0)] < 0.2
    assert sum(p.rank_choice.weights) == pytest.approx(1)
    assert p.rank_choice.errors[1] < min(p.rank_choice.errors) + 0.03  # rank 1, which made the data
    assert p.rank_choice.errors[0] > min(p.rank_choice.errors) + 0.05


def test_log_scores_are_those_of_the_laws():
    x, law = np.array([[0.3, -1.0, 2.0], [0.1, -3.0, 0.0]]), NoiseLaw(np.array([0.5, 2.0]))
    o = observed([0.2, 0.0, 1.0], low=[0.2, -INF, 0.5], high=[0.2, 0.0, 1.5])
    sd = np.sqrt(law.var)
    density = np.exp(-0.5 * ((0.2 - x[:, 0]) / sd) ** 2) / sd / np.sqrt(2 * np.pi)
    below = ndtr((0 - x[:, 1]) / sd)
    between = ndtr((1.5 - x[:, 2]) / sd) - ndtr((0.5 - x[:, 2]) / sd)
    wanted = np.log([density.mean(), below.mean(), between.mean()])
    np.testing.assert_allclose(GAUSSIAN.log_score(x, o, law), wanted)
    far = GAUSSIAN.log_score(
        np.array([[50.0]]), observed([0.0], low=[-INF], high=[30.0]), NoiseLaw(np.ones(1))
    )
    assert far == pytest.approx(slow.log_probability(-INF, -20.0))


def test_weights_of_a_mixture_find_the_best_and_lean_to_structure_where_nothing_is_known():
    r = np.random.default_rng(1)
    better = r.standard_normal((3, 500)) + np.array([0.0, 3.0, 0.0])[:, None]
    assert mixture_weights(better, (0, 1, 2)).argmax() == 1
    alike = np.zeros((3, 50))
    both = mixture_weights(alike, (0, 1, 2)), stacking_weights(alike, np.zeros(50), (0, 1, 2))
    assert all(weights[0] < 0.1 and weights[1] == pytest.approx(weights[2]) for weights in both)
