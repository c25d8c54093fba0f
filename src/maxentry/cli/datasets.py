"""The data sets of the studies: which there are, and whether they are here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxentry.cli import output, tables

if TYPE_CHECKING:
    from maxentry.studies.datasets import Info


def data(name: str | None, get: bool, as_json: bool) -> None:
    """The catalogue, or one set of it."""
    from maxentry.studies import datasets

    sets = datasets.catalogue() if name is None else (datasets.info(name),)
    if get:
        for about in sets:
            datasets.load(about.name)
    lines = [_facts(about) for about in sets]
    if as_json:
        output.print_json({"sets": lines})
    elif name is None:
        names = ("name", "rows", "cols", "known", "here", "licence", "title")
        table = tables.Table(list(names), [[line[n] for line in lines] for n in names])
        output.deliver(table, None, None, as_json=False, document={})
    else:
        print("\n".join(f"{key}: {value}" for key, value in lines[0].items()))


def _facts(about: Info) -> dict[str, Any]:
    rows, cols = about.shape
    return {
        "name": about.name, "title": about.title, "rows": rows, "cols": cols, "known": about.known,
        "unit": about.unit, "licence": about.licence, "citation": about.citation, "url": about.url,
        "bytes": about.size, "here": None,
    }  # fmt: skip
