"""The data sets of the studies: which there are, and whether they are here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxentry import tables
from maxentry.cli import output
from maxentry.errors import DataError, MaxentryError

if TYPE_CHECKING:
    from maxentry.studies.datasets import Info


def data(name: str | None, get: bool, as_json: bool) -> None:
    """The catalogue, or one set of it."""
    from maxentry.studies import datasets

    sets = datasets.catalogue() if name is None else (datasets.info(name),)
    if get:
        _fetch(sets)
    lines = [_facts(about) for about in sets]
    if as_json:
        output.print_json({"sets": lines})
    elif name is None:
        shown = [{**line, "here": "no" if line["here"] is None else "yes"} for line in lines]
        table = tables.Table(list(SHOWN), [[line[n] for line in shown] for n in SHOWN])
        output.deliver(table, None, None, as_json=False, document={})
        missing = sum(line["here"] is None for line in lines)
        if missing:
            output.say(
                f"{missing} not here: fetched when a study wants them, or by --get; NAME says more.", "dim"
            )
    else:
        _tell(sets[0], lines[0])


SHOWN = ("name", "rows", "cols", "known", "here", "licence", "title")


def _fetch(sets: Sequence[Info]) -> None:
    """Have all of them here; one that cannot be had keeps no other from being fetched."""
    from maxentry.studies import datasets

    failures: dict[str, tuple[str, MaxentryError]] = {}  # each sentence once, with the first set it is about
    for about in sets:
        try:
            datasets.load(about.name)
        except MaxentryError as error:
            failures.setdefault(str(error), (about.name, error))
    if len(failures) == 1:
        ((_, failure),) = failures.values()
        raise failure
    if failures:
        reasons = "\n".join(f"{name}: {error}" for name, error in failures.values())
        raise DataError(f"expected to fetch all data sets, but some could not be had.\n{reasons}")


def _tell(about: Info, facts: dict[str, Any]) -> None:
    """One set, a line for each fact, and how to come by it where it is not here."""
    from maxentry.studies import datasets

    print("\n".join(f"{key}: {value}" for key, value in facts.items() if value is not None))
    if facts["here"] is None:
        way = datasets.by_hand(about)
        output.say(f"It is fetched when a study wants it, or by --get; without a network, {way}.", "dim")


def _facts(about: Info) -> dict[str, Any]:
    from maxentry.studies import datasets

    here = datasets.where(about)
    return {
        "name": about.name, "title": about.title, "rows": about.shape[0], "cols": about.shape[1],
        "known": about.known, "unit": about.unit, "licence": about.licence, "citation": about.citation,
        "url": about.url, "bytes": about.size, "here": None if here is None else str(here),
    }  # fmt: skip
