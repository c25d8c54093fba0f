"""Small files in the publishers' formats, and a data set of our own in place of theirs."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import xlwt

from evidence.datasets.dataset import File, Info, Matrix, digest_values
from evidence.datasets.parsers import read_npz, wide_csv

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
    """A workbook with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, table in sheets.items():
        sheet = book.create_sheet(name)
        for row in table:
            sheet.append(row)
    book.save(path)
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
        read_copy=read_npz,
        digest=digest or digest_values(VALUES),
    )


def small_matrix() -> Matrix:
    return Matrix(VALUES, ("1", "2"), ("a", "b"))
