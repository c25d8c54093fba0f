"""The paper's four figures are those of its section 5, as the issue of the studies has them in a table."""

import pytest

from evidence.paper import FIGURES, figure_cells
from evidence.sources import Part, Simulated
from maxentry.errors import ParameterError

THE_PAPERS = {"uniform", "maxent"}
BESIDE = {"predictive_variance", "balanced_uniform"}
ITS_OWN = {"papers_uniform", "papers_maxent"}


@pytest.mark.parametrize(
    ("name", "side", "rank", "initial", "budget"), [("sim30", 30, 3, 30, 50), ("sim60", 60, 4, 60, 100)]
)
def test_simulations(name: str, side: int, rank: int, initial: int, budget: int) -> None:
    (panel,) = FIGURES[name].panels
    case = panel.case
    assert case.source == Simulated((side, side), rank, sigma2=1.0, eta2=1e-4)
    assert (case.initial, case.batch, case.budget) == (initial, 1, budget)  # one entry after the other
    assert dict(case.model) == {"rank": rank, "effects": False, "priors": "paper"}
    assert set(panel.strategies) == THE_PAPERS | BESIDE | ITS_OWN


def test_jester() -> None:
    ours, papers = FIGURES["jester"].panels
    for panel in (ours, papers):
        source = panel.case.source.identity()
        part = [source[key] for key in ("kind", "dataset", "rows", "cols", "how")]
        assert part == ["data", "jester", 500, 100, "first"]
        assert (panel.case.initial, panel.case.budget) == (500, 1000)
    assert ours.case.batch == 10
    assert set(ours.strategies) == THE_PAPERS | BESIDE | {"means"}
    assert set(papers.strategies) == THE_PAPERS | ITS_OWN
    assert dict(papers.case.model) == {"rank": 5, "effects": False, "priors": "paper"}
    assert papers.case.source.identity()["standardise"]  # its priors know no units
    assert ours.case.source == Part("jester", 500, 100, "first")


def test_movielens_is_of_the_most_active_and_of_the_first_users() -> None:
    panels = FIGURES["movielens"].panels
    for panel in panels:
        source = panel.case.source
        assert isinstance(source, Part)
        assert (source.dataset, source.rows, source.cols) == ("movielens-100k", 300, None)  # all movies
        assert (panel.case.initial, panel.case.budget) == (300, 1500)
    active, first, papers = panels
    assert [panel.case.source.how for panel in panels] == ["most active", "first", "most active"]
    assert set(active.strategies) == set(first.strategies) == THE_PAPERS | BESIDE | {"means"}
    assert set(papers.strategies) == ITS_OWN


def test_all_figures_with_all_strategies_unless_some_are_named() -> None:
    cells = figure_cells()
    assert list(FIGURES) == ["sim30", "sim60", "jester", "movielens"]
    panels = [panel for figure in FIGURES.values() for panel in figure.panels]
    assert {cell.case.name for cell in cells} == {panel.case.name for panel in panels}
    assert len({panel.case.name for panel in panels}) == len(panels)
    assert len(cells) == sum(panel.replicates * len(panel.strategies) for panel in panels)
    assert len(figure_cells(replicates=2)) == 2 * sum(len(panel.strategies) for panel in panels)
    assert {cell.seed for cell in cells} == set(range(10))
    some = figure_cells(["sim60"], 3, strategies=["maxent", "oboe"])
    assert [(c.case.name, c.strategy.name, c.seed) for c in some] == [
        ("sim60", "maxent", k) for k in range(3)
    ]
    with pytest.raises(
        ParameterError, match="expected figures among sim30, sim60, jester, movielens, got 'sim31'"
    ):
        figure_cells(["sim30", "sim31"])


def test_in_small_it_is_the_same_with_less_of_everything() -> None:
    large, small = figure_cells(replicates=2), figure_cells(replicates=2, quick=True)
    assert [(c.case.name, c.strategy, c.seed) for c in large] == [
        (c.case.name, c.strategy, c.seed) for c in small
    ]
    for whole, part in zip(large, small, strict=True):
        assert part.case.model == whole.case.model
        assert part.case.budget < whole.case.budget
        assert part.case.batches <= 10
