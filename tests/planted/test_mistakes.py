"""The list of planted mistakes fits the tree: each text is there once, and each module has one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.planted.mistakes import MISTAKES, Mistake

import maxentry

PACKAGE = Path(maxentry.__file__).parent
FOLDERS = ("kernels", "model", "design", "completion", "acquisition", "posterior", "campaign")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_can_be_planted(mistake: Mistake) -> None:
    text = (PACKAGE / mistake.file).read_text(encoding="utf-8")
    assert text.count(mistake.right) == 1
    assert mistake.wrong != mistake.right
    compile(text.replace(mistake.right, mistake.wrong), mistake.file, "exec")
    for path in mistake.tests.split():
        assert (Path(__file__).parents[1] / path).exists(), path


def test_every_module_of_the_numerics_and_of_campaigns_has_one() -> None:
    modules = {
        path.relative_to(PACKAGE).as_posix()
        for folder in FOLDERS
        for path in (PACKAGE / folder).glob("*.py")
        if path.name != "__init__.py"
    }
    assert modules - {mistake.file for mistake in MISTAKES} == set()
    assert len(MISTAKES) >= 30
