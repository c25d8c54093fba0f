"""The lab loop: `ask` for entries, `tell` what was measured."""

from __future__ import annotations

import sys
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry.cli import hints, options, output
from maxentry.cli.campaigns import check_nothing_lost, opened, plate_of
from maxentry.cli.options import option

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.tables import Table

PANEL = "The lab loop"


def ask(
    n: Annotated[int, typer.Argument(min=1, help="How many entries (with --plates: rows or columns).")] = 1,
    out: options.Output = None,
    plates: options.WholePlates = None,
    per_row: options.PerRow = None,
    per_col: options.PerCol = None,
    overwrite: Annotated[
        bool, option("--overwrite", help="Write over any file, also one with values not yet told.")
    ] = False,
    who: options.Who = None,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Choose the next entries to measure; they are pending from then on.

    Writes a plate: id, row, col, mean, sd, gain, cost and an empty column value. Fill it in and tell it.
    """
    output.check_writable(out, form)
    with opened(storage, name) as campaign:
        if not overwrite:
            check_nothing_lost(out, campaign)
        columns = campaign.ask(
            n,
            plates=None if plates is None else plates.value,
            per_row=per_row,
            per_col=per_col,
            who=who,
            frame="columns",
        )
        table, document = plate_of(columns), {"campaign": campaign.name, "n": len(columns["id"])}
        where = hints.where(storage, campaign.name, several=name is not None)
        try:
            output.deliver(table, out, form, as_json=as_json, document=document, title=campaign.name)
        except BaseException:
            output.warn(
                f"These entries are pending now; `maxentry export --pending{where}` writes them again."
            )
            raise
        if not as_json:
            _say_next(table, out, where)
            _say_pending(table, campaign, where)
        if table.n < n and plates is None:
            output.warn(f"Only {table.n} of {n} could be asked: {_why_fewer(campaign)}.")


def _say_next(table: Table, out: str | None, where: str) -> None:
    """What to do with the plate: in the file, or on the terminal, where it can be seen but not filled in."""
    asked = output.count(table.n, "entry", "entries")
    if out not in (None, output.STD):
        told = f"maxentry tell {quote(out or '')}{where}"
        output.say(f"{asked} asked. Fill in the column value of {out}, then: {told}")
    elif out is None and sys.stdout.isatty():
        one = f"maxentry tell --id {table.columns[0][0]} --value VALUE{where}"
        output.say(
            f"{asked} asked. Then: {one}; or a plate: maxentry export --pending -o plate.csv{where}", "dim"
        )


def _say_pending(table: Table, campaign: Campaign, where: str) -> None:
    """Name what was asked for before and is still waited for: it is not on this plate."""
    now = set(table.columns[0])
    before = [id for id in campaign.pending(frame="columns")["id"] if id not in now]
    if before:
        ids = ", ".join(map(str, before[:10])) + (", …" if len(before) > 10 else "")
        noun = "Id" if len(before) == 1 else "Ids"
        output.say(f"{noun} {ids} pending from before; all of it: maxentry export --pending{where}", "dim")


def _why_fewer(campaign: Campaign) -> str:
    """Why there are fewer than were asked for."""
    status, least = campaign.status(), campaign.state.costs.least
    if status.available and status.budget is not None and status.budget - status.spent < least * (1 - 1e-12):
        return f"the budget of {status.budget:g} pays for no more (`maxentry set --budget` raises it)"
    return "no more are left" if not status.available else "no more are left within these limits"


def tell(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            show_default=False,
            help="CSV or Parquet: a plate with its values, a table row, col, value, or a matrix; - is stdin.",
        ),
    ] = None,
    id: Annotated[int | None, option("--id", help="One id that was asked …")] = None,
    row: Annotated[str | None, option("--row", help="… or one row …")] = None,
    col: Annotated[str | None, option("--col", help="… and column …")] = None,
    value: Annotated[str | None, option("--value", help="… and its value, or failed.")] = None,
    again: Annotated[
        bool,
        option("--again", help="Values of entries told before are further inputs."),
    ] = False,
    names: options.Names = None,
    who: options.Who = None,
    form: options.InputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Tell what was measured: a plate (empty values stay pending, `failed` is understood), or any inputs."""
    from maxentry.cli import inputs

    report = _one(id, row, col, value) if data is None else _report(inputs.read_table(data, form), names)
    if data is not None and (id, row, col, value) != (None,) * 4:
        raise typer.BadParameter("a file tells its own values: leave --id, --row, --col and --value out.")
    with opened(storage, name) as campaign:
        receipt = campaign.tell(report, again=again, who=who)
        document = {"campaign": campaign.name, **receipt._asdict()}
    if as_json:
        output.print_json(document)
        return
    said = [output.count(receipt.told, "value") + " told"]
    said += [f"{receipt.failed} failed"] if receipt.failed else []
    said += [f"{receipt.known} known already"] if receipt.known else []
    said += [f"{receipt.awaited} still empty"] if receipt.awaited else []
    output.say(", ".join(said) + ".")


def _one(id: int | None, row: str | None, col: str | None, value: str | None) -> dict[str, list[Any]]:
    """A single measurement, by id or by labels."""
    if value is None or (id is None) == (row is None and col is None) or (row is None) != (col is None):
        raise typer.BadParameter("expected a file, or --row, --col and --value, or --id and --value.")
    return {"id": [id], "row": [row], "col": [col], "value": [value]}


def _report(table: Table, names: str | None) -> Any:
    """A table as the campaign reads it: a plate or a long one as it stands, a wide one line by line."""
    from maxentry.cli import inputs

    plate = inputs.is_plate(table) or inputs.is_long(table)
    if names is None and plate:
        return table
    if names is None:
        inputs.refuse_half_plate(table)
    found = inputs.parse_measurements(table, names)
    return {"row": found.rows, "col": found.cols, "value": found.values}


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command(
        rich_help_panel=PANEL,
        epilog="JSON: campaign, n, and entries (id, row, col, mean, sd, gain, cost, value) or, with -o, output.",
    )(ask)
    app.command(rich_help_panel=PANEL, epilog="JSON: campaign, told, failed, known, awaited (how many).")(
        tell
    )
