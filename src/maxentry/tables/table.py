"""A table: names and columns of plain Python values, and how it is written as CSV, Excel or Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, Literal

from maxentry._io import open_output
from maxentry.errors import DataError
from maxentry.tables import excel, parquet

ALIASES = {"col": ("col", "column"), "id": ("id", "ids"), "value": ("value", "values")}
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".tsv": "tsv", ".xlsx": "xlsx", ".xlsm": "xlsx"}

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


def separator_of(form: Format | None) -> str | None:
    """What separates cells in this format of CSV; None where it is not known."""
    return None if form is None else {Format.excel: ";", Format.tsv: "\t"}.get(form)


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, and where they came from."""

    names: list[str]
    columns: list[list[Any]]
    source: str = ""
    lines: list[int] | None = None  # the line of the file that each line of the table starts in
    decimal_comma: DecimalComma = "never"
    unread: tuple[str, ...] = ()  # other sheets of the workbook that hold cells, where none was chosen
    title: str = ""  # lines above the names that were left out
    encoding: str | None = None  # of a file of text
    notes: tuple[str, ...] = ()  # how it was read, where that may not be meant
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
        content = (
            parquet.to_parquet(table.names, table.columns)
            if form is Format.parquet
            else excel.to_xlsx(table.names, [[_sheet_value(x) for x in c] for c in table.columns], table.bold)
        )
        stream.write(content)
        stream.flush()
        return
    german = form is Format.excel
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    # Ends of lines are replaced below: with "\n" as its own, csv.writer would leave a "\r" in a cell without quotes.
    rows: Any = (
        text if german else SimpleNamespace(write=lambda row: text.write(row.removesuffix("\r\n") + "\n"))
    )
    writer = csv.writer(rows, delimiter=separator_of(form) or ",", lineterminator="\r\n")
    try:
        text.write("\ufeff" if german else "")
        writer.writerow([escape(name) for name in table.names])
        columns = _use_commas(table) if german else table.columns
        for line in zip(*columns, strict=True):
            writer.writerow([_csv_text(cell, "," if german else ".") for cell in line])
        text.flush()
    finally:
        text.detach()  # the stream stays open


_LIMIT = re.compile(r"[<>]-?\d[\d.e+-]*|-?\d[\d.e+-]*\.\.-?\d[\d.e+-]*")


def _use_commas(table: Table) -> list[list[Any]]:
    """The columns with decimal commas in limits and ranges, which are text; labels stay as they are."""
    labels = [j == 0 or name in ("row", "col") for j, name in enumerate(table.names)]
    return [
        column if is_label else [_with_comma(x) if isinstance(x, str) else x for x in column]
        for is_label, column in zip(labels, table.columns, strict=True)
    ]


def _with_comma(text: str) -> str:
    return "..".join(x.replace(".", ",") for x in text.split("..")) if _LIMIT.fullmatch(text) else text


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


# Text that a spreadsheet would run as a formula is written with an apostrophe before it, and read without.

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


def escape(text: str) -> str:
    """Text as CSV holds it: an apostrophe before what begins like a formula and is no number."""
    return f"'{text}" if _FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def unescape(text: str) -> str:
    """The text that `escape` was given. Only apostrophes before what begins like a formula are removed, one each."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text) else text


def _sheet_value(cell: Any) -> Any:
    """A value as a sheet holds it: numbers as they are, nothing for None and NaN, the rest as text."""
    plain = cell.item() if hasattr(cell, "dtype") and hasattr(cell, "item") else cell
    plain = plain if isinstance(plain, int | float) else cell_text(plain)
    return None if plain == "" or plain != plain else plain
