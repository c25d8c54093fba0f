"""Beginning a campaign and coming back to one."""

from __future__ import annotations

import datetime as dt
import difflib
import getpass
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike

from maxentry.campaign import cells, report
from maxentry.campaign.events import Created, Event, Record
from maxentry.campaign.report import Line
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Key, Storage
from maxentry.errors import CampaignError, ParameterError

Where = str | PathLike[str] | Storage


@contextmanager
def opened(storage: Where, create: bool) -> Iterator[Storage]:
    """The storage; closed again if no campaign comes of it and it was opened for that."""
    kept = storage if isinstance(storage, Storage) else Storage(storage, create=create)
    try:
        yield kept
    except BaseException:
        if kept is not storage:
            kept.close()
        raise


def first_events(settings: Settings, told: Sequence[Line]) -> list[Event]:
    """With what a campaign begins: its settings, and what is known already, which is judged as if told."""
    created, at = Created(settings), dt.datetime.now(dt.UTC)
    news, _ = report.judged(told, replay([Record(1, at, None, created)]), False, at)
    return [created, *news]


def begun(
    storage: Storage,
    settings: Settings,
    first: Sequence[Event],
    at: dt.datetime,
    who: str | None,
    exist_ok: bool,
) -> tuple[Key, bool]:
    """A new campaign; or, if that is fine, the one of this name that is there and has the same labels.

    And whether it is new.
    """
    if exist_ok and settings.name not in storage.names():
        check_labels(settings)
    try:
        return storage.add(settings.name, first, at, who), True
    except CampaignError:
        if not exist_ok or settings.name not in storage.names():
            raise
    key = storage.find(settings.name)
    state = replay(storage.events(key))
    sides = ("row", state.row_labels, settings.rows), ("column", state.col_labels, settings.cols)
    for side, known, came in sides:
        if known[: len(came)] != came:  # more may have been added since
            raise CampaignError(
                f"expected the {side} labels of the campaign {key.name!r} that is there, but others came."
            )
    return key, False


def check_labels(settings: Settings) -> None:
    """Refuse labels that read alike; not asked of a campaign that is there, which may be older than this rule."""
    cells.check_apart(settings.rows, "row")
    cells.check_apart(settings.cols, "column")


def check_names(settings: Iterable[str]) -> None:
    """Refuse what is no setting, with a hint."""
    known = [field.name for field in fields(Settings)]
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ParameterError(f"expected settings of a campaign, but {name!r} came{hint}.")


def user(who: str | None) -> str | None:
    """Who does something: as given, or the name of the user on this machine if there is one."""
    if who is not None:
        return str(who).encode(errors="replace").decode()[:200]
    try:
        return getpass.getuser()[:200]
    except (OSError, KeyError, ImportError):  # no such name on this machine
        return None
