"""`report`: a campaign as one page to look at and to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maxentry.cli import options, output
from maxentry.cli.campaigns import opened
from maxentry.cli.options import option

PANEL = "Results"
ENDINGS = (".html", ".htm")


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
        bool,
        option("--interactive", help="Figures to zoom into and to point at (a page of 5 MB more)."),
    ] = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Write one page that needs nothing else: what is known, what to measure next and why, how far to trust it."""
    if out != output.STD and not out.lower().endswith(ENDINGS):
        raise typer.BadParameter(
            f"expected a file that ends in .html, but {out!r} came.", param_hint="--output"
        )
    if out == output.STD and as_json:
        raise typer.BadParameter("expected a file with --json, but the page would go to stdout, too.")
    output.check_writable(out)
    with opened(storage, name) as campaign:
        from maxentry.plots.report import render_report

        page = render_report(campaign, n=n, points=points, interactive=interactive, unit=unit)
        if out == output.STD:
            print(page, end="")
            return
        Path(out).write_text(page, encoding="utf-8")
        size = Path(out).stat().st_size
        if as_json:
            output.print_json({"campaign": campaign.name, "output": out, "bytes": size})
        else:
            output.say(f"Wrote {out} ({size / 1e6:.2g} MB).", "dim")


def add(app: typer.Typer) -> None:
    """Give this command to the app."""
    app.command(rich_help_panel=PANEL, epilog="JSON: campaign, output, bytes.")(report)
