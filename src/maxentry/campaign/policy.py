"""The policy: choose the next entries to measure, as a pure function of the state of a campaign.

First comes the initial design, balanced over rows and columns; then entries are chosen by an acquisition criterion from
the posterior. With the paper's settings (rank, effects off, its priors, acquisition="maxent", one entry at a time) this
is its Algorithm 1 (MaxEnt).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition import Costs, Limits, Problem, choose
from maxentry.acquisition.problem import Selection
from maxentry.belief import Entries, Indices
from maxentry.campaign import fits, stop
from maxentry.campaign.events import Asked
from maxentry.campaign.fits import Cache
from maxentry.campaign.settings import WITHOUT_MODEL, Settings
from maxentry.campaign.state import CHOICE, State, derive_rng
from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]
Plates = Literal["rows", "cols"]


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


def next_batch(
    state: State,
    n: int,
    now: dt.datetime,
    *,
    plates: Literal["rows", "cols"] | None = None,
    per_row: int | None = None,
    per_col: int | None = None,
    cache: Cache | None = None,
    progress: bool | None = None,
) -> Batch:
    """Choose the next n entries (or plates); fewer or none if no more are left or the budget ends."""
    if (over := stop.explain_end(state, now)) is not None:
        return Batch.none(over)
    settings, phase = state.settings, explain_design_phase(state, now)
    criterion = settings.acquisition if phase is None else "balanced"
    posterior = None
    if phase is None and (criterion not in WITHOUT_MODEL or _has_target(state)):
        posterior = fits.fit_posterior(state, cache, progress=progress)
        if (reached := stop.explain_target(state, posterior)) is not None:
            return Batch.none(reached)
    question = _build_problem(state, now, Limits(per_row, per_col, plates), replicates=phase is None)
    rng = derive_rng(settings.seed, CHOICE, state.version)
    belief = None if posterior is None else posterior.belief
    chosen = choose(criterion, belief, question, n, rng=rng)
    plate = {"rows": chosen.rows, "cols": chosen.cols, None: None}[plates]
    k = stop.count_affordable(state, now, chosen.cost, plate)
    if k == 0:
        return Batch.none(_explain_budget(state, now, plates))
    return _build_batch(chosen, k, posterior, phase or criterion)


def _has_target(state: State) -> bool:
    """Return whether the target must be checked for a criterion without a model, and there are enough values for it."""
    return state.settings.target_sd is not None and 2 * len(state.told_keys) >= max(state.shape)


def explain_design_phase(state: State, now: dt.datetime) -> str | None:
    """Return why the initial design goes on; None once the posterior can choose.

    It lasts until `n_initial` entries are told or pending and half of them are told. Before that the choice would
    depend mostly on the prior. Criteria without a model need no initial design.
    """
    if state.settings.acquisition in WITHOUT_MODEL:
        return None
    wanted = state.settings.n_initial
    wanted = max(state.shape) if wanted is None else wanted
    wanted = min(wanted, state.shape[0] * state.shape[1] if state.mask is None else int(state.mask.sum()))
    told, waiting = len(state.told_keys), len(state.pending(now).rows)
    if told == 0:
        return "initial design, nothing told yet"
    if told + waiting < wanted:
        return f"initial design, {told + waiting} of {wanted} told or pending"
    if 2 * told < wanted:
        return f"balanced, {told} of {wanted} of the initial design told yet"
    return None


def _build_problem(state: State, now: dt.datetime, limits: Limits, replicates: bool) -> Problem:
    """Describe what may be chosen: entries that the remaining budget pays for, and replicates if allowed."""
    question = Problem(
        state.shape,
        observed=state.told,
        pending=state.pending(now),
        mask=state.mask,
        again=state.settings.again and (replicates or not _anything_new(state, now)),
        costs=Costs(*state.costs),
        limits=limits,
    )
    left = stop.budget_left(state, now)
    if left is None or not (state.costs.given or limits.plates):
        return question
    return replace(question, mask=stop.find_payable(question, left))


def _anything_new(state: State, now: dt.datetime) -> bool:
    """Return whether an available entry is neither told nor pending."""
    touched = np.union1d(state.told_keys, state.pending(now).keys(state.shape[1]))
    if state.mask is None:
        return bool(len(touched) < state.shape[0] * state.shape[1])
    i, j = Entries.from_keys(touched, state.shape[1])
    return bool(state.mask.sum() > state.mask[i, j].sum())


def _explain_budget(state: State, now: dt.datetime, plates: str | None) -> str:
    what = "any entry that is available" if plates is None else f"whole {plates}"
    return f"what is left of the budget, {stop.budget_left(state, now):g}, does not pay for {what}."


def _build_batch(chosen: Selection, k: int, posterior: Posterior | None, why: str) -> Batch:
    """Build a batch of the first k entries, with their mean and sd in the user's units."""
    rows, cols = chosen.rows[:k], chosen.cols[:k]
    if posterior is None:
        mean = sd = np.full(k, np.nan)
    else:
        x = posterior.transform.inverse(posterior.belief.at(rows, cols))
        mean, sd = x.mean(0), x.std(0, ddof=min(1, len(x) - 1))
    return Batch(rows, cols, mean, sd, chosen.gain[:k], chosen.cost[:k], why)


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
) -> NDArray[np.bool_] | None:
    """Return which entries, chosen in the state `then`, are still free in the latest one; None to choose again."""
    free = _free(batch, then, latest, now)
    if plates is not None:  # a plate is asked for whole or not at all
        line = batch.rows if plates == "rows" else batch.cols
        free &= ~np.isin(line, line[~free])
    # A batch chosen in the latest state is within its budget already.
    paid = latest is then or _within_budget(batch.cost[free], latest, now)
    return free if paid and (free.all() or (fewer_will_do and free.any())) else None


def _free(batch: Batch, then: State, latest: State, now: dt.datetime) -> NDArray[np.bool_]:
    m2 = latest.shape[1]  # columns may have been added since
    taken = _asked_since(then, latest) if then.settings.again else latest.taken_keys(now)
    gone = np.isin(Entries(batch.rows, batch.cols).keys(m2), taken)
    if latest.mask is not None:
        gone |= ~latest.mask[batch.rows, batch.cols]
    return ~gone


def _within_budget(cost: NDArray[np.float64], latest: State, now: dt.datetime) -> bool:
    budget = latest.settings.budget
    return budget is None or latest.spent(now) + float(cost.sum()) <= budget * (1 + 1e-12)


def build_event(batch: Batch, kept: NDArray[np.bool_], then: State, latest: State, now: dt.datetime) -> Asked:
    """Build the event that asks for the entries of the batch where `kept` is true."""
    lease = latest.settings.lease
    return Asked(
        first=len(latest.asked) + 1,
        rows=_whole(batch.rows[kept]),
        cols=_whole(batch.cols[kept]),
        mean=_real(batch.mean, kept),
        sd=_real(batch.sd, kept),
        gain=_real(batch.gain, kept),
        cost=_real(batch.cost, kept),
        based_on=then.version,
        expires_at=None if lease is None else now + dt.timedelta(seconds=lease),
        why=batch.why,
    )


def _asked_since(then: State, latest: State) -> Indices:
    """Return the keys of entries asked for since `then`. With replicates, only these clash."""
    since = [a for a in latest.asked.values() if a.event > then.version]
    return Entries.from_lists([a.row for a in since], [a.col for a in since]).keys(latest.shape[1])


def _whole(array: Indices) -> tuple[int, ...]:
    return tuple(int(x) for x in array)


def _real(array: NDArray[np.float64], kept: NDArray[np.bool_]) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(array, dtype=np.float64)[kept])
