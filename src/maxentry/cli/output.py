"""What the command line says: data on stdout, words on stderr, and with --json one document on stdout."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxentry import tables
from maxentry._io import to_json_data
from maxentry.cli import terminal
from maxentry.errors import ParameterError
from maxentry.tables import Format, Table

if TYPE_CHECKING:
    from rich.console import Console


STD = "-"  # stdin or stdout


def console(*, stderr: bool = True) -> Console:
    """Rich's console on stderr, or on stdout; made when used, since both may be redirected."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def say(text: str, style: str | None = None) -> None:
    """A message to whoever sits there, on stderr."""
    console().print(text, style=style, markup=False)


def warn(text: str) -> None:
    """A message that should not be missed."""
    say(text, "yellow")


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on stdout; what is not a number there (NaN, infinity) is null."""
    sys.stdout.write(json.dumps(to_json_data(document), ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


def deliver(
    table: Table,
    output: str | None,
    form: Format | None,
    *,
    as_json: bool,
    document: Mapping[str, Any],
    key: str = "entries",
    title: str = "",
) -> None:
    """Hand a table over: to a file, as JSON (under `key`), as CSV down a pipe, or readable on a terminal."""
    to_file = output not in (None, STD)
    if output is not None and to_file:
        tables.write(table, output, form)
    if as_json:
        print_json({**document, "output": output} if to_file else {**document, key: table.records()})
    elif to_file:
        say(f"Wrote {output} ({count(table.n, 'line')}).", "dim")
    elif output is None and form is None and sys.stdout.isatty():
        show(table, title)
    else:
        refuse_terminal(output, form)
        sys.stdout.flush()
        tables.write(table, sys.stdout.buffer, form)


def show(table: Table, title: str = "") -> None:
    """The lines and columns of a table that fit the terminal, and how many more there are."""
    left_out = terminal.show(table, title, console(stderr=False))
    if left_out:
        say(left_out, "dim")


def check_writable(output: str | None, form: Format | None = None, *, sources: Iterable[str] = ()) -> None:
    """Refuse, before any work, a file that cannot be written or that is one of those that are read."""
    if tables.choose_format(output, form) is Format.parquet:
        tables.parquet_library()
        refuse_terminal(output, form)
    if output is None or output == STD:
        return
    tables.refuse_workbook(output)
    path = Path(output)
    if path.is_dir():
        raise ParameterError(f"expected a file to write, got the folder {output}.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"cannot write {output}: the folder {path.parent} does not exist.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ParameterError(f"cannot write {output}: permission denied.")
    if any(s != STD and Path(s).exists() and path.exists() and path.samefile(s) for s in sources):
        raise ParameterError(f"{output} is read; name another file to write to.")


def refuse_terminal(output: str | None, form: Format | None) -> None:
    """Refuse to print Parquet on a terminal."""
    binary = output in (None, STD) and tables.choose_format(None, form) is Format.parquet
    if binary and sys.stdout.isatty():
        raise ParameterError("Parquet cannot be shown on a terminal. Name a file: -o file.parquet")


def count(n: int, one: str, many: str | None = None) -> str:
    """`1 entry`, `3 entries`."""
    return f"{n} {one if n == 1 else many or one + 's'}"


SPOKEN = (  # advice to programs, as it is followed on the command line
    ("again=True allows replicates", "`maxentry set --again` allows replicates"),
    ("correct(id, None)", "`maxentry correct ID --strike`"),
    ("again=True", "--again"),
    ("give number= one of", "give --number, one of"),
)


def spoken(text: str) -> str:
    """A sentence of the library as the command line says it."""
    for program, shell in SPOKEN:
        text = text.replace(program, shell)
    id = re.search(r"\bid (\d+)\b", text)
    correction = f"{id[1]} VALUE" if id else "VALUE --row ROW --col COL"
    return text.replace("correct()", f"`maxentry correct {correction}`")
