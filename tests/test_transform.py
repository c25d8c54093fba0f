"""Scales of the model: there and back, as text and back, and what has no place on them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.transform_slow import forward_slow, inverse_slow

from maxentry.errors import DataError, ParameterError
from maxentry.transform import NONE, Scales, Transform, ValueMap, guess_ends, hint_kind

ALL = [Transform(), Transform("log"), Transform("logit"), Transform("logit", -1, 101)]
PERCENT = Transform("logit", 0, 100)
VALUES = {"none": [-1e9, -1.5, 0.0, 2.0, 1e200], "log": [1e-150, 1e-9, 1.0, 3.5, 1e150]}


def values_of(transform):
    inside = np.array([1e-9, 0.2, 0.5, 0.75, 1 - 1e-9])
    return VALUES.get(transform.kind, transform.low + (transform.high - transform.low) * inside)


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_both_ways_are_the_formulas_of_the_book(transform):
    y = np.array(values_of(transform))
    z = transform.forward(y)
    np.testing.assert_allclose(z, [forward_slow(transform, float(v)) for v in y], rtol=1e-12, atol=1e-12)
    x = np.linspace(-30, 30, 13)
    np.testing.assert_allclose(
        transform.inverse(x), [inverse_slow(transform, float(v)) for v in x], rtol=1e-12
    )


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_there_and_back_and_increasing(transform):
    y = np.array(values_of(transform))
    z = transform.forward(y)
    np.testing.assert_allclose(transform.inverse(z), y, rtol=1e-12)
    assert (np.diff(z) > 0).all()
    assert transform.inside(y).all()
    assert transform.inverse(z.reshape(1, 5)).shape == (1, 5)


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_slopes_are_those_of_differences(transform):
    z, h = np.linspace(-3, 3, 13), 1e-5
    differences = (transform.inverse(z + h) - transform.inverse(z - h)) / (2 * h)
    np.testing.assert_allclose(transform.slope(z), differences, rtol=1e-7)


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_a_unit_in_other_units_is_that_of_differences(transform):
    scales = Scales("columns", np.array([0.0, 2.0]), np.array([1.0, 7.0]))
    units, rows, cols = ValueMap(transform, scales), np.array([0, 0, 1]), np.array([0, 1, 1])
    y, h = transform.inverse([0.3, -0.8, 2.5]), 1e-6
    differences = (units.common(y + h, rows, cols) - units.common(y - h, rows, cols)) / (2 * h)
    np.testing.assert_allclose(units.common_unit(y, rows, cols), differences, rtol=1e-5)
    assert (ValueMap(transform).common_unit(y, rows, cols) == 1).all()


@pytest.mark.parametrize("transform", ALL, ids=str)
def test_far_out_on_the_scale_nothing_overflows_or_leaves_the_domain(transform):
    with np.errstate(all="raise"):
        y = transform.inverse(np.array([-1e6, -800.0, 800.0, 1e6]))
    assert np.isfinite(y).all()
    assert np.isfinite(y**2).all()
    if transform.kind == "logit":
        np.testing.assert_array_equal(y, [transform.low] * 2 + [transform.high] * 2)


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), z=st.floats(-1e3, 1e3))
def test_a_logit_never_leaves_its_interval(low, width, z):
    transform = Transform("logit", low, low + width)
    assert transform.low <= transform.inverse(z) <= transform.high
    assert Transform.parse(str(transform)) == transform


@pytest.mark.parametrize(
    ("text", "transform"),
    [
        ("none", NONE),
        ("log", Transform("log")),
        (" Log ", Transform("log")),
        ("logit", Transform("logit", 0, 1)),
        ("percent", PERCENT),
        ("logit(0, 100)", PERCENT),
        ("logit(-0.5,1e3)", Transform("logit", -0.5, 1000)),
        (PERCENT, PERCENT),
    ],
)
def test_texts_are_read(text, transform):
    assert Transform.parse(text) == transform


def test_texts_are_written_as_people_write_them():
    assert [str(t) for t in ALL] == ["none", "log", "logit", "logit(-1, 101)"]
    assert str(PERCENT) == "logit(0, 100)"
    assert str(Transform("logit", 0.1, 1e300)) == "logit(0.1, 1e+300)"


@pytest.mark.parametrize("wish", ["sqrt", "", "log(2)", "logit(1)", "logit(0, 1, 2)", None, 1, np.log])
def test_what_is_no_transform_is_refused_with_the_choices(wish):
    with pytest.raises(ParameterError, match=r"'none', 'log', 'logit'"):
        Transform.parse(wish)


@pytest.mark.parametrize("ends", ["(1, 0)", "(1, 1)", "(nan, 1)", "(0, inf)", "(a, b)", "(-1e308, 1e308)"])
def test_an_interval_that_is_none_is_refused(ends):
    with pytest.raises(ParameterError, match="low < high"):
        Transform.parse(f"logit{ends}")


def test_only_a_logit_has_an_interval():
    with pytest.raises(ParameterError, match="only a logit"):
        Transform("log", 0, 100)


@pytest.mark.parametrize(
    ("transform", "bad"),
    [
        ("none", np.inf),
        ("log", 0.0),
        ("log", -2.0),
        ("log", 1e151),
        ("logit", 0.0),
        ("logit", 1.0),
        ("percent", 100.5),
        ("percent", np.nan),
    ],
)
def test_a_value_without_a_place_is_named(transform, bad):
    scale = Transform.parse(transform)
    assert scale.inside([0.5, bad, 0.25]).tolist() == [True, False, True]
    with pytest.raises(DataError, match=re.escape(f"got {bad!r}".removesuffix(".0") + " at number 1")):
        scale.forward([0.5, bad, 0.25], lambda k: f"number {k}")
    with pytest.raises(DataError, match=", got "):
        scale.forward(bad)


def test_the_advice_on_a_value_at_the_end_of_the_interval_helps():
    with pytest.raises(DataError, match=r"transform='(logit\(-1, 101\))'") as refused:
        PERCENT.forward([100.0])
    advised = str(refused.value).split("'")[1]
    assert np.isfinite(Transform.parse(advised).forward([0.0, 100.0])).all()


@pytest.mark.parametrize(
    ("transform", "low", "high", "message"),
    [
        ("log", 0.0, np.inf, "got >0 at here: all values are there, so leave it empty"),
        ("log", -np.inf, 0.0, "got <0 at here: the scale has no values there, so leave the transform out"),
        ("percent", 0.0, 100.0, "got 0..100 at here: all values are there, so leave it empty"),
        (
            "percent",
            100.0,
            np.inf,
            "got >100 at here: the scale has no values there, so leave the transform out",
        ),
    ],
)
def test_limits_that_say_nothing_or_the_impossible_are_refused(
    transform: str, low: float, high: float, message: str
) -> None:
    scale = Transform.parse(transform)
    with pytest.raises(DataError, match=re.escape(f"expected limits within the {scale} scale, {message}")):
        scale.check_limits(np.array([low]), np.array([high]), lambda _: "here")
    scale.check_limits(np.array([0.0, 1.0]), np.array([5.0, np.inf]), lambda _: "here")


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0, 0, 12.5, 47, 99.5], (0, 100)),
        ([55, 71, 99.2, 99.6, 100], (0, 100)),
        ([0.1, 0.35, 0.995, 1, 1], (0, 1)),
        ([0.0, 0.0, 0.001, 0.92], (0, 1)),
        ([0, 0, 12.5, 47, 101], None),  # beyond
        ([-0.1, 0, 0, 12.5, 99.5], None),
        ([0, 0, 0, 12.5, 47], None),  # counts or concentrations
        ([1, 2, 3, 4, 5, 5, 5], None),  # stars
        ([0, 12.5, 47, 93, 99.5], None),  # two near an end are chance
        ([0, 1, 1, 0, 1], None),  # yes and no
        ([5.2, 6.1, 9.9], None),
        ([], None),
    ],
)
def test_a_scale_with_ends_is_guessed_from_values_near_them(values, ends):
    assert guess_ends(values) == ends


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ([0, 1] * 4, '0 or 1; if they mean no and yes, say kind="yes/no"'),
        ([1, 2, 3, 4, 5] * 4, 'among 1,2,3,4,5; if they are grades, say kind="grades", levels=[1,2,3,4,5]'),
        ([0.5, 1, 1.5, 2] * 4, 'among 0.5,1,1.5,2; if they are grades, say kind="grades", levels=[0.5,1,1.5,2]'),
        ([0, 1] * 3, ""),  # too few to tell
        ([0, 1, 2, 3, 5] * 9, ""),  # 4 is left out: counts
        ([3, 4, 5, 6] * 9, ""),
        ([1, 2] * 9, ""),
        (list(range(11)) * 9, ""),
        ([1.0, 1.25, 1.5] * 9, ""),
        ([0.3, 0.7, 1.1] * 9, ""),
        ([], ""),
    ],
)  # fmt: skip
def test_numbers_that_may_be_answers_or_grades_are_named(values, hint):
    assert hint_kind(values) == (f"all values are {hint}" if hint else "")
    shell = hint_kind(values, shell=True)
    assert bool(shell) == bool(hint)
    assert ("--kind" in shell) == bool(hint)
