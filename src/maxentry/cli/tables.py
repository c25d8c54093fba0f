"""Tables in and out: CSV by the standard library, Parquet by what is installed; `-` is stdin or stdout.

A table is names and columns of plain Python values: text where it came from CSV, None where a cell is empty.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from maxentry._io import write_atomically
from maxentry.campaign import sheets
from maxentry.campaign.sheets import DecimalComma
from maxentry.campaign.sheets import decoded as decoded
from maxentry.cli.parquet import check_parquet, from_parquet, to_parquet
from maxentry.errors import DataError, ParameterError

STD = "-"
PARQUET_MAGIC = b"PAR1"
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")


class Format(StrEnum):
    """How a table is written."""

    csv = "csv"
    tsv = "tsv"
    excel = "excel"  # CSV as Excel reads it where numbers have decimal commas
    parquet = "parquet"


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and where they came from."""

    names: list[str]
    columns: list[list[Any]]
    source: str = "the table"
    lines: list[int] | None = None  # of the file, for each line of the table; None where it has none
    decimal_comma: DecimalComma = "never"
    text: str | None = None  # the file's, where it is one of text

    @property
    def n(self) -> int:
        """How many lines."""
        return len(self.columns[0]) if self.columns else 0

    def where(self, k: int) -> str:
        """Line k as messages name it."""
        return f"line {self.lines[k]} of {self.source}" if self.lines else f"row {k + 1} of {self.source}"

    def records(self) -> list[dict[str, Any]]:
        """One dictionary a line."""
        return [dict(zip(self.names, line, strict=True)) for line in zip(*self.columns, strict=True)]


def source_name(path: str) -> str:
    """A file as messages name it."""
    return "standard input" if path == STD else path


# Reading


def read(path: str, form: Format | None = None) -> Table:
    """The table in a file, or on stdin; Parquet is known by its first bytes."""
    content = read_bytes(path)
    _refuse_workbook(path)
    name = source_name(path)
    if form is Format.parquet or content[:4] == PARQUET_MAGIC:
        names, columns = from_parquet(content, name)
        return Table(names, columns, name)
    tabs = form is Format.tsv or (form is None and path.lower().endswith(".tsv"))
    separator = ";" if form is Format.excel else "\t" if tabs else None
    return _from_text(decoded(content, name), name, separator)


def read_bytes(path: str) -> bytes:
    """What a file, or stdin, holds."""
    if path == STD:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"expected a file to read, but {path} does not exist.") from None
    except IsADirectoryError:
        raise DataError(f"expected a file to read, but {path} is a folder.") from None
    except OSError as error:
        raise DataError(f"expected to read {path}, but: {error.strerror or error}.") from None


def _from_text(text: str, name: str, separator: str | None) -> Table:
    sheet = sheets.parsed(text, name, separator)
    # Who reads the text again must come to the same cells; else there are only the cells.
    alike = separator is None or sheets.likely_separator(text) == separator
    columns: list[list[Any]] = [list(column) for column in sheet.columns]
    return Table(sheet.names, columns, name, sheet.lines, sheet.decimal_comma, text if alike else None)


# Writing


def format_of(output: str | None, form: Format | None) -> Format:
    """The format asked for, else that of the file's name, else CSV."""
    if form is not None:
        return form
    ending = Path(output).suffix.lower() if output and output != STD else ""
    return {".parquet": Format.parquet, ".pq": Format.parquet, ".tsv": Format.tsv}.get(ending, Format.csv)


def _refuse_workbook(path: str) -> None:
    if Path(path).suffix.lower() in WORKBOOKS:
        raise ParameterError(
            f"expected the name of a CSV or Parquet file, but {path} is an Excel workbook: Excel opens and saves CSV."
        )


def check_writable(output: str | None, form: Format | None = None, *, sources: Iterable[str] = ()) -> None:
    """Refuse, before any work, a file that cannot be written or that is one of those that are read."""
    if format_of(output, form) is Format.parquet:
        check_parquet()
        if output in (None, STD) and sys.stdout.isatty():
            raise ParameterError(
                "expected a file for Parquet (-o file.parquet), but the output is a terminal."
            )
    if output is None or output == STD:
        return
    _refuse_workbook(output)
    path = Path(output)
    if path.is_dir():
        raise ParameterError(f"expected a file to write, but {output} is a folder.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"expected a folder to write {output} into, but {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"expected to write {output}, but it may not be written.")
    if any(s != STD and Path(s).exists() and path.exists() and path.samefile(s) for s in sources):
        raise ParameterError(f"expected another file to write to, but {output} is the one that is read.")


def write(table: Table, output: str | None, form: Format | None = None) -> None:
    """Write a table to a file, whole or not at all, or to stdout."""
    kind = format_of(output, form)
    if kind is Format.parquet:
        content: Iterator[bytes] = iter([to_parquet(table.names, table.columns)])
    else:
        content = _text(table, kind)
    if output is None or output == STD:
        if kind is Format.parquet and sys.stdout.isatty():
            raise ParameterError(
                "expected a file for Parquet (-o file.parquet), but the output is a terminal."
            )
        _to_stdout(content)
        return
    path = Path(output)
    if path.exists() and not path.is_file():  # /dev/null, a pipe
        with path.open("wb") as stream:
            _pour(content, stream)
        return
    path = path.resolve()
    try:
        with write_atomically(path) as part, part.open("wb") as stream:
            _pour(content, stream)
    except OSError as error:
        raise DataError(f"expected to write {output}, but: {error.strerror or error}.") from None


def _pour(content: Iterator[bytes], stream: BinaryIO) -> None:
    for piece in content:
        stream.write(piece)
    stream.flush()


def _to_stdout(content: Iterator[bytes]) -> None:
    sys.stdout.flush()
    _pour(content, sys.stdout.buffer)


def _text(table: Table, kind: Format) -> Iterator[bytes]:
    excel = kind is Format.excel
    lines: Iterable[Sequence[Any]] = zip(*table.columns, strict=True)
    buffer = io.StringIO(newline="")
    separator = {Format.tsv: "\t", Format.excel: ";"}.get(kind, ",")
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\r\n" if excel else "\n")
    buffer.write("\ufeff" if excel else "")
    writer.writerow(table.names)
    for k, line in enumerate(lines):
        writer.writerow([_with_comma(cell) if excel else cell_text(cell) for cell in line])
        if k % 1000 == 999:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def _with_comma(cell: Any) -> str:
    return cell_text(cell).replace(".", ",") if isinstance(cell, float) else cell_text(cell)


def cell_text(cell: Any) -> str:
    """A value as CSV holds it: numbers in full, nothing for None and NaN, the rest as Python writes it."""
    if cell is None or cell != cell:
        return ""
    return repr(cell).removesuffix(".0") if isinstance(cell, float) else str(cell)


def six_figures(column: Iterable[Any]) -> list[Any]:
    """Numbers as people read them."""
    return [float(f"{x:.6g}") if isinstance(x, float) and x == x else x for x in column]
