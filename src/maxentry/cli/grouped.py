"""Lines of a study on a terminal: a heading for each group, all lines, words over as many lines as they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from maxentry.cli import output
from maxentry.cli.terminal import plain

ONE_LINE = ("judgement", "90% interval")
WIDEST = {"figure": 26}  # so that there is room for what was found
Line = Mapping[str, Any]


def claims(lines: Sequence[Line]) -> None:
    """The paper's claims, by what chooses; what all figures say comes last and stands out."""
    for (claim, chosen), group in groupby(lines, key=lambda line: (line["claim"], line["chosen_by"])):
        found = list(group)
        rows = [(line["figure"], line["judgement"], line["found"]) for line in found]
        bold = [k for k, line in enumerate(found) if line["figure"].startswith("all ")]
        _show(f"{claim} (chosen by: {chosen})", ("figure", "judgement", "found"), rows, bold)


def ratios(lines: Sequence[Line]) -> None:
    """Ratios to uniform's error, a table for each case."""
    for case, group in groupby(lines, key=lambda line: str(line["case"])):
        rows = [(r["strategy"], f"{r['ratio']:.2f}", _interval(r), str(r["replicates"])) for r in group]
        _show(case, ("strategy", "error / uniform's", "90% interval", "replicates"), rows)


def _interval(line: Line) -> str:
    return f"{line['low']:.2f} to {line['high']:.2f}" if line["low"] == line["low"] else ""


def _show(
    heading: str, names: Sequence[str], rows: Sequence[Sequence[str]], bold: Sequence[int] = ()
) -> None:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in names:
        made.add_column(name, no_wrap=name in ONE_LINE, max_width=WIDEST.get(name))
    for k, row in enumerate(rows):
        made.add_row(*map(plain, row), style="bold" if k in bold else None, end_section=k + 1 in bold)
    out = output.console(stderr=False)
    out.print(
        plain(heading), style="bold", soft_wrap=False
    )  # as a table's title it would be as narrow as the table
    out.print(made, soft_wrap=False)
    out.print()
