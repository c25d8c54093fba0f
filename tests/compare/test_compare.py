"""A user's matrix: what is measured by default, what is refused, and the answer, which turns when the runs turn."""

from typing import Any

import numpy as np
import pytest
from tests.compare.invented import REAL, many

from evidence.strategies import STRATEGIES, smurff
from maxentry.compare import metrics
from maxentry.compare.report import answer, choose_subject
from maxentry.compare.scenario import OURS, Sizes, choose_sizes, compare_cells, find_strategy
from maxentry.errors import DataError, MissingDependencyError, ParameterError, RankError

FULL = np.random.default_rng(1).normal(size=(20, 10))


def holes(share: float, shape: tuple[int, int] = (20, 10)) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.where(rng.random(shape) < share, np.nan, rng.normal(size=shape))


def test_sizes_where_nobody_says() -> None:
    assert choose_sizes(FULL) == Sizes(20, 6, 60)
    known = np.isfinite(half := holes(0.7)).sum()
    assert choose_sizes(half) == Sizes(20, -(-(int(0.6 * known) - 20) // 10), int(0.6 * known) - 20)


def test_sizes_as_they_are_asked_for() -> None:
    assert choose_sizes(FULL, 5) == Sizes(5, 2, 15)
    assert choose_sizes(FULL, 30, 100, 7) == Sizes(30, 7, 100)
    assert choose_sizes(FULL, 30, 169) == Sizes(30, 17, 169)  # one entry is left to judge by
    assert choose_sizes(FULL, 110) == Sizes(110, 1, 10)  # 60% in all
    assert choose_sizes(FULL, 140) == Sizes(140, 6, 59)  # more than 60% already


@pytest.mark.parametrize("sizes", [(30, 170, None), (200, None, None), (200, 1, None)])
def test_what_leaves_nothing_to_judge_by_is_refused(sizes: tuple) -> None:
    with pytest.raises(ParameterError, match=r"leave known entries to judge by, got .* of 200 known entries"):
        choose_sizes(FULL, *sizes)


@pytest.mark.parametrize("sizes", [(0, None, None), (None, 0, None), (None, None, 0), (-1, 5, 1)])
def test_sizes_below_one_are_refused(sizes: tuple) -> None:
    with pytest.raises(ParameterError, match="to be at least 1, got"):
        choose_sizes(FULL, *sizes)


def test_a_table_that_is_too_empty_is_refused() -> None:
    empty = holes(0.9)
    known = np.isfinite(empty).sum()
    with pytest.raises(
        DataError, match=f"expected more known entries, got {known} of 20 x 10: the first design"
    ):
        choose_sizes(empty)
    assert choose_sizes(empty, 5).initial == 5


def test_tables_that_cannot_be_used() -> None:
    with pytest.raises(DataError, match="at least 3 rows and 3 columns, got 20 and 2"):
        compare_cells(FULL[:, :2])
    with pytest.raises(DataError, match="got 0 and 0"):
        compare_cells(np.full((9, 9), np.nan))
    with pytest.raises(DataError, match="expected values that differ, got only 2"):
        compare_cells(np.full((9, 9), 2.0))
    with pytest.raises(DataError, match="expected a matrix, got an array of 1"):
        compare_cells(FULL[0])
    with pytest.raises(DataError, match=r"expected costs of the shape \(20, 10\), got \(10, 20\)"):
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
    assert [(c.strategy.name, c.seed) for c in cells] == [
        (s, k) for s in ("uniform", "balanced", "predictive_variance") for k in (0, 1)
    ]
    case = cells[0].case
    assert (case.name, case.initial, case.batch, case.budget, case.spend) == ("mine", 20, 6, 60, None)
    assert dict(case.model) == {"rank": 2, "transform": "none"}
    named = compare_cells(FULL, strategies=["maxent"], replicates=1)
    assert [c.strategy.name for c in named] == ["uniform", "maxent"]  # something to compare with


def test_with_costs_equal_costs_are_compared() -> None:
    case = compare_cells(FULL, costs=np.full(FULL.shape, 2.0), budget=40, batch=5)[0].case
    assert (case.spend, case.initial, case.budget) == (60.0, 20, 180)
    assert case.look_after() == frozenset(range(37))


def test_partners_judged_by_the_same_estimate_are_run_too() -> None:
    cells = compare_cells(FULL, strategies=["papers_maxent"], replicates=1, among=STRATEGIES)
    assert [c.strategy.name for c in cells] == ["uniform", "papers_uniform", "papers_maxent"]
    for only in (["uniform"], ["uniform", "uniform"]):
        with pytest.raises(
            ParameterError, match="expected a strategy to compare with uniform, got only uniform"
        ):
            compare_cells(FULL, strategies=only)


def test_models_that_cannot_work_are_refused_at_once() -> None:
    M = np.abs(FULL) + 1
    M[0], M[4, 3] = np.nan, -2.0
    labels = [f"r{i}" for i in range(20)], [f"c{j}" for j in range(10)]
    with pytest.raises(DataError, match="got -2 at row 4, column 3"):
        compare_cells(M, transform="log")
    with pytest.raises(DataError, match="got -2 at row 'r4', column 'c3'"):
        compare_cells(M, transform="log", labels=labels)
    M[4, 3] = 2.0
    assert compare_cells(M, transform="log", labels=labels)
    with pytest.raises(RankError, match="at most 5, half the shorter side of a 19 x 10 matrix, got 6"):
        compare_cells(M, rank=6)
    with pytest.raises(ParameterError, match="transform must be"):
        compare_cells(M, transform="sqrt")


@pytest.mark.parametrize("transform", ["none", "log"])
def test_infinite_values_are_refused_as_everywhere(transform: str) -> None:
    M = np.abs(FULL)
    M[2, 3] = np.inf
    with pytest.raises(DataError, match="got inf at row 2, column 3"):
        compare_cells(M, transform=transform)


@pytest.mark.process
def test_smurff_is_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smurff, "find_spec", lambda name: None)
    monkeypatch.delenv(smurff.INTERPRETER, raising=False)
    with pytest.raises(MissingDependencyError, match="needs SMURFF, which is not installed"):
        compare_cells(FULL, strategies=["smurff_variance"], among=STRATEGIES)
    monkeypatch.setenv(smurff.INTERPRETER, "/nonexistent/python")
    with pytest.raises(MissingDependencyError, match="expected a Python with SMURFF"):
        compare_cells(FULL, strategies=["smurff_variance"], among=STRATEGIES)


def test_in_a_hurry_there_are_two_batches() -> None:
    case = compare_cells(FULL, quick=True)[0].case
    assert (case.initial, case.budget, case.batch, case.batches) == (20, 60, 30, 2)
    assert compare_cells(FULL, quick=True, batch=7)[0].case.batch == 7


def test_strategies_that_do_not_apply_are_refused() -> None:
    with pytest.raises(ParameterError, match="expected one of the strategies"):
        compare_cells(FULL, strategies=["best"])
    with pytest.raises(ParameterError, match="expected at least 1 replicate, got 0"):
        compare_cells(FULL, replicates=0)


def test_strategies_that_the_case_cannot_run_are_refused() -> None:
    with pytest.raises(ParameterError, match="need no training rows, got 'oboe'"):
        compare_cells(FULL, strategies=["oboe"], among=STRATEGIES)
    with pytest.raises(ParameterError, match="'cheapest' needs costs of the entries"):
        compare_cells(FULL, strategies=["cheapest"], among=STRATEGIES)
    assert compare_cells(FULL, strategies=["cheapest"], costs=np.ones(FULL.shape), among=STRATEGIES)


# The answer


def compared(end: float, **other: Any) -> str:
    uniform = many("uniform", 0.8, **other)
    return answer([*uniform, *many("predictive_variance", end, **other)])


def test_the_sentence_says_yes_and_by_how_much() -> None:
    text = compared(0.6)
    begin = "Yes, active sampling would have helped: after 80 entries the error of predictive variance"
    assert text.startswith(begin)
    study = metrics.gather([*many("uniform", 0.8), *many("predictive_variance", 0.6)])["sim30"]
    ratio = metrics.end_ratio(study["predictive_variance"], study["uniform"])
    interval = f"90% interval {ratio.low:.2f} to {ratio.high:.2f}, 10 replicates"
    assert f"is {ratio.value:.2f} ({interval}) of uniform's" in text
    assert text.endswith(".")
    assert text.count(". ") == 0  # one sentence


def test_the_sentence_says_no_when_it_is_worse_and_when_nothing_is_shown() -> None:
    assert compared(1.0).startswith("No, active sampling would have done worse than measuring at random")
    assert compared(0.8, noise=0.05).startswith("No gain from active sampling is shown")


def test_few_replicates_are_said_to_be_few() -> None:
    assert "4 replicates, which are few)" in compared(0.6, replicates=4)
    assert "5 replicates)" in compared(0.6, replicates=5)
    assert compared(0.4, replicates=1).startswith("One replicate cannot tell")


def test_where_nothing_is_predicted_that_is_the_reason() -> None:
    reason = "; no structure was found: the errors are as large as the spread of the values."
    for end in (1.02, 1.3):
        runs = [*many("uniform", 1.02, identity=REAL), *many("predictive_variance", end, identity=REAL)]
        assert answer(runs).endswith(reason)
    assert reason not in compared(0.8, identity=REAL)


def test_at_equal_cost_the_sentence_speaks_of_cost() -> None:
    spend = REAL | {"spend": 5.0}
    text = compared(0.6, identity=spend, cost=(3, 4, 5, 6, 7, 8))
    assert "at the same cost the error" in text


def test_what_does_not_choose_is_called_by_its_name() -> None:
    balanced = find_strategy("balanced")
    better, worse = ([*many("uniform", 0.8), *many("balanced", end)] for end in (0.6, 1.0))
    assert answer(better, balanced).startswith("Yes, balanced would have helped: after 80 entries")
    assert answer(worse, balanced).startswith("No, balanced would have done worse than measuring")


@pytest.mark.parametrize("name", ["means", "smurff_variance"])
def test_another_estimate_is_not_taken_for_a_choice(name: str) -> None:
    strategy = find_strategy(name, STRATEGIES)
    text = answer([*many("uniform", 0.8), *many(name, 0.6)], strategy)
    title = f"{strategy.title[:1].upper()}{strategy.title[1:]}"
    assert text.startswith(f"{title} has an estimate of its own, so this does not compare choices: after 80")
    assert "would have helped" not in text


def test_the_papers_sampler_is_compared_with_uniform_judged_by_it() -> None:
    papers = find_strategy("papers_maxent", STRATEGIES)
    runs = [*many("uniform", 0.9), *many("papers_uniform", 0.6), *many("papers_maxent", 0.8)]
    # Better than uniform judged by our posterior, but not by its own.
    assert answer(runs, papers).startswith("No, active sampling would have done worse")
    alone = [*many("uniform", 0.9), *many("papers_maxent", 0.8)]
    assert answer(alone, papers).startswith("There are no runs of both")


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        (["uniform", "balanced", "predictive_variance"], "predictive_variance"),
        (["uniform", "maxent", "predictive_variance"], "maxent"),
        (["uniform", "balanced"], "balanced"),
        (["uniform", "papers_uniform", "means"], "papers_uniform"),
        (["uniform"], "uniform"),
    ],
)
def test_what_a_comparison_is_about(names: list[str], subject: str) -> None:
    assert choose_subject(find_strategy(name, STRATEGIES) for name in names).name == subject


def test_random_designs_are_not_active() -> None:
    passive = {strategy.name for strategy in STRATEGIES if not strategy.active}
    assert passive == {
        "uniform", "balanced", "balanced_uniform", "cheapest", "means", "papers_uniform", "papers_balanced",
    }  # fmt: skip
    assert {strategy.name for strategy in OURS} & passive == {"uniform", "balanced", "balanced_uniform"}


def test_without_both_there_is_nothing_to_say() -> None:
    assert answer(many("uniform", 0.8)).startswith("There are no runs of both")
    assert answer([]).startswith("There are no runs of both")
    apart = [*many("uniform", 0.8, replicates=1), *many("predictive_variance", 0.8, replicates=2)[1:]]
    assert answer(apart).startswith("There are no runs of both")
