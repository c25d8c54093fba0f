"""The lab loop: `ask` for entries, `tell` what was measured; `fail`, `withdraw` and `correct` what went wrong."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from enum import StrEnum
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry.cli import options, output
from maxentry.cli.options import open_campaign, option
from maxentry.tables import Table, round_numbers
from maxentry.wording import count, show

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.cells import Words


PANEL = "The lab loop"
commands = typer.Typer()


class About(StrEnum):
    """What entries of one row are to tell about."""

    row = "row"
    average = "average"


@commands.command(
    rich_help_panel=PANEL,
    epilog="JSON: campaign, n, and entries (id, row, col, mean, sd, gain, cost, value; with --plate well) or, with -o, "
    "output.",
)
@options.add_settings(("plates", "per_row", "per_col"))
def ask(
    n: Annotated[int, typer.Argument(min=1, help="How many entries (with --plates: rows or columns).")] = 1,
    out: options.Output = None,
    plate: Annotated[
        str | None,
        option(
            "--plate",
            metavar="8x12",
            help="A plate: the best block of 8 rows by 12 columns, wells A1 to H12.",
        ),
    ] = None,
    row: Annotated[
        str | None, option("--row", help="Only entries of this row: those that tell most about it.")
    ] = None,
    about: Annotated[
        About, option("--about", help="With --row: about all of its entries (row), or their average.")
    ] = About.row,
    *,
    force: options.Force = False,
    who: options.Who = None,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
    **limits: Any,
) -> None:
    """Choose the next entries to measure; they are pending from then on.

    Writes a plate: id, row, col, mean, sd, gain, cost and an empty column value. Fill it in and tell it.
    """
    output.check_writable(out, form, force=force)
    given, wells = options.parse_settings(limits), 0
    if row is not None and (given or plate):
        raise typer.BadParameter("expected --row or other limits of the batch, got both.")
    if row is None and about is not About.row:
        raise typer.BadParameter("expected --row with --about average, got none.")
    if plate is not None:
        if given:
            raise typer.BadParameter("expected --plate or other limits of the batch, got both.")
        given = {"plates": plate}
        block = options.parse_shape(plate)
        if block is None:
            raise typer.BadParameter(
                f"expected a plate like 8x12 or 16x24, got {plate!r}.", param_hint="--plate"
            )
        wells = block[0] * block[1]
    with open_campaign(storage, name) as campaign:
        asked = campaign.ask(n, row=row, about=about.value, who=who, frame="columns", **given)
        table = plate_table(asked, for_program=as_json)
        document = {"campaign": campaign.name, "n": table.n}
        where = output.next_options(storage, campaign.name, several=name is not None)
        try:
            output.deliver(
                table, out, form, force=force, as_json=as_json, document=document, title=campaign.name
            )
        except BaseException:
            output.warn(
                f"These entries are pending now; `maxentry export --pending{where}` writes them again."
            )
            raise
        if not as_json:
            _say_next(table, out, where)
            _say_pending(table, campaign, where)
            _say_idle(asked["gain"], campaign, where)
            if (empty := wells - table.n) > 0:
                why = "their entries are measured, pending or not to be asked for, or rows or columns are too few"
                output.warn(
                    f"{empty} of {count(wells, 'well')} {'stays' if empty == 1 else 'stay'} empty: {why}."
                )
        if table.n < n and limits["plates"] is None:
            of_row = "" if row is None else f" of row {row}"
            output.warn(f"Only {table.n} of {n}{of_row} could be asked: {_why_fewer(campaign, given)}.")


def _say_next(table: Table, out: str | None, where: str) -> None:
    """Say what to do with the plate: in the file, or on the terminal, where it cannot be filled in."""
    if out == output.STD or (out is None and not sys.stdout.isatty()):
        return
    asked = count(table.n, "entry", "entries")
    if out is not None:
        told = f"maxentry tell {quote(out)}{where}"
        output.say(f"{asked} asked. Fill in the column value of {out}, then: {told}")
    else:
        one = f"maxentry tell --id {table.columns[0][0]} --value VALUE{where}"
        output.say(
            f"{asked} asked. Then: {one}; or a plate: maxentry export --pending -o plate.csv{where}", "dim"
        )


def _say_pending(table: Table, campaign: Campaign, where: str) -> None:
    """Name the ids that are pending from before; they are not on this plate."""
    now = set(table.columns[0])
    before = [id for id in campaign.pending(frame="columns")["id"] if id not in now]
    if before:
        ids = ", ".join(map(str, before[:10])) + (", …" if len(before) > 10 else "")
        noun = "Id" if len(before) == 1 else "Ids"
        output.say(f"{noun} {ids} pending from before; all of it: maxentry export --pending{where}", "dim")


def _say_idle(gain: list[Any], campaign: Campaign, where: str) -> None:
    """Say where entries promise nothing for the goal, so that nobody measures them for it without knowing."""
    if (idle := gain.count(0.0)) and campaign.settings.goal != "fill":
        these = "These" if idle == len(gain) else f"{idle} of these {len(gain)}"
        output.warn(
            f"{these} promise nothing more for the goal '{campaign.settings.goal}' (gain 0) and are what is known "
            f"least. What is at stake: maxentry status{where}"
        )


def _why_fewer(campaign: Campaign, limits: Mapping[str, Any]) -> str:
    """Say why there are fewer entries than requested."""
    import numpy as np

    status, state = campaign.status(), campaign.state
    least, most = state.costs.extremes(*map(np.arange, state.shape))
    left = np.inf if status.budget is None else status.budget - status.spent
    if status.available and left < least * (1 - 1e-12):
        return f"the budget of {status.budget:g} pays for no more (`maxentry set --budget` raises it)"
    settings = campaign.settings
    limited = any(x is not None for x in (*limits.values(), settings.per_row, settings.per_col))
    if status.available and left < most and not limited:
        return (
            f"{left:g} of the budget of {status.budget:g} is left, too little for the next entry; ask again"
        )
    return "no more are left" if not status.available else "no more are left within these limits"


def plate_table(columns: Mapping[str, list[Any]], *, for_program: bool = False) -> Table:
    """A plate to fill in: what to measure, what is predicted, and an empty value; costs in full for a program."""
    from maxentry.campaign.views import ASK_COLUMNS

    rounded = {name: round_numbers(columns[name], 4) for name in ("mean", "sd", "gain")}
    if not for_program:
        rounded["cost"] = round_numbers(columns["cost"])
    names = [name for name in ("id", "well", *ASK_COLUMNS[1:]) if name in columns]
    table = Table.from_columns({**columns, **rounded}, *names)
    return Table([*table.names, "value"], [*table.columns, [None] * table.n])


@commands.command(rich_help_panel=PANEL, epilog="JSON: campaign, told, failed, known, awaited (how many).")
def tell(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            show_default=False,
            help="CSV, Excel or Parquet: a plate with its values, a table row, col, value, or a matrix; - is stdin.",
        ),
    ] = None,
    id: Annotated[int | None, option("--id", help="One id that was asked …")] = None,
    row: Annotated[str | None, option("--row", help="… or one row …")] = None,
    col: Annotated[str | None, option("--col", help="… and column …")] = None,
    value: Annotated[
        str | None, option("--value", help="… and its value, a limit like '<0.5', or failed.")
    ] = None,
    se: Annotated[
        str | None,
        option("--se", help="The standard error of the value; with a file, the name of its column."),
    ] = None,
    again: Annotated[
        bool, option("--again", help="Values of entries told before are further inputs.")
    ] = False,
    names: options.Names = None,
    sheet: options.Sheet = None,
    who: options.Who = None,
    form: options.InputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Tell what was measured: a plate (empty values stay pending, `failed` is understood), or any inputs."""
    from maxentry.campaign.lines import find_nouns, known_of, name_roles
    from maxentry.cells import with_points
    from maxentry.cli import matrices
    from maxentry.tables.layout import find_long

    single = (id, row, col, value) != (None,) * 4
    if data is not None and single:
        raise typer.BadParameter("a file tells its own values: leave --id, --row, --col and --value out.")
    report: Any = (
        _make_report(id, row, col, value)
        if data is None
        else matrices.read_table(data, form, sheet, sheets=True)
    )
    with open_campaign(storage, name) as campaign, output.show_warnings():
        if data is None:
            report |= {} if se is None else {"se": [se]}
            if campaign.settings.words is None:
                report["value"] = [with_points(value or "", "--value", "unambiguous")]
        else:
            known = known_of(campaign.state)
            plain = find_long(report.names, report.columns)  # those are read as other files are
            if not names and (find_nouns(report, known, se) or not plain):
                report = name_roles(report, known, se)
            report = _parse_report(report, names, se, campaign.settings.words)
        column = se if isinstance(report, Table) else None
        receipt = campaign.tell(report, se=column, again=again, who=who)
    parts = [count(receipt.told, "value") + " told"]
    parts += [f"{receipt.failed} failed"] if receipt.failed else []
    parts += [f"{receipt.known} known already"] if receipt.known else []
    parts += [f"{receipt.awaited} still empty"] if receipt.awaited else []
    output.report({"campaign": campaign.name, **receipt._asdict()}, ", ".join(parts) + ".", as_json)


def _make_report(id: int | None, row: str | None, col: str | None, value: str | None) -> dict[str, list[Any]]:
    """A single measurement, by id or by labels."""
    if value is None or (id is None) == (row is None and col is None) or (row is None) != (col is None):
        raise typer.BadParameter("expected a file, or --row, --col and --value, or --id and --value.")
    return {"id": [id], "row": [row], "col": [col], "value": [value]}


def _parse_report(table: Table, names: str | None, se: str | None, words: Words | None) -> Any:
    """What `Campaign.tell` takes: a table that names ids or entries as it stands, a wide one as triples."""
    from maxentry.cli import matrices

    by_id, by_row, by_col = (table.role(name) is not None for name in ("id", "row", "col"))
    if names is None and (by_id or (by_row and by_col)):
        return table
    return matrices.parse_matrix(table, names, se, words).columns()


Ids = Annotated[list[int] | None, typer.Argument(metavar="ID…", help="Ids of the plate.", show_default=False)]
ReasonOption = Annotated[str, option("--reason", help="Why, for the history.")]


@commands.command(rich_help_panel=PANEL, epilog="JSON: campaign, failed (ids).")
def fail(
    ids: Ids = None,
    row: Annotated[str | None, option("--row", help="Of this row …")] = None,
    col: Annotated[str | None, option("--col", help="… and column, asked for or not.")] = None,
    reason: ReasonOption = "",
    retry: Annotated[bool, option("--retry", help="It may be asked for again.")] = False,
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say that measuring was tried and gave no value; it is not asked for again unless --retry."""
    if (row is None) != (col is None) or bool(ids) == (row is not None):
        raise typer.BadParameter("expected ids, or --row and --col.")
    with open_campaign(storage, name) as campaign:
        if not ids:
            row, col = _find_labels(campaign, row, col)
            if not _is_pending(campaign, row, col):
                _refuse_measured(campaign, row, col)
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # said above
                campaign.tell({"row": [row], "col": [col], "failed": [True], "reason": [reason]}, who=who)
            ids = [_find_failed(campaign, row, col)]
        campaign.fail(ids, reason, retry=retry, who=who)
        they = "it" if len({*ids}) == 1 else "they"
        then = f"{they} may be asked for again" if retry else f"{they} will not be asked for again (--retry)"
        _report_ids(campaign.name, "failed", ids, as_json, f"; {then}")


def _find_labels(campaign: Campaign, row: str | None, col: str | None) -> tuple[Any, Any]:
    """The labels that an entry has now; say so where it is named by former ones."""
    from maxentry.campaign.lines import Line, use_new_labels

    (line,), notes = use_new_labels([Line(None, row, col, None)], campaign.state)
    for note in notes:
        output.warn(note)
    return line.row, line.col


def _is_pending(campaign: Campaign, row: str | None, col: str | None) -> bool:
    """Whether an entry is asked for, also one that has a value already."""
    from maxentry.labels import label_text

    waiting = campaign.pending(frame="columns")
    entries = zip(map(label_text, waiting["row"]), map(label_text, waiting["col"]), strict=True)
    return (label_text(row), label_text(col)) in {*entries}


def _refuse_measured(campaign: Campaign, row: str | None, col: str | None) -> None:
    """Refuse an entry that has a value: a failure of it from before would be taken for this one."""
    from maxentry.errors import CampaignError
    from maxentry.labels import label_text

    told = campaign.export(frame="columns")
    entries = zip(map(label_text, told["row"]), map(label_text, told["col"]), strict=True)
    if (label_text(row), label_text(col)) in {*entries}:
        got = f"row {show(row)}, column {show(col)}, which has one"
        hint = "maxentry correct takes a value back."
        raise CampaignError(f"expected an entry without a value, got {got}.", hint=hint)


def _find_failed(campaign: Campaign, row: str | None, col: str | None) -> int:
    """The id of the last failure of an entry."""
    from maxentry.labels import label_text

    asked = campaign.asked(frame="columns")
    lines = zip(*(asked[name] for name in ("id", "row", "col", "status")), strict=True)
    wanted = (label_text(row), label_text(col), "failed")
    return max(int(id) for id, i, j, status in lines if (label_text(i), label_text(j), status) == wanted)


@commands.command(rich_help_panel=PANEL, epilog="JSON: campaign, withdrawn (ids).")
def withdraw(
    ids: Ids = None,
    everything: Annotated[bool, option("--all", help="All that is pending.")] = False,
    reason: ReasonOption = "",
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Say that entries will not be measured now: they go back and may be asked for again."""
    if bool(ids) == everything:
        raise typer.BadParameter("expected ids, or --all, and not both.")
    with open_campaign(storage, name) as campaign:
        wanted = [int(id) for id in campaign.pending(frame="columns")["id"]] if everything else ids or []
        if wanted:
            campaign.withdraw(wanted, reason, who=who)
        _report_ids(campaign.name, "withdrawn", wanted, as_json)


@commands.command(
    rich_help_panel=PANEL,
    epilog="A negative value: maxentry correct 3 --value -1.5. JSON: campaign, value (null: struck out).",
)
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
    se: Annotated[float | None, option("--se", help="Its standard error; as it was if not given.")] = None,
    reason: ReasonOption = "",
    who: options.Who = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Put right a value that was told wrongly; the history keeps the old one."""
    from maxentry.cells import is_empty, parse_measurement

    given = list(words or [])
    if (id, row, col, number) == (None,) * 4 and given:
        id = _parse_id(given.pop(0))
    value = given.pop(0) if value is None and given else value
    how = "expected ID VALUE (or ID --strike), like: maxentry correct 3 7.5"
    if given or (value is None and not strike) or (strike and value is not None and not is_empty(value)):
        raise typer.BadParameter(how)
    if sum((id is not None, number is not None, row is not None or col is not None)) != 1 or (
        (row is None) != (col is None)
    ):
        raise typer.BadParameter("expected an id, or --row and --col, or --number.")
    if strike and se is not None:
        raise typer.BadParameter("expected --strike or --se, got both.")
    with open_campaign(storage, name) as campaign:
        names = campaign.settings.words
        new = None if strike else parse_measurement(value, "the correction", "unambiguous", names)
        if new is None and not strike:
            raise typer.BadParameter(how)
        to = None if new is None else new.low if new.is_value else str(new)
        before = campaign.state.version
        campaign.correct(id, to, row=row, col=col, number=number, se=se, reason=reason, who=who)
        history = campaign.history(frame="columns")
    news = zip(*(history[name][before:] for name in ("kind", "what")), strict=True)
    what = next((what for kind, what in news if kind == "corrected"), None)
    text = "Nothing changed: that is what it says." if what is None else f"Corrected: {what}."
    output.report({"campaign": campaign.name, "value": to}, text, as_json)


def _parse_id(word: str) -> int:
    if not word.strip().isdecimal():
        raise typer.BadParameter(f"expected an id (a whole number) before the value, got {word!r}.")
    return int(word)


def _report_ids(campaign: str, what: str, ids: list[int], as_json: bool, then: str = "") -> None:
    document = {"campaign": campaign, what: ids}
    output.report(document, f"{count(len(ids), 'entry', 'entries')} {what}{then}.", as_json)
