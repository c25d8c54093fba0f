"""Tables that a lab hands back: a frame, a CSV or Parquet file, or plain columns, as columns of cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from maxentry import frames
from maxentry.campaign import sheets
from maxentry.campaign.sheets import DecimalComma
from maxentry.errors import DataError, MissingDependencyError

ALIASES = {"column": "col", "ids": "id", "values": "value"}


class Table(NamedTuple):
    """Columns by name (small letters, no blanks around), all of one length."""

    columns: dict[str, list[Any]]
    lines: list[int] | None = None  # of the file, where it is one of text: they are what a user sees there
    decimal_comma: DecimalComma = "never"

    @property
    def length(self) -> int:
        """How many lines there are."""
        return len(next(iter(self.columns.values()), []))

    def get(self, name: str) -> list[Any]:
        """A column, or nothing in every line."""
        return self.columns.get(name) or [None] * self.length

    def where(self, k: int) -> str:
        """The k-th line as a message names it."""
        return f"line {k + 1 if self.lines is None else self.lines[k]}"


def is_table(data: object) -> bool:
    """Whether `data` is a table, or the path or stream of one."""
    return isinstance(data, (str, PathLike, Mapping)) or hasattr(data, "read") or frames.is_frame(data)


def read(data: Any) -> Table:
    """The table in a CSV or Parquet file, a text stream of CSV, a mapping of columns or a frame."""
    if isinstance(data, (str, PathLike)):
        return _file(Path(fspath(data)))
    if hasattr(data, "read"):
        content = data.read()
        return _csv(
            sheets.decoded(content, "the stream") if isinstance(content, bytes) else content, "the stream"
        )
    if isinstance(data, Mapping):
        return _table({name: _cells(column) for name, column in data.items()}.items())
    return _table(_frame_columns(data))


def _file(path: Path) -> Table:
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            return _table(_parquet_columns(path))
        return _csv(sheets.decoded(path.read_bytes(), str(path)), str(path))
    except OSError as error:
        raise DataError(f"expected a CSV or Parquet file at {path}, but {error.strerror or error}.") from None


def _csv(text: str, source: str) -> Table:
    sheet = sheets.parsed(text, source)
    table = _table(zip(sheet.names, sheet.columns, strict=True))
    return table._replace(lines=sheet.lines, decimal_comma=sheet.decimal_comma)


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
