"""Where new users stumble: labels in files, costs that come later, words of refusals, names of long tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import answer, good, refused, run

from maxentry import Campaign
from maxentry.cli.output import ExitCode
from maxentry.summary import held_out


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
    Path("twice.csv").write_text("ligand,S1,S2\nL1,1,1.5\nL1,2,2\n")
    assert "pass --names ROW,COL,VALUE" in refused("new", "x", "--from", "twice.csv")
    Path("wide.csv").write_text("ligand,S1,S2\nL1,abc,2\nL2,3,4\n")
    assert "--names" not in refused("new", "x", "--from", "wide.csv")


@pytest.mark.parametrize(
    ("first", "lines"),
    [
        ("ligand,substrate,yield", "L1,S1,1.5\nL1,S2,<0.5\nL2,S1,3\n"),
        ("userId,movieId,rating,timestamp", "1,31,2.5,126\n1,40,3,127\n7,31,4,128\n"),
    ],
    ids=["words", "numbers"],
)
def test_a_plainly_long_table_is_read_as_one_and_said(first: str, lines: str) -> None:
    Path("runs.csv").write_text(f"{first}\n{lines}")
    new = good("new", "lab", "--from", "runs.csv")
    three = ", ".join(first.split(",")[:3])
    assert f"runs.csv: read as a long table, one measurement a line: {three}." in new.stderr
    assert (answer("status")["rows"], answer("status")["cols"], answer("status")["told"]) == (2, 2, 3)
    row, col = lines.splitlines()[-1].split(",")[0], lines.splitlines()[1].split(",")[1]
    Path("more.csv").write_text(
        f"{first}\n{row},{col},5,9\n{row},{col},5,9\n".replace(",9", ",9" * first.count(",t"))
    )
    assert answer("tell", "more.csv")["told"] == 1


def test_a_list_without_a_line_of_names_is_told_what_is_missing() -> None:
    Path("u.data").write_text("196\t242\t3\t881250949\n186\t302\t3\t891717742\n186\t377\t1\t878887116\n")
    assert refused("new", "lab", "--from", "u.data").endswith("has numbers: put a line of names before it.")
    Path("u.data").write_text("user\titem\trating\ttimestamp\n" + Path("u.data").read_text())
    assert answer("new", "lab", "--from", "u.data")["told"] == 3


def test_a_plain_csv_of_a_western_excel_is_read_and_said_once() -> None:
    Path("ausbeute.csv").write_bytes("Säure;Öl;Wasser\nBenzoë;1,5;\nEssig;<0,5;2\n".encode("cp1252"))
    new = good("new", "lab", "--from", "ausbeute.csv", "--seed", "1")
    assert new.stderr.count("ausbeute.csv: read as windows-1252, since it is not UTF-8.") == 1
    Path("neu.txt").write_bytes("Glühwein\n".encode("cp1252"))
    assert "neu.txt: read as windows-1252" in good("add-cols", "neu.txt").stderr
    Path("more.csv").write_bytes("row;col;value\nBenzoë;Glühwein;3,5\n".encode("cp1252"))
    told = good("tell", "more.csv")
    assert "1 value told." in told.stderr
    assert told.stderr.count("windows-1252") == 1
    assert "Benzoë" in good("export").stdout


def test_a_single_value_may_have_a_decimal_comma() -> None:
    good("new", "lab", "--shape", "4x3", "--seed", "1")
    good("tell", "--row", "r2", "--col", "c1", "--value", "1,5")
    good("tell", "--row", "r3", "--col", "c1", "--value", "<0,5")
    assert "r2,c1,1.5" in good("export").stdout
    good("correct", "--row", "r2", "--col", "c1", "2,5")
    assert "r2,c1,2.5" in good("export").stdout
    assert "'1,234' may mean 1234 or 1.234" in refused(
        "tell", "--row", "r4", "--col", "c1", "--value", "1,234"
    )


ENDS = "ligand,S1,S2,S3\nA,52,95,\nB,10,55,95\nC,0,44,99\nD,1,47,100\nE,8,,97\nF,0,42,99.5\n"


def test_answers_of_a_scale_with_ends_stay_within_it() -> None:
    Path("y.csv").write_text(ENDS)
    good("new", "open", "--from", "y.csv", "--seed", "1", "--rank", "0")
    open_scale = answer("answer", "best per column", "-c", "open")["lines"]
    assert max(line["high"] for line in open_scale) > 101
    good("new", "ends", "--from", "y.csv", "--seed", "1", "--rank", "0", "--limits", "0,100")
    said = good("answer", "best per column", "-c", "ends")
    assert said.stderr.endswith("An entry beyond an end of the scale counts as that end.\n")
    for goal in ("best per column", "rank rows", "threshold 50", "smallest per row"):
        for line in answer("answer", goal, "-c", "ends")["lines"]:
            assert 0 <= line["low"] <= line["high"] <= 100
            assert 0 <= line["estimate"] <= 100


def test_a_scale_that_seems_to_have_ends_is_pointed_to_limits() -> None:
    Path("y.csv").write_text(ENDS)
    new = good("new", "open", "--from", "y.csv", "--seed", "1", "--rank", "0")
    assert "All values lie from 0 to 100, several at an end or near it." in new.stderr
    assert "maxentry set --limits 0,100\n" in new.stderr
    shown = good("posterior", "-c", "open").stderr
    within = "--measured for estimates within).\n"
    said = "beyond 0 to 100; if the scale ends there, say"
    assert f"{said} maxentry set --limits 0,100 (and posterior {within}" in shown
    shown = good("complete", "y.csv", "--rank", "0", "--seed", "1").stderr
    assert (
        "beyond 0 to 100; if the scale ends there, say --limits 0,100 (and --measured for estimates within).\n"
        in shown
    )
    other = ("--storage", "o{th}er lab.db")
    good("new", "first", "--shape", "3x2", *other)
    new = good("new", "open", "--from", "y.csv", "--seed", "1", "--rank", "0", *other)
    assert "maxentry set --limits 0,100 --storage 'o{th}er lab.db' --campaign open\n" in new.stderr
    shown = good("posterior", "-c", "open", *other).stderr
    assert (
        "say maxentry set --storage 'o{th}er lab.db' --campaign open --limits 0,100 (and posterior" in shown
    )
    for more in (("--limits", "0,100"), ("--transform", "logit(-5, 105)")):
        assert (
            "if the scale ends" not in good("complete", "y.csv", "--rank", "0", "--seed", "1", *more).stderr
        )
        assert (
            "--limits" not in good("new", more[0].strip("-"), "--from", "y.csv", "--seed", "1", *more).stderr
        )


def test_numbers_that_may_be_answers_or_grades_are_pointed_to_their_kind() -> None:
    Path("solved.csv").write_text("model,a,b,c,d\nx,0,1,1,0\ny,1,0,1,1\n")
    stars = "\n".join(f"u{k},{k % 3 + 1},{k % 2 + 1},{k % 3 + 1}" for k in range(6))
    Path("stars.csv").write_text(f"user,a,b,c\n{stars}\n")
    for file, says, kind in (
        ("solved.csv", "All values are 0 or 1; if they mean no and yes, say --kind yes/no.", ("yes/no",)),
        ("stars.csv", "say --kind grades --levels 1,2,3.", ("grades", "--levels", "1,2,3")),
    ):
        new = good("new", file, "--from", file, "--seed", "1")
        assert f"{says} Only `new` can say it" in new.stderr
        assert says in good("complete", file, "--rank", "0", "--seed", "1", "--effort", "quick").stderr
        check = ("complete", file, "--rank", "0", "--seed", "1", "--check")
        assert says in good(*check).stderr
        assert answer(*check)["said"] is None
        as_said = ("--kind", *kind, "--seed", "1")
        assert "All values are" not in good("complete", file, "--rank", "0", "--check", *as_said).stderr
        ended = good("complete", file, "--rank", "0", "--check", "--seed", "1", "--limits", "0,9")
        assert "All values are" not in ended.stderr
        assert "All values are" not in good("new", f"said {file}", "--from", file, *as_said).stderr
        assert "All values are" not in good("complete", file, "--rank", "0", *as_said).stderr
    assert "All values" not in good("posterior", "-c", "solved.csv", "--json").stderr


def test_words_for_yes_and_no_are_taken_for_them_and_said() -> None:
    Path("runs.csv").write_text("model,task,solved\na,t1,True\na,t2,False\nb,t1,False\nb,t2,\n")
    Path("wide.csv").write_text("model,t1,t2\na,correct,wrong\nb,Right,\n")
    Path("signs.csv").write_text("model,t1,t2\na,+,-\nb,\N{MINUS SIGN},\n")
    for file in ("runs.csv", "wide.csv", "signs.csv"):
        said = good("new", file, "--from", file)
        assert f"{file}: its values are taken for yes and no. For 1 and 0 say --kind numbers." in said.stderr
        assert answer("status", "-c", file)["kind"] == "yes/no"
    Path("signs.csv").write_text("model,t1,t2\na,-,-\nb,-,\n")
    assert "not measured" in refused("new", "dashes", "--from", "signs.csv")  # - alone may mean that
    as_numbers = good("new", "numbers", "--from", "runs.csv", "--kind", "numbers")
    assert "taken for yes and no" not in as_numbers.stderr
    assert [m["value"] for m in answer("export", "-c", "numbers")["entries"]] == [1, 0, 0]


def test_counts_under_other_names_are_read_as_the_refusal_says() -> None:
    Path("counts.csv").write_text("model,task,successes,trials\na,t1,1,2\na,t2,0,1\nb,t1,3,3\n")
    assert refused("new", "x", "--from", "counts.csv").endswith("need kind='yes/no' (--kind yes/no).")
    yes_no = ("--kind", "yes/no")
    assert answer("new", "plain", "--from", "counts.csv", *yes_no)["told"] == 6
    for names in ("model,task", "model,task,successes", "model,task,trials"):
        assert answer("new", names, "--from", "counts.csv", *yes_no, "--names", names)["told"] == 6
    Path("passed.csv").write_text("model,task,passed,total\na,t1,3,5\na,t2,4,5\n")
    passed = refused("new", "x", "--from", "passed.csv", *yes_no, "--names", "model,task,passed")
    assert "got '3'. Counts of trials go in two columns, successes and trials." in passed
    Path("numbers.csv").write_text("who,what,successes,trials\n1,1,1,2\n1,2,0,1\n2,1,3,3\n")
    advice = refused("new", "x", "--from", "numbers.csv", *yes_no)
    assert advice.endswith(
        "pass --names ROW,COL --kind yes/no with two of its columns (who, what, successes, trials)."
    )
    assert answer("new", "y", "--from", "numbers.csv", *yes_no, "--names", "who,what")["told"] == 6
    assert refused("new", "z", "--from", "stars.csv", "--names", "a,b").endswith("does not exist.")
    Path("stars.csv").write_text("a,b,c\nx,y,1\n")
    assert "Expected three names" in refused("new", "z", "--from", "stars.csv", "--names", "a,b")


def test_names_for_a_file_without_a_line_of_them() -> None:
    Path("u.data").write_text("196\t242\t3\n186\t302\t3\n186\t303\t4\n")
    assert refused("complete", "u.data", "--names", "user,item,rating").endswith(
        "put a line of names before it."
    )


def test_rows_and_columns_are_removed() -> None:
    good("new", "lab", "--shape", "4x3", "--seed", "1")
    good("tell", "--row", "r2", "--col", "c1", "--value", "1.5")
    found = answer("remove-rows", "r2", "r4")
    assert found == {"campaign": "lab", "rows": 2, "cols": 3, "struck_out": 1}
    assert "lab: now 2 rows, 2 columns." in good("remove-cols", "c3").stderr
    said = good("history").stdout.splitlines()
    assert [line.split(",")[3] for line in said[-2:]] == ["rows_removed", "cols_removed"]
    assert "at least two rows to stay" in refused("remove-rows", "r1")


def test_a_misspelt_row_is_renamed() -> None:
    good("new", "lab", "--shape", "4x3", "--seed", "1")
    good("tell", "--row", "r2", "--col", "c1", "--value", "1.5")
    assert answer("rename", "R-2", "--row", "r2") == {"campaign": "lab", "row": "R-2", "before": "r2"}
    assert "Column c1 of lab is now C-1." in good("rename", "C-1", "--col", "c1").stderr
    assert "R-2,C-1,1.5" in good("export").stdout
    assert good("history").stdout.splitlines()[-1].endswith("cols_renamed,'c1' to 'C-1'")
    assert "'r2'" in refused("rename", "R-3", "--row", "r2")
    assert "'r3'" in refused("rename", "r3", "--row", "R-2")
    assert "got both" in run("rename", "x", "--row", "r3", "--col", "c2").stderr


def test_a_list_under_former_labels_is_told_after_a_renaming() -> None:
    good("new", "lab", "--shape", "4x3", "--seed", "1")
    Path("log.csv").write_text("row,col,value\nr2,c1,1.5\nr3,c1,2.5\n")
    good("tell", "log.csv")
    good("rename", "R-2", "--row", "r2")
    good("rename", "C-1", "--col", "c1")
    said = good("tell", "log.csv").stderr
    assert said == (
        "Rows were renamed: 'r2' is read as 'R-2'.\n"
        "Columns were renamed: 'c1' is read as 'C-1'.\n"
        "0 values told, 2 known already.\n"
    )
    Path("wide.csv").write_text("name,c1,c2\nr2,,4.5\n")
    assert "1 value told" in good("tell", "wide.csv").stderr
    good("tell", "--row", "r2", "--col", "c3", "--value", "5.5")
    assert "R-2,c3,5.5" in good("export").stdout
    failed = good("fail", "--row", "r4", "--col", "c1").stderr
    assert "'c1' is read as 'C-1'" in failed
    assert "1 entry failed" in failed
    good("rename", "r3-2", "--row", "r3")
    good("rename", "r3", "--row", "r1")
    doubtful = good("fail", "--row", "r3", "--col", "c2").stderr
    assert doubtful.count("Another row was called 'r3' before") == 1
    assert "UserWarning" not in doubtful


def test_a_campaign_is_renamed_and_deleted() -> None:
    good("new", "lab", "--shape", "4x3")
    assert answer("rename", "yields") == {"campaign": "yields", "before": "lab"}
    assert good("list").stdout == "yields\n"
    mistyped = run("delete", "yields", stdin="lab\n")
    assert mistyped.exit_code == 1
    assert mistyped.stderr.endswith("Not deleted: expected the name 'yields', got 'lab'.\n")
    assert "Deleted yields (2 events)." in good("delete", "yields", stdin="yields\n").stderr
    assert good("list").stdout == ""
    good("new", "lab", "--shape", "4x3")
    assert answer("delete", "lab", "--confirm", "lab") == {"campaign": "lab", "events": 1}


def test_a_plate_has_wells() -> None:
    good("new", "lab", "--shape", "20x30", "--seed", "1", "--acquisition", "balanced")
    good("ask", "--plate", "8x12", "-o", "plate.csv")
    lines = [line.split(",") for line in Path("plate.csv").read_text().splitlines()]
    assert lines[0] == ["id", "well", "row", "col", "mean", "sd", "gain", "cost", "value"]
    wells = [f"{letter}{k}" for letter in "ABCDEFGH" for k in range(1, 13)]
    assert [line[1] for line in lines[1:]] == wells
    assert len({line[2] for line in lines[1:]}) == 8
    assert len({line[3] for line in lines[1:]}) == 12
    text = Path("plate.csv").read_text().replace(",1,\n", ",1,2.5\n")
    Path("plate.csv").write_text(text)
    told = good("tell", "plate.csv")
    assert told.stderr == "96 values told.\n"
    found = answer("ask", "--plate", "16x24")
    wells = [entry["well"] for entry in found["entries"]]
    assert len(set(wells)) == len(wells) > 280
    assert {well[0] for well in wells} == set("ABCDEFGHIJKLMNOP")


def test_a_plate_is_refused_beside_other_limits() -> None:
    good("new", "lab", "--shape", "4x3")
    assert "a plate like 8x12" in refused("ask", "--plate", "8", code=2)
    assert "got both" in refused("ask", "--plate", "8x12", "--per-row", "2", code=2)
    assert "one plate at a time" in refused("ask", "2", "--plate", "8x12")
    assert "1 to 48 rows and columns" in refused("ask", "--plate", "80x12")


def test_costs_under_other_names_are_told_how_to_be_called() -> None:
    good("new", "lab", "--shape", "3x2")
    Path("costs.csv").write_text("ligand,substrate,price\nr1,c1,3\n")
    said = refused("set", "--costs", "costs.csv")
    assert said.startswith("costs.csv, line 2: expected known column labels, got 'substrate'.")
    assert said.endswith("a list has the columns row,cost or col,cost or row,col,cost.")
    Path("mask.csv").write_text("ligand,free\nr1,1\n")
    assert refused("set", "--mask", "mask.csv").endswith("a list has the columns row,col,available.")
    Path("costs.csv").write_text("row,col,cost\nr9,c1,3\n")
    assert "a list has" not in refused("set", "--costs", "costs.csv")


def test_a_setting_that_cannot_change_says_so() -> None:
    good("new", "lab", "--shape", "3x2")
    for flag in ("--transform", "--kind", "--n-initial", "--seed"):
        said = refused("set", flag, "1", code=2).splitlines()[-1]
        assert said.startswith(f"{flag} is fixed when a campaign begins")
        assert said.endswith(f"maxentry new NAME --from values.csv {flag} …")
    assert "No such option: --colour" in refused("set", "--colour", "1", code=2)
    assert "No such option: --transform" in refused("ask", "--transform", "log", code=2)


def test_several_commas_in_a_value_are_no_question_of_separators() -> None:
    good("new", "lab", "--shape", "3x2")
    said = refused("tell", "--row", "r1", "--col", "c1", "--value", "1,2,3")
    assert said.endswith("'1,2,3' is not a number. Write one number, without commas between its digits.")


def test_a_colon_without_a_sheet_after_a_file() -> None:
    Path("y.csv").write_text("ligand,S1,S2\nA,0,20\nB,30,100\n")
    said = refused("new", "lab", "--from", "y.csv:")
    assert said.startswith("y.csv: does not exist, but y.csv does: leave out what follows it")
    assert "--sheet May" in refused("new", "lab", "--from", "y.csv:May")
    good("new", "lab", "--from", "y.csv", "--seed", "1", "--rank", "0")
    plain = "y.csv:May does not exist, but y.csv does: leave out what follows it."
    assert refused("set", "--costs", "y.csv:May") == plain
    assert refused("complete", "y.csv", "--entries", "y.csv:May") == plain


def test_costs_on_plates_are_rounded() -> None:
    good("new", "lab", "--shape", "3x2", "--seed", "1")
    Path("costs.csv").write_text("row,cost\nr1,0.1\nr2,1.23456789\nr3,12345.678901\n")
    good("set", "--costs", "costs.csv")
    costs = {line.split(",")[6] for line in good("ask", "6").stdout.splitlines()[1:]}
    assert costs == {"0.1", "1.23457", "12345.7"}


def test_the_status_names_the_unit() -> None:
    Path("y.csv").write_text("ligand,S1,S2\nA,0,20\nB,30,90\nC,2,\n")
    good("new", "lab", "--from", "y.csv", "--seed", "1", "--rank", "1")
    assert "your units" in good("status").stdout
    good("set", "--unit", "% yield")
    said = good("status").stdout
    assert "your units" not in said
    assert "in % yield)" in said


def test_a_completed_long_table_heads_its_labels_as_the_file_does() -> None:
    Path("long.csv").write_text("model,task,score\nA,t1,1\nA,t2,2\nB,t1,3\nB,t2,\nC,t1,2\nC,B,2\n")
    out = good("complete", "long.csv", "--names", "model,task,score", "--rank", "1", "--seed", "1")
    assert out.stdout.splitlines()[0] == "model,t1,t2,B"
    Path("long.csv").write_text(Path("long.csv").read_text().replace(",B,", ",model,"))
    out = good("complete", "long.csv", "--names", "model,task,score", "--rank", "1", "--seed", "1")
    assert out.stdout.splitlines()[0] == "model_,t1,t2,model"


def test_values_are_held_out_and_predicted() -> None:
    Path("y.csv").write_text(ENDS)
    said = good("complete", "y.csv", "--check", "--rank", "0", "--seed", "1")
    assert said.stdout == ""
    assert said.stderr.startswith(
        "Held out 4 values of 16, chosen at random, and predicted them from the rest."
    )
    assert "Typical error " in said.stderr
    assert "lie inside their 90% intervals" in said.stderr
    assert answer("complete", "y.csv", "--check", "--rank", "0", "--seed", "1")["n"] == 4
    assert "got both" in refused("complete", "y.csv", "--check", "-o", "x.csv", code=2)
    for more in (("--what", "sd"), ("--long",), ("--wide",), ("--measured",), ("--verbose",)):
        said = refused("complete", "y.csv", "--check", *more, code=2)
        assert f"expected --check or {more[0]}, got both: it makes no table." in said


def test_a_check_that_was_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry.posterior import complete as module

    whole = module.complete

    def cut_short(*args: Any, **options: Any) -> Any:
        posterior = whole(*args, **options)
        posterior.interrupted = True
        return posterior

    monkeypatch.setattr(module, "complete", cut_short)
    Path("y.csv").write_text(ENDS)
    words = ("complete", "y.csv", "--check", "--rank", "0", "--seed", "1")
    said = run(*words)
    assert said.exit_code == ExitCode.INTERRUPTED
    assert said.stderr.endswith("Interrupted: this is of what had been drawn by then.\n")
    assert json.loads(run(*words, "--json").stdout)["interrupted"] is True


def test_a_check_by_a_fit_that_has_not_converged_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = held_out.HeldOut(
        40, 40, 99, 1.0, 2.0, 0.9, 0.9, 0.8, 1.0, converged=False, advice='try effort="thorough"'
    )
    monkeypatch.setattr(held_out, "check_held_out", lambda *_: found)
    Path("y.csv").write_text(ENDS)
    said = good("complete", "y.csv", "--check")
    assert said.stderr.endswith("The fit has not converged: try --effort thorough\n")
    assert answer("complete", "y.csv", "--check")["converged"] is False


def test_a_list_that_may_be_read_both_ways_is_refused() -> None:
    Path("square.csv").write_text("user,1,2,3\n1,3,4,5\n2,4,,3\n3,1,2,\n")
    for names, good_names in (("item,user", False), ("user,item", False), ("col,row", True)):
        Path("wanted.csv").write_text(f"{names}\n3,2\n")
        command = ("complete", "square.csv", "--rank", "0", "--seed", "1", "--entries", "wanted.csv")
        if good_names:
            line = answer(*command)["entries"][0]
            assert (str(line["row"]), str(line["col"])) == ("2", "3")
        else:
            said = refused(*command)
            assert said == (
                f"wanted.csv: expected the columns row and col, got {names}, which may be either way round. "
                "Write row and col in its first line."
            )


def test_chosen_entries_are_predicted_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("y.csv").write_text(ENDS)
    Path("wanted.csv").write_text("ligand,substrate\nE,S2\nA,S1\nA,S3\n")
    words = ("--rank", "0", "--seed", "1", "--entries", "wanted.csv")
    lines = good("complete", "y.csv", *words).stdout.splitlines()
    assert lines[0] == "row,col,mean,sd,low,high,new_low,new_high,observed"
    assert [line.split(",")[:2] for line in lines[1:]] == [["E", "S2"], ["A", "S1"], ["A", "S3"]]
    assert [line.split(",")[-1] for line in lines[1:]] == ["0", "1", "0"]
    whole = answer("complete", "y.csv", *words[:4])["entries"]
    for line in answer("complete", "y.csv", *words)["entries"]:
        (same,) = (other for other in whole if (other["row"], other["col"]) == (line["row"], line["col"]))
        assert line == pytest.approx(same)
    good("new", "lab", "--from", "y.csv", "--rank", "0", "--seed", "1")
    assert len(good("posterior", "--entries", "wanted.csv").stdout.splitlines()) == 4
    Path("wanted.csv").write_text("row,col\nE,S2\nE,S9\n")
    said = refused("complete", "y.csv", *words)
    assert said.startswith("wanted.csv, line 3: expected known column labels, got 'S9'")
    assert said.endswith("are known where the table names them, also with empty cells.")
    with monkeypatch.context() as no_fit:
        no_fit.setattr(Campaign, "posterior", lambda _: pytest.fail("a list with a typo costs a fit"))
        assert refused("posterior", "--entries", "wanted.csv").endswith("add-rows and add-cols add new ones.")
    Path("wanted.csv").write_text("row\nE\n")
    assert refused("complete", "y.csv", *words) == "wanted.csv: expected the columns row and col, got row."
    Path("wanted.csv").write_text("row,col\n")
    assert refused("complete", "y.csv", *words) == "wanted.csv: expected entries, got none."
    for text in ("E,S2\nA,S1\n", "E,S2\n", "E,S9\nA,S1\n"):
        Path("wanted.csv").write_text(text)
        said = refused("complete", "y.csv", *words)
        first = text.splitlines()[0]
        assert said == (
            f"wanted.csv: expected a line of names first, got an entry: {first}. Put the line row,col before it."
        )
    Path("wanted.csv").write_text("row,col\nE,S2\n")
    good("complete", "y.csv", *words, "--long")
    for command in (("complete", "y.csv", "--rank", "0"), ("posterior",)):
        for more in (("--what", "sd"), ("--wide",)):
            said = refused(*command, "--entries", "wanted.csv", *more, code=2)
            assert f"expected --entries or {more[0]}, got both" in said
