"""Values that nobody should give are refused in one line, before a compiled loop sees them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from maxentry import Observations, Sampling, complete
from maxentry.acquisition.problem import Costs, Problem
from maxentry.belief import Entries
from maxentry.cells import parse_flag, parse_id, parse_number
from maxentry.errors import (
    LONGEST,
    CampaignError,
    DataError,
    MaxentryError,
    ParameterError,
    is_choice,
    is_flag,
    is_positive,
    is_whole,
)
from maxentry.frames import is_number, is_sequence, to_float, to_list
from maxentry.model.priors import InverseGamma
from maxentry.wording import as_text, printable, show

DENSE = np.array([[1.0, 0, 2], [0.5, 3, 0], [0, 4, 5], [2.5, 6, 1.5]])
HUGE = 10**5000  # Python refuses to write so many digits


class Hostile:
    """Every question to it is an error."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__

    def __float__(self) -> float:
        raise RuntimeError("no number")


# Sparse matrices whose parts contradict each other


def broken(kind: str, part: str, value: Any) -> Any:
    matrix = sparse.csr_array(DENSE).asformat(kind)
    setattr(matrix, part, np.array(value))
    return matrix


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    "indptr",
    [
        [0, 2, 1, 6, 9], [0, 2, 4, 6, 10**6], [0, 2**30, 4, 6, 9], [-3, 2, 4, 6, 9], [1, 2, 4, 6, 9], [0, 2, 4],
        [0] * 50, [], [[0, 2, 4, 6, 9]], [0.0, 2, 4, 6, 9], [np.nan] * 5,
    ],
)  # fmt: skip
def test_an_index_of_a_sparse_matrix_that_cannot_be_is_refused(kind: str, indptr: list[Any]) -> None:
    with pytest.raises(DataError, match=r"sparse matrix|stored values"):
        Observations.of(broken(kind, "indptr", indptr))


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("indices", [[9] * 9, [-1] * 9, [2**40] * 9, [0, 1], [0.5] * 9])
def test_indices_outside_a_sparse_matrix_are_refused(kind: str, indices: list[Any]) -> None:
    with pytest.raises(DataError):
        Observations.of(broken(kind, "indices", indices))


def test_a_list_of_lists_whose_rows_and_values_differ_is_refused() -> None:
    matrix = sparse.lil_array(DENSE)
    matrix.rows[0] = [0, 1, 2, 0, 1, 2]
    with pytest.raises(DataError, match="as many values as columns"):
        Observations.of(matrix)


def test_a_broken_sparse_matrix_is_not_taken_for_labels_or_text() -> None:
    matrix = broken("csr", "indptr", [0, 2**30, 4, 6, 9])
    assert not is_sequence(matrix)
    assert "csr" in as_text(matrix).lower() or "Compressed" in as_text(matrix)
    with pytest.raises(DataError, match="sequence of row labels"):
        Observations.of(DENSE, row_labels=matrix)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sparse_matrices_are_read_as_before(kind: str) -> None:
    found = Observations.of(sparse.csr_array(DENSE).asformat(kind))
    expected = [(i, j, DENSE[i, j]) for i, j in zip(*np.nonzero(DENSE), strict=True)]
    stored = list(zip(found.rows.tolist(), found.cols.tolist(), found.values.tolist(), strict=True))
    assert [entry for entry in stored if entry[2] != 0] == expected  # blocks store zeros, too


def test_values_after_the_end_of_a_sparse_matrix_are_left_out() -> None:
    matrix = sparse.csr_array(DENSE)
    end = int(matrix.indptr[-1])
    matrix.data, matrix.indices = np.append(matrix.data, 99.0), np.append(matrix.indices, 0)
    assert Observations.of(matrix).n == end
    assert 99.0 not in Observations.of(matrix).values


# Numbers, ids and flags


NUMBERS: list[tuple[Any, float | None]] = [
    (1, 1.0), (True, 1.0), (Decimal("1.5"), 1.5), (Fraction(1, 2), 0.5), (np.float32(2), 2.0), (HUGE, np.inf),
    (-HUGE, -np.inf), (Decimal("1E+999999"), np.inf), (Fraction(HUGE, 3), np.inf), (Decimal("sNaN"), None),
    (1j, None), ("1", None), (b"1", None), (None, None), (float, None), (Hostile(), None), (np.array(1.0), None),
    (np.timedelta64(1, "s"), None), (np.datetime64("2024-01-01"), None), ([1], None),
]  # fmt: skip


@pytest.mark.parametrize(("x", "number"), NUMBERS, ids=range(len(NUMBERS)))
def test_numbers_pass_one_door(x: Any, number: float | None) -> None:
    assert to_float(x) == number
    assert is_number(x) or number is None
    if number is None and x is not None and not isinstance(x, str):
        with pytest.raises(DataError):
            parse_number(x, "here")


CELLS = [HUGE, Hostile(), [1], {"a": 1}, np.zeros((2, 2)), b"\xff", 10**30, 1.5, True, "x" * 9000]


@pytest.mark.parametrize("cell", CELLS, ids=range(len(CELLS)))
def test_ids_and_flags_are_refused_in_a_line(cell: Any) -> None:
    for parse in (parse_id, parse_flag)[: 1 if cell is True else 2]:  # True is a flag
        with pytest.raises(DataError) as caught:
            parse(cell, "line 1")
        assert len(str(caught.value)) <= LONGEST


def test_a_number_of_many_digits_is_read_in_linear_time() -> None:
    with pytest.raises(DataError, match="is not a number"):
        parse_number("1" * 500_000 + "x", "here")


def test_dates_in_nanoseconds_are_no_numbers() -> None:
    with pytest.raises(DataError, match=r"expected real numbers, got np\.datetime64"):
        Observations.of(np.full((3, 3), np.datetime64("2024-01-01", "ns")))


def test_what_breaks_while_it_is_read_is_refused() -> None:
    def items() -> Any:
        yield 1
        raise RuntimeError("broken\nhere")

    with pytest.raises(DataError, match=r"RuntimeError: broken here"):
        to_list(items())


def test_a_frame_that_is_no_column_of_labels_is_refused() -> None:
    dates = pl.DataFrame({"a": [dt.date(2024, 2, 29)], "b": [True]})  # polars cannot make an array of both
    with pytest.raises(DataError, match="sequence of rows"):
        Observations.of((dates, [0], [1.0]), shape=(3, 3))


# Options


@pytest.mark.parametrize("k", range(8))
def test_other_types_are_no_options(k: int) -> None:
    x = [DENSE, sparse.csr_array(DENSE), [1], "1", None, Hostile(), 1j, np.datetime64("NaT")][k]
    assert not is_whole(x)
    assert not is_whole(x, 1)
    assert not is_positive(x)
    assert not is_choice(x, ("a", "b"))
    assert not is_flag(x)


def test_options() -> None:
    assert [is_whole(x) for x in (np.int8(3), HUGE, True, 3.0)] == [True, True, False, False]
    assert [is_whole(x, 3) for x in (3, 2)] == [True, False]
    positive = (1e-300, 1, np.float32(2), np.int8(3))
    assert all(is_positive(x) for x in positive)
    assert not any(is_positive(x) for x in (HUGE, np.nan, np.inf, 0))
    assert is_choice("a", ("a", "b"))
    assert [is_flag(x) for x in (np.True_, 0, 2)] == [True, True, False]


# Words


ODD = [HUGE, Hostile(), "x" * 9000, "a\nb\x00\x1b[31m\ud800", np.zeros((99, 99)), [[1] * 999] * 99]


@pytest.mark.parametrize("x", ODD, ids=range(len(ODD)))
def test_anything_is_shown_in_a_line(x: Any) -> None:
    for text in (show(x), printable(as_text(x))):
        assert text.isprintable()
    assert len(show(x)) <= 80


@pytest.mark.parametrize("kind", [DataError, CampaignError])
@pytest.mark.parametrize("hint", ["", "Do this.", "Do this. " * 40])
def test_an_error_is_one_line_of_300_characters(kind: type[MaxentryError], hint: str) -> None:
    error = kind("expected a\n" + "b" * 5000 + "\x1b[31m, got \x00.", hint=hint)
    assert len(str(error)) <= LONGEST
    assert str(error).isprintable()
    assert error.message.startswith("expected a b")
    assert str(kind("expected a, got b.")) == "expected a, got b."


def test_a_duration_is_no_parameter_of_a_prior() -> None:
    with pytest.raises(ParameterError, match="must be a positive finite number"):
        InverseGamma(np.timedelta64(5, "s"), 1.0)  # type: ignore[arg-type]


def test_a_duration_is_no_rank_seed_or_number_of_draws() -> None:
    second = np.timedelta64(1, "s")  # an integer by its class
    for option in ("rank", "seed", "threads"):
        with pytest.raises(MaxentryError, match="whole number"):
            complete(DENSE, **{"rank": 1} | {option: second})
    with pytest.raises(ParameterError, match="whole number"):
        Sampling("population", draws=second)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="expected measurements from 0 to 11"):
        Observations.of(DENSE).subset([second])


def test_what_is_kept_of_observations_is_one_list() -> None:
    with pytest.raises(DataError, match="ragged"):
        Observations.of(DENSE).subset([[3, 0.5], object(), 3])


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_dates_are_no_costs(kind: str) -> None:
    dates = np.arange(1, 13).reshape(4, 3).astype(kind)
    with pytest.raises(ParameterError, match="expected numbers as entry costs"):
        Problem((4, 3), Entries.none(), costs=Costs(dates))
