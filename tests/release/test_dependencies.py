"""The page of dependencies lists what the lock file has, with licences, and does not claim an audit that was none."""

from __future__ import annotations

import re
from email.message import Message

import pytest

from release.dependencies import PAGE, UNKNOWN, find_closure, licence_name, render_audit
from release.requirements import CORE, ROOT, lower_bounds, read_groups, read_lock, read_project

ROW = re.compile(r"^\| ([a-z0-9-]+) \| ([^ |]+) \| ([^|]*) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = {row[0]: row[1:] for row in ROW.findall(PAGE.read_text(encoding="utf-8"))}


def test_the_page_has_every_package_of_the_lock_file() -> None:
    assert {name: row[0] for name, row in ROWS.items()} == read_lock(), "run make dependencies"


def test_the_page_has_the_lower_bounds_and_every_licence() -> None:
    bounds = lower_bounds(read_project())
    assert {name: row[1].strip() for name, row in ROWS.items() if row[1].strip()} == bounds, (
        "run make dependencies"
    )
    assert [name for name, row in ROWS.items() if row[2].strip() == UNKNOWN] == []


def test_what_the_package_needs_comes_first() -> None:
    core = find_closure(read_groups(read_project())[CORE])
    assert {"numpy", "llvmlite", "typer", "typing-extensions"} <= core
    assert {name for name, row in ROWS.items() if row[3] == "maxentry"} == core
    assert set(list(ROWS)[: len(core)]) == core


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ([("License-Expression", "MIT"), ("License", "other")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: BSD License"), ("License", "x" * 500)], "BSD License"),
        ([("Classifier", "License :: OSI Approved"), ("License", "BSD\n 3-Clause")], "BSD 3-Clause"),
        ([("License", "x" * 500)], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_licences_are_read_from_metadata(fields: list[tuple[str, str]], name: str) -> None:
    metadata = Message()
    for key, value in fields:
        metadata[key] = value
    assert licence_name(metadata) == name


def test_an_audit_that_looked_nothing_up_is_no_audit() -> None:
    skipped = {"dependencies": [{"name": "a", "skip_reason": "not found"}]}
    for document in ({}, skipped):
        text = render_audit(document, 1, "2026-01-02")
        assert "could not be reached" in text
        assert "none of the 1 packages was looked up" in text


def test_vulnerabilities_are_listed_with_the_version_that_has_none() -> None:
    entries = [
        {"name": "a", "version": "1", "vulns": [{"id": "V-1", "fix_versions": ["2"]}]},
        {"name": "b", "version": "1", "vulns": []},
        {"name": "c", "skip_reason": "not found"},
    ]
    text = render_audit({"dependencies": entries}, 3, "2026-01-02")
    assert "2 of 3 packages were looked up; known vulnerabilities: 1." in text
    assert "* a 1: V-1, fixed in 2" in text


def test_ci_checks_the_lower_bounds_and_not_the_newest_versions() -> None:
    """The newest change from day to day: a commit could fail for what it does not hold."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    steps = [word for line in lines if line.startswith("make ") for word in line.split()]
    assert "lowest" in steps
    assert not {"newest", "bounds"} & set(steps)
    assert "CI runs the first half, `make lowest`" in PAGE.read_text(encoding="utf-8")
