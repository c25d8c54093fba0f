"""Parquet, with whichever library is installed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal

from maxentry.errors import DataError, MissingDependencyError
from maxentry.tables import excel
from maxentry.wording import show

PARQUET_MAGIC = b"PAR1"


def parquet_library() -> Literal["pyarrow", "polars"]:
    """The library that reads and writes Parquet; MissingDependencyError where there is none."""
    if find_spec("pyarrow") is not None:
        return "pyarrow"
    if find_spec("polars") is not None:
        return "polars"
    raise MissingDependencyError("Parquet needs pyarrow or polars: pip install 'maxentry[parquet]'.")


def from_parquet(content: bytes, source: str, limit: int) -> tuple[list[str], list[list[Any]]]:
    """Names and columns; what pandas stored as its index comes first, as in CSV."""
    library = parquet_library()
    import narwhals as nw

    try:
        got, most = _count_parquet(content, library), limit or max(excel.MOST_CELLS, 4 * len(content))
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
    return named, [columns[name] for name in names]


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


def to_parquet(names: Sequence[str], columns: Sequence[list[Any]]) -> bytes:
    """A file of these columns."""
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

    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise DataError(f"expected distinct column names for Parquet, got {show(twice[0])} twice.")
    pairs = zip(names, columns, strict=True)
    nw.from_dict({name: series(name, column) for name, column in pairs}).write_parquet(content)
    return content.getvalue()
