"""The history of a campaign: where the expected error is computed, that it is computed once, and what was believed."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth
from tests.plots.examples import asked

from maxentry import plots
from maxentry.campaign import fits, stop
from maxentry.errors import ParameterError
from maxentry.plots import past
from maxentry.plots.subject import Subject


def test_points_are_anchors_and_the_present() -> None:
    subject = Subject.of(asked())
    assert past.moments(subject, 8) == [8, 11, 15, 20, 26, 34, 40]
    assert past.moments(subject, 3) == [8, 34, 40]
    assert past.moments(subject, 1) == [40]
    assert past.moments(subject, 0) == []
    assert all(fits.anchor(n) == n for n in past.moments(subject, 8)[:-1])
    assert past.moments(Subject.of(begun()), 8) == []


def test_the_expected_error_is_that_of_the_posterior_then() -> None:
    campaign = asked()
    subject = Subject.of(campaign)
    assert past.expected_error(subject, 40) == stop.expected_error(campaign.state, campaign.posterior())
    again, X = begun(), truth()
    noise = np.random.default_rng(1)
    for _ in range(3):
        answer(again, ask(again, 8), X + 0.05 * noise.normal(size=X.shape))
    assert past.expected_error(subject, 24) == pytest.approx(
        stop.expected_error(again.state, again.posterior())
    )


def test_each_error_is_computed_once_and_the_fits_of_the_campaign_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, X = begun(storage=str(tmp_path / "lab.db"), cache=str(tmp_path / "cache")), truth()
    for _ in range(2):
        answer(campaign, ask(campaign, 8), X)
    campaign.posterior(progress=False)
    kept = sorted(file.name for file in (tmp_path / "cache").glob("*.npz"))
    first = past.history(Subject.of(campaign), points=3).panels[0].series[0]
    assert sorted(file.name for file in (tmp_path / "cache").glob("*.npz")) == kept

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(fits, "posterior", refuse)
    second = past.history(Subject.of(campaign), points=3).panels[0].series[0]
    np.testing.assert_array_equal(first.y, second.y)
    (tmp_path / "cache" / past.FILE).write_text("[not json")
    with pytest.raises(AssertionError, match="fitted again"):
        past.history(Subject.of(campaign), points=3)


def test_surprises_are_by_how_much_values_missed_what_was_believed() -> None:
    campaign = asked()
    at, missed, believed = past.surprises(Subject.of(campaign))
    asks = campaign.asked(frame="columns")
    told = dict(
        zip(campaign.export(frame="columns")["id"], campaign.export(frame="columns")["value"], strict=True)
    )
    last = range(32, 40)  # ids 33 to 40, told last
    gaps = [told[asks["id"][k]] - asks["mean"][k] for k in last]
    assert at[-1] == 40
    assert missed[-1] == pytest.approx(np.sqrt(np.mean(np.square(gaps))))
    noise = campaign.posterior().noise_sd
    assert believed[-1] == pytest.approx(np.sqrt(np.mean([asks["sd"][k] ** 2 + noise**2 for k in last])))


def test_the_pace_counts_what_was_asked_and_told() -> None:
    campaign = asked()
    chart = past.history(Subject.of(campaign), points=0)
    pace = chart.panels[-1]
    by_name = {series.name: series for series in pace.series}
    assert by_name["asked for"].y[-1] == 43
    assert by_name["told"].y[-1] == 40
    assert (np.diff(by_name["told"].y) >= 0).all()
    times = list(by_name["told"].x)
    assert times == sorted(times)
    assert isinstance(times[0], dt.datetime)
    assert [series.name for series in chart.panels[0].series] == [
        "how far off asked entries were",
        "what was expected of that",
    ]


def test_a_target_is_drawn_and_nothing_at_all_is_said() -> None:
    campaign = begun(target_sd=0.5)
    assert plots.history(campaign).record.note == "nothing has happened yet"
    values = truth()
    for _ in range(2):
        answer(campaign, ask(campaign, 8), values)
    names = [series.name for series in past.history(Subject.of(campaign), points=1).panels[0].series]
    assert "target" in names


def test_points_that_are_no_number_are_refused() -> None:
    for wrong in (-1, 2.5, True):
        with pytest.raises(ParameterError, match="whole number of points"):
            plots.history(asked(), points=wrong)  # type: ignore[arg-type]
