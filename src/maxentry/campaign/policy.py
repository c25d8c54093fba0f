"""The policy: choose the next entries to measure, or say why to stop, as a pure function of the state of a campaign.

First comes the initial design, balanced over rows and columns (with a mask: in proportion to what can be measured of
them), except that three tenths are measured twice; then entries are chosen by an acquisition criterion from the
posterior; with a mask they are random ones instead where the default criterion promises little more (`promised_gain`).
With the paper's settings (rank, effects off, its priors, acquisition="maxent", one entry at a time) this is
its Algorithm 1 (MaxEnt). With a goal other than filling, entries are chosen for it (`acquisition.targets`). A campaign
ends when no entry is left, the budget is spent, the expected error (`fits.expected_error`) has reached the target, or
what is at stake for the goal is small enough.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxentry._types import Array, Flags, Indices
from maxentry.acquisition import Limits, Problem, Selection, choose
from maxentry.acquisition.criteria import balanced
from maxentry.acquisition.total_variance import TotalVariance
from maxentry.belief import Entries
from maxentry.campaign import fits
from maxentry.campaign.events import Asked
from maxentry.campaign.fits import Cache
from maxentry.campaign.settings import WITHOUT_MODEL, Settings
from maxentry.campaign.state import CHOICE, DESIGN, State, derive_rng
from maxentry.errors import LabelError, ParameterError, is_choice
from maxentry.posterior.posterior import Posterior
from maxentry.wording import show

if TYPE_CHECKING:
    from maxentry.model.goal import Goal

About = Literal["row", "average"]  # of one row: all of its entries, or their average
Plates = str  # "rows", "cols", or the size of a block like "8x12"
BLOCK_ENTRIES = 1_000_000  # entries whose costs are computed at once
DOUBLED = 0.3  # of the rows, and of the columns, in an initial design of about one entry each
FEW = 16  # rows or columns: three pairs tell nothing
DEFAULT = "predictive_variance"
AT_RANDOM = "uniform, since with this mask choosing promises hardly less error than random entries"
LEAST_GAIN = 0.02  # of the variance of a prediction, so 1% of its error, if about as many were measured again as so far
COUNTED = 4_000  # entries of the mask that stand for all of them
ROUNDING = (
    1e-12  # relative: costs that add up to the budget but for rounding are within it; so little gain is none
)


class Batch(NamedTuple):
    """Chosen entries in order, their predictions in the user's units, and why these or why none."""

    rows: Indices
    cols: Indices
    mean: Array
    sd: Array
    gain: Array
    cost: Array
    why: str

    @classmethod
    def none(cls, why: str) -> Batch:
        """Return an empty batch with a reason."""
        nothing = np.empty(0)
        return cls(*Entries.none(), nothing, nothing, nothing, nothing, why)


# Choosing


def next_batch(
    state: State,
    n: int,
    now: dt.datetime,
    *,
    plates: Plates | None = None,
    per_row: int | None = None,
    per_col: int | None = None,
    cache: Cache | None = None,
    progress: bool | None = None,
    row: Hashable = None,
    about: About = "row",
) -> Batch:
    """Choose the next n entries (or plates); fewer or none if no more are left or the budget ends.

    row: only entries of this one, those that tell most about all of it, or about its average.
    """
    if (over := explain_end(state, now)) is not None:
        return Batch.none(over)
    settings, phase = state.settings, explain_design_phase(state, now)
    criterion = settings.acquisition if phase is None else "balanced"
    if row is not None:
        posterior = (
            None if criterion in WITHOUT_MODEL else fits.fit_posterior(state, cache, progress=progress)
        )
        return _choose_of_row(state, n, now, find_row(state, row), about, posterior, phase or criterion)
    if settings.goal != "fill" and phase is None and criterion not in WITHOUT_MODEL:
        criterion = settings.goal
    posterior = None
    if phase is None and (criterion not in WITHOUT_MODEL or _has_target(state)):
        posterior = fits.fit_posterior(state, cache, progress=progress)
        if (reached := explain_target(state, posterior)) is not None:
            return Batch.none(reached)
    problem = _build_problem(state, now, Limits(per_row, per_col, plates), replicates=phase is None)
    rng = derive_rng(settings.seed, CHOICE, state.version)
    how: Any = criterion if phase is None else partial(balanced, added=_plan_lines(state, problem))
    if criterion == settings.goal and posterior is not None:
        how = _choose_for_goal(settings.wanted, posterior)
    chosen = choose(how, None if posterior is None else posterior.belief, problem, n, rng=rng)
    mask = _uneven_mask(settings)
    if criterion == DEFAULT and posterior is not None and mask is not None:
        at_random = choose("uniform", None, problem, n, rng=rng)
        if promised_gain(posterior, problem, mask, (chosen, at_random), rng) < LEAST_GAIN:
            chosen, criterion = at_random, AT_RANDOM
    k = count_affordable(state, now, chosen.cost, _find_plates(chosen, plates))
    if k == 0:
        what = f"whole {plates}" if plates in ("rows", "cols") else "any entry that is available"
        left = f"what is left of the budget, {budget_left(state, now):g},"
        return Batch.none(f"{left} does not pay for {what}.")
    rows, cols = chosen.rows[:k], chosen.cols[:k]
    mean, sd = _predict(posterior, rows, cols)
    why, gain = phase or _explain_choice(criterion, chosen), chosen.gain[:k]
    if posterior is not None and criterion == settings.goal:
        gain = np.where(gain > ROUNDING * gain.max(initial=0.0), gain, 0.0)  # the rest is rounding
        why += say_idle(gain)
    return Batch(rows, cols, mean, sd, gain, chosen.cost[:k], why)


def _uneven_mask(settings: Settings) -> Flags | None:
    """Return the mask, if only a part can be measured; None where costs differ, as batches then cannot be compared."""
    mask = settings.mask
    return None if mask is None or mask.all() or settings.costs.given else mask


def promised_gain(
    posterior: Posterior,
    problem: Problem,
    mask: Flags,
    batches: tuple[Selection, Selection],
    rng: np.random.Generator,
) -> float:
    """Return what chosen entries promise over random ones, as a share of the variance of a prediction.

    What can be measured is often no random part of a table: most ratings are of few films, by few people. Entries that
    are chosen among it are even less of one (rare films, the five busiest people). The model cannot know how far that
    misleads it, so a small promise is not worth it. With V(.) the mean variance of the entries of the mask once a batch
    of n is measured, V that of now, eta2 the noise, and N measured entries, the gain is

        (V(random) - V(chosen)) / (V + eta2) max(1, N / n)^(1/2)

    The root makes batches of any size alike: the entries of a batch that promise most come first.
    """
    belief, (m1, m2), keys = posterior.belief, posterior.shape, np.flatnonzero(mask)
    if len(keys) > COUNTED:
        keys = np.sort(rng.choice(keys, COUNTED, replace=False))
    counted = Entries.from_keys(keys, m2)
    total, chains = TotalVariance(belief, sample=counted), len(posterior.chains)
    by_choice, by_chance = (
        total.expected_after(problem.pending.joined(Entries(batch.rows, batch.cols)), chains)
        for batch in batches
    )
    now = total.now() + m1 * m2 * float(belief.noise_at(*counted).mean())
    often = max(1.0, posterior.observations.n / max(len(batches[0].rows), 1))
    return (by_chance - by_choice) / now * float(np.sqrt(often))


# Entries of one row


def find_row(state: State, row: Any) -> int:
    """Return the position of a row by its label; say how to add one that is not there."""
    try:
        return state.row_axis.find(row)
    except LabelError as error:
        raise LabelError(
            f"{error} Add it first (add_rows, `maxentry add-rows`), then ask about it."
        ) from None


def _choose_of_row(
    state: State, n: int, now: dt.datetime, i: int, about: About, posterior: Posterior | None, how: str
) -> Batch:
    """Choose the n entries of row i that tell most about it; without a posterior those of columns least measured.

    What is pending of the row counts as measured; the rest of the matrix is taken as it is believed to be.
    """
    whole, name = (
        _build_problem(state, now, Limits(), replicates=posterior is not None),
        state.row_axis.show(i),
    )
    problem = whole.row_alone(i)
    if not problem.available(np.zeros(1, dtype=np.int64), np.arange(state.shape[1])).any():
        within = "" if state.settings.budget is None else " within the budget"
        return Batch.none(f"no entry of row {name} is left to ask for{within}.")
    criterion: Any = how
    rng, belief = derive_rng(state.settings.seed, CHOICE, state.version), None
    if posterior is None:
        measured = whole.observed.joined(whole.pending)
        elsewhere = np.bincount(measured.cols[measured.rows != i], minlength=state.shape[1])
        if how != "uniform":
            criterion = partial(balanced, added=(np.zeros(1, dtype=np.int64), elsewhere))
    else:
        belief, how = (
            posterior.belief.row_alone(i),
            "integrated_variance" if about == "row" else "its average",
        )
        criterion = "integrated_variance" if about == "row" else _average_row(state.settings, posterior, i)
    chosen = choose(criterion, belief, problem, n, rng=rng)
    k = count_affordable(state, now, chosen.cost)
    rows, cols = np.full(k, i), chosen.cols[:k]
    mean, sd = _predict(posterior, rows, cols)
    return Batch(
        rows, cols, mean, sd, chosen.gain[:k], chosen.cost[:k], f"row {name}: {how.replace('_', ' ')}"
    )


def _average_row(settings: Settings, posterior: Posterior, i: int) -> Any:
    """Return the criterion of the average of row i, with the weights of the columns that the goal may have."""
    from maxentry.acquisition.targets import GoalCriterion
    from maxentry.model.goal import Goal

    goal, answers = settings.wanted, posterior.answers
    if (goal.kind, goal.per) != ("rank", "row"):
        goal = Goal("rank", 1, "row")

    def convert(x: Array, _rows: Any, cols: Any, draws: Any) -> Array:
        return np.asarray(answers.entries(x, slice(i, i + 1), cols, draws))

    return GoalCriterion(goal, None if answers.plain else convert)


# For a goal, and the design


def _choose_for_goal(goal: Goal, posterior: Posterior) -> Any:
    """Return the criterion of a goal other than filling, over values in the user's units."""
    from maxentry.acquisition.targets import GoalCriterion

    answers = posterior.goal_answers
    beyond = answers._replace(ends=None)
    # for the best, what lies beyond an end of the scale is as good as the end: nothing more is to be gained there
    own = answers if goal.kind == "best" else beyond
    return GoalCriterion(goal, beyond.of_pattern.convert, own.convert)


def _explain_choice(criterion: str, chosen: Selection) -> str:
    """Return the name of the criterion and, where not all entries were searched, how large the sample was."""
    if not chosen.sampled:
        return criterion
    better = f"at most {100 * chosen.better:.2g}% of all entries gain more"
    return f"{criterion}, best of {chosen.sampled:,} sampled candidates ({better})"


def say_idle(gain: Array) -> str:
    """Say how many entries of a batch for a goal promise nothing for it; nothing where all promise something."""
    n, idle = len(gain), int((gain == 0).sum())
    if not idle:
        return ""
    which = "these" if idle == n else f"{idle} of these {n}"
    return f"; {which} promise nothing more for it and are what is known least"


def _plan_lines(state: State, problem: Problem) -> tuple[Indices, Indices] | None:
    """Return counts to add to those of rows and columns, so that the initial design measures some twice.

    None without row and column effects: the paper's design has every row and column equally often.
    """
    if not state.settings.effects:
        return None
    rng, measured = derive_rng(state.settings.seed, DESIGN, 0), problem.observed.joined(problem.pending)
    n, (m1, m2), mask = _count_initial(state), state.shape, state.settings.mask
    rows, cols = np.bincount(measured.rows, minlength=m1), np.bincount(measured.cols, minlength=m2)
    if mask is None or mask.all():
        return double_lines(m1, n, rows, rng), double_lines(m2, n, cols, rng)
    return share_lines(mask.sum(1), n, rng), share_lines(mask.sum(0), n, rng)


def double_lines(m: int, n: int, counts: Indices, rng: np.random.Generator) -> Indices:
    """Return counts to add to those of m rows (or columns), so that levelling the sums over n entries doubles some.

    With one entry a row nothing tells the row's level from noise. So a share DOUBLED of the lines gets two, as many get
    none, and the others get one. Nothing is added where each gets two or more, where lines have two by themselves, or
    where there are too few for their variance to be known.
    """
    order, k = rng.permutation(m), int(DOUBLED * min(m, n))
    doubled = max(k - int((counts[order[k:]] > 1).sum()), n - m)  # lines with two by themselves serve as well
    empty = m - n + doubled
    added = np.ones(m, dtype=np.int64)
    if m < FEW or doubled <= 0 or empty <= 0:
        return 0 * added
    added[order[:doubled]] = 0
    added[order[m - empty :]] = 2
    return added


def share_lines(measurable: Indices, n: int, rng: np.random.Generator) -> Indices:
    """Return counts to add to those of rows (or columns), so that levelling shares n entries out by what is measurable.

    Rows of which much can be measured often differ from the others (popular films are rated higher). Were all measured
    equally often, the values would be no sample of those that can be measured, and predictions of these would be off by
    more than intervals say. As in `double_lines`, a share of the lines gets two, and nothing is added for few lines,
    whose levels are soon known.
    """
    m, order = len(measurable), rng.permutation(len(measurable))
    if m < FEW:
        return 0 * order
    ends = np.cumsum(measurable[order]) * (n / max(int(measurable.sum()), 1)) + rng.random()
    wanted = np.empty(m, dtype=np.int64)
    wanted[order] = np.diff(np.floor(ends * (1 + ROUNDING)), prepend=0.0)
    single = order[(wanted[order] == 1) & (measurable[order] > 1)]
    more = min(int(DOUBLED * min(m, n)) - int((wanted > 1).sum()), len(single) // 2)
    if more > 0:
        wanted[single[:more]], wanted[single[-more:]] = 2, 0
    return np.asarray(wanted.max(initial=0) - wanted)


def _has_target(state: State) -> bool:
    """Return whether a criterion without a model needs a fit for its target, and there are values enough for one."""
    return state.settings.target_sd is not None and 2 * len(state.told_keys) >= max(state.shape)


def explain_design_phase(state: State, now: dt.datetime) -> str | None:
    """Return why the initial design goes on; None once the posterior can choose.

    It lasts until `n_initial` entries are told or pending and half of them are told. Before that the choice would
    depend mostly on the prior. Criteria without a model need no initial design.
    """
    if state.settings.acquisition in WITHOUT_MODEL:
        return None
    wanted = _count_initial(state)
    told, waiting = len(state.told_keys), len(state.pending(now).rows)
    if told == 0:
        return "initial design, before any value"
    if told + waiting < wanted:
        return f"initial design, {told + waiting} of {wanted} told or pending"
    if 2 * told < wanted:
        return f"balanced, {told} of {wanted} of the initial design told yet"
    return None


def _count_initial(state: State) -> int:
    """Return how many entries the initial design has."""
    wanted = state.settings.n_initial
    wanted = max(state.shape) if wanted is None else wanted
    return min(wanted, state.shape[0] * state.shape[1] if state.mask is None else int(state.mask.sum()))


def _build_problem(state: State, now: dt.datetime, limits: Limits, replicates: bool) -> Problem:
    """Describe what may be chosen: entries that the remaining budget pays for, and replicates if allowed."""
    problem = Problem(
        state.shape,
        observed=state.told,
        pending=state.pending(now),
        mask=state.mask,
        again=state.settings.again and (replicates or not _anything_new(state, now)),
        costs=state.costs,
        limits=limits,
    )
    left = budget_left(state, now)
    if left is None or not (state.costs.given or limits.plates):
        return problem
    return replace(problem, mask=find_payable(problem, left))


def _anything_new(state: State, now: dt.datetime) -> bool:
    """Return whether an available entry is neither told nor pending."""
    touched = np.union1d(state.told_keys, state.pending(now).keys(state.shape[1]))
    if state.mask is None:
        return bool(len(touched) < state.shape[0] * state.shape[1])
    i, j = Entries.from_keys(touched, state.shape[1])
    return bool(state.mask.sum() > state.mask[i, j].sum())


def _find_plates(entries: Selection | Batch, plates: Plates | None) -> Indices | None:
    """Return the row or column that each entry is part of; None if entries are asked for one by one."""
    return {"rows": entries.rows, "cols": entries.cols}.get(plates or "")


def _predict(posterior: Posterior | None, rows: Indices, cols: Indices) -> tuple[Array, Array]:
    """Return the mean and sd of entries in the user's units; NaN without a posterior."""
    if posterior is None:
        return np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    x = posterior.entries_at(rows, cols)
    return x.mean(0), x.std(0, ddof=min(1, len(x) - 1))


# The end: nothing is left, the target is reached, or the budget is spent


def explain_end(state: State, now: dt.datetime) -> str | None:
    """Return why nothing more can be asked for; None if something can."""
    if state.n_available(now) == 0:
        told, failed = len(state.told_keys), len(state.barred.rows)
        if waiting := len(state.asked.pending(now)):
            either = "told, failed" if failed else "told"
            return f"no entry is left to ask for: all are {either} or pending ({waiting} pending). Tell those first."
        every = "every entry" if state.settings.mask is None else "every entry that may be measured"
        if failed:
            return (
                f"no entry is left to ask for: {every} has been told ({told}) or has failed ({failed}). Withdraw a "
                "failure to try it again."
            )
        return f"no entry is left to ask for: {every} has been told ({told}). The setting `again` allows replicates."
    left = budget_left(state, now)
    if left is not None and not _pays(left, state.least_cost):
        return (
            f"the budget is spent: {state.spent(now):g} of {state.settings.budget:g}, and the cheapest entry costs "
            f"{state.least_cost:g}."
        )
    return None


def explain_target(state: State, posterior: Posterior) -> str | None:
    """Return a sentence if the campaign has reached its goal or target; None if it has none or not reached it."""
    if state.settings.goal != "fill" and state.settings.enough is not None:
        from maxentry.posterior.decisions import name_stake

        answer, enough = posterior.answer(state.settings.wanted), state.settings.enough
        if answer.at_stake <= enough:
            wanted = name_stake(state.settings.wanted, enough)[1]
            return f"the goal is reached: {answer.summary[-1].rstrip('.')}; {wanted} was asked for."
    target = state.settings.target_sd
    if target is None or (error := fits.expected_error(state, posterior)) > target:
        return None
    return f"the target is reached: the expected error is {error:.3g}, and {target:g} was asked for."


def budget_left(state: State, now: dt.datetime) -> float | None:
    """Return what is left of the budget; None without a budget."""
    budget = state.settings.budget
    return None if budget is None else budget - state.spent(now)


def _pays(left: float, cost: Any) -> Any:
    return cost <= left * (1 + ROUNDING)


def find_payable(problem: Problem, left: float) -> Flags:
    """Return an m1 x m2 mask of available entries that `left` pays for; with plates, for the whole plate."""
    (m1, m2), plates = problem.shape, problem.limits.plates
    mask = np.empty((m1, m2), dtype=bool)
    step = max(1, BLOCK_ENTRIES // m2)
    line = np.zeros(m2 if plates == "cols" else m1)  # the cost of each plate
    for start in range(0, m1, step):  # in blocks: all costs at once would take eight times the mask's memory
        rows = np.arange(start, min(start + step, m1))
        free = problem.available(rows, np.arange(m2))
        cost = problem.costs.at(rows[:, None], np.arange(m2))
        mask[rows] = free
        if plates not in ("rows", "cols"):
            mask[rows] &= _pays(left, cost)
        elif plates == "rows":
            line[rows] = np.where(free, cost, 0.0).sum(1)
        else:
            line += np.where(free, cost, 0.0).sum(0)
    if plates in ("rows", "cols"):
        mask &= _pays(left, line[:, None] if plates == "rows" else line)
    return mask


def count_affordable(state: State, now: dt.datetime, cost: Array, plate: Indices | None = None) -> int:
    """Return how many entries of a batch, from the first, the budget pays for; a plate counts whole or not at all."""
    left = budget_left(state, now)
    if left is None:
        return len(cost)
    k = int(_pays(left, np.cumsum(cost)).sum())
    while plate is not None and 0 < k < len(cost) and plate[k] == plate[k - 1]:
        k -= 1
    return k


# Reserving a batch


def read_limits(n: int, row: Any, about: Any, **limits: Any) -> dict[str, Any]:
    """Return the limits of a batch as given, with the row it is about; refuse those that do not go together."""
    if Limits(**limits).block and n != 1:
        raise ParameterError(f"expected one plate at a time, got {n}.")
    if not is_choice(about, ("row", "average")):
        raise ParameterError(f"expected about to be 'row' or 'average', got {show(about)}.")
    if row is None and about != "row":
        raise ParameterError(f"expected a row with about={about!r}, got none.")
    given = [name for name, limit in limits.items() if limit is not None]
    if row is not None and given:
        raise ParameterError(f"expected either a row or limits of the batch, got row and {given[0]}.")
    return limits if row is None else limits | {"row": row, "about": about}


def resolve_limits(given: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Use the request's limits if it has any; fall back to the campaign's settings."""
    if any(x is not None for x in given.values()):
        return given
    return {"plates": settings.plates, "per_row": settings.per_row, "per_col": settings.per_col}


def select_free(
    batch: Batch,
    then: State,
    latest: State,
    now: dt.datetime,
    *,
    plates: Plates | None,
    fewer_will_do: bool,
) -> Flags | None:
    """Return which entries, chosen in the state `then`, are still free in the latest one; None to choose again."""
    if latest.removed != then.removed:  # positions have changed
        return None
    keys = Entries(batch.rows, batch.cols).keys(latest.shape[1])  # columns may have been added since
    taken = _asked_since(then, latest) if then.settings.again else latest.taken_keys(now)
    free = ~np.isin(keys, taken)
    if latest.mask is not None:
        free &= latest.mask[batch.rows, batch.cols]
    line = _find_plates(batch, plates)
    if line is not None:  # a plate is asked for whole or not at all
        free &= ~np.isin(line, line[~free])
    if not (free.all() or (fewer_will_do and free.any())):
        return None
    # A batch chosen in the latest state is within its budget already.
    paid = latest is then or count_affordable(latest, now, batch.cost[free]) == free.sum()
    return free if paid else None


def _asked_since(then: State, latest: State) -> Indices:
    """Return the keys of entries asked for since `then`. With replicates, only these clash."""
    since = latest.asked.since(then.version + 1)
    rows, cols = latest.asked.column("row")[since], latest.asked.column("col")[since]
    return Entries(rows, cols).keys(latest.shape[1])


def build_event(
    batch: Batch, kept: Flags, then: State, latest: State, now: dt.datetime, plates: Plates | None = None
) -> Asked:
    """Build the event that asks for the entries of the batch where `kept` is true; of a block with its plate."""
    lease = latest.settings.lease
    columns = {name: tuple(np.asarray(getattr(batch, name))[kept].tolist()) for name in Batch._fields[:6]}
    return Asked(
        first=len(latest.asked) + 1,
        **columns,
        based_on=then.version,
        expires_at=None if lease is None else now + dt.timedelta(seconds=lease),
        why=batch.why,
        plate=plates if plates is not None and Limits(plates=plates).block else "",
    )
