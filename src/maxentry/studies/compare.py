"""Would active sampling have helped on this matrix? Play it through on what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError
from maxentry.studies.case import Case, Cell
from maxentry.studies.sources import Given
from maxentry.studies.strategies import named

Array = NDArray[np.float64]

STRATEGIES = ("uniform", "balanced", "predictive_variance")
BASELINE = "uniform"
PER_INITIAL = 3  # entries of the budget for each initial one, where nobody says
MOST = 0.6  # of the known entries, where nobody says: the errors are judged on the others
BATCHES = 10
LEAST_SIDE = 3


class Sizes(NamedTuple):
    """How many entries are measured at first, how many after that, and how many at a time."""

    initial: int
    budget: int
    batch: int


def compare_cells(
    M: Array,
    *,
    name: str = "your matrix",
    initial: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    strategies: Sequence[str] = (),
    replicates: int = 5,
    costs: Array | None = None,
    **model: Any,
) -> list[Cell]:
    """The runs of these strategies, and of uniform sampling to compare with, on the known entries of M.

    With costs, strategies are compared when they have spent what initial + budget entries cost on average.
    model: settings of the campaigns, as `Campaign.create` takes them (rank, noise, effects, transform).
    """
    if replicates < 1:
        raise ParameterError(f"expected at least 1 replicate, but {replicates} came.")
    wanted = tuple(dict.fromkeys((BASELINE, *(strategies or STRATEGIES))))
    _check_applicable(wanted, costs)
    M, costs = _usable(M, costs)
    sizes = sizes_of(M, initial, budget, batch)
    case = Case(name, Given(M, costs), *_counts(sizes), looks=BATCHES + 1, model=tuple(sorted(model.items())))
    if costs is not None:
        case = _by_cost(case, M)
    return [Cell(case, strategy, seed) for strategy in wanted for seed in range(replicates)]


def sizes_of(
    M: Array, initial: int | None = None, budget: int | None = None, batch: int | None = None
) -> Sizes:
    """What was asked for; else the longer side at first, three times that after it, at most 60% of what is known."""
    known, longer = int(np.isfinite(M).sum()), max(M.shape)
    for name, n in (
        ("initial entries", initial),
        ("entries of the budget", budget),
        ("entries a batch", batch),
    ):
        if n is not None and n < 1:
            raise ParameterError(f"expected at least 1 for the {name}, but {n} came.")
    first = longer if initial is None else initial
    room = (known - 1 if budget is not None else int(MOST * known)) - first
    if room < 1 and initial is None:
        raise DataError(
            f"expected more known entries than {known} of {M.shape[0]} x {M.shape[1]}: the first design alone takes "
            f"{first}, and errors are judged on entries that are left over; fewer initial ones can be asked for."
        )
    more = min(PER_INITIAL * first, room) if budget is None else budget
    if more > room or more < 1:
        raise ParameterError(
            f"expected initial entries and budget to leave known entries over to judge by, but {first} and "
            f"{max(more, 0) if budget is not None else 'at least 1'} came, and {known} are known."
        )
    return Sizes(first, more, -(-more // BATCHES) if batch is None else batch)


def _counts(sizes: Sizes) -> tuple[int, int, int]:
    return sizes.initial, sizes.batch, sizes.budget


def _by_cost(case: Case, M: Array) -> Case:
    """The same for equal costs: cheap entries may be many, so that looks go on until all are measured."""
    known = int(np.isfinite(M).sum())
    most = known - case.initial
    spend = float(case.initial + case.budget)
    return Case(
        case.name, case.source, case.initial, case.batch, most, looks=-(-most // case.batch) + 1, model=case.model,
        spend=spend,
    )  # fmt: skip


def _usable(M: Array, costs: Array | None) -> tuple[Array, Array | None]:
    """Rows and columns of which something is known; nothing can be measured or judged in the others."""
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2:
        raise DataError(f"expected a matrix, but an array of {M.ndim} dimensions came.")
    if costs is not None and costs.shape != M.shape:
        raise DataError(f"expected costs of the shape {M.shape}, but {costs.shape} came.")
    known = np.isfinite(M)
    i, j = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    if min(len(i), len(j)) < LEAST_SIDE:
        raise DataError(
            f"expected known entries in at least {LEAST_SIDE} rows and {LEAST_SIDE} columns, but they are in "
            f"{len(i)} and {len(j)}."
        )
    part = np.where(known, M, np.nan)[np.ix_(i, j)]
    values = part[~np.isnan(part)]
    if values.min() == values.max():
        raise DataError(f"expected values that differ, but all are {values[0]:g}.")
    return part, None if costs is None else costs[np.ix_(i, j)]


def _check_applicable(strategies: Sequence[str], costs: Array | None) -> None:
    for name in strategies:
        needs = named(name).needs
        if "told" in needs:
            raise ParameterError(f"expected strategies that need no training rows, but {name!r} came.")
        if "cost" in needs and costs is None:
            raise ParameterError(f"expected costs of the entries for the strategy {name!r}, but none came.")
