"""Buchwald-Hartwig yields: an .xlsx workbook (an archive of XML), read with the standard library alone."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix
from maxentry.studies.datasets.pivot import pivot
from maxentry.studies.datasets.reading import BROKEN, content, unpacked

SHEET = "Plates1-3"
COLUMNS = ("Aryl halide", "Base", "Ligand", "Additive", "Output")
SHARED = "xl/sharedStrings.xml"
LAST = 16_384  # columns that a sheet can have
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def buchwald_hartwig(path: Path) -> Matrix:
    """Halide and base against ligand and additive; the sheet with all plates."""

    def lines() -> Iterator[tuple[str, str, str]]:
        table = sheet(path, SHEET)
        head = table[0] if table else []
        if not set(COLUMNS) <= set(head):
            raise DataError(
                f"expected the columns {', '.join(COLUMNS)}, but sheet {SHEET} of {path} has others."
            )
        at = [head.index(name) for name in COLUMNS]
        for line in table[1:]:
            halide, base, ligand, additive, output = (line[k] if k < len(line) else "" for k in at)
            if any((halide, base, ligand, additive, output)):
                yield f"{halide}|{base}", f"{ligand}|{additive}", output

    return pivot(lines(), path)


def sheet(path: Path, name: str) -> list[list[str]]:
    """The lines of one sheet, as text."""
    data = content(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:

            def part(name: str) -> ET.Element:
                return ET.fromstring(unpacked(archive, name, path))

            shared = _shared(part) if SHARED in archive.namelist() else []
            return [_line(row, shared) for row in part(_place(part, name)).iter(f"{MAIN}row")]
    except DataError:
        raise
    except (*BROKEN, LookupError, ValueError, ET.ParseError, StopIteration) as error:
        raise DataError(
            f"expected an .xlsx workbook with a sheet {name}, but {path} ({len(data)} bytes) is none: {error}."
        ) from None


def _line(row: ET.Element, shared: list[str]) -> list[str]:
    """The cells of a row; those that the file leaves out are empty."""
    line: list[str] = []
    for cell in row.iter(f"{MAIN}c"):
        line += [""] * (_column(cell.get("r", ""), len(line)) - len(line))
        line.append(_value(cell, shared))
    return line


def _place(part: Callable[[str], ET.Element], name: str) -> str:
    """Where the sheet is in the archive: the workbook names a relation, the relations name a file."""
    sheets = part("xl/workbook.xml").iter(f"{MAIN}sheet")
    key = next(s.get(RELATION) for s in sheets if s.get("name") == name)
    relations = part("xl/_rels/workbook.xml.rels")
    target = next(r.get("Target", "") for r in relations if r.get("Id") == key)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _shared(part: Callable[[str], ET.Element]) -> list[str]:
    """Texts that cells refer to by number."""
    items = part(SHARED).iter(f"{MAIN}si")
    return ["".join(t.text or "" for t in item.iter(f"{MAIN}t")) for item in items]


def _value(cell: ET.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(t.text or "" for t in cell.iter(f"{MAIN}t"))
    text = cell.findtext(f"{MAIN}v", "")
    return shared[int(text)] if cell.get("t") == "s" and text else text


def _column(reference: str, following: int) -> int:
    """Position from 0 of a cell called e.g. AB12; the next one where it has no name."""
    letters = re.match(r"[A-Z]+", reference)
    if letters is None:
        return following
    position = 0
    for letter in letters.group():
        position = 26 * position + ord(letter) - ord("A") + 1
    if position > LAST:
        raise ValueError(f"it has a cell {reference}")
    return position - 1
