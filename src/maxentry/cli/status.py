"""`list`, `status`, `history` and `report`: where campaigns stand and how they got there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxentry.cli import options, output
from maxentry.cli.options import open_campaign, option
from maxentry.tables import Table
from maxentry.wording import count

commands = typer.Typer()


@commands.command("list", rich_help_panel="Campaigns", epilog="JSON: campaigns (names).")
def list_campaigns(as_json: options.Json = False, storage: options.Storage = options.STORAGE) -> None:
    """Name the campaigns in a storage."""
    from maxentry.campaign.campaign import Campaign

    names = Campaign.list(storage)
    if as_json:
        output.print_json({"campaigns": names})
        return
    for name in names:
        print(name)


@commands.command(
    rich_help_panel="Campaigns",
    epilog="JSON: name, rows, cols, measurements, told, pending, expired, failed, withdrawn, available, spent, "
    "budget, target_sd, acquisition, rank, transform, events, created_at, changed_at, advice, and outlook (null or "
    "error_now, error_with_pending, error_after, entries, cost, gain_per_cost).",
)
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
    with open_campaign(storage, name) as campaign:
        facts = campaign.status().to_dict() | {"outlook": None, "advice": "not looked at (--fast)"}
        if not fast:
            facts |= campaign.outlook(n).to_dict()
    if as_json:
        output.print_json(facts)
        return
    from rich.panel import Panel
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim")
    for line in describe_status(facts):
        grid.add_row(*line)
    panel = Panel(grid, title=facts["name"], title_align="left", expand=False)
    output.console(stderr=False).print(panel, soft_wrap=False)


def describe_status(status: dict[str, Any]) -> list[tuple[str, str]]:
    """The status in words: pairs of a name and a text."""
    size = status["rows"] * status["cols"]
    again = status["measurements"] - status["told"]
    told = f"{count(status['told'], 'entry', 'entries')} ({100 * status['told'] / size:.3g}%)"
    lost = [f"{status[key]} {key}" for key in ("expired", "failed", "withdrawn") if status[key]]
    spent = f"{status['spent']:g}" + ("" if status["budget"] is None else f" of {status['budget']:g}")
    return [
        ("matrix", f"{status['rows']} rows, {status['cols']} columns"),
        ("told", told + (f", and {again} again" if again else "")),
        ("pending", ", ".join([str(status["pending"]), *lost])),
        ("left to ask", str(status["available"])),
        ("spent", spent),
        *_describe_outlook(status["outlook"]),
        ("advice", status["advice"]),
        ("model", f"rank {status['rank']}, transform {status['transform']}, {status['acquisition']}"),
    ]


def _describe_outlook(outlook: dict[str, float] | None) -> list[tuple[str, str]]:
    """The expected error now, once all that is pending is told, and after the next batch; what that gains."""
    if outlook is None:
        return []
    pending = [("… with pending", f"{outlook['error_with_pending']:.3g}")]
    batch = f"{count(int(outlook['entries']), 'entry', 'entries')} more, cost {outlook['cost']:.4g}"
    return [
        ("expected error", f"{outlook['error_now']:.3g} now (root mean square over the matrix, your units)"),
        *(pending if outlook["error_with_pending"] != outlook["error_now"] else []),
        ("… after next", f"{outlook['error_after']:.3g} ({batch})"),
        ("gain per cost", f"{outlook['gain_per_cost']:.3g} less expected error for a unit of cost"),
    ]


@commands.command(
    rich_help_panel="Campaigns",
    epilog="JSON: campaign, n, and events (event, at, who, kind, what) or, with -o, output.",
)
def history(
    last: Annotated[int | None, option("--last", "-n", min=1, help="Only the last so many events.")] = None,
    out: options.Output = None,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Everything that has happened, one line an event."""
    output.check_writable(out, form)
    with open_campaign(storage, name) as campaign:
        table = Table.from_columns(campaign.history(frame="columns"))
        if last is not None:
            table = Table(table.names, [column[-last:] for column in table.columns])
        document = {"campaign": campaign.name, "n": table.n}
        output.deliver(
            table, out, form, as_json=as_json, document=document, key="events", title=campaign.name
        )


ENDINGS = (".html", ".htm")


@commands.command(rich_help_panel="Results", epilog="JSON: campaign, output, bytes.")
def report(
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE.html", help="The page to write; - is stdout.")
    ] = "report.html",
    n: Annotated[int, typer.Option("--next", min=1, help="The size of the next batch that is shown.")] = 8,
    points: Annotated[
        int,
        typer.Option(
            "--points", min=0, help="Moments at which the expected error is computed: a fit each, once."
        ),
    ] = 8,
    unit: Annotated[str, option("--unit", help="What values are measured in, like '% yield'.")] = "",
    interactive: Annotated[
        bool, option("--interactive", help="Figures to zoom into and to point at (a page of 5 MB more).")
    ] = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Write one page that needs nothing else: what is known, what to measure next and why, how far to trust it."""
    if out != output.STD and not out.lower().endswith(ENDINGS):
        raise typer.BadParameter(f"expected a file that ends in .html, got {out!r}.", param_hint="--output")
    if out == output.STD and as_json:
        raise typer.BadParameter("--json and the page cannot both go to stdout. Name a file with -o.")
    output.check_writable(out)
    with open_campaign(storage, name) as campaign:
        from maxentry.plots.report import render_report

        page = render_report(campaign, n=n, points=points, interactive=interactive, unit=unit)
        if out == output.STD:
            print(page, end="")
            return
        Path(out).write_text(page, encoding="utf-8")
        size = Path(out).stat().st_size
        document = {"campaign": campaign.name, "output": out, "bytes": size}
        output.report(document, f"Wrote {out} ({size / 1e6:.2g} MB).", as_json)
