"""Observations: every way in gives the same measurements, and what cannot be used is named."""

import datetime as dt
import pickle
import subprocess
import sys
import tracemalloc
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from maxentry.observations import Observations

NAN = float("nan")
STEADY = settings(derandomize=True, deadline=None, max_examples=50)
INF = float("inf")
MATRIX = np.array([[1.0, NAN, 0.0], [NAN, 5.0, -2.5], [7.0, NAN, NAN]])
TRIPLES = ([0, 0, 1, 1, 2], [0, 2, 1, 2, 0], [1.0, 0.0, 5.0, -2.5, 7.0])
ROWS, COLS = ("a", "b", "c"), ("x", "y", "z")


def triples(obs: Observations) -> list[tuple[int, int, float]]:
    return list(zip(obs.rows.tolist(), obs.cols.tolist(), obs.values.tolist(), strict=True))


def by_label(obs: Observations) -> list[tuple[Any, Any, float]]:
    rows = obs.row_labels or range(obs.shape[0])
    cols = obs.col_labels or range(obs.shape[1])
    return sorted((rows[i], cols[j], v) for i, j, v in triples(obs))


SAME_WITHOUT_LABELS: dict[str, Any] = {
    "array": MATRIX,
    "fortran order": np.asfortranarray(MATRIX),
    "float32": MATRIX.astype(np.float32),
    "objects": MATRIX.astype(object),
    "objects with None": np.where(np.isnan(MATRIX), None, MATRIX.astype(object)),
    "nested lists": [[1, None, 0], [NAN, 5, -2.5], [Decimal(7), None, pd.NA]],
    "masked": np.ma.masked_array(np.nan_to_num(MATRIX, nan=INF), np.isnan(MATRIX)),
    "masked objects": np.ma.masked_array(
        np.where(np.isnan(MATRIX), "?", MATRIX.astype(object)), np.isnan(MATRIX)
    ),
    "coo": sp.coo_array((TRIPLES[2], TRIPLES[:2]), shape=(3, 3)),
    "coo matrix": sp.coo_matrix((TRIPLES[2], TRIPLES[:2]), shape=(3, 3)),
    "csr": sp.coo_array((TRIPLES[2], TRIPLES[:2]), shape=(3, 3)).tocsr(),
    "csc": sp.coo_array((TRIPLES[2], TRIPLES[:2]), shape=(3, 3)).tocsc(),
    "pandas without labels": pd.DataFrame(MATRIX),
    "polars lazily": pl.DataFrame(
        {"row": [0, 1, 2], "x": MATRIX[:, 0], "y": MATRIX[:, 1], "z": MATRIX[:, 2]}
    ).lazy(),
}


@pytest.mark.parametrize("data", SAME_WITHOUT_LABELS.values(), ids=SAME_WITHOUT_LABELS)
def test_every_container_gives_the_same_measurements(data: Any) -> None:
    obs = Observations.of(data)
    assert obs.shape == (3, 3)
    assert triples(obs) == list(zip(*TRIPLES, strict=True))
    assert (obs.rows.dtype, obs.cols.dtype, obs.values.dtype) == (np.int32, np.int32, np.float64)


LONG = {
    "row": ["a", "a", "b", "b", "c", "c"],
    "col": ["x", "z", "y", "z", "x", "y"],
    "value": [1.0, 0.0, 5.0, -2.5, 7.0, None],
}
SAME_WITH_LABELS: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "array": (MATRIX, {"row_labels": ROWS, "col_labels": np.array(COLS)}, None),
    "sparse": (
        SAME_WITHOUT_LABELS["csr"],
        {"row_labels": pd.Index(ROWS), "col_labels": pl.Series(COLS)},
        None,
    ),
    "triples": ((LONG["row"], LONG["col"], LONG["value"]), {}, None),
    "triples, labels given": (
        (LONG["row"], LONG["col"], LONG["value"]),
        {"row_labels": "cba", "col_labels": "zyx"},
        None,
    ),
    "pandas index": (pd.DataFrame(MATRIX, index=list(ROWS), columns=list(COLS)), {}, "pandas"),
    "pandas nullable": (pd.DataFrame(MATRIX, list(ROWS), list(COLS)).convert_dtypes(), {}, "pandas"),
    "pandas pyarrow": (pd.DataFrame(MATRIX, list(ROWS), list(COLS)).astype("double[pyarrow]"), {}, "pandas"),
    "pandas text column": (
        pd.DataFrame({"gene": ROWS, "x": [1, NAN, 7], "y": [None, 5, None], "z": [0, -2.5, None]}),
        {},
        "pandas",
    ),
    "pandas row_column": (
        pd.DataFrame({"x": [1, NAN, 7], "gene": ROWS, "y": [None, 5, None], "z": [0, -2.5, None]}),
        {"row_column": "gene"},
        "pandas",
    ),
    "polars text column": (
        pl.DataFrame(
            {"gene": ROWS, "x": [1, None, 7], "y": [NAN, 5.0, None], "z": [0, -2.5, NAN]}, strict=False
        ),
        {},
        "polars",
    ),
    "polars row_column": (
        pl.DataFrame(
            {"x": [1, None, 7], "gene": ROWS, "y": [NAN, 5.0, None], "z": [0, -2.5, NAN]}, strict=False
        ),
        {"row_column": "gene"},
        "polars",
    ),
    "pandas long": (pd.DataFrame(LONG), {}, "pandas"),
    "pandas long, column": (pd.DataFrame(LONG).rename(columns={"col": "column"}), {}, "pandas"),
    "pandas long in the index": (pd.DataFrame(LONG).set_index(["row", "col"]), {}, "pandas"),
    "pandas long, categories": (pd.DataFrame(LONG).astype({"row": "category"}), {}, "pandas"),
    "polars long": (pl.DataFrame(LONG), {}, "polars"),
    "polars long, named": (
        pl.DataFrame(LONG).rename({"row": "g", "col": "d", "value": "v"}).with_columns(extra=1),
        {"row": "g", "col": "d", "value": "v"},
        "polars",
    ),
    "pyarrow long": (pl.DataFrame(LONG).to_arrow(), {}, None),
}


@pytest.mark.parametrize(("data", "options", "kind"), SAME_WITH_LABELS.values(), ids=SAME_WITH_LABELS)
def test_every_labelled_container_gives_the_same_measurements(
    data: Any, options: dict[str, Any], kind: str | None
) -> None:
    if isinstance(options.get("row_labels"), str):
        options = {name: list(text) for name, text in options.items()}
    obs = Observations.of(data, **options)
    expected = [("a", "x", 1.0), ("a", "z", 0.0), ("b", "y", 5.0), ("b", "z", -2.5), ("c", "x", 7.0)]
    assert by_label(obs) == expected
    assert obs.frame_kind == kind
    assert set(obs.row_labels or ()) == set(ROWS)


def test_three_columns_by_any_name_are_a_long_frame_in_order() -> None:
    frame = pl.DataFrame({"user": [1, 2, 2], "film": ["x", "y", "x"], "stars": [5, 4, 3]})
    obs = Observations.from_long(frame)
    assert by_label(obs) == [(1, "x", 5.0), (2, "x", 3.0), (2, "y", 4.0)]
    stacked = pd.DataFrame(MATRIX, list(ROWS), list(COLS)).stack().rename("value").reset_index()
    assert by_label(Observations.from_long(stacked)) == by_label(Observations.of(pd.DataFrame(LONG)))


def test_labels_come_in_order_of_appearance_or_as_given() -> None:
    frame = pd.DataFrame({"row": ["b", "a", "b"], "col": [20, 10, 10], "value": [1, 2, 3]})
    obs = Observations.of(frame)
    assert (obs.row_labels, obs.col_labels) == (("b", "a"), (20, 10))
    fixed = Observations.of(frame, row_labels=["a", "b", "never"], col_labels=[10, 20])
    assert (fixed.shape, fixed.row_labels) == ((3, 2), ("a", "b", "never"))
    assert triples(fixed) == [(0, 0, 2.0), (1, 0, 3.0), (1, 1, 1.0)]


def test_a_row_whose_values_are_all_missing_is_still_a_row() -> None:
    frame = pl.DataFrame({"row": ["a", "b", "c"], "col": ["x", "y", "x"], "value": [1.0, 2.0, None]})
    obs = Observations.of(frame)
    assert (obs.n, obs.row_labels) == (2, ("a", "b", "c"))


@pytest.mark.parametrize("form", ["triples", "coo", "long"])
def test_replicates_each_count_in_the_order_they_came(form: str) -> None:
    rows, cols, values = [1, 0, 1, 1], [1, 0, 1, 0], [5.0, 1.0, 3.0, 2.0]
    obs = {
        "triples": lambda: Observations.of((rows, cols, values), shape=(2, 2)),
        "coo": lambda: Observations.of(sp.coo_array((values, (rows, cols)), shape=(2, 2))),
        "long": lambda: Observations.of(
            pd.DataFrame({"row": rows, "col": cols, "value": values}), row_labels=[0, 1], col_labels=[0, 1]
        ),
    }[form]()
    assert triples(obs) == [(0, 0, 1.0), (1, 0, 2.0), (1, 1, 5.0), (1, 1, 3.0)]
    assert (obs.n, obs.observed.nnz, obs.density) == (4, 3, 0.75)
    assert (obs.row_counts.tolist(), obs.col_counts.tolist()) == ([1, 3], [2, 2])
    assert "4 measurements, 1 of them again, 75%" in repr(obs)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr", "dok"])
def test_a_stored_zero_is_data_and_an_unstored_entry_is_missing(form: str) -> None:
    data = sp.coo_array(([3, 4, 5], ([0, 1, 2], [0, 1, 2])), shape=(3, 3)).asformat(form)
    if form == "dok":
        dict.__setitem__(data._dict, (1, 1), 0)
    else:
        data.data[data.data == 4] = 0
    obs = Observations.of(data)
    assert (1, 1, 0.0) in triples(obs)
    assert obs.n == 3


def test_a_sparse_bool_or_integer_matrix_and_a_stored_nan() -> None:
    flags = Observations.of(sp.csr_array(np.array([[True, False], [False, True]])))
    assert flags.values.tolist() == [1.0, 1.0]
    holes = Observations.of(sp.coo_array(([1.0, NAN], ([0, 1], [0, 1])), shape=(2, 2)))
    assert triples(holes) == [(0, 0, 1.0)]


@pytest.mark.parametrize(
    "labels",
    [
        (3, "a", 2.5),
        (dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 3)),
        (("a", 1), ("a", 2), ("b", 1)),
        (10, 20, 30),
    ],
    ids=["mixed", "dates", "tuples", "integers"],
)
def test_labels_of_any_hashable_type_are_kept_and_found(labels: tuple[Any, ...]) -> None:
    obs = Observations.from_array(MATRIX, labels, labels)
    assert obs.row_labels == labels
    assert [type(x) for x in obs.row_labels or ()] == [type(x) for x in labels]
    assert obs.row_index(labels[1]).shape == ()
    assert int(obs.row_index(labels[1])) == 1
    assert obs.col_index(list(labels[::-1])).tolist() == [2, 1, 0]
    assert obs.col_index(labels[:2]).tolist() == [0, 1]
    assert Observations.of(pd.DataFrame(MATRIX, index=pd.Index(list(labels), tupleize_cols=False))).n == 5


def test_dates_in_a_pandas_or_numpy_index() -> None:
    days = pd.date_range("2024-01-01", periods=3)
    obs = Observations.of(pd.DataFrame(MATRIX, index=days))
    assert int(obs.row_index(days[2])) == 2
    assert obs.row_index(days).tolist() == [0, 1, 2]
    stamps = days.to_numpy()
    assert Observations.from_array(MATRIX, stamps).row_index(stamps[1:]).tolist() == [1, 2]


def test_looking_up_positions_where_there_are_no_labels() -> None:
    obs = Observations.from_array(MATRIX)
    assert obs.row_index(np.array([[0, 1], [2, 2]])).tolist() == [[0, 1], [2, 2]]
    assert int(obs.row_index(np.int64(2))) == 2
    assert obs.col_index(range(3)).tolist() == [0, 1, 2]
    assert obs.col_index(np.array(1)).shape == ()
    assert obs.col_index(pd.Series([2, 0])).tolist() == [2, 0]


def test_a_subset() -> None:
    obs = Observations.of(MATRIX, row_labels=ROWS, col_labels=COLS)
    kept = obs.subset(obs.values > 0)
    assert by_label(kept) == [("a", "x", 1.0), ("b", "y", 5.0), ("c", "x", 7.0)]
    assert (kept.shape, kept.row_labels) == (obs.shape, obs.row_labels)
    assert triples(obs.subset([4, 0])) == [(0, 0, 1.0), (2, 0, 7.0)]


def test_observations_do_not_share_memory_with_what_came_in() -> None:
    rows, cols = np.array(TRIPLES[0], dtype=np.int32), np.array(TRIPLES[1], dtype=np.int32)
    values = np.array(TRIPLES[2])
    obs = Observations.of((rows, cols, values), shape=(3, 3))
    rows[:], cols[:], values[:] = 0, 0, 99.0
    assert triples(obs) == list(zip(*TRIPLES, strict=True))


def test_observations_stay_what_they_are() -> None:
    obs = Observations.of(MATRIX)
    assert Observations.of(obs) is obs
    assert obs.by_row.values is obs.values
    assert obs.by_col.source is obs.by_col.source
    with pytest.raises(AttributeError):
        obs.shape = (2, 2)  # type: ignore[misc]
    assert triples(pickle.loads(pickle.dumps(obs))) == triples(obs)


def test_repr_says_what_is_there() -> None:
    text = repr(Observations.of(MATRIX, row_labels=ROWS))
    assert "3 x 3, 5 measurements, 55.6% of entries observed" in text
    assert "rows 'a' ... 'c'" in text
    assert "columns 0 ... 2" in text
    assert "values -2.5 to 7, mean 2.1" in text


def test_large_and_sparse_takes_memory_in_proportion_to_the_measurements() -> None:
    n, m = 200_000, 100_000
    generator = np.random.default_rng(0)
    rows, cols = generator.integers(0, m, (2, n))
    tracemalloc.start()
    obs = Observations.of((rows, cols, generator.normal(size=n)), shape=(m, m))
    halves, density = (obs.by_row, obs.by_col), obs.density
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all(half.values.size == n for half in halves)
    assert density == pytest.approx(n / m**2, rel=1e-3)
    assert peak < 150 * n + 50 * m  # a byte for each entry would be 10 GB


@pytest.mark.process
def test_importing_is_light() -> None:
    """SciPy and Numba are what it is made of; the rest is loaded by who brings or wants it."""
    heavy = ("pandas", "polars", "narwhals", "sklearn", "arviz", "matplotlib", "rich")
    code = (
        "import sys, numpy as np; from maxentry.observations import Observations;"
        f"Observations.of(np.eye(3)).by_col; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert done.stdout.strip() == "[]"


cells = st.one_of(st.just(NAN), st.floats(-1e6, 1e6))
matrices = hnp.arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(2, 7)), elements=cells).filter(
    lambda a: bool((~np.isnan(a)).any())
)


@st.composite
def measurements(draw: st.DrawFn) -> tuple[tuple[int, int], list[int], list[int], list[float]]:
    shape = draw(st.tuples(st.integers(2, 6), st.integers(2, 6)))
    one = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1), st.floats(-9, 9))
    rows, cols, values = zip(*draw(st.lists(one, min_size=1, max_size=40)), strict=True)
    return shape, list(rows), list(cols), list(values)


@STEADY
@given(matrices)
def test_a_dense_matrix_comes_back(array: NDArray[np.float64]) -> None:
    obs = Observations.of(array)
    back = np.full(obs.shape, NAN)
    back[obs.rows, obs.cols] = obs.values
    np.testing.assert_array_equal(back, array)
    np.testing.assert_array_equal(obs.observed.toarray(), ~np.isnan(array))


@STEADY
@given(measurements())
def test_the_two_halves_hold_every_measurement_in_its_place(
    data: tuple[tuple[int, int], list[int], list[int], list[float]],
) -> None:
    shape, rows, cols, values = data
    obs = Observations.of((rows, cols, values), shape=shape)
    came = list(zip(rows, cols, values, strict=True))
    assert triples(obs) == sorted(came, key=lambda t: t[:2])  # sorted is stable
    for half, own, other, m in ((obs.by_row, 0, 1, shape[0]), (obs.by_col, 1, 0, shape[1])):
        assert half.indptr[0] == 0
        assert half.indptr[-1] == obs.n
        for i in range(m):
            part = slice(half.indptr[i], half.indptr[i + 1])
            mine = [t for t in triples(obs) if t[own] == i]
            assert half.index[part].tolist() == [t[other] for t in mine]
            assert half.values[part].tolist() == [t[2] for t in mine]
        np.testing.assert_array_equal(half.values, obs.values[half.source])
    assert (obs.by_col.indptr.dtype, obs.by_col.index.dtype) == (np.int64, np.int32)


@STEADY
@given(measurements(), st.data())
def test_a_mask_parts_the_measurements(
    data: tuple[tuple[int, int], list[int], list[int], list[float]], draws: st.DataObject
) -> None:
    shape, rows, cols, values = data
    obs = Observations.of((rows, cols, values), shape=shape)
    mask = np.array(draws.draw(st.lists(st.booleans(), min_size=obs.n, max_size=obs.n)))
    if mask.all() or not mask.any():
        return
    kept, held = obs.subset(mask), obs.subset(np.flatnonzero(~mask))
    assert kept.n + held.n == obs.n
    assert sorted(triples(kept) + triples(held)) == sorted(triples(obs))


@STEADY
@given(
    st.lists(st.one_of(st.text(max_size=3), st.integers(-5, 50)), min_size=2, max_size=8, unique=True),
    st.data(),
)
def test_looking_a_label_up_inverts_the_labels(labels: list[Any], draws: st.DataObject) -> None:
    obs = Observations.from_array(np.ones((len(labels), 2)), row_labels=labels)
    wanted = draws.draw(st.lists(st.sampled_from(labels), max_size=9))
    assert [labels[i] for i in obs.row_index(wanted)] == wanted


@STEADY
@given(measurements(), st.sampled_from(["pandas", "polars"]))
def test_a_long_frame_of_either_library_gives_what_triples_give(
    data: tuple[tuple[int, int], list[int], list[int], list[float]], kind: str
) -> None:
    shape, rows, cols, values = data
    make: Any = {"pandas": pd, "polars": pl}[kind]
    frame = make.DataFrame({"row": rows, "col": cols, "value": values})
    long = Observations.of(frame, row_labels=range(shape[0]), col_labels=range(shape[1]))
    assert triples(long) == triples(Observations.of((rows, cols, values), shape=shape))
