"""Excel files in and out: plates, matrices, long tables, labels; sheets by name."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook
from tests.cli.run import answer, good, refused

from maxentry import tables
from maxentry.acquisition.problem import Limits
from maxentry.cli.options import parse_shape
from maxentry.errors import DataError, ParameterError
from maxentry.tables import Format, Table, excel, parquet


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
    assert [line[0] for line in lines] == ["ligand", "L1", "L2", "L3"]
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


def test_a_sheet_without_a_table_names_another_one() -> None:
    write_book("book.xlsx", Notes=[["Screening, March"]], Yields=YIELDS)
    said = refused("new", "lab", "--from", "book.xlsx")
    assert said.endswith("got only the column 'Screening, March'. Choose another sheet: --sheet 'Yields'.")


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
    monkeypatch.setattr(excel, "LARGEST_WORKBOOK", 100)
    with pytest.raises(DataError, match=r"at most 0 MiB, got one of 0 MiB"):
        tables.read("empty.xlsx")
    monkeypatch.setattr(excel, "MOST_LINES", 3)
    with pytest.raises(DataError, match="less than 3 lines"):
        tables.write(Table(["a"], [[1, 2, 3]]), io.BytesIO(), Format.xlsx)


def test_text_that_excel_cannot_hold_is_refused() -> None:
    with pytest.raises(DataError, match="text that Excel can hold"):
        tables.write(Table(["a"], [["\x01"]]), io.BytesIO(), Format.xlsx)


def write_sheet(path: str, xml: str) -> str:
    """Write a workbook whose only sheet is this XML."""
    write_book("plain.xlsx", Sheet1=[])
    with zipfile.ZipFile("plain.xlsx") as plain, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name in plain.namelist():
            sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{xml}</worksheet>'
            book.writestr(name, sheet if name.endswith("sheet1.xml") else plain.read(name))
    return path


TABLE = (
    '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is>'
    '</c></row><row r="2"><c r="B2"><v>2</v></c><c r="A2"><v>1</v></c></row></sheetData>'
)


@pytest.mark.parametrize("claim", ["A1", "A1:B1", "A1:XFD1048576", "B2:B2", None])
def test_a_sheet_is_read_whatever_size_it_claims(claim: str | None) -> None:
    write_sheet("book.xlsx", (f'<dimension ref="{claim}"/>' if claim else "") + TABLE)
    table = tables.read("book.xlsx")
    assert (table.names, table.columns, table.lines) == (["a", "b"], [[1], [2]], [2])


@pytest.mark.parametrize(
    ("row", "got"),
    [
        ('<row r="5000000"><c><v>1</v></c></row>', "got line 5e+06 with 1 columns"),
        ('<row r="10000000000000"><c><v>1</v></c></row>', "got line 1e+13 with 1 columns"),
        ('<row r="1"><c r="XFE1"><v>1</v></c></row>', "got line 1 with 16385 columns"),
    ],
)
def test_a_line_or_column_beyond_a_sheet_is_refused(row: str, got: str) -> None:
    write_sheet("book.xlsx", f"<sheetData>{row}</sheetData>")
    with pytest.raises(DataError, match="at most 1048576 lines, 16384 columns and 5000000 cells") as refusal:
        tables.read("book.xlsx")
    assert got in str(refusal.value)


def test_lines_that_are_not_there_are_not_looked_at() -> None:
    rows = "".join(f'<row r="{k}"><c r="XFD{k}"><v>{k}</v></c></row>' for k in range(1000, 1_000_000, 1000))
    write_sheet("book.xlsx", f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>')
    table = tables.read("book.xlsx")
    assert (table.names, table.n, table.lines and table.lines[-1]) == (["1000"], 998, 999_000)


def test_cells_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    write_book("full.xlsx", Sheet1=[["a", "b"], [1, 2], [3, 4]])
    write_book("sparse.xlsx", Sheet1=[["a"], [None, 1], [None, None, 2]])
    pl.DataFrame({"a": [1] * 100_000}).write_parquet("table.parquet")
    size = Path("table.parquet").stat().st_size
    assert 4 * size < 100_000
    monkeypatch.setattr(excel, "MOST_CELLS", 5)
    with pytest.raises(DataError, match="5 cells, got line 3 with 2 columns, cell 6"):
        tables.read("full.xlsx")
    with pytest.raises(DataError, match="at most 5 cells, got 9"):
        tables.read("sparse.xlsx")
    for library in ("pyarrow", "polars"):
        monkeypatch.setattr(parquet, "parquet_library", lambda library=library: library)
        with pytest.raises(DataError, match=rf"at most {4 * size} cells in a file of its size, got 100000\."):
            tables.read("table.parquet")
    write_sheet("wide.xlsx", f"<sheetData><row>{'<d/>' * 200}</row></sheetData>")
    monkeypatch.setattr(excel, "MOST_ELEMENTS", 100)
    with pytest.raises(DataError, match="at most 16384 columns, got 101 elements in a line"):
        tables.read("wide.xlsx")


def test_a_formula_that_was_never_computed_is_refused() -> None:
    write_book("book.xlsx", Sheet1=[["a", "b"], [1, "=A2+1"]])
    with pytest.raises(DataError, match=r"book\.xlsx, sheet 'Sheet1', B2: expected a value, got a formula"):
        tables.read("book.xlsx")
    empty, four = '<c r="A3" t="str"><f>""</f><v></v></c>', '<c r="B3"><f>2+2</f><v>4</v></c>'
    write_sheet("book.xlsx", TABLE.replace("</sheetData>", f'<row r="3">{empty}{four}</row></sheetData>'))
    assert tables.read("book.xlsx").columns == [[1, None], [2, 4]]


def test_a_plate_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(ParameterError, match="a block like '8x12' or None, got '999"):
        Limits(plates="9" * 5000 + "x1")
    with pytest.raises(ParameterError, match="a plate of 1 to 48 rows and columns, got 100x8"):
        Limits(plates="100x8")
    assert Limits(plates=" 8 × 12").block == (8, 12)
    assert parse_shape("9" * 5000 + "x1") is None


def test_whole_numbers_and_booleans_of_answers_are_not_text() -> None:
    Path("y.csv").write_text("ligand,S1,S2\nA,1,2\nB,3,4\nC,2,3\n")
    good("new", "lab", "--from", "y.csv", "--seed", "1")
    good("answer", "rank rows", "-o", "ranks.xlsx")
    names, first, *_ = load_workbook("ranks.xlsx").active.iter_rows(values_only=True)
    found = dict(zip(names, first, strict=True))
    assert {name: type(found[name]) for name in ("place", "rank_low", "tied")} == {
        "place": int, "rank_low": int, "tied": bool,
    }  # fmt: skip


def test_a_completed_table_has_what_was_measured_in_bold() -> None:
    Path("y.csv").write_text("ligand,S1,S2\nA,1,2\nB,3,\nC,,3\n")
    good("new", "lab", "--from", "y.csv", "--seed", "1", "--rank", "0")
    said = good("posterior", "-o", "completed.xlsx").stderr
    assert "It has the estimate of every entry; measured ones are bold." in said
    lines = list(load_workbook("completed.xlsx").active.iter_rows(min_row=2))
    assert [[bool(cell.font.bold) for cell in line] for line in lines] == [
        [False, True, True], [False, True, False], [False, False, True],
    ]  # fmt: skip
    good("complete", "y.csv", "-o", "long.xlsx", "--long", "--rank", "0")
    assert not any(cell.font.bold for cell in load_workbook("long.xlsx").active[2])
    assert "bold" not in good("complete", "y.csv", "-o", "completed.csv", "--rank", "0").stderr


def test_numbers_in_percent_are_read_as_they_are_shown() -> None:
    lines = [["ligand", "S1", "S2"], ["L1", 0.45, 12.5], ["L2", 0.07, None], ["L3", 1, 0.5]]
    write_book("t.xlsx", Sheet=lines)
    book = load_workbook("t.xlsx")
    page = book.active
    for cell, form in (("B2", "0%"), ("B3", "0.00%"), ("B4", '0" %"'), ("C4", "0.0 %"), ("B1", "0%")):
        page[cell].number_format = form
    book.save("t.xlsx")
    told = good("new", "lab", "--from", "t.xlsx", "--limits", "0,100").stderr
    assert "t.xlsx, B2: numbers in percent are read as Excel shows them: 45% is 45." in told
    values = [entry["value"] for entry in answer("export")["entries"]]
    assert values == [45.0, 12.5, 7.0, 1.0, 50.0]  # 0" %" shows 1 as 1 %
    write_book("plain.xlsx", Sheet=lines)
    assert "percent" not in good("new", "plain", "--from", "plain.xlsx").stderr


@pytest.mark.parametrize("form", ["#,##0.0_%_);(#,##0.0)_%", "0*%", r"0.0\%", '0"%"', "0.0_%"])
def test_a_format_with_a_percent_sign_that_scales_nothing_is_none(form: str) -> None:
    write_book("t.xlsx", Sheet=[["ligand", "S1"], ["L1", 12.5]])
    book = load_workbook("t.xlsx")
    book.active["B2"].number_format = form
    book.save("t.xlsx")
    read = tables.read("t.xlsx")
    assert (read.columns[1], read.notes) == ([12.5], ())


@pytest.mark.filterwarnings("ignore:.*numbers in percent")
def test_labels_in_percent_are_read_alike_of_rows_and_columns() -> None:
    write_book("t.xlsx", Sheet=[["dose", 0.1, 0.255], [0.1, 0.45, 0.5], [0.255, 0.07, 12.5]])
    book = load_workbook("t.xlsx")
    for cell in ("B1", "C1", "A2", "A3", "B2", "C2", "B3"):
        book.active[cell].number_format = "0.0%"
    book.save("t.xlsx")
    read = tables.read("t.xlsx")
    assert read.names == ["dose", "10", "25.5"]
    assert read.columns == [[10.0, 25.5], [45.0, 7.0], [50.0, 12.5]]
    assert len(read.notes) == 1
    assert "B1: numbers in percent are read as Excel shows them" in read.notes[0]


def test_a_cell_that_excel_took_for_a_date_is_refused_with_what_to_do() -> None:
    day, time = dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 12, 30)
    write_book("t.xlsx", Sheet=[["lig", "S1", "S2"], ["L1", day, 0.5], ["L2", 1.5, time]])
    said = refused("new", "lab", "--from", "t.xlsx")
    assert said.startswith(
        "t.xlsx, line 2, column S1: 2024-05-01 is not a number. Excel takes 1.5 or 3-4 for a date: "
    )
    assert said.endswith("Likewise line 3, column S2 (2024-05-01 12:30:00).")
