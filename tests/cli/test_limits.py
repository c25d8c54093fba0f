"""Limits, ranges and standard errors in files, and warnings for columns that are not used."""

import math
from pathlib import Path

import pytest
from tests.cli.run import good, refused

from maxentry.cells import Reading
from maxentry.cli import inputs
from maxentry.errors import DataError

inf = math.inf


def matrix(
    content: str, names: str | None = None, se: str | None = None, name: str = "t.csv"
) -> inputs.Matrix:
    Path(name).write_text(content)
    return inputs.read_matrix(name, names, se)


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
