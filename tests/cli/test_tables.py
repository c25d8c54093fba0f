import os
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from openpyxl import Workbook

from maxentry import tables
from maxentry.cli import output
from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.tables import Format, Table, parquet


def table_of(content: bytes | str, name: str = "data.csv") -> Table:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tables.read(name)


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n,x y\n",
        "a,b\r\n1,2\r\n,x y\r\n",
        "\ufeffa,b\n1,2\n,x y\n",
        "a;b\n1;2\n;x y\n",
        "a\tb\n1\t2\n\tx y\n",
        "a,b\n1,2\n\n,x y\n\n",
        '"a","b"\n"1","2"\n"","x y"\n',
        "a,b,,\n1,2,,\n,x y\n",
        " a , b\n1,2\n   ,x y\n",
        "a,b\n1,2\n,x y".encode("utf-16"),
        "\n\na,b\n1,2\n,x y\n,\n",
        "\ufeffsep=;\r\na;b\r\n1;2\r\n;x y\r\n",
        "sep=;\na;b\n1;2\n;x y\n",
    ],
)
def test_one_table_in_many_spellings(content: bytes | str) -> None:
    table = table_of(content)
    assert table.names == ["a", "b"]
    assert table.columns == [["1", None], ["2", "x y"]]


def test_a_quoted_delimiter_does_not_part_the_first_line() -> None:
    assert table_of('"x;y;z",b\n1,2\n').names == ["x;y;z", "b"]


def test_lines_are_those_of_the_file() -> None:
    table = table_of('a,b\n\n1,"two\nlines"\n3,4\n')
    assert [table.where(k) for k in range(2)] == ["data.csv, line 4", "data.csv, line 5"]


def test_tabs_by_name_or_by_wish() -> None:
    Path("data.tsv").write_text("a,x\tb\n1\t2\n")
    assert tables.read("data.tsv").names == ["a,x", "b"]
    Path("data.txt").write_text("a,x\tb\n1\t2\n")
    assert tables.read("data.txt", Format.tsv).names == ["a,x", "b"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "expected a table with a line of names, got nothing in data.csv."),
        (b"\n \n", "expected a table with a line of names, got nothing in data.csv."),
        (b"a,b\n1,2,3\n", "data.csv, line 2: expected 2 cells, got 3."),
        (
            b"a;b\n1;[0,5; 0,7]\n",
            "data.csv, line 2: expected 2 cells, got 3. A range like [0.5, 0.7] needs quotes around it here; or write "
            "0.5..0.7.",
        ),
        (b'a,b\n1,"2\n3,4\n', "data.csv, line 3: not valid CSV: unexpected end of data."),
        (b"a,b\n1,2\n3,\x81\n", "data.csv, line 3: not UTF-8. In Excel, save as 'CSV UTF-8'."),
        (b"a,b\n1,2\n3,\xc3\xa4\xfc\n", "data.csv, line 3: not UTF-8."),  # UTF-8 with a damage
        ("a,b\n1,2\n\u043c\u0435\u0434\u044c,3\n".encode("cp1251"), "data.csv, line 3: not UTF-8."),
        (b"PK\x03\x04\x00\x00", "data.csv is not an Excel file that can be read: File is not a zip file."),
        (b"PAR1 and then rubbish", "data.csv is not a Parquet file"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        table_of(content)
    assert str(caught.value).startswith(sentence)


def test_the_plain_csv_of_a_western_excel_is_read_and_said() -> None:
    text = "Säure;Größe\nweiß – 5 µm;1,5\n"
    with pytest.warns(UserWarning, match=r"^data\.csv: read as windows-1252, since it is not UTF-8\.$"):
        western = table_of(text.encode("cp1252"))
    same = table_of(text.encode("utf-8-sig"))
    assert (
        (western.names, western.columns)
        == (same.names, same.columns)
        == (["Säure", "Größe"], [["weiß – 5 µm"], ["1,5"]])
    )
    assert (western.encoding, same.encoding) == ("windows-1252", "utf-8")
    assert table_of(text.encode("utf-16")).encoding == "utf-16"


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(DataError, match=r"no.csv does not exist"):
        tables.read("no.csv")
    with pytest.raises(DataError, match=r"got the folder \."):
        tables.read(".")


# Parquet


def test_parquet_there_and_back_also_with_a_wrong_name() -> None:
    made = Table(["id", "row", "value"], [[1, 2], ["a", "b"], [None, None]])
    tables.write(made, "plate.parquet")
    tables.write(made, "plate.csv", Format.parquet)
    for name in ("plate.parquet", "plate.csv"):
        found = tables.read(name)
        assert (found.names, found.columns) == (made.names, made.columns)
    assert pl.read_parquet("plate.parquet").schema["value"] == pl.Float64  # so that values can be filled in


def test_labels_of_mixed_types_become_text_in_parquet() -> None:
    tables.write(Table(["row"], [[1, "a", None]]), "mixed.parquet")
    assert tables.read("mixed.parquet").columns == [["1", "a", None]]


def test_pandas_index_comes_first() -> None:
    pd.DataFrame({"S1": [1.0], "S2": [2.0]}, index=["L1"]).to_parquet("wide.parquet")
    assert tables.read("wide.parquet").names == ["", "S1", "S2"]
    pd.DataFrame({"S1": [1.0]}, index=pd.Index(["L1"], name="ligand")).to_parquet("named.parquet")
    found = tables.read("named.parquet")
    assert (found.names, found.columns) == (["ligand", "S1"], [["L1"], [1.0]])


@pytest.mark.parametrize("missing", ["pyarrow", "polars"])
def test_either_library_will_do(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, missing)
    made = Table(["row", "x", "value"], [["a", "b"], [1.5, None], [None, None]])
    tables.write(made, "out.parquet")
    found = tables.read("out.parquet")
    assert (found.names, found.columns) == (made.names, made.columns)


def test_without_any_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pyarrow", "polars")
    with pytest.raises(MissingDependencyError, match=r"maxentry\[parquet\]"):
        output.check_writable("out.parquet")


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda name: None if name in names else name)


# Writing


def test_numbers_in_full_and_nothing_for_nothing() -> None:
    cells = [0.1 + 0.2, 3.0, None, float("nan"), 'say "x, y"', True]
    tables.write(Table(["a"], [cells]), "out.csv")
    assert Path("out.csv").read_text() == 'a\n0.30000000000000004\n3\n""\n""\n"say ""x, y"""\nTrue\n'


def test_many_lines_come_out_as_many() -> None:
    tables.write(Table(["a"], [list(range(2501))]), "out.csv")
    assert Path("out.csv").read_text().splitlines() == ["a", *map(str, range(2501))]


def test_a_file_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("out.csv").write_text("precious")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maxentry.tables.table._write_to", full)
    with pytest.raises(DataError, match=r"cannot write out.csv: No space left on device"):
        tables.write(Table(["a"], [[1]]), "out.csv")
    assert Path("out.csv").read_text() == "precious"
    assert os.listdir() == ["out.csv"]


def test_a_link_is_followed_and_a_device_written_to() -> None:
    Path("real.csv").write_text("")
    Path("link.csv").symlink_to("real.csv")
    tables.write(Table(["a"], [[1]]), "link.csv")
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").read_text() == "a\n1\n"
    tables.write(Table(["a"], [[1]]), "/dev/null")


def test_what_cannot_be_written_is_refused_before_any_work() -> None:
    Path("in.csv").write_text("a\n")
    Path("folder").mkdir()
    for target, sources, sentence in (
        ("folder", [], "the folder folder"),
        ("no/out.csv", [], "no does not exist"),
        ("./in.csv", ["in.csv"], "is read"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            output.check_writable(target, sources=sources)
    output.check_writable("new.csv", sources=["in.csv", "-"])
    output.check_writable(None)
    output.check_writable("-")


def test_the_format_is_that_asked_for_else_that_of_the_name() -> None:
    assert tables.choose_format("x.parquet", None) is Format.parquet
    assert tables.choose_format("x.PQ", None) is Format.parquet
    assert tables.choose_format("x.tsv", None) is Format.tsv
    assert tables.choose_format("x.anything", None) is tables.choose_format(None, None) is Format.csv
    assert tables.choose_format("x.parquet", Format.csv) is Format.csv


# Excel


def test_what_excel_gets_is_read_back_the_same() -> None:
    tables.write(Table(["Größe", "x;y", "n"], [["a.b", "c"], [1.25, None], [3, 4]]), "out.csv", Format.excel)
    assert Path("out.csv").read_bytes().decode() == '\ufeffGröße;"x;y";n\r\na.b;1,25;3\r\nc;;4\r\n'
    for form in (None, Format.excel):
        table = tables.read("out.csv", form)
        assert (table.names, table.columns) == (
            ["Größe", "x;y", "n"],
            [["a.b", "c"], ["1,25", None], ["3", "4"]],
        )
        assert table.decimal_comma == "only"


@pytest.mark.parametrize("name", ["plate.ods", "plate.XLS"])
def test_a_workbook_of_another_format_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=r"Save it as \.xlsx or CSV"):
        output.check_writable(name)
    Path(name).write_bytes(b"PK\x03\x04")
    with pytest.raises(ParameterError, match=r"Save it as \.xlsx or CSV"):
        tables.read(name)


TABLE = "ligand;S1;S2\nL1;1,5;2,5\nL2;;3\n"


@pytest.mark.parametrize(
    "above",
    [
        "Yields of plate 3\n",
        "Yields of plate 3;;\n",
        "Yields in %\n\n15 May\n",
        "Plate 3;\n\n",
        "Yields, in %\n",
    ],
)
def test_a_title_above_the_names_is_left_out_and_said(above: str) -> None:
    with pytest.warns(
        UserWarning, match=r"data\.csv: what stands above the names is taken for a title, and left out"
    ):
        found = table_of(above + TABLE)
    plain = table_of(TABLE)
    assert (found.names, found.columns, found.decimal_comma) == (
        plain.names,
        plain.columns,
        plain.decimal_comma,
    )
    assert found.title == " ".join(line.strip(";") for line in above.splitlines() if line.strip())
    first = len(above.splitlines()) + 2
    assert found.lines == [first, first + 1]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a\nb;c\nd;e\n", ["a"]),
        ("a,b\nx;y,1\nz;w,2\n", ["a", "b"]),
        ("row,1,2\nA,1,2\n", ["row", "1", "2"]),
        ("name\nx\ny\n", ["name"]),
    ],
)
def test_what_may_be_no_title_is_not_left_out(content: str, names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table_of(content).names == names


@pytest.mark.parametrize("content", ["name\nL1;0,5\nL2;0,7\n", "title\nrow,x\n"], ids=["values", "names"])
def test_a_line_that_is_no_plain_title_is_refused_with_advice(content: str) -> None:
    with pytest.raises(DataError, match=r"If there is a title above the names of the columns, delete it\."):
        table_of(content)


@pytest.mark.parametrize(
    "content",
    [
        '"name";"c1";"c2"\n"L;1";1,5;2,5\n"L;2";3,5;4,5\n',
        'name;c1;c2;;\n"L;1";1,5;2,5\n"L;2";3,5;4,5\n',
        "name;c1;c2\n'L;1';1,5;2,5\n".replace("'", '"') + '"L;2";3,5;4,5\n',
    ],
)
def test_semicolons_in_quotes_beside_decimal_commas_are_no_title(content: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = table_of(content)
    assert (found.names, found.columns[0]) == (["name", "c1", "c2"], ["L;1", "L;2"])
    assert found.decimal_comma == "only"


def test_a_title_of_a_sheet_is_left_out_and_said() -> None:
    lines = [["Yields of plate 3"], [], ["ligand", "S1", "S2"], ["L1", 1.5, 2.5], ["L2", None, 3]]
    book = Workbook()
    for line in lines:
        book.active.append(line)
    book.save("t.xlsx")
    with pytest.warns(UserWarning, match="left out: 'Yields of plate 3'"):
        found = tables.read("t.xlsx")
    assert (found.names, found.columns) == (["ligand", "S1", "S2"], [["L1", "L2"], [1.5, None], [2.5, 3]])
    assert (found.title, found.lines) == ("Yields of plate 3", [4, 5])


def test_a_title_may_stand_in_a_column_of_its_own() -> None:
    book = Workbook()
    for line in [["Plate 3"], [], [None, "ligand", "S1"], [None, "L1", 1.5], [None, "L2", 3]]:
        book.active.append(line)
    book.save("t.xlsx")
    with pytest.warns(UserWarning, match="left out: 'Plate 3'"):
        found = tables.read("t.xlsx")
    assert (found.names, found.columns) == (["ligand", "S1"], [["L1", "L2"], [1.5, 3]])
