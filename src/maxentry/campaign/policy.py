"""The policy: a pure function from the state of a campaign to the next entries to measure (Algorithm 1, MaxEnt).

First the initial design, balanced over rows and columns; then posterior -> belief -> acquisition. With the paper's
settings (rank, effects off, its priors, acquisition="maxent", one entry at a time) this is its Algorithm 1.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition import Costs, Limits, Question, choose
from maxentry.acquisition.criterion import Chosen
from maxentry.campaign import fitting, stop
from maxentry.campaign.seeds import CHOICE, stream
from maxentry.campaign.state import State
from maxentry.entries import Entries
from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
WITHOUT_POSTERIOR = ("uniform", "balanced")


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
    cache: Path | None = None,
    progress: bool | None = None,
) -> Batch:
    """The next n entries (or plates) to measure; fewer, or none, where no more are left or the budget ends."""
    if (over := stop.ended(state, now)) is not None:
        return Batch.none(over)
    question = _question(state, now, Limits(per_row, per_col, plates))
    posterior = None
    if (phase := design_phase(state, now)) is not None:
        criterion, why = "balanced", phase
    else:
        criterion = why = state.settings.acquisition
        if criterion not in WITHOUT_POSTERIOR:
            posterior = fitting.posterior(state, cache, progress=progress)
            if (reached := stop.precise_enough(state, posterior)) is not None:
                return Batch.none(reached)
    rng = stream(state.settings.seed, CHOICE, state.version)
    belief = None if posterior is None else posterior.belief
    chosen = choose(criterion, belief, question, n, rng=rng)
    plate = {"rows": chosen.rows, "cols": chosen.cols, None: None}[plates]
    k = stop.affordable(state, now, chosen.cost, plate)
    if k == 0:
        return Batch.none(_nothing(state, now, len(chosen.rows)))
    return _told_of(chosen, k, posterior, why)


def design_phase(state: State, now: dt.datetime) -> str | None:
    """Why the initial design still goes on; None once a posterior can be trusted with the choice.

    It lasts until `n_initial` entries are told or pending, and half of them told: before that a posterior would
    choose by its prior. Choices that need no posterior need no initial design.
    """
    if state.settings.acquisition in WITHOUT_POSTERIOR:
        return None
    wanted = state.settings.n_initial
    wanted = max(state.shape) if wanted is None else wanted
    told, waiting = len(state.told_keys), len(state.pending(now).rows)
    if told == 0:
        return "initial design, nothing told yet"
    if told + waiting < wanted:
        return f"initial design, {told + waiting} of {wanted} told or pending"
    if 2 * told < wanted:
        return f"balanced, {told} of {wanted} of the initial design told yet"
    return None


def _question(state: State, now: dt.datetime, limits: Limits) -> Question:
    """What may be asked for: no entry that the rest of the budget cannot pay."""
    mask, costs = state.mask, state.costs
    left = stop.budget_left(state, now)
    if left is not None and costs.given:
        m1, m2 = state.shape
        i, j = np.divmod(np.arange(m1 * m2), m2)
        payable = (costs.at(i, j) <= left * (1 + 1e-12)).reshape(m1, m2)
        mask = payable if mask is None else mask & payable
    return Question(
        state.shape,
        observed=state.told,
        pending=state.pending(now),
        mask=mask,
        again=state.settings.again,
        costs=Costs(*costs),
        limits=limits,
    )


def _nothing(state: State, now: dt.datetime, chosen: int) -> str:
    if chosen:
        return (
            f"what is left of the budget, {stop.budget_left(state, now):g}, does not pay for a whole plate."
        )
    return (
        "expected an entry left to ask for, but what is left of the budget pays for none that is available."
    )


def _told_of(chosen: Chosen, k: int, posterior: Posterior | None, why: str) -> Batch:
    """The first k entries, with their mean and sd in the user's units."""
    rows, cols = chosen.rows[:k], chosen.cols[:k]
    if posterior is None:
        mean = sd = np.full(k, np.nan)
    else:
        x = posterior.transform.inverse(posterior.belief.at(rows, cols))
        mean, sd = x.mean(0), x.std(0, ddof=min(1, len(x) - 1))
    return Batch(rows, cols, mean, sd, chosen.gain[:k], chosen.cost[:k], why)
