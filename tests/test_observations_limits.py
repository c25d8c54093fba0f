"""Limits and standard errors of measurements: what Observations keep, and what they refuse."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from maxentry import Observations
from maxentry.completion import nuclear_norm
from maxentry.errors import DataError

inf, nan = np.inf, np.nan
ENTRIES = ((3, 2), [2, 0, 1, 0], [1, 1, 0, 0])
LIMITED = {"low": [-inf, 1.0, 3.0, nan], "high": [5.0, inf, 4.0, nan]}


def limited(values=(nan, nan, nan, 7.0), **beside):
    return Observations(*ENTRIES, values, **(LIMITED | beside))


def test_ends_are_sorted_with_the_values():
    data = limited(se=[0.1, nan, 0.3, 0.0])
    np.testing.assert_array_equal(data.values, [7.0, 1.0, 3.5, 5.0])
    np.testing.assert_array_equal(data.low, [7.0, 1.0, 3.0, -inf])
    np.testing.assert_array_equal(data.high, [7.0, inf, 4.0, 5.0])
    np.testing.assert_array_equal(data.se, [0.0, 0.0, 0.3, 0.1])
    assert not data.is_plain


def test_a_table_of_plain_values_has_no_ends():
    plain = Observations(*ENTRIES, [1.0, 2.0, 3.0, 4.0])
    assert plain.low is plain.high is plain.se is None
    assert plain.is_plain
    same = Observations(*ENTRIES, [1.0, 2.0, 3.0, 4.0], low=[1, 2, 3, 4], high=[1, 2, 3, 4], se=[0] * 4)
    assert same.is_plain
    assert repr(same) == repr(plain)


def test_a_given_value_between_the_ends_is_kept():
    assert limited((4.0, 2.0, 3.25, 7.0)).values.tolist() == [7.0, 2.0, 3.25, 4.0]


def test_a_subset_takes_its_ends_along():
    data = limited(se=[0.1, nan, 0.3, 0.0])
    part = data.subset([2, 3])
    assert (part.low.tolist(), part.high.tolist(), part.se.tolist()) == ([3.0, -inf], [4.0, 5.0], [0.3, 0.1])
    assert data.subset([0]).is_plain
    again = replace(data, frame_kind="pandas")
    np.testing.assert_array_equal(again.low, data.low)
    np.testing.assert_array_equal(again.se, data.se)


def test_missing_measurements_are_dropped_with_their_ends():
    data = limited((nan, nan, nan, nan), se=[0.1, 0.2, 0.3, 0.4])
    assert data.n == 3
    assert (data.low.tolist(), data.se.tolist()) == ([1.0, 3.0, -inf], [0.2, 0.3, 0.1])


def test_the_summary_counts_limits():
    lines = repr(limited(se=[0.1, nan, 0.3, 0.0])).splitlines()
    assert lines[-2:] == [
        "  1 below a limit, 1 above one, 1 between two",
        "  standard errors 0.1 to 0.3 of 2 of them",
    ]


def test_a_pair_of_matrices_holds_lower_and_upper_ends():
    lower, upper = np.array([[1.0, -inf], [2.0, nan]]), np.array([[1.0, 0.5], [3.0, nan]])
    data = Observations.of((lower, upper), row_labels=["a", "b"])
    assert (data.rows.tolist(), data.cols.tolist()) == ([0, 0, 1], [0, 1, 0])
    assert (data.low.tolist(), data.high.tolist()) == ([1.0, -inf, 2.0], [1.0, 0.5, 3.0])
    assert data.values.tolist() == [1.0, 0.5, 2.5]
    assert data.row_labels == ("a", "b")
    lists = Observations.of((lower.tolist(), upper.tolist()))
    assert lists.high.tolist() == data.high.tolist()


def test_a_tuple_of_two_rows_is_still_a_matrix():
    assert Observations.of(((1.0, 2.0), (3.0, 4.0))).values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert Observations.of((np.array([1.0, 2.0]), np.array([3.0, 4.0]))).is_plain


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        (
            {"low": [6.0, 1.0, 3.0, nan]},
            "a lower end at or below the upper one, .* got 6 and 5 at row 2, column 1",
        ),
        (
            {"low": [-inf, -inf, 3.0, nan]},
            "at least one of them finite .* got -inf and inf at row 0, column 1",
        ),
        ({"low": [-inf, nan, 3.0, nan]}, "got nan and inf at row 0, column 1"),
        ({"high": [-inf, inf, 4.0, nan]}, "got -inf and -inf at row 2, column 1"),
        ({"se": [0.1, -1.0, 0.0, 0.0]}, "finite and not negative, got -1 at row 0, column 1"),
        ({"se": [0.1, inf, 0.0, 0.0]}, "finite and not negative, got inf at row 0, column 1"),
        ({"se": [0.1, 0.1]}, "se= of length 4"),
        ({"high": None}, "low= and high= together"),
        ({"low": ["x", 1.0, 3.0, nan]}, r"got 'x' \(text\) at row 2, column 1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_entry(beside, message):
    with pytest.raises(DataError) as refusal:
        limited(**beside)
    assert re.search(message, str(refusal.value))
    assert len(str(refusal.value)) <= 300


def test_a_value_outside_its_ends_is_refused():
    with pytest.raises(DataError, match="between its ends -inf and 5, got 6 at row 2, column 1"):
        limited((6.0, nan, nan, 7.0))


def test_a_pair_of_unlike_matrices_is_refused():
    with pytest.raises(DataError, match=r"got shapes \(2, 2\) and \(2, 3\)"):
        Observations.of((np.zeros((2, 2)), np.zeros((2, 3))))
    with pytest.raises(DataError, match="got nan and 1 at row 0, column 0"):
        Observations.of((np.array([[nan, 0.0], [0.0, 0.0]]), np.ones((2, 2))))


@pytest.mark.parametrize(("beside", "words"), [(LIMITED, "limits"), ({"se": [0.1] * 4}, "standard errors")])
def test_what_cannot_use_limits_refuses_them(beside, words):
    data = Observations(*ENTRIES, [nan if beside is LIMITED else 1.0] * 3 + [7.0], **beside)
    with pytest.raises(DataError, match=f"got {words}"):
        nuclear_norm(data, 1.0)


def test_lower_and_upper_are_limits_unless_there_are_values():
    ends = {"lower": [None, 1.0, 3.0], "upper": [5.0, None, 4.0]}
    places = {"row": ["a", "a", "b"], "col": ["x", "y", "x"]}
    told = Observations.of(pd.DataFrame(places | ends))
    assert (told.low.tolist(), told.high.tolist()) == ([-inf, 1.0, 3.0], [5.0, inf, 4.0])
    with pytest.warns(UserWarning, match="2 columns are not used: 'lower', 'upper'"):  # a confidence interval
        plain = Observations.of(pd.DataFrame(places | {"value": [2.0, 3.0, 3.5]} | ends))
    assert plain.low is None
    with pytest.warns(UserWarning, match="2 columns are not used: 'lower', 'upper'"):
        both = Observations.of(
            pd.DataFrame(places | {"low": [1.0, 2.0, 3.0], "high": [2.0, 3.0, 4.0]} | ends)
        )
    assert both.low.tolist() == [1.0, 2.0, 3.0]
