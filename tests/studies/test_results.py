"""The tables in the documents are those of the runs beside them."""

from pathlib import Path

import pytest

from maxentry.studies import tables
from maxentry.studies.store import Store

STUDIES = Path(__file__).parents[2] / "docs" / "studies"


@pytest.mark.parametrize("study", ["paper", "suite", "sim30", "smurff"])
def test_tables_are_those_of_the_runs(study: str) -> None:
    written = (STUDIES / study / "tables.md").read_text(encoding="utf-8")
    made = tables.markdown(Store(STUDIES / study).runs())
    section = made[made.index("## Error at the end, as a ratio") : made.index("## The same over entries")]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "matrix |" not in line]
    assert lines
    for line in lines:
        assert _cells(line) == _cells(_line(written, line.split(" | ")[0]))


def _cells(line: str) -> list[str]:
    """What is in a line, whatever the order of the columns."""
    return sorted(cell.strip() for cell in line.split("|"))


def _line(text: str, start: str) -> str:
    section = text[text.index("## Error at the end, as a ratio") : text.index("## The same over entries")]
    return next(line for line in section.splitlines() if line.startswith(start + " |"))
