"""`new`: a campaign begins."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maxentry.cli import hints, options, output, settings

PANEL = "Campaigns"


def new(
    name: Annotated[str, typer.Argument(help="The campaign's name.")],
    source: settings.Source = None,
    rows: settings.RowFile = None,
    cols: settings.ColFile = None,
    row: settings.RowList = None,
    col: settings.ColList = None,
    shape: settings.Shape = None,
    seed: options.Seed = None,
    rank: settings.NewRank = None,
    acquisition: settings.Chosen = None,
    noise: settings.NewNoise = None,
    effects: settings.NewEffects = None,
    transform: options.Transform = "none",
    value_range: settings.Range = None,
    costs: settings.CostFiles = None,
    mask: settings.MaskFile = None,
    budget: settings.Budget = None,
    target_sd: settings.TargetSd = None,
    lease: settings.Lease = None,
    n_initial: settings.NInitial = None,
    again: settings.Again = None,
    plates: options.WholePlates = None,
    per_row: options.PerRow = None,
    per_col: options.PerCol = None,
    names: options.Names = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Begin a campaign: name its rows and columns, and what is known of them already."""
    row_labels, col_labels, told = _labels(source, names, rows, cols, row, col, shape)
    given = settings.read(
        row_labels, col_labels, acquisition=acquisition, rank=rank, noise=noise, value_range=value_range, costs=costs,
        mask=mask, lease=lease, plates=plates, seed=seed, effects=effects, transform=transform, budget=budget,
        target_sd=target_sd, n_initial=n_initial, again=again, per_row=per_row, per_col=per_col,
    )  # fmt: skip
    found = _begun(storage, name, row_labels, col_labels, told, given, who)
    if as_json:
        output.print_json(found)
        return
    values = f", {output.count(found['told'], 'value')} told" if found["told"] else ""
    output.say(f"Campaign {name}: {found['rows']} rows, {found['cols']} columns{values}.")
    if found["available"]:
        n = min(24, max(found["rows"], found["cols"]), found["available"])
        output.say(f"Next: maxentry ask {n} -o plate.csv{_where(storage, name)}", "dim")


def _where(storage: str, name: str) -> str:
    from maxentry.campaign.campaign import Campaign

    return hints.where(storage, name, several=len(Campaign.list(storage)) > 1)


def _begun(
    storage: str, name: str, rows: list[str], cols: list[str], told: dict[str, list[Any]],
    given: dict[str, Any], who: str | None,
) -> dict[str, Any]:  # fmt: skip
    """Begin the campaign and tell what is known; what came of it."""
    from maxentry.campaign.campaign import Campaign

    values = told if told["value"] else None
    with Campaign.create(storage, name, rows, cols, values=values, who=who, **given) as campaign:
        status, seed = campaign.status(), campaign.settings.seed
    size = {"rows": len(rows), "cols": len(cols)}
    return {
        "campaign": name,
        **size,
        "told": status.measurements,
        "available": status.available,
        "seed": seed,
    }


def _labels(
    source: str | None, names: str | None, rows: str | None, cols: str | None,
    row: list[str] | None, col: list[str] | None, shape: str | None,
) -> tuple[list[str], list[str], dict[str, list[Any]]]:  # fmt: skip
    """Labels of both sides, each from one place, and what the table says of them."""
    from maxentry.cli import inputs

    nothing = inputs.Matrix([], [], inputs.Triples([], [], []))
    given = nothing if source is None else inputs.read_matrix(source, names)
    counted = ([], []) if shape is None else options.labels_of(_size(shape))
    told = given.measured
    return (
        _side("row", rows, row or [], counted[0], given.row_labels),
        _side("col", cols, col or [], counted[1], given.col_labels),
        {"row": told.rows, "col": told.cols, "value": told.values},
    )


def _side(
    side: str, file: str | None, listed: list[str], counted: list[str], of_table: list[str]
) -> list[str]:
    """The labels that were given in one way; a table's own where there is no other way."""
    from maxentry.cli import inputs

    read = [] if file is None else inputs.read_labels(file)
    ways = [labels for labels in (read, listed, counted) if labels]
    if len(ways) > 1:
        raise typer.BadParameter(f"expected one of --{side}s, --{side} and --shape, but several came.")
    if not ways and not of_table:
        raise typer.BadParameter(f"expected --from, --{side}s, --{side} or --shape, but none came.")
    return ways[0] if ways else of_table


def _size(shape: str) -> tuple[int, int]:
    size = options.shape_of(shape)
    if size is None:
        raise typer.BadParameter(f"expected a shape like 30x20, but {shape!r} came.", param_hint="--shape")
    return size


def add(app: typer.Typer) -> None:
    """Give this command to the app."""
    app.command(rich_help_panel=PANEL, epilog="JSON: campaign, rows, cols, told, available, seed.")(new)
