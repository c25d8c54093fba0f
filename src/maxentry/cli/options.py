"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

import typer

from maxentry.tables import Format

STORAGE = "sqlite:///maxentry.db"


def option(*names: str, **about: Any) -> Any:
    """An option that need not be given; its default goes without saying."""
    return typer.Option(*names, show_default=False, **about)


class What(StrEnum):
    """What a wide table holds; new_low and new_high are of a new measurement, noise included."""

    mean = "mean"
    sd = "sd"
    low = "low"
    high = "high"
    new_low = "new_low"
    new_high = "new_high"


class Noise(StrEnum):
    """The law of the measurement error."""

    gaussian = "gaussian"
    student = "student"


Output = Annotated[
    str | None,
    option(
        "--output", "-o", metavar="FILE", help="Write to this file: CSV, or Parquet by its ending; - is stdout. "
        "Without it: a table on a terminal, CSV down a pipe.",
    ),
]  # fmt: skip
OutputFormat = Annotated[
    Format | None,
    option(
        "--format",
        help="The format of what is written, whatever the file's name; excel: CSV with semicolons and "
        "decimal commas, as Excel opens it in many countries.",
    ),
]
InputFormat = Annotated[
    Format | None,
    option("--format", help="The format of what is read, whatever the file's name."),
]
Json = Annotated[bool, option("--json", help="One JSON document on stdout, errors too.")]
Names = Annotated[
    str | None,
    option(
        "--names", metavar="ROW,COL,VALUE",
        help="A long table, with its columns so named (row,col,value need no naming).",
    ),
]  # fmt: skip
Level = Annotated[
    float, typer.Option("--level", help="The probability with which an entry lies between low and high.")
]
Wide = Annotated[
    bool, typer.Option("--wide/--long", help="One line a row, or (long) one line an entry with everything.")
]
WhatOption = Annotated[
    What,
    typer.Option("--what", help="What a wide table holds; new_… are of a new measurement, noise included."),
]
Transform = Annotated[
    str,
    typer.Option(
        "--transform",
        help="The scale of the model: none, log, logit, percent, or logit(LOW,HIGH). Results stay in your units.",
    ),
]
Seed = Annotated[
    int | None,
    option("--seed", min=0, help="The same seed gives the same answer."),
]
Save = Annotated[
    str | None,
    option("--save", metavar="FILE.npz", help="Keep the posterior, for Posterior.load."),
]
Verbose = Annotated[bool, option("--verbose", "-v", help="Say on stderr how the sampling went, in full.")]
Rank = Annotated[
    str, typer.Option("--rank", metavar="auto|R", help="The rank, or auto: chosen by prediction.")
]
NoiseOption = Annotated[Noise, typer.Option("--noise", help="student where single measurements go wrong.")]


def rank_of(text: str) -> int | Literal["auto"]:
    """A rank from the command line."""
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise typer.BadParameter(f"expected auto or a whole number, but {text!r} came.", param_hint="--rank")
    return int(text)


def shape_of(text: str) -> tuple[int, int] | None:
    """`30x20` as (30, 20), or None where the text is no shape."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def labels_of(shape: tuple[int, int]) -> tuple[list[str], list[str]]:
    """r1, r2, … and c1, c2, …: the labels of a matrix known by its shape alone."""
    return [f"r{i + 1}" for i in range(shape[0])], [f"c{j + 1}" for j in range(shape[1])]


class Acquisition(StrEnum):
    """How entries are chosen."""

    maxent = "maxent"
    maxent_nearest = "maxent_nearest"
    predictive_variance = "predictive_variance"
    integrated_variance = "integrated_variance"
    uniform = "uniform"
    balanced = "balanced"


class Plates(StrEnum):
    """Whole rows or whole columns at a time."""

    rows = "rows"
    cols = "cols"


def known_campaigns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of campaigns that begin so, for the shell's completion; none where the storage does not answer."""
    import os

    storage = ctx.params.get("storage") or os.environ.get("MAXENTRY_STORAGE", STORAGE)
    try:
        from maxentry.campaign.campaign import Campaign

        names = Campaign.list(storage)
    except Exception:  # a Tab must never print an error into what is being typed
        return []
    return [name for name in names if name.startswith(incomplete)]


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
        "--campaign", "-c", envvar="MAXENTRY_CAMPAIGN", metavar="NAME", autocompletion=known_campaigns,
        help="Which campaign; the only one in the storage needs no naming.",
    ),
]  # fmt: skip
Who = Annotated[
    str | None,
    option("--who", help="Who does this, for the history; your user name if not given."),
]
PerRow = Annotated[int | None, option("--per-row", min=1, help="At most so many in a row.")]
PerCol = Annotated[int | None, option("--per-col", min=1, help="At most so many in a column.")]
WholePlates = Annotated[
    Plates | None,
    option("--plates", help="Whole rows or columns: N counts them."),
]
