from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxentry.campaign import settings as workable
from maxentry.campaign.settings import CHANGEABLE, Settings
from maxentry.errors import DataError, MaxentryError, ParameterError

labels = st.one_of(
    st.text(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.tuples(st.text(), st.integers()),
)


def again(settings: Settings) -> Settings:
    return Settings.from_json(json.loads(json.dumps(settings.to_json(), allow_nan=False)))


@given(st.lists(labels, min_size=2, max_size=6, unique=True), st.data())
def test_written_and_read_they_are_the_same(rows: list[Any], data: st.DataObject) -> None:
    shape = (len(rows), 3)
    mask = data.draw(st.none() | st.lists(st.booleans(), min_size=3 * len(rows), max_size=3 * len(rows)))
    mask = None if mask is None or not any(mask) else np.array(mask).reshape(shape)
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    costs = data.draw(
        st.sampled_from(
            [None, {"row": rng.random(len(rows)) + 1}, rng.random(shape) + 0.1, {"col": [1, 2, 3]}]
        )
    )
    made = Settings("a name", rows, 3, 1, mask=mask, costs=costs, transform="percent", range=(0, np.inf))  # type: ignore[arg-type]
    read = again(made)
    assert read == made
    assert read.rows == tuple(rows)
    assert [type(x) for x in read.rows] == [type(x) for x in rows]
    assert (read.mask is None) == (mask is None)
    if mask is not None:
        np.testing.assert_array_equal(read.mask, mask)
    i, j = np.arange(2), np.arange(2)
    np.testing.assert_array_equal(read.costs.at(i, j), made.costs.at(i, j))


def test_what_differs_is_not_equal() -> None:
    one = Settings("k", 3, 3, 1)
    assert one != Settings("k", 3, 3, 2)
    assert one != Settings("k", 3, 3, 1, mask=np.eye(3, dtype=bool))
    assert one != Settings("k", 3, 3, 1, costs={"row": [1, 1, 1]})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"rows": ["a"]}, "at least 2 rows"),
        ({"rows": ["a", "a"]}, "twice"),
        ({"rows": "abc"}, "sequence of row labels"),
        ({"rows": ["a", float("inf")]}, "finite"),
        ({"rows": ["a", object()]}, "text, numbers, dates or tuples"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"rank": "high"}, "rank"),
        ({"acquisition": "magic"}, "acquisition"),
        ({"noise": "pink"}, "noise"),
        ({"effects": 1}, "effects"),
        ({"priors": "mine"}, "priors"),
        ({"transform": "sqrt"}, "transform"),
        ({"range": (1, 1)}, "low below high"),
        ({"range": 3}, "low below high"),
        ({"range": (0, float("nan"))}, "low below high"),
        ({"lease": 0}, "lease"),
        ({"budget": float("inf")}, "budget"),
        ({"target_sd": True}, "target_sd"),
        ({"n_initial": -1}, "n_initial"),
        ({"per_row": 0}, "per_row"),
        ({"plates": "both"}, "plates"),
        ({"mask": np.ones((2, 3), dtype=bool)}, "mask of 3 x 3"),
        ({"mask": np.ones((3, 3))}, "booleans"),
        ({"mask": np.zeros((3, 3), dtype=bool)}, "something to measure"),
        ({"costs": {"colour": 1}}, "entry, row or col"),
        ({"costs": {"row": [1, 2]}}, r"row costs of shape \(3,\), got \(2,\)"),
        ({"costs": {"row": [1, 2, -1]}}, "from zero on"),
        ({"costs": {"row": [1, 2, float("nan")]}}, "finite"),
        ({"costs": {"row": [0, 1, 1]}}, "above zero, got an entry that costs 0"),
        ({"costs": {"row": {"a": 1}}}, "every row label"),
        ({"costs": "dear"}, "numbers as entry costs"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(MaxentryError, match=match) as caught:
        Settings(**({"name": "k", "rows": ["a", "b", "c"], "cols": 3, "seed": 1} | wrong))
    assert isinstance(caught.value, (ParameterError, DataError))


def test_costs_add_up_by_label() -> None:
    costs = {"row": {"b": 2.0, "a": 1.0}, "col": [0.0, 10.0]}
    settings = Settings("k", ["a", "b"], 2, 1, costs=costs)  # type: ignore[arg-type]
    np.testing.assert_array_equal(settings.costs.at(np.array([0, 1, 1]), np.array([0, 0, 1])), [1, 2, 12])


def test_only_what_may_change_does() -> None:
    settings = Settings("k", 3, 3, 1)
    assert workable.change_settings(settings, {"budget": 5}).budget == 5.0
    with pytest.raises(ParameterError, match="'seed'"):
        workable.change_settings(settings, {"seed": 2})
    with pytest.raises(ParameterError, match="budget"):
        workable.change_settings(settings, {"budget": -2})
    assert {"seed", "rows", "cols", "transform", "name", "n_initial"}.isdisjoint(CHANGEABLE)


def test_more_rows_are_available_and_cost_the_mean() -> None:
    mask = np.zeros((2, 3), dtype=bool)
    mask[0, 0] = True
    costs = {"row": [1.0, 3.0], "entry": np.full((2, 3), 5.0)}
    settings = Settings("k", ["a", "b"], 3, 1, mask=mask, costs=costs)  # type: ignore[arg-type]
    more = settings.extended("row", ["c", dt.date(2030, 1, 1)])
    assert more.shape == (4, 3)
    assert more.mask is not None
    np.testing.assert_array_equal(more.mask.sum(axis=1), [1, 0, 3, 3])
    np.testing.assert_array_equal(more.costs.at(np.arange(4), np.zeros(4, int)), [6, 8, 7, 7])
    assert settings.extended("row", ["c"], [9.0]).costs.at(np.array([2]), np.array([0])) == 14
    np.testing.assert_array_equal(
        settings.extended("col", ["z"]).costs.at(np.arange(2), np.full(2, 3)), [6, 8]
    )
    np.testing.assert_array_equal(
        settings.extended("col", ["z"], [1.0]).costs.at(np.zeros(2, int), [2, 3]), [6, 7]
    )
    free = Settings("k", ["a", "b"], 3, 1).extended("col", ["z"], [4.0])  # type: ignore[arg-type]
    np.testing.assert_array_equal(free.costs.at(np.zeros(2, int), [2, 3]), [1, 4])
    with pytest.raises(DataError, match="twice"):
        settings.extended("row", ["a"])
    for wrong, match in (
        ([-1.0], "from zero on"),
        ([float("nan")], "finite"),
        ([1.0, 2.0], "expected 1 new row costs"),
    ):
        with pytest.raises(ParameterError, match=match):
            settings.extended("row", ["c"], wrong)
    with pytest.raises(ParameterError, match="above zero, got an entry that costs 0"):
        Settings("k", 2, 2, 1, costs={"row": [1, 1]}).extended("row", ["c"], [0.0])  # type: ignore[arg-type]
    assert again(more) == more


def test_what_was_written_is_read_whatever_the_rules_are_by_now() -> None:
    written = Settings("k", 5, 4, 1, costs={"row": [1, 2, 3, 4, 5]}).to_json()  # type: ignore[arg-type]
    older = {name: x for name, x in written.items() if name not in ("plates", "noise", "costs")}
    strange = {"rank": 50, "acquisition": "abandoned", "lease": 1e300, "name": "", "rows": ["a", "a"]}
    read = Settings.from_json(older | strange)
    assert (read.rank, read.acquisition, read.lease, read.rows) == (50, "abandoned", 1e300, ("a", "a"))
    assert (read.plates, read.noise, read.costs.given) == (None, "auto", False)
    assert read.changed({"budget": 3.0, "plates": "rows"}).budget == 3.0
    assert read.extended("col", ["z"]).shape == (2, 5)


def test_a_frame_is_no_list_of_costs() -> None:
    frame = pd.DataFrame([3.0, 5.0], index=["a", "b"])
    with pytest.raises(ParameterError):
        Settings("k", ["a", "b"], 2, 1, costs={"row": frame})  # type: ignore[arg-type]
