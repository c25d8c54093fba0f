"""Options that several commands share, and the settings of a campaign as options."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from maxentry.tables import Format

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign

STORAGE = "sqlite:///maxentry.db"


def option(*names: str, **about: Any) -> Any:
    """An option whose default is not shown in the help."""
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


def parse_rank(text: str) -> int | Literal["auto"]:
    """A rank from the command line."""
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise typer.BadParameter(f"expected auto or a whole number, got {text!r}.", param_hint="--rank")
    return int(text)


def parse_shape(text: str) -> tuple[int, int] | None:
    """`30x20` as (30, 20), or None where the text is no shape."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def count_labels(shape: tuple[int, int]) -> tuple[list[str], list[str]]:
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
    str | None,
    option("--who", help="Who does this, for the history; your user name if not given."),
]
PerRow = Annotated[int | None, option("--per-row", min=1, help="At most so many in a row.")]
PerCol = Annotated[int | None, option("--per-col", min=1, help="At most so many in a column.")]
WholePlates = Annotated[
    Plates | None,
    option("--plates", help="Whole rows or columns: N counts them."),
]


# Settings of a campaign, for `new` and `set`

LABEL_FILE = "labels, one a line; of a CSV or Parquet file the first column, or FILE:COLUMN."

Source = Annotated[
    str | None,
    option(
        "--from", metavar="FILE", help="A table with holes, or row, col, value: labels and values are taken."
    ),
]
RowFile = Annotated[str | None, option("--rows", metavar="FILE", help=f"Row {LABEL_FILE}")]
ColFile = Annotated[str | None, option("--cols", metavar="FILE", help=f"Column {LABEL_FILE}")]
RowList = Annotated[list[str] | None, option("--row", help="A row label; give it again for more.")]
ColList = Annotated[list[str] | None, option("--col", help="A column label; give it again for more.")]
Shape = Annotated[str | None, option("--shape", metavar="30x20", help="Labels r1, r2, … and c1, c2, …")]
Chosen = Annotated[Acquisition | None, option("--acquisition", help="How entries are chosen.")]
NewRank = Annotated[
    str | None, option("--rank", metavar="auto|R", help="The rank, or auto: chosen by prediction.")
]
NewNoise = Annotated[Noise | None, option("--noise", help="student where single measurements go wrong.")]
NewEffects = Annotated[
    bool | None, option("--effects/--no-effects", help="Whether rows and columns have means of their own.")
]
Lease = Annotated[
    str | None, option("--lease", metavar="TIME", help="What is asked goes back after 90m, 12h, 3d, 2w.")
]
CostFiles = Annotated[
    list[str] | None,
    option(
        "--costs", metavar="FILE",
        help="row,cost or col,cost; or a matrix, or row,col,cost, for every entry. Given again, they add up.",
    ),
]  # fmt: skip
MaskFile = Annotated[
    str | None,
    option(
        "--mask",
        metavar="FILE",
        help="A matrix of 1 and 0, or row,col,available: only 1 can be measured. A list of "
        "0 alone bars those entries and no others.",
    ),
]
Budget = Annotated[float | None, option("--budget", help="Ask until this much is spent.")]
TargetSd = Annotated[
    float | None, option("--target-sd", help="Good enough: the typical sd to reach, in your units.")
]
Again = Annotated[bool | None, option("--again/--no-again", help="Whether what was told may be asked again.")]
Range = Annotated[
    str | None, option("--range", metavar="LOW,HIGH", help="Values that can be told: 0,100 or 0, or ,1.")
]
NInitial = Annotated[
    int | None,
    option("--n-initial", min=0, help="Entries of the first design; the longer side if not given."),
]
