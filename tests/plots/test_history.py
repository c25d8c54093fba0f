"""The history of a campaign: that each expected error is computed once, what is drawn, and the pace."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from tests.campaign.examples import answer, ask, begun, truth
from tests.plots.examples import asked

from maxentry import plots
from maxentry.campaign import fits
from maxentry.campaign.campaign import Campaign
from maxentry.errors import ParameterError
from maxentry.plots.records import Chart
from maxentry.summary.error_curve import FILE


def chart(campaign: Campaign, points: int) -> Chart:
    record = plots.history(campaign, points=points).record
    assert isinstance(record, Chart)
    return record


def test_each_error_is_computed_once_and_the_fits_of_the_campaign_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, X = begun(storage=str(tmp_path / "lab.db"), cache=str(tmp_path / "cache")), truth()
    for _ in range(2):
        answer(campaign, ask(campaign, 8), X)
    campaign.posterior(progress=False)
    kept = sorted(file.name for file in (tmp_path / "cache").glob("*.npz"))
    first = chart(campaign, 3).panels[0].series[0]
    assert sorted(file.name for file in (tmp_path / "cache").glob("*.npz")) == kept

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(fits, "fit_posterior", refuse)
    second = chart(campaign, 3).panels[0].series[0]
    np.testing.assert_array_equal(first.y, second.y)
    (tmp_path / "cache" / FILE).write_text("[not json")
    with pytest.raises(AssertionError, match="fitted again"):
        chart(campaign, 3)


def test_the_pace_counts_what_was_asked_and_told() -> None:
    campaign = asked()
    shown = chart(campaign, 0)
    pace = shown.panels[-1]
    by_name = {series.name: series for series in pace.series}
    assert by_name["asked for"].y[-1] == 43
    assert by_name["measured"].y[-1] == 40
    assert (np.diff(by_name["measured"].y) >= 0).all()
    times = list(by_name["measured"].x)
    assert times == sorted(times)
    assert isinstance(times[0], dt.datetime)
    assert [series.name for series in shown.panels[0].series] == [
        "error of predictions",
        "their expected error",
    ]


def test_a_target_is_drawn_and_nothing_at_all_is_said() -> None:
    campaign = begun(target_sd=0.5)
    assert plots.history(campaign).record.note == "no entries asked for or measured yet"
    values = truth()
    for _ in range(2):
        answer(campaign, ask(campaign, 8), values)
    names = [series.name for series in chart(campaign, 1).panels[0].series]
    assert "target" in names


def test_points_that_are_no_number_are_refused() -> None:
    for wrong in (-1, 2.5, True):
        with pytest.raises(ParameterError, match="whole number of points"):
            plots.history(asked(), points=wrong)  # type: ignore[arg-type]
