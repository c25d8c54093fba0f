"""`new`, `add-rows`, `add-cols` and `set`: create a campaign and change it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry.cli import options, output
from maxentry.cli.options import open_campaign, option
from maxentry.wording import count

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign


def new(
    name: Annotated[str, typer.Argument(help="The campaign's name.")],
    source: options.Source = None,
    rows: options.RowFile = None,
    cols: options.ColFile = None,
    row: options.RowList = None,
    col: options.ColList = None,
    shape: options.Shape = None,
    seed: options.Seed = None,
    rank: options.NewRank = None,
    acquisition: options.Chosen = None,
    noise: options.NewNoise = None,
    effects: options.NewEffects = None,
    transform: options.Transform = "none",
    value_range: options.Range = None,
    costs: options.CostFiles = None,
    mask: options.MaskFile = None,
    budget: options.Budget = None,
    target_sd: options.TargetSd = None,
    lease: options.Lease = None,
    n_initial: options.NInitial = None,
    again: options.Again = None,
    plates: options.WholePlates = None,
    per_row: options.PerRow = None,
    per_col: options.PerCol = None,
    names: options.Names = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Begin a campaign: name its rows and columns, and what is known of them already."""
    row_labels, col_labels, values = _read_labels(source, names, rows, cols, row, col, shape)
    given = _read_settings(
        row_labels, col_labels, acquisition=acquisition, rank=rank, noise=noise, value_range=value_range, costs=costs,
        mask=mask, lease=lease, plates=plates, seed=seed, effects=effects, transform=transform, budget=budget,
        target_sd=target_sd, n_initial=n_initial, again=again, per_row=per_row, per_col=per_col,
    )  # fmt: skip
    created = _create(storage, name, row_labels, col_labels, values, given, who)
    if as_json:
        output.print_json(created)
        return
    told = f", {count(created['told'], 'value')} told" if created["told"] else ""
    output.say(f"Campaign {name}: {created['rows']} rows, {created['cols']} columns{told}.")
    if created["available"]:
        n = min(24, max(created["rows"], created["cols"]), created["available"])
        output.say(f"Next: maxentry ask {n} -o plate.csv{_next_options(storage, name)}", "dim")


def _next_options(storage: str, name: str) -> str:
    from maxentry.campaign.campaign import Campaign

    return output.next_options(storage, name, several=len(Campaign.list(storage)) > 1)


def _create(
    storage: str, name: str, rows: list[str], cols: list[str], values: dict[str, list[Any]],
    given: dict[str, Any], who: str | None,
) -> dict[str, Any]:  # fmt: skip
    """Create the campaign with its known values; return what to report."""
    from maxentry.campaign.campaign import Campaign

    known = values if values["value"] else None
    with Campaign.create(storage, name, rows, cols, values=known, who=who, **given) as campaign:
        status, seed = campaign.status(), campaign.settings.seed
    size = {"rows": len(rows), "cols": len(cols)}
    return {
        "campaign": name,
        **size,
        "told": status.measurements,
        "available": status.available,
        "seed": seed,
    }


def _read_labels(
    source: str | None, names: str | None, rows: str | None, cols: str | None,
    row: list[str] | None, col: list[str] | None, shape: str | None,
) -> tuple[list[str], list[str], dict[str, list[Any]]]:  # fmt: skip
    """Labels of both sides, each from one source, and the table's measurements."""
    from maxentry.cli import inputs

    nothing = inputs.Matrix([], [], inputs.Triples([], [], []))
    matrix = nothing if source is None else inputs.read_matrix(source, names)
    counted = ([], []) if shape is None else options.count_labels(_size(shape))
    measured = matrix.measured
    return (
        _choose_labels("row", rows, row or [], counted[0], matrix.row_labels),
        _choose_labels("col", cols, col or [], counted[1], matrix.col_labels),
        {"row": measured.rows, "col": measured.cols, "value": measured.values},
    )


def _choose_labels(
    side: str, file: str | None, listed: list[str], counted: list[str], in_table: list[str]
) -> list[str]:
    """The labels that were given in one way, else those of the table."""
    from maxentry.cli import inputs

    from_file = [] if file is None else inputs.read_labels(file)
    ways = [labels for labels in (from_file, listed, counted) if labels]
    if len(ways) > 1:
        raise typer.BadParameter(f"expected one of --{side}s, --{side} and --shape, got several.")
    if not ways and not in_table:
        raise typer.BadParameter(f"expected --from, --{side}s, --{side} or --shape, got none.")
    return ways[0] if ways else in_table


def _size(shape: str) -> tuple[int, int]:
    size = options.parse_shape(shape)
    if size is None:
        raise typer.BadParameter(f"expected a shape like 30x20, got {shape!r}.", param_hint="--shape")
    return size


Labels = Annotated[list[str], typer.Argument(help="The new labels.")]
Cost = Annotated[
    float | None, option("--cost", help="Their row or column cost; the mean of the others if not given.")
]


def add_rows(
    labels: Labels,
    cost: Cost = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Add rows to a campaign; they can be measured in every column."""
    with open_campaign(storage, name) as campaign:
        campaign.add_rows(labels, cost=cost, who=who)
        _report_size(campaign, as_json)


def add_cols(
    labels: Labels,
    cost: Cost = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Add columns to a campaign; they can be measured in every row."""
    with open_campaign(storage, name) as campaign:
        campaign.add_cols(labels, cost=cost, who=who)
        _report_size(campaign, as_json)


def _report_size(campaign: Campaign, as_json: bool) -> None:
    rows, cols = campaign.settings.shape
    if as_json:
        output.print_json({"campaign": campaign.name, "rows": rows, "cols": cols})
    else:
        output.say(f"{campaign.name}: now {rows} rows, {cols} columns.")


def change(
    acquisition: options.Chosen = None,
    rank: options.NewRank = None,
    noise: options.NewNoise = None,
    effects: options.NewEffects = None,
    value_range: options.Range = None,
    costs: options.CostFiles = None,
    mask: options.MaskFile = None,
    budget: options.Budget = None,
    target_sd: options.TargetSd = None,
    lease: options.Lease = None,
    again: options.Again = None,
    plates: options.WholePlates = None,
    per_row: options.PerRow = None,
    per_col: options.PerCol = None,
    drop: Annotated[
        list[str] | None, option("--drop", metavar="SETTING", help="Take a setting back: budget, mask, …")
    ] = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Change settings of a campaign, from here on."""
    with open_campaign(storage, name) as campaign:
        known = campaign.settings
        given = _read_settings(
            known.rows, known.cols, acquisition=acquisition, rank=rank, noise=noise, value_range=value_range,
            costs=costs, mask=mask, lease=lease, plates=plates, effects=effects, budget=budget, target_sd=target_sd,
            again=again, per_row=per_row, per_col=per_col,
        )  # fmt: skip
        given |= {setting.replace("-", "_"): None for setting in drop or []}
        if not given:
            raise typer.BadParameter("expected a setting to change, got none.")
        campaign.set(who=who, **given)
    if as_json:
        output.print_json({"campaign": campaign.name, "changed": sorted(given)})
    else:
        output.say(f"{campaign.name}: changed {', '.join(sorted(given))}.")


def _read_settings(
    rows: Any, cols: Any, *, acquisition: options.Acquisition | None, rank: str | None, noise: options.Noise | None,
    value_range: str | None, costs: list[str] | None, mask: str | None, lease: str | None,
    plates: options.Plates | None, **others: Any,
) -> dict[str, Any]:  # fmt: skip
    """The settings that were given, as `Campaign.create` and `Campaign.set` take them."""
    from maxentry.cli import inputs

    given = others | {
        "acquisition": acquisition and acquisition.value,
        "rank": None if rank is None else options.parse_rank(rank),
        "noise": noise and noise.value,
        "range": _parse_range(value_range),
        "lease": _parse_seconds(lease),
        "plates": plates and plates.value,
        "costs": inputs.read_costs(costs or [], rows, cols),
        "mask": None if mask is None else inputs.read_mask(mask, rows, cols),
    }
    return {name: value for name, value in given.items() if value is not None}


def _parse_range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, comma, high = text.partition(",")
    try:
        if comma:
            return float(low.strip() or "-inf"), float(high.strip() or "inf")
    except ValueError:
        pass
    raise typer.BadParameter(f"expected LOW,HIGH, got {text!r}.", param_hint="--range")


def _parse_seconds(text: str | None) -> float | None:
    """A time like 90m, 12h, 3d or 2w, in seconds."""
    if text is None:
        return None
    time = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([smhdw]?)\s*", text.lower())
    if time is None:
        raise typer.BadParameter(f"expected a time like 90m, 12h or 3d, got {text!r}.", param_hint="--lease")
    unit = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[time[2]]
    return float(time[1]) * unit


def add(app: typer.Typer) -> None:
    """Register these commands."""
    app.command(rich_help_panel="Campaigns", epilog="JSON: campaign, rows, cols, told, available, seed.")(new)
    for command in (add_rows, add_cols):
        app.command(
            rich_help_panel="Campaigns", epilog="JSON: campaign, rows, cols (how many there are now)."
        )(command)
    app.command("set", rich_help_panel="Campaigns", epilog="JSON: campaign, changed.")(change)
