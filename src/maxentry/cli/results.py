"""`posterior` and `export`: what is believed, and what was told."""

from __future__ import annotations

from typing import Annotated

import typer

from maxentry.cli import options, output
from maxentry.cli.campaigns import check_nothing_lost, opened, plate_of, table_of
from maxentry.cli.maps import FACTS, LONG, hand_over
from maxentry.cli.options import option

PANEL = "Results"


def posterior(
    out: options.Output = None,
    wide: options.Wide = True,
    what: options.WhatOption = options.What.mean,
    level: options.Level = 0.9,
    save: options.Save = None,
    verbose: options.Verbose = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """The completed matrix, in your units, and how far each value can be trusted."""
    output.check_writable(out, form)
    output.check_writable(save)
    from maxentry.posterior.intervals import check_level

    check_level(level)
    with opened(storage, name) as campaign:
        found = campaign.posterior()
    hand_over(
        found,
        out,
        form,
        wide=wide,
        what=what.value,
        level=level,
        as_json=as_json,
        save=save,
        verbose=verbose,
        campaign=campaign.name,
    )


def export(
    out: options.Output = None,
    wide: Annotated[
        bool, typer.Option("--wide/--long", help="A matrix with holes, or one line a measurement.")
    ] = False,
    pending: Annotated[bool, option("--pending", help="The plate of all that is pending, instead.")] = False,
    asked: Annotated[
        bool,
        option("--asked", help="All that was ever asked and its fate, instead."),
    ] = False,
    everything: Annotated[bool, option("--all", help="Struck-out measurements too.")] = False,
    overwrite: Annotated[bool, option("--overwrite", help="Write the plate over any file.")] = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """What was told, as a table; or the plate of what is pending."""
    if wide + pending + asked > 1:
        raise typer.BadParameter("expected one of --wide, --pending and --asked, but several came.")
    output.check_writable(out, form)
    with opened(storage, name) as campaign:
        if pending and not overwrite:
            check_nothing_lost(out, campaign)
        if pending:
            table = plate_of(campaign.pending(frame="columns"))
        elif asked:
            table = table_of(campaign.asked(frame="columns"))
        else:
            table = table_of(
                campaign.export(wide=wide and not as_json, everything=everything, frame="columns")
            )
        document = {"campaign": campaign.name, "n": table.n}
        output.deliver(table, out, form, as_json=as_json, document=document, title=campaign.name)


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command(
        rich_help_panel=PANEL,
        epilog=f"JSON: campaign, {FACTS}, and entries ({LONG}) or, with -o, output.",
    )(posterior)
    app.command(
        rich_help_panel=PANEL,
        epilog="JSON: campaign, n, and entries (number, id, row, col, value, told_at, who, corrected; with --pending "
        "as of ask; with --asked id, row, col, mean, sd, gain, cost, status, asked_at, expires_at, who, reason) or, "
        "with -o, output.",
    )(export)
