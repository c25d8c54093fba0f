"""`import maxentry` fetches public names when they are used: all are there, typed, nothing heavy comes early."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import maxentry

SOURCE = ast.parse(Path(maxentry.__file__).read_text())


def typed_names() -> dict[str, str]:
    block = next(n for n in SOURCE.body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    imports = [n for n in block.body if isinstance(n, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_what_the_type_checker_sees_is_what_there_is() -> None:
    assert typed_names() == maxentry._HOMES
    assert sorted(typed_names()) == sorted(maxentry.__all__)


@pytest.mark.parametrize("name", sorted(typed_names()))
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(maxentry, name).__name__ == name
    assert name in dir(maxentry)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'maxentry' has no attribute 'solve'"):
        maxentry.solve  # type: ignore[attr-defined]


@pytest.mark.process
def test_a_plain_import_brings_neither_numba_nor_numpy() -> None:
    code = "import sys, maxentry; print([m for m in ('numba', 'numpy', 'rich', 'sqlalchemy') if m in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.process
def test_the_check_can_fail() -> None:
    code = "import sys, maxentry; maxentry.Observations; print('numpy' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert shown.stdout.strip() == "True"
