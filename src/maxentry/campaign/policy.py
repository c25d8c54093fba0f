"""The policy: a pure function from the state of a campaign to the next entries to measure (Algorithm 1, MaxEnt).

First the initial design, balanced over rows and columns; then posterior -> belief -> acquisition. With the paper's
settings (rank, effects off, its priors, acquisition="maxent", one entry at a time) this is its Algorithm 1.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition import Costs, Limits, Question, choose
from maxentry.acquisition.criterion import Chosen
from maxentry.campaign import fitting, stop
from maxentry.campaign.caching import Cache
from maxentry.campaign.seeds import CHOICE, stream
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.campaign.state import State
from maxentry.entries import Entries
from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Batch(NamedTuple):
    """Entries in the order chosen, what is believed of them (user's units), and why these, or why none."""

    rows: Indices
    cols: Indices
    mean: Array
    sd: Array
    gain: Array
    cost: Array
    why: str

    @classmethod
    def none(cls, why: str) -> Batch:
        """No entries, and the reason."""
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
    """The next n entries (or plates) to measure; fewer, or none, where no more are left or the budget ends."""
    if (over := stop.ended(state, now)) is not None:
        return Batch.none(over)
    settings, phase = state.settings, design_phase(state, now)
    criterion = settings.acquisition if phase is None else "balanced"
    posterior = None
    if phase is None and (criterion not in WITHOUT_MODEL or _has_target(state)):
        posterior = fitting.posterior(state, cache, progress=progress)
        if (reached := stop.precise_enough(state, posterior)) is not None:
            return Batch.none(reached)
    question = _question(state, now, Limits(per_row, per_col, plates), replicates=phase is None)
    rng = stream(settings.seed, CHOICE, state.version)
    belief = None if posterior is None else posterior.belief
    chosen = choose(criterion, belief, question, n, rng=rng)
    plate = {"rows": chosen.rows, "cols": chosen.cols, None: None}[plates]
    k = stop.affordable(state, now, chosen.cost, plate)
    if k == 0:
        return Batch.none(_nothing(state, now, plates))
    return _told_of(chosen, k, posterior, phase or criterion)


def _has_target(state: State) -> bool:
    """Whether an expected error is wanted of choices that need no posterior, and enough is told to have one."""
    return state.settings.target_sd is not None and 2 * len(state.told_keys) >= max(state.shape)


def design_phase(state: State, now: dt.datetime) -> str | None:
    """Why the initial design still goes on; None once a posterior can be trusted with the choice.

    It lasts until `n_initial` entries are told or pending, and half of them told: before that a posterior would
    choose by its prior. Choices that need no posterior need no initial design.
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


def _question(state: State, now: dt.datetime, limits: Limits, replicates: bool) -> Question:
    """What may be asked for: nothing that the rest of the budget cannot pay; replicates where they are allowed."""
    question = Question(
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
    return replace(question, mask=stop.payable(question, left))


def _anything_new(state: State, now: dt.datetime) -> bool:
    """Whether an entry is available that is neither told nor pending."""
    touched = np.union1d(state.told_keys, state.pending(now).keys(state.shape[1]))
    if state.mask is None:
        return bool(len(touched) < state.shape[0] * state.shape[1])
    i, j = Entries.from_keys(touched, state.shape[1])
    return bool(state.mask.sum() > state.mask[i, j].sum())


def _nothing(state: State, now: dt.datetime, plates: str | None) -> str:
    what = "any entry that is available" if plates is None else f"whole {plates}"
    return f"what is left of the budget, {stop.budget_left(state, now):g}, does not pay for {what}."


def _told_of(chosen: Chosen, k: int, posterior: Posterior | None, why: str) -> Batch:
    """The first k entries, with their mean and sd in the user's units."""
    rows, cols = chosen.rows[:k], chosen.cols[:k]
    if posterior is None:
        mean = sd = np.full(k, np.nan)
    else:
        x = posterior.transform.inverse(posterior.belief.at(rows, cols))
        mean, sd = x.mean(0), x.std(0, ddof=min(1, len(x) - 1))
    return Batch(rows, cols, mean, sd, chosen.gain[:k], chosen.cost[:k], why)
