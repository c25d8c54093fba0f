"""Text that a spreadsheet would run as a formula is written as text, and read back as it was."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.run import answer, good

import maxentry
from maxentry import tables
from maxentry.tables import Format, Table, escape, unescape

FORMULAS = [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "'=x", "''+y", "=a,b", '="quoted"', "- salt",
]  # fmt: skip
HARMLESS = ["a", "x-1", "'tis", "-1.5", "+3", "-1e-7", "", "a=b", "'", "-1,5"]
STATIC = Path(maxentry.__file__).parent / "server" / "static" / "js"


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_escaped_and_read_back(text: str) -> None:
    assert escape(text) == "'" + text
    assert unescape(escape(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_other_text_stay_as_they_are(text: str) -> None:
    assert escape(text) == text
    assert unescape(text) == text


@pytest.mark.parametrize("form", [Format.csv, Format.tsv, Format.excel])
def test_a_table_comes_back_as_it_was(form: Format) -> None:
    values = [-1.5 * k for k in range(len(FORMULAS))]
    tables.write(Table(["row", "=col"], [FORMULAS, values]), "t.csv", form)
    with open("t.csv", encoding="utf-8-sig", newline="") as file:
        written = list(csv.reader(file, delimiter={"tsv": "\t", "excel": ";"}.get(form, ",")))
    assert not [
        cell for cell in [*written[0], *(line[0] for line in written)] if cell[:1] in tuple("=+-@\t\r")
    ]
    assert [line[1] for line in written[2:4]] == (["-1,5", "-3"] if form == "excel" else ["-1.5", "-3"])
    table = tables.read("t.csv", form)
    assert table.names == ["row", "=col"]
    assert table.columns[0] == FORMULAS
    assert [float(cell.replace(",", ".")) for cell in table.columns[1]] == values


def test_a_campaign_of_such_labels_is_exported_and_told_back() -> None:
    rows, cols = ["=1+1", "-2+3", "'@x"], ["+a", "@b"]
    words = [word for label in rows for word in ("--row", label)] + [w for x in cols for w in ("--col", x)]
    good("new", "lab", *words, "--seed", 1)
    good("ask", 6, "-o", "plate.csv")
    lines = Path("plate.csv").read_text().splitlines()
    Path("plate.csv").write_text("\n".join([lines[0], *(f"{line}{-k}" for k, line in enumerate(lines[1:]))]))
    assert answer("tell", "plate.csv")["told"] == 6
    for kind in ("--wide", "--long"):
        good("export", "-c", "lab", kind, "-o", f"told{kind}.csv")
        cells = [
            cell for line in csv.reader(io.StringIO(Path(f"told{kind}.csv").read_text())) for cell in line
        ]
        assert not [c for c in cells if c[:1] in tuple("=+@") or (c[:1] == "-" and not c[1:].isdigit())]
        good("new", f"again{kind}", "--from", f"told{kind}.csv", "--seed", 1)
    first = answer("export", "-c", "lab")["entries"]
    values = {(entry["row"], entry["col"]): entry["value"] for entry in first}
    assert {row for row, _ in values} == set(rows)
    for kind in ("--wide", "--long"):
        entries = answer("export", "-c", f"again{kind}")["entries"]
        assert {(entry["row"], entry["col"]): entry["value"] for entry in entries} == values


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_dashboard_writes_plates_by_the_same_rule() -> None:
    code = f'import {{ csvCell }} from "{STATIC / "format.js"}"; process.stdout.write(JSON.stringify(%s.map(csvCell)));'
    texts = [*FORMULAS, *HARMLESS]
    shown = subprocess.run(
        ["node", "--input-type=module", "-e", code % json.dumps(texts)], capture_output=True, check=True
    ).stdout
    for text, cell in zip(texts, json.loads(shown), strict=True):
        assert next(csv.reader(io.StringIO(cell, newline="")), [""]) == [escape(text)]
