"""Frames in and out: what is written reads back, in either library, and neither library is needed."""

import datetime as dt
import sys
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.frames import Form, is_frame, is_long, make_frame, read_long, read_wide
from maxentry.observations import Observations

NAN = float("nan")
STEADY = settings(derandomize=True, deadline=None, max_examples=50)
KINDS = ["pandas", "polars"]
MATRIX = np.array([[1.0, NAN], [3.0, 4.0], [5.0, 6.5]])
LIBRARIES: dict[str, Any] = {"pandas": pd, "polars": pl}


def wide_frame(matrix: Any, row_labels: Any, col_labels: Any, kind: str) -> Any:
    return Form(kind, row_labels, col_labels).frame(matrix)


def long_frame(rows: Any, cols: Any, measures: Any, row_labels: Any, col_labels: Any, kind: str) -> Any:
    return Form(kind, row_labels, col_labels).entries(rows, cols, measures)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_frame_carries_its_labels(kind: str) -> None:
    frame = wide_frame(MATRIX, ("a", "b", "c"), ("x", "y"), kind)
    assert isinstance(frame, LIBRARIES[kind].DataFrame)
    if kind == "pandas":
        assert (frame.index.tolist(), frame.columns.tolist()) == (["a", "b", "c"], ["x", "y"])
        np.testing.assert_array_equal(frame.to_numpy(), MATRIX)
    else:
        assert frame.columns == ["row", "x", "y"]
        assert frame["row"].to_list() == ["a", "b", "c"]
        np.testing.assert_array_equal(frame.drop("row").to_numpy(), MATRIX)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "labels",
    [None, ("a", "b", "c"), (7, 3, 5), tuple(dt.date(2024, 1, day) for day in (1, 2, 3))],
    ids=["positions", "text", "integers", "dates"],
)
def test_a_wide_frame_reads_back(kind: str, labels: tuple[Any, ...] | None) -> None:
    obs = Observations.of(wide_frame(MATRIX, labels, ("x", "y"), kind))
    assert obs.frame_kind == kind
    assert obs.row_labels == labels
    assert obs.col_labels == ("x", "y")
    assert obs.values.tolist() == [1, 3, 4, 5, 6.5]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [(1, "a", 2.5), (("a", 1), ("a", 2), ("b", 1))], ids=["mixed", "tuples"])
def test_labels_of_any_type_can_be_written(kind: str, labels: tuple[Any, ...]) -> None:
    positions = np.array([2, 0])
    wide = wide_frame(MATRIX.T, ("x", "y"), labels, kind)
    long = long_frame(positions, positions, {"value": [1, 2]}, labels, labels, kind)
    tall = wide_frame(MATRIX, labels, ("x", "y"), kind)
    assert wide.shape == ((2, 3) if kind == "pandas" else (2, 4))
    assert long.shape == (2, 3)
    assert tall.shape == ((3, 2) if kind == "pandas" else (3, 3))
    if kind == "pandas":
        assert list(tall.index) == list(labels) == list(wide.columns)
        assert long["row"].tolist() == [labels[2], labels[0]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_frame_has_a_line_per_position(kind: str) -> None:
    rows, cols = np.array([2, 0, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    measures = {"mean": [0.5, 1.5, 2.5], "sd": np.ones(3)}
    frame = long_frame(rows, cols, measures, ("a", "b", "c"), None, kind)
    table = nw.from_native(frame)
    assert table.columns == ["row", "col", "mean", "sd"]
    assert table["row"].to_list() == ["c", "a", "a"]
    assert table["col"].to_list() == [1, 0, 1]
    assert table["mean"].to_list() == [0.5, 1.5, 2.5]


@STEADY
@given(st.sampled_from(KINDS), st.data())
def test_a_long_frame_reads_back(kind: str, draws: st.DataObject) -> None:
    labels = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=2, max_size=5, unique=True)
    row_labels, col_labels = draws.draw(labels), draws.draw(labels)
    m1, m2 = len(row_labels), len(col_labels)
    rows, cols = np.divmod(np.arange(m1 * m2), m2)
    order = np.array(draws.draw(st.permutations(range(m1 * m2))))
    values: NDArray[np.float64] = np.arange(m1 * m2) / 7
    frame = long_frame(rows[order], cols[order], {"value": values[order]}, row_labels, col_labels, kind)
    obs = Observations.of(frame, row_labels=row_labels, col_labels=col_labels)
    np.testing.assert_array_equal(obs.values, values)
    assert (obs.row_labels, obs.col_labels) == (tuple(row_labels), tuple(col_labels))


@pytest.mark.parametrize("kind", KINDS)
def test_frames_with_and_without_an_index(kind: str) -> None:
    plain = make_frame({"a": [1, 2], "b": np.array([0.5, 1.5])}, kind)
    assert list(plain.columns) == ["a", "b"]
    indexed = wide_frame([[1], [2]], ["u", "v"], ["row"], kind)
    if kind == "pandas":
        assert indexed.index.tolist() == ["u", "v"]
    else:
        assert indexed.columns == ["row_", "row"]
        assert indexed["row_"].to_list() == ["u", "v"]


def test_polars_needs_names_that_differ_as_text() -> None:
    with pytest.raises(DataError, match=r"differ as text for a polars frame, got '1' twice"):
        wide_frame(np.eye(2), None, (1, "1"), "polars")
    assert wide_frame(np.eye(2), None, (1, "1"), "pandas").columns.tolist() == [1, "1"]


def test_without_a_wish_the_first_library_installed_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(make_frame({"a": [1]}, None), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(make_frame({"a": [1]}, None), pl.DataFrame)
    with pytest.raises(MissingDependencyError, match="a frame needs pandas"):
        make_frame({"a": [1]}, "pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependencyError, match="a frame needs pandas or polars"):
        make_frame({"a": [1]}, None)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"kind 'pandas' or 'polars', got 'excel'"):
        make_frame({"a": [1]}, "excel")


def test_what_is_a_frame_and_what_is_long() -> None:
    long = {"row": [1], "column": [2], "value": [3], "note": ["x"]}
    assert [is_frame(x) for x in (pd.DataFrame(long), pl.DataFrame(long), pl.LazyFrame(long))] == [True] * 3
    assert [is_frame(x) for x in (np.eye(2), [[1]], "text", None, pd.Series([1]), {"a": [1]})] == [False] * 6
    assert is_long(pd.DataFrame(long))
    assert is_long(pl.DataFrame(long))
    assert is_long(nw.from_native(pl.DataFrame(long)))
    assert not is_long(pd.DataFrame(long).drop(columns="value"))


@pytest.mark.parametrize(
    ("frame", "rows", "cols"),
    [
        (pd.DataFrame({"n": ["a", "b"], "x": [1, 2]}), ["a", "b"], ["x"]),
        (pd.DataFrame({"n": ["a", "b"], "x": [1, 2]}, index=[5, 9]), ["a", "b"], ["x"]),
        (pd.DataFrame({"row": [8, 9], "x": [1, 2]}), [8, 9], ["x"]),
        (pd.DataFrame({"w": [8, 9], "x": [1, 2]}), None, ["w", "x"]),
        (pd.DataFrame({"w": [8, 9], "x": [1, 2]}, index=[5, 9]), [5, 9], ["w", "x"]),
        (pd.DataFrame({"w": [1, None], "x": [1, 2]}, dtype=object), None, ["w", "x"]),
        (pd.DataFrame({"w": [None, None], "x": [1, 2]}), None, ["w", "x"]),
        (pd.DataFrame({"w": pd.Categorical(["a", "b"]), "x": [1, 2]}), ["a", "b"], ["x"]),
        (pd.DataFrame([[1, 2], [3, 4]]), None, None),
        (pd.DataFrame([["a", 2], ["b", 4]]), ["a", "b"], [1]),
        (pl.DataFrame({"n": ["a", "b"], "x": [1, 2]}), ["a", "b"], ["x"]),
        (pl.DataFrame({"w": [8, 9], "x": [1, 2]}), None, ["w", "x"]),
        (nw.from_native(pd.DataFrame({"n": ["a", "b"], "x": [1, 2]})), ["a", "b"], ["x"]),
    ],
)
def test_where_the_labels_of_a_wide_frame_are(frame: Any, rows: Any, cols: Any) -> None:
    wide = read_wide(frame)
    assert (wide.form.row_labels, wide.form.col_labels) == (rows, cols)


def test_text_beside_a_labelled_index_is_not_taken_for_labels() -> None:
    frame = pd.DataFrame({"note": ["p", "q"], "x": [1, 2]}, index=["a", "b"])
    with pytest.raises(DataError, match=r"'p' \(text\) at row 'a', column 'note'"):
        Observations.of(frame)
    assert read_wide(frame, "note").form.row_labels == ["p", "q"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, None, True], dtype="boolean") * 1,
        pd.Series([1, None, 3], dtype="object"),
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        pd.arrays.SparseArray([1.0, NAN, 3.0]),
        pl.Series([1, None, 3]),
        pl.Series([1.0, NAN, 3.0]),
        pl.Series([1, None, 3], dtype=pl.Decimal(10, 2)),
        pl.Series([1, None, 3], dtype=pl.UInt8),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]} {column.dtype}",
)
def test_null_and_nan_are_missing_in_every_numeric_column(column: Any) -> None:
    library: Any = pl if isinstance(column, pl.Series) else pd
    frame = library.DataFrame({"row": ["a", "b", "c"], "col": ["x", "y", "x"], "value": column})
    values = Observations.of(frame).values
    assert values[0] == 1
    assert values.size == 2


def test_long_columns_named_otherwise() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0], "who": ["a", "b"], "what": ["x", "y"]})
    assert read_long(frame, None, None, None)[1:3] == (["a", "b"], ["x", "y"])
    assert read_long(frame, "what", None, None)[1:3] == (["x", "y"], ["a", "b"])
