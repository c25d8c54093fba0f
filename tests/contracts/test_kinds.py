"""Campaigns of yes and no, of grades, and with standing limits: at hand and on a server."""

import math
from typing import Any

import numpy as np
import pytest
from tests.campaign.conftest import cache  # noqa: F401
from tests.contracts.test_campaign_like import QUICK, lab  # noqa: F401

from maxentry.errors import CampaignError, DataError, ParameterError

ROWS, COLS = ["a", "b", "c"], ["x", "y"]
ENTRIES = {"row": ["a", "a", "b", "c"], "col": ["x", "y", "x", "y"]}


def test_yes_and_no(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("trials", ROWS, COLS, kind="yes/no", **QUICK)
    campaign.tell(ENTRIES | {"value": ["yes", "fail", True, "−"]})
    assert campaign.state.values.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert campaign.export(frame="columns")["value"] == ["yes", "no", "yes", "no"]
    assert campaign.export(wide=True, frame="columns")["x"][:2] == ["yes", "yes"]
    campaign.correct(row="a", col="x", value="no")
    assert campaign.export(frame="columns")["value"][0] == "no"
    with pytest.raises(DataError, match=r"expected yes or no .*, got 'perhaps'"):
        campaign.tell(row="b", col="y", value="perhaps")
    with pytest.raises(DataError, match=r"expected yes or no .*, got '<1'"):
        campaign.tell(row="b", col="y", value="<1")
    assert campaign.settings.kind == "yes/no"
    reopened = lab.open("trials")
    assert reopened.settings.kind == "yes/no"
    assert reopened.tell(row="a", col="y", value="fail").known == 1


def test_a_failed_trial_is_no_answer(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("trials", ROWS, COLS, kind="yes/no", **QUICK)
    campaign.ask(2)
    receipt = campaign.tell([1, 2], ["fail", "failed"])
    assert (receipt.told, receipt.failed) == (1, 1)


def test_grades(lab: Any) -> None:  # noqa: F811
    values = ENTRIES | {"value": ["A", "b", "C", "B"]}
    campaign = lab.create("grades", ROWS, COLS, kind="grades", levels=["A", "B", "C"], values=values, **QUICK)
    assert campaign.state.values.tolist() == [1.0, 2.0, 3.0, 2.0]
    assert campaign.export(frame="columns")["value"] == ["A", "B", "C", "B"]
    with pytest.raises(DataError, match="expected one of A, B, C, got 'D'"):
        campaign.tell(row="b", col="y", value="D")
    stars = lab.create("stars", ROWS, COLS, kind="grades", levels=[1, 2, 3, 4, 5], **QUICK)
    stars.tell(ENTRIES | {"value": ["1", 5, 3.0, "4"]})
    assert stars.export(frame="columns")["value"] == [1.0, 5.0, 3.0, 4.0]
    with pytest.raises(DataError, match=r"expected one of the grades \(1, 2, 3, 4, 5\), got 3.5 at row 'b'"):
        stars.tell(row="b", col="y", value=3.5)


def test_a_grade_may_be_called_none(lab: Any) -> None:  # noqa: F811
    levels = ["none", "mild", "severe"]
    campaign = lab.create("severity", ROWS, COLS, kind="grades", levels=levels, **QUICK)
    receipt = campaign.tell(ENTRIES | {"value": ["none", "mild", "None", ""]})
    assert receipt.told == 3
    assert campaign.export(frame="columns")["value"] == ["none", "mild", "none"]
    campaign.correct(row="a", col="y", value="none")
    assert campaign.export(frame="columns")["value"] == ["none", "none", "none"]
    assert (
        campaign.history(frame="columns")["what"][-1]
        == "measurement 2 now none (row 'a', column 'y', was mild)"
    )
    with pytest.raises(CampaignError, match=r"expected the value none recorded for .*, got severe"):
        campaign.tell(row="a", col="x", value="severe")


def test_limits_may_be_open_at_one_end(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("yields", ROWS, COLS, limits=(0, None), **QUICK)
    assert campaign.settings.limits == (0.0, math.inf)


def test_standing_limits(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("yields", ROWS, COLS, limits=(0, 100), **QUICK)
    assert campaign.settings.limits == (0.0, 100.0)
    campaign.tell(ENTRIES | {"value": [0, 100, 50, 20]})
    campaign.set(limits=(-math.inf, 100))
    assert campaign.settings.limits == (-math.inf, 100.0)
    campaign.set(limits=None)
    assert campaign.settings.limits is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "colours"}, "expected kind to be one of 'numbers', 'yes/no', 'grades', got 'colours'"),
        ({"kind": "grades"}, "expected levels"),
        ({"levels": ["A", "B", "C"]}, "levels are for kind='grades'"),
        ({"kind": "grades", "levels": "ABC"}, "expected levels as a list"),
        ({"kind": "yes/no", "limits": (0, 1)}, "limits is for kind='numbers'"),
        ({"kind": "yes/no", "noise": "student"}, "noise is for kind='numbers'"),
        ({"kind": "yes/no", "transform": "log"}, "transform and scale are for kind='numbers'"),
        ({"limits": (0, 100), "transform": "percent"}, "limits must lie within"),
        ({"limits": (5, 1)}, "low below high"),
    ],
)
def test_what_does_not_go_together_is_refused(lab: Any, settings: dict[str, Any], message: str) -> None:  # noqa: F811
    with pytest.raises(ParameterError) as refusal:
        lab.create("none", ROWS, COLS, **QUICK, **settings)
    assert message in str(refusal.value)
    assert lab.list() == []


def test_the_kind_of_a_campaign_stays(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("numbers", ROWS, COLS, **QUICK)
    with pytest.raises(ParameterError, match="a setting that may change"):
        campaign.set(kind="yes/no")


def test_settings_of_before_are_stored_as_ever() -> None:
    from maxentry.campaign.settings import Settings

    plain = Settings(name="c", rows=2, cols=2, seed=1)
    assert {"kind", "levels", "limits"}.isdisjoint(plain.to_json())
    given = Settings(name="c", rows=2, cols=2, seed=1, kind="grades", levels=("A", "B", "C"))
    assert Settings.from_json(given.to_json()) == given
    limited = Settings(name="c", rows=2, cols=2, seed=1, limits=(0, np.inf))
    assert Settings.from_json(limited.to_json()).limits == (0.0, math.inf)


def test_records_say_what_was_told_in_words(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("trials", ROWS, COLS, kind="yes/no", **QUICK)
    campaign.tell(ENTRIES | {"value": ["yes", "no", "yes", "no"]})
    campaign.correct(row="a", col="x", value="no", reason="a slip")
    what = list(campaign.history(frame="columns")["what"])
    assert what[-1] == "measurement 1 now no (row 'a', column 'x', was yes): a slip"


def wide(campaign: Any) -> list[list[Any]]:
    columns = campaign.export(wide=True, frame="columns")
    return [columns["x"], columns["y"]]


def test_a_wide_table_of_repeated_answers_shows_them_all(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("trials", ROWS, COLS, kind="yes/no", again=True, **QUICK)
    campaign.tell(ENTRIES | {"value": ["yes", "no", "yes", "no"]})
    campaign.tell(row=["a", "b"], col=["x", "x"], value=["no", "yes"], again=True)
    assert wide(campaign)[0][:2] == ["yes | no", "yes"]
    stars = lab.create("stars", ROWS, COLS, kind="grades", levels=[1, 2, 3], again=True, **QUICK)
    stars.tell(ENTRIES | {"value": [1, 2, 3, 3]})
    assert wide(stars)[0][:2] == [1.0, 3.0]
    stars.tell(row="a", col="x", value=3, again=True)
    assert wide(stars)[0][:2] == ["1 | 3", 3.0]


def test_a_wide_table_of_repeated_limits_averages_numbers_alone(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("yields", ROWS, COLS, limits=(0, 100), again=True, **QUICK)
    campaign.tell(ENTRIES | {"value": ["<0.5", 100, 3.0, 0]})
    campaign.tell(ENTRIES | {"value": [0.75, 90, 4.0, 0]}, again=True)
    x, y = wide(campaign)
    assert x[:2] == ["<0.5 | 0.75", 3.5]
    assert (y[0], y[2]) == ("100 | 90", 0.0)


def test_a_column_may_be_called_row(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("rows", ROWS, ["row", "y"], **QUICK)
    campaign.tell(row="a", col="row", value=1.5)
    columns = campaign.export(wide=True, frame="columns")
    assert (list(columns), columns["row_"], columns["row"][0]) == (["row_", "row", "y"], ROWS, 1.5)


def test_the_status_says_what_values_are(lab: Any) -> None:  # noqa: F811
    trials = lab.create("trials", ROWS, COLS, kind="yes/no", **QUICK).status()
    assert (trials.kind, trials.levels, trials.limits, trials.at_limit) == ("yes/no", None, None, 0)
    assert "\n  yes/no\n" in str(trials)
    graded = lab.create("grades", ROWS, COLS, kind="grades", levels=["A", "B", 3 * "C"], **QUICK).status()
    assert (graded.kind, graded.levels) == ("grades", ["A", "B", "CCC"])
    assert "\n  grades A, B, CCC\n" in str(graded)


def test_the_status_counts_values_at_a_limit(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("yields", ROWS, COLS, limits=(0, None), **QUICK)
    campaign.tell(ENTRIES | {"value": [0, 100, "<5", 20]})
    status = campaign.status()
    assert (status.kind, status.limits, status.at_limit) == ("numbers", [0.0, None], 2)
    assert "\n  numbers from 0 on, 2 of 4 values at a limit\n" in str(status)
    campaign.set(limits=(None, 100))
    assert campaign.status().limits == [None, 100.0]
    assert list(campaign.history(frame="columns")["what"])[-1] == "limits = up to 100"
    plain = lab.create("plain", ROWS, COLS, **QUICK).status()
    assert (plain.kind, plain.limits, plain.at_limit) == ("numbers", None, 0)
    assert len(str(plain).splitlines()) == 4
