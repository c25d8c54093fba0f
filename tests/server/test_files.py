"""Files of the dashboard over HTTP: tables that are read, plates, the completed table, the report."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from openpyxl import Workbook
from tests.server.live import begin, serving

BYTES = {"Content-Type": "application/octet-stream"}


@pytest.mark.filterwarnings("ignore:.*read as windows-1252")
@pytest.mark.parametrize(
    ("content", "names", "lines"),
    [
        (b"a;b\nx;1,5\ny;<0,5\nz;0,5..0,7\n", ["a", "b"], [["x", "1.5"], ["y", "<0.5"], ["z", "0.5..0.7"]]),
        (b'a,b\n"x, y",1.5\n\'=1+1,\n', ["a", "b"], [["x, y", "1.5"], ["=1+1", ""]]),
        ("\ufeffa\tb\nä\t2,5\n".encode(), ["a", "b"], [["ä", "2.5"]]),
        ("Größe;b\nä;2,5\n".encode("cp1252"), ["Größe", "b"], [["ä", "2.5"]]),
    ],
)
def test_a_table_is_read_with_decimal_points(
    content: bytes, names: list[str], lines: list[list[str]]
) -> None:
    with serving() as client:
        answer = client.post("/tables", content=content, headers=BYTES)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert (found["names"], found["lines"], found["sheets"]) == (names, lines, [])
        assert client.get("/campaigns").json()["total"] == 0


@pytest.mark.filterwarnings("ignore:.*read as windows-1252")
def test_the_encoding_of_a_file_is_said() -> None:
    texts = {name: "row;col;value\nä;x;2,5\n".encode(name) for name in ("utf-8", "utf-16", "windows-1252")}
    with serving() as client:
        path = begin(client, rows=["ä", "b"], cols=["x", "y"])
        for name, content in texts.items():
            assert client.post("/tables", content=content, headers=BYTES).json()["encoding"] == name
            told = client.post(
                f"{path}/tell/csv", content=content, headers={"Content-Type": "text/csv"}
            ).json()
            assert told["encoding"] == name
            assert told["told"] + told["known"] == 1


def test_labels_stay_as_they_are_written() -> None:
    """A label like 1,5 is no number: the page takes labels from `written`, and values from `lines`."""
    with serving() as client:
        found = client.post("/tables", content=b"dose;S1\n1,5;2,5\n2,5;\n", headers=BYTES).json()
        assert found["lines"] == [["1.5", "2.5"], ["2.5", ""]]
        assert found["written"] == [["1,5", "2,5"], ["2,5", ""]]
        assert client.post("/tables", content=b"dose,S1\nlow,2.5\n", headers=BYTES).json()["written"] is None


def test_a_number_that_may_mean_two_things_is_left_as_it_is_and_refused_as_a_value() -> None:
    with serving() as client:
        content = b'row,S1,price\n"2,500",1.5,"1,234"\nb,2.5,3\n'
        found = client.post("/tables", content=content, headers=BYTES)
        assert found.raise_for_status().json()["lines"] == [["2,500", "1.5", "1,234"], ["b", "2.5", "3"]]
        path = begin(client, rows=["2,500", "b"], cols=["S1", "price"])
        line = {"row": "2,500", "col": "price", "value": "1,234"}
        refused = client.post(f"{path}/tell", json={"lines": [line]})
        assert (refused.status_code, refused.json()["line"]) == (422, 1)
        assert "1,234" in refused.json()["detail"]
        line["value"] = "1.5"
        assert client.post(f"{path}/tell", json={"lines": [line]}).status_code == 200


def test_files_of_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of Parquet can be many cells; a workbook of many cells would take long to write."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    stream = io.BytesIO()
    pq.write_table(pa.table({"row": ["a"] * 50, "col": ["x"] * 50, "value": [1.0] * 50}), stream)
    with serving() as client:
        path = begin(client, rows=["a", "b"], cols=["x", "y"])
        client.post(f"{path}/tell", json={"lines": [{"row": "a", "col": "x", "value": 1.0}]})
        assert client.post("/tables", content=stream.getvalue(), headers=BYTES).status_code == 200
        assert client.get(f"{path}/export?form=xlsx").status_code == 200
        monkeypatch.setattr("maxentry.tables.MOST_CELLS", 100)
        monkeypatch.setattr("maxentry.server.routes.campaigns.LARGEST_SHEET", 3)
        for where in ("/tables", f"{path}/tell/csv"):
            refused = client.post(where, content=stream.getvalue(), headers=BYTES)
            assert refused.status_code == 422, where
            assert "at most 100 cells" in refused.json()["detail"]
        refused = client.get(f"{path}/export?form=xlsx")
        assert (refused.status_code, refused.json()["error"]) == (422, "SizeError")
        assert "form=csv" in refused.json()["detail"]
        assert client.get(f"{path}/export?form=csv").status_code == 200


def test_wells_of_a_plate_come_with_the_file(cache: None) -> None:
    """Also later, from the history; entries that were asked for one by one have none."""
    with serving() as client:
        path = begin(client, rows=[f"r{i}" for i in range(6)], cols=[f"c{j}" for j in range(6)])
        entries = client.post(f"{path}/ask", json={"plates": "2x3"}).json()["entries"]
        single = client.post(f"{path}/ask", json={"n": 2}).json()["entries"]
        lines = list(csv.DictReader(io.StringIO(client.get(f"{path}/plate").text)))
        wells = {line["id"]: line["well"] for line in lines}
        assert sorted(wells[str(e["id"])] for e in entries) == ["A1", "A2", "A3", "B1", "B2", "B3"]
        assert {wells[str(e["id"])] for e in single} == {""}
        rows = {line["row"]: line["well"][0] for line in lines if line["well"]}
        assert sorted(rows.values()) == ["A", "B"]
        assert (
            client.get(f"{path}/history").json()["items"][1]["what"].startswith("ids 1 to 6, a plate of 2x3")
        )
        event = client.get(f"{path}/events").json()["items"]
        assert (event[1]["payload"]["plate"], "plate" in event[2]["payload"]) == ("2x3", False)


def test_a_table_that_is_none_is_refused_in_a_sentence() -> None:
    with serving() as client:
        for content in (b"", b"\x89PNG\x00", b'a,b\n"x\n', b"a;b\nx;1,5\ny;1.234\n"):
            answer = client.post("/tables", content=content, headers=BYTES)
            assert answer.status_code == 422
            assert len(answer.json()["detail"]) <= 300


def test_a_plate_goes_out_in_both_forms_and_comes_back(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=["a", "=b"], cols=["x", "y"])
        client.post(f"{path}/ask", json={"n": 3})
        plain = client.get(f"{path}/plate")
        assert plain.headers["Content-Type"].startswith("text/csv")
        lines = list(csv.DictReader(io.StringIO(plain.text)))
        assert [line["id"] for line in lines] == ["1", "2", "3"]
        german = client.get(f"{path}/plate?form=excel").content.decode("utf-8-sig").splitlines()
        assert german[0] == "id;row;col;mean;sd;value"
        filled = "\n".join([german[0], *(f"{line}{k},5" for k, line in enumerate(german[1:]))])
        told = client.post(f"{path}/tell/csv", content=filled.encode(), headers={"Content-Type": "text/csv"})
        assert told.json()["told"] == 3
        assert [m["value"] for m in client.get(f"{path}/measurements").json()["items"]] == [0.5, 1.5, 2.5]


def test_an_excel_file_is_a_table_a_plate_and_a_download(cache: None) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    with serving() as client:
        path = begin(client, rows=["a", "b"], cols=["x", "y"])
        client.post(f"{path}/ask", json={"n": 2})
        content = client.get(f"{path}/plate?form=xlsx").content
        book = openpyxl.load_workbook(io.BytesIO(content))
        assert [cell.value for cell in book.active[1]] == ["id", "row", "col", "mean", "sd", "value"]
        for line, value in ((2, 1.5), (3, 2.5)):
            book.active.cell(line, 6, value)
        book.create_sheet("notes").append(["only", "words"])
        filled = io.BytesIO()
        book.save(filled)
        read = client.post("/tables", content=filled.getvalue(), headers=BYTES).json()
        assert read["sheets"] == ["maxentry", "notes"]
        assert [line[-1] for line in read["lines"]] == ["1.5", "2.5"]
        notes = client.post("/tables?sheet=notes", content=filled.getvalue(), headers=BYTES).json()
        assert (notes["names"], notes["lines"]) == (["only", "words"], [])
        told = client.post(
            f"{path}/tell/csv", content=filled.getvalue(), headers={"Content-Type": "text/csv"}
        )
        assert told.json()["told"] == 2
        exported = openpyxl.load_workbook(io.BytesIO(client.get(f"{path}/export?form=xlsx").content))
        assert [cell.value for cell in exported.active["E"]] == ["value", 1.5, 2.5]


def test_the_completed_table_is_the_posterior_mean(cache: None) -> None:
    with serving() as client:
        path = begin(client, rows=["a", "b", "c"], cols=["x", "y"], rank=1, row_name="ligand")
        entries = client.post(f"{path}/ask", json={"n": 5}).json()["entries"]
        lines = [{"id": e["id"], "value": k * 1.25} for k, e in enumerate(entries)]
        client.post(f"{path}/tell", json={"lines": lines})
        answer = client.get(f"{path}/completed?wait=60")
        assert answer.status_code == 200
        table = list(csv.reader(io.StringIO(answer.text)))
        assert table[0] == ["ligand", "x", "y"]
        mean = client.get(f"{path}/map?what=mean&wait=60").json()["values"]
        assert np.allclose([[float(x) for x in line[1:]] for line in table[1:]], mean, rtol=1e-5)
        german = client.get(f"{path}/completed?wait=60&form=excel").content.decode("utf-8-sig")
        assert german.splitlines()[1] == ";".join(table[1]).replace(".", ",")
        sd = client.get(f"{path}/completed?wait=60&what=sd").text
        assert sd.splitlines()[0] == "ligand,x,y"
        book = pytest.importorskip("openpyxl").load_workbook(
            io.BytesIO(client.get(f"{path}/completed?wait=60&form=xlsx").content)
        )
        bold = {
            (line[0].value, k)
            for line in book.active.iter_rows(min_row=2)
            for k in (1, 2)
            if line[k].font.bold
        }
        assert bold == {(e["row"], ["x", "y"].index(e["col"]) + 1) for e in entries}


def test_the_report_is_a_page_with_the_unit(cache: None) -> None:
    pytest.importorskip("matplotlib")
    with serving() as client:
        path = begin(client, rows=4, cols=3, rank=1, unit="% yield")
        entries = client.post(f"{path}/ask", json={"n": 8}).json()["entries"]
        lines = [{"id": e["id"], "value": k % 5 + 0.5} for k, e in enumerate(entries)]
        client.post(f"{path}/tell", json={"lines": lines})
        answer = client.get(f"{path}/report?wait=60")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "% yield" in answer.text
        assert client.get(f"{path}/settings").json()["unit"] == "% yield"
        assert client.patch(f"{path}/settings", json={"unit": "x" * 201}).status_code == 422


def test_limits_have_decimal_commas_in_the_german_form_and_are_read_back() -> None:
    lines = [
        {"row": "<0.5", "col": "x", "value": "<0.5"},
        {"row": "b", "col": "x", "value": "0.5..0.75"},
        {"row": "b", "col": "y", "value": ">1e-05"},
    ]
    with serving() as client:
        path, other = (begin(client, name, rows=["<0.5", "b"], cols=["x", "y"]) for name in ("one", "other"))
        client.post(f"{path}/tell", json={"lines": lines})
        german = client.get(f"{path}/export?form=excel").content
        texts = [line.split(";")[2:5] for line in german.decode("utf-8-sig").splitlines()[1:]]
        assert texts == [["<0.5", "x", "<0,5"], ["b", "x", "0,5..0,75"], ["b", "y", ">1e-05"]]
        csv_type = {"Content-Type": "text/csv"}
        assert client.post(f"{other}/tell/csv", content=german, headers=csv_type).json()["told"] == 3
        items = [client.get(f"{one}/measurements").json()["items"] for one in (path, other)]
        assert [x["text"] for x in items[0]] == [x["text"] for x in items[1]]


def test_a_workbook_may_be_sent_as_what_it_is() -> None:
    from maxentry.server.routes.campaigns import WORKBOOK

    with serving() as client:
        path = begin(client, rows=["a", "b"], cols=["x", "y"])
        client.post(f"{path}/tell", json={"lines": [{"row": "a", "col": "x", "value": 1.5}]})
        book = client.get(f"{path}/export?form=xlsx")
        assert book.headers["content-type"] == WORKBOOK
        sent = client.post(f"{path}/tell/csv", content=book.content, headers={"Content-Type": WORKBOOK})
        assert sent.json()["known"] == 1
        assert client.post("/tables", content=book.content, headers={"Content-Type": WORKBOOK}).json()[
            "names"
        ]


@pytest.mark.filterwarnings("ignore:.*numbers in percent", "ignore:.*read as a list")
def test_how_a_file_was_read_is_said_with_the_table_and_with_the_receipt() -> None:
    book, content = Workbook(), io.BytesIO()
    for line in (["ligand", "substrate", "yield"], ["a", "x", 0.45], ["b", "y", 0.07]):
        book.active.append(line)
    book.active["C2"].number_format = book.active["C3"].number_format = "0%"
    book.save(content)
    percent = "the workbook, C2: numbers in percent are read as Excel shows them: 45% is 45. Format cells as numbers"
    with serving() as client:
        path = begin(client, rows=["a", "b"], cols=["x", "y"])
        [note] = client.post("/tables", content=content.getvalue(), headers=BYTES).json()["notes"]
        assert note == f"{percent.replace('the workbook', 'the file')} for 0.45."
        told = client.post(
            f"{path}/tell/csv", content=content.getvalue(), headers={"Content-Type": "text/csv"}
        )
        listed = "the workbook: read as a list: row = 'ligand', column = 'substrate', value = 'yield'."
        assert told.json()["notes"] == [f"{percent} for 0.45.", listed]
        assert (told.json()["told"], told.json()["unused"]) == (2, [])
        items = client.get(f"{path}/measurements").json()["items"]
        assert [(x["row"], x["col"], x["value"]) for x in items] == [("a", "x", 45.0), ("b", "y", 7.0)]
        plain = client.post("/tables", content=b"a,b\nx,1.5\n", headers=BYTES)
        assert plain.json()["notes"] == []


@pytest.mark.filterwarnings("ignore:.*between semicolons")
def test_points_between_semicolons_that_may_be_those_of_thousands_are_said() -> None:
    content = b"row;col;value\na;x;1.234\nb;y;12.500\n"
    with serving() as client:
        path = begin(client, rows=["a", "b"], cols=["x", "y"])
        [note] = client.post("/tables", content=content, headers=BYTES).json()["notes"]
        assert note.startswith("the file, line 2, column value: '1.234' is read with a decimal point")
        told = client.post(f"{path}/tell/csv", content=content, headers={"Content-Type": "text/csv"}).json()
        assert (told["told"], [note.removeprefix("the file, ")]) == (2, told["notes"])
