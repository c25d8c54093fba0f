"""Would choosing entries have helped on a matrix that is already known? Play it through and compare.

cells = compare_cells(matrix, replicates=5)     # matrix: an array, NaN where nothing is known
runs = run_all(cells, store="my-study")
print(answer(runs))
"""

from maxentry.compare.report import Outputs, answer, choose_subject, write_comparison
from maxentry.compare.runner import Engine, Failure, RunsFailed, find_runs, run_all
from maxentry.compare.scenario import OURS, Case, Cell, Given, Strategy, compare_cells
from maxentry.compare.store import Run, Store

__all__ = [
    "OURS", "Case", "Cell", "Engine", "Failure", "Given", "Outputs", "Run", "RunsFailed", "Store", "Strategy", "answer",
    "choose_subject", "compare_cells", "find_runs", "run_all", "write_comparison",
]  # fmt: skip
