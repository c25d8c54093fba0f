"""Kinds of measurement in frames and arrays: booleans, categories, counts, ends and standard errors in wide frames."""

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maxentry import Observations, Sampling, complete
from maxentry.errors import DataError, ParameterError
from maxentry.observations import find_kind

QUICK = Sampling("population", 2, 2, 2, 2, 1)
ROWS, COLS = list("abc"), list("xy")
VALUES = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
WIDE = pd.DataFrame(VALUES, index=ROWS, columns=COLS)
LINES = {"row": ["a", "a", "b", "b"], "col": ["x", "y", "x", "y"]}
ORDER = ["poor", "fair", "good"]
GRADES = ["poor", "good", "fair", None]


def fit(data: Any, **options: Any) -> Any:
    return complete(data, 0, sampling=QUICK, seed=1, progress=False, **options)


# Counts


def counted(library: Any = pd, **more: Any) -> Any:
    return library.DataFrame(LINES | {"successes": [1, 2, 0, 1], "trials": [2, 2, 2, 2]} | more)


@pytest.mark.parametrize("library", [pd, pl])
def test_counts_need_yes_and_no(library: Any) -> None:
    with pytest.raises(DataError, match=r"successes and trials, which need kind='yes/no' \(--kind yes/no\)"):
        Observations.of(counted(library))
    assert fit(counted(library), kind="yes/no").observations.n == 8


def test_counts_beside_values_of_another_kind_are_named_as_not_used() -> None:
    with pytest.warns(UserWarning, match="2 columns are not used: 'successes', 'trials'"):
        data = Observations.of(counted(value=[1.0, 2.0, 3.0, 4.0]))
    assert data.values.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (counted(se=[0.1, 0.1, None, 0.1]), "se: expected no standard error beside counts, got 0.1"),
        (counted().drop(columns="trials"), "expected successes from 0 to trials, .* got 1 of none"),
        (counted().drop(columns="successes"), "expected successes from 0 to trials, .* got none of 2"),
    ],
)
def test_counts_that_cannot_be_used_are_refused(frame: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fit(frame, kind="yes/no")


# Standard errors and ends of wide frames


@pytest.mark.parametrize(
    "se",
    [
        pd.DataFrame([[0.6, 0.5], [0.4, 0.3], [0.2, 0.1]], index=ROWS[::-1], columns=COLS[::-1]),
        np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    ],
)
def test_standard_errors_of_a_wide_frame(se: Any) -> None:
    data = Observations.of(WIDE, se=se)
    assert data.frame_kind == "pandas"
    np.testing.assert_array_equal(data.se, [0.1, 0.2, 0.4, 0.5, 0.6])


def test_standard_errors_of_a_wide_polars_frame() -> None:
    frame = pl.DataFrame({"id": [1, 2, 3], "x": [1.0, None, 4.0], "y": [2.0, 3.0, 5.0]})
    se = pl.DataFrame({"id": [3, 2, 1], "x": [0.5, 0.3, 0.1], "y": [0.6, 0.4, 0.2]})
    data = Observations.of(frame, row_column="id", se=se)
    np.testing.assert_array_equal(data.se, [0.1, 0.2, 0.4, 0.5, 0.6])


@pytest.mark.parametrize(
    ("data", "se", "message"),
    [
        (WIDE, WIDE.iloc[:2], "expected every row label in the frame, got none for 'c'"),
        (WIDE, np.ones((2, 2)), r"expected se= of shape \(3, 2\), like the values, got \(2, 2\)"),
        (WIDE, 0.1, "One standard error for all is a column or matrix that repeats it"),
        (WIDE.assign(z=1.0), "z", "expected a long frame with a column 'value'"),
        (
            pd.DataFrame(LINES | {"value": 1.0}),
            WIDE,
            "expected the name of a column in se= with a long frame",
        ),
    ],
)
def test_standard_errors_that_do_not_fit_are_refused(data: Any, se: Any, message: str) -> None:
    with pytest.raises((DataError, ParameterError), match=message):
        Observations.of(data, se=se)


LOWER = WIDE.replace(2.0, -np.inf)


@pytest.mark.parametrize("pair", [(LOWER, WIDE.iloc[::-1]), (LOWER, VALUES), (LOWER.to_numpy(), WIDE)])
def test_a_pair_of_wide_frames_holds_ends(pair: Any) -> None:
    data = Observations.of(pair)
    assert (data.frame_kind, data.row_labels, data.col_labels) == ("pandas", tuple(ROWS), tuple(COLS))
    np.testing.assert_array_equal(data.low, [1.0, -np.inf, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(data.high, [1.0, 2.0, 3.0, 4.0, 5.0])


def test_a_pair_of_frames_with_other_labels_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected every row label in the frame, got none for 'c'"):
        Observations.of((WIDE, WIDE.iloc[:2]))


# Booleans are yes and no


FLAGS = [[True, False], [False, None], [True, True]]
HOLES = pd.DataFrame(FLAGS, index=ROWS, columns=COLS)


@pytest.mark.parametrize(
    "data",
    [
        HOLES,
        HOLES.astype("boolean"),
        pd.DataFrame(np.array([[True, False], [False, True]])),
        pd.DataFrame(LINES | {"value": [True, False, True, None]}),
        pd.DataFrame(LINES | {"value": [True, False, True, None]}).set_index(["row", "col"]),
        pl.DataFrame({"name": ROWS, "x": [True, None, False], "y": [True, False, False]}),
        np.array([[True, False], [False, True]]),
        FLAGS,
        ([0, 0, 1], [0, 1, 1], [True, False, True]),
    ],
)
def test_booleans_are_yes_and_no(data: Any) -> None:
    assert find_kind(data, None, None) == ("yes/no", None)
    options = {"shape": (2, 2)} if isinstance(data, tuple) else {}
    posterior = fit(data, **options)
    assert posterior.likelihood.kind == "yes/no"
    assert ((posterior.arrays.mean > 0) & (posterior.arrays.mean < 1)).all()


@pytest.mark.parametrize(
    "data", [VALUES, WIDE, HOLES.assign(z=[1.0, 0.0, 1.0]), (VALUES, VALUES), [[1, 0], [0, 1]], None]
)
def test_all_else_is_numbers(data: Any) -> None:
    assert find_kind(data, None, None) == ("numbers", None)


def test_booleans_may_be_called_numbers() -> None:
    assert fit(HOLES, kind="numbers").likelihood.kind == "numbers"


# Categories with an order are the levels of grades


def categorical(ordered: bool = True) -> Any:
    return pd.Categorical(GRADES, categories=ORDER, ordered=ordered)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"x": categorical(), "y": categorical()[::-1]}, index=list("abcd")),
        pd.DataFrame(LINES | {"value": categorical()}),
        pl.DataFrame(
            {"name": list("abcd"), "x": GRADES, "y": GRADES},
            schema_overrides={"x": pl.Enum(ORDER), "y": pl.Enum(ORDER)},
        ),
    ],
)
def test_ordered_categories_are_levels(data: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = fit(data, kind="grades")
    assert posterior.likelihood.levels == tuple(ORDER)
    assert fit(data, kind="grades", levels=[*ORDER, "best"]).likelihood.levels[-1] == "best"


def test_categories_without_an_order_are_no_levels() -> None:
    frame = pd.DataFrame({"x": categorical(False), "y": categorical(False)}, index=list("abcd"))
    assert find_kind(frame, "grades", None) == ("grades", None)
    with pytest.raises(DataError, match="Grades need kind='grades' and their order in levels"):
        fit(frame, kind="grades")


# Words are refused with advice


@pytest.mark.parametrize("cell", ["pass", "yes", "TRUE", "+"])
def test_words_of_yes_and_no_are_refused_with_advice(cell: str) -> None:
    frame = pd.DataFrame({"x": [cell, "1", "0"], "y": ["1", "0", cell]}, index=ROWS)
    expected = f"got {cell!r} (text) at row 'a', column 'x'. Values that are yes or no need kind='yes/no'"
    with pytest.raises(DataError, match=re.escape(expected)) as refusal:
        Observations.of(frame)
    assert "long frame" not in str(refusal.value)


def test_a_decimal_comma_in_a_text_frame_is_read_where_it_can_mean_nothing_else() -> None:
    cells = ["0,5", "<0,5", "[0,5; 0,7]", "0,5..0,7", "[0.5,0.7]", "-1,25"]
    frame = pd.DataFrame({"x": cells, "y": ["1"] * 6}, index=[*"abcdef"])
    read = Observations.of(frame)
    column = read.cols == 0
    assert read.low is not None
    assert read.high is not None
    assert read.low[column].tolist() == [0.5, -np.inf, 0.5, 0.5, 0.5, -1.25]
    assert read.high[column].tolist() == [0.5, 0.5, 0.7, 0.7, 0.7, -1.25]


@pytest.mark.parametrize("cell", ["1,234", "<1,234"])
def test_a_comma_before_three_digits_in_a_text_frame_is_refused(cell: str) -> None:
    frame = pd.DataFrame({"x": [cell, "1", "0"], "y": ["1", "0", "2"]}, index=ROWS)
    with pytest.raises(DataError, match=r"^row 'a', column 'x': .*'1,234' may mean 1234 or 1\.234\. "):
        Observations.of(frame)


def test_text_in_a_wide_frame_may_be_that_of_a_long_one() -> None:
    frame = pd.DataFrame({"x": ["s1", "s2", "s3"], "y": ["1", "0", "2"]}, index=ROWS)
    with pytest.raises(DataError, match=r"--levels A,B,C\)\. 2 more are alike\. If this is a long frame"):
        Observations.of(frame)
