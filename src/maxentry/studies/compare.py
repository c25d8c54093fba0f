"""Would active sampling have helped on this matrix? Play it through on what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.campaign.campaign import Campaign
from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.studies.case import Case, Cell
from maxentry.studies.metrics import BASELINE, OWN_BASELINE
from maxentry.studies.sources import Given
from maxentry.studies.strategies import named, smurff_peer
from maxentry.transform import NONE, Transform

Array = NDArray[np.float64]
Labels = tuple[Sequence[str], Sequence[str]]

USUAL = ("uniform", "balanced", "predictive_variance")
PER_INITIAL = 3  # entries of the budget for each initial one, where nobody says
MOST = 0.6  # of the known entries, where nobody says: the errors are judged on the others
BATCHES, QUICK_BATCHES = 10, 2
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
    labels: Labels | None = None,
    quick: bool = False,
    **model: Any,
) -> list[Cell]:
    """The runs of these strategies, and of uniform sampling to compare with, on the known entries of M.

    labels: of the rows and columns, for what is refused. quick: fewer batches, unless their size is given.
    With costs, strategies are compared when they have spent what initial + budget entries cost on average.
    model: settings of the campaigns, as `Campaign.create` takes them (rank, noise, effects, transform).
    """
    if replicates < 1:
        raise ParameterError(f"expected at least 1 replicate, but {replicates} came.")
    wanted = _with_partners(strategies or USUAL)
    _check_applicable(wanted, costs)
    _check_scale(np.asarray(M, dtype=np.float64), model.get("transform", NONE), labels)
    M, costs = _usable(M, costs)
    Campaign.create(
        "sqlite://", "study", *M.shape, **model
    ).close()  # settings that cannot work are refused here
    sizes = sizes_of(M, initial, budget, batch, QUICK_BATCHES if quick else BATCHES)
    case = Case(name, Given(M, costs), *_counts(sizes), looks=BATCHES + 1, model=tuple(sorted(model.items())))
    if costs is not None:
        case = _by_cost(case, M)
    return [Cell(case, strategy, seed) for strategy in wanted for seed in range(replicates)]


def _with_partners(strategies: Sequence[str]) -> tuple[str, ...]:
    """With what each is compared with: uniform, judged by its own estimate where that can be."""
    if all(name == BASELINE for name in strategies):
        raise ParameterError(f"expected a strategy to compare with {BASELINE}, but only {BASELINE} came.")
    partners = (OWN_BASELINE[name] for name in strategies if name in OWN_BASELINE)
    return tuple(dict.fromkeys((BASELINE, *partners, *strategies)))


def sizes_of(
    M: Array,
    initial: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    batches: int = BATCHES,
) -> Sizes:
    """What was asked for; else the longer side at first, three times that after it, at most 60% of what is known.

    Where more than these 60% are asked for at first, what follows may go up to all but one.
    """
    known, longer = int(np.isfinite(M).sum()), max(M.shape)
    for name, n in (
        ("initial entries", initial),
        ("entries of the budget", budget),
        ("entries a batch", batch),
    ):
        if n is not None and n < 1:
            raise ParameterError(f"expected at least 1 for the {name}, but {n} came.")
    first = longer if initial is None else initial
    room = known - 1 - first
    if budget is None and (initial is None or first < int(MOST * known)):
        room = int(MOST * known) - first
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
    return Sizes(first, more, -(-more // batches) if batch is None else batch)


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
        if "smurff" in needs and not smurff_peer.available():
            smurff_peer.interpreter()  # says how to come by it
            place = f"the Python named by {smurff_peer.INTERPRETER}"
            raise MissingDependencyError(f"expected SMURFF for the strategy {name!r}, but {place} has none.")


def _check_scale(M: Array, transform: str | Transform, labels: Labels | None) -> None:
    """Refuse at once what has no place on the scale of the model, not in each of the runs that come to measure it."""
    told = ~np.isnan(M)
    at = np.argwhere(told)

    def where(k: int) -> str:
        i, j = at[k]
        return f"row {labels[0][i]!r}, column {labels[1][j]!r}" if labels else f"row {i}, column {j}"

    Transform.of(transform).forward(M[told], where)
