"""CSV as labs write it: commas, semicolons or tabs between cells, the marks of spreadsheets, empty lines."""

from __future__ import annotations

import csv
import io
import re
from typing import Literal, NamedTuple

from maxentry.errors import DataError

DecimalComma = Literal["never", "unless it may part thousands", "always"]
_COMMAS: dict[str, DecimalComma] = {";": "always", "\t": "unless it may part thousands"}
_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])\1*"?', re.IGNORECASE)


class Sheet(NamedTuple):
    """Columns of text under their names, None where a cell is empty."""

    names: list[str]
    columns: list[list[str | None]]
    lines: list[int]  # of the file, for each line of the sheet
    decimal_comma: DecimalComma  # whether a comma in a number is a decimal one


def decoded(content: bytes, source: str) -> str:
    """Text of a file: UTF-8, with or without Excel's mark, or UTF-16 with one."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"expected text in UTF-8, but line {line} of {source} is not (Excel: save as 'CSV UTF-8')."
        ) from None
    if "\x00" in text:
        raise DataError(f"expected a CSV or Parquet file, but {source} is neither.")
    return text


def parsed(text: str, source: str, separator: str | None = None) -> Sheet:
    """The sheet in a text, whose cells are parted by what the text says, else by `separator`, else by a guess."""
    text = text.removeprefix("\ufeff")
    first = first_line(text)
    said = _SEPARATOR_LINE.fullmatch(first)  # Excel's own first line, `sep=;`
    separator = said[1] if said else separator or likely_separator(text)
    # strict: a quote that is never closed would swallow the rest of the file as one cell.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        full = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise DataError(f"expected a CSV file, but line {reader.line_num} of {source}: {error}.") from None
    full = full[1:] if said else full
    if not full:
        raise DataError(f"expected a table with a line of names, but {source} is empty.")
    names = [cell.strip() for cell in full[0][1]]
    while len(names) > 1 and not names[-1] and not any("".join(line[len(names) - 1 :]) for _, line in full):
        names.pop()  # spreadsheets leave empty columns at the right
    body = [_of_width(line, len(names), number, source) for number, line in full[1:]]
    columns = [[line[j] for line in body] for j in range(len(names))]
    return Sheet(names, columns, [number for number, _ in full[1:]], _COMMAS.get(separator, "never"))


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((line for line in text.splitlines() if line.strip()), "")


def likely_separator(text: str) -> str:
    """The one that parts the first line: a comma, or what spreadsheets of other countries write."""
    bare = "".join(first_line(text).split('"')[::2])  # outside quotes
    return max(",;\t", key=bare.count)


def _of_width(line: list[str], width: int, number: int, source: str) -> list[str | None]:
    if any(cell.strip() for cell in line[width:]):
        raise DataError(f"expected {width} cells in line {number} of {source}, but {len(line)} came.")
    cells = [cell if cell.strip() else None for cell in line[:width]]
    return cells + [None] * (width - len(cells))
