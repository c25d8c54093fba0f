"""The shape of the package in figures, and the limits that they stay within: `python -m tests.shape`.

A tree of many slices is as hard to read as one of few heaps. So these figures have limits in both directions, and CI
holds them. Exit code 1 where one is beyond its limit.
"""

from __future__ import annotations

import ast
import io
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1] / "src" / "maxentry"
LIMITS: dict[str, tuple[float, float]] = {  # the least and the most
    "lines of the longest file": (0, 600),
    "% of modules with 120 to 400 lines": (50, 100),
    "modules in the largest folder": (0, 15),
    "% of modules with one importer": (0, 20),
    "% of functions named by a participle": (0, 5),
    "lines of a function's body, 90th percentile": (0, 30),
    "import cycles": (0, 0),
    "files that `ask 8` passes": (0, 30),
}
IRREGULAR = {
    *("shown", "told", "kept", "made", "begun", "drawn", "given", "held", "found", "taken"),
    *("known", "seen", "written", "chosen", "said", "spoken", "left", "lost", "met"),
}
NOT_PARTICIPLES = {"seed", "need", "feed", "speed", "embed", "fixed"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """A file of the package: its name with dots, its text, and the modules of the package that it imports."""

    name: str
    path: Path
    text: str
    tree: ast.Module = field(init=False)
    imports: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def own(self) -> bool:
        """Whether it is a module of its own; an `__init__` only gives names."""
        return self.path.name != "__init__.py"


def read(root: Path) -> list[Module]:
    """All modules below a package's folder, with their imports."""
    modules = {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        modules[name] = Module(name, path, path.read_text(encoding="utf-8"))
    for module in modules.values():
        module.imports = _imports(module.tree, modules) - {module.name}
    return list(modules.values())


def _imports(tree: ast.Module, names: Iterable[str]) -> set[str]:
    """Modules of the package that are imported anywhere in a file: at the top, within a function, or for types."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                imported.add(below if below in names else node.module)
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    return imported & set(names)


def measure(modules: list[Module]) -> dict[str, float]:
    """Every figure that the text of the modules says."""
    own = [module for module in modules if module.own]
    importers, folders = defaultdict(set), defaultdict(int)
    for module in own:
        folders[module.path.parent] += 1
        for name in module.imports:
            importers[name].add(module.name)
    names = [node.name for m in modules for node in m.tree.body if isinstance(node, Function)]
    bodies = sorted(_body(node) for m in modules for node in ast.walk(m.tree) if isinstance(node, Function))
    return {
        "lines of the longest file": max(module.lines for module in modules),
        "% of modules with 120 to 400 lines": _percent(120 <= m.lines <= 400 for m in own),
        "modules in the largest folder": max(folders.values()),
        "% of modules with one importer": _percent(len(importers[m.name]) == 1 for m in own),
        "% of functions named by a participle": _percent(map(is_participle, names)),
        "lines of a function's body, 90th percentile": bodies[int(0.9 * (len(bodies) - 1))] if bodies else 0,
        "import cycles": len(cycles(modules)),
    }


def _percent(facts: Iterable[bool]) -> float:
    counted = list(facts)
    return 100 * sum(counted) / max(len(counted), 1)


def _body(function: Function) -> int:
    """Lines of a function's body without its docstring."""
    rest = function.body[ast.get_docstring(function, clean=False) is not None :]
    return (rest[-1].end_lineno or 0) - rest[0].lineno + 1 if rest else 0


def is_participle(name: str) -> bool:
    """Whether a function is named by what was done (`kept`, `told_values`) and not by what it does."""
    words = name.strip("_").split("_")
    ends = {words[0], words[-1]} - NOT_PARTICIPLES
    return any(word in IRREGULAR or word.endswith("ed") for word in ends)


def cycles(modules: list[Module]) -> list[set[str]]:
    """Groups of modules that import each other, on whatever way."""
    imports = {module.name: module.imports for module in modules}
    reached = {name: _reach(name, imports) for name in imports}
    groups: list[set[str]] = []
    for name in imports:
        group = {other for other in reached[name] if name in reached[other]}
        if group and group not in groups:
            groups.append(group)
    return groups


def _reach(start: str, imports: dict[str, set[str]]) -> set[str]:
    """Modules that an import of this one brings, directly or not; itself only where there is a way back."""
    reached: set[str] = set()
    new = set(imports[start])
    while new:
        reached |= new
        new = {name for old in new for name in imports[old]} - reached
    return reached


def files_of_an_ask(root: Path) -> list[str]:
    """Files whose functions run in `maxentry ask 8`, on a campaign whose posterior is in the cache."""
    import numpy as np

    from maxentry.campaign.campaign import Campaign
    from maxentry.cli.main import app

    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 8))
    i, j = np.nonzero(rng.random(matrix.shape) < 0.5)
    rows, cols = [f"r{k}" for k in range(12)], [f"c{k}" for k in range(8)]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        os.environ["MAXENTRY_CACHE"] = f"{folder}/cache"
        storage = f"{folder}/lab.db"
        with Campaign.create(storage, "x", rows, cols, seed=1, rank=2) as campaign:
            campaign.tell(row=[rows[k] for k in i], col=[cols[k] for k in j], value=matrix[i, j].tolist())
            campaign.outlook(2)
            campaign.posterior()
        return _files_run(root, lambda: app(["ask", "8", "--storage", storage], standalone_mode=False))


def _files_run(root: Path, work: Callable[[], Any]) -> list[str]:
    """Files below a folder whose functions are called while this works, in any thread."""
    inside, files = str(root.resolve()), set()

    def see(frame: Any, event: str, _: object) -> None:
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(inside) and not function.startswith("<"):
            files.add(file.removeprefix(inside).strip("/\\"))

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sorted(files)


def beyond(figures: dict[str, float]) -> list[str]:
    """The figures beyond their limits."""
    return [name for name, figure in figures.items() if not LIMITS[name][0] <= figure <= LIMITS[name][1]]


def main() -> int:
    modules = read(PACKAGE)
    figures = measure(modules)
    files = files_of_an_ask(PACKAGE)
    figures["files that `ask 8` passes"] = len(files)
    print(f"{len(modules)} files, {sum(module.lines for module in modules)} lines in {PACKAGE.name}")
    wrong = beyond(figures)
    for name, figure in figures.items():
        least, most = LIMITS[name]
        limit = f"at least {least}" if least else f"at most {most}"
        print(f"{name:45} {figure:6.1f}   {limit}{'   BEYOND' if name in wrong else ''}")
    for group in cycles(modules):
        print("a cycle:", ", ".join(sorted(group)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
