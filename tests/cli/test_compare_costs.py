"""What entries cost, as `maxentry compare --costs` reads it."""

from pathlib import Path

import numpy as np
import pytest

from maxentry.cli.compare import read_matrix
from maxentry.errors import DataError


def grid(text: str) -> str:
    Path("costs.csv").write_text(text)
    return "costs.csv"


MATRIX = "x,a,b\nr,1,\ns,3,4\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x,b,a\ns,8,6\nr,,5\n", [[5, 19 / 3], [6, 8]]),  # what is not known needs no cost
        ("row,col,cost\nr,a,5\ns,a,6\ns,b,8\n", [[5, 19 / 3], [6, 8]]),
        ("row,cost\ns,2\nr,1\n", [[1, 1], [2, 2]]),
        ("col,cost\na,2\nb,1\n", [[2, 1], [2, 1]]),
        ("Row,COLUMN,cost\nr,a,5\ns,a,6\ns,b,8\n", [[5, 19 / 3], [6, 8]]),
    ],
)
def test_costs(text: str, found: list[list[float]]) -> None:
    Path("m.csv").write_text(MATRIX)
    read = read_matrix("m.csv", None, grid(text))
    np.testing.assert_allclose(read.costs, found)
    np.testing.assert_array_equal(read.M, [[1, np.nan], [3, 4]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,a,b\ns,6,\nr,5,7\n", "above 0 for every known entry, got none for row 's', column 'b'"),
        ("x,a,b\ns,6,0\nr,5,7\n", "above 0 for every known entry, got 0 for row 's', column 'b'"),
        ("x,a,b\ns,6,inf\nr,5,7\n", "a finite cost above 0 .*, got inf for row 's', column 'b'"),
        ("row,cost\ns,2\n", "expected a cost for every row, got none for row 'r'"),
    ],
)
def test_costs_that_are_refused(text: str, sentence: str) -> None:
    Path("m.csv").write_text(MATRIX)
    with pytest.raises(DataError, match=sentence):
        read_matrix("m.csv", None, grid(text))
