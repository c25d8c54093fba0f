"""Limits and standard errors of a campaign, at hand and on a server: told, corrected, shown and read again."""

import io
import math
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.campaign.conftest import cache  # noqa: F401
from tests.contracts.test_campaign_like import QUICK, lab  # noqa: F401

from maxentry.errors import CampaignError, DataError, LabelError
from maxentry.readings import Reading

inf = math.inf
ROWS, COLS = ["a", "b", "c"], ["x", "y"]


@pytest.fixture
def campaign(lab: Any) -> Any:  # noqa: F811
    return lab.create("limits", ROWS, COLS, **QUICK)


def values(campaign: Any) -> list[Any]:
    return list(campaign.export(frame="columns")["value"])


def test_ways_to_tell_limits(campaign: Any) -> None:
    campaign.tell(row="a", col="x", value="<0.5")
    campaign.tell(row=["a", "b"], col=["y", "x"], value=[">100", 3.0], se=[None, 0.2])
    campaign.tell({"row": ["b"], "col": ["y"], "low": [0.5], "high": [0.7]})
    campaign.tell(io.StringIO("row;col;value;error\nc;x;≤ 1,5;0,1\n"), se="error")
    campaign.tell(row="c", col="y", low=-inf, high=2.0, se=0.3)
    assert values(campaign) == ["<0.5", ">100", 3.0, "0.5..0.7", "<1.5", "<2"]
    assert campaign.export(frame="columns")["se"] == [None, None, 0.2, None, 0.1, 0.3]
    data = campaign.state.observations()
    assert data.low.tolist() == [-inf, 100.0, 3.0, 0.5, -inf, -inf]
    assert data.high.tolist() == [0.5, inf, 3.0, 0.7, 1.5, 2.0]
    assert data.se.tolist() == [0.0, 0.0, 0.2, 0.0, 0.1, 0.3]
    wide = campaign.export(wide=True, frame="columns")
    assert (wide["x"], wide["y"]) == (["<0.5", 3.0, "<1.5"], [">100", "0.5..0.7", "<2"])


def test_a_decimal_comma_is_read_where_it_can_mean_nothing_else(campaign: Any) -> None:
    campaign.tell(row=["a", "b"], col=["x", "y"], value=["<0,5", "1,25"])
    campaign.tell({"row": ["a", "b"], "x": [None, "0,5..0,7"], "y": ["[0,5; 0,7]", None]})
    campaign.tell(pd.DataFrame({"x": ["2,5"], "y": [None]}, index=["c"]))
    campaign.correct(row="b", col="y", value="1,5")
    assert values(campaign) == ["<0.5", 1.5, "0.5..0.7", "0.5..0.7", 2.5]
    for told in ({"value": "1,234"}, {"value": "<1,234"}):
        with pytest.raises(DataError, match=r"'1,234' may mean 1234 or 1\.234\."):
            campaign.tell(row="c", col="y", **told)
    with pytest.raises(DataError, match=r"'1,234' may mean 1234 or 1\.234\."):
        campaign.correct(row="a", col="x", value="1,234")


def test_what_was_exported_can_be_told_again(campaign: Any, lab: Any) -> None:  # noqa: F811
    campaign.tell({"row": ["a", "b"], "col": ["x", "y"], "value": ["<0.5", "1.25"], "se": [0.1, None]})
    long = campaign.export(frame="pandas")
    again = lab.create("again", ROWS, COLS, values=pd.DataFrame(long)[["row", "col", "value", "se"]], **QUICK)
    assert values(again) == values(campaign)
    assert again.state.observations().se.tolist() == [0.1, 0.0]


def test_plain_values_are_exported_as_ever(campaign: Any) -> None:
    campaign.tell(row="a", col="x", value="0.5")
    columns = campaign.export(frame="columns")
    assert columns["value"] == [0.5]
    assert "se" not in columns
    assert campaign.state.observations().is_plain


def test_the_same_limit_again_changes_nothing_and_another_one_is_refused(campaign: Any) -> None:
    campaign.tell(row="a", col="x", value="<0.5")
    assert campaign.tell(row="a", col="x", value="<= 0.5").known == 1
    with pytest.raises(
        CampaignError, match=r"expected the value <0.5 recorded for row 'a', column 'x', got 0.5"
    ):
        campaign.tell(row="a", col="x", value=0.5)
    with pytest.raises(CampaignError, match=r"got <0.5 \(se 0.1\)"):
        campaign.tell(row="a", col="x", value="<0.5", se=0.1)
    assert campaign.tell(row="a", col="x", value="<0.4", again=True).told == 1
    assert values(campaign) == ["<0.5", "<0.4"]


def test_corrections(campaign: Any) -> None:
    campaign.tell({"row": ["a", "b"], "col": ["x", "y"], "value": [0.5, "<2"], "se": [0.1, None]})
    campaign.correct(row="a", col="x", value="<0.4", reason="below the limit")
    campaign.correct(row="b", col="y", value=3, se=0.2)
    assert values(campaign) == ["<0.4", 3.0]
    assert campaign.export(frame="columns")["se"] == [0.1, 0.2]
    assert campaign.export(frame="columns")["corrected"] == [True, True]
    what = list(campaign.history(frame="columns")["what"])
    assert what[-2:] == [
        "measurement 1 now <0.4 (row 'a', column 'x', was 0.5): below the limit",
        "measurement 2 now 3 (row 'b', column 'y', was <2)",
    ]
    campaign.correct(row="a", col="x", value="<0.4")  # as it is
    assert len(campaign.history(frame="columns")["what"]) == len(what)
    campaign.correct(row="a", col="x", value=None)
    assert values(campaign) == [3.0]
    assert campaign.state.observations().low is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": "0.5-0.7"}, "'0.5-0.7' is not a number. Write a number, a limit as <0.5"),
        (
            {"value": 0.5, "se": -1},
            "se: expected a standard error that is finite and not negative, got -1",
        ),
        ({"low": 2, "high": 1}, "expected low at or below high"),
        ({"value": 1.5, "low": 1, "high": 2}, "expected a value, or its limits low and high, got both"),
        ({"value": "<inf"}, "has no finite end"),
    ],
)
def test_what_is_refused_changes_nothing(campaign: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as refusal:
        campaign.tell(row="a", col="x", **given)
    assert message in str(refusal.value)
    assert values(campaign) == []


def test_limits_beyond_the_range_are_refused(lab: Any) -> None:  # noqa: F811
    ranged = lab.create("ranged", ROWS, COLS, range=(0, 100), transform="log", **QUICK)
    ranged.tell(row="a", col="x", value=">100")
    with pytest.raises(DataError, match="expected values from 0 to 100, got >101 at row 'a', column 'y'"):
        ranged.tell(row="a", col="y", value=">101")
    with pytest.raises(DataError, match="expected limits within the log scale, got <0 at row 'a'"):
        ranged.tell(row="a", col="y", value="<0")


def test_lower_and_upper_are_limits_unless_there_are_values(campaign: Any) -> None:
    campaign.tell(io.StringIO("row,col,lower,upper\na,x,,0.5\na,y,1,2\n"))
    with pytest.warns(UserWarning, match="2 columns are not used: 'lower', 'upper'"):  # a confidence interval
        campaign.tell({"row": ["b"], "col": ["x"], "value": [1.0], "lower": [0.5], "upper": [1.5]})
    assert values(campaign) == ["<0.5", "1..2", 1.0]


def test_unused_columns_are_named(campaign: Any) -> None:
    with pytest.warns(UserWarning, match="1 column is not used: 'note'"):
        campaign.tell({"row": ["a"], "col": ["x"], "value": [1.0], "note": ["?"]})


def test_readings_of_records(campaign: Any) -> None:
    campaign.tell({"row": ["a", "b"], "col": ["x", "y"], "value": ["<0.5", 2.0]})
    first, second = campaign.state.measurements
    assert (first.value, first.limits, first.reading) == (0.5, (None, 0.5), Reading(-inf, 0.5))
    assert (second.limits, second.se, second.reading) == (None, None, None)


def test_a_limit_struck_out_does_not_forbid_its_number(campaign: Any) -> None:
    campaign.tell(row="a", col="x", value="<0.5")
    campaign.correct(row="a", col="x", value=None)
    with pytest.raises(CampaignError, match=r"expected a new value .*, got <0.5, which was removed"):
        campaign.tell(row="a", col="x", value="<0.5")
    assert campaign.tell(row="a", col="x", value=0.5).told == 1  # another statement
    campaign.correct(row="a", col="x", value=None)
    assert campaign.tell(row="a", col="x", value=">0.5").told == 1
    with pytest.raises(CampaignError, match=r"got 0\.5"):
        campaign.tell(row="a", col="x", value=0.5)
    assert values(campaign) == [">0.5"]


def test_a_record_knows_what_it_said_before(campaign: Any) -> None:
    campaign.tell(row="a", col="x", value="<0.5")
    campaign.correct(row="a", col="x", value=0.4)
    campaign.correct(row="a", col="x", value="0.3..0.6")
    (measurement,) = campaign.state.measurements
    assert measurement.before == (Reading(-inf, 0.5), 0.4)


def test_a_known_noise_is_a_setting(lab: Any) -> None:  # noqa: F811
    known = lab.create("known", ROWS, COLS, noise_sd=0.1, **QUICK)
    assert known.settings.noise_sd == 0.1
    known.set(noise_sd=None)
    assert known.settings.noise_sd is None


def test_replicates_are_told_when_a_campaign_begins(lab: Any) -> None:  # noqa: F811
    table = {"row": ["a", "a", "b"], "col": ["x", "x", "y"], "value": [1.0, 1.0, 2.0]}
    assert values(lab.create("twice", ROWS, COLS, values=table, **QUICK)) == [1.0, 1.0, 2.0]


# Wide tables


CELLS = {"x": ["<0.5", "", "3"], "y": ["2", "1..2", None]}


@pytest.mark.parametrize("form", ["pandas", "polars", "columns", "file"])
def test_a_wide_table_is_told_cell_by_cell(lab: Any, form: str, tmp_path: Path) -> None:  # noqa: F811
    wide: Any = {"anything": ROWS, **CELLS}
    if form == "pandas":
        wide = pd.DataFrame(CELLS, index=ROWS)
    elif form == "polars":
        wide = pl.DataFrame(wide)
    elif form == "file":
        wide = tmp_path / "wide.csv"
        wide.write_text("row,x,y\na,<0.5,2\nb,NA,1..2\nc,3,\n")
    campaign = lab.create("wide", ROWS, COLS, **QUICK)
    assert campaign.tell(wide).told == 4
    begun = lab.create("begun", ROWS, COLS, values=wide, **QUICK)
    for known in (campaign, begun):
        table = known.export(frame="columns")
        assert list(zip(table["row"], table["col"], strict=True)) == [*zip("aabc", "xyyx", strict=True)]
        assert [str(value) for value in table["value"]] == ["<0.5", "2.0", "1..2", "3.0"]
    assert begun.tell(wide)._replace(awaited=0) == (0, 0, 4, 0)


def test_a_table_with_other_names_is_no_wide_one(lab: Any) -> None:  # noqa: F811
    campaign = lab.create("c", ROWS, COLS, **QUICK)
    with pytest.raises(DataError) as refusal:
        campaign.tell({"ligand": ["a", "b"], "substrate": ["x", "other"], "yield": [1.0, 2.0]})
    assert "'x' is not a number" in str(refusal.value)
    assert "A long table has the columns id (or row and col) and value." in str(refusal.value)
    with pytest.raises(LabelError, match="'z'"):
        campaign.tell(pd.DataFrame({"x": [1.0], "z": [2.0]}, index=["a"]))
    with pytest.raises(
        DataError, match=r"expected columns id \(or row and col\) and value \(or low, high\), got"
    ):
        campaign.tell({"row": ["a"], "value": [1.0]})
    assert values(campaign) == []
    # By the labels of the campaign it is known for a list
    columns = {"ligand": ["a", "b"], "substrate": ["x", "y"], "yield": [1.0, 2.0]}
    with pytest.warns(UserWarning, match="read as a list: row = 'ligand', column = 'substrate'"):
        assert campaign.tell(columns).told == 2
