"""Small files in the publishers' formats, and a data set of our own in place of theirs."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xlwt

from maxentry.studies.datasets import copies
from maxentry.studies.datasets.dataset import File, Info, Matrix, digest_of
from maxentry.studies.datasets.tables import wide_csv

SHARED = Path(__file__).parents[3].parent / "shared" / "data"
TABLE = b",a,b\n1,0.5,2\n2,,7\n".replace(b",,", b",nan,")
VALUES = np.array([[0.5, 2.0], [np.nan, 7.0]])


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def archive(path: Path, **members: bytes) -> Path:
    """A .zip; __ in a name stands for a folder's slash, _ for a dot."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members.items():
            z.writestr(name.replace("__", "/").replace("_", "."), data)
    return path


def xls(table: list[list[float | str]]) -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("jester-data-1-new")
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            sheet.write(i, j, value)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def xlsx(path: Path, sheets: dict[str, list[list[str | float | None]]]) -> Path:
    """A workbook as Excel writes it: texts shared, numbers in place, empty cells left out."""
    texts = sorted({v for table in sheets.values() for row in table for v in row if isinstance(v, str)})
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def cell(i: int, j: int, value: str | float | None) -> str:
        name = f"{chr(ord('A') + j)}{i + 1}"
        if value is None:
            return ""
        if isinstance(value, str):
            return f'<c r="{name}" t="s"><v>{texts.index(value)}</v></c>'
        return f'<c r="{name}"><v>{value!r}</v></c>'

    names = list(sheets)
    listed = "".join(f'<sheet name="{n}" sheetId="{k}" r:id="rId{k}"/>' for k, n in enumerate(names, 1))
    places = "".join(
        f'<Relationship Id="rId{k}" Target="worksheets/sheet{k}.xml"/>' for k in range(1, len(names) + 1)
    )
    with zipfile.ZipFile(path, "w") as z:
        z.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        )
        z.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{places}</Relationships>")
        shared = "".join(f"<si><t>{t}</t></si>" for t in texts)
        z.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main}">{shared}</sst>')
        for k, table in enumerate(sheets.values(), 1):
            rows = "".join(
                f"<row>{''.join(cell(i, j, v) for j, v in enumerate(row))}</row>"
                for i, row in enumerate(table)
            )
            z.writestr(
                f"xl/worksheets/sheet{k}.xml",
                f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
            )
    return path


def rewritten(path: Path, name: str, old: bytes, new: bytes) -> Path:
    """The archive with another text in one of its files, all compressed."""
    with zipfile.ZipFile(path) as z:
        members = {n: z.read(n) for n in z.namelist()}
    assert old in members[name]
    members[name] = members[name].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for n, data in members.items():
            z.writestr(n, data)
    return path


def with_headers(path: Path, offset: int, change: Callable[[bytes], bytes], length: int) -> Path:
    """The archive with a field changed in each header of its files; offset: in the header before the content."""
    data = bytearray(path.read_bytes())
    for mark, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):  # the list at the end has one field more
        at = data.find(mark)
        while at >= 0:
            field = slice(at + offset + further, at + offset + further + length)
            data[field] = change(bytes(data[field]))
            at = data.find(mark, at + 4)
    path.write_bytes(data)
    return path


def about(*urls: str, checksum: str | None = None, name: str = "small", digest: str | None = None) -> Info:
    """A data set whose publisher's file is TABLE."""
    return Info(
        name=name,
        title="A small table",
        shape=(2, 2),
        known=3,
        unit="s",
        licence="yours",
        citation="Nobody (2020)",
        page="http://localhost",
        files=(
            File("small/table.csv", urls or ("http://127.0.0.1:9/table.csv",), 30, checksum, ("other.csv",)),
        ),
        parse=wide_csv,
        copy="folder/small.npz",
        read_copy=copies.labelled,
        digest=digest or digest_of(VALUES),
    )


def small_matrix() -> Matrix:
    return Matrix(VALUES, ("1", "2"), ("a", "b"))
