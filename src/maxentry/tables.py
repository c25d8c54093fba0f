"""Tables in and out: CSV as spreadsheets of all countries write it, Excel, Parquet, frames and plain columns.

A table is names and columns of plain Python values: text where it came from CSV, None where a cell is empty.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Literal

from maxentry._io import MOST_COLUMNS, decode_text, open_output, open_workbook
from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.wording import as_text, show

ALIASES = {"col": ("col", "column"), "id": ("id", "ids"), "value": ("value", "values")}
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".tsv": "tsv", ".xlsx": "xlsx", ".xlsm": "xlsx"}
WORKBOOKS = (".xls", ".xlsb", ".ods", ".numbers")  # of other formats
XLSX_MAGIC = b"PK\x03\x04"
MOST_LINES = 1_048_576  # of a sheet
MOST_CELLS = 5_000_000  # of a sheet, or of a Parquet file of less than MOST_CELLS / 4 bytes
PARQUET_MAGIC = b"PAR1"

# Whether "1,5" is a number, and whether "1,234" is; only: other cells have decimal commas, so "1.234" is no number
DecimalComma = Literal["never", "unambiguous", "always", "only"]


class Format(StrEnum):
    """How a table is written."""

    csv = "csv"
    tsv = "tsv"
    excel = "excel"  # CSV as Excel reads it where numbers have decimal commas
    parquet = "parquet"
    xlsx = "xlsx"  # a workbook of Excel

    @property
    def is_binary(self) -> bool:
        """Whether a terminal cannot show it."""
        return self in (Format.parquet, Format.xlsx)


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and where they came from."""

    names: list[str]
    columns: list[list[Any]]
    source: str = ""
    lines: list[int] | None = None  # the line of the file that each line of the table starts in
    decimal_comma: DecimalComma = "never"
    unread: tuple[str, ...] = ()  # other sheets of the workbook
    title: str = ""  # lines above the names that were left out
    encoding: str | None = None  # of a file of text
    bold: frozenset[tuple[int, int]] = frozenset()  # cells (line, column) that stand out in a workbook

    @classmethod
    def from_columns(cls, columns: Mapping[str, list[Any]], *names: str) -> Table:
        """A table of these columns: all, or those named."""
        wanted = names or tuple(columns)
        return cls(list(wanted), [columns[name] for name in wanted])

    @property
    def n(self) -> int:
        """The number of lines."""
        return len(self.columns[0]) if self.columns else 0

    def where(self, k: int) -> str:
        """Line k as error messages name it."""
        place = f"line {self.lines[k]}" if self.lines else f"row {k + 1}" if self.source else f"line {k + 1}"
        return f"{self.source}, {place}" if self.source else place

    def column(self, *names: str) -> list[Any] | None:
        """The column with the first of these names that exists, in any case of letters; None if none does."""
        place = self.place(*names)
        return None if place is None else self.columns[place]

    def place(self, *names: str) -> int | None:
        """The position of the column with the first of these names that exists; None if none does."""
        existing = [name.strip().lower() for name in self.names]
        for name in names:
            if existing.count(name) > 1:
                raise DataError(f"{self.source or 'the table'}: several columns are named {name}.")
            if name in existing:
                return existing.index(name)
        return None

    def role(self, name: str) -> list[Any] | None:
        """The column with this role, under its usual names (col or column, say)."""
        place = self.role_place(name)
        return None if place is None else self.columns[place]

    def role_place(self, name: str) -> int | None:
        """The position of the column with this role; None if there is none."""
        names = ALIASES.get(name, (name,))
        if sum(self.place(alias) is not None for alias in names) > 1:
            raise DataError(f"{self.source or 'the table'}: expected one column named {name}, got several.")
        return self.place(*names)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary a line."""
        return [dict(zip(self.names, line, strict=True)) for line in zip(*self.columns, strict=True)]


# Reading


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
            return _from_text(content, source, _separator(form))
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
    if form is Format.xlsx or (form is None and content[:4] == XLSX_MAGIC):
        return _from_xlsx(content, source, sheet)
    if sheet is not None:
        raise DataError(f"{source or 'the stream'} has no sheets: --sheet is for Excel files (.xlsx).")
    if form is Format.parquet or content[:4] == PARQUET_MAGIC:
        return _from_parquet(content, source, most)
    text, encoding = decode_text(content, source)
    return replace(_from_text(text, source, _separator(form)), encoding=encoding)


def _frame_columns(frame: Any) -> dict[Any, list[Any]]:
    import narwhals as nw

    from maxentry import frames

    with frames.foreign_code("a frame whose columns have different names", frame):
        table = nw.from_native(frame)
        eager = table.collect() if isinstance(table, nw.LazyFrame) else table
        return {name: eager.get_column(name).to_list() for name in eager.columns}


# CSV: commas, semicolons or tabs between cells, the marks of spreadsheets, empty lines.

_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])\1*"?', re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"\s*[<>≤≥=]*\s*[+-]?\d*,\d+\s*")
_DECIMAL_COMMA: dict[str, DecimalComma] = {";": "always", "\t": "unambiguous"}


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
    decimal_comma = _DECIMAL_COMMA.get(found, "never")
    if decimal_comma == "always" and any(map(_has_decimal_comma, columns)):
        decimal_comma = "only"
    return Table(names, columns, source, numbers, decimal_comma, title=" ".join(title))


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
    return not isinstance(cell, str) or _NUMBER.fullmatch(cell.strip()) is not None


def _leave_out(title: Sequence[str], source: str) -> int:
    """Say that lines are taken for a title; return how many."""
    if title:
        said = f"taken for a title, and left out: {show(' '.join(title))}"
        warnings.warn(f"{source or 'the stream'}: what stands above the names is {said}.", stacklevel=2)
    return len(title)


def _has_decimal_comma(column: list[str | None]) -> bool:
    return any(cell is not None and "," in cell and _COMMA_NUMBER.fullmatch(cell) for cell in column)


def _place(source: str, line: int) -> str:
    return f"{source}, line {line}" if source else f"line {line}"


def _separator(form: Format | None) -> str | None:
    return None if form is None else {Format.excel: ";", Format.tsv: "\t"}.get(form)


def _fit_width(line: list[str], width: int, where: str) -> list[str | None]:
    if any(cell.strip() for cell in line[width:]):
        bracket = any(cell.strip().startswith("[") for cell in line)
        hint = " A range like [0.5, 0.7] needs quotes around it here; or write 0.5..0.7." if bracket else ""
        hint = hint or " If there is a title above the names of the columns, delete it."
        raise DataError(f"{where}: expected {width} cells, got {len(line)}.{hint}")
    cells = [cell if cell.strip() else None for cell in line[:width]]
    return cells + [None] * (width - len(cells))


# Text that a spreadsheet would run as a formula is written with an apostrophe before it, and read without.

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def escape(text: str) -> str:
    """Text as CSV holds it: an apostrophe before what begins like a formula and is no number."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescape(text: str) -> str:
    """The text that `escape` was given. Only apostrophes before what begins like a formula are removed, one each."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


# Parquet, with whichever library is installed.


def parquet_library() -> Literal["pyarrow", "polars"]:
    """The library that reads and writes Parquet; MissingDependencyError where there is none."""
    if find_spec("pyarrow") is not None:
        return "pyarrow"
    if find_spec("polars") is not None:
        return "polars"
    raise MissingDependencyError("Parquet needs pyarrow or polars: pip install 'maxentry[parquet]'.")


def _from_parquet(content: bytes, source: str, limit: int) -> Table:
    """What pandas stored as its index comes first, as in CSV."""
    library = parquet_library()
    import narwhals as nw

    try:
        got, most = _count_parquet(content, library), limit or max(MOST_CELLS, 4 * len(content))
        if got > most:  # a few bytes can repeat a cell any number of times
            source = source or "the stream"
            raise DataError(f"{source}: expected at most {most} cells in a file of its size, got {got}.")
        frame = nw.read_parquet(io.BytesIO(content), backend=library)
        columns = {name: frame.get_column(name).to_list() for name in frame.columns}
        schema = getattr(frame.to_native(), "schema", None)
        metadata = getattr(schema, "pandas_metadata", None) or {}  # pyarrow's schema has it
    except DataError:
        raise
    except Exception as error:  # each library has errors of its own
        reason = str(error).splitlines()[0]
        raise DataError(f"{source or 'the stream'} is not a Parquet file: {reason}.") from None
    stored = metadata.get("index_columns", [])
    index = [name for name in columns if name in stored or name.startswith("__index_level_")]
    names = [*index, *(name for name in columns if name not in index)]
    named = ["" if name == "__index_level_0__" else name for name in names]
    return Table(named, [columns[name] for name in names], source)


def _count_parquet(content: bytes, library: Literal["pyarrow", "polars"]) -> int:
    """How many cells a Parquet file says it has, those of lists included where pyarrow is installed."""
    if library == "polars":
        import polars

        lines = polars.scan_parquet(io.BytesIO(content)).select(polars.len()).collect().item()
        return int(lines) * len(polars.read_parquet_schema(io.BytesIO(content)))
    from pyarrow.parquet import read_metadata

    about = read_metadata(io.BytesIO(content))
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    parts = sum(group.column(j).num_values for group in groups for j in range(group.num_columns))
    return int(max(about.num_rows * about.num_columns, parts))


def _to_parquet(table: Table) -> bytes:
    library, content = parquet_library(), io.BytesIO()
    import narwhals as nw

    def series(name: str, column: list[Any]) -> nw.Series[Any]:
        if all(cell is None for cell in column):
            return nw.new_series(name, column, nw.Float64(), backend=library)  # values to be filled in
        try:
            return nw.new_series(name, column, backend=library)
        except (TypeError, ValueError, NotImplementedError):  # labels of mixed types
            text = [None if cell is None else str(cell) for cell in column]
            return nw.new_series(name, text, nw.String(), backend=library)

    if twice := [name for k, name in enumerate(table.names) if name in table.names[:k]]:
        raise DataError(f"expected distinct column names for Parquet, got {show(twice[0])} twice.")
    pairs = zip(table.names, table.columns, strict=True)
    nw.from_dict({name: series(name, column) for name, column in pairs}).write_parquet(content)
    return content.getvalue()


# Excel: the values of a sheet; text stays text, so that nothing in it is run as a formula.


def _from_xlsx(content: bytes, source: str, sheet: str | None) -> Table:
    """Read a sheet: the first line that is not empty has the names; empty lines and columns are left out."""
    source = source or "the workbook"
    book = open_workbook(content, source)
    names = [page.title for page in book.worksheets]
    if not names or (sheet is not None and sheet not in names):
        listed = ", ".join(map(show, names[:10])) or "none"
        raise DataError(
            f"{source}: expected a sheet{f' named {show(sheet)}' if sheet else ''}, got {listed}."
        )
    name, lines = names[0], []
    try:
        for name in names if sheet is None else [sheet]:
            if lines := _sheet_lines(book[name], source):
                break
    except DataError:
        raise
    except Exception as error:  # of zip, of XML, of openpyxl
        raise DataError(f"{source} is not an Excel file that can be read: {error!s:.80}.") from None
    finally:
        book.close()
    if not lines:
        raise DataError(f"expected a table with a line of names, got nothing in {source}.")
    used = sorted({place for _, line in lines for place in line})
    if (got := len(lines) * len(used)) > MOST_CELLS:
        raise DataError(f"{source}: expected a sheet of at most {MOST_CELLS} cells, got {got}.")
    title = _find_title([[line.get(place) for place in used] for _, line in lines[:LOOK_AT]])
    lines = lines[_leave_out(title, source) :]
    used = sorted({place for _, line in lines for place in line})  # a title may stand in a column of its own
    columns = [[line.get(place) for _, line in lines] for place in used]
    titles = [cell_text(column[0]).strip() for column in columns]
    where = f"{source}, sheet {name!r}" if len(names) > 1 else source
    cells, numbers = [column[1:] for column in columns], [number for number, _ in lines[1:]]
    return Table(
        titles, cells, where, numbers, "unambiguous", tuple(x for x in names if x != name), " ".join(title)
    )


def sheet_names(content: bytes, source: str = "the file") -> list[str]:
    """The names of the sheets of a workbook; none for a file of another kind."""
    if content[:4] != XLSX_MAGIC:
        return []
    with closing(open_workbook(content, source)) as book:
        return [page.title for page in book.worksheets]


def _sheet_lines(page: Any, source: str) -> list[tuple[int, dict[int, Any]]]:
    """The lines of a sheet that are not empty, with their numbers: cells by column, counted from 1.

    Only cells that are there are looked at, whatever size the sheet says it has.
    """
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    book, lines, count = page.parent, [], 0
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}

    def read_cell(element: Any) -> dict[str, Any]:
        found: dict[str, Any] = parse_cell(element)
        if found["value"] is None and element.find(FORMULA_TAG) is not None and element.get("t") != "str":
            cell = f"{get_column_letter(found['column'])}{found['row']}"
            raise DataError(
                f"{source}, sheet {page.title!r}, {cell}: expected a value, got a formula that was never computed. "
                "Open the file in Excel or LibreOffice and save it."
            )
        return found

    with page._get_source() as stream:
        parser = WorkSheetParser(stream, page._shared_strings, True, book.epoch, **formats)
        parse_cell, parser.parse_cell = parser.parse_cell, read_cell
        for number, cells in parser.parse():
            count += len(cells)
            width = max((cell["column"] for cell in cells), default=0)
            if number > MOST_LINES or width > MOST_COLUMNS or count > MOST_CELLS:
                most = f"{MOST_LINES} lines, {MOST_COLUMNS} columns and {MOST_CELLS} cells"
                got = f"line {number:.6g} with {width} columns, cell {count}"
                raise DataError(f"{source}: expected a sheet of at most {most}, got {got}.")
            values = {cell["column"]: _sheet_cell(cell["value"]) for cell in cells}
            if line := {place: value for place, value in values.items() if value is not None}:
                lines.append((number, line))
    return lines


def _sheet_cell(cell: Any) -> Any:
    return None if isinstance(cell, str) and not cell.strip() else cell


def _to_xlsx(table: Table) -> bytes:
    """A workbook of one sheet; the names stay in view."""
    import numpy as np
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
    from openpyxl.styles import Font

    if table.n >= MOST_LINES or len(table.names) > MOST_COLUMNS:
        got = f"{table.n} lines and {len(table.names)} columns"
        raise DataError(
            f"expected less than {MOST_LINES} lines and {MOST_COLUMNS} columns for Excel, got {got}."
        )
    texts = (x for column in (table.names, *table.columns) for x in column if isinstance(x, str))
    if (wrong := next((text for text in texts if ILLEGAL.search(text)), None)) is not None:
        raise DataError(f"expected text that Excel can hold, got {show(wrong)}.")
    book = Workbook(write_only=True)
    page = book.create_sheet("maxentry")
    page.freeze_panes = "A2"

    def cell(value: Any, font: Any = None) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        plain = value if isinstance(value, int | float) else cell_text(value)
        if plain == "" or plain != plain:
            return None
        made = WriteOnlyCell(page, plain)
        if isinstance(plain, str):
            made.data_type = "s"  # also if it begins with "="
        if font is not None:
            made.font = font
        return made

    bold = Font(bold=True)
    page.append([cell(name, bold) for name in table.names])
    for k, line in enumerate(zip(*table.columns, strict=True)):
        page.append([cell(value, bold if (k, j) in table.bold else None) for j, value in enumerate(line)])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


# Writing


def choose_format(output: str | None, form: Format | None) -> Format:
    """The format asked for, else that of the file's name, else CSV."""
    ending = Path(output).suffix.lower() if output else ""
    return form or Format(ENDINGS.get(ending, "csv"))


def write(table: Table, target: str | BinaryIO, form: Format | None = None, *, replace: bool = True) -> None:
    """Write a table to a stream, or to a file, which is either complete or unchanged."""
    form = choose_format(target if isinstance(target, str) else None, form)
    if isinstance(target, str):
        with open_output(target, replace=replace) as stream:
            _write_to(stream, table, form)
    else:
        _write_to(target, table, form)


def _write_to(stream: BinaryIO, table: Table, form: Format) -> None:
    if form.is_binary:
        stream.write(_to_parquet(table) if form is Format.parquet else _to_xlsx(table))
        stream.flush()
        return
    excel = form is Format.excel
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    # Ends of lines are replaced below: with "\n" as its own, csv.writer would leave a "\r" in a cell without quotes.
    rows: Any = (
        text if excel else SimpleNamespace(write=lambda row: text.write(row.removesuffix("\r\n") + "\n"))
    )
    writer = csv.writer(rows, delimiter=_separator(form) or ",", lineterminator="\r\n")
    try:
        text.write("\ufeff" if excel else "")
        writer.writerow([escape(name) for name in table.names])
        for line in zip(*table.columns, strict=True):
            writer.writerow([_csv_text(cell, "," if excel else ".") for cell in line])
        text.flush()
    finally:
        text.detach()  # the stream stays open


def round_numbers(column: Iterable[Any], figures: int = 6) -> list[Any]:
    """Numbers to so many significant figures, for people to read; other cells as they are."""
    return [float(f"{x:.{figures}g}") if isinstance(x, float) and x == x else x for x in column]


def cell_text(cell: Any, decimal: str = ".") -> str:
    """A value as CSV holds it: numbers in full, nothing for None and NaN, the rest as Python writes it."""
    if cell is None or cell != cell:
        return ""
    return repr(cell).removesuffix(".0").replace(".", decimal) if isinstance(cell, float) else str(cell)


def _csv_text(cell: Any, decimal: str) -> str:
    text = cell_text(cell, decimal)
    return text if isinstance(cell, int | float) else escape(text)
