"""Dependencies as pyproject.toml declares them: their lower bounds, and the versions in the lock file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements-dev.lock"
EXTRAS = ("plots", "sklearn", "arviz", "postgres", "parquet", "studies", "client", "server")  # those of users
FRAMES = ("pandas", "polars")  # read and written where users have them: no extra, but the tests need both
TOOLS = ("pytest", "hypothesis")
CORE = ""  # the name of the group that has no extra


def read_project(root: Path = ROOT) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def read_groups(project: dict[str, Any]) -> dict[str, list[Requirement]]:
    """Return the requirements of the package (under "") and of each extra, without its own extras."""
    lists = {CORE: project["dependencies"], **project["optional-dependencies"]}
    groups = {name: [Requirement(line) for line in lines] for name, lines in lists.items()}
    return {name: [r for r in group if r.name != project["name"]] for name, group in groups.items()}


def lower_bound(requirement: Requirement) -> str | None:
    """Return the version after `>=`, or None."""
    return next((part.version for part in requirement.specifier if part.operator == ">="), None)


def lower_bounds(project: dict[str, Any]) -> dict[str, str]:
    """Return the lower bound of every requirement in any group; two bounds of one package are an error."""
    bounds: dict[str, str] = {}
    for name, group in read_groups(project).items():
        for requirement in group:
            bound, key = lower_bound(requirement), canonicalize_name(requirement.name)
            if bound is None:
                raise ValueError(
                    f"expected a lower bound of {requirement.name} in {name or 'dependencies'}, got none"
                )
            if bounds.setdefault(key, bound) != bound:
                raise ValueError(
                    f"expected one lower bound of {requirement.name}, got {bounds[key]} and {bound}"
                )
    return bounds


def write_pins(versions: dict[str, str]) -> str:
    """Return lines `name==version`, sorted, for a constraints file."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def read_pins(lines: Iterable[str]) -> dict[str, str]:
    """Return name and version of each line `name==version`; comments and empty lines are skipped."""
    pins: dict[str, str] = {}
    for line in lines:
        text = line.partition("#")[0].strip()
        if text:
            name, equal, version = text.partition("==")
            if not equal:
                raise ValueError(f"expected a line like name==version, got {text!r}")
            pins[canonicalize_name(name.strip())] = version.strip()
    return pins


def read_lock() -> dict[str, str]:
    """Return the versions in the lock file."""
    return read_pins(LOCK.read_text(encoding="utf-8").splitlines())


def python_versions(project: dict[str, Any]) -> list[str]:
    """Return the Python versions of the classifiers, like 3.11, oldest first."""
    begin = "Programming Language :: Python :: 3."
    minors = sorted(int(c.removeprefix(begin)) for c in project["classifiers"] if c.startswith(begin))
    return [f"3.{minor}" for minor in minors]
