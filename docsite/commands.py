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
    rows = [_row(p) for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    if command.epilog:
        lines += [_prose(command.epilog), ""]
    return "\n".join(lines)


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        flags = ", ".join(f"`{flag}`" for flag in [*parameter.opts, *parameter.secondary_opts])
        kind = "" if parameter.is_flag else f" `{parameter.metavar or _kind(parameter.type)}`"
        names = flags + kind
    return f"| {_cell(names)} | {_cell(_prose(parameter.help))}{_default(parameter)} |"


def _kind(of: Any) -> str:
    choices = getattr(of, "choices", None)
    return "|".join(str(getattr(c, "value", c)) for c in choices) if choices else of.name.upper()


def _default(parameter: Any) -> str:
    value = getattr(parameter.default, "value", parameter.default)
    if value in (None, False, ()) or callable(value) or not parameter.show_default:
        return ""
    return f" *Default: {_cell(str(value))}*"


def _prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n\n", " ")
