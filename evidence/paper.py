"""The paper's four panels as frozen records: sim30, sim60, jester, movielens (its section 5).

What the paper leaves open: the rank on ratings (ours chooses it; its own sampler takes 5), which 500 and 300 users
(here the first who rated all jokes; the most active and the first of MovieLens), how many movies (all 1,682; it says
1,700), and batches (ten entries at a time on Jester, 50 on MovieLens, where a fit takes a second and more; for the
paper's own sampler 50 and 300). To separate its sampler from its model, its model (no effects, rank 5, its priors, and
values in the units that these expect) is run in its sampler and in ours on Jester.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from evidence.sources import Part, Simulated
from evidence.strategies import get_strategy
from evidence.strategies.papers_own import RANK, prior_sd
from maxentry.compare.scenario import Case, Cell
from maxentry.errors import ParameterError

PAPER = (("effects", False), ("priors", "paper"))
AS_IN_THE_PAPER = ("uniform", "maxent")
BESIDE = ("predictive_variance", "balanced_uniform")
ITS_OWN = ("papers_uniform", "papers_maxent")


@dataclass(frozen=True)
class FigureCase:
    """One matrix of a figure: its case, and the strategies that are run on it."""

    case: Case
    strategies: tuple[str, ...]
    quick: Case  # the same in small, in well under a minute
    replicates: int = 10  # fewer where a run takes minutes


@dataclass(frozen=True)
class Figure:
    """One of the paper's four plots, and what we put beside it."""

    name: str
    title: str
    panels: tuple[FigureCase, ...]


def _simulation(name: str, m: int, rank: int, budget: int) -> Figure:
    case = Case(name, Simulated((m, m), rank), m, 1, budget, looks=11, model=(("rank", rank), *PAPER))
    quick = replace(case, budget=budget // 5, batch=2, looks=3)
    strategies = (*AS_IN_THE_PAPER, *BESIDE, *ITS_OWN)
    return Figure(name, f"Simulated, {m} x {m}, rank {rank}", (FigureCase(case, strategies, quick),))


SMALL: dict[str, Any] = {"initial": 60, "batch": 20, "budget": 40, "looks": 3}
JESTER = Case("jester", Part("jester", 500, 100, "first"), 500, 10, 1000, looks=11)
JESTER_SMALL = replace(JESTER, source=Part("jester", 60, 40, "first"), **SMALL)
JESTER_OWN: dict[str, Any] = {
    "name": "jester, the paper's model",
    "batch": 50,
    "model": (("rank", RANK), *PAPER),
}
ACTIVE, FIRST = (
    Case(f"movielens, {users} users", Part("movielens-100k", 300, None, users), 300, 50, 1500, looks=6)
    for users in ("most active", "first")
)


def _in_units_of_the_priors(case: Case) -> Case:
    """Jester for the paper's model: entries have mean 0 and the variance that they have a priori."""
    part = cast(Part, case.source)
    times = prior_sd((cast(int, part.rows), cast(int, part.cols)), RANK)
    return replace(case, source=replace(part, standardise=True, times=times), **JESTER_OWN)


def _movielens(case: Case, strategies: tuple[str, ...]) -> FigureCase:
    small = replace(cast(Part, case.source), rows=60, cols=100)
    return FigureCase(case, strategies, replace(case, source=small, **SMALL))


FIGURES = {
    "sim30": _simulation("sim30", 30, 3, 50),
    "sim60": _simulation("sim60", 60, 4, 100),
    "jester": Figure(
        "jester",
        "Jester, the first 500 users who rated all 100 jokes",
        (
            FigureCase(JESTER, (*AS_IN_THE_PAPER, *BESIDE, "means"), JESTER_SMALL, 4),
            FigureCase(
                _in_units_of_the_priors(JESTER),
                (*AS_IN_THE_PAPER, *ITS_OWN),
                _in_units_of_the_priors(JESTER_SMALL),
            ),
        ),
    ),
    "movielens": Figure(
        "movielens",
        "MovieLens 100K, 300 users x 1,682 movies, rated entries",
        (
            _movielens(ACTIVE, (*AS_IN_THE_PAPER, *BESIDE, "means")),
            _movielens(FIRST, (*AS_IN_THE_PAPER, *BESIDE, "means")),
            _movielens(replace(ACTIVE, name=f"{ACTIVE.name}, the paper's sampler", batch=300), ITS_OWN),
        ),
    ),
}


def figure_cells(
    figures: Iterable[str] = (), replicates: int | None = None, *, quick: bool = False, strategies: Iterable[str] = ()
) -> list[Cell]:  # fmt: skip
    """Return the runs behind these figures, with these strategies; all if none is named.

    replicates: of every strategy on every matrix; None for as many as the figure has of it.
    """
    wanted, only = tuple(figures) or tuple(FIGURES), tuple(strategies)
    for name in wanted:
        if name not in FIGURES:
            raise ParameterError(f"expected figures among {', '.join(FIGURES)}, got {name!r}.")
    return [
        Cell(panel.quick if quick else panel.case, get_strategy(strategy), seed)
        for name in wanted
        for panel in FIGURES[name].panels
        for strategy in panel.strategies
        if not only or strategy in only
        for seed in range(replicates or panel.replicates)
    ]
