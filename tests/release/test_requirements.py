"""Every dependency has one lower bound, the lock file fits them, and the classifiers fit both."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement

from release.jobs import is_bound
from release.requirements import (
    LOCK,
    lower_bound,
    lower_bounds,
    python_versions,
    read_groups,
    read_lock,
    read_pins,
    read_project,
    write_pins,
)

PROJECT = read_project()


def project(*dependencies: str, **extras: list[str]) -> dict:
    return {"name": "maxentry", "dependencies": list(dependencies), "optional-dependencies": extras}


def test_every_dependency_has_one_lower_bound() -> None:
    bounds = lower_bounds(PROJECT)
    assert {"numpy", "llvmlite", "numba", "pandas", "scipy-stubs"} <= set(bounds)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (project("numpy>=2", "llvmlite"), "expected a lower bound of llvmlite in dependencies, got none"),
        (project("numpy>=2", x=["a<3"]), "expected a lower bound of a in x, got none"),
        (project("numpy>=2", x=["numpy>=2.1"]), "expected one lower bound of numpy, got 2 and 2.1"),
    ],
)
def test_a_missing_or_a_second_bound_is_named(given: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lower_bounds(given)


def test_extras_of_the_package_itself_are_no_requirement() -> None:
    given = project("a>=1", dev=["maxentry[plots]", "b[x]>=2,<3"])
    assert lower_bounds(given) == {"a": "1", "b": "2"}
    assert lower_bound(Requirement("c==1")) is None


def test_the_lock_file_fits_every_requirement() -> None:
    lock = read_lock()
    wanted = [requirement for group in read_groups(PROJECT).values() for requirement in group]
    wrong = [str(r) for r in wanted if not r.specifier.contains(lock[r.name.lower()])]
    assert wrong == []


def test_the_lock_file_names_no_place_and_has_one_version_of_each() -> None:
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.+!]+", line)] == []
    assert "maxentry" not in read_pins(lines)
    assert write_pins(read_pins(lines)).splitlines() == lines


def test_a_line_that_is_no_pin_is_refused() -> None:
    assert read_pins(["# a", "", "A_b==1.0  # why"]) == {"a-b": "1.0"}
    with pytest.raises(ValueError, match="got 'numpy>=2'"):
        read_pins(["numpy>=2"])


def test_classifiers_begin_with_the_oldest_python_allowed() -> None:
    assert PROJECT["requires-python"] == f">={python_versions(PROJECT)[0]}"
    begin = "Programming Language :: Python :: 3."
    assert python_versions({"classifiers": [f"{begin}12", f"{begin}9", "Typing :: Typed"]}) == ["3.9", "3.12"]


def test_versions_are_compared_with_bounds_as_versions() -> None:
    assert is_bound("2.0.0", "2.0")
    assert is_bound("1.4", None)
    assert not is_bound("1.40", "1.4")
