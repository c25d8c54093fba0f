"""`add-rows`, `add-cols` and `set`: a campaign is not what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maxentry.cli import options, output, settings
from maxentry.cli.campaigns import opened
from maxentry.cli.options import option

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign

PANEL = "Campaigns"

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
    with opened(storage, name) as campaign:
        campaign.add_rows(labels, cost=cost, who=who)
        _grown(campaign, as_json)


def add_cols(
    labels: Labels,
    cost: Cost = None,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Add columns to a campaign; they can be measured in every row."""
    with opened(storage, name) as campaign:
        campaign.add_cols(labels, cost=cost, who=who)
        _grown(campaign, as_json)


def _grown(campaign: Campaign, as_json: bool) -> None:
    rows, cols = campaign.settings.shape
    if as_json:
        output.print_json({"campaign": campaign.name, "rows": rows, "cols": cols})
    else:
        output.say(f"{campaign.name}: now {rows} rows, {cols} columns.")


def change(
    acquisition: settings.Chosen = None,
    rank: settings.NewRank = None,
    noise: settings.NewNoise = None,
    effects: settings.NewEffects = None,
    value_range: settings.Range = None,
    costs: settings.CostFiles = None,
    mask: settings.MaskFile = None,
    budget: settings.Budget = None,
    target_sd: settings.TargetSd = None,
    lease: settings.Lease = None,
    again: settings.Again = None,
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
    with opened(storage, name) as campaign:
        known = campaign.settings
        given = settings.read(
            known.rows, known.cols, acquisition=acquisition, rank=rank, noise=noise, value_range=value_range,
            costs=costs, mask=mask, lease=lease, plates=plates, effects=effects, budget=budget, target_sd=target_sd,
            again=again, per_row=per_row, per_col=per_col,
        )  # fmt: skip
        given |= {setting.replace("-", "_"): None for setting in drop or []}
        if not given:
            raise typer.BadParameter("expected a setting to change, but none came.")
        campaign.set(who=who, **given)
    if as_json:
        output.print_json({"campaign": campaign.name, "changed": sorted(given)})
    else:
        output.say(f"{campaign.name}: changed {', '.join(sorted(given))}.")


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    for command in (add_rows, add_cols):
        app.command(rich_help_panel=PANEL, epilog="JSON: campaign, rows, cols (how many there are now).")(
            command
        )
    app.command("set", rich_help_panel=PANEL, epilog="JSON: campaign, changed.")(change)
