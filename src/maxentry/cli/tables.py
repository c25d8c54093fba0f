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

from maxentry.cli.parquet import check_parquet, from_parquet, to_parquet
from maxentry.errors import DataError, ParameterError

STD = "-"
PARQUET_MAGIC = b"PAR1"


class Format(StrEnum):
    """How a table is written."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and where they came from."""

    names: list[str]
    columns: list[list[Any]]
    source: str = "the table"
    lines: list[int] | None = None  # of the file, for each line of the table; None where it has none
    decimal_comma: bool = False
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
    name = source_name(path)
    if form is Format.parquet or content[:4] == PARQUET_MAGIC:
        names, columns = from_parquet(content, name)
        return Table(names, columns, name)
    tabs = form is Format.tsv or (form is None and path.lower().endswith(".tsv"))
    return _from_text(decoded(content, name), name, "\t" if tabs else None)


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


def decoded(content: bytes, name: str) -> str:
    """Text of a file: UTF-8, with or without Excel's mark, or UTF-16 with one."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"expected text in UTF-8, but line {line} of {name} is not (Excel: save as 'CSV UTF-8')."
        ) from None
    if "\x00" in text:
        raise DataError(f"expected a CSV or Parquet file, but {name} is neither.")
    return text


def _from_text(text: str, name: str, delimiter: str | None) -> Table:
    delimiter = delimiter or _delimiter(text)
    # strict: a quote that is never closed would swallow the rest of the file as one cell.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        numbered = [(reader.line_num, line) for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise DataError(f"expected a CSV file, but line {reader.line_num} of {name}: {error}.") from None
    if not numbered:
        raise DataError(f"expected a table with a line of names, but {name} is empty.")
    names = [cell.strip() for cell in numbered[0][1]]
    while (
        len(names) > 1 and not names[-1] and not any("".join(line[len(names) - 1 :]) for _, line in numbered)
    ):
        names.pop()  # spreadsheets leave empty columns at the right
    lines = [(number, _of_width(line, len(names), number, name)) for number, line in numbered[1:]]
    columns: list[list[Any]] = [[line[j] for _, line in lines] for j in range(len(names))]
    return Table(names, columns, name, [number for number, _ in lines], delimiter == ";", text)


def _of_width(line: list[str], width: int, number: int, name: str) -> list[str | None]:
    if any(cell.strip() for cell in line[width:]):
        raise DataError(f"expected {width} cells in line {number} of {name}, but {len(line)} came.")
    cells = [cell if cell.strip() else None for cell in line[:width]]
    return cells + [None] * (width - len(cells))


def _delimiter(text: str) -> str:
    """The one that parts the first line: a comma, or what spreadsheets of other countries write."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    bare = "".join(first.split('"')[::2])  # outside quotes
    return max(",;\t", key=bare.count)


# Writing


def format_of(output: str | None, form: Format | None) -> Format:
    """The format asked for, else that of the file's name, else CSV."""
    if form is not None:
        return form
    ending = Path(output).suffix.lower() if output and output != STD else ""
    return {".parquet": Format.parquet, ".pq": Format.parquet, ".tsv": Format.tsv}.get(ending, Format.csv)


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
        content = _text(table, "\t" if kind is Format.tsv else ",")
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
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            _pour(content, stream)
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"expected to write {output}, but: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def _pour(content: Iterator[bytes], stream: BinaryIO) -> None:
    for piece in content:
        stream.write(piece)
    stream.flush()


def _to_stdout(content: Iterator[bytes]) -> None:
    sys.stdout.flush()
    _pour(content, sys.stdout.buffer)


def _text(table: Table, delimiter: str) -> Iterator[bytes]:
    lines: Iterable[Sequence[Any]] = zip(*table.columns, strict=True)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.names)
    for k, line in enumerate(lines):
        writer.writerow([cell_text(cell) for cell in line])
        if k % 1000 == 999:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def cell_text(cell: Any) -> str:
    """A value as CSV holds it: numbers in full, nothing for None and NaN, the rest as Python writes it."""
    if cell is None or cell != cell:
        return ""
    return repr(cell).removesuffix(".0") if isinstance(cell, float) else str(cell)
