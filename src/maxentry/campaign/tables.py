"""Tables that a lab hands back: a frame, a CSV or Parquet file, or plain columns, as columns of cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from maxentry import frames
from maxentry.errors import DataError, MissingDependencyError

ALIASES = {"column": "col", "ids": "id", "values": "value"}


class Table(NamedTuple):
    """Columns by name (small letters, no blanks around), all of one length."""

    columns: dict[str, list[Any]]
    first_line: int | None = None  # of the file, where it is one: lines are what a user sees there
    decimal_comma: bool = False  # a file with ; between cells may have , in its numbers

    @property
    def length(self) -> int:
        """How many lines there are."""
        return len(next(iter(self.columns.values()), []))

    def get(self, name: str) -> list[Any]:
        """A column, or nothing in every line."""
        return self.columns.get(name) or [None] * self.length

    def where(self, k: int) -> str:
        """The k-th line as a message names it."""
        return f"line {k + 1}" if self.first_line is None else f"line {k + self.first_line}"


def is_table(data: object) -> bool:
    """Whether `data` is a table, or the path or stream of one."""
    return isinstance(data, (str, PathLike, Mapping)) or hasattr(data, "read") or frames.is_frame(data)


def read(data: Any) -> Table:
    """The table in a CSV or Parquet file, a text stream of CSV, a mapping of columns or a frame."""
    if isinstance(data, (str, PathLike)):
        return _file(Path(fspath(data)))
    if hasattr(data, "read"):
        return _csv(data.read(), "the stream")
    if isinstance(data, Mapping):
        return _table({name: _cells(column) for name, column in data.items()}.items())
    return _table(_frame_columns(data))


def _file(path: Path) -> Table:
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return _table(_parquet_columns(path))
        return _csv(path.read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise DataError(
            f"expected CSV as UTF-8 text in {path}, but it is not: save it as 'CSV UTF-8'."
        ) from None
    except OSError as error:
        raise DataError(f"expected a CSV or Parquet file at {path}, but {error.strerror or error}.") from None


def _csv(text: str, source: str) -> Table:
    """CSV with commas, semicolons or tabs, whichever the line of names has most of."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    head = text.splitlines()[0] if text.strip() else ""
    separator = max(",;\t", key=head.count)
    reader = csv.reader(lines, delimiter=separator)
    names = next(reader, [])
    if not any(name.strip() for name in names):
        raise DataError(f"expected a first line of names in {source}, but there is none.")
    body = []
    for cells in reader:
        if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
            came = f"line {reader.line_num} has {len(cells)}"
            raise DataError(f"expected {len(names)} cells in every line of {source}, but {came}.")
        body.append([*cells, *[""] * (len(names) - len(cells))][: len(names)])
    columns = [list(column) for column in zip(*body, strict=True)] or [[] for _ in names]
    table = _table(zip(names, columns, strict=True))
    return table._replace(first_line=2, decimal_comma=separator != ",")


def _parquet_columns(path: Path) -> Iterable[tuple[str, list[Any]]]:
    path.open("rb").close()  # a file that is not there is named in our words
    reader = next((name for name in ("pyarrow", "polars") if find_spec(name) is not None), None)
    if reader is None:
        raise MissingDependencyError(
            "expected pyarrow or polars to read Parquet, but neither is installed: pip install 'maxentry[parquet]'."
        )
    try:
        if reader == "pyarrow":
            return list(import_module("pyarrow.parquet").read_table(path).to_pydict().items())
        return list(import_module("polars").read_parquet(path).to_dict(as_series=False).items())
    except Exception as error:  # of the reader's own many kinds
        raise DataError(
            f"expected a Parquet file at {path}, but it cannot be read as one: {error}."
        ) from error


def _frame_columns(frame: Any) -> Iterable[tuple[str, list[Any]]]:
    import narwhals as nw

    try:
        table = nw.from_native(frame)
    except (TypeError, ValueError) as error:
        raise DataError(f"expected a frame with columns of different names, but {error}.") from None
    eager = table.collect() if isinstance(table, nw.LazyFrame) else table
    return [(name, eager.get_column(name).to_list()) for name in eager.columns]


def _cells(column: Any) -> list[Any]:
    one = isinstance(column, (str, bytes)) or not hasattr(column, "__iter__")
    return [column] if one else frames.listed(column)


def _table(columns: Iterable[tuple[Any, list[Any]]]) -> Table:
    named: dict[str, list[Any]] = {}
    for name, cells in columns:
        key = str(name).strip().lower()
        key = ALIASES.get(key, key)
        if key in named:
            raise DataError(f"expected one column named {key}, but several came.")
        named[key] = cells
    lengths = {len(cells) for cells in named.values()}
    if len(lengths) > 1:
        raise DataError(f"expected columns of one length, but lengths of {sorted(lengths)} came.")
    return Table(named)
