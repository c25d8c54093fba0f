"""Excel files in and out: plates, matrices, long tables, labels; sheets by name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from tests.cli.run import answer, good, refused

from maxentry import tables
from maxentry.errors import DataError
from maxentry.tables import Format, Table


def write_book(path: str, **sheets: list[list[Any]]) -> str:
    """Write a workbook with these sheets."""
    book = Workbook()
    book.remove(book.active)
    for name, lines in sheets.items():
        page = book.create_sheet(name)
        for line in lines:
            page.append(line)
    book.save(path)
    return path


YIELDS = [["ligand", "S1", "S2"], ["L1", 1.5, None], ["L2", None, 2], ["L3", "<0,5", 3.25]]


def test_a_matrix_a_plate_and_the_result_are_workbooks() -> None:
    write_book("yields.xlsx", Notes=[], Yields=YIELDS)
    assert answer("new", "lab", "--from", "yields.xlsx", "--seed", "1")["told"] == 4
    good("ask", "2", "-o", "plate.xlsx")
    book = load_workbook("plate.xlsx")
    page = book.active
    names = [cell.value for cell in page[1]]
    assert names == ["id", "row", "col", "mean", "sd", "gain", "cost", "value"]
    assert page.freeze_panes == "A2"
    for k in (2, 3):
        page.cell(k, names.index("value") + 1, 2.5)
    book.save("plate.xlsx")
    assert answer("tell", "plate.xlsx")["told"] == 2
    good("posterior", "-o", "completed.xlsx")
    lines = list(load_workbook("completed.xlsx").active.iter_rows(values_only=True))
    assert [line[0] for line in lines] == ["row", "L1", "L2", "L3"]
    assert all(isinstance(x, float) for line in lines[1:] for x in line[1:])
    good("history", "-o", "history.xlsx")
    good("export", "--wide", "-o", "values.xlsx")
    assert tables.read("values.xlsx").columns[2] == [2.5, 2, 3.25]


def test_a_sheet_is_named() -> None:
    write_book("book.xlsx", Old=[["a", "b"], [1, 2]], Yields=YIELDS)
    assert answer("new", "lab", "--from", "book.xlsx", "--sheet", "Yields")["rows"] == 3
    said = refused("new", "x", "--from", "book.xlsx", "--sheet", "Yield")
    assert said == "book.xlsx: expected a sheet named 'Yield', got 'Old', 'Yields'."
    Path("wide.csv").write_text("ligand,S1\nL1,2\n")
    assert "--sheet is for Excel files" in refused("new", "x", "--from", "wide.csv", "--sheet", "Yields")


def test_a_refusal_names_sheet_and_line() -> None:
    write_book("book.xlsx", Notes=[], Yields=[["ligand", "S1", "S2"], ["L1", 1, 2], [], ["L2", "abc", 2]])
    said = refused("new", "lab", "--from", "book.xlsx")
    assert said.startswith("book.xlsx, sheet 'Yields', line 4, column S1: 'abc' is not a number.")


def test_long_tables_and_labels() -> None:
    write_book("long.xlsx", Sheet1=[["row", "col", "value"], ["a", "x", 1], ["b", "y", 2]])
    assert answer("new", "lab", "--from", "long.xlsx")["told"] == 2
    write_book("labels.xlsx", Sheet1=[["name", "other"], ["c", 1], ["d", 2]])
    assert answer("add-rows", "labels.xlsx")["rows"] == 4


def test_empty_lines_and_columns_around_a_table_are_left_out() -> None:
    write_book("book.xlsx", Sheet1=[[], [None, "ligand", "S1", None], [None, "L1", 2, None], [None, None]])
    table = tables.read("book.xlsx")
    assert (table.names, table.columns, table.lines) == (["ligand", "S1"], [["L1"], [2]], [3])


def test_text_that_looks_like_a_formula_stays_text() -> None:
    labels = ["=1+1", "'=x", "+3", "@a", "1.50"]
    stream = io.BytesIO()
    tables.write(Table(["row", "n"], [labels, [1, 2.5, None, float("nan"), 3]]), stream, Format.xlsx)
    table = tables.read(io.BytesIO(stream.getvalue()))
    assert table.columns == [labels, [1, 2.5, None, None, 3]]
    page = load_workbook(io.BytesIO(stream.getvalue())).active
    assert [page.cell(k, 1).data_type for k in (2, 3)] == ["s", "s"]


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"PK\x03\x04" + bytes(500)])
def test_a_damaged_workbook_is_refused(content: bytes) -> None:
    Path("bad.xlsx").write_bytes(content)
    assert "bad.xlsx is not an Excel file that can be read" in refused("new", "lab", "--from", "bad.xlsx")


def test_an_empty_workbook_and_one_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write_book("empty.xlsx", Sheet1=[])
    with pytest.raises(DataError, match=r"got nothing in empty\.xlsx"):
        tables.read("empty.xlsx")
    monkeypatch.setattr(tables, "LARGEST_WORKBOOK", 100)
    with pytest.raises(DataError, match="at most 1 GiB"):
        tables.read("empty.xlsx")
    monkeypatch.setattr(tables, "MOST_LINES", 3)
    with pytest.raises(DataError, match="less than 3 lines"):
        tables.write(Table(["a"], [[1, 2, 3]]), io.BytesIO(), Format.xlsx)


def test_text_that_excel_cannot_hold_is_refused() -> None:
    with pytest.raises(DataError, match="text that Excel can hold"):
        tables.write(Table(["a"], [["\x01"]]), io.BytesIO(), Format.xlsx)
