"""What a cell says: limits and ranges as people write them, words for yes and no, grades, and what is refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxentry import Observations, cells
from maxentry.cells import YES_NO, Statement, Words, parse_measurement
from maxentry.errors import DataError, ParameterError
from maxentry.readings import parse_line

inf = math.inf
WHERE = "t.csv, line 2, column a"
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def parse(cell, comma="never", words=None):
    return parse_measurement(cell, WHERE, comma, words)


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [
        ("0.5", 0.5, 0.5),
        ("<0.5", -inf, 0.5),
        (" < 0.5 ", -inf, 0.5),
        ("<=0.5", -inf, 0.5),
        ("<= 0.5", -inf, 0.5),
        ("≤0.5", -inf, 0.5),
        ("<-1e-3", -inf, -0.001),
        (">100", 100.0, inf),
        (">= 100", 100.0, inf),
        ("≥100", 100.0, inf),
        ("0.5..0.7", 0.5, 0.7),
        ("0.5 .. 0.7", 0.5, 0.7),
        ("0..1", 0.0, 1.0),
        ("-3..-1", -3.0, -1.0),
        ("[0.5, 0.7]", 0.5, 0.7),
        ("[0.5,0.7]", 0.5, 0.7),
        ("[0.5; 0.7]", 0.5, 0.7),
        ("-inf..3", -inf, 3.0),
        ("2..2", 2.0, 2.0),
        (3, 3.0, 3.0),
    ],
)
def test_what_a_cell_says(cell, low, high):
    assert parse(cell) == Statement(low, high)


@pytest.mark.parametrize("cell", ["", "  ", "NA", "n/a", None, float("nan")])
def test_an_empty_cell_says_nothing(cell):
    assert parse(cell) is None


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [
        ("<0,5", -inf, 0.5),
        ("≥ 1,25", 1.25, inf),
        ("0,5..0,7", 0.5, 0.7),
        ("[0,5; 0,7]", 0.5, 0.7),
        ("[0,5, 0,7]", 0.5, 0.7),
        ("[0.5, 0.7]", 0.5, 0.7),
        ("0,593", 0.593, 0.593),  # thousands never begin with 0, nor have four digits before the comma
        ("1234,567", 1234.567, 1234.567),
        ("<\N{MINUS SIGN}0,125", -inf, -0.125),
    ],
)
@pytest.mark.parametrize("comma", ["always", "unambiguous"])
def test_a_decimal_comma_where_the_table_has_one(cell, low, high, comma):
    assert parse(cell, comma) == Statement(low, high)


FAILED = "or write failed there (maxentry fail)."


@pytest.mark.parametrize(
    ("cell", "comma", "words"),
    [
        ("0.5-0.7", "never", "'0.5-0.7' is not a number. Write a number, a limit as <0.5 or >100, or a range as 0.5"),
        ("~5", "never", "Write a number, a limit as <0.5"),
        ("1...2", "never", "'1...2' is not a number. Write"),
        ("<", "never", "'<' is no limit or range: '' is not a number."),
        ("<x", "never", "'<x' is no limit or range: 'x' is not a number."),
        ("<0,5", "never", "A decimal comma is read only where semicolons or tabs separate the cells."),
        ("<1,234", "unambiguous", "'1,234' may mean 1234 or 1.234."),
        ("0.7..0.5", "never", "the lower end comes first"),
        ("<inf", "never", "'<inf' has no finite end"),
        ("-inf..inf", "never", "has no finite end"),
        ("[0.5", "never", 'in CSV a cell with a comma needs quotes: "[0.5, 0.7]"'),
        ("[1,2,3]", "never", "no range of two numbers, like [0.5, 0.7]"),
        ("[1,2]", "always", "no range of two numbers, like [0,5; 0,7]"),
        ("[1,2,3,4]", "unambiguous", "no range of two numbers, like [0,5; 0,7]"),
        ("0.5 ± 0.1", "never", "a standard error goes in a column se"),
        ("many", "never", "'many' is not a number. Leave it empty if it was not measured. Grades need kind='grades'"),
        ("ca. 3", "never", "'ca. 3' is not a number. Write a number, a limit as <0.5 or >100, or a range as 0.5..0.7."),
        ("n.d.", "never", "'n.d.' is not a number. Leave it empty if it was not measured, write <0.5 if it was below"),
        ("ND", "never", f"write <0.5 if it was below a limit of 0.5, {FAILED}"),
        ("fehlgeschlagen", "never", f"Leave it empty if it was not measured, {FAILED}"),
        ("#WERT!", "never", f"Leave it empty if it was not measured, {FAILED}"),
        ("timeout", "never", f"{FAILED} Where the values are times, write > and the time at which"),
        ("n.b.", "never", "write <0.5 if it was below a limit of 0.5"),
        ("<LOD", "never", "Leave it empty if it was not measured, write <0.5"),
        ("-", "never", "For + and - say kind='yes/no' (--kind yes/no)."),
        ("pass", "never", "Values that are yes or no need kind='yes/no' (--kind yes/no)."),
        ("FALSE", "never", "Values that are yes or no need kind='yes/no' (--kind yes/no)."),
        ("A", "never", "(--kind grades --levels A,B,C)."),
        ("12 mg", "never", "Write the number alone, without its unit."),
        ("12%", "never", "Write the number alone, without its unit."),
        ("< 5 nM", "never", "Write the number alone, without its unit."),
        ("1.000", "only", "'1.000' may mean 1000 or 1,000, since other cells have decimal commas."),
        (">1.000", "only", "'1.000' may mean 1000 or 1,000, since other cells have decimal commas."),
    ],
)  # fmt: skip
def test_a_bad_cell_is_refused_with_what_to_write(cell, comma, words):
    with pytest.raises(DataError) as refusal:
        parse(cell, comma)
    assert str(refusal.value).startswith(f"{WHERE}: ")
    assert words in str(refusal.value)
    assert len(str(refusal.value)) <= 300


@given(NUMBERS, NUMBERS)
def test_a_statement_survives_being_written_and_read(a, b):
    low, high = sorted((a, b))
    for statement in (Statement(low, high), Statement(-inf, low), Statement(high, inf), Statement(a, a)):
        assert parse(str(statement)) == statement
        assert statement.low <= statement.value <= statement.high
        assert math.isfinite(statement.value)


@given(NUMBERS, NUMBERS)
def test_a_decimal_comma_survives_too(a, b):
    low, high = (str(x).replace(".", ",") for x in sorted((a, b)))
    expected = Statement(*sorted((a, b)))
    assert parse(f"[{low}; {high}]", "always") == expected
    assert parse(f"{low}..{high}", "always") == expected
    assert parse(f"<{low}", "always") == Statement(-inf, expected.low)


@given(st.text("0123456789.,;<>=≤≥[]- e±inf", max_size=12))
def test_any_text_is_a_measurement_or_refused_in_one_line(text):
    for comma in ("never", "unambiguous", "always"):
        message = refusal(text, comma)
        assert "\n" not in message
        assert len(message) <= 300


def refusal(text, comma):
    try:
        statement = parse(text, comma)
    except DataError as error:
        return str(error)
    assert statement is None or statement.low <= statement.high
    return ""


def test_a_range_of_the_largest_numbers_has_a_middle():
    assert math.isfinite(Statement(-1.7e308, 1.7e308).value)


# Words


@pytest.mark.parametrize(
    ("word", "code"),
    [(x, 1.0) for x in ("yes", "Yes", "Y", "TRUE", "t", "pass", "+", "1", "1.0", 1, 1.0, True, np.True_)]
    + [(x, 0.0) for x in ("no", "N", "False", "fail", "-", "\N{MINUS SIGN}", "0", 0, False)],
)
def test_yes_and_no(word, code):
    assert parse(word, words=YES_NO) == Statement(code, code)


@pytest.mark.parametrize("word", ["maybe", "2", "<1", 0.5])
def test_what_is_neither_yes_nor_no_is_refused(word):
    with pytest.raises(DataError, match=r"expected yes or no .* got"):
        parse(word, words=YES_NO)


def test_grades_by_given_levels():
    letters = Words.grades(["A", "B", "C"])
    assert [parse(x, words=letters).value for x in ("A", "b", " C ")] == [1.0, 2.0, 3.0]
    with pytest.raises(DataError, match="expected one of A, B, C, got 'D'"):
        parse("D", words=letters)
    stars = Words.grades([0.5, 1, 1.5])
    assert [parse(x, words=stars).value for x in ("0.50", "1", "1.5")] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("levels", [[], ["A"], ["A", "a"], ["A", ""]])
def test_levels_must_differ(levels):
    with pytest.raises(ParameterError, match="at least 2 levels with different names"):
        Words.grades(levels)


# Lines of long tables


def line(words=None, **cell):
    return [
        tuple(reading) for reading in parse_line(cell, lambda name: f"line 2, column {name}", words=words)
    ]


def test_a_line_of_value_and_ends():
    assert line(value="0.5") == [(0.5, 0.5, 0.0)]
    assert line(value="<0.5", se="0.1") == [(-inf, 0.5, 0.1)]
    assert line(value=None, low="1", high="2") == [(1.0, 2.0, 0.0)]
    assert line(value=None, low="1", high=None) == [(1.0, inf, 0.0)]
    assert line(low=None, high="5") == [(-inf, 5.0, 0.0)]
    assert line(value="5", low="", high="5") == [(-inf, 5.0, 0.0)]  # the value is the limit
    assert line(value="5", low="5", high="5") == [(5.0, 5.0, 0.0)]
    assert line(value="5", low=None, high=None) == [(5.0, 5.0, 0.0)]
    assert line(value=None, low=None, high=None, se="0.1") == []


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"value": "5", "low": "4", "high": "6"}, "rename low and high if they are a confidence interval"),
        ({"value": "<5", "low": "4", "high": None}, "expected a value, or its limits low and high, got both"),
        ({"value": None, "low": "6", "high": "4"}, "low at or below high"),
        ({"value": "1", "se": "-0.1"}, "line 2, column se: expected a standard error"),
        ({"value": "1", "se": "x"}, "line 2, column se: 'x' is not a number"),
    ],
)
def test_a_line_that_contradicts_itself_is_refused(cell, words):
    with pytest.raises(DataError) as refusal:
        line(**cell)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) <= 300


def test_successes_of_trials():
    assert line(YES_NO, successes="2", trials="3") == [(1, 1, 0), (1, 1, 0), (0, 0, 0)]
    assert line(YES_NO, successes=None, trials=None, value="yes") == [(1, 1, 0)]
    with pytest.raises(DataError, match="successes from 0 to trials"):
        line(YES_NO, successes="4", trials="3")
    for wrong in ("1.5", "two"):
        with pytest.raises(DataError, match=f"expected a whole number of successes, got '{wrong}'"):
            line(YES_NO, successes=wrong, trials="3")
    with pytest.raises(DataError, match="successes from 0 to trials"):
        line(YES_NO, successes="4", trials=None)


# Arrays and frames of text

TEXT = [["1.5", "<2", None], ["0.5..0.7", ">9", "NA"], ["3", "", "4"]]
LOW, HIGH = [1.5, -inf, 0.5, 9.0, 3.0, 4.0], [1.5, 2.0, 0.7, inf, 3.0, 4.0]


def check(data):
    assert data.low.tolist() == LOW
    assert data.high.tolist() == HIGH
    np.testing.assert_allclose(data.values, [1.5, 2.0, 0.6, 9.0, 3.0, 4.0])


def test_text_in_arrays_and_wide_frames():
    check(Observations.of(TEXT))
    check(Observations.of(np.array(TEXT, dtype=object)))
    check(Observations.of(np.array([[x or "" for x in row] for row in TEXT])))
    check(Observations.of(pd.DataFrame(TEXT, columns=list("xyz"), index=list("abc"))))
    columns = dict(zip("xyz", map(list, zip(*TEXT, strict=True)), strict=True))
    check(Observations.of(pl.DataFrame({"name": ["a", "b", "c"]} | columns)))
    check(Observations.of((list("aabbcc"), list("xyxyxz"), ["1.5", "<2", "0.5..0.7", ">9", "3", "4"])))


def test_numbers_in_text_are_plain_values():
    data = Observations.of(np.array([["1", "2.5"], ["", "4e-1"]]))
    assert data.is_plain
    assert data.values.tolist() == [1.0, 2.5, 0.4]


def test_words_in_frames():
    frame = pd.DataFrame({"x": ["yes", "no"], "y": [True, None]}, index=["a", "b"])
    assert Observations.of(frame, words=YES_NO).values.tolist() == [1.0, 1.0, 0.0]
    with pytest.raises(DataError, match=r"row 0, column 1: expected yes or no .* got 'perhaps'"):
        Observations.of([["yes", "perhaps"], ["no", "no"]], words=YES_NO)
    long = pd.DataFrame({"row": ["a", "b"], "col": ["x", "y"], "successes": [1, 0], "trials": [2, 1]})
    data = Observations.of(long, words=YES_NO)
    assert (data.rows.tolist(), data.values.tolist()) == ([0, 0, 1], [1.0, 0.0, 0.0])


def test_a_bad_text_in_a_frame_names_its_entry():
    with pytest.raises(
        DataError, match=r"row 'a', column 'x': '0.5-0.7' is not a number. Write a number, a limit as"
    ):
        Observations.of(pd.DataFrame({"x": ["0.5-0.7", "1"], "y": [1, 2]}, index=["a", "b"]))


@pytest.mark.parametrize("library", [pd, pl])
def test_long_frames_with_limits_and_standard_errors(library):
    columns = {"row": ["a", "a", "b"], "col": ["x", "y", "x"], "value": [1.0, None, 3.0]}
    more = {"low": [None, 2.0, None], "high": [None, None, None], "sem": [0.1, None, 0.3]}
    data = Observations.of(library.DataFrame(columns | more))
    assert (data.low.tolist(), data.high.tolist()) == ([1.0, 2.0, 3.0], [1.0, inf, 3.0])
    assert data.se.tolist() == [0.1, 0.0, 0.3]
    assert data.row_labels == ("a", "b")
    text = library.DataFrame(columns | {"value": ["1", ">2", "3"], "error": [0.1, None, 0.3]})
    named = Observations.of(text, se="error")
    assert (named.high.tolist(), named.se.tolist()) == (data.high.tolist(), data.se.tolist())
    without = Observations.of(library.DataFrame({"row": ["a", "b"], "col": ["x", "y"], "high": [5.0, 6.0]}))
    assert (without.low.tolist(), without.values.tolist()) == ([-inf, -inf], [5.0, 6.0])


def test_a_column_that_is_not_used_is_named_in_a_warning():
    columns = {"row": ["a", "b"], "col": ["x", "y"], "value": [1.0, 2.0]}
    with pytest.warns(
        UserWarning, match=r"2 columns are not used: 'Operator', 'batch'\. Used are row, col, value; columns"
    ):
        Observations.of(pd.DataFrame(columns | {"Operator": ["N", "N"], "batch": [1, 2]}))
    with pytest.raises(DataError, match="expected a column 'error' of standard errors"):
        Observations.of(pd.DataFrame(columns), se="error")


def test_the_sd_of_a_plate_is_that_of_a_prediction(recwarn):
    columns = {"id": [1, 2], "row": ["a", "b"], "col": ["x", "y"], "mean": [0.0, 0.0], "sd": [3.0, 3.0]}
    plate = pd.DataFrame(columns | {"gain": [0.1, 0.1], "cost": [1, 1], "value": [1.0, 2.0]})
    assert Observations.of(plate).se is None
    assert not recwarn.list


def test_standard_errors_of_arrays_and_triples():
    matrix = Observations.of(np.array([[1.0, np.nan], [2.0, 3.0]]), se=np.array([[0.1, 9.0], [0.2, 0.3]]))
    assert matrix.se.tolist() == [0.1, 0.2, 0.3]
    triples = Observations.of(([0, 1], [0, 1], [1.0, 2.0]), shape=(2, 2), se=[0.1, 0.2])
    assert triples.se.tolist() == [0.1, 0.2]
    with pytest.raises(DataError, match=r"se= of shape \(2, 2\)"):
        Observations.of(np.ones((2, 2)), se=np.ones((2, 3)))


def test_a_text_column_of_values_read_as_labels_gives_a_warning():
    frame = pl.DataFrame({"x": ["0.5", "<2"], "y": ["1", "2"], "z": ["3", "4"]})
    with pytest.warns(
        UserWarning, match="'x', is text and was read as row labels, though it looks like values"
    ):
        Observations.of(frame)
    assert cells.are_measurements(["1", "2"]) is False  # whole numbers name rows
    with pytest.warns(UserWarning, match="'x', is text and was read as row labels"):
        Observations.of(
            pl.DataFrame({"x": ["pass", "fail"], "y": ["pass", "pass"], "z": ["fail", None]}),
            words=cells.YES_NO,
        )


def test_a_grade_called_none_is_no_missing_cell():
    words = Words.grades(["none", "NA", "severe"])
    assert parse("None", words=words) == Statement(1.0, 1.0)
    assert parse("", words=words) is None
    array = np.array([["none", "severe"], ["na", ""]], dtype=object)
    values, _, _ = cells.read_cells(array, str, words)
    np.testing.assert_array_equal(values, [[1.0, 3.0], [2.0, np.nan]])
