"""What Observations refuse, and the sentence they refuse it with."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from maxentry.errors import DataError, LabelError
from maxentry.observations import Observations

NAN = float("nan")
INF = float("inf")
MATRIX = np.array([[1.0, NAN, 0.0], [NAN, 5.0, -2.5], [7.0, NAN, NAN]])
ROWS, COLS = ("a", "b", "c"), ("x", "y", "z")
LONG = pd.DataFrame({"row": ["a", "a"], "col": ["x", "z"], "value": [1.0, 0.0]})


def holed(value: Any, i: int = 1, j: int = 2) -> NDArray[Any]:
    array = MATRIX.astype(object)
    array[i, j] = value
    return array


AB, XY = {"row_labels": ["a", "b"]}, {"col_labels": ["x", "y"]}
SHAPE = {"shape": (3, 4)}
TWO = [1.0, 2.0]
WIDE = pd.DataFrame(MATRIX, list(ROWS), list(COLS))
BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "all missing": (np.full((3, 3), NAN), {}, "at least one observation that is not missing, but none came"),
    "no triples": (([], [], []), SHAPE, "at least one observation that is not missing, but none came"),
    "only missing triples": (([0, 1], [0, 1], [NAN, None]), SHAPE, "at least one observation"),
    "nothing stored": (sp.csr_array((3, 3)), {}, "at least one observation"),
    "all null": (
        pl.DataFrame({"g": ["a", "b"], "x": [None, None], "y": [None, None]}),
        {},
        "at least one observation",
    ),
    "inf": (
        np.where(MATRIX == -2.5, INF, MATRIX),
        {"row_labels": ROWS, "col_labels": COLS},
        "finite numbers, but the value at row 'b', column 'z' is inf",
    ),
    "minus inf in triples": (([0, 1], [0, 3], [1, -INF]), SHAPE, "the value at row 1, column 3 is -inf"),
    "too large an integer": (holed(10**400), {}, "the value at row 1, column 2 is inf"),
    "text": (holed("n/a"), {}, r"expected real numbers, but the value at row 1, column 2 is 'n/a' \(text\)"),
    "text among lists": ([[1, 2], [3, "x"]], {}, r"row 1, column 1 is 'x' \(text\)"),
    "a text array": (np.array([["1", "2"], ["3", "4"]]), {}, r"row 0, column 0 is '1' \(text\)"),
    "numbers as text": (WIDE.astype(str), {}, r"row 'a', column 'x' is '1.0' \(text\)"),
    "text in a wide frame": (
        WIDE.astype(object).replace(-2.5, "low"),
        {},
        r"row 'b', column 'z' is 'low' \(text\)",
    ),
    "text in a wide polars frame": (
        pl.DataFrame({"g": ["a", "b"], "x": [1, 2], "y": [None, "low"]}),
        {},
        r"row 'b', column 'y' is 'low' \(text\)",
    ),
    "text in a long frame": (
        pl.DataFrame({"row": ["a", "b"], "col": ["x", "y"], "value": ["1", "2"]}),
        {},
        r"row 'a', column 'x' is '1' \(text\)",
    ),
    "text in triples": (([0, 1], [0, 1], [1, "two"]), SHAPE, r"row 1, column 1 is 'two' \(text\)"),
    "dates": (
        np.full((2, 2), np.datetime64("2024-01-01")),
        {},
        r"row 0, column 0 is datetime.date\(2024, 1, 1\) \(date\)",
    ),
    "complex": (MATRIX.astype(complex), {}, r"row 0, column 0 is \(1\+0j\) \(complex\)"),
    "complex sparse": (sp.csr_array(np.eye(3) * 1j), {}, r"row 0, column 0 is 1j \(complex\)"),
    "a list in a cell": (holed([1]), {}, r"row 1, column 2 is \[1\] \(list\)"),
    "complex pandas": (
        pd.DataFrame({"x": [1, 2], "y": [1, 2j]}),
        {},
        r"row 0, column 'y' is \(1\+0j\) \(complex\)",
    ),
    "row index outside": (([0, 3], [0, 1], TWO), SHAPE, "row indices from 0 to 2, but measurement 1 has 3"),
    "shape too small": (([0, 2], [0, 4], TWO), SHAPE, "column indices from 0 to 3, but measurement 1 has 4"),
    "negative index": (([0, -1], [0, 1], TWO), SHAPE, "row indices from 0 to 2, but measurement 1 has -1"),
    "fractional index": (
        ([0, 1], [0, 1.5], TWO),
        SHAPE,
        "column indices from 0 to 3, but measurement 1 has 1.5",
    ),
    "text index": ((["a", "b"], [0, 1], TWO), SHAPE, "row indices from 0 to 2, but measurement 0 has 'a'"),
    "bool index": (
        (np.array([True, False]), [0, 1], TWO),
        SHAPE,
        "row indices from 0 to 2, but measurement 0 has True",
    ),
    "missing index": (
        (np.ma.masked_array([0, 1], [0, 1]), [0, 1], TWO),
        SHAPE,
        "row indices from 0 to 2, but measurement 1 has nan",
    ),
    "huge index": ((np.array([0, 2**63], dtype=np.uint64), [0, 1], TWO), SHAPE, f"measurement 1 has {2**63}"),
    "no shape": (
        ([0, 1], [0, 1], TWO),
        {},
        "expected shape= or row_labels= with numbered rows, but neither came",
    ),
    "no shape for columns": (
        (["a", "b"], [0, 1], TWO),
        {},
        "expected shape= or col_labels= with numbered columns",
    ),
    "lengths": (
        ([0, 1], [0], TWO),
        SHAPE,
        "as many rows as columns and values, but 2 rows, 1 columns and 2 values came",
    ),
    "a scalar row": ((0, [0, 1], TWO), SHAPE, "expected a sequence of rows, but 0 came"),
    "text as rows": (("ab", [0, 1], TWO), SHAPE, "expected a sequence of rows, but 'ab' came"),
    "two-dimensional rows": (
        (np.eye(2, dtype=int), [0, 1], TWO),
        SHAPE,
        "rows in one dimension, but an array of 2 came",
    ),
    "two-dimensional values": (
        ([0, 1], [0, 1], np.eye(2)),
        SHAPE,
        "values in one dimension, but an array of 2 came",
    ),
    "not a shape": (
        ([0, 1], [0, 1], TWO),
        {"shape": 3},
        "a shape of two whole numbers below 2\\*\\*31, but 3 came",
    ),
    "three sizes": (
        ([0, 1], [0, 1], TWO),
        {"shape": (3, 3, 3)},
        r"two whole numbers below 2\*\*31, but \(3, 3, 3\) came",
    ),
    "a negative size": (([0, 1], [0, 1], TWO), {"shape": (3, -3)}, r"but \(3, -3\) came"),
    "a fractional size": (([0, 1], [0, 1], TWO), {"shape": (2.5, 3)}, r"but \(2.5, 3\) came"),
    "one row": (np.ones((1, 5)), {}, "at least 2 rows and 2 columns, but a matrix of 1 x 5 came"),
    "one column": (
        sp.csr_array(np.ones((5, 1))),
        {},
        "at least 2 rows and 2 columns, but a matrix of 5 x 1 came",
    ),
    "one row in a long frame": (
        pl.DataFrame({"row": [1, 1], "col": [1, 2], "value": TWO}),
        {},
        "but a matrix of 1 x 2 came",
    ),
    "one column in a frame": (pd.DataFrame({"x": [1, 2]}), {}, "but a matrix of 2 x 1 came"),
    "1-d": (np.ones(5), {}, "an array of 2 dimensions, but one of 1 came"),
    "3-d": (np.ones((2, 2, 2)), {}, "an array of 2 dimensions, but one of 3 came"),
    "a number": (3.0, {}, "an array of 2 dimensions, but float 3.0 came"),
    "None": (None, {}, "an array of 2 dimensions, but NoneType None came"),
    "text instead of data": ("matrix.csv", {}, "an array of 2 dimensions, but str 'matrix.csv' came"),
    "ragged": ([[1, 2], [3]], {}, "rows of equal length, but a ragged sequence came"),
    "1-d sparse": (sp.coo_array([1, 2, 3]), {}, "a sparse matrix of 2 dimensions, but one of 1 came"),
    "empty pandas": (pd.DataFrame(), {}, "a frame with columns, but an empty frame came"),
    "empty polars": (pl.DataFrame(), {}, "a frame with columns, but an empty frame came"),
    "no lines": (pl.DataFrame({"x": [], "y": []}), {}, "but a matrix of 0 x 2 came"),
    "no lines in a long frame": (
        pl.DataFrame({"row": [], "col": [], "value": []}),
        {},
        "at least one observation",
    ),
    "too few labels": (MATRIX, AB, "expected 3 row labels, but 2 came"),
    "too many labels": (MATRIX, {"col_labels": list("wxyz")}, "expected 3 column labels, but 4 came"),
    "labels against a shape": ((["a", "b"], [0, 1], TWO), AB | SHAPE, "expected 3 row labels, but 2 came"),
    "text for labels": (MATRIX, {"row_labels": "abc"}, "a sequence of row labels, but 'abc' came"),
    "duplicate labels": (
        MATRIX,
        {"row_labels": ["a", "b", "a"]},
        "distinct row labels, but 'a' came twice, at 0 and 2",
    ),
    "duplicate index": (
        pd.DataFrame(MATRIX, index=["a", "b", "b"]),
        {},
        "distinct row labels, but 'b' came twice, at 1 and 2",
    ),
    "duplicate columns": (
        pd.DataFrame(MATRIX, columns=["x", "y", "x"]),
        {},
        "distinct column labels, but 'x' came twice, at 0 and 2",
    ),
    "duplicate in a column": (
        pl.DataFrame({"g": ["a", "a"], "x": [1, 2], "y": [1, 2]}),
        {},
        "distinct row labels, but 'a' came twice",
    ),
    "missing label": (MATRIX, {"row_labels": ["a", None, "c"]}, "a label for every row, but row 1 has None"),
    "missing in the index": (
        pd.DataFrame(MATRIX, index=["a", "b", NAN]),
        {},
        "a label for every row, but row 2 has nan",
    ),
    "a list as label": (
        MATRIX,
        {"row_labels": ["a", "b", []]},
        r"hashable row labels, but \[\] \(list\) came",
    ),
    "missing row in a long frame": (
        pl.DataFrame({"row": ["a", None], "col": [1, 2], "value": TWO}),
        {},
        "a row label with every measurement, but measurement 1 has None",
    ),
    "missing column in a long frame": (
        pd.DataFrame({"row": [1, 2], "col": [NAN, 2], "value": TWO}),
        {},
        "a column label with every measurement, but measurement 0 has nan",
    ),
    "a list as row": (
        pl.DataFrame({"row": [["a"], ["b"]], "col": [1, 2], "value": TWO}),
        {},
        r"hashable row labels, but \['a'\] \(list\) came",
    ),
    "no value column": (
        pd.DataFrame({"row": [1, 2], "col": [1, 2], "x": [1, 1], "y": TWO}),
        {"row": "row"},
        r"a long frame with a column 'value' \(or its name in value=\), but 'row', 'col', 'x', 'y' came",
    ),
    "an unknown name": (
        LONG,
        {"value": "score"},
        "one frame column named 'score', but the names 'row', 'col', 'value' came",
    ),
    "an unknown row_column": (
        WIDE,
        {"row_column": "gene"},
        "one frame column named 'gene', but the names 'x', 'y', 'z' came",
    ),
    "a name twice": (
        pd.DataFrame([[1, 2, 3, 4]], columns=["row", "col", "value", "value"]),
        {},
        "one frame column named 'value', but 2 of them came",
    ),
    "options with an array": (
        MATRIX,
        {"shape": (3, 3)},
        "only row_labels, col_labels with an array, but shape came",
    ),
    "options with a wide frame": (WIDE, AB, "only row_column with a wide frame, but row_labels came"),
    "options with Observations": (
        Observations.of(MATRIX),
        AB,
        "no option with Observations, but row_labels came",
    ),
}


@pytest.mark.parametrize(("data", "options", "message"), BAD.values(), ids=BAD)
def test_bad_data_raise_one_sentence_that_names_expected_and_came(
    data: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Observations.of(data, **options)
    text = str(caught.value)
    assert re.fullmatch(r"expected [^\n]*, but [^\n]*\.", text), text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((["a", "q"], ["x", "y"], TWO), "expected known row labels, but 'q' came"),
        ((["a", "b"], ["x", 7], TWO), "expected known column labels, but 7 came"),
        (
            pd.DataFrame({"row": ["a", "aa"], "col": ["x", "y"], "value": TWO}),
            r"but 'aa' came \(did you mean 'a'",
        ),
    ],
)
def test_a_label_outside_those_given_is_refused(data: Any, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        Observations.of(data, **AB, **XY)


def test_from_sparse_refuses_what_is_not_sparse() -> None:
    with pytest.raises(DataError, match=r"expected a scipy.sparse matrix, but ndarray came"):
        Observations.from_sparse(MATRIX)


@pytest.mark.parametrize(
    ("labels", "wanted", "message"),
    [
        (
            ("alpha", "beta", 3),
            "alhpa",
            r"expected known row labels, but 'alhpa' came \(did you mean 'alpha'\?\)\.",
        ),
        (("alpha", "beta", 3), ["beta", "3"], r"but '3' came \(did you mean 3\?\)\."),
        (("alpha", "beta", 3), "qqqq", r"but 'qqqq' came\."),
        (("alpha", "beta", 3), [5, 6, 7, 8, 9], r"but 5, 6, 7 and 2 more came\."),
        (("alpha", "beta", 3), [["alpha"]], r"but \['alpha'\] came"),
        (("alpha", "beta", 3), None, r"but None came\."),
        (None, 3, r"expected row positions from 0 to 2, but 3 came\."),
        (None, [0, -1], r"but -1 came\."),
        (None, 1.5, r"but 1.5 came\."),
        (None, "a", r"but 'a' came\."),
        (None, np.array([True, False, True]), r"but True, False, True came\."),
        (None, ["a", 0], r"but 'a' came\."),
    ],
)
def test_an_unknown_label_is_named_with_a_near_miss(labels: Any, wanted: Any, message: str) -> None:
    obs = Observations.from_array(MATRIX, labels)
    with pytest.raises(LabelError, match=message):
        obs.row_index(wanted)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda o: o.subset([True, False]), DataError, r"a mask of length 5, but one of shape \(2,\) came"),
        (lambda o: o.subset([0, 5]), DataError, "measurements from 0 to 4 to keep, but 5 came"),
        (lambda o: o.subset(np.zeros(5, dtype=bool)), DataError, "at least one observation"),
        (lambda o: o.append("q", "x", 1), LabelError, "known row labels, but 'q' came"),
        (lambda o: o.append("a", "x", "one"), DataError, r"row 'a', column 'x' is 'one' \(text\)"),
        (lambda o: o.append("a", "x", INF), DataError, "row 'a', column 'x' is inf"),
        (lambda o: o.append(["a", "b"], ["x", "y"], 1), DataError, "2 rows, 2 columns and 1 values came"),
        (lambda o: o.extended(["a"]), DataError, "distinct row labels, but 'a' came twice"),
    ],
)
def test_changing_them_badly_is_refused(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(Observations.of(MATRIX, row_labels=ROWS, col_labels=COLS))
