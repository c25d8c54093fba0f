"""The paper's four panels as frozen records: sim30, sim60, jester, movielens (its section 5).

What the paper leaves open: the rank on ratings (ours chooses it; its own sampler takes 5), which 500 and 300 users
(here the first who rated all jokes; the most active and the first of MovieLens), how many movies (all 1,682; it says
1,700), and batches (ten entries at a time on ratings). Its own sampler, Algorithm 2, is run in larger batches: it is
that slow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from maxentry.errors import ParameterError
from maxentry.studies.case import Case, Cell
from maxentry.studies.sources import Part, Simulated

PAPER = (("effects", False), ("priors", "paper"))
AS_IN_THE_PAPER = ("uniform", "maxent")
BESIDE = ("predictive_variance", "balanced_uniform")
ITS_OWN = ("papers_uniform", "papers_maxent")


@dataclass(frozen=True)
class Panel:
    """One matrix of a figure: its case, and the strategies that are run on it."""

    case: Case
    strategies: tuple[str, ...]
    quick: Case  # the same in small, in well under a minute


@dataclass(frozen=True)
class Figure:
    """One of the paper's four plots, and what we put beside it."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def _simulation(name: str, m: int, rank: int, budget: int) -> Figure:
    case = Case(
        name, Simulated((m, m), rank), m, 1, budget, looks=11, model=(("rank", rank), *PAPER)
    )  # fmt: skip
    own = replace(case, name=f"{name}, the paper's own", batch=5)
    quick = replace(case, budget=budget // 5, batch=2, looks=3)
    return Figure(
        name,
        f"Simulated, {m} x {m}, rank {rank}",
        (
            Panel(case, (*AS_IN_THE_PAPER, *BESIDE), quick),
            Panel(own, ITS_OWN, replace(quick, name=own.name, batch=budget // 10)),
        ),
    )


def _ratings(
    name: str, source: Part, small: Part, initial: int, budget: int, own_batch: int
) -> tuple[Panel, Panel]:
    case = Case(name, source, initial, 10, budget, looks=11)
    own = replace(case, name=f"{name}, the paper's own", batch=own_batch)
    quick = replace(case, source=small, initial=60, batch=20, budget=40, looks=3)
    return (
        Panel(case, (*AS_IN_THE_PAPER, *BESIDE, "means"), quick),
        Panel(own, ITS_OWN, replace(quick, name=own.name, batch=40, looks=2)),
    )


FIGURES = {
    "sim30": _simulation("sim30", 30, 3, 50),
    "sim60": _simulation("sim60", 60, 4, 100),
    "jester": Figure(
        "jester",
        "Jester, the first 500 users who rated all 100 jokes",
        _ratings(
            "jester", Part("jester", 500, 100, "first"), Part("jester", 60, 40, "first"), 500, 1000, own_batch=50
        ),
    ),
    "movielens": Figure(
        "movielens",
        "MovieLens 100K, 300 users x 1,682 movies, rated entries",
        (
            *_ratings(
                "movielens, most active users",
                Part("movielens-100k", 300, None, "most active"),
                Part("movielens-100k", 60, 100, "most active"),
                300, 1500, own_batch=300,
            ),
            *_ratings(
                "movielens, first users",
                Part("movielens-100k", 300, None, "first"),
                Part("movielens-100k", 60, 100, "first"),
                300, 1500, own_batch=300,
            ),
        ),
    ),
}  # fmt: skip


def figure_cells(
    figures: Iterable[str] = (), replicates: int = 10, *, quick: bool = False, strategies: Iterable[str] = ()
) -> list[Cell]:
    """The runs behind these figures (all of them if none is named), of these strategies (all if none is named)."""
    wanted, only = tuple(figures) or tuple(FIGURES), tuple(strategies)
    for name in wanted:
        if name not in FIGURES:
            raise ParameterError(f"expected figures among {', '.join(FIGURES)}, but {name!r} came.")
    return [
        Cell(panel.quick if quick else panel.case, strategy, seed)
        for name in wanted
        for panel in FIGURES[name].panels
        for strategy in panel.strategies
        if not only or strategy in only
        for seed in range(replicates)
    ]
