"""What Observations refuse, and the sentence they refuse it with."""

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from maxentry import Sampling, _io, complete
from maxentry.errors import DataError, LabelError, SizeError
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
    "all missing": (np.full((3, 3), NAN), {}, "at least one observation that is not missing, got none"),
    "no triples": (([], [], []), SHAPE, "at least one observation that is not missing, got none"),
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
        "finite numbers, got inf at row 'b', column 'z'",
    ),
    "minus inf in triples": (([0, 1], [0, 3], [1, -INF]), SHAPE, "got -inf at row 1, column 3"),
    "too large an integer": (holed(10**400), {}, "got inf at row 1, column 2"),
    "text": (holed("n.d."), {}, r"expected real numbers, got 'n.d.' \(text\) at row 1, column 2"),
    "text among lists": ([[1, 2], [3, "x"]], {}, r"got 'x' \(text\) at row 1, column 1"),
    "a text array": (np.array([["1", "two"], ["3", "4"]]), {}, r"got 'two' \(text\) at row 0, column 1"),
    "numbers as text": (
        WIDE.astype(str).replace("-2.5", "-2.5%"),
        {},
        r"got '-2.5%' \(text\) at row 'b', column 'z'",
    ),
    "text in a wide frame": (
        WIDE.astype(object).replace(-2.5, "low"),
        {},
        r"got 'low' \(text\) at row 'b', column 'z'",
    ),
    "text in a wide polars frame": (
        pl.DataFrame({"g": ["a", "b"], "x": [1, 2], "y": [None, "low"]}),
        {},
        r"got 'low' \(text\) at row 'b', column 'y'",
    ),
    "text in a long frame": (
        pl.DataFrame({"row": ["a", "b"], "col": ["x", "y"], "value": ["1", "two"]}),
        {},
        r"got 'two' \(text\) at row 'b', column 'y'",
    ),
    "text in triples": (([0, 1], [0, 1], [1, "two"]), SHAPE, r"got 'two' \(text\) at row 1, column 1"),
    "dates": (
        np.full((2, 2), np.datetime64("2024-01-01")),
        {},
        r"got np.datetime64\(.2024-01-01.\) \(datetime64\) at row 0, column 0",
    ),
    "complex": (MATRIX.astype(complex), {}, r"got \(1\+0j\) \(complex\) at row 0, column 0"),
    "complex sparse": (sp.csr_array(np.eye(3) * 1j), {}, r"got 1j \(complex\) at row 0, column 0"),
    "a list in a cell": (holed([1]), {}, r"got \[1\] \(list\) at row 1, column 2"),
    "complex pandas": (
        pd.DataFrame({"x": [1, 2], "y": [1, 2j]}),
        {},
        r"got \(1\+0j\) \(complex\) at row 0, column 'y'",
    ),
    "row index outside": (([0, 3], [0, 1], TWO), SHAPE, "row indices from 0 to 2, got 3 for measurement 1"),
    "shape too small": (([0, 2], [0, 4], TWO), SHAPE, "column indices from 0 to 3, got 4 for measurement 1"),
    "negative index": (([0, -1], [0, 1], TWO), SHAPE, "row indices from 0 to 2, got -1 for measurement 1"),
    "fractional index": (
        ([0, 1], [0, 1.5], TWO),
        SHAPE,
        "column indices from 0 to 3, got 1.5 for measurement 1",
    ),
    "text index": ((["a", "b"], [0, 1], TWO), SHAPE, "row indices from 0 to 2, got 'a' for measurement 0"),
    "bool index": (
        (np.array([True, False]), [0, 1], TWO),
        SHAPE,
        "row indices from 0 to 2, got True for measurement 0",
    ),
    "missing index": (
        (np.ma.masked_array([0, 1], [0, 1]), [0, 1], TWO),
        SHAPE,
        "row indices from 0 to 2, got nan for measurement 1",
    ),
    "huge index": (
        (np.array([0, 2**63], dtype=np.uint64), [0, 1], TWO),
        SHAPE,
        f"got {2**63} for measurement 1",
    ),
    "no shape": (
        ([0, 1], [0, 1], TWO),
        {},
        "expected shape= or row_labels= with numbered rows, got neither",
    ),
    "no shape for columns": (
        (["a", "b"], [0, 1], TWO),
        {},
        "expected shape= or col_labels= with numbered columns",
    ),
    "lengths": (
        ([0, 1], [0], TWO),
        SHAPE,
        "as many rows as columns and values, got 2 rows, 1 columns and 2 values",
    ),
    "a scalar row": ((0, [0, 1], TWO), SHAPE, "expected a sequence of rows, got 0"),
    "text as rows": (("ab", [0, 1], TWO), SHAPE, "expected a sequence of rows, got 'ab'"),
    "two-dimensional rows": (
        (np.eye(2, dtype=int), [0, 1], TWO),
        SHAPE,
        "rows in one dimension, got an array of 2",
    ),
    "two-dimensional values": (
        ([0, 1], [0, 1], np.eye(2)),
        SHAPE,
        "values in one dimension, got an array of 2",
    ),
    "not a shape": (
        ([0, 1], [0, 1], TWO),
        {"shape": 3},
        "a shape of two whole numbers below 2\\*\\*31, got 3",
    ),
    "three sizes": (
        ([0, 1], [0, 1], TWO),
        {"shape": (3, 3, 3)},
        r"two whole numbers below 2\*\*31, got \(3, 3, 3\)",
    ),
    "a negative size": (([0, 1], [0, 1], TWO), {"shape": (3, -3)}, r"got \(3, -3\)"),
    "a fractional size": (([0, 1], [0, 1], TWO), {"shape": (2.5, 3)}, r"got \(2.5, 3\)"),
    "one row": (np.ones((1, 5)), {}, "at least 2 rows and 2 columns, got a matrix of 1 x 5"),
    "one column": (
        sp.csr_array(np.ones((5, 1))),
        {},
        "at least 2 rows and 2 columns, got a matrix of 5 x 1",
    ),
    "one row in a long frame": (
        pl.DataFrame({"row": [1, 1], "col": [1, 2], "value": TWO}),
        {},
        "got a matrix of 1 x 2",
    ),
    "one column in a frame": (pd.DataFrame({"x": [1, 2]}), {}, "got a matrix of 2 x 1"),
    "1-d": (np.ones(5), {}, "an array of 2 dimensions, got one of 1"),
    "3-d": (np.ones((2, 2, 2)), {}, "an array of 2 dimensions, got one of 3"),
    "a number": (3.0, {}, "an array of 2 dimensions, got float 3.0"),
    "None": (None, {}, "an array of 2 dimensions, got NoneType None"),
    "text instead of data": ("matrix.csv", {}, "an array of 2 dimensions, got str 'matrix.csv'"),
    "ragged": ([[1, 2], [3]], {}, "rows of equal length, got a ragged sequence"),
    "1-d sparse": (sp.coo_array([1, 2, 3]), {}, "a sparse matrix of 2 dimensions, got one of 1"),
    "empty pandas": (pd.DataFrame(), {}, "a frame with columns, got an empty frame"),
    "empty polars": (pl.DataFrame(), {}, "a frame with columns, got an empty frame"),
    "no lines": (pl.DataFrame({"x": [], "y": []}), {}, "got a matrix of 0 x 2"),
    "no lines in a long frame": (
        pl.DataFrame({"row": [], "col": [], "value": []}),
        {},
        "at least one observation",
    ),
    "too few labels": (MATRIX, AB, "expected 3 row labels, got 2"),
    "too many labels": (MATRIX, {"col_labels": list("wxyz")}, "expected 3 column labels, got 4"),
    "labels against a shape": ((["a", "b"], [0, 1], TWO), AB | SHAPE, "expected 3 row labels, got 2"),
    "text for labels": (MATRIX, {"row_labels": "abc"}, "a sequence of row labels, got 'abc'"),
    "duplicate labels": (
        MATRIX,
        {"row_labels": ["a", "b", "a"]},
        "distinct row labels, got 'a' twice, at 0 and 2",
    ),
    "duplicate index": (
        pd.DataFrame(MATRIX, index=["a", "b", "b"]),
        {},
        "distinct row labels, got 'b' twice, at 1 and 2",
    ),
    "duplicate columns": (
        pd.DataFrame(MATRIX, columns=["x", "y", "x"]),
        {},
        "distinct column labels, got 'x' twice, at 0 and 2",
    ),
    "duplicate in a column": (
        pl.DataFrame({"g": ["a", "a"], "x": [1, 2], "y": [1, 2]}),
        {},
        "distinct row labels, got 'a' twice",
    ),
    "missing label": (MATRIX, {"row_labels": ["a", None, "c"]}, "a label for every row, got None for row 1"),
    "missing in the index": (
        pd.DataFrame(MATRIX, index=["a", "b", NAN]),
        {},
        "a label for every row, got nan for row 2",
    ),
    "a list as label": (
        MATRIX,
        {"row_labels": ["a", "b", []]},
        r"hashable row labels, got \[\] \(list\)",
    ),
    "missing row in a long frame": (
        pl.DataFrame({"row": ["a", None], "col": [1, 2], "value": TWO}),
        {},
        "a row label with every measurement, got None for measurement 1",
    ),
    "missing column in a long frame": (
        pd.DataFrame({"row": [1, 2], "col": [NAN, 2], "value": TWO}),
        {},
        "a column label with every measurement, got nan for measurement 0",
    ),
    "a list as row": (
        pl.DataFrame({"row": [["a"], ["b"]], "col": [1, 2], "value": TWO}),
        {},
        r"hashable row labels, got \['a'\] \(list\)",
    ),
    "no value column": (
        pd.DataFrame({"row": [1, 2], "col": [1, 2], "x": [1, 1], "y": TWO}),
        {"row": "row"},
        r"a long frame with a column 'value' \(or its name in value=\), got 'row', 'col', 'x', 'y'",
    ),
    "an unknown name": (
        LONG,
        {"value": "score"},
        "one frame column named 'score', got the names 'row', 'col', 'value'",
    ),
    "an unknown row_column": (
        WIDE,
        {"row_column": "gene"},
        "one frame column named 'gene', got the names 'x', 'y', 'z'",
    ),
    "a name twice": (
        pd.DataFrame([[1, 2, 3, 4]], columns=["row", "col", "value", "value"]),
        {},
        "one frame column named 'value', got 2 of them",
    ),
    "options with an array": (
        MATRIX,
        {"shape": (3, 3)},
        "only row_labels, col_labels, se with an array, got shape",
    ),
    "options with a wide frame": (WIDE, AB, "only row_column, se with a wide frame, got row_labels"),
    "options with Observations": (
        Observations.of(MATRIX),
        AB,
        "no option with Observations, got row_labels",
    ),
}


@pytest.mark.parametrize(("data", "options", "message"), BAD.values(), ids=BAD)
def test_bad_data_raise_one_sentence_that_names_expected_and_got(
    data: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Observations.of(data, **options)
    text = str(caught.value)
    assert re.fullmatch(r"expected [^\n]*, got [^\n]*\.", text), text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((["a", "q"], ["x", "y"], TWO), "expected known row labels, got 'q'"),
        ((["a", "b"], ["x", 7], TWO), "expected known column labels, got 7"),
        (
            pd.DataFrame({"row": ["a", "aa"], "col": ["x", "y"], "value": TWO}),
            r"got 'aa' \(did you mean 'a'",
        ),
    ],
)
def test_a_label_outside_those_given_is_refused(data: Any, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        Observations.of(data, **AB, **XY)


def test_from_sparse_refuses_what_is_not_sparse() -> None:
    with pytest.raises(DataError, match=r"expected a scipy.sparse matrix, got ndarray"):
        Observations.from_sparse(MATRIX)


@pytest.mark.parametrize(
    ("labels", "wanted", "message"),
    [
        (
            ("alpha", "beta", 3),
            "alhpa",
            r"expected known row labels, got 'alhpa' \(did you mean 'alpha'\?\)\.",
        ),
        (("alpha", "beta", 3), ["beta", "3"], r"got '3' \(did you mean 3\?\)\."),
        (("alpha", "beta", 3), "qqqq", r"got 'qqqq'\."),
        ((340, 1341, 3), 1340, r"got 1340\."),
        (("alpha", "beta", 3), [5, 6, 7, 8, 9], r"got 5, 6, 7 and 2 more\."),
        (("alpha", "beta", 3), [["alpha"]], r"got \['alpha'\]"),
        (("alpha", "beta", 3), None, r"got None\."),
        (None, 3, r"expected row positions from 0 to 2, got 3\."),
        (None, [0, -1], r"got -1\."),
        (None, 1.5, r"got 1.5\."),
        (None, "a", r"got 'a'\."),
        (None, np.array([True, False, True]), r"got True, False, True\."),
        (None, ["a", 0], r"got 'a'\."),
    ],
)
def test_an_unknown_label_is_named_with_a_near_miss(labels: Any, wanted: Any, message: str) -> None:
    obs = Observations.from_array(MATRIX, labels)
    with pytest.raises(LabelError, match=message):
        obs.row_index(wanted)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda o: o.subset([True, False]), DataError, r"a mask of length 5, got one of shape \(2,\)"),
        (lambda o: o.subset([0, 5]), DataError, "measurements from 0 to 4 to keep, got 5"),
        (lambda o: o.subset(np.zeros(5, dtype=bool)), DataError, "at least one observation"),
    ],
)
def test_changing_them_badly_is_refused(act: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(Observations.of(MATRIX, row_labels=ROWS, col_labels=COLS))


def test_a_matrix_larger_than_the_memory_is_refused_before_memory_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_io, "_memory_limit", lambda: 1e9)
    coo = sp.coo_array(([1.0, 2.0], ([0, 1], [0, 1])), shape=(10**9, 2))
    dia = sp.dia_array(([[1.0, 2.0]], [0]), shape=(10**9, 2))  # whose conversion counts every row
    for declared in (coo, dia):
        for read in (Observations.from_sparse, Observations.of, complete):
            with pytest.raises(
                SizeError, match=r"got a matrix of 1000000000 x 2, which needs 24 GB of 1 GB\.$"
            ):
                read(declared)
    with pytest.raises(SizeError, match=r"2147483647 x 2"):
        Observations.of(([0], [1], [1.0]), shape=(2**31 - 1, 2))
    assert Observations.from_triples([0], [1], [1.0], shape=(10**7, 2)).shape == (10**7, 2)


def test_draws_larger_than_the_memory_are_refused_before_memory_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_io, "_memory_limit", lambda: 1e9)
    with pytest.raises(SizeError, match=r"draws of 2 x 100000000 x 3 x 1, which needs 4.8 GB of 1 GB"):
        complete(MATRIX, rank=1, sampling=Sampling("population", chains=2, draws=10**8), seed=1)


def test_the_memory_of_this_process_is_known() -> None:
    assert 2**26 < _io._memory_limit() < 2**50
