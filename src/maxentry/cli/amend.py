"""`fail`, `withdraw` and `correct`: what went otherwise than planned."""

from __future__ import annotations

from typing import Annotated

import typer

from maxentry.cli import options, output
from maxentry.cli.campaigns import opened
from maxentry.cli.options import option

PANEL = "The lab loop"

Ids = Annotated[list[int] | None, typer.Argument(metavar="ID…", help="Ids of the plate.", show_default=False)]
Reason = Annotated[str, option("--reason", help="Why, for the history.")]


def fail(
    ids: Ids = None,
    reason: Reason = "",
    retry: Annotated[bool, option("--retry", help="It may be asked for again.")] = False,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say that measuring was tried and gave no value; it is not asked for again unless --retry."""
    if not ids:
        raise typer.BadParameter("expected at least one id, but none came.")
    with opened(storage, name) as campaign:
        campaign.fail(ids, reason, retry=retry, who=who)
        _done(campaign.name, "failed", ids, as_json)


def withdraw(
    ids: Ids = None,
    everything: Annotated[bool, option("--all", help="All that is pending.")] = False,
    reason: Reason = "",
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say that entries will not be measured now: they go back and may be asked for again."""
    if bool(ids) == everything:
        raise typer.BadParameter("expected ids, or --all, and not both.")
    with opened(storage, name) as campaign:
        wanted = (
            [int(id) for id in campaign.pending(frame="columns")["id"]] if everything else list(ids or [])
        )
        if wanted:
            campaign.withdraw(wanted, reason, who=who)
        _done(campaign.name, "withdrawn", wanted, as_json)


def correct(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID] [VALUE]",
            help="The id and the value as it should have been; with --row, --col, --number or --id the value alone.",
            show_default=False,
        ),
    ] = None,
    id: Annotated[int | None, option("--id", help="Of this id …")] = None,
    row: Annotated[str | None, option("--row", help="… or of this row …")] = None,
    col: Annotated[str | None, option("--col", help="… and column …")] = None,
    number: Annotated[int | None, option("--number", help="… or of this number in `export`.")] = None,
    value: Annotated[str | None, option("--value", help="The value, as an option (for -1.5, say).")] = None,
    strike: Annotated[bool, option("--strike", help="No value at all: strike it out.")] = False,
    reason: Reason = "",
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Put right a value that was told wrongly; the history keeps the old one."""
    from maxentry.cells import parse_number

    given = list(words or [])
    if (id, row, col, number) == (None,) * 4 and given:
        id = _id(given.pop(0))
    value = given.pop(0) if value is None and given else value
    new = None if value is None else parse_number(value, "the correction")
    if given or (new is None) != strike:
        raise typer.BadParameter("expected ID VALUE (or ID --strike), like: maxentry correct 3 7.5")
    if sum((id is not None, number is not None, row is not None or col is not None)) != 1 or (
        (row is None) != (col is None)
    ):
        raise typer.BadParameter("expected an id, or --row and --col, or --number.")
    with opened(storage, name) as campaign:
        campaign.correct(id, new, row=row, col=col, number=number, reason=reason, who=who)
        document = {"campaign": campaign.name, "value": new}
    if as_json:
        output.print_json(document)
    else:
        output.say("Struck out." if strike else f"Corrected: now {new:g}.")


def _id(word: str) -> int:
    if not word.strip().isdecimal():
        raise typer.BadParameter(f"expected an id (a whole number) before the value, but {word!r} came.")
    return int(word)


def _done(campaign: str, what: str, ids: list[int], as_json: bool) -> None:
    if as_json:
        output.print_json({"campaign": campaign, what: ids})
    else:
        output.say(f"{output.count(len(ids), 'entry', 'entries')} {what}.")


def add(app: typer.Typer) -> None:
    """Give these commands to the app."""
    app.command(rich_help_panel=PANEL, epilog="JSON: campaign, failed (ids).")(fail)
    app.command(rich_help_panel=PANEL, epilog="JSON: campaign, withdrawn (ids).")(withdraw)
    app.command(
        rich_help_panel=PANEL,
        epilog="A negative value: maxentry correct 3 --value -1.5. JSON: campaign, value (null: struck out).",
    )(correct)
