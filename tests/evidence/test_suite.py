"""The suite has every matrix, and every strategy that its page shows; all others by name."""

from collections import Counter

import pytest

from evidence import suite
from evidence.datasets import catalogue
from evidence.paper import FIGURES
from evidence.sources import Part, Simulated
from evidence.strategies import STRATEGIES
from evidence.suite import suite_cells
from maxentry.errors import ParameterError

CASES = {case.name: (case, strategies) for case, strategies in suite.CASES}
OURS = {"uniform", "maxent", "predictive_variance", "integrated_variance"}
BY_NAME = {"balanced", "maxent_nearest", "top_variance", "leverage"}  # strategies that lost


def test_every_data_set_is_in_it() -> None:
    real = [case.source for case in suite.MATRICES]
    assert all(isinstance(source, Part) for source in real)
    assert {source.dataset for source in real} == {about.name for about in catalogue()}
    assert len(real) == 10


def test_real_matrices_have_all_strategies_that_need_nothing_else_some_only_by_name() -> None:
    for case in suite.MATRICES:
        assert set(CASES[case.name][1]) == OURS | {"means"}
    assert set(suite.OPTIONAL) == BY_NAME | {"smurff_variance"}
    free = {s.name for s in STRATEGIES if not s.needs and s.check is None}
    papers = {"papers_uniform", "papers_maxent", "papers_balanced"}  # in the paper's figures
    assert free - papers - {"balanced_uniform"} == OURS | {"means"} | BY_NAME


def test_real_matrices_are_measured_from_one_to_five_times_their_longer_side() -> None:
    for case in suite.MATRICES:
        assert (case.batch, case.budget) == (case.initial, 4 * case.initial)
        assert {about.name: about for about in catalogue()}[case.source.dataset].known > 5 * case.initial


def test_simulations_go_past_the_degrees_of_freedom() -> None:
    past = CASES["sim30, past the degrees of freedom"][0]
    assert isinstance(past.source, Simulated)
    (m1, m2), R = past.source.shape, past.source.rank
    assert past.initial + past.budget > (m1 + m2 - R) * R
    (within,) = FIGURES["sim30"].panels  # the paper's own
    assert within.case.initial + within.case.budget < (m1 + m2 - R) * R
    assert set(CASES[past.name][1]) <= OURS


def test_oboes_rule_has_run_times_as_costs_and_rows_known_from_the_start() -> None:
    case, strategies = CASES["AutoML error of new data sets, by run time"]
    assert isinstance(case.source, Part)
    assert (case.source.dataset, case.source.costs) == ("oboe-error", "oboe-runtime")
    assert case.source.training > 0
    assert case.spend is not None
    assert {"oboe", "oboe_own", "cheapest", "uniform", "predictive_variance"} <= set(strategies)


def test_all_but_optional_ones_unless_they_are_named() -> None:
    cells = suite_cells()
    assert {cell.case.name for cell in cells} == set(CASES)
    assert not {cell.strategy.name for cell in cells} & set(suite.OPTIONAL)
    optional = suite_cells(strategies=["smurff_variance"], replicates=1)
    assert {cell.case.name for cell in optional} == {case.name for case in suite.MATRICES}
    some = suite_cells(["Jester", suite.PAST.name], ["maxent", "oboe", "means"], 1)
    assert [(c.case.name, c.strategy.name) for c in some] == [
        (suite.PAST.name, "maxent"), ("Jester", "maxent"), ("Jester", "means"),
    ]  # fmt: skip


def test_there_are_three_replicates_and_more_where_that_says_too_little() -> None:
    counts = Counter((cell.case.name, cell.strategy.name) for cell in suite_cells())
    assert set(suite.MORE) <= set(counts)
    assert all(n == suite.MORE.get(key, 3) for key, n in counts.items())
    assert counts["MovieLens 1M", "uniform"] == counts["MovieLens 1M", "predictive_variance"] == 10
    assert {cell.seed for cell in suite_cells(replicates=2)} == {0, 1}


def test_in_small_it_is_of_each_kind_of_matrix() -> None:
    cells = suite_cells(replicates=1, quick=True)
    assert {cell.case.name for cell in cells} == set(suite.QUICK) <= set(CASES)
    kinds = {(type(cell.case.source), cell.case.spend is None) for cell in cells}
    assert kinds == {(Simulated, True), (Part, True), (Part, False)}
    for cell in cells:
        assert cell.case.batches <= 2
    assert {c.case.name for c in suite_cells(["kinase pKd"], replicates=1, quick=True)} == {"kinase pKd"}


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"expected matrices among .*; got 'mine'"):
        suite_cells(["mine"])
    with pytest.raises(ParameterError, match="expected one of the strategies"):
        suite_cells(strategies=["best"])
