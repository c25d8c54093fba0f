"""Campaigns from the shell: begun, asked, told, amended, looked at."""

import datetime as dt
import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.run import answer, good, refused, run

from maxentry.campaign.campaign import Campaign
from maxentry.cli.output import ExitCode, next_options

PLATE = ["id", "row", "col", "mean", "sd", "gain", "cost", "value"]


def begin(*words: object, shape: str = "6x5", name: str = "lab") -> None:
    good("new", name, "--shape", shape, "--seed", 1, "--acquisition", "balanced", *words)


def fill(path: str, values: list[object]) -> pd.DataFrame:
    """Write these values into a plate, as a user in a spreadsheet would."""
    plate = pd.read_csv(path, dtype={"value": object})
    plate["value"] = values
    plate.to_csv(path, index=False)
    return plate


# Beginning


def test_rows_and_columns_by_count() -> None:
    found = answer("new", "lab", "--shape", "3x2", "--seed", 7)
    assert found == {"campaign": "lab", "rows": 3, "cols": 2, "told": 0, "available": 6, "seed": 7}
    with Campaign.open("maxentry.db") as campaign:
        assert campaign.settings.rows == ("r1", "r2", "r3")
        assert campaign.settings.cols == ("c1", "c2")


def test_rows_and_columns_from_files_or_one_by_one() -> None:
    Path("rows.txt").write_text("A\nB\n")
    good("new", "lab", "--rows", "rows.txt", "--col", "x", "--col", "y")
    with Campaign.open("maxentry.db") as campaign:
        assert (campaign.settings.rows, campaign.settings.cols) == (("A", "B"), ("x", "y"))


def test_a_table_brings_labels_and_values() -> None:
    Path("yields.csv").write_text("ligand,S1,S2\nL1,1.5,\nL2,,NA\nL3,0,2\n")
    assert answer("new", "lab", "--from", "yields.csv")["told"] == 3
    assert good("export", "--wide").stdout == "ligand,S1,S2\nL1,1.5,\nL2,,\nL3,0,2\n"


def test_a_table_brings_values_of_more_rows_than_it_has() -> None:
    Path("yields.csv").write_text("ligand,S1,S2\nL1,1.5,\n")
    good("new", "lab", "--from", "yields.csv", "--row", "L0", "--row", "L1")
    assert good("export", "--wide").stdout == "ligand,S1,S2\nL0,,\nL1,1.5,\n"


def test_a_table_with_a_value_that_is_refused_leaves_no_campaign_behind() -> None:
    Path("yields.csv").write_text("ligand,S1,S2\nL1,1.5,\nL2,200,NA\n")
    said = refused("new", "lab", "--from", "yields.csv", "--range", "0,100")
    assert "expected values from 0 to 100" in said.lower()
    assert not Path("maxentry.db").exists()


def test_all_settings_arrive() -> None:
    Path("rows.csv").write_text("row,cost\nr1,2\nr2,3\nr3,4\n")
    Path("mask.csv").write_text("m,c1,c2\nr1,1,1\nr2,0,1\nr3,1,1\n")
    good(
        "new", "lab", "--shape", "3x2", "--rank", 1, "--acquisition", "maxent", "--noise", "student", "--no-effects",
        "--transform", "percent", "--range", "1,", "--costs", "rows.csv", "--mask", "mask.csv", "--budget", 50,
        "--target-sd", 0.5, "--lease", "12h", "--n-initial", 4, "--again", "--per-row", 1, "--per-col", 2, "--seed", 3,
    )  # fmt: skip
    with Campaign.open("maxentry.db") as campaign:
        s = campaign.settings
    assert (s.rank, s.acquisition, s.noise, s.effects, s.transform) == (
        1,
        "maxent",
        "student",
        False,
        "logit(0, 100)",
    )
    assert (s.range, s.budget, s.target_sd, s.lease) == ((1, float("inf")), 50, 0.5, 12 * 3600)
    assert (s.n_initial, s.again, s.per_row, s.per_col, s.seed) == (4, True, 1, 2, 3)
    assert s.costs.row is not None
    assert s.costs.row.tolist() == [2, 3, 4]
    assert s.mask is not None
    assert s.mask.sum() == 5


def test_the_next_command_is_one_that_works(folder: Path) -> None:
    for words, env, command in (
        ([], {}, "maxentry ask 6 -o plate.csv"),
        (["-s", "a.db"], {}, "maxentry ask 6 -o plate.csv --storage a.db"),
        ([], {"MAXENTRY_STORAGE": "b.db"}, "maxentry ask 6 -o plate.csv"),
    ):
        said = good("new", "lab", "--shape", "6x5", *words, env=env).stderr
        assert f"Next: {command}\n" in said
        good(*command.split()[1:], env=env)
        (folder / "plate.csv").unlink()


def test_the_next_command_names_the_campaign_where_it_must() -> None:
    begin("-s", "a b.db", name="one")
    said = good("new", "two", "--shape", "6x5", "--acquisition", "balanced", "-s", "a b.db").stderr
    command = "maxentry ask 6 -o plate.csv --storage 'a b.db' --campaign two"
    assert f"Next: {command}\n" in said
    said = good(*shlex.split(command)[1:]).stderr
    command = "maxentry tell plate.csv --storage 'a b.db' --campaign two"
    assert f"then: {command}\n" in said
    good(*shlex.split(command)[1:])


def test_the_environment_names_another_campaign() -> None:
    begin(name="one")
    env = {"MAXENTRY_CAMPAIGN": "one"}
    assert "--campaign two\n" in good("new", "two", "--shape", "6x5", env=env).stderr
    assert "then: maxentry tell p.csv\n" in good("ask", 1, "-o", "p.csv", env=env).stderr


def test_several_campaigns_are_refused_with_how_to_name_one() -> None:
    begin(name="one")
    begin(name="two")
    told = "('one', 'two'), got no name. Name one by --campaign (-c) or MAXENTRY_CAMPAIGN."
    assert told in refused("status", "--fast")


def test_fewer_than_asked_for_say_why() -> None:
    begin("--budget", 4, "--n-initial", 0)
    assert "the budget of 4 pays for no more" in good("ask", 9, "-o", "p.csv").stderr
    good("set", "--budget", 90)
    assert "within these limits" in good("ask", 9, "--per-row", 1, "-o", "q.csv").stderr
    assert ": no more are left." in good("ask", 40, "-o", "r.csv").stderr


def test_what_is_pending_from_before_is_named() -> None:
    begin()
    assert "pending from before" not in good("ask", 2, "-o", "p.csv").stderr
    said = good("ask", 1, "-o", "p.csv", "--force").stderr
    assert "Ids 1, 2 pending from before; all of it: maxentry export --pending\n" in said


def test_passwords_are_not_repeated() -> None:
    assert next_options("postgresql://ada:secret@host/lab") == ""
    assert next_options("postgresql://host/lab?password=secret") == ""


@pytest.mark.parametrize(
    "wrong", ["postgresql://ada:secret@host:port/lab", "postgresql:/ada:secret@host/lab"]
)
def test_passwords_are_in_no_message(wrong: str) -> None:
    for words in (["new", "lab", "--shape", "3x3"], ["status"], ["list"]):
        assert "secret" not in refused(*words, "--storage", wrong)
        assert "secret" not in run(*words, "--storage", wrong, "--json").stdout


def test_a_name_twice_is_refused() -> None:
    begin()
    assert "'lab', which is taken" in refused("new", "lab", "--shape", "3x3")


# Which campaign


def test_the_storage_and_the_campaign_by_option_or_environment() -> None:
    refused("status")
    begin("--storage", "other.db", name="one")
    begin("--storage", "other.db", name="two")
    assert not Path("maxentry.db").exists()
    env = {"MAXENTRY_STORAGE": "sqlite:///other.db"}
    assert good("list", env=env).stdout == "one\ntwo\n"
    assert answer("list", "-s", "other.db") == {"campaigns": ["one", "two"]}
    assert "'one', 'two'" in refused("status", "--fast", env=env)
    assert answer("status", "--fast", "-c", "two", env=env)["name"] == "two"
    assert answer("status", "--fast", env={**env, "MAXENTRY_CAMPAIGN": "one"})["name"] == "one"
    assert "'three'" in refused("status", "-c", "three", env=env)


def test_no_storage_says_how_to_begin() -> None:
    assert "Create a campaign with `maxentry new`" in refused("ask", 3)
    assert refused("ask", 3, "-s", "no/lab.db").startswith(
        "Expected a file of campaigns at no/lab.db, got none. "
    )
    Path("text.db").write_text("not a database, but long enough to be looked at")
    assert "got a file that is not SQLite" in refused("status", "-s", "text.db")
    assert "mysql" in refused("status", "-s", "mysql://host/db")


# The lab loop


def test_three_commands() -> None:
    begin()
    asked = good("ask", 4, "-o", "plate.csv")
    assert asked.stdout == ""
    assert "Wrote plate.csv (4 lines).\n4 entries asked." in asked.stderr
    plate = fill("plate.csv", ["1.5", "", "failed", "2"])
    assert list(plate.columns) == PLATE
    assert answer("tell", "plate.csv") == {
        "campaign": "lab",
        "told": 2,
        "failed": 1,
        "known": 0,
        "awaited": 1,
    }
    assert answer("tell", "plate.csv") == {
        "campaign": "lab",
        "told": 0,
        "failed": 0,
        "known": 3,
        "awaited": 1,
    }
    assert answer("status", "--fast")["pending"] == 1
    fill("plate.csv", ["1.5", "0.25", "failed", "2"])
    assert "1 value told, 3 known already." in good("tell", "plate.csv").stderr
    export = answer("export")["entries"]
    assert [(e["id"], e["value"]) for e in export] == [(1, 1.5), (4, 2.0), (2, 0.25)]
    assert [e["row"] for e in export] == [plate.row[0], plate.row[3], plate.row[1]]


def test_the_plate_on_stdout_and_back_on_stdin() -> None:
    begin()
    shown = good("ask", 2, "-o", "-").stdout
    assert shown.splitlines()[0] == ",".join(PLATE)
    told = "\n".join(line + "3.5" if k else line for k, line in enumerate(shown.splitlines()))
    assert answer("tell", "-", stdin=told)["told"] == 2


def test_plates_as_parquet_by_name_and_by_wish() -> None:
    begin()
    good("ask", 3, "-o", "plate.parquet")
    plate = pd.read_parquet("plate.parquet")
    assert list(plate.columns) == PLATE
    plate["value"] = [1.0, None, 2.0]
    plate.to_parquet("plate.parquet")
    assert answer("tell", "plate.parquet") == {
        "campaign": "lab",
        "told": 2,
        "failed": 0,
        "known": 0,
        "awaited": 1,
    }
    raw = good("ask", 1, "--format", "parquet").stdout_bytes
    assert raw[:4] == b"PAR1"
    assert answer("tell", "-", stdin=raw)["awaited"] == 1


def test_semicolons_and_decimal_commas() -> None:
    begin()
    Path("old.csv").write_text("row;col;value\nr1;c1;1,5\nr2;c2;failed\n")
    assert answer("tell", "old.csv")["failed"] == 1
    assert answer("export")["entries"][0]["value"] == 1.5


def test_measurements_nobody_asked_for() -> None:
    begin()
    Path("long.csv").write_text("Row,Column,Value\nr1,c1,1\nr2,c2,2\n")
    Path("wide.csv").write_text("x,c1,c2\nr3,3,\nr4,,4\n")
    Path("runs.csv").write_text("ligand,substrate,yield\nr5,c5,5\n")
    good("tell", "long.csv")
    good("tell", "wide.csv")
    good("tell", "runs.csv", "--names", "ligand,substrate,yield")
    good("tell", "--row", "r6", "--col", "c1", "--value", "-6.5")
    assert [e["value"] for e in answer("export")["entries"]] == [1, 2, 3, 4, 5, -6.5]


def test_an_entry_fails_by_its_labels_asked_for_or_not() -> None:
    begin()
    assert answer("fail", "--row", "r2", "--col", "c2", "--reason", "spilled") == {
        "campaign": "lab",
        "failed": [1],
    }
    assert answer("fail", "--row", "r2", "--col", "c2", "--retry")["failed"] == [1]
    asked = answer("ask", "2")["entries"]
    first = asked[0]
    assert answer("fail", "--row", first["row"], "--col", first["col"])["failed"] == [first["id"]]
    good("tell", "--row", asked[1]["row"], "--col", asked[1]["col"], "--value", "1")
    assert "which has one" in refused("fail", "--row", asked[1]["row"], "--col", asked[1]["col"])
    for wrong in (["--row", "r1"], ["1", "--row", "r1", "--col", "c1"], []):
        assert run("fail", *wrong).exit_code == 2
    history = answer("history")["events"]
    assert [line["what"] for line in history[1:3]] == ["id 1: tried without being asked for", "id 1: spilled"]


def test_one_value_by_id_and_a_failure() -> None:
    begin()
    good("ask", 2)
    good("tell", "--id", 1, "--value", 0)
    assert answer("tell", "--id", 2, "--value", "failed")["failed"] == 1
    assert good("fail", 2, "--retry").stderr == "1 entry failed; it may be asked for again.\n"
    assert good("fail", 2).stderr == "1 entry failed; it will not be asked for again (--retry).\n"


def test_nothing_is_taken_of_a_table_with_a_mistake() -> None:
    begin()
    for content, sentence in (
        ("row,col,value\nr1,c1,1\nr9,c2,2\n", "expected known row labels, got 'r9'"),
        ("row,col,value\nr1,c1,1\nL77,c2,2\n", "got 'L77'. To add it: add_rows (maxentry add-rows)."),
        ("row,col,value\nr1,c1,1\nr2,c2,many\n", "line 3"),
        (
            "a,c1,c2\nr1,1,\nr2,,x\n",
            "t.csv, line 3, column c2: 'x' is not a number.",
        ),
        ("row,col,value\nr1,c1,1\nr1,c1,2\n", "expected one value for row 'r1', column 'c1', got 1 and 2"),
        ("id,value\n1,2\n", "expected an id that was asked"),
    ):
        Path("t.csv").write_text(content)
        assert sentence in refused("tell", "t.csv").replace("Expected", "expected")
    assert answer("status", "--fast")["told"] == 0


def test_a_short_list_is_known_by_the_labels_of_the_campaign() -> None:
    begin()
    Path("t.csv").write_text("ligand,substrate,yield\nr1,c2,0.5\nr2,c1,0.7\n")
    said = good("tell", "t.csv").stderr
    assert "t.csv: read as a list: row = 'ligand', column = 'substrate', value = 'yield'." in said
    assert [(e["row"], e["col"]) for e in answer("export")["entries"]] == [("r1", "c2"), ("r2", "c1")]
    Path("t.csv").write_text("r1,c1,0.5\nr1,c2,0.7\nr1,c3,0.9\n")
    assert "expected a line of names first" in refused("tell", "t.csv")


def test_a_plate_sorted_in_one_column_only_is_refused() -> None:
    begin()
    good("ask", 3, "-o", "plate.csv")
    plate = fill("plate.csv", [1, 2, 3])
    plate["row"] = list(plate["row"][::-1])
    plate.to_csv("plate.csv", index=False)
    assert "as asked, got row" in refused("tell", "plate.csv")


def test_advice_is_in_the_words_of_the_shell() -> None:
    begin()
    good("tell", "--row", "r1", "--col", "c1", "--value", 1)
    said = refused("tell", "--row", "r1", "--col", "c1", "--value", 2)
    assert "`maxentry correct VALUE --row ROW --col COL` to replace the value, or --again to add" in said
    good("tell", "--row", "r1", "--col", "c1", "--value", 2, "--again")
    assert "Give --number, one of 1, 2" in refused("correct", 3, "--row", "r1", "--col", "c1")
    good("correct", 3, "--number", 2)
    good("ask", 1)
    good("tell", "--id", 1, "--value", 1)
    assert "`maxentry correct 1 --strike` removes the value" in refused("fail", 1)


def test_nothing_is_asked_when_the_plate_cannot_be_written() -> None:
    begin()
    refused("ask", 3, "-o", "no/plate.csv")
    refused("ask", 3, "-o", ".")
    assert answer("status", "--fast")["pending"] == 0


def test_a_plate_that_is_lost_can_be_written_again() -> None:
    begin()
    good("ask", 3, "-o", "plate.csv")
    good("tell", "--id", 2, "--value", 1)
    good("export", "--pending", "-o", "again.csv")
    lost, found = pd.read_csv("plate.csv"), pd.read_csv("again.csv")
    pd.testing.assert_frame_equal(lost[lost.id != 2].reset_index(drop=True), found)


def test_limits_and_plates() -> None:
    begin()
    rows = [e["row"] for e in answer("ask", 4, "--per-row", 1)["entries"]]
    assert len(set(rows)) == 4
    plate = answer("ask", 1, "--plates", "cols")["entries"]
    assert len({e["col"] for e in plate}) == 1
    assert len(plate) >= 5


@pytest.mark.parametrize(("label", "side"), [("r", "row"), ("c", "col")])
def test_costs_of_one_side_may_be_under_any_name(label: str, side: str) -> None:
    Path("costs.csv").write_text(f"model,cost\n{label}1,2\n{label}2,5\n{label}3,7\n")
    good("new", "lab", "--shape", "3x3", "--costs", "costs.csv", "--acquisition", "balanced")
    costs = {entry[side]: entry["cost"] for entry in answer("ask", 9)["entries"]}
    assert costs == {f"{label}1": 2, f"{label}2": 5, f"{label}3": 7}
    Path("costs.csv").write_text("model,cost\nr1,2\nother,5\n")
    refused("new", "other", "--shape", "3x3", "--costs", "costs.csv")


def test_what_is_left_of_a_budget_is_said_where_it_does_not_pay_for_the_next_entry() -> None:
    Path("costs.csv").write_text("row,cost\nr1,2\nr2,5\nr3,5\n")
    good("new", "dear", "--shape", "3x3", "--costs", "costs.csv", "--budget", "14", "--seed", "1")
    said = good("ask", 9, "-o", "dear.csv").stderr
    spent = answer("status", "--fast")["spent"]
    assert 9 < spent <= 12  # an entry of r1 could be paid for
    assert f"{14 - spent:g} of the budget of 14 is left, too little for the next entry; ask again." in said


def test_fewer_than_asked_for_are_said_to_be_so_and_none_is_an_exit_code() -> None:
    begin(shape="2x2")
    result = good("ask", 9)
    assert "Only 4 of 9 could be asked" in result.stderr
    said = refused("ask", 1, code=ExitCode.NOTHING_LEFT)
    assert "4 pending" in said
    as_json = run("ask", 1, "--json")
    assert as_json.exit_code == ExitCode.NOTHING_LEFT
    assert json.loads(as_json.stdout)["error"]["kind"] == "NothingToAskError"
    for id in range(1, 5):
        good("tell", "--id", id, "--value", id)
    assert "The setting `again` allows replicates" in refused("ask", 1, code=ExitCode.NOTHING_LEFT)
    good("set", "--again")
    good("ask", 1)


def test_the_budget_ends_a_campaign() -> None:
    begin("--budget", 3)
    assert answer("ask", 9)["n"] == 3
    assert "the budget is spent" in refused("ask", 1, code=ExitCode.NOTHING_LEFT).lower()
    good("set", "--drop", "budget")
    assert answer("ask", 2)["n"] == 2


# Numbers as labels


def test_text_means_the_number_where_labels_are_numbers() -> None:
    Campaign.create(
        "maxentry.db", "lab", rows=[1, 2, 3], cols=[0.5, 10.0], seed=1, acquisition="balanced"
    ).close()
    good("tell", "--row", "3", "--col", "10", "--value", 1)
    Path("wide.csv").write_text("x,0.5,10\n1,5,\n2,,6\n")
    good("tell", "wide.csv")
    good("ask", 1, "-o", "plate.csv")
    fill("plate.csv", [7])
    good("tell", "plate.csv")
    with Campaign.open("maxentry.db") as campaign:
        told = campaign.export(frame="columns")
    assert list(zip(told["row"], told["col"], told["value"], strict=True))[:3] == [
        (3, 10.0, 1),
        (1, 0.5, 5),
        (2, 10.0, 6),
    ]


# Amending


def test_failing_and_withdrawing() -> None:
    begin()
    good("ask", 4)
    assert answer("fail", 1, 2, "--reason", "spilt") == {"campaign": "lab", "failed": [1, 2]}
    assert answer("withdraw", "3") == {"campaign": "lab", "withdrawn": [3]}
    assert answer("withdraw", "--all") == {"campaign": "lab", "withdrawn": [4]}
    assert "0 entries withdrawn." in good("withdraw", "--all").stderr
    asked = answer("export", "--asked")["entries"]
    assert [e["status"] for e in asked] == ["failed", "failed", "withdrawn", "withdrawn"]
    assert asked[0]["reason"] == "spilt"
    assert "ids are 1 to 4" in refused("fail", 9)


def test_correcting() -> None:
    begin()
    good("ask", 1)
    good("tell", "--id", 1, "--value", 10)
    assert answer("correct", "1.5", "--id", 1, "--reason", "typo") == {"campaign": "lab", "value": 1.5}
    good("correct", "--id", 1, "--", "-2.5")
    assert answer("export")["entries"][0]["value"] == -2.5
    assert answer("correct", "--strike", "--id", 1)["value"] is None
    assert answer("export")["entries"] == []
    assert answer("export", "--all")["entries"][0]["value"] is None
    refused("correct", "ten", "--id", 1)
    kinds = [e["kind"] for e in answer("history")["events"]]
    assert kinds == ["created", "asked", "told", "corrected", "corrected", "corrected"]


# Changing


def test_more_rows_and_columns_and_other_settings() -> None:
    begin()
    assert answer("add-rows", "n1", "n2") == {"campaign": "lab", "rows": 8, "cols": 5}
    assert "now 8 rows, 6 columns" in good("add-cols", "n1").stderr
    assert answer("set", "--budget", 9, "--lease", "2d", "--drop", "mask")["changed"] == [
        "budget",
        "lease",
        "mask",
    ]
    with Campaign.open("maxentry.db") as campaign:
        assert (campaign.settings.budget, campaign.settings.lease) == (9, 2 * 86400)
    assert "got none" in refused("set", code=ExitCode.USAGE)
    assert "'seed'" in refused("set", "--drop", "seed")
    assert "is there already" in refused("add-rows", "n1")


# Looking


def test_status_in_words() -> None:
    begin("--budget", 40)
    good("ask", 3, "-o", "plate.csv")
    fill("plate.csv", ["1", "", "failed"])
    good("tell", "plate.csv")
    shown = good("status", "--fast").stdout
    for part in ("lab", "6 rows, 5 columns", "1 entry (3.33%)", "1, 1 failed", "3 of 40", "balanced"):
        assert part in shown
    assert "ask: 1 told yet, too few for an outlook." in good("status").stdout
    good("set", "--acquisition", "maxent")
    assert "ask: initial design" in good("status").stdout


def test_history_in_lines() -> None:
    begin()
    good("ask", 2, "--who", "Ada")
    lines = good("history").stdout.splitlines()
    assert lines[0] == "event,at,who,kind,what"
    assert len(lines) == 3
    last = answer("history", "-n", 1)
    assert last["n"] == 1
    assert (last["events"][0]["kind"], last["events"][0]["who"]) == ("asked", "Ada")


def test_a_correction_as_it_is_said() -> None:
    begin()
    good("ask", 2, "-o", "p.csv")
    fill("p.csv", [4, 5])
    good("tell", "p.csv")
    assert "`maxentry correct 2 VALUE` to replace the value" in refused("tell", "--id", 2, "--value", 6)
    good("correct", 2, 6)
    good("correct", 1, "--value", -7)
    assert [e["value"] for e in answer("export")["entries"]] == [-7, 6]
    good("correct", 2, "--strike")
    assert [e["value"] for e in answer("export")["entries"]] == [-7]
    assert "before the value, got 'x'" in refused("correct", "x", 6, code=ExitCode.USAGE)
    refused("correct", 1, 6, 7, code=ExitCode.USAGE)
    refused("correct", 1, 6, "--id", 1, code=ExitCode.USAGE)


def test_a_plate_for_excel_and_back() -> None:
    begin()
    good("ask", 2, "-o", "p.csv", "--format", "excel")
    lines = Path("p.csv").read_text(encoding="utf-8-sig").splitlines()
    Path("p.csv").write_text("\ufeff" + "\n".join([lines[0], lines[1] + "1,5", lines[2] + "2"]))
    good("tell", "p.csv")
    assert [e["value"] for e in answer("export")["entries"]] == [1.5, 2]


def test_labels_are_not_empty_and_not_there_already() -> None:
    begin()
    assert "labels that are not empty, got ''" in refused("add-rows", "")
    assert "labels that are not empty, got ' '" in refused(
        "new", "b", "--row", " ", "--row", "y", "--col", "x", "--col", "z"
    )
    assert "expected new column labels, got 'c1', which is there already" in refused("add-cols", "c1").lower()


@pytest.mark.parametrize("header", ["id,val", "row,col,val"])
def test_a_plate_without_a_column_of_values_says_so(header: str) -> None:
    begin()
    Path("t.csv").write_text(f"{header}\n{','.join('1' * len(header.split(',')))}\n")
    names = header.replace(",", ", ")
    said = refused("tell", "t.csv")
    assert said == f"Expected columns id (or row and col) and value (or low, high), got {names}."


def test_a_decimal_comma_between_commas_is_explained() -> None:
    begin()
    Path("t.csv").write_text('row,col,value\nr1,c1,"7,476"\n')
    assert "'7,476' may mean 7476 or 7.476. Use a decimal point." in refused("tell", "t.csv")


def test_no_number_is_refused() -> None:
    assert "is not a whole number" in refused("ask", "abc", code=ExitCode.USAGE)


def test_the_version_as_an_option() -> None:
    assert good("--version").stdout == good("version").stdout


def test_exports_that_exclude_each_other() -> None:
    begin()
    refused("export", "--wide", "--pending", code=ExitCode.USAGE)
    refused("export", "--asked", "--pending", code=ExitCode.USAGE)


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from maxentry.cli import output
    from maxentry.tables import Table

    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    at = dt.datetime(2030, 1, 2, 3, 4, 5, 678, tzinfo=dt.UTC)
    long = Table(["row", "x", "at"], [[f"[b]{k}" for k in range(50)], [k / 3 for k in range(50)], [at] * 50])
    output.deliver(long, None, None, as_json=False, document={}, title="lab")
    shown = capsys.readouterr()
    assert "[b]39" in shown.out
    assert "2.667   2030-01-02 03:04 UTC" in shown.out
    assert "[b]40" not in shown.out
    assert "… 10 more lines; -o FILE has all." in shown.err


@pytest.mark.parametrize(
    "words",
    [
        ["add-rows", "z", "--cost", "nan"],
        ["add-rows", "z", "--cost", "inf"],
        ["add-rows", "z\udcff"],
        ["fail", "1", "--reason", "\udcff"],
        ["withdraw", "1", "--reason", "\udcff"],
        ["new", "more", "--row", "a\udcff", "--row", "b", "--shape", "2x2"],
        ["new", "more\udcff", "--shape", "3x3"],
        ["new", "more", "--shape", "5x4", "--rank", "9"],
        ["new", "more", "--shape", "5x4", "--lease", "99999999999w"],
        ["set", "--plates", "rows", "--per-row", "1"],
    ],
)
def test_a_users_mistake_is_never_ours(words: list[str]) -> None:
    Path("costs.csv").write_text("row,cost\n" + "".join(f"r{i},1\n" for i in range(1, 7)))
    begin("--costs", "costs.csv")
    good("ask", 1)
    before = answer("status", "--fast")["events"]
    result = run(*words)
    assert result.exit_code in (1, 2), result.stderr
    assert "mistake in maxentry" not in result.stderr
    assert answer("status", "--fast")["events"] == before
    assert answer("list")["campaigns"] == ["lab"]


def test_a_name_that_is_no_text_is_kept_as_far_as_it_can_be() -> None:
    begin("--who", "ann\udcff")
    assert answer("history")["events"][0]["who"] == "ann?"


def test_asks_about_one_row() -> None:
    Path("matrix.csv").write_text("m,c1,c2,c3\nr1,1,2,3\nr2,2,4,\nr3,3,,9\nr4,,8,12\n")
    good("new", "rows", "--from", "matrix.csv", "--rank", 1, "--seed", 1)
    assert "Add it first" in refused("ask", 2, "--row", "r5")
    good("add-rows", "r5")
    entries = answer("ask", 2, "--row", "r5")["entries"]
    assert [entry["row"] for entry in entries] == ["r5", "r5"]
    said = good("ask", 4, "--row", "r5", "--about", "average", "-o", "plate.csv").stderr
    assert "Only 1 of 4 of row r5 could be asked: no more are left within these limits." in said
    assert "No entry of row 'r5' is left to ask for." in refused("ask", 1, "--row", "r5", code=3)
    assert "got both" in refused("ask", 1, "--row", "r1", "--per-row", 1, code=2)
    assert "got none" in refused("ask", 1, "--about", "average", code=2)
    good("tell", "--id", entries[0]["id"], "--value", 5)
    assert answer("status")["pending"] == 2


def test_wells_that_stay_empty_are_said() -> None:
    begin(shape="6x5")
    assert "empty" not in good("ask", "--plate", "4x4", "-o", "one.csv").stderr
    told = good("ask", "--plate", "4x4", "-o", "two.csv").stderr
    lines = len(pd.read_csv("two.csv"))
    assert (
        f"{16 - lines} of 16 wells stay empty: their entries are measured, pending or not to be asked for"
        in told
    )
