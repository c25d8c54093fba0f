"""Would choosing entries have helped on a matrix that is already known? Play it through and compare.

cells = compare_cells(matrix, replicates=5)     # matrix: an array, NaN where nothing is known
runs = run_all(cells, store="my-study")
print(answer(runs))
"""

from maxentry.compare.report import answer
from maxentry.compare.runner import run_all
from maxentry.compare.scenario import Case, Cell, Given, Strategy, compare_cells

__all__ = ["Case", "Cell", "Given", "Strategy", "answer", "compare_cells", "run_all"]
