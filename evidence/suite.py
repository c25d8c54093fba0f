"""The suite: strategies on ten real matrices, on a simulated one past its degrees of freedom, and where entries cost.

Real matrices are random parts of at most 100 x 40 (another one for each replicate, so that replicates differ in more
than luck), measured from one to five entries a row of the longer side, everything at its default. A run takes a quarter
of a minute, so there are few replicates: three, and ten where the difference is smallest. Strategies that lost in
version 0.1 are run only by name. The paper's own simulations are in `evidence.paper`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from evidence.paper import FIGURES
from evidence.sources import Part
from evidence.strategies import get_strategy
from maxentry.compare.scenario import Case, Cell
from maxentry.errors import ParameterError

LONG, SHORT = 100, 40
SIMULATED = ("uniform", "maxent", "predictive_variance")
REAL = ("uniform", "maxent", "predictive_variance", "integrated_variance", "means")
NEW_ROWS = ("uniform", "cheapest", "predictive_variance", "integrated_variance", "oboe", "oboe_own")
# On real matrices, when they are asked for by name. SMURFF's needs what a user may not have.
OPTIONAL = ("balanced", "maxent_nearest", "top_variance", "leverage", "smurff_variance")
REPLICATES = 3


def _real(name: str, dataset: str, *, wide: bool = False, longer: int = LONG, **part: object) -> Case:
    rows, cols = (SHORT, LONG) if wide else (LONG, SHORT)
    source = Part(dataset, rows, cols, **part)  # type: ignore[arg-type]
    return Case(name, source, longer, longer, 4 * longer, looks=5)


PAST = replace(
    FIGURES["sim30"].panels[0].case, name="sim30, past the degrees of freedom", batch=5, budget=270, looks=19
)
RATED = (300, 100)
MATRICES = [
    _real("direct arylation", "direct-arylation", longer=48),
    _real("Buchwald-Hartwig", "buchwald-hartwig", wide=True, longer=88),
    _real("kinase pKd", "davis", wide=True),
    _real("AutoML error", "oboe-error"),
    _real("AutoML log s", "oboe-runtime", log=True),
    _real("SAT11, log s", "sat11", log=True),
    _real("SAT20, log s", "sat20", log=True),
    _real("Jester", "jester"),
    _real("MovieLens 100K", "movielens-100k", busiest=RATED),
    _real("MovieLens 1M", "movielens-1m", busiest=RATED),
]
# Entries differ a thousandfold in cost, so that a rule which weighs it asks for hundreds where uniform asks for one:
# the money must end a campaign, not the number of entries. Rows known from the start cost nothing; a random start would
# cost a tenth or a half of the money, by luck.
BY_COST = Case(
    "AutoML error of new data sets, by run time",
    Part("oboe-error", 80, SHORT, costs="oboe-runtime", training=50),
    initial=0, batch=30, budget=1200, looks=41, spend=12.0,
)  # fmt: skip

CASES: list[tuple[Case, tuple[str, ...]]] = [
    (PAST, SIMULATED),
    *((case, REAL) for case in MATRICES),
    (BY_COST, NEW_ROWS),
]
MORE = {
    ("MovieLens 1M", strategy): 10 for strategy in ("uniform", "predictive_variance")
}  # a small difference
QUICK = (PAST.name, "direct arylation", "AutoML error of new data sets, by run time")


def suite_cells(
    matrices: Iterable[str] = (), strategies: Iterable[str] = (), replicates: int | None = None, *, quick: bool = False
) -> list[Cell]:  # fmt: skip
    """Return the runs of these matrices and strategies; all if none is named, except optional strategies.

    replicates: of every strategy on every matrix; None for as many as the suite has of it.
    """
    wanted, only = tuple(matrices), tuple(strategies)
    names = [case.name for case, _ in CASES]
    for name in wanted:
        if name not in names:
            raise ParameterError(f"expected matrices among {'; '.join(names)}; got {name!r}.")
    for name in only:
        get_strategy(name)
    chosen = wanted or (QUICK if quick else names)
    return [
        Cell(_small(case) if quick else case, get_strategy(strategy), seed)
        for case, usual in CASES
        if case.name in chosen
        for strategy in _select(usual, only)
        for seed in range(replicates or MORE.get((case.name, strategy), REPLICATES))
    ]


def _select(usual: tuple[str, ...], only: tuple[str, ...]) -> tuple[str, ...]:
    if not only:
        return usual
    optional = OPTIONAL if usual == REAL else ()
    return tuple(name for name in (*usual, *optional) if name in only)


def _small(case: Case) -> Case:
    """The same case in a few seconds."""
    return replace(case, budget=min(case.budget, 2 * case.batch), looks=2)
