"""`complete` and `design`: a table in, a table out, no campaign."""

from __future__ import annotations

from typing import Annotated

import typer

from maxentry.cli import options, output
from maxentry.cli.maps import FACTS, LONG, hand_over
from maxentry.errors import ParameterError
from maxentry.tables import Table

PANEL = "Without a campaign"


def complete(
    data: Annotated[
        str, typer.Argument(help="CSV or Parquet: a matrix with holes, or row, col, value; - is stdin.")
    ],
    out: options.Output = None,
    wide: options.Wide = True,
    what: options.WhatOption = options.What.mean,
    level: options.Level = 0.9,
    rank: options.Rank = "auto",
    noise: options.NoiseOption = options.Noise.gaussian,
    transform: options.Transform = "none",
    effects: Annotated[bool, typer.Option(help="Whether rows and columns have means of their own.")] = True,
    seed: options.Seed = None,
    names: options.Names = None,
    save: options.Save = None,
    verbose: options.Verbose = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
) -> None:
    """Fill the holes of a table, and say how far each filled value can be trusted."""
    output.check_writable(out, form, sources=[data])
    output.check_writable(save, sources=[data])
    wanted = options.rank_of(rank)
    from maxentry.cli import inputs
    from maxentry.observations import Observations
    from maxentry.posterior.complete import complete as completed
    from maxentry.posterior.intervals import check_level

    check_level(level)
    given = inputs.read_matrix(data, names)

    measured = given.measured
    observations = Observations.from_triples(
        measured.rows, measured.cols, measured.values, row_labels=given.row_labels, col_labels=given.col_labels
    )  # fmt: skip
    posterior = completed(
        observations, wanted, noise=noise.value, effects=effects, transform=transform, seed=seed
    )
    hand_over(
        posterior,
        out,
        form,
        wide=wide,
        what=what.value,
        level=level,
        as_json=as_json,
        save=save,
        verbose=verbose,
        corner=given.corner,
    )


def design(
    shape: Annotated[
        str,
        typer.Argument(
            metavar="SHAPE|TABLE",
            help="30x20, or a table whose labels are used and measured entries left out.",
        ),
    ],
    n: Annotated[int, typer.Argument(min=1, help="How many entries.")],
    out: options.Output = None,
    seed: options.Seed = None,
    names: options.Names = None,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
) -> None:
    """Lay out which entries to measure first: every row and every column about equally often."""
    output.check_writable(out, form, sources=[shape])
    from maxentry import design as designs
    from maxentry.cli import inputs
    from maxentry.entries import Entries

    size = options.shape_of(shape)
    if size is not None:
        row_labels, col_labels = options.labels_of(size)
        measured = inputs.Triples([], [], [])
    else:
        given = inputs.parse_matrix(_table(shape), names)
        row_labels, col_labels, measured = given.row_labels, given.col_labels, given.measured
    row_at, col_at = ({label: i for i, label in enumerate(side)} for side in (row_labels, col_labels))
    taken = Entries.of([row_at[x] for x in measured.rows], [col_at[x] for x in measured.cols])
    chosen = designs.balanced(
        (len(row_labels), len(col_labels)), n, seed=seed, taken=taken if len(taken.rows) else None
    )
    rows, cols = (
        [side[k] for k in at] for side, at in ((row_labels, chosen.rows), (col_labels, chosen.cols))
    )
    table = Table(["row", "col", "value"], [rows, cols, [None] * len(rows)])
    document = {"shape": [len(row_labels), len(col_labels)], "n": len(rows)}
    output.deliver(table, out, form, as_json=as_json, document=document)


def _table(path: str) -> Table:
    from pathlib import Path

    from maxentry.cli import inputs

    if path != output.STD and not Path(path).exists():
        raise ParameterError(f"expected a shape like 30x20 or a table, but {path!r} is neither.")
    return inputs.read_table(path)


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command(
        rich_help_panel=PANEL,
        epilog=f"JSON: {FACTS}, and entries ({LONG}) or, with -o, output.",
    )(complete)
    app.command(
        rich_help_panel=PANEL, epilog="JSON: shape, n, and entries (row, col, value) or, with -o, output."
    )(design)
