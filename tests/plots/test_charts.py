"""What charts say is what the draws, the diagnostics and the events say."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.plots.examples import asked, small
from tests.posterior.examples import matrices

from maxentry import Observations, complete, plots
from maxentry.errors import DataError, ParameterError
from maxentry.model.entropy import coherence
from maxentry.plots import charts, report
from maxentry.plots.plot import Subject
from maxentry.plots.records import Chart
from maxentry.summary.held_out import chance_range


def record(plot: plots.Plot) -> Chart:
    assert isinstance(plot.record, Chart)
    return plot.record


def test_singular_values_are_those_of_the_low_rank_part() -> None:
    posterior = small()
    left, right = posterior.belief.left, posterior.belief.right
    values = np.array(
        [np.linalg.svd(A @ B.T, compute_uv=False)[:2] for A, B in zip(left, right, strict=True)]
    )
    (panel,) = record(plots.singular_values(posterior, level=0.8)).panels
    (series,) = panel.series
    np.testing.assert_allclose(series.y, np.median(values, axis=0), rtol=1e-6)
    ends = np.quantile(values, [0.1, 0.9], axis=0, method="weibull")
    np.testing.assert_allclose([series.low, series.high], ends, rtol=1e-6)
    assert panel.from_zero
    assert panel.whole


def test_coherences_are_those_of_the_subspaces_and_the_highest_come_first() -> None:
    posterior = small()
    mu = np.mean([coherence(np.linalg.qr(A)[0]) for A in posterior.belief.left], axis=0)
    rows, _ = record(plots.coherence(posterior)).panels
    dots = rows.series[1]
    assert rows.names == tuple(f"r{k}" for k in np.argsort(-mu))
    np.testing.assert_allclose(dots.x, np.sort(mu)[::-1] * len(mu) / 2, rtol=1e-6)
    mean, low, high = charts.coherence_intervals(posterior.draws.left, 0.9)
    assert mean.sum() == pytest.approx(2)
    assert (low <= mean).all()
    assert (mean <= high).all()


def test_rank_0_has_no_low_rank_part_to_show() -> None:
    for plot in (plots.singular_values(small(rank=0)), plots.coherence(small(rank=0))):
        assert record(plot).panels == ()
        assert "rank 0" in record(plot).note
        assert plot.matplotlib() is not None
        assert plot.plotly() is not None
    assert len(record(plots.trace(small(rank=0))).panels) == 2


def test_places_are_those_of_the_predictive_law() -> None:
    posterior = small(transform="log")
    subject = Subject.check(posterior)
    entries, values = subject.measured, subject.values
    found = charts.predict_by_posterior(posterior, entries, values, 0.9)
    X = matrices(posterior).reshape(-1, 12, 9)[:, entries.rows, entries.cols]
    expected = stats.norm.cdf(np.log(values), X, np.sqrt(posterior.belief.noise_var)[:, None]).mean(0)
    np.testing.assert_allclose(found.place, expected, rtol=1e-8)
    inside = (found.low <= values) & (values <= found.high)
    assert (
        np.mean(inside == (np.abs(2 * found.place - 1) <= 0.9)) > 0.9
    )  # the interval is made of noisy copies


def test_coverage_of_right_intervals_is_in_the_band_and_of_wrong_ones_is_not() -> None:
    rng, n = np.random.default_rng(0), 2000
    place = rng.random(n)

    def outside(u: np.ndarray) -> float:
        band, _, covered = charts.coverage_panel(u).series
        return float(np.mean((covered.y < band.low) | (covered.y > band.high)))

    assert outside(place) < 0.3
    too_narrow = stats.norm.cdf(1.3 * stats.norm.ppf(place))
    assert outside(too_narrow) > 0.8


def test_held_out_values_are_read_by_label_and_judged() -> None:
    posterior = small()
    rows, cols = ["r1", "r0", "r7"], ["c3", "c2", "c3"]
    held = {"row": rows, "col": cols, "value": [1.0, 2.0, 90.0]}
    shown = record(plots.calibration(posterior, pd.DataFrame(held)))
    assert shown.note.startswith("values held out of the fit; ")
    assert "% of 3 inside their 90% intervals (" in shown.note
    assert shown.note.endswith(" have: 67% to 100% of 3)")
    expected = posterior.predict(rows, cols)
    dots = shown.panels[0].series[1]
    by_value = np.argsort(dots.x)
    np.testing.assert_allclose(dots.x[by_value], [1.0, 2.0, 90.0])
    np.testing.assert_allclose(dots.y[by_value], expected.mean)
    np.testing.assert_allclose(dots.high[by_value], expected.new_high)
    assert dots.high[by_value][2] < 90
    with pytest.raises(DataError, match="held-out values of a"):
        plots.calibration(posterior, np.ones((2, 2)))
    m1, _ = posterior.shape
    unnamed = pd.DataFrame(np.full((m1, 2), 2.0), columns=["c3", "c2"])  # rows by position, columns by label
    assert f"of {2 * m1} inside" in record(plots.calibration(posterior, unnamed)).note
    with pytest.raises(DataError, match="held-out values of a"):
        plots.calibration(posterior, unnamed[:2].reset_index(drop=True))


def test_values_at_a_limit_are_judged_by_the_law_of_what_is_shown() -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(30, 1)) @ rng.normal(size=(1, 20)) + 0.3 * rng.normal(size=(30, 20))
    shown, known = np.maximum(Y, 0.0), rng.random(Y.shape) < 0.5
    told, held = np.where(known, shown, np.nan), np.where(known, np.nan, shown)
    posterior = complete(told, 1, limits=(0, None), seed=1, progress=False)
    found, _ = charts._predictions(Subject.check(posterior), held, 0.9)
    at_limit = found.value == 0
    assert 0.3 < at_limit.mean() < 0.7
    assert stats.kstest(found.place, "uniform").pvalue > 0.01
    assert (
        stats.kstest(found.place[~at_limit], "uniform").pvalue < 0.01
    )  # those above the limit alone are not
    assert np.nanmin(found.low) >= 0
    fitted, _ = charts._predictions(Subject.check(posterior), None, 0.9)
    assert len(fitted.value) == known.sum()
    as_text = np.where(held == 0, "<0", held.astype(str)).astype(object)
    said, _ = charts._predictions(Subject.check(posterior), np.where(known, "", as_text), 0.9)
    np.testing.assert_allclose(np.sort(said.place), np.sort(found.place))
    assert "held out" in record(plots.calibration(posterior, held)).note


def test_standard_errors_of_held_out_values_are_noise_besides() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 1)) @ rng.normal(size=(1, 20))
    se = np.where(rng.random(X.shape) < 0.5, 0.1, 2.0)
    known, Y = rng.random(X.shape) < 0.5, X + se * rng.normal(size=X.shape)

    def part(which: np.ndarray) -> Observations:
        i, j = np.nonzero(which)
        return Observations(X.shape, i, j, Y[i, j], se=se[i, j])

    posterior = complete(part(known), 1, seed=1, progress=False)
    found, _ = charts._predictions(Subject.check(posterior), part(~known), 0.9)
    assert stats.kstest(found.place, "uniform").pvalue > 0.01
    drawn = ~np.isnan(found.low)
    inside = (found.low <= found.value) & (found.value <= found.high)
    assert 0.83 < np.mean(inside[drawn]) < 0.97
    entries = found.entries
    plain = charts.predict_by_posterior(posterior, entries, found.value, 0.9)
    assert np.mean(np.abs(2 * plain.place - 1) <= 0.9) < 0.75


def test_a_posterior_alone_is_judged_by_its_own_values_and_says_so() -> None:
    assert "fitted, so they look better" in record(plots.calibration(small())).note


def test_a_campaign_is_judged_by_what_it_believed_before() -> None:
    campaign = asked()
    shown = record(plots.calibration(campaign))
    found = charts.predictions_from_asks(Subject.check(campaign), 0.9)
    asks = campaign.asked(frame="columns")
    believed = [k for k, sd in enumerate(asks["sd"]) if asks["status"][k] == "told" and sd == sd]
    assert "predictions stored when they were asked for" in shown.note
    assert found.mean.tolist() == [asks["mean"][k] for k in believed]
    sd = np.hypot([asks["sd"][k] for k in believed], campaign.posterior().noise_sd)
    np.testing.assert_allclose(found.place, stats.norm.cdf(found.value, found.mean, sd), rtol=1e-6)
    np.testing.assert_allclose(found.high - found.mean, stats.norm.ppf(0.95) * sd, rtol=1e-6)


def test_traces_are_the_draws_chain_by_chain() -> None:
    posterior = small()
    noise, level, leading = record(plots.trace(posterior)).panels
    (line,) = noise.series
    np.testing.assert_allclose(line.y.reshape(4, -1)[:, :-1], np.sqrt(posterior.draws.eta2))
    assert np.isnan(line.y.reshape(4, -1)[:, -1]).all()
    assert (level.title, leading.title) == ("overall mean", "leading singular value")


def test_rhat_is_that_of_the_diagnostics() -> None:
    found = small().diagnostics
    (panel,) = record(plots.rhat(small())).panels
    limit, each, medians = panel.series
    np.testing.assert_array_equal(each.x, found.rhat)
    assert panel.names == tuple(dict.fromkeys(found.groups))
    assert medians.x[panel.names.index("eta2")] == np.median(found.rhat[found.in_group("eta2")])
    assert limit.x[0] == 1.1
    assert (
        "and not by R-hat; right of the dotted line (1.1) chains disagree" in record(plots.rhat(small())).note
    )
    nearest = np.rint(each.y).astype(int)
    assert [panel.names[k] for k in nearest] == list(found.groups)


def test_reasons_can_be_checked_on_the_maps() -> None:
    campaign = asked()
    subject = Subject.check(campaign)
    batch = subject.next_batch(3)
    table = report.next_section(subject, 3, lambda _: "")["batch"]
    posterior = campaign.posterior()
    typical = np.median(posterior.sd)
    for k, line in enumerate(table.rows):
        cells = dict(zip(table.columns, line, strict=True))
        i, j = int(batch.rows[k]), int(batch.cols[k])
        assert (cells["row"], cells["column"]) == (str(i), str(j))
        assert cells["uncertainty (sd)"] == f"{posterior.sd[i, j]:.4g}"
        assert f"{posterior.sd[i, j] / typical:.2g} times the typical entry's" in cells["why"]
        assert f"{campaign.state.row_counts[i] or 'none'} of its row" in cells["why"]


def test_only_labels_that_are_none_are_positions() -> None:
    posterior = complete(np.array([[1.0, 2], [3, np.nan], [2, 2]]), 0, seed=1, progress=False)
    assert plots.mean(posterior).record.rows.names == ("0", "1", "2")  # type: ignore[union-attr]


def test_best_entries_and_those_that_may_be_better() -> None:
    posterior = small()
    found = posterior.answer("best per column")
    (panel,) = record(plots.best(posterior, per="column")).panels
    assert len(panel.names) == len(found.table["row"])
    chosen, *others = panel.series
    place = np.asarray(found.table["place"])
    np.testing.assert_allclose(chosen.x, found.table["estimate"][place > 0])
    np.testing.assert_allclose(chosen.low, found.table["low"][place > 0])
    assert sum(len(s.y) for s in others) == (place == 0).sum()
    assert "Expected regret" in record(plots.best(posterior, per="column")).note
    for plot in (plots.best(posterior, 3), plots.best(posterior, smallest=True)):
        assert plot.matplotlib() is not None
        assert plot.plotly() is not None


def test_a_ranking_has_the_best_first_and_marks_those_that_may_be_it() -> None:
    posterior = small()
    found = posterior.ranking("columns")
    (panel,) = record(plots.ranking(posterior, "columns")).panels
    leading, *others = panel.series
    assert len(leading.y) == (found.rank_low == 1).sum()
    assert len(leading.y) + sum(len(s.y) for s in others) == 9
    np.testing.assert_allclose(leading.x, found.estimate[found.rank_low == 1])
    assert plots.ranking(posterior).matplotlib() is not None
    assert plots.ranking(posterior, smallest=True).plotly() is not None
    assert len(record(plots.ranking(small(shape=(50, 4)))).panels[0].names) == charts.LISTED
    with pytest.raises(ParameterError, match="got 'cells'"):
        plots.ranking(posterior, "cells")  # type: ignore[arg-type]


def test_a_share_is_judged_by_what_chance_allows() -> None:
    assert charts._judge_share(8 / 14, 14, 0.9) == " (right ones have: 79% to 100% of 14)"
    assert charts._judge_share(11 / 14, 14, 0.9) == " (as right intervals have: 79% to 100% of 14)"
    low, high = chance_range(14, 0.9)
    shares = np.random.default_rng(1).binomial(14, 0.9, 20_000) / 14
    assert (
        0.9 <= np.mean((shares >= low) & (shares <= high)) < 0.97
    )  # counts are whole, so a little more than 90%
