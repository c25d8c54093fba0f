"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from maxentry.cli.main import app

PLACE = "<!-- all commands -->"


def reference() -> str:
    """Every command in Markdown: by the groups of `maxentry --help`, in its order."""
    top = typer.main.get_command(app)
    panels: dict[str, list[str]] = {}
    for name, command in _commands(top):
        panel = getattr(top.commands[name.split()[0]], "rich_help_panel", None) or "Commands"  # type: ignore[attr-defined]
        panels.setdefault(str(panel), []).append(section(name, command))
    parts = [f"## {panel}\n\n" + "\n".join(sections) for panel, sections in panels.items()]
    return "\n".join(parts)


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if getattr(command, "hidden", False):
            continue
        full = f"{before} {name}".strip()
        yield full, command
        if hasattr(command, "commands"):
            yield from _commands(command, full)


def section(name: str, command: Any) -> str:
    """One command: what it does, its usage, its arguments and options, and what it says after them."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(["maxentry", name, *command.collect_usage_pieces(context)])
    lines = [f"### maxentry {name}", "", _prose(command.help), "", f"```text\n{usage}\n```", ""]
    # The record of an option is all that every version of Typer gives in the same way.
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [f"| `{_breakable(names)}` | {_cell(_prose(text))} |" for names, text in filter(None, records)]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    if command.epilog:
        lines += [_prose(command.epilog), ""]
    return "\n".join(lines)


def _prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n\n", " ").replace("*", "\\*")


def _breakable(names: str) -> str:
    """Long lists of choices may go over several lines."""
    return names.replace("|", " | ") if len(names) > 30 else names
