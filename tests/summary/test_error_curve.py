"""The error curve of a campaign: where its points are, that each is computed once, and how far off predictions were."""

from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth
from tests.plots.examples import asked

from maxentry.campaign import fits as fitting
from maxentry.campaign.campaign import Campaign
from maxentry.posterior.posterior import Posterior
from maxentry.summary.error_curve import (
    FILE,
    ErrorCurve,
    curve_sizes,
    pair_predictions,
    surprises,
)


def test_points_lie_where_a_tell_ended() -> None:
    state = asked().state
    assert curve_sizes(state) == [8, 16, 24, 32, 40]
    assert curve_sizes(state, 3) == [8, 16, 40]
    assert curve_sizes(state, 1) == [40]
    assert curve_sizes(state, 0) == []
    assert curve_sizes(begun().state) == []


def test_an_import_is_one_point() -> None:
    rows, cols = np.divmod(np.arange(60), 9)
    campaign = begun()
    campaign.tell(row=rows, col=cols, value=truth()[rows, cols])
    assert curve_sizes(campaign.state) == [60]
    for k in range(60, 84, 2):
        i, j = np.divmod(np.arange(k, k + 2), 9)
        campaign.tell(row=i, col=j, value=truth()[i, j])
    sizes = curve_sizes(campaign.state)
    assert sizes[0] == 60
    assert sizes[-1] == 84
    assert len(sizes) > 3
    assert all(n % 2 == 0 for n in sizes)


def test_of_single_tells_anchors_are_shown() -> None:
    campaign = begun()
    for k in range(40):
        campaign.tell(row=[k // 9], col=[k % 9], value=[truth()[k // 9, k % 9]])
    sizes = curve_sizes(campaign.state, 5)
    assert sizes == [8, 11, 15, 26, 40]
    assert all(fitting.find_anchor(campaign.state, n) == n for n in sizes[:-1])


def test_the_expected_error_is_that_of_the_posterior_then() -> None:
    campaign, curve = asked(), ErrorCurve()
    assert curve.missing(campaign.state, 3) == [8, 16, 40]
    curve.complete(campaign.state, campaign.posterior, 3)
    assert curve.missing(campaign.state, 3) == []
    points = curve.points(campaign.state)
    assert [p.measurements for p in points] == [8, 16, 40]
    assert points[-1].error == fitting.expected_error(campaign.state, campaign.posterior())
    assert [p.at for p in points] == [campaign.state.standing[p.measurements - 1].told_at for p in points]
    again, X = begun(), truth()
    noise = np.random.default_rng(1)
    answer(again, ask(again, 8), X + 0.05 * noise.normal(size=X.shape))
    assert points[0].error == pytest.approx(fitting.expected_error(again.state, again.posterior()))


def test_a_fit_that_was_made_anyway_adds_its_point() -> None:
    campaign, curve = asked(), ErrorCurve()
    assert curve.points(campaign.state) == []
    curve.add(campaign.state, campaign.posterior())
    assert [p.measurements for p in curve.points(campaign.state)] == [40]


def measured(folder: Path) -> Campaign:
    campaign, X = begun(storage=str(folder / "lab.db"), cache=str(folder / "cache")), truth()
    for _ in range(2):
        answer(campaign, ask(campaign, 8), X)
    return campaign


def test_each_error_is_computed_once_and_the_fits_of_the_campaign_stay(tmp_path: Path) -> None:
    campaign = measured(tmp_path)
    latest = campaign.posterior(progress=False)
    fits = sorted(file.name for file in (tmp_path / "cache").glob("*.npz"))
    curve = ErrorCurve(tmp_path / "cache")
    curve.complete(campaign.state, lambda: latest)
    assert sorted(file.name for file in (tmp_path / "cache").glob("*.npz")) == fits

    def refuse() -> Posterior:
        raise AssertionError("fitted again")

    again = ErrorCurve(tmp_path / "cache")
    again.complete(campaign.state, refuse)
    assert again.points(campaign.state) == curve.points(campaign.state)
    (tmp_path / "cache" / FILE).write_text("[not json")
    with pytest.raises(AssertionError, match="fitted again"):
        ErrorCurve(tmp_path / "cache").complete(campaign.state, refuse)


def test_two_curves_of_one_folder_keep_the_points_of_both(tmp_path: Path) -> None:
    campaign = measured(tmp_path)
    one, other = ErrorCurve(tmp_path / "cache"), ErrorCurve(tmp_path / "cache")
    one.complete(campaign.state, campaign.posterior)
    answer(campaign, ask(campaign, 8), truth())
    other.add(campaign.state, campaign.posterior())
    assert [p.measurements for p in ErrorCurve(tmp_path / "cache").points(campaign.state)] == [8, 16, 24]


def test_surprises_are_by_how_much_values_missed_their_predictions() -> None:
    campaign = asked()
    found = surprises(campaign.state, campaign.posterior)
    asks, values = campaign.asked(frame="columns"), campaign.export(frame="columns")
    told = dict(zip(values["id"], values["value"], strict=True))
    last = range(32, 40)  # ids 33 to 40, told last
    gaps = [told[asks["id"][k]] - asks["mean"][k] for k in last]
    assert found.measurements[-1] == 40
    assert found.error[-1] == pytest.approx(np.sqrt(np.mean(np.square(gaps))))
    noise = campaign.posterior().noise_sd
    expected = np.sqrt(np.mean([asks["sd"][k] ** 2 + noise**2 for k in last]))
    assert found.expected[-1] == pytest.approx(expected)


def test_surprises_of_columns_in_other_units_count_in_the_units_of_the_others() -> None:
    """A column whose logarithms vary forty times as much: its errors are as large as those of others, not more."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.normal(size=(24, 1)) @ rng.choice([-1, 1], (1, 10)) + 0.03 * rng.normal(size=(24, 10))
    X[:, 4] *= 40
    campaign = begun(X.shape, rank=1, transform="log", n_initial=100)
    answer(campaign, ask(campaign, 100), np.exp(X))
    answer(campaign, ask(campaign, 20), np.exp(X))
    posterior = campaign.posterior()
    assert list(posterior.scales) == [4]
    found = surprises(campaign.state, campaign.posterior)
    pairs, scales = pair_predictions(campaign.state), posterior.value_map.scales
    assert scales is not None
    errors = []
    for m, ask_ in pairs:
        ends = (np.log([m.value, ask_.mean]) - scales.shift[m.col]) / scales.factor[m.col]
        errors.append(float(np.diff(np.exp(ends))[0]))
    assert found.error[-1] == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    assert 0.3 < found.error[-1] / found.expected[-1] < 3


def test_without_predictions_there_are_no_surprises_and_no_fit() -> None:
    campaign = begun(acquisition="balanced")
    answer(campaign, ask(campaign, 8), truth())
    campaign.tell(row=[0], col=[0], value=[1.0])

    def refuse() -> Posterior:
        raise AssertionError("fitted")

    assert pair_predictions(campaign.state) == []
    assert [len(x) for x in surprises(campaign.state, refuse)] == [0, 0, 0]
