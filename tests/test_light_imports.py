"""What is imported with a module, read from the text: nothing heavy before it is used.

Processes that import the real modules say the same, and for certain, but take seconds each (mark `process`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest
from tests.shape import PACKAGE, Module, read

HEAVY = {
    "numpy",
    "numba",
    "scipy",
    "sqlalchemy",
    "pandas",
    "polars",
    "matplotlib",
    "plotly",
    "sklearn",
    "arviz",
    "rich",
}


@cache
def modules() -> dict[str, Module]:
    return {module.name: module for module in read(PACKAGE)}


def at_once(body: list[ast.stmt]) -> Iterator[str]:
    """Names of modules that are imported as soon as this is run: not within functions, not for types alone."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from at_once([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from at_once(node.body)


def brought(name: str) -> set[str]:
    """Everything that an import of a module of the package brings, its parents and other packages included."""
    names, new = set(), {name}
    while new:
        names |= new
        known = [modules()[one] for one in new if one in modules()]
        new = {one for module in known for one in at_once(module.tree.body)}
        new |= {one.rpartition(".")[0] for one in names | new if "." in one}
        new -= names
    return names


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("maxentry", set()),
        ("maxentry.cli.main", {"rich"}),  # Typer brings it for its own help
        ("maxentry.observations", {"numpy", "scipy", "numba"}),
        ("maxentry.plots", {"numpy", "scipy"}),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_used(name: str, allowed: set[str]) -> None:
    assert name in modules()
    assert brought(name) & HEAVY <= allowed


def test_the_check_can_fail() -> None:
    assert "numpy" in brought("maxentry.campaign.campaign")
    assert "sklearn" in brought("maxentry.estimators")
