"""What cells, tables of measurements, labels, costs and masks mean."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maxentry import tables
from maxentry.cells import parse_flag, parse_number
from maxentry.cli import inputs, matrices
from maxentry.errors import DataError, LabelError, MaxentryError
from maxentry.labels import label_text
from maxentry.tables import Table


def written(content: str, name: str = "t.csv") -> str:
    Path(name).write_text(content)
    return name


def table(content: str) -> Table:
    return tables.read(written(content))


# Cells


@pytest.mark.parametrize(
    ("cell", "x"),
    [("3", 3.0), (" -2.5e-3 ", -2.5e-3), (".5", 0.5), ("7.", 7.0), (4, 4.0), (np.float32(0.5), 0.5), ("inf", np.inf)],
)  # fmt: skip
def test_numbers(cell: object, x: float) -> None:
    assert parse_number(cell, "here") == x


@pytest.mark.parametrize("cell", [None, "", "  ", "NA", "n/a", "NaN", "null", "None", float("nan")])
def test_nothing(cell: object) -> None:
    assert parse_number(cell, "here") is None


@pytest.mark.parametrize("cell", ["x", "1,5", "1_000", "<5", "5%", "1.2.3", "0x10", [1]])
def test_what_is_no_number_is_refused_with_its_place(cell: object) -> None:
    with pytest.raises(DataError, match=r"line 3: .* is not a number"):
        parse_number(cell, "line 3")


def test_a_decimal_comma_only_where_cells_are_parted_otherwise() -> None:
    assert parse_number("1,5", "here", decimal_comma="always") == 1.5
    assert parse_number("1.5", "here", decimal_comma="always") == 1.5
    assert parse_number("1,234", "here", decimal_comma="always") == 1.234
    with pytest.raises(DataError):
        parse_number("1,234,567", "here", decimal_comma="always")
    for how in ("unambiguous", "always", "only"):
        assert parse_number("-1.234.567,5", "here", decimal_comma=how) == -1234567.5
    assert parse_number("1,234.5", "here", decimal_comma="unambiguous") == 1234.5
    for text, how in (("1,234.5", "only"), ("1.234,5", "never"), ("0.234,5", "always"), ("1.23,5", "always")):
        with pytest.raises(DataError):
            parse_number(text, "here", decimal_comma=how)


def test_yes_and_no() -> None:
    assert [parse_flag(x, "") for x in ("1", "yes", "X", True, "TRUE", 1.0)] == [True] * 6
    assert [parse_flag(x, "") for x in ("0", "no", "", None, False)] == [False] * 5
    with pytest.raises(DataError, match="expected yes or no"):
        parse_flag("perhaps", "line 2")


def test_labels_as_text() -> None:
    assert [label_text(x) for x in (" A ", 3, 3.0, 0.5)] == ["A", "3", "3", "0.5"]


# Measurements


def test_a_wide_table() -> None:
    found = matrices.parse_matrix(table("ligand,S1,S2\nL1,1,\nL2,NA,0\nL3,,\n"))
    assert (found.row_labels, found.col_labels, found.corner) == (["L1", "L2", "L3"], ["S1", "S2"], "ligand")
    assert (found.rows, found.cols, found.values) == (["L1", "L2"], ["S1", "S2"], [1.0, 0.0])


def test_a_long_table_may_name_entries_without_a_value() -> None:
    found = matrices.parse_matrix(table("Row,Column,note,Value\nb,y,,2\na,y,x,\nb,x,,1\nb,y,,3\n"))
    assert (found.row_labels, found.col_labels) == (["b", "a"], ["y", "x"])
    assert (found.rows, found.cols, found.values) == (["b", "b", "b"], ["y", "x", "y"], [2.0, 1.0, 3.0])


def test_a_long_table_with_other_names() -> None:
    found = matrices.parse_matrix(table("ligand,substrate,yield\nA,s,0.5\n"), "Ligand, substrate,yield")
    assert found.columns() == {"row": ["A"], "col": ["s"], "value": [0.5]}


def test_decimal_commas_between_semicolons() -> None:
    assert matrices.parse_matrix(table("row;col;value\nA;x;1,5\n")).values == [1.5]
    assert matrices.parse_matrix(table("row;x\nA;1,5\n")).values == [1.5]


def test_between_tabs_a_comma_must_not_look_like_that_of_thousands() -> None:
    assert matrices.parse_matrix(table("row\tx\nA\t1,5\nB\t0,1234\n")).values == [1.5, 0.1234]
    with pytest.raises(DataError, match=r"t\.csv, line 2, column x: '1,234' may mean 1234 or 1\.234"):
        matrices.parse_matrix(table("row\tx\nA\t1,234\n"))


@pytest.mark.parametrize(
    ("content", "names", "sentence"),
    [
        ("a,b\nx,1\nx,2\n", None, "t.csv: row label 'x' appears twice. If this is a long table"),
        ("a,b,b\nx,1,2\n", None, "t.csv: column label 'b' appears twice."),
        ("a,b,,c\nx,1,2,3\n", None, "expected a name for every column, got an empty one. If there is a title above"),
        ("a,b\n,1\n", None, "t.csv, line 2: expected a row label in the first cell"),
        ("a,b\nx,ten\n", None, "t.csv, line 2, column b: 'ten' is not a number."),
        ("a\nx\n", None, "expected row labels and at least one more column, got only the column 'a'"),
        ("row,col,value\nx,,1\n", None, "t.csv, line 2: expected a column label"),
        ("row,col,value\nx,y,?\n", None, "t.csv, line 2, column value: '?' is not a number."),
        ("row,col,value,Value\nx,y,1,2\n", None, "t.csv: several columns are named value."),
        ("a,b,c\nx,y,1\n", "a,b,d", "t.csv: expected a column d, got a, b, c."),
        ("a,b,c\nx,y,1\n", "a,b", "expected three names, like ligand,substrate,yield, got 'a,b'"),
    ],
)  # fmt: skip
def test_tables_that_are_no_measurements_are_refused(content: str, names: str | None, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        matrices.parse_matrix(table(content), names)
    assert sentence in str(caught.value)


# Labels


def test_labels_one_a_line_or_a_column() -> None:
    assert inputs.read_labels(written("a\n\n b \nc,d\n", "r.txt")) == ["a", "b", "c,d"]
    assert inputs.read_labels(written("ligand,mass\nL1,1\nL2,2\n")) == ["L1", "L2"]
    assert inputs.read_labels("t.csv:Mass") == ["1", "2"]
    pd.DataFrame({"x": [1.0, 2.0]}).to_parquet("r.parquet")
    assert inputs.read_labels("r.parquet") == ["1", "2"]
    with pytest.raises(DataError, match=r"t.csv: expected a column no, got ligand, mass"):
        inputs.read_labels("t.csv:no")
    with pytest.raises(DataError, match="does not exist"):
        inputs.read_labels("no.txt")


# Costs and masks

ROWS, COLS = ["A", "B"], ["x", "y"]


def test_costs_of_rows_columns_and_entries() -> None:
    written("row,cost\nB,2\nA,1\n", "r.csv")
    written("col;cost\nx;1,5\ny;2\n", "c.csv")
    written("what,y,x\nA,2,1\nB,4,3\n", "e.csv")
    written("row,col,cost\nA,x,1\nA,y,2\nB,x,3\nB,y,4\n", "l.csv")
    found = inputs.read_costs(["r.csv", "c.csv", "e.csv"], ROWS, COLS)
    assert found is not None
    assert found["row"].tolist() == [1, 2]
    assert found["col"].tolist() == [1.5, 2]
    assert found["entry"].tolist() == [[1, 2], [3, 4]]
    long = inputs.read_costs(["l.csv"], ROWS, COLS)
    assert long is not None
    assert long["entry"].tolist() == [[1, 2], [3, 4]]
    assert inputs.read_costs([], ROWS, COLS) == {}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("row,cost\nA,1\n", "expected a cost for every row, got none for row 'B'"),
        ("w,x,y\nA,1,2\nB,3,\n", "expected a cost for every entry, got none for row 'B', column 'y'"),
        ("row,cost\nA,1\nC,1\n", "expected known row labels, got 'C'"),
        ("row,cost\nA,dear\n", "t.csv, line 2, column cost: 'dear' is not a number"),
    ],
)
def test_costs_that_leave_something_open_are_refused(content: str, sentence: str) -> None:
    with pytest.raises(MaxentryError) as caught:
        inputs.read_costs([written(content)], ROWS, COLS)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("row,cost\nA,1\nB,2\nA,3\n", "t.csv, line 4: expected one cost for row 'A', "),
        ("row,col,cost\nA,x,1\n\nA,x,1\n", "t.csv, line 4: expected one cost for row 'A', column 'x', "),
    ],
)
def test_a_second_cost_of_an_entry_is_refused(content: str, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        inputs.read_costs([written(content)], ROWS, COLS)
    assert str(caught.value) == f"{sentence}got another; the first is in t.csv, line 2."


def test_a_matrix_of_costs_has_every_label_once() -> None:
    with pytest.raises(DataError, match=r"^t\.csv: row label 'A' appears twice\.$"):
        inputs.read_costs([written("w,x,y\nA,1,2\nB,3,4\nA,,6\n")], ROWS, COLS)
    with pytest.raises(DataError, match=r"^t\.csv: column label 'x' appears twice\.$"):
        inputs.read_costs([written("w,x,x\nA,1,2\nB,3,4\n")], ROWS, COLS)


def test_an_empty_cell_is_no_second_cost() -> None:
    costs = inputs.read_costs([written("row,cost\nA,1\nB,2\nA,\n")], ROWS, COLS)
    assert costs["row"].tolist() == [1, 2]


def test_an_entry_of_a_mask_named_twice_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"line 3: expected one available for row 'A', column 'x', got another"
    ):
        inputs.read_mask(written("row,col,available\nA,x,1\nA,x,0\n"), ROWS, COLS)
    with pytest.raises(DataError, match=r"row label 'A' appears twice"):
        inputs.read_mask(written("m,x,y\nA,1,0\nA,0,1\n"), ROWS, COLS)


def test_two_files_of_one_kind_are_refused() -> None:
    written("row,cost\nA,1\nB,1\n", "r.csv")
    with pytest.raises(DataError, match=r"expected one file of row costs, got another, r\.csv"):
        inputs.read_costs(["r.csv", "r.csv"], ROWS, COLS)


@pytest.mark.parametrize(
    ("listed", "available"),
    [
        ("A,x,0\n", [[False, True], [True, True]]),
        ("A,x,1\n", [[True, False], [False, False]]),
        ("A,x,0\nB,y,1\n", [[False, False], [False, True]]),
    ],
)
def test_what_a_list_of_a_mask_does_not_name(listed: str, available: list[list[bool]]) -> None:
    path = written("row,col,available\n" + listed)
    assert inputs.read_mask(path, ["A", "B"], ["x", "y"]).tolist() == available


def test_masks() -> None:
    assert inputs.read_mask(written("m,x,y\nB,1,\nA,yes,0\n"), ROWS, COLS).tolist() == [
        [True, False],
        [True, False],
    ]
    assert inputs.read_mask(written("row,col,available\nA,y,1\n"), ROWS, COLS).tolist() == [
        [False, True],
        [False] * 2,
    ]
    assert inputs.read_mask(written("m,3,1\n1,1,0\n2,0,1\n"), [1, 2], [1.0, 3.0]).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(LabelError):
        inputs.read_mask(written("m,x,z\nA,1,1\n"), ROWS, COLS)
    with pytest.raises(DataError, match="expected yes or no"):
        inputs.read_mask(written("m,x,y\nA,1,maybe\n"), ROWS, COLS)


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (("0.31", "-1.2", "4.7"), True),
        (("0.31", "1", "4.7"), False),
        (("2019", "2020", "2021"), False),
        (("a", "b", "c"), False),
    ],
)
def test_a_first_column_of_values_is_not_taken_for_labels_in_silence(
    labels: tuple[str, ...], warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{label},{k},5" for k, label in enumerate(labels)]
    found = matrices.parse_matrix(table("x,y,z\n" + "\n".join(lines) + "\n"))
    assert found.row_labels == list(labels)
    assert ("looks like" in capsys.readouterr().err) == warned
