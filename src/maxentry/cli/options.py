"""Options that several commands share, and the settings of a campaign as options."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from maxentry.campaign.settings import Settings
from maxentry.tables import Format

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign

STORAGE = "sqlite:///maxentry.db"
PANELS = {
    "Features and names": ("row_features", "col_features", "row_name", "col_name", "value_name"),
    "What values are": ("kind", "levels", "unit", "limits", "range", "transform", "scale", "noise", "noise_sd"),
    "What is wanted, and which entries are asked for": (
        "goal", "weights", "acquisition", "n_initial", "mask", "again", "plates", "per_row", "per_col",
    ),
    "Costs, and when to stop": ("costs", "budget", "target_sd", "enough", "lease"),
    "The model and its fit": ("rank", "effects", "priors", "effort", "engine", "seed"),
}  # of the help of commands with many settings, in this order  # fmt: skip
SETTINGS = {f.name: f for f in fields(Settings) if f.name not in ("name", "rows", "cols")}

Command = TypeVar("Command", bound=Callable[..., None])


def option(*names: str, **about: Any) -> Any:
    """An option whose default is not shown in the help."""
    return typer.Option(*names, show_default=False, **about)


class What(StrEnum):
    """What a wide table holds; new_low and new_high are of a new measurement, most_likely is a grade, yes or no."""

    mean = "mean"
    sd = "sd"
    low = "low"
    high = "high"
    new_low = "new_low"
    new_high = "new_high"
    most_likely = "most_likely"


Output = Annotated[
    str | None,
    option(
        "--output", "-o", metavar="FILE",
        help="Write to this file: CSV, or Excel (.xlsx) or Parquet by its ending; - is stdout. Without it: a table on "
        "a terminal, CSV down a pipe.",
    ),
]  # fmt: skip
Force = Annotated[
    bool,
    option("--force", "--overwrite", help="Replace the file if it exists; without it nothing is replaced."),
]
OutputFormat = Annotated[
    Format | None,
    option(
        "--format",
        help="The format of what is written, whatever the file's name; excel: CSV with semicolons and "
        "decimal commas, as Excel opens it in many countries; xlsx: a workbook.",
    ),
]
InputFormat = Annotated[
    Format | None, option("--format", help="The format of what is read, whatever the file's name.")
]
Json = Annotated[bool, option("--json", help="One JSON document on stdout, errors too.")]
Names = Annotated[
    str | None,
    option(
        "--names", metavar="ROW,COL,VALUE",
        help="A long table, with its columns so named (row,col,value need no naming); of counted trials ROW,COL.",
    ),
]  # fmt: skip
Sheet = Annotated[
    str | None,
    option(
        "--sheet",
        metavar="NAME",
        help="The sheet of an Excel file; the first that is not empty, if not given.",
    ),
]
StandardError = Annotated[
    str | None,
    option(
        "--se",
        metavar="NAME",
        help="The column of standard errors of a long table (se, sem and sd need no naming).",
    ),
]
Categories = Annotated[
    str | None,
    option(
        "--categories",
        metavar="NAME,…",
        help="Columns of --row-features and --col-features whose words are categories.",
    ),
]
Level = Annotated[
    float, typer.Option("--level", help="The probability with which an entry lies between low and high.")
]
Wide = Annotated[
    bool, typer.Option("--wide/--long", help="One line a row, or (long) one line an entry with everything.")
]
WhatOption = Annotated[
    What,
    typer.Option(
        "--what",
        help="What a wide table holds; new_… are of a new measurement, noise included; most_likely is a grade, "
        "or yes or no.",
    ),
]
Measured = Annotated[
    bool,
    option(
        "--measured",
        help="Mean, sd, low and high of what an instrument would show, noise and limits included, not of the entry "
        "itself, which may lie beyond a limit.",
    ),
]
Entries = Annotated[
    str | None,
    option(
        "--entries", metavar="FILE", help="Only the entries of this list (row,col), one line each, in its order."
    ),
]  # fmt: skip
Save = Annotated[
    str | None, option("--save", metavar="FILE.npz", help="Keep the posterior, for Posterior.load.")
]
Cluster = Annotated[
    str | None, option("--cluster", metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786.")
]
Verbose = Annotated[bool, option("--verbose", "-v", help="Say on stderr how the sampling went, in full.")]


def complete_campaign(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of campaigns that begin so, for the shell's completion; none where the storage does not answer."""
    storage = ctx.params.get("storage") or os.environ.get("MAXENTRY_STORAGE", STORAGE)
    try:
        from maxentry.campaign.campaign import Campaign

        names = Campaign.list(storage)
    except Exception:  # a Tab must never print an error into what is being typed
        return []
    return [name for name in names if name.startswith(incomplete)]


def open_campaign(storage: str, name: str | None) -> Campaign:
    """Open the campaign of this name, or the only one in the storage; to be used in a with statement."""
    from maxentry.campaign.campaign import Campaign

    return Campaign.open(storage, name)


Storage = Annotated[
    str,
    typer.Option(
        "--storage", "-s", envvar="MAXENTRY_STORAGE", metavar="FILE|URL",
        help="Where campaigns are kept: lab.db, sqlite:///lab.db or postgresql://user@host/database.",
    ),
]  # fmt: skip
Name = Annotated[
    str | None,
    option(
        "--campaign", "-c", envvar="MAXENTRY_CAMPAIGN", metavar="NAME", autocompletion=complete_campaign,
        help="Which campaign; the only one in the storage needs no naming.",
    ),
]  # fmt: skip
Who = Annotated[
    str | None, option("--who", help="Who does this, for the history; your user name if not given.")
]


# Settings of a campaign


def add_settings(
    names: Iterable[str], *, defaults: bool = False, panels: bool = False
) -> Callable[[Command], Command]:
    """Give a command an option for each of these settings, built from its declaration; they arrive as keywords.

    The options stand before the command's keyword-only ones. defaults: use the declared defaults, and show them in the
    help; otherwise an option that is not given is None. panels: whether the help groups them as PANELS says.
    """
    panel_of = {name: panel for panel, inside in PANELS.items() for name in inside} if panels else {}
    order = list(panel_of)
    wanted = sorted(names, key=order.index) if panels else list(names)

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        at = sum(p.kind is not p.KEYWORD_ONLY for p in own)
        own[at:at] = [_build_parameter(name, defaults, panel_of.get(name)) for name in wanted]
        command.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]  # which Typer reads
        return command

    return decorate


def _build_parameter(name: str, with_default: bool, panel: str | None) -> inspect.Parameter:
    declared, flag = SETTINGS[name], name.replace("_", "-")
    about, default, kind = declared.metadata, declared.default, _choose_type(name)
    if kind is bool:
        flag = f"{flag}/--no-{flag}"
    if default is MISSING or not with_default:
        default = None
    elif issubclass(kind, StrEnum) and default is not None:
        default = kind(default)
    option = typer.Option(
        default,
        f"--{flag}",
        help=about["help"],
        metavar=about.get("metavar"),
        min=about.get("least") if kind is int else None,
        rich_help_panel=panel,
    )
    annotation = list[str] if name == "costs" else kind
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation | None
    )


def _choose_type(name: str) -> type:
    """What Typer reads a setting as: text if its declaration says how it is written."""
    about = SETTINGS[name].metadata
    if "choices" in about:
        return StrEnum(name.capitalize(), {choice: choice for choice in about["choices"]})  # type: ignore[return-value]
    if isinstance(SETTINGS[name].default, bool):
        return bool
    if "metavar" in about:
        return str
    return int if "least" in about else float if "positive" in about else str


def parse_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given, as Python takes them; costs and masks are still names of files."""
    parsers: dict[str, Callable[[str], Any]] = {
        "rank": _parse_rank, "range": _parse_range, "limits": lambda text: _parse_range(text, "--limits"),
        "levels": _parse_levels, "lease": _parse_seconds,
    }  # fmt: skip
    return {
        name: parsers[name](value) if name in parsers else getattr(value, "value", value)
        for name, value in given.items()
        if value is not None and value != []
    }


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the user gave this option; otherwise it has its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def refuse_beside(context: typer.Context, option: str, others: Iterable[str], why: str) -> None:
    """Refuse other options that the user gave beside this one, which has no use for them."""
    for parameter in context.command.params:
        if parameter.name in others and is_given(context, parameter.name):
            flags = [*parameter.opts, *parameter.secondary_opts]
            flag = flags[0] if context.params[parameter.name] is not False else flags[-1]
            raise typer.BadParameter(f"expected {option} or {flag}, got both: {why}.")


def _parse_rank(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise typer.BadParameter(f"expected auto or a whole number, got {text!r}.", param_hint="--rank")
    return int(text)


def _parse_levels(text: str) -> tuple[str | float, ...]:
    """Grades in their order: numbers if all are, else names."""
    levels = [part.strip() for part in text.split(",")]
    if len(levels) == 1:
        wanted = "the grades in their order with commas between them, like A,B,C"
        raise typer.BadParameter(f"expected {wanted}, got {text!r}.", param_hint="--levels")
    try:
        return tuple(int(x) if x.lstrip("+-").isdecimal() else float(x) for x in levels)
    except ValueError:
        return tuple(levels)


def _parse_range(text: str, option: str = "--range") -> tuple[float, float]:
    low, comma, high = text.partition(",")
    try:
        if comma:
            return float(low.strip() or "-inf"), float(high.strip() or "inf")
    except ValueError:
        pass
    raise typer.BadParameter(f"expected LOW,HIGH, got {text!r}.", param_hint=option)


def _parse_seconds(text: str) -> float:
    """A time like 90m, 12h, 3d or 2w, in seconds."""
    time = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smhdw]?)\s*", text.lower())
    if time is None:
        raise typer.BadParameter(f"expected a time like 90m, 12h or 3d, got {text!r}.", param_hint="--lease")
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[time[2]]
    return float(time[1]) * unit


def split_list(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [] if text is None else [part.strip() for part in text.split(",") if part.strip()]


# A matrix known by its shape alone


def parse_shape(text: str) -> tuple[int, int] | None:
    """`30x20` as (30, 20), or None where the text is no shape."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(re.fullmatch(r"\s*\d{1,15}\s*", part) for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def count_labels(shape: tuple[int, int]) -> tuple[list[str], list[str]]:
    """r1, r2, … and c1, c2, …: the labels of a matrix known by its shape alone."""
    return [f"r{i + 1}" for i in range(shape[0])], [f"c{j + 1}" for j in range(shape[1])]
