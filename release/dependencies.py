"""Write docs/dependencies.md: every dependency with its licence, and what an audit of the lock file says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.environments import LIMIT, StepError, install, make_environment
from release.requirements import (
    CORE,
    EXTRAS,
    LOCK,
    ROOT,
    lower_bounds,
    python_versions,
    read_groups,
    read_lock,
    read_project,
)

PAGE = ROOT / "docs" / "dependencies.md"
UNKNOWN = "not stated"
LONGEST = 60  # characters of a licence's name; some packages have its whole text there
DEVELOPMENT = "development"
AUDIT = "pip-audit -r requirements-dev.lock --no-deps --disable-pip"
HEAD = """\
# Dependencies

What maxentry needs, in which versions, under which licences. `make dependencies` writes this page from the metadata of
the installed packages and from `requirements-dev.lock`.

## Versions

`pyproject.toml` has a lower bound for every dependency, and upper bounds only for tools of the documentation. Lower
bounds are tested, not guessed: `make bounds` installs exactly them on the oldest Python, the newest versions on the
newest Python that the machine has, and runs the tests of inputs, storages, criteria, commands, client and server with
both. CI runs the first half, `make lowest`. The newest versions change from day to day, so `make newest` is run by hand
and before a release: a failure there says something about the day, not about the commit. `make wheel` builds sdist and
wheel, installs the wheel without extras in a fresh environment and runs every command there, in CI too. `make setup`
installs the versions in `requirements-dev.lock`; `make lock` renews them.

* `llvmlite>=0.44`: some kernels are written in LLVM's language, so the package imports llvmlite itself. Each release of
  Numba works with one series of llvmlite; 0.44 is that of Numba 0.61, the oldest that is allowed.
* `psycopg>=3.2.1`: 3.2.0 cannot be installed with its extra `binary`, which asks for a version that was not published.
* `pandas>=2.2.2`: the first that works with NumPy 2.
* NumPy and SciPy: pip installs the newest that Numba and your Python allow; NumPy 2.5 needs Python 3.12.
"""
PYTHONS = """\

## Python

{versions} are tested: 3.11 by all tests in CI, the others by the tests of `make bounds`; `make pythons` runs
these on every one.
Python 3.14 is not claimed: no test has run there yet.
"""


def licence_name(metadata: Any) -> str:
    """Return the licence as a package's metadata states it: expression, classifiers, or a short text."""
    expression = metadata.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [line for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    names = [line.split(" :: ")[-1] for line in classifiers if line != "License :: OSI Approved"]
    if names:
        return ", ".join(names)
    text = " ".join((metadata.get("License") or "").split())
    return text if 0 < len(text) <= LONGEST else UNKNOWN


def find_closure(requirements: Iterable[Requirement]) -> set[str]:
    """Return the names of these requirements and of all that they need on this machine."""
    found: set[tuple[str, str]] = set()
    queue = [(canonicalize_name(r.name), extra) for r in requirements for extra in ("", *r.extras)]
    while queue:
        name, extra = queue.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                queue += [(canonicalize_name(requirement.name), e) for e in ("", *requirement.extras)]
    return {name for name, _ in found}


def group_packages(lock: Iterable[str]) -> dict[str, list[str]]:
    """Return the packages of the lock file with the groups that need them: the package, extras, or development."""
    groups = read_groups(read_project())
    core = find_closure(groups[CORE])
    needed: dict[str, list[str]] = {name: ["maxentry"] if name in core else [] for name in lock}
    for extra in EXTRAS:
        for name in find_closure(groups[extra]) - core:
            needed[name].append(f"[{extra}]")
    return {name: found or [DEVELOPMENT] for name, found in needed.items()}


def render_table(lock: dict[str, str]) -> str:
    """Return the table of all packages: users' first, then those of development."""
    bounds, needed = lower_bounds(read_project()), group_packages(lock)
    lines = ["| Package | Version | Lowest | Licence | Needed by |", "|---|---|---|---|---|"]

    def rank(name: str) -> tuple[int, str]:
        groups = needed[name]
        return (0 if groups == ["maxentry"] else 2 if groups == [DEVELOPMENT] else 1, name)

    for name in sorted(lock, key=rank):
        licence = licence_name(distribution(name).metadata).replace("|", "/")
        groups = ", ".join(f"`{group}`" if group[0] == "[" else group for group in needed[name])
        lines.append(f"| {name} | {lock[name]} | {bounds.get(name, '')} | {licence} | {groups} |")
    return "\n".join(lines) + "\n"


def audit_lock() -> dict[str, Any]:
    """Run pip-audit on the lock file in an environment of its own; return its document, empty if it fails."""
    python = make_environment("audit", Path(sys.executable))
    install(python, "pip-audit")
    options = [*AUDIT.split()[1:], "--progress-spinner", "off", "--format", "json"]
    words = [str(python.with_name("pip-audit")), *options]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {}
    return document


def render_audit(document: dict[str, Any], packages: int, day: str) -> str:
    """Return the section about known vulnerabilities; packages that could not be looked up are counted as such."""
    entries = document.get("dependencies", [])
    audited = [entry for entry in entries if "vulns" in entry]
    lines = ["## Known vulnerabilities", "", f"`make dependencies` runs `{AUDIT}`.", ""]
    if not audited:
        lines.append(
            f"On {day} the service of known vulnerabilities could not be reached from where this page was written: "
            f"none of the {packages} packages was looked up. **So this page says nothing about vulnerabilities.** Run "
            "the command on a machine with access to the internet."
        )
        return "\n".join(lines) + "\n"
    bad = [(entry["name"], entry["version"], vuln) for entry in audited for vuln in entry["vulns"]]
    lines.append(
        f"On {day} {len(audited)} of {packages} packages were looked up; known vulnerabilities: {len(bad)}."
    )
    lines += [f"* {name} {version}: {vuln['id']}, fixed in {', '.join(vuln['fix_versions']) or 'no version'}"
              for name, version, vuln in bad]  # fmt: skip
    return "\n".join(lines) + "\n"


def render_page(lock: dict[str, str], audit: str) -> str:
    """Return the text of the page."""
    *first, last = python_versions(read_project())
    versions = f"{', '.join(first)} and {last}"
    table = "## Licences\n\n" + render_table(lock)
    return "\n".join([HEAD + PYTHONS.format(versions=versions), table, audit])


def write_page() -> None:
    """Write the page; refuse if other versions are installed than those in the lock file."""
    lock = read_lock()
    check_installed(lock)
    document = audit_lock()
    day = datetime.now(UTC).date().isoformat()
    PAGE.write_text(render_page(lock, render_audit(document, len(lock), day)), encoding="utf-8")


def check_installed(lock: dict[str, str]) -> None:
    """Refuse if a package of the lock file is missing here, or has another version."""
    for name, version in lock.items():
        try:
            installed = distribution(name).version
        except PackageNotFoundError:
            installed = "none"
        if installed != version:
            raise StepError(f"expected {name} {version} of {LOCK.name}, got {installed}; run make setup")
