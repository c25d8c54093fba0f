"""The options of `new` and `set`: what a campaign's settings look like on the command line, and how they are read."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from maxentry.cli import options
from maxentry.cli.options import Acquisition, option

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
NewNoise = Annotated[
    options.Noise | None, option("--noise", help="student where single measurements go wrong.")
]
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


def read(
    rows: Any, cols: Any, *, acquisition: Acquisition | None, rank: str | None, noise: options.Noise | None,
    value_range: str | None, costs: list[str] | None, mask: str | None, lease: str | None,
    plates: options.Plates | None, **others: Any,
) -> dict[str, Any]:  # fmt: skip
    """The settings that were given, as a campaign takes them."""
    from maxentry.cli import inputs

    found = others | {
        "acquisition": acquisition and acquisition.value,
        "rank": None if rank is None else options.rank_of(rank),
        "noise": noise and noise.value,
        "range": _range(value_range),
        "lease": _seconds(lease),
        "plates": plates and plates.value,
        "costs": inputs.read_costs(costs or [], rows, cols),
        "mask": None if mask is None else inputs.read_mask(mask, rows, cols),
    }
    return {name: value for name, value in found.items() if value is not None}


def _range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, comma, high = text.partition(",")
    try:
        if comma:
            return float(low.strip() or "-inf"), float(high.strip() or "inf")
    except ValueError:
        pass
    raise typer.BadParameter(f"expected LOW,HIGH, but {text!r} came.", param_hint="--range")


def _seconds(text: str | None) -> float | None:
    """A time like 90m, 12h, 3d or 2w, in seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smhdw]?)\s*", text.lower())
    if found is None:
        raise typer.BadParameter(
            f"expected a time like 90m, 12h or 3d, but {text!r} came.", param_hint="--lease"
        )
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[found[2]]
    return float(found[1]) * unit
