"""Limits, ranges and standard errors in files, and warnings for columns that are not used."""

import math
from pathlib import Path

import polars as pl
import pytest
from tests.cli.run import answer, good, refused

from maxentry.cli import matrices
from maxentry.errors import DataError
from maxentry.readings import Reading

inf = math.inf


def matrix(
    content: str, names: str | None = None, se: str | None = None, name: str = "t.csv"
) -> matrices.Matrix:
    Path(name).write_text(content)
    return matrices.read_matrix(name, names, se)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('row,x,y,z\na,<0.5,"[0.5, 0.7]",\nb,1,≥ 100,0.5..0.7\n', "t.csv"),
        ("row;x;y;z\na;<0,5;0,5..0,7;\nb;1;>100;\"[0,5; 0,7]\"\n", "t.csv"),
        ("row\tx\ty\tz\na\t<0,5\t[0,5; 0,7]\t\nb\t1\t>100\t[0.5, 0.7]\n", "t.tsv"),
        ("row,col,value\na,x,<0.5\na,y,0.5..0.7\nb,x,1\nb,y,>100\nb,z,0.5..0.7\n", "t.csv"),
        ("row,col,value,low,high\na,x,,,0.5\na,y,,0.5,0.7\nb,x,1,,\nb,y,100,100,\nb,z,,0.5,0.7\n", "t.csv"),
        ("row,column,low,high\na,x,,0.5\na,y,0.5,0.7\nb,x,1,1\nb,y,100,\nb,z,0.5,0.7\n", "t.csv"),
    ],
)  # fmt: skip
def test_limits_in_wide_and_long_files(content: str, name: str) -> None:
    read = matrix(content, name=name)
    assert list(zip(read.rows, read.cols, strict=True)) == [*zip("aabbb", "xyxyz", strict=True)]
    ends = [(-inf, 0.5), (0.5, 0.7), (1.0, 1.0), (100.0, inf), (0.5, 0.7)]
    assert read.readings == [Reading(*pair) for pair in ends]
    assert not read.is_plain
    given = read.triples()
    assert (given["low"], given["high"]) == ([low for low, _ in ends], [high for _, high in ends])


@pytest.mark.parametrize(("column", "se"), [("se", None), ("SEM", None), ("sd", None), ("error", "error")])
def test_standard_errors(column: str, se: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    read = matrix(f"row,col,value,{column}\na,x,1,0.1\nb,y,<2,\n", se=se)
    assert [reading.se for reading in read.readings] == [0.1, 0.0]
    assert capsys.readouterr().err == ""


def test_named_columns_and_their_standard_errors() -> None:
    read = matrix("ligand,substrate,mean,sd\na,x,1,0.1\nb,y,2,0.2\n", "ligand,substrate,mean")
    assert [reading.se for reading in read.readings] == [0.1, 0.2]


def test_a_column_that_is_not_used_is_named_once() -> None:
    Path("t.csv").write_text("row,col,value,Operator,date\na,x,1,N,today\nb,y,2,N,today\n")
    said = good("new", "c", "--from", "t.csv").stderr
    assert said.count("t.csv: 2 columns are not used: 'Operator', 'date'") == 1
    Path("more.csv").write_text("row,col,value,Operator\na,y,1,N\n")
    said = good("tell", "more.csv").stderr
    assert said.count("more.csv: 1 column is not used: 'Operator'") == 1


def test_a_plate_is_told_without_warnings() -> None:
    good("new", "c", "--shape", "3x3", "--seed", "1")
    good("ask", "2", "-o", "plate.csv")
    lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([lines[0], *(f"{line}1.5" for line in lines[1:])]) + "\n")
    assert "not used" not in good("tell", "plate.csv").stderr
    good("export", "-o", "all.csv")
    assert "not used" not in good("new", "d", "--from", "all.csv").stderr


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("row,x\na,0.5-0.7\n", {}, "line 2, column x: '0.5-0.7' is not a number. Write a number, a limit as <0.5"),
        ("row,col,value,low,high\na,x,5,4,6\n", {}, "line 2, column value: expected a value, or its limits"),
        ("row,col,value,se\na,x,5,-1\n", {}, "line 2, column se: expected a standard error"),
        ("row,col,value\na,x,5\n", {"se": "error"}, "expected a column 'error' of standard errors"),
        ("row,x\na,5\n", {"se": "error"}, "expected a long table with --se, got a matrix"),
        ("row,col,number\na,x,5\n", {"names": "row,col,value"}, "expected a column value, got row, col, number"),
    ],
)  # fmt: skip
def test_what_is_refused(content: str, options: dict[str, str], words: str) -> None:
    with pytest.raises(DataError) as refusal:
        matrix(content, **options)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) <= 300


def test_a_comparison_refuses_limits() -> None:
    Path("t.csv").write_text("row,x,y\na,<1,2\nb,3,4\n")
    assert "a comparison needs the measured values, got <1 at row 'a'" in refused("compare", "t.csv")


# Kinds

YES_NO = "row,x,y,z\na,yes,no,\nb,pass,,fail\nc,,+,-\n"


def test_complete_takes_limits() -> None:
    Path("t.csv").write_text("row,x,y\na,<1,2\nb,3,>4\nc,2..3,1\n")
    answered = answer("complete", "t.csv", "--rank", "0", "--seed", "1")
    assert answered["n_observed"] == 6


def test_complete_takes_standard_errors() -> None:
    Path("se.csv").write_text("row,col,value,se\na,x,1,0.1\nb,y,2,0.1\nb,x,3,1\n")
    assert answer("complete", "se.csv", "--rank", "0", "--seed", "1")["n_observed"] == 3


def test_a_known_noise() -> None:
    Path("t.csv").write_text("row,x,y\na,1,2\nb,3,4\nc,2,1\n")
    entries = answer("complete", "t.csv", "--noise-sd", "0.01", "--rank", "0", "--seed", "1")["entries"]
    assert [round(entry["mean"], 1) for entry in entries] == [1, 2, 3, 4, 2, 1]
    good("new", "c", "--from", "t.csv", "--noise-sd", "0.01")
    good("set", "--noise-sd", "0.02")
    assert "noise_sd is for kind='numbers' with noise='gaussian'" in refused("set", "--noise", "student")


def test_complete_takes_yes_and_no() -> None:
    Path("t.csv").write_text(YES_NO)
    entries = answer("complete", "t.csv", "--kind", "yes/no", "--rank", "0", "--seed", "1")["entries"]
    assert all(0 < entry["mean"] < 1 for entry in entries)
    Path("counts.csv").write_text("row,col,successes,trials\na,x,2,3\nb,y,0,2\nb,x,1,1\n")
    counted = answer("complete", "counts.csv", "--kind", "yes/no", "--rank", "0", "--seed", "1")
    assert counted["n_observed"] == 6
    assert "t.csv, line 2, column x: 'yes' is not a number" in refused("complete", "t.csv")
    assert "need kind='yes/no' (--kind yes/no)" in refused("complete", "t.csv")
    assert "need kind='yes/no' (--kind yes/no)" in refused("complete", "counts.csv")
    Path("both.csv").write_text("row,col,value,successes,trials\na,x,2,2,3\nb,y,0,0,2\nb,x,1,1,1\n")
    said = good("complete", "both.csv", "--rank", "0", "--seed", "1").stderr
    assert "2 columns are not used: 'successes', 'trials'" in said
    good("new", "c", "--kind", "yes/no", "--from", "counts.csv")
    Path("more.csv").write_text("row,col,successes,trials\na,y,0,2\n")
    assert answer("tell", "more.csv")["told"] == 2
    assert [line["value"] for line in answer("export")["entries"]].count("yes") == 3


def test_complete_takes_grades() -> None:
    Path("t.csv").write_text("row,x,y\na,poor,good\nb,fair,\nc,,poor\n")
    options = ("--kind", "grades", "--levels", "poor,fair,good", "--rank", "0", "--seed", "1")
    entries = answer("complete", "t.csv", *options)["entries"]
    assert all(1 < entry["mean"] < 3 for entry in entries)
    assert "expected one of poor, fair, best, got 'good'" in refused(
        "complete", "t.csv", "--kind", "grades", "--levels", "poor,fair,best"
    )
    assert "Levels must be 3 to 100" in refused(
        "complete", "t.csv", "--kind", "grades", "--levels", "poor,fair"
    )
    commas = "expected the grades in their order with commas between them, like A,B,C, got 'poor fair good'"
    said = refused("complete", "t.csv", "--kind", "grades", "--levels", "poor fair good", code=2)
    assert commas in said.replace("\n", " ")
    assert "--kind grades --levels A,B,C" in refused("complete", "t.csv", "--kind", "grades")


def test_named_grades_may_be_told_by_number() -> None:
    named, numbered = "row,x,y\na,poor,good\nb,fair,\nc,,poor\n", "row,x,y\na,1,3\nb,2,\nc,,1\n"
    answers = []
    for content in (named, numbered):
        Path("t.csv").write_text(content)
        options = ("--kind", "grades", "--levels", "poor,fair,good", "--rank", "0", "--seed", "1")
        answers.append(answer("complete", "t.csv", *options)["entries"])
    assert answers[0] == answers[1]
    assert "expected one of poor, fair, good, got '4'" in refused(
        "complete", "-", *options, stdin="row,x,y\na,poor,4\nb,fair,1\n"
    )


@pytest.mark.parametrize("cell", ["1.000", ">1.000"])
def test_a_point_before_three_digits_is_no_number_beside_decimal_commas(cell: str) -> None:
    with pytest.raises(DataError, match=r"t.csv, line 3, column y: .*'1\.000' may mean 1000 or 1,000"):
        matrix(f"row;x;y\na;1,5;2,5\nb;1,25;{cell}\n")
    assert matrix(f"row;x;y\na;1.5;2.5\nb;1.25;{cell}\n").values[-1] == 1.0
    assert matrix("row;x;y\na;1,5;2,5\nb;0.125;1,000\n").values == [1.5, 2.5, 0.125, 1.0]


def test_complete_takes_the_ends_of_the_scale() -> None:
    Path("t.csv").write_text("row,x,y\na,0,100\nb,50,20\nc,0,60\n")
    entries = answer("complete", "t.csv", "--limits", "0,100", "--rank", "0", "--seed", "1")["entries"]
    assert all(0 <= entry["new_low"] <= entry["new_high"] <= 100 for entry in entries)
    assert "--limits" in refused("complete", "t.csv", "--limits", "x", code=2)


def test_a_campaign_of_yes_and_no() -> None:
    Path("t.csv").write_text(YES_NO)
    good("new", "c", "--kind", "yes/no", "--from", "t.csv", "--seed", "1")
    assert answer("tell", "--row", "a", "--col", "z", "--value", "fail")["told"] == 1
    Path("wide.csv").write_text("row,x,y\nc,true,\n")
    assert answer("tell", "wide.csv")["told"] == 1
    assert answer("correct", "--row", "a", "--col", "z", "--value", "yes")["value"] == 1.0
    values = [entry["value"] for entry in answer("export")["entries"]]
    assert values == ["yes", "no", "yes", "no", "yes", "no", "yes", "yes"]
    assert all(0 < entry["mean"] < 1 for entry in answer("ask", "1")["entries"])


def test_a_campaign_with_limits() -> None:
    good("new", "c", "--shape", "3x3", "--limits", "0,100", "--seed", "1", "--n-initial", "0")
    Path("t.csv").write_text("row,c1,c2\nr1,0,<5\nr2,100,20..30\nr3,50,60\n")
    assert answer("tell", "t.csv")["told"] == 6
    assert answer("correct", "--row", "r3", "--col", "c2", "--value", ">60")["value"] == ">60"
    assert [entry["value"] for entry in answer("export")["entries"]][1::2] == ["<5", "20..30", ">60"]
    assert answer("ask", "1")["n"] == 1
    assert answer("tell", "--row", "r1", "--col", "c3", "--value", "1", "--se", "1")["told"] == 1
    assert answer("export")["entries"][-1]["se"] == 1.0
    Path("errors.csv").write_text("row,col,value,error\nr2,c3,7,0.5\nr3,c3,8,\n")
    assert answer("tell", "errors.csv", "--se", "error")["told"] == 2
    good("export", "-o", "long.csv")
    good("new", "copy", "--from", "long.csv", "--limits", "0,100")
    errors = [line["se"] for line in answer("export", "--campaign", "copy")["entries"]]
    assert errors[-3:] == [1.0, 0.5, None]


@pytest.mark.parametrize(
    ("options", "values", "kind", "error"),
    [
        (["--kind", "yes/no"], "yes,no,no,yes,no,yes", "yes/no", "of the probability of yes"),
        (["--kind", "grades", "--levels", "A,B,C"], "A,B,C,A,B,A", "grades A, B, C", "of the expected grade"),
        (["--limits", "0,100"], "0,100,<5,20,30,40", "numbers from 0 to 100, 3 of 6 values at a limit", "your units"),
        ([], "1,2,3,>4,5,6", "1 of 6 values at a limit", "against measurements"),
        (["--noise-sd", "0.1"], "1,2,3,>4,5,6", "1 of 6 values at a limit", "of the entries themselves"),
    ],
)  # fmt: skip
def test_the_status_says_kind_and_limits(options: list[str], values: str, kind: str, error: str) -> None:
    a, b, c, d, e, f = values.split(",")
    Path("t.csv").write_text(f"row,x,y,z\na,{a},{b},{c}\nb,{d},{e},\nc,,,{f}\n")
    good("new", "c", "--from", "t.csv", "--rank", "0", "--seed", "1", *options)
    said = good("status").stdout
    assert f"values          {kind} " in said
    assert error in said.partition("expected error")[2].splitlines()[0]
    assert ("your units" in said) == (options[:1] != ["--kind"])
    document = answer("status", "--fast")
    assert document["kind"] == (options[1] if options[:1] == ["--kind"] else "numbers")
    assert {"levels", "limits", "at_limit"} < document.keys()


# What the numbers of a posterior are

GRADES = "row,x,y,z\na,poor,good,good\nb,fair,,good\nc,,poor,fair\n"
GRADED = ("--kind", "grades", "--levels", "poor,fair,good", "--rank", "0", "--seed", "1")


def test_grades_are_shown_by_name() -> None:
    Path("t.csv").write_text(GRADES)
    told = good("complete", "t.csv", *GRADED, "--what", "most_likely")
    cells = [line.split(",")[1:] for line in told.stdout.splitlines()[1:]]
    assert {cell for line in cells for cell in line} <= {"poor", "fair", "good"}
    assert "mean is the expected grade (1 = poor, 2 = fair, 3 = good)" in told.stderr
    good("complete", "t.csv", *GRADED, "--long", "-o", "long.csv")
    names = "row,col,mean,sd,low,high,new_low,new_high,observed,most_likely,p_poor,p_fair,p_good"
    assert Path("long.csv").read_text().splitlines()[0] == names
    answered = answer("complete", "t.csv", *GRADED)
    assert (answered["kind"], answered["levels"]) == ("grades", ["poor", "fair", "good"])
    for entry in answered["entries"]:
        p = {name: entry[f"p_{name}"] for name in ("poor", "fair", "good")}
        assert sum(p.values()) == pytest.approx(1)
        assert entry["most_likely"] == max(p, key=lambda name: p[name])
    good("new", "c", "--from", "t.csv", *GRADED)
    assert answer("posterior")["entries"][0]["most_likely"] in ("poor", "fair", "good")
    assert "most_likely" in good("posterior", "--long").stdout


def test_yes_and_no_have_probabilities() -> None:
    Path("t.csv").write_text(YES_NO)
    told = good("complete", "t.csv", "--kind", "yes/no", "--rank", "0", "--seed", "1", "--long")
    assert told.stdout.splitlines()[0].endswith("observed,most_likely,p_no,p_yes")
    assert "mean, low and high are of the probability of yes" in told.stderr
    Path("n.csv").write_text("row,x,y\na,1,2\nb,3,4\n")
    assert "--what most_likely is for --kind yes/no or grades" in refused(
        "complete", "n.csv", "--what", "most_likely"
    )


def test_what_an_instrument_would_show() -> None:
    Path("t.csv").write_text("row,x,y,z\na,0,100,0\nb,50,100,20\nc,0,60,0\n")
    limited = ("complete", "t.csv", "--limits", "0,100", "--rank", "0", "--seed", "1")
    entry, shown = good(*limited), good(*limited, "--measured")
    assert (
        "6 of 9 values are at a limit. mean, low and high are of the entry itself, which may lie beyond"
        in entry.stderr
    )
    assert (
        "6 of 9 values are at a limit. mean, low and high are of what an instrument would show."
        in shown.stderr
    )
    assert answer(*limited)["at_limit"] == 6
    for line in answer(*limited, "--measured")["entries"]:
        assert 0 <= line["low"] <= line["mean"] <= line["high"] <= 100
        assert (line["low"], line["high"]) == (line["new_low"], line["new_high"])
    for what in ("mean", "low", "high", "sd"):
        table = good(*limited, "--measured", "--what", what).stdout.splitlines()[1:]
        assert all(0 <= float(cell) <= 100 for line in table for cell in line.split(",")[1:])
    Path("plain.csv").write_text("row,x,y\na,1,2\nb,3,4\n")
    assert "limit" not in good("complete", "plain.csv", "--rank", "0", "--seed", "1").stderr


def test_a_table_of_limits_alone_is_warned_of() -> None:
    Path("t.csv").write_text("row,x,y\na,<1,<2\nb,<1,\n")
    said = good("complete", "t.csv", "--rank", "0", "--seed", "1").stderr
    assert "all 3 measurements are limits, and none is a value or a range" in said.replace("\n", " ")


def test_a_correction_names_the_entry_and_what_it_said() -> None:
    Path("t.csv").write_text(YES_NO)
    good("new", "c", "--from", "t.csv", "--kind", "yes/no")
    said = good("correct", "-c", "c", "pass", "--row", "a", "--col", "y").stderr
    assert said == "Corrected: measurement 2 now yes (row 'a', column 'y', was no).\n"
    said = good("correct", "-c", "c", "yes", "--row", "a", "--col", "y").stderr
    assert said == "Nothing changed: that is what it says.\n"
    good("new", "d", "--shape", "3x3")
    good("tell", "-c", "d", "--row", "r1", "--col", "c1", "--value", "1")
    entry = "-c", "d", "--row", "r1", "--col", "c1"
    said = good("correct", *entry, "≤2", "--reason", "a slip").stderr
    assert said == "Corrected: measurement 1 now <2 (row 'r1', column 'c1', was 1): a slip.\n"
    said = good("correct", *entry, "--strike").stderr
    assert said == "Corrected: measurement 1 struck out (row 'r1', column 'c1', was <2).\n"
    said = good("correct", *entry, "3").stderr
    assert said == "Corrected: measurement 1 now 3 (row 'r1', column 'c1', was struck out).\n"


def test_booleans_of_a_parquet_file_are_yes_and_no() -> None:
    flags = {"row": ["a", "b"], "x": [True, False], "y": [None, True]}
    pl.DataFrame(flags).write_parquet("flags.parquet")
    options = ("complete", "flags.parquet", "--rank", "0", "--seed", "1")
    said = "flags.parquet: its values are taken for yes and no. For 1 and 0 say --kind numbers."
    found = good(*options)
    assert said in found.stderr
    assert found.stdout == good(*options, "--kind", "yes/no").stdout
    assert all(0 < float(x) < 1 for line in found.stdout.splitlines()[1:] for x in line.split(",")[1:])
    numbers = good(*options, "--kind", "numbers")
    assert said not in numbers.stderr
    assert "probability" not in numbers.stderr
    assert said in good("new", "c", "--from", "flags.parquet").stderr
    assert good("export", "-c", "c").stdout.count(",yes,") == 2
    good("new", "d", "--from", "flags.parquet", "--kind", "numbers")
    assert "yes" not in good("export", "-c", "d").stdout


def test_only_values_make_a_table_yes_and_no() -> None:
    lines = {"row": ["a", "b"], "col": ["x", "y"], "value": [1.0, 2.0], "checked": [True, False]}
    pl.DataFrame(lines).write_parquet("t.parquet")
    assert "yes and no" not in good("complete", "t.parquet", "--rank", "0", "--seed", "1").stderr
    pl.DataFrame({"row": ["a", "b"], "x": [True, False], "y": [0.5, 1.0]}).write_parquet("mixed.parquet")
    assert "yes and no" not in good("complete", "mixed.parquet", "--rank", "0", "--seed", "1").stderr


def test_a_matrix_says_that_it_has_no_standard_errors() -> None:
    Path("t.csv").write_text("row,col,value,se\na,x,1,0.5\na,y,2,\nb,x,3,\n")
    good("new", "c", "--from", "t.csv")
    said = "A matrix has no room for standard errors: leave out --wide to export them."
    assert said in good("export", "-c", "c", "--wide").stderr
    assert said not in good("export", "-c", "c").stderr


def test_percentages_at_the_ends_are_refused_with_advice() -> None:
    Path("t.csv").write_text("row,x,y\na,0,55\nb,12,100\n")
    assert "limits=(0, 100) (--limits 0,100)" in refused("complete", "t.csv", "--transform", "percent")


def test_grades_that_do_not_begin_at_1_are_refused_with_advice() -> None:
    Path("t.csv").write_text("row,x,y\na,0,2\nb,1,3\n")
    options = ("complete", "t.csv", "--kind", "grades", "--rank", "0", "--seed", "1")
    assert "Give levels if the grades are others (levels=[0, 1, 2], --levels 0,1,2)" in refused(*options)
    assert good(*options, "--levels", "0,1,2,3").exit_code == 0
    assert "(--levels A,B,C), got none" in refused("new", "c", "--from", "t.csv", "--kind", "grades")
