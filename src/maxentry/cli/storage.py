"""Whole storages: `check` verifies one, `backup` writes it to a file, `copy` moves its campaigns to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry.cli import options, output
from maxentry.cli.output import ExitCode
from maxentry.wording import count

if TYPE_CHECKING:
    from maxentry.campaign.backup import Report

PANEL = "Storage"
KEYS = "storage, intact, problem (null or text), and campaigns (campaign, events, problem)"
commands = typer.Typer()


@commands.command(rich_help_panel=PANEL, epilog=f"JSON: {KEYS}. The exit code is 1 if anything is damaged.")
def check(as_json: options.Json = False, storage: options.Storage = options.STORAGE) -> None:
    """Verify every event of every campaign in a storage, and a SQLite file as such; one line a campaign."""
    from maxentry.campaign.backup import check_storage
    from maxentry.campaign.storage import Storage

    with Storage(storage) as opened:
        _print_report(check_storage(opened), {"storage": opened.name}, as_json)


@commands.command(rich_help_panel=PANEL, epilog=f"JSON: output, {KEYS}.")
def backup(
    file: Annotated[str, typer.Argument(help="The file to write.", metavar="FILE")],
    force: options.Force = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Write a SQLite storage to a file while others may use it; a copy of lab.db alone may lack the latest.

    What was written is verified. To restore it, stop all that uses the storage and put the file in its place. Of
    PostgreSQL it says how a backup is made.
    """
    from maxentry.campaign.backup import back_up
    from maxentry.campaign.storage import Storage

    with Storage(storage) as opened:
        report = back_up(opened, file, replace=force)
        _print_report(report, {"output": file, "storage": opened.name}, as_json)
    if not as_json:
        output.say(f"Wrote {file}.", "dim")


@commands.command(rich_help_panel=PANEL, epilog=f"JSON: {KEYS}, of the storage that was copied to.")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The storage to copy: a file or a URL.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Where to: a file or a URL, new or not.")],
    as_json: options.Json = False,
) -> None:
    """Copy all campaigns with their whole history to another storage, as from SQLite to PostgreSQL.

    All are copied or none. A campaign whose name the other storage has is refused.
    """
    from maxentry.campaign.address import is_in_memory, parse_address
    from maxentry.campaign.backup import check_storage, copy_campaigns
    from maxentry.campaign.storage import Storage
    from maxentry.errors import StorageError
    from maxentry.server.idempotency import copy_claims

    with Storage(source) as old:
        problems = check_storage(old).problems
        if problems:
            raise StorageError(f"not copied, since the storage is damaged: {problems[0]}")
        if is_in_memory(parse_address(target)):
            raise StorageError("expected a storage that lasts, got one in memory.")
        with Storage(target, create=True) as new:
            copy_campaigns(old, new, copy_claims)
            _print_report(check_storage(new), {"storage": new.name}, as_json)


def _print_report(report: Report, about: dict[str, Any], as_json: bool) -> None:
    """Print a line a campaign, and end with exit code 1 if anything is damaged."""
    intact = not report.problems
    if as_json:
        campaigns = [finding._asdict() for finding in report.campaigns]
        output.print_json(about | {"intact": intact, "problem": report.problem, "campaigns": campaigns})
    else:
        for finding in report.campaigns:
            state = "intact." if finding.problem is None else f"DAMAGED: {finding.problem}"
            print(f"{finding.campaign}: {count(finding.events, 'event')}, {state}")
        if report.problem is not None:
            output.warn(report.problem)
    if not intact:
        raise typer.Exit(ExitCode.REFUSED)
