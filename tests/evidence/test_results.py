"""The documents beside stored runs are those of the runs: what `--report` would write."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evidence import figures, report
from evidence.paper import figure_cells
from evidence.suite import suite_cells
from maxentry.compare.runner import find_runs
from maxentry.compare.scenario import Cell
from maxentry.compare.store import Store

STUDIES = Path(__file__).parents[2] / "docs" / "studies"
PAIR = ["direct arylation", "AutoML error"]
CELLS: dict[str, Callable[[], Sequence[Cell]]] = {  # as docs/results.md has the commands
    "paper": figure_cells,
    "suite": suite_cells,
    "sim30": lambda: figure_cells(
        ["sim30"], 40, strategies=["uniform", "maxent", "predictive_variance"]
    ),
    "smurff": lambda: suite_cells(PAIR, ["uniform", "smurff_variance"]),
}  # fmt: skip


@pytest.mark.parametrize("study", CELLS)
def test_tables_are_those_of_the_runs(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("draw_curves", "draw_ratios"):
        monkeypatch.setattr(figures, name, lambda *_, **__: None)  # they take long, and are not compared
    cells, store = CELLS[study](), Store(STUDIES / study)
    runs = list(find_runs(cells, store, any_law=True).values())
    assert len(runs) == len(cells) == len(store)
    assert {run.law for run in runs} == {1}
    write = report.write_paper if study in ("paper", "sim30") else report.write_suite
    assert write(runs, tmp_path).tables.read_text("utf-8") == (STUDIES / study / "tables.md").read_text(
        "utf-8"
    )
