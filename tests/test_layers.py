"""A module imports only from its own or a lower layer, without cycles; the package imports nothing beside it."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import maxentry

ROOT = Path(maxentry.__file__).parent
LAYERS = {
    "errors": 1, "_io": 1, "_types": 1, "wording": 1,
    "labels": 2, "frames": 2, "tables": 2, "cells": 2, "readings": 2, "observations": 2, "belief": 2, "kernels": 2,
    "progress": 2, "transform": 2, "engines": 2, "features": 2,
    "model": 3, "design": 3,
    "completion": 4, "acquisition": 4,
    "posterior": 5, "gpu": 5,
    "campaign": 6,
    "summary": 7,
    "compare": 8, "estimators": 8, "plots": 8, "demo": 8, "client": 8,
    "server": 9,
    "cli": 10, "__main__": 10,
}  # fmt: skip


def modules() -> dict[str, Path]:
    files = [p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py"]
    return {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in files}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("maxentry"):
            base = node.module.removeprefix("maxentry").removeprefix(".")
            for alias in node.names:
                full = f"{base}.{alias.name}".removeprefix(".")
                names.add(full if full in known else base)
        elif isinstance(node, ast.Import):
            names |= {a.name.removeprefix("maxentry.") for a in node.names if a.name.startswith("maxentry.")}
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{path}: use absolute imports"
    return names - {""}


def violations(graph: dict[str, set[str]]) -> list[str]:
    top = {m: LAYERS[m.split(".")[0]] for m in graph}
    return [
        f"{m} (L{top[m]}) imports {dep} (L{top[dep]})"
        for m, deps in graph.items()
        for dep in deps
        if top[dep] > top[m]
    ]


def test_modules_import_only_from_lower_layers_and_without_cycles() -> None:
    known = modules()
    graph = {m: imported(p, known) for m, p in known.items()}
    assert violations(graph) == []
    TopologicalSorter({m: deps - {m} for m, deps in graph.items()}).prepare()


def test_the_check_can_fail() -> None:
    assert violations({"kernels": {"posterior"}, "posterior": set()}) == [
        "kernels (L2) imports posterior (L5)"
    ]


def test_the_package_does_not_know_what_is_beside_it() -> None:
    beside = re.compile(r"^\s*(from|import) (evidence|benchmarks|tests|docsite|release)\b", re.MULTILINE)
    assert [path for path in ROOT.rglob("*.py") if beside.search(path.read_text())] == []
    assert beside.search("    from evidence import datasets")
