"""A user's matrix: what is measured where nobody says, and what is refused."""

import numpy as np
import pytest

from maxentry.errors import DataError, MissingDependencyError, ParameterError, RankError
from maxentry.studies.compare import Sizes, compare_cells, sizes_of
from maxentry.studies.strategies import smurff_peer

FULL = np.random.default_rng(1).normal(size=(20, 10))


def holes(share: float, shape: tuple[int, int] = (20, 10)) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.where(rng.random(shape) < share, np.nan, rng.normal(size=shape))


def test_sizes_where_nobody_says() -> None:
    assert sizes_of(FULL) == Sizes(20, 60, 6)
    known = np.isfinite(half := holes(0.7)).sum()
    assert sizes_of(half) == Sizes(20, int(0.6 * known) - 20, -(-(int(0.6 * known) - 20) // 10))


def test_sizes_as_they_are_asked_for() -> None:
    assert sizes_of(FULL, 5) == Sizes(5, 15, 2)
    assert sizes_of(FULL, 30, 100, 7) == Sizes(30, 100, 7)
    assert sizes_of(FULL, 30, 169) == Sizes(30, 169, 17)  # one entry is left to judge by
    assert sizes_of(FULL, 110) == Sizes(110, 10, 1)  # 60% in all
    assert sizes_of(FULL, 140) == Sizes(140, 59, 6)  # more than 60% already


@pytest.mark.parametrize("sizes", [(30, 170, None), (200, None, None), (200, 1, None)])
def test_what_leaves_nothing_to_judge_by_is_refused(sizes: tuple) -> None:
    with pytest.raises(
        ParameterError, match=r"leave known entries over to judge by, but .* came, and 200 are known"
    ):
        sizes_of(FULL, *sizes)


@pytest.mark.parametrize("sizes", [(0, None, None), (None, 0, None), (None, None, 0), (-1, 5, 1)])
def test_sizes_below_one_are_refused(sizes: tuple) -> None:
    with pytest.raises(ParameterError, match="expected at least 1 for the"):
        sizes_of(FULL, *sizes)


def test_a_table_that_is_too_empty_is_refused() -> None:
    empty = holes(0.9)
    known = np.isfinite(empty).sum()
    with pytest.raises(
        DataError, match=f"expected more known entries than {known} of 20 x 10: the first design"
    ):
        sizes_of(empty)
    assert sizes_of(empty, 5).initial == 5


def test_tables_that_cannot_be_used() -> None:
    with pytest.raises(DataError, match="at least 3 rows and 3 columns, but they are in 20 and 2"):
        compare_cells(FULL[:, :2])
    with pytest.raises(DataError, match="they are in 0 and 0"):
        compare_cells(np.full((9, 9), np.nan))
    with pytest.raises(DataError, match="expected values that differ, but all are 2"):
        compare_cells(np.full((9, 9), 2.0))
    with pytest.raises(DataError, match="expected a matrix, but an array of 1"):
        compare_cells(FULL[0])
    with pytest.raises(DataError, match=r"expected costs of the shape \(20, 10\), but \(10, 20\) came"):
        compare_cells(FULL, costs=np.ones((10, 20)))


def test_rows_and_columns_of_which_nothing_is_known_are_left_out() -> None:
    M = FULL.copy()
    M[3], M[:, 4] = np.nan, np.nan
    cells = compare_cells(M, costs=np.arange(200.0).reshape(20, 10))
    truth = cells[0].case.source.truth(0)
    assert truth.M.shape == (19, 9)
    assert truth.cost is not None
    assert truth.cost[0].tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_cells() -> None:
    cells = compare_cells(FULL, name="mine", replicates=2, rank=2, transform="none")
    assert [(c.strategy, c.seed) for c in cells] == [
        (s, k) for s in ("uniform", "balanced", "predictive_variance") for k in (0, 1)
    ]
    case = cells[0].case
    assert (case.name, case.initial, case.batch, case.budget, case.spend) == ("mine", 20, 6, 60, None)
    assert dict(case.model) == {"rank": 2, "transform": "none"}
    named = compare_cells(FULL, strategies=["maxent"], replicates=1)
    assert [c.strategy for c in named] == ["uniform", "maxent"]  # something to compare with


def test_with_costs_equal_costs_are_compared() -> None:
    case = compare_cells(FULL, costs=np.full(FULL.shape, 2.0), budget=40, batch=5)[0].case
    assert (case.spend, case.initial, case.budget) == (60.0, 20, 180)
    assert case.looked_at() == frozenset(range(37))


def test_partners_judged_by_the_same_estimate_are_run_too() -> None:
    cells = compare_cells(FULL, strategies=["papers_maxent"], replicates=1)
    assert [c.strategy for c in cells] == ["uniform", "papers_uniform", "papers_maxent"]
    for only in (["uniform"], ["uniform", "uniform"]):
        with pytest.raises(
            ParameterError, match="expected a strategy to compare with uniform, but only uniform"
        ):
            compare_cells(FULL, strategies=only)


def test_models_that_cannot_work_are_refused_at_once() -> None:
    M = np.abs(FULL) + 1
    M[0], M[4, 3] = np.nan, -2.0
    labels = [f"r{i}" for i in range(20)], [f"c{j}" for j in range(10)]
    with pytest.raises(DataError, match="but the value at row 4, column 3 is -2"):
        compare_cells(M, transform="log")
    with pytest.raises(DataError, match="but the value at row 'r4', column 'c3' is -2"):
        compare_cells(M, transform="log", labels=labels)
    M[4, 3] = 2.0
    assert compare_cells(M, transform="log", labels=labels)
    with pytest.raises(RankError, match="at most 5, half the shorter side of a 19 x 10 matrix, but 6 came"):
        compare_cells(M, rank=6)
    with pytest.raises(ParameterError, match="transform must be"):
        compare_cells(M, transform="sqrt")


@pytest.mark.parametrize("transform", ["none", "log"])
def test_infinite_values_are_refused_as_everywhere(transform: str) -> None:
    M = np.abs(FULL)
    M[2, 3] = np.inf
    with pytest.raises(DataError, match="but the value at row 2, column 3 is inf"):
        compare_cells(M, transform=transform)


@pytest.mark.process
def test_smurff_is_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smurff_peer, "find_spec", lambda name: None)
    monkeypatch.delenv(smurff_peer.INTERPRETER, raising=False)
    with pytest.raises(
        MissingDependencyError, match="expected SMURFF for this strategy, but it is not installed"
    ):
        compare_cells(FULL, strategies=["smurff_variance"])
    monkeypatch.setenv(smurff_peer.INTERPRETER, "/nonexistent/python")
    with pytest.raises(
        MissingDependencyError, match="expected SMURFF for the strategy 'smurff_variance', but the Py"
    ):
        compare_cells(FULL, strategies=["smurff_variance"])


def test_in_a_hurry_there_are_two_batches() -> None:
    case = compare_cells(FULL, quick=True)[0].case
    assert (case.initial, case.budget, case.batch, case.batches) == (20, 60, 30, 2)
    assert compare_cells(FULL, quick=True, batch=7)[0].case.batch == 7


def test_strategies_that_do_not_apply_are_refused() -> None:
    with pytest.raises(ParameterError, match="expected one of the strategies"):
        compare_cells(FULL, strategies=["best"])
    with pytest.raises(ParameterError, match="expected at least 1 replicate, but 0 came"):
        compare_cells(FULL, replicates=0)
