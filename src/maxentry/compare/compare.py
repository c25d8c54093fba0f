"""The comparison on a user's matrix: which runs it takes, and the answer in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxentry.campaign.campaign import Campaign
from maxentry.compare import metrics
from maxentry.compare.metrics import Curves, Interval
from maxentry.compare.scenario import BASELINE, DEFAULT, OURS, Array, Case, Cell, Given, Strategy
from maxentry.compare.store import Run
from maxentry.errors import DataError, ParameterError
from maxentry.transform import NONE, Transform

Labels = tuple[Sequence[str], Sequence[str]]

USUAL = ("uniform", "balanced", "predictive_variance")
PER_INITIAL = 3  # default budget: this many entries for each initial one
MOST = 0.6  # of the known entries, by default: errors are judged on the others too
BATCHES, QUICK_BATCHES = 10, 2
LEAST_SIDE = 3
FEW = 5  # replicates: below this, intervals tell little
NOTHING = 0.98  # relative to the spread of the values: predicting their mean has an error of 1


# Which runs


class Sizes(NamedTuple):
    """How many entries are measured at first, how many at a time after that, and how many in all after that."""

    initial: int
    batch: int
    budget: int


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
    among: Sequence[Strategy] = OURS,
    **model: Any,
) -> list[Cell]:
    """Return the runs of these strategies, and of uniform sampling to compare with, on the known entries of M.

    labels: names of rows and columns, for error messages. quick: fewer batches, unless their size is given.
    costs: strategies are then compared when they have spent what initial + budget entries cost on average.
    among: the strategies that names refer to.
    model: settings of the campaigns, as `Campaign.create` takes them (rank, noise, effects, transform).
    """
    if replicates < 1:
        raise ParameterError(f"expected at least 1 replicate, got {replicates}.")
    wanted = _add_baselines([find_strategy(name, among) for name in strategies or USUAL], among)
    for strategy in wanted:
        _check_applicable(strategy, costs)
    _check_scale(np.asarray(M, dtype=np.float64), model.get("transform", NONE), labels)
    M, costs = _drop_empty(M, costs)
    Campaign.create("sqlite://", "study", *M.shape, **model).close()  # refuses settings that cannot work
    sizes = choose_sizes(M, initial, budget, batch, QUICK_BATCHES if quick else BATCHES)
    looks, spend = BATCHES + 1, None
    if costs is not None:  # cheap entries may be many: go on until all are measured or the money is spent
        spend = float(sizes.initial + sizes.budget)
        sizes = sizes._replace(budget=int(np.isfinite(M).sum()) - sizes.initial)
        looks = -(-sizes.budget // sizes.batch) + 1
    case = Case(name, Given(M, costs), *sizes, looks=looks, model=tuple(sorted(model.items())), spend=spend)
    return [Cell(case, strategy, seed) for strategy in wanted for seed in range(replicates)]


def find_strategy(name: str, among: Iterable[Strategy] = OURS) -> Strategy:
    """Return the strategy of this name."""
    known = {strategy.name: strategy for strategy in among}
    if name not in known:
        raise ParameterError(f"expected one of the strategies {', '.join(known)}, got {name!r}.")
    return known[name]


def _add_baselines(strategies: Sequence[Strategy], among: Sequence[Strategy]) -> list[Strategy]:
    """Put uniform first, and add what each is compared with."""
    if all(strategy.name == BASELINE.name for strategy in strategies):
        raise ParameterError(
            f"expected a strategy to compare with {BASELINE.name}, got only {BASELINE.name}."
        )
    names = (BASELINE.name, *(s.baseline for s in strategies), *(s.name for s in strategies))
    return [find_strategy(name, among) for name in dict.fromkeys(names)]


def choose_sizes(
    M: Array,
    initial: int | None = None,
    budget: int | None = None,
    batch: int | None = None,
    batches: int = BATCHES,
) -> Sizes:
    """Use what was asked for; by default the longer side at first, then three times that, at most 60% in all.

    If more than these 60% are asked for at first, what follows may go up to all but one.
    """
    known = int(np.isfinite(M).sum())
    for name, n in (("initial", initial), ("budget", budget), ("batch", batch)):
        if n is not None and n < 1:
            raise ParameterError(f"expected {name} to be at least 1, got {n}.")
    first = max(M.shape) if initial is None else initial
    left = known - 1 - first
    if budget is None and (initial is None or first < int(MOST * known)):
        left = int(MOST * known) - first
    if left < 1 and initial is None:
        raise DataError(
            f"expected more known entries, got {known} of {M.shape[0]} x {M.shape[1]}: the first design alone takes "
            f"{first}, and errors are judged on entries that are left over. Ask for fewer initial entries."
        )
    more = min(PER_INITIAL * first, left) if budget is None else budget
    if more > left or more < 1:
        raise ParameterError(
            f"expected initial entries and budget to leave known entries to judge by, got {first} and "
            f"{'at least 1' if budget is None else budget} of {known} known entries."
        )
    return Sizes(first, -(-more // batches) if batch is None else batch, more)


def _drop_empty(M: Array, costs: Array | None) -> tuple[Array, Array | None]:
    """Drop rows and columns without a known entry: nothing can be measured or judged there."""
    M = np.asarray(M, dtype=np.float64)
    if M.ndim != 2:
        raise DataError(f"expected a matrix, got an array of {M.ndim} dimensions.")
    if costs is not None and costs.shape != M.shape:
        raise DataError(f"expected costs of the shape {M.shape}, got {costs.shape}.")
    known = np.isfinite(M)
    i, j = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    if min(len(i), len(j)) < LEAST_SIDE:
        raise DataError(
            f"expected known entries in at least {LEAST_SIDE} rows and {LEAST_SIDE} columns, got {len(i)} and "
            f"{len(j)}."
        )
    part = np.where(known, M, np.nan)[np.ix_(i, j)]
    if np.nanmin(part) == np.nanmax(part):
        raise DataError(f"expected values that differ, got only {np.nanmin(part):g}.")
    return part, None if costs is None else costs[np.ix_(i, j)]


def _check_applicable(strategy: Strategy, costs: Array | None) -> None:
    if "told" in strategy.needs:
        raise ParameterError(f"expected strategies that need no training rows, got {strategy.name!r}.")
    if "cost" in strategy.needs and costs is None:
        raise ParameterError(f"the strategy {strategy.name!r} needs costs of the entries, got none.")
    if strategy.check is not None:
        strategy.check()


def _check_scale(M: Array, transform: str | Transform, labels: Labels | None) -> None:
    """Refuse values outside the model's scale now, rather than in each run that measures them."""
    known = ~np.isnan(M)
    at = np.argwhere(known)

    def where(k: int) -> str:
        i, j = at[k]
        return f"row {labels[0][i]!r}, column {labels[1][j]!r}" if labels else f"row {i}, column {j}"

    Transform.parse(transform).forward(M[known], where)


# The answer


def choose_subject(strategies: Iterable[Strategy]) -> Strategy:
    """Return the strategy a comparison is about: the first active one, else the first that is not uniform."""
    strategies = list(strategies)
    others = [s for s in strategies if s.name != BASELINE.name]
    return next((s for s in strategies if s.active), others[0] if others else BASELINE)


def describe(strategy: Strategy) -> str:
    """Return what the question is about: active sampling, or a strategy that is not active by its title."""
    return "active sampling" if strategy.active and not strategy.mixes else strategy.title


def answer(runs: Iterable[Run], strategy: Strategy = DEFAULT) -> str:
    """Answer in a sentence whether this strategy would have helped. The runs are of one case."""
    study = metrics.gather(runs, [strategy])
    by = next(iter(study.values()), {})
    uniform = metrics.find_baseline(by, strategy.name)
    if uniform is None:
        return f"There are no runs of both {strategy.title} and {BASELINE.title} sampling to compare."
    chosen, base = metrics.pair(by[strategy.name], uniform)
    ratio = metrics.end_ratio(chosen, base)
    if not ratio.replicates:
        return f"There are no replicates of both {strategy.title} and {BASELINE.title} sampling."
    end = "at the same cost" if chosen.by_cost else f"after {np.median(base.at(-1, 'n')):,.0f} entries"
    numbers = f"{end} the error of {strategy.title} is {_ratio_text(ratio)} of uniform sampling's"
    return f"{_verdict(strategy, ratio)}: {numbers}{_detail(ratio, chosen, base)}."


def _verdict(strategy: Strategy, ratio: Interval) -> str:
    subject = describe(strategy)
    if strategy.mixes:
        return (
            f"{subject[:1].upper()}{subject[1:]} has an estimate of its own, so this does not compare choices"
        )
    return {
        "helps": f"Yes, {subject} would have helped",
        "harms": f"No, {subject} would have done worse than measuring at random",
        "no difference shown": f"No gain from {subject} is shown",
        "unknown": f"One replicate cannot tell whether {subject} would have helped",
    }[ratio.effect]


def _ratio_text(ratio: Interval) -> str:
    if not ratio.known:
        return f"{ratio.value:.2f}"
    value, _, interval = ratio.text().rstrip(")").partition(" (")
    few = ", which are few" if ratio.replicates < FEW else ""
    return f"{value} (90% interval {interval}, {ratio.replicates} replicates{few})"


def _detail(ratio: Interval, chosen: Curves, base: Curves) -> str:
    """Return how much sooner uniform's final error was reached, or why nothing could help."""
    if ratio.effect == "helps":
        reach = metrics.reach(chosen, base, chosen.spent)
        if not reach.median < reach.uniform:
            return ""
        amount = f"{reach.median:,.0f} entries instead of {reach.uniform:,.0f}"
        if chosen.by_cost:
            amount = f"{reach.median / reach.uniform:.0%} of the cost"
        return f", and it reaches uniform's final error after {amount} (median)"
    if ratio.known and not base.simulated and float(base.at(-1).mean()) >= NOTHING:
        return "; no structure was found: the errors are as large as the spread of the values"
    return ""
