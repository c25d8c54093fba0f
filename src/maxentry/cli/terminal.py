"""A table on a terminal: as many lines and columns as fit, no number and no label over two lines."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Literal

from maxentry import tables
from maxentry.tables import Table

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 40  # lines of a table
PROSE = ("what", "reason")  # columns of words, which may go on in the next line
LEAST_PROSE = 20
PADDING = 3  # of each column, with what parts it from the next


def show(table: Table, title: str, out: Console) -> str:
    """Print the first lines and columns of a table; what was left out, in words, or nothing."""
    from rich import box
    from rich.table import Table as RichTable

    texts = [[shown(cell) for cell in column[:SHOWN]] for column in table.columns]
    widths = fitting(table.names, texts, out.width)
    n = len(widths)
    made = RichTable(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name, column, width in zip(table.names, table.columns, widths, strict=False):
        numeric = any(isinstance(x, int | float) for x in column)
        justify: Literal["right", "left"] = "right" if numeric else "left"
        if name in PROSE:
            made.add_column(plain(name), justify=justify, overflow="fold")
        else:
            made.add_column(plain(name), justify=justify, no_wrap=True, overflow="ellipsis", width=width)
    for line in zip(*texts[:n], strict=True):
        made.add_row(*line)
    out.print(made, soft_wrap=False)
    more = [(table.n - SHOWN, "line"), (len(table.names) - n, "column")]
    left = [f"{k} more {what}{'' if k == 1 else 's'}" for k, what in more if k > 0]
    return f"… {' and '.join(left)}; -o FILE has all." if left else ""


def fitting(names: list[str], texts: list[list[str]], width: int) -> list[int]:
    """The widths of the columns that fit side by side, uncut; of at least two, the first of which may be cut."""
    from rich.cells import cell_len
    from rich.markup import render

    found: list[int] = []
    for name, column in zip(names, texts, strict=True):
        needed = max([cell_len(name), *(cell_len(render(text).plain) for text in column)])
        needed = min(needed, LEAST_PROSE) if name in PROSE else needed
        if 1 + sum(found) + needed + PADDING * (len(found) + 1) > width and len(found) >= 2:
            break
        found.append(needed)
    excess = 1 + sum(found) + PADDING * len(found) - width
    return found if excess <= 0 else [max(1, found[0] - excess), *found[1:]]


def shown(cell: Any) -> str:
    """A cell for the terminal: numbers to four figures, times to the minute, markup as it stands."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return f"{cell:%Y-%m-%d %H:%M %Z}"
    return f"{cell:.4g}" if isinstance(cell, float) else plain(tables.cell_text(cell))


def plain(text: str) -> str:
    """Text in one line that means itself, not markup."""
    from rich.markup import escape

    return escape(" ".join(text.split()))
