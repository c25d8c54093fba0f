"""Tables in: CSV as spreadsheets of all countries write it, Excel, Parquet, frames and plain columns."""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from maxentry._io import decode_text
from maxentry.errors import DataError, ParameterError
from maxentry.tables import excel, parquet
from maxentry.tables.table import (
    ALIASES,
    ENDINGS,
    NUMBER,
    DecimalComma,
    Format,
    Table,
    cell_text,
    separator_of,
    unescape,
)
from maxentry.wording import as_text, show

WORKBOOKS = (".xls", ".xlsb", ".ods", ".numbers")  # of other formats


def is_table(data: object) -> bool:
    """Whether `read` takes it: a table, a path, a stream, columns or a frame."""
    if isinstance(data, (str, PathLike, Mapping, Table)) or hasattr(data, "read"):
        return True
    from maxentry import frames  # with NumPy, which the command line's --help does not need

    return frames.is_frame(data)


def read(
    data: Any, form: Format | None = None, source: str = "", sheet: str | None = None, most: int = 0
) -> Table:
    """Read a CSV, Excel or Parquet file, a stream, a mapping of columns or a frame.

    `source` is what error messages call it: for a file its path, if nothing else is given. `sheet`: the sheet of a
    workbook, by name; by default the first that is not empty. `most`: cells of a stream of Parquet.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, PathLike)):
        path = Path(fspath(data))
        refuse_workbook(path)
        if form is None and path.suffix.lower() in ENDINGS:
            form = Format(ENDINGS[path.suffix.lower()])
        return _from_bytes(read_bytes(path), source or str(data), form, sheet, 0)
    from maxentry import frames

    if hasattr(data, "read"):
        with frames.foreign_code("a stream", data):
            content = data.read()
        if isinstance(content, str):
            return _from_text(content, source, separator_of(form))
        if not isinstance(content, bytes | bytearray | memoryview):
            raise DataError(f"expected a stream of bytes or text, got {show(content)} from it.")
        return _from_bytes(bytes(content), source, form, sheet, most)
    columns = dict(data) if isinstance(data, Mapping) else _frame_columns(data)
    cells = [frames.to_list(x) if frames.is_sequence(x) else [x] for x in columns.values()]
    lengths = {len(column) for column in cells}
    if len(lengths) > 1:
        raise DataError(f"expected columns of one length, got lengths {sorted(lengths)}.")
    return Table([as_text(name) for name in columns], cells, source, decimal_comma="unambiguous")


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Read a file, or say in a sentence why it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty():  # /dev/zero has no end
                raise DataError(f"expected a file, got the device {path}.")
            return file.read()
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path} does not exist.") from None
    except IsADirectoryError:
        raise DataError(f"expected a file, got the folder {path}.") from None
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        raise DataError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None


def refuse_workbook(path: str | PathLike[str]) -> None:
    """Refuse a workbook of another format than .xlsx."""
    if Path(path).suffix.lower() in WORKBOOKS:
        raise ParameterError(
            f"expected a CSV, Excel (.xlsx) or Parquet file, got {path}. Save it as .xlsx or CSV."
        )


def _from_bytes(content: bytes, source: str, form: Format | None, sheet: str | None, most: int) -> Table:
    """Parquet and Excel are known by their first bytes, whatever the file is called."""
    if form is Format.xlsx or (form is None and content[:4] == excel.XLSX_MAGIC):
        return _from_xlsx(content, source, sheet)
    if sheet is not None:
        raise DataError(f"{source or 'the stream'} has no sheets: --sheet is for Excel files (.xlsx).")
    if form is Format.parquet or content[:4] == parquet.PARQUET_MAGIC:
        return Table(*parquet.from_parquet(content, source, most), source)
    text, encoding = decode_text(content, source)
    return replace(_from_text(text, source, separator_of(form)), encoding=encoding)


def _frame_columns(frame: Any) -> dict[Any, list[Any]]:
    import narwhals as nw

    from maxentry import frames

    with frames.foreign_code("a frame whose columns have different names", frame):
        table = nw.from_native(frame)
        eager = table.collect() if isinstance(table, nw.LazyFrame) else table
        return {name: eager.get_column(name).to_list() for name in eager.columns}


# CSV: commas, semicolons or tabs between cells, the marks of spreadsheets, empty lines.

_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])\1*"?', re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"\s*[<>≤≥=]*\s*[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+\s*")
_POINTS_AND_COMMA = re.compile(r"\s*[<>≤≥=]*\s*[+-]?\d{1,3}(\.\d{3})+,\d+\s*")  # 1.234,5: no other reading
_DECIMAL_COMMA: dict[str, DecimalComma] = {";": "always"}


def _from_text(text: str, source: str, separator: str | None) -> Table:
    """Parse CSV. The separator is that of a line `sep=;` in the text, else `separator`, else the most frequent one."""
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    declared = _SEPARATOR_LINE.fullmatch(first)  # Excel's own first line, `sep=;`
    separator = declared[1] if declared else separator
    found = separator or _most_frequent(first) or ","
    lines = _split_lines(text, found, source)[bool(declared) :]
    if not lines:
        where = f" in {source}" if source else ""
        raise DataError(f"expected a table with a line of names, got nothing{where}.")
    title = _find_title([line for _, line in lines[:LOOK_AT]])
    below = text.partition(first)[2].splitlines()[:LOOK_AT]
    alike = sum(_count(line, found) == _count(first, found) > 0 for line in below)
    if not title and separator is None and 2 * alike < len(below):  # a title has none, or another one
        other = next(filter(None, map(_most_frequent, below)), found)
        with suppress(DataError):  # quotes may stand otherwise by it
            others = _split_lines(text, other, source) if other != found else []
            if title := _find_title([line for _, line in others[:LOOK_AT]]):
                found, lines = other, others
    lines = lines[_leave_out(title, source) :]
    names = [cell.strip() for cell in lines[0][1]]
    while len(names) > 1 and not names[-1] and not any("".join(line[len(names) - 1 :]) for _, line in lines):
        names.pop()  # spreadsheets leave empty columns at the right
    body = [_fit_width(line, len(names), _place(source, number)) for number, line in lines[1:]]
    columns = [[line[j] for line in body] for j in range(len(names))]
    numbers = [number for number, _ in lines[1:]]
    decimal_comma = _find_decimal_comma(columns, _DECIMAL_COMMA.get(found, "unambiguous"))
    table = Table(names, columns, source, numbers, decimal_comma, title=" ".join(title))
    return _note_thousands(table) if decimal_comma == "always" else table


def _most_frequent(line: str) -> str:
    """Return the separator that is most frequent outside quotes; "" if there is none."""
    most = max(",;\t", key=lambda mark: _count(line, mark))
    return most if _count(line, most) else ""


def _count(line: str, separator: str) -> int:
    """How often a separator stands outside quotes."""
    return sum(part.count(separator) for part in line.split('"')[::2])


def _split_lines(text: str, separator: str, source: str) -> list[tuple[int, list[str]]]:
    """Split text into lines of cells, with their numbers; empty ones are left out. Open quotes are refused."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise DataError(f"{_place(source, reader.line_num)}: not valid CSV: {error}.") from None
    return [(number, [unescape(cell) for cell in line]) for number, line in lines]


# A title above the names of the columns: lines with one cell. The names are words, and below them are numbers.

LOOK_AT = 30  # lines
MOST_TITLES = 5  # lines


def _find_title(lines: Sequence[Sequence[Any]]) -> list[str]:
    """Return the lines of the title; none where it is not plain that there is one."""
    filled = [[(j, x) for j, x in enumerate(line) if cell_text(x).strip()] for line in lines]
    n = next((k for k, line in enumerate(filled) if len(line) > 1), 0)
    if not 0 < n <= MOST_TITLES or any(_is_number(x) for _, x in filled[n]):
        return []
    wide, below = {j for j, _ in filled[n]}, filled[n + 1 :]
    corner = min(wide | {j for line in below for j, _ in line})  # it may be empty
    values = [(j, x) for line in below for j, x in line if j != corner]
    fits = all(j in wide for j, _ in values) and any(_is_number(x) for _, x in values)
    return [cell_text(line[0][1]).strip() for line in filled[:n]] if fits else []


def _is_number(cell: Any) -> bool:
    return not isinstance(cell, str) or NUMBER.fullmatch(cell.strip()) is not None


def _leave_out(title: Sequence[str], source: str) -> int:
    """Say that lines are taken for a title; return how many."""
    if title:
        said = f"taken for a title, and left out: {show(' '.join(title))}"
        warnings.warn(f"{source or 'the stream'}: what stands above the names is {said}.", stacklevel=2)
    return len(title)


def _find_decimal_comma(columns: Iterable[Sequence[Any]], usual: DecimalComma) -> DecimalComma:
    """Return "only" where a cell tells that commas are decimal ones, so that 1.234 may mean thousands; else `usual`."""
    sign = _COMMA_NUMBER if usual == "always" else _POINTS_AND_COMMA
    cells = (cell for column in columns for cell in column)
    tells = any(isinstance(cell, str) and "," in cell and sign.fullmatch(cell) for cell in cells)
    return "only" if tells else usual


# Between semicolons 1.234 may mean 1234, as in 1.234,5, unless another number shows that points are decimal points.

_POINT_NUMBER = re.compile(r"[+\-\N{MINUS SIGN}]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?")
_MAYBE_THOUSANDS = re.compile(r"[+\-\N{MINUS SIGN}]?[1-9]\d{0,2}\.\d{3}")
_ENDS = re.compile(r"\.\.|;")  # between the ends of a range


def _note_thousands(table: Table) -> Table:
    """Say that a number like 1.234 is read as 1.234, where no other number settles that it is no 1234."""
    example = _find_thousands(table)
    if example is None:
        return table
    k, j, text = example
    said = f"{show(text)} is read with a decimal point, but between semicolons may mean"
    note = f"{table.where(k)}, column {table.names[j]}: {said} {text.replace('.', '')}."
    note += " If it does, write such numbers without points."
    warnings.warn(note, stacklevel=5)
    return replace(table, notes=(*table.notes, note))


def _find_thousands(table: Table) -> tuple[int, int, str] | None:
    """Return line, column and text of the first number like 1.234 that is no label; None if another settles it."""
    named = [name.lower() for name in table.names]
    labels = {j for j, name in enumerate(named) if name in ("row", *ALIASES["col"], *ALIASES["id"])}
    labels |= set() if named[0] in ALIASES["value"] else {0}
    example: tuple[int, int, str] | None = None
    for j, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
        for k, cell in enumerate([name, *column], -1):
            if not isinstance(cell, str) or "." not in cell:
                continue
            for text in map(str.strip, _ENDS.split(cell.strip("[]<>≤≥= "))):
                if not _MAYBE_THOUSANDS.fullmatch(text):
                    if _POINT_NUMBER.fullmatch(text):
                        return None
                elif example is None and k >= 0 and j not in labels:
                    example = k, j, text
    return example


def _place(source: str, line: int) -> str:
    return f"{source}, line {line}" if source else f"line {line}"


def _fit_width(line: list[str], width: int, where: str) -> list[str | None]:
    if any(cell.strip() for cell in line[width:]):
        hint = " If there is a title above the names of the columns, delete it."
        if any(cell.strip().startswith("[") for cell in line):
            hint = " A range like [0.5, 0.7] needs quotes around it here; or write 0.5..0.7."
        elif len(line) - 1 == 2 * (width - 1) and all(cell.strip().isdigit() for cell in line[2:]):
            hint = " If its numbers have decimal commas, separate its cells by semicolons, or write decimal points."
        raise DataError(f"{where}: expected {width} cells, got {len(line)}.{hint}")
    cells = [cell if cell.strip() else None for cell in line[:width]]
    return cells + [None] * (width - len(cells))


# Excel


def _from_xlsx(content: bytes, source: str, sheet: str | None) -> Table:
    """Read a sheet: the first line that is not empty has the names; empty lines and columns are left out."""
    source = source or "the workbook"
    name, several, others, lines, percent = excel.read_sheet(content, source, sheet)
    used = sorted({place for _, line in lines for place in line})
    title = _find_title([[line.get(place) for place in used] for _, line in lines[:LOOK_AT]])
    lines = lines[_leave_out(title, source) :]
    used = sorted({place for _, line in lines for place in line})  # a title may stand in a column of its own
    columns = [[line.get(place) for _, line in lines] for place in used]
    titles = [cell_text(column[0]).strip() for column in columns]
    where = f"{source}, sheet {name!r}" if several else source
    cells, numbers = [column[1:] for column in columns], [number for number, _ in lines[1:]]
    said = "numbers in percent are read as Excel shows them: 45% is 45. Format cells as numbers for 0.45."
    notes = [f"{where}, {percent}: {said}"] if percent else []
    for note in notes:
        warnings.warn(note, stacklevel=4)
    unread = () if sheet is not None else tuple(others)
    if unread:
        notes.append(f"{where}: only this sheet is read, and not {', '.join(map(show, unread[:5]))}.")
    comma = _find_decimal_comma(cells, "unambiguous")
    return Table(titles, cells, where, numbers, comma, unread, " ".join(title), notes=tuple(notes))
