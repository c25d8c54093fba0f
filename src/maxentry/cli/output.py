"""What the command line prints: data on stdout, words on stderr; with --json one document on stdout."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from maxentry import tables
from maxentry._io import can_be_path, is_device, refuse_existing, to_json_data
from maxentry.cli.options import STORAGE
from maxentry.errors import MaxentryError, ParameterError
from maxentry.tables import Format, Table
from maxentry.wording import count

if TYPE_CHECKING:
    from rich.console import Console


STD = "-"  # stdin or stdout


class ExitCode(IntEnum):
    """How a command ends."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    NOTHING_LEFT = 3
    BUG = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


EXIT_CODES = {
    ExitCode.DONE: "done",
    ExitCode.REFUSED: "refused, with a sentence that says what was expected and what was found; nothing was changed "
    "(a study keeps the runs that succeeded)",
    ExitCode.USAGE: "no such command or option, or options that do not go together",
    ExitCode.NOTHING_LEFT: "nothing left to ask: all is measured or pending, or the campaign has reached its end",
    ExitCode.BUG: "a bug in maxentry",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
    ExitCode.PIPE_CLOSED: "output pipe closed",
}


# Words and JSON


def console(*, stderr: bool = True) -> Console:
    """Rich's console on stderr, or on stdout; made when used, since both may be redirected."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def say(text: str, style: str | None = None) -> None:
    """Print a message on stderr."""
    console().print(text, style=style, markup=False)


def warn(text: str) -> None:
    """Print a warning on stderr."""
    say(text, "yellow")


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print warnings for users that come up inside as `warn` does, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning):
        warn(text)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout; NaN and infinity are null."""
    sys.stdout.write(json.dumps(to_json_data(document), ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


def report(document: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Report what was done: as one JSON document, or in a sentence on stderr."""
    if as_json:
        print_json(document)
    else:
        say(text)


def deliver(
    table: Table,
    output: str | None,
    form: Format | None,
    *,
    as_json: bool,
    document: Mapping[str, Any],
    force: bool = False,
    key: str = "entries",
    title: str = "",
) -> None:
    """Write a table to a file, or print it: as JSON (under `key`), as CSV down a pipe, or readable on a terminal."""
    to_file = output not in (None, STD)
    if output is not None and to_file:
        tables.write(table, output, form, replace=force)
    if as_json:
        print_json({**document, "output": output} if to_file else {**document, key: table.records()})
    elif to_file:
        say(f"Wrote {output} ({count(table.n, 'line')}).", "dim")
    elif is_for_screen(output, form):
        left_out = print_table(table, title, console(stderr=False))
        if left_out:
            say(left_out, "dim")
    else:
        refuse_terminal(output, form)
        sys.stdout.flush()
        tables.write(table, sys.stdout.buffer, form)


def is_for_screen(output: str | None, form: Format | None) -> bool:
    """Whether a table is shown on a terminal, not written."""
    return output is None and form is None and sys.stdout.isatty()


def check_writable(
    output: str | None, form: Format | None = None, *, force: bool = False, sources: Iterable[str] = ()
) -> None:
    """Refuse, before any work, a file that cannot be written, that is read too, or that exists (unless `force`)."""
    chosen = tables.choose_format(output, form)
    if chosen is Format.parquet:
        tables.parquet_library()
    if chosen.is_binary:
        refuse_terminal(output, form)
    if output is None or output == STD:
        return
    tables.refuse_workbook(output)
    if not can_be_path(output):
        raise ParameterError(f"expected the name of a file to write, got {output!r}.")
    path = Path(output)
    if path.is_dir():
        raise ParameterError(f"expected a file to write, got the folder {output}.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"cannot write {output}: the folder {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"cannot write {output}: permission denied.")
    if any(s != STD and Path(s).exists() and path.exists() and path.samefile(s) for s in sources):
        raise ParameterError(f"{output} is read; name another file to write to.")
    if os.path.lexists(path) and not force and not is_device(path):
        raise refuse_existing(output)


def refuse_terminal(output: str | None, form: Format | None) -> None:
    """Refuse to print Parquet or Excel on a terminal."""
    chosen = tables.choose_format(None, form)
    if output in (None, STD) and chosen.is_binary and sys.stdout.isatty():
        raise ParameterError(
            f"{chosen.capitalize()} cannot be shown on a terminal. Name a file: -o file.{chosen}"
        )


def describe_error(error: MaxentryError) -> str:
    """An error's message, with the hint for the command line in place of the one for Python."""
    id = error.fields.get("id")
    correct = "correct VALUE --row ROW --col COL" if id is None else f"correct {id} VALUE"
    numbers = ", ".join(map(str, error.fields.get("numbers", ())))
    hints = {
        "no_storage": "Create a campaign with `maxentry new`, or name another file with --storage or MAXENTRY_STORAGE.",
        "no_campaigns": "Begin one with `maxentry new`.",
        "no_goal": "Name one: `maxentry answer 'best per row'`, or `maxentry set --goal 'best per row'`.",
        "name_missing": "Name one by --campaign (-c) or MAXENTRY_CAMPAIGN.",
        "has_value": f"`maxentry correct {id} --strike` removes the value.",
        "other_value": f"Use `maxentry {correct}` to replace the value, or --again to add another measurement.",
        "other_se": f"Use `maxentry {correct} --se SE` to give it a standard error, or --again if it is another one.",
        "two_values": "Leave one out, or say --again if both were measured.",
        "removed_value": f"Use `maxentry {correct}` to restore the value, or --again to add another measurement.",
        "text_feature": f"If it is a category: --categories {error.fields.get('feature')}. Else remove the column.",
        "several_measurements": f"Give --number, one of {numbers}.",
    }
    return f"{error.message} {hints.get(error.code, error.hint)}".rstrip()


def is_debugging() -> bool:
    """Whether the environment asks for tracebacks."""
    return os.environ.get("MAXENTRY_DEBUG", "") not in ("", "0")


# A table on a terminal: as many lines and columns as fit, no number and no label over two lines.

MOST_LINES = 40
PROSE = ("what", "reason")  # columns of words, which may wrap
LEAST_PROSE = 20
PADDING = 3  # of each column, with its border


def print_table(table: Table, title: str, out: Console) -> str:
    """Print the first lines and columns of a table; return what was left out, in words."""
    from rich import box
    from rich.table import Table as RichTable

    texts = [[format_cell(cell) for cell in column[:MOST_LINES]] for column in table.columns]
    widths = fit_columns(table.names, texts, out.width)
    n = len(widths)
    grid = RichTable(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name, column, width in zip(table.names, table.columns, widths, strict=False):
        numeric = any(isinstance(x, int | float) for x in column)
        justify: Literal["right", "left"] = "right" if numeric else "left"
        if name in PROSE:
            grid.add_column(escape_text(name), justify=justify, overflow="fold")
        else:
            grid.add_column(
                escape_text(name), justify=justify, no_wrap=True, overflow="ellipsis", width=width
            )
    for line in zip(*texts[:n], strict=True):
        grid.add_row(*line)
    out.print(grid, soft_wrap=False)
    more = [(table.n - MOST_LINES, "line"), (len(table.names) - n, "column")]
    left_out = [count(k, f"more {what}") for k, what in more if k > 0]
    return f"… {' and '.join(left_out)}; -o FILE has all." if left_out else ""


def fit_columns(names: list[str], texts: list[list[str]], width: int) -> list[int]:
    """Widths of the columns that fit side by side. At least two are shown; the first may be cut."""
    from rich.cells import cell_len
    from rich.markup import render

    widths: list[int] = []
    for name, column in zip(names, texts, strict=True):
        needed = max([cell_len(name), *(cell_len(render(text).plain) for text in column)])
        needed = min(needed, LEAST_PROSE) if name in PROSE else needed
        if 1 + sum(widths) + needed + PADDING * (len(widths) + 1) > width and len(widths) >= 2:
            break
        widths.append(needed)
    excess = 1 + sum(widths) + PADDING * len(widths) - width
    return widths if excess <= 0 else [max(1, widths[0] - excess), *widths[1:]]


def format_cell(cell: Any) -> str:
    """A cell for the terminal: numbers to four figures, times to the minute."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return f"{cell:%Y-%m-%d %H:%M %Z}"
    return f"{cell:.4g}" if isinstance(cell, float) else escape_text(tables.cell_text(cell))


def escape_text(text: str) -> str:
    """Text on one line, with Rich's markup escaped."""
    from rich.markup import escape

    return escape(" ".join(text.split()))


# Hints: the next command as it must be typed


def next_options(storage: str, campaign: str | None = None, *, several: bool = False) -> str:
    """Options that the next command needs to find this campaign, without any password.

    The campaign is named if there are several in the storage or if the environment names another one.
    """
    text = ""
    known = storage in (STORAGE, os.environ.get("MAXENTRY_STORAGE"))
    secret = "@" in storage or "passw" in storage.lower()
    if not known and not secret:
        text += f" --storage {quote(storage)}"
    usual = os.environ.get("MAXENTRY_CAMPAIGN") or None
    if campaign is not None and campaign != usual and (several or usual is not None):
        text += f" --campaign {quote(campaign)}"
    return text
