"""Workbooks of Excel: the values of a sheet; text stays text, so that nothing in it is run as a formula."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from maxentry.errors import DataError
from maxentry.wording import show

XLSX_MAGIC = b"PK\x03\x04"
MOST_LINES = 1_048_576  # of a sheet
MOST_CELLS = 5_000_000  # of a sheet, or of a Parquet file of less than MOST_CELLS / 4 bytes
MOST_COLUMNS = 16_384  # of a sheet
MOST_ELEMENTS = 1_000_000  # of the XML of a line of a sheet; ten times as many of its texts
LARGEST_WORKBOOK = 2**28  # bytes, unpacked


def open_workbook(content: bytes, source: str) -> Any:
    """Open a workbook of a reasonable size."""
    import zipfile
    from xml.parsers import expat

    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            parts = package.infolist()
            size, most = sum(part.file_size for part in parts), LARGEST_WORKBOOK / 2**20
            if size > LARGEST_WORKBOOK:
                got = f"{size / 2**20:.0f} MiB"
                raise DataError(f"{source}: expected a workbook of at most {most:.0f} MiB, got one of {got}.")
            for part in parts:
                with package.open(part) as stream, suppress(expat.ExpatError):  # a picture, say
                    _check_part(stream, source)
        with warnings.catch_warnings():  # of drawings and styles that are not read
            warnings.simplefilter("ignore")
            return load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except DataError:
        raise
    except Exception as error:  # of zip, of XML, of openpyxl
        raise DataError(f"{source} is not an Excel file that can be read: {error!s:.80}.") from None


def _check_part(stream: Any, source: str) -> None:
    """Refuse a part of a workbook that would take much more memory than its text when openpyxl reads it."""
    from xml.parsers import expat

    parser, count, start = expat.ParserCreate(), 0, 0

    def open_element(name: str, _: object) -> None:
        nonlocal count, start
        count += 1
        if name == "row" or name.endswith(":row"):
            start = count
        if count - start > (MOST_ELEMENTS if start else 10 * MOST_ELEMENTS):
            got = f"{count - start} elements in {'a line' if start else 'a part'}"
            raise DataError(f"{source}: expected a sheet of at most {MOST_COLUMNS} columns, got {got}.")

    parser.StartElementHandler = open_element
    parser.ParseFile(stream)


Line = tuple[int, dict[int, Any]]  # its number, and cells by column, counted from 1


class SheetLines(NamedTuple):
    """The lines of a sheet that are not empty."""

    name: str
    several: bool  # whether the workbook has other sheets
    others: list[str]  # the names of other sheets that hold cells
    lines: list[Line]
    percent: str  # the first cell that shows a number as percent, like B2; empty where there is none


def read_sheet(content: bytes, source: str, sheet: str | None) -> SheetLines:
    """Read the sheet of this name; by default the first that is not empty."""
    book = open_workbook(content, source)
    names = [page.title for page in book.worksheets]
    if not names or (sheet is not None and sheet not in names):
        listed = ", ".join(map(show, names[:10])) or "none"
        raise DataError(
            f"{source}: expected a sheet{f' named {show(sheet)}' if sheet else ''}, got {listed}."
        )
    name, percent, lines = names[0], "", list[Line]()
    try:
        for name in names if sheet is None else [sheet]:
            lines, percent = _sheet_lines(book[name], source)
            if lines:
                break
        others = [x for x in names if x != name and _has_cells(book[x])]
    except DataError:
        raise
    except Exception as error:  # of zip, of XML, of openpyxl
        raise DataError(f"{source} is not an Excel file that can be read: {error!s:.80}.") from None
    finally:
        book.close()
    if not lines:
        raise DataError(f"expected a table with a line of names, got nothing in {source}.")
    width = len({place for _, line in lines for place in line})
    if (got := len(lines) * width) > MOST_CELLS:
        raise DataError(f"{source}: expected a sheet of at most {MOST_CELLS} cells, got {got}.")
    return SheetLines(name, len(names) > 1, others, lines, percent)


def sheet_names(content: bytes, source: str = "the file") -> list[str]:
    """The names of the sheets of a workbook; none for a file of another kind."""
    if content[:4] != XLSX_MAGIC:
        return []
    with closing(open_workbook(content, source)) as book:
        return [page.title for page in book.worksheets]


def _has_cells(page: Any) -> bool:
    """Whether a sheet holds anything but blanks; it is read up to the first such cell."""
    from openpyxl.worksheet._reader import WorkSheetParser

    with page._get_source() as stream:
        parser = WorkSheetParser(stream, page._shared_strings, True, page.parent.epoch)
        values = (cell["value"] for _, cells in parser.parse() for cell in cells)
        return any(_sheet_cell(value, False) is not None for value in values)


def _sheet_lines(page: Any, source: str) -> tuple[list[Line], str]:
    """The lines of a sheet that are not empty, with their numbers: cells by column, counted from 1.

    Only cells that are there are looked at, whatever size the sheet says it has. Numbers that are shown as percent are
    read as shown, and the first such cell is returned as well.
    """
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    book, count = page.parent, 0
    lines: list[Line] = []
    percent, first = _percent_styles(book), ""
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
            as_shown = [_is_percent(cell, percent) for cell in cells]  # labels as well as values
            if not first and any(as_shown):
                first = f"{get_column_letter(cells[as_shown.index(True)]['column'])}{number}"
            values = {
                cell["column"]: _sheet_cell(cell["value"], x) for cell, x in zip(cells, as_shown, strict=True)
            }
            if line := {place: value for place, value in values.items() if value is not None}:
                lines.append((number, line))
    return lines, first


def _percent_styles(book: Any) -> set[int]:
    """The styles of a workbook that show a number as percent: 0.45 as 45%."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS

    known = dict(BUILTIN_FORMATS) | dict(enumerate(book._number_formats, 164))
    # Without text that is only shown, blanks as wide as a letter, and what fills a cell
    plain = {k: re.sub(r'"[^"]*"|[\\_*].', "", form) for k, form in known.items()}
    return {k for k, style in enumerate(book._cell_styles) if "%" in plain.get(style.numFmtId, "")}


def _is_percent(cell: dict[str, Any], styles: set[int]) -> bool:
    return cell["style_id"] in styles and type(cell["value"]) in (int, float)


def _sheet_cell(cell: Any, percent: bool) -> Any:
    if percent:
        return float(f"{100 * cell:.12g}")
    return None if isinstance(cell, str) and not cell.strip() else cell


def to_xlsx(
    names: Sequence[str], columns: Sequence[Sequence[Any]], bold_cells: frozenset[tuple[int, int]]
) -> bytes:
    """A workbook of one sheet, of numbers, text and None; the names stay in view.

    bold_cells: (line, column) of cells that stand out.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
    from openpyxl.styles import Font

    n = len(columns[0]) if columns else 0
    if n >= MOST_LINES or len(names) > MOST_COLUMNS:
        got = f"{n} lines and {len(names)} columns"
        raise DataError(
            f"expected less than {MOST_LINES} lines and {MOST_COLUMNS} columns for Excel, got {got}."
        )
    texts = (x for column in (names, *columns) for x in column if isinstance(x, str))
    if (wrong := next((text for text in texts if ILLEGAL.search(text)), None)) is not None:
        raise DataError(f"expected text that Excel can hold, got {show(wrong)}.")
    book = Workbook(write_only=True)
    page = book.create_sheet("maxentry")
    page.freeze_panes = "A2"

    def cell(plain: Any, font: Any = None) -> Any:
        if plain is None or plain == "":
            return None
        made = WriteOnlyCell(page, plain)
        if isinstance(plain, str):
            made.data_type = "s"  # also if it begins with "="
        if font is not None:
            made.font = font
        return made

    bold = Font(bold=True)
    page.append([cell(name, bold) for name in names])
    for k, line in enumerate(zip(*columns, strict=True)):
        page.append([cell(value, bold if (k, j) in bold_cells else None) for j, value in enumerate(line)])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
