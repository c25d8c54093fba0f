"""From the options of a command to an open campaign, and from its columns to tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxentry import tables
from maxentry.cli.options import STORAGE
from maxentry.errors import CampaignError, ParameterError, StorageError
from maxentry.tables import Table

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign


@contextmanager
def opened(storage: str, name: str | None) -> Iterator[Campaign]:
    """The campaign of this name, or the only one there is."""
    from maxentry.campaign.campaign import Campaign

    try:
        campaign = Campaign.open(storage, name)
    except StorageError as error:
        if storage == STORAGE and "there is none" in str(error):
            raise StorageError(
                "expected a file of campaigns, maxentry.db, in this folder, but there is none: begin with "
                "`maxentry new`, or name another with --storage or MAXENTRY_STORAGE."
            ) from None
        raise
    except CampaignError as error:
        raise CampaignError(_named(str(error))) from None
    with campaign:
        yield campaign


def _named(text: str) -> str:
    """The refusal of a campaign, with how to name or begin one."""
    if "the name of one campaign" in text:
        return f"{text.removesuffix('.')}: name one by --campaign (-c) or MAXENTRY_CAMPAIGN."
    return text.replace("there is none yet.", "there is none yet: begin one with `maxentry new`.")


def table_of(columns: Mapping[str, list[Any]], *names: str) -> Table:
    """The campaign's columns as a table: all, or those named."""
    wanted = names or tuple(columns)
    return Table(list(wanted), [columns[name] for name in wanted])


def plate_of(columns: Mapping[str, list[Any]]) -> Table:
    """A plate to be filled in: what to measure, what is believed of it, and an empty value."""
    names = ("id", "row", "col", "mean", "sd", "gain", "cost")
    rounded = {name: [_four_figures(x) for x in columns[name]] for name in ("mean", "sd", "gain")}
    table = table_of({**columns, **rounded}, *names)
    return Table([*table.names, "value"], [*table.columns, [None] * table.n])


def _four_figures(x: float | None) -> float | None:
    # What is believed beforehand is for the eye; nobody reads it back.
    return None if x is None or x != x else float(f"{x:.4g}")


def check_nothing_lost(output: str | None, campaign: Campaign) -> None:
    """Refuse to write over a file, unless it is a plate of this campaign with no value that was not told."""
    if output is None or not Path(output).is_file():
        return
    from maxentry.errors import MaxentryError

    try:
        lost = _untold(tables.read(output), campaign)
    except MaxentryError:
        lost = "it is not a plate of this campaign"
    if lost:
        raise ParameterError(f"{output} exists, and {lost}. Name another file, or add --overwrite.")


def _untold(table: Table, campaign: Campaign) -> str:
    """What a plate holds that the campaign does not know; nothing if all of it was told."""
    from maxentry.cells import is_empty, is_failure, parse_id, parse_number

    ids, values = table.role("id"), table.role("value")
    if ids is None or values is None:
        return "it is not a plate"
    told = campaign.export(everything=True, frame="columns")
    known = {(id, value) for id, value in zip(told["id"], told["value"], strict=True) if id is not None}
    asked = campaign.asked(frame="columns")
    failed = {id for id, status in zip(asked["id"], asked["status"], strict=True) if status == "failed"}
    for k, (cell, value) in enumerate(zip(ids, values, strict=True)):
        if is_empty(value):
            continue
        id = parse_id(cell, table.where(k))
        if is_failure(value) and id in failed:
            continue
        if is_failure(value) or (id, parse_number(value, "", table.decimal_comma)) not in known:
            return f"line {table.lines[k] if table.lines else k + 1} has a value that was not told yet"
    return ""
