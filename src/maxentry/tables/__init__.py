"""Tables in and out: a table is names and columns of plain Python values.

Cells are text where they came from CSV, and None where they are empty. How a table is laid out is found in `layout`.
"""

from maxentry.tables.excel import MOST_CELLS, sheet_names
from maxentry.tables.parquet import parquet_library
from maxentry.tables.read import is_table, read, read_bytes, refuse_workbook
from maxentry.tables.table import (
    ALIASES,
    ENDINGS,
    DecimalComma,
    Format,
    Table,
    cell_text,
    choose_format,
    escape,
    round_numbers,
    unescape,
    write,
)

__all__ = [
    "ALIASES",
    "ENDINGS",
    "MOST_CELLS",
    "DecimalComma",
    "Format",
    "Table",
    "cell_text",
    "choose_format",
    "escape",
    "is_table",
    "parquet_library",
    "read",
    "read_bytes",
    "refuse_workbook",
    "round_numbers",
    "sheet_names",
    "unescape",
    "write",
]
