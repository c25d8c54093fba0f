"""`list`, `status` and `history`: where campaigns stand and how they came there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry.cli import options, output
from maxentry.cli.ahead import ahead
from maxentry.cli.campaigns import opened, table_of
from maxentry.cli.options import option
from maxentry.tables import Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

PANEL = "Campaigns"


def list_campaigns(as_json: options.Json = False, storage: options.Storage = options.STORAGE) -> None:
    """Name the campaigns in a storage."""
    from maxentry.campaign.campaign import Campaign

    names = Campaign.list(storage)
    if as_json:
        output.print_json({"campaigns": names})
        return
    for name in names:
        print(name)


def status(
    n: Annotated[
        int, option("--next", min=1, help="The size of the next batch that is looked ahead to.")
    ] = 8,
    fast: Annotated[bool, option("--fast", help="Counts alone: no posterior, no look ahead.")] = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say where a campaign stands, how far its matrix is known, and whether going on is worth it."""
    with opened(storage, name) as campaign:
        found = campaign.status().to_dict() | {"outlook": None, "advice": "not looked at (--fast)"}
        if not fast:
            found |= ahead(campaign, n)
    if as_json:
        output.print_json(found)
        return
    from rich.panel import Panel

    panel = Panel(_facts(found), title=found["name"], title_align="left", expand=False)
    output.console(stderr=False).print(panel, soft_wrap=False)


def _facts(status: dict[str, Any]) -> RichTable:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column()
    for name, text in lines(status):
        grid.add_row(name, text)
    return grid


def lines(status: dict[str, Any]) -> list[tuple[str, str]]:
    """The status in words, line by line."""
    size = status["rows"] * status["cols"]
    again = status["measurements"] - status["told"]
    told = f"{output.count(status['told'], 'entry', 'entries')} ({100 * status['told'] / size:.3g}%)"
    lost = [f"{status[key]} {key}" for key in ("expired", "failed", "withdrawn") if status[key]]
    spent = f"{status['spent']:g}" + ("" if status["budget"] is None else f" of {status['budget']:g}")
    return [
        ("matrix", f"{status['rows']} rows, {status['cols']} columns"),
        ("told", told + (f", and {again} again" if again else "")),
        ("pending", ", ".join([str(status["pending"]), *lost])),
        ("left to ask", str(status["available"])),
        ("spent", spent),
        *_outlook(status["outlook"]),
        ("advice", status["advice"]),
        ("model", f"rank {status['rank']}, transform {status['transform']}, {status['acquisition']}"),
    ]


def _outlook(outlook: dict[str, float] | None) -> list[tuple[str, str]]:
    """The expected error now, once all that is pending is told, and after the next batch; what that gains."""
    if outlook is None:
        return []
    pending = [("… with pending", f"{outlook['error_with_pending']:.3g}")]
    batch = f"{output.count(int(outlook['entries']), 'entry', 'entries')} more, cost {outlook['cost']:.4g}"
    return [
        ("expected error", f"{outlook['error_now']:.3g} now (root mean square over the matrix, your units)"),
        *(pending if outlook["error_with_pending"] != outlook["error_now"] else []),
        ("… after next", f"{outlook['error_after']:.3g} ({batch})"),
        ("gain per cost", f"{outlook['gain_per_cost']:.3g} less expected error for a unit of cost"),
    ]


def history(
    last: Annotated[
        int | None,
        option("--last", "-n", min=1, help="Only the last so many events."),
    ] = None,
    out: options.Output = None,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Everything that has happened, one line an event."""
    output.check_writable(out, form)
    with opened(storage, name) as campaign:
        table = table_of(campaign.history(frame="columns"))
        if last is not None:
            table = Table(table.names, [column[-last:] for column in table.columns])
        document = {"campaign": campaign.name, "n": table.n}
        output.deliver(
            table, out, form, as_json=as_json, document=document, key="events", title=campaign.name
        )


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command("list", rich_help_panel=PANEL, epilog="JSON: campaigns (names).")(list_campaigns)
    app.command(
        rich_help_panel=PANEL,
        epilog="JSON: name, rows, cols, measurements, told, pending, expired, failed, withdrawn, available, spent, "
        "budget, target_sd, acquisition, rank, transform, events, created_at, changed_at, advice, and outlook (null or "
        "error_now, error_with_pending, error_after, entries, cost, gain_per_cost).",
    )(status)
    app.command(
        rich_help_panel=PANEL,
        epilog="JSON: campaign, n, and events (event, at, who, kind, what) or, with -o, output.",
    )(history)
