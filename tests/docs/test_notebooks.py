"""The notebooks run from their first cell to their last, and are kept without what came out."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from docsite.notebooks import executed, page
from nbclient.exceptions import CellExecutionError

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["automl_with_costs", "plate_campaign", "quick_start"]


@pytest.mark.pages
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    made = page(executed(path, tmp_path), path.stem)
    assert made.pictures
    assert all(content.startswith(b"\x89PNG") for content in made.pictures.values())
    assert all(f"({name})" in made.text for name in made.pictures)
    assert list(tmp_path.iterdir()) == []  # nothing is left behind, nothing was there to read


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell for cell in code if cell.outputs or cell.execution_count is not None] == []


def notebook_of(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


@pytest.mark.pages
def test_a_broken_cell_fails(tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    nbformat.write(notebook_of("x = 1", "assert x == 2"), path)
    with pytest.raises(CellExecutionError, match="AssertionError"):
        executed(path, tmp_path)


@pytest.mark.pages
def test_what_a_cell_says_is_on_the_page(tmp_path: Path) -> None:
    path = tmp_path / "small.ipynb"
    nbformat.write(notebook_of("print('a word')\n6 * 7"), path)
    made = page(executed(path, tmp_path), "small")
    assert "```text\na word\n```" in made.text
    assert "```text\n42\n```" in made.text
