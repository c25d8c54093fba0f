"""A first column that numbers the rows is values unless said otherwise, and a warning says so."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maxentry import complete
from maxentry.observations import Observations

FRAMES: list[Callable[[dict[str, Any]], Any]] = [pd.DataFrame, pl.DataFrame]
both = pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars"])
IDS = [101, 107, 103, 104]
FRACTIONS = {"a": [0.5, 1.5, 2.5, 3.0], "b": [1, 2, 2, 4]}
HOLES = {"a": [1, None, 2, 3], "b": [1, 2, 2, 4]}


def read(data: Any, **said: Any) -> tuple[Observations, list[str]]:
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = Observations.of(data, **said)
    return found, [str(one.message) for one in given if issubclass(one.category, UserWarning)]


@both
@pytest.mark.parametrize("rest", [FRACTIONS, HOLES], ids=["fractions", "holes"])
def test_numbers_of_rows_that_are_read_as_values_are_warned_of_once(
    frame: Callable[[dict[str, Any]], Any], rest: dict[str, Any]
) -> None:
    found, said = read(frame({"id": IDS, **rest}))
    assert found.shape == (4, 3)
    (sentence,) = said
    assert "the first column, 'id'," in sentence
    assert "read as a column of values" in sentence
    assert "row_column='id'" in sentence


@both
def test_what_the_warning_advises_gives_labels_and_silence(frame: Callable[[dict[str, Any]], Any]) -> None:
    data = frame({"id": IDS, **FRACTIONS})
    as_text = (
        data.assign(id=data["id"].astype(str)) if frame is pd.DataFrame else data.cast({"id": pl.String})
    )
    ways = [(data, {"row_column": "id"}, IDS), (as_text, {}, [str(i) for i in IDS])]
    if frame is pd.DataFrame:
        ways.append((data.set_index("id"), {}, IDS))
    for given, option, labels in ways:
        found, said = read(given, **option)
        assert (found.shape, list(found.row_labels or ()), said) == ((4, 2), labels, [])


@both
@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1, 2, 3, 5], "b": [4, 2, 2, 1]},  # ratings: all alike whole numbers
        {"a": [3, 2, 3, 5], **{"b": FRACTIONS["a"]}},  # not distinct
        {"a": [1, None, 3, 4], "b": FRACTIONS["a"]},  # a hole
        {"a": [1.0, 2.0, 3.0, 4.0], "b": FRACTIONS["a"]},  # not typed as whole numbers
        {"b": FRACTIONS["a"], "id": IDS},  # not the first
    ],
    ids=["ratings", "repeated", "hole", "floats", "last"],
)
def test_columns_of_values_are_not_warned_of(
    frame: Callable[[dict[str, Any]], Any], columns: dict[str, Any]
) -> None:
    assert read(frame(columns))[1] == []


def test_a_frame_with_labels_of_its_own_is_not_warned_of() -> None:
    data = pd.DataFrame({"count": IDS, **FRACTIONS}, index=["p", "q", "r", "s"])
    assert read(data)[1] == []
    assert read(pl.DataFrame({"row": IDS, **FRACTIONS}))[1] == []


def test_complete_warns_too() -> None:
    columns = {f"c{j}": np.arange(6) * 0.3 + j for j in range(3)}
    with pytest.warns(UserWarning, match="the first column, 'id'"):
        complete(pl.DataFrame({"id": range(6), **columns}), rank=0, seed=1, progress=False)
