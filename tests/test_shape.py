"""The figures of the package's shape say what they should, on a package made for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import shape

FILES = {
    "__init__.py": "from maxentry.a import kept_values\n",
    "a.py": "from maxentry.below import c\n\n\ndef kept_values():\n    '''Say.'''\n    x = c\n    return x\n",
    "b.py": "def show():\n    import maxentry.a\n    return maxentry.a\n" + "# more\n" * 130,
    "below/__init__.py": "",
    "below/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from maxentry.below.d import D\n",
    "below/d.py": "from maxentry.below.c import TYPE_CHECKING as t\nfrom maxentry import a\nclass D: ...\n",
}


@pytest.fixture
def modules(tmp_path: Path) -> list[shape.Module]:
    for name, text in FILES.items():
        path = tmp_path / "maxentry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return shape.read(tmp_path / "maxentry")


def test_figures(modules: list[shape.Module]) -> None:
    assert shape.measure(modules) == {
        "lines of the longest file": 133,
        "% of modules with 120 to 400 lines": 25,
        "modules in the largest folder": 2,
        "% of modules with one importer": 25,  # d; c and a have two, b has none
        "% of functions named by a participle": 50,
        "lines of a function's body, 90th percentile": 2,
        "import cycles": 1,
    }
    assert shape.cycles(modules) == [{"maxentry.a", "maxentry.below.c", "maxentry.below.d"}]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("kept", True), ("_told_values", True), ("rows_added", True), ("seed", False), ("draw", False)],
)
def test_participles(name: str, wrong: bool) -> None:
    assert shape.is_participle(name) == wrong


def test_what_is_beyond_its_limits() -> None:
    assert shape.beyond({"import cycles": 0, "lines of the longest file": 600}) == []
    assert shape.beyond({"import cycles": 1, "% of modules with 120 to 400 lines": 49}) == [
        "import cycles",
        "% of modules with 120 to 400 lines",
    ]


def test_files_are_those_whose_functions_run() -> None:
    here = Path(__file__)
    assert here.name in shape._files_run(here.parent, lambda: test_participles("draw", False))
    assert "shape.py" in shape._files_run(here.parent, lambda: shape.is_participle("x"))
    assert shape._files_run(here.parent / "none", lambda: shape.is_participle("x")) == []
