"""Where new users stumble: labels in files, costs that come later, words of refusals, names of long tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.run import answer, good, refused


def test_labels_are_added_from_files() -> None:
    good("new", "lab", "--shape", "3x2", "--seed", "1")
    Path("new.txt").write_text("c3\nc4\n\n")
    Path("more.csv").write_text("id,name\n1,c5\n2,c6\n")
    assert answer("add-cols", "new.txt", "c9", "more.csv:name")["cols"] == 7
    assert "'c3', 'c4', 'c9', 'c5', 'c6'" in good("history").stdout


def test_a_file_that_is_not_there_is_no_label() -> None:
    good("new", "lab", "--shape", "3x2")
    assert refused("add-cols", "neu.txt") == "neu.txt does not exist. If it is a label, say --label neu.txt."
    assert answer("add-cols", "--label", "neu.txt")["cols"] == 3
    assert "expected at least one label" in refused("add-rows", code=2)


def test_new_columns_have_costs_where_there_were_none() -> None:
    good("new", "lab", "--shape", "3x2", "--seed", "1")
    good("add-cols", "dear", "--cost", "3")
    good("add-rows", "slow", "--cost", "5")
    good("ask", "12", "-o", "all.csv")
    lines = [line.split(",") for line in Path("all.csv").read_text().splitlines()[1:]]
    costs = {(row, col): float(cost) for _, row, col, _, _, _, cost, _ in lines}
    assert costs["r1", "c1"] == 1
    assert costs["r1", "dear"] == 3
    assert costs["slow", "c1"] == 6
    assert costs["slow", "dear"] == 8


def test_dropped_settings_read_right_in_the_history() -> None:
    good("new", "lab", "--shape", "3x2", "--budget", "9")
    Path("costs.csv").write_text("row,cost\nr1,1\nr2,2\nr3,3\n")
    good("set", "--costs", "costs.csv")
    good("set", "--drop", "costs", "--drop", "budget")
    said = good("history").stdout.splitlines()
    assert said[-2].endswith("costs given")
    assert said[-1].endswith('"costs dropped, budget dropped"')


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("ask", "ten"), "Invalid value for 'n': 'ten' is not a whole number."),
        (("ask", "1.5"), "Invalid value for 'n': '1.5' is not a whole number."),
        (("ask", "0"), "Invalid value for 'n': expected at least 1, got 0."),
        (("posterior", "--level", "high"), "Invalid value for '--level': 'high' is not a number."),
    ],
)
def test_a_wrong_number_is_refused_in_plain_words(words: tuple[str, ...], says: str) -> None:
    assert refused(*words, code=2).splitlines()[-1] == says


def test_a_long_table_with_other_names_is_told_how_to_be_read() -> None:
    Path("runs.csv").write_text("ligand,substrate,yield\nL1,S1,1.5\nL2,S2,2\nL3,S1,3\n")
    said = refused("new", "lab", "--from", "runs.csv")
    assert "pass --names ligand,substrate,yield." in said
    assert answer("new", "lab", "--from", "runs.csv", "--names", "ligand,substrate,yield")["told"] == 3
    Path("twice.csv").write_text("ligand,substrate,yield\nL1,S1,1.5\nL1,S2,2\n")
    assert "pass --names ROW,COL,VALUE" in refused("new", "x", "--from", "twice.csv")
    Path("wide.csv").write_text("ligand,S1,S2\nL1,abc,2\nL2,3,4\n")
    assert "--names" not in refused("new", "x", "--from", "wide.csv")


def test_rows_and_columns_are_removed() -> None:
    good("new", "lab", "--shape", "4x3", "--seed", "1")
    good("tell", "--row", "r2", "--col", "c1", "--value", "1.5")
    found = answer("remove-rows", "r2", "r4")
    assert found == {"campaign": "lab", "rows": 2, "cols": 3, "struck_out": 1}
    assert "lab: now 2 rows, 2 columns." in good("remove-cols", "c3").stderr
    said = good("history").stdout.splitlines()
    assert [line.split(",")[3] for line in said[-2:]] == ["rows_removed", "cols_removed"]
    assert "at least two rows to stay" in refused("remove-rows", "r1")


def test_a_campaign_is_renamed_and_deleted() -> None:
    good("new", "lab", "--shape", "4x3")
    assert answer("rename", "yields") == {"campaign": "yields", "before": "lab"}
    assert good("list").stdout == "yields\n"
    assert (
        "not deleted: expected the name 'yields', got 'lab'"
        in refused("delete", "yields", stdin="lab\n").lower()
    )
    assert "Deleted yields (2 events)." in good("delete", "yields", stdin="yields\n").stderr
    assert good("list").stdout == ""
    good("new", "lab", "--shape", "4x3")
    assert answer("delete", "lab", "--confirm", "lab") == {"campaign": "lab", "events": 1}
