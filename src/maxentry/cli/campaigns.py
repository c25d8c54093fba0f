"""From the options of a command to an open campaign, and from its columns to tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxentry.cli.options import STORAGE
from maxentry.cli.tables import Table

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign


@contextmanager
def opened(storage: str, name: str | None) -> Iterator[Campaign]:
    """The campaign of this name, or the only one there is."""
    from maxentry.campaign.campaign import Campaign
    from maxentry.errors import StorageError

    try:
        campaign = Campaign.open(storage, name)
    except StorageError as error:
        if storage == STORAGE and "there is none" in str(error):
            raise StorageError(
                "expected a file of campaigns, maxentry.db, in this folder, but there is none: begin with "
                "`maxentry new`, or name another with --storage or MAXENTRY_STORAGE."
            ) from None
        raise
    with campaign:
        yield campaign


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
