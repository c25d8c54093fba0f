"""From a rule, which says what it would choose, to a policy, which campaigns ask: mask, costs, budget."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from maxentry.acquisition import Chosen, Costs, Question
from maxentry.campaign import stop
from maxentry.campaign.policy import Batch
from maxentry.campaign.state import CHOICE, State, stream
from maxentry.entries import Entries
from maxentry.errors import ParameterError
from maxentry.studies.strategies.strategy import Array, Policy


class Asked(NamedTuple):
    """What a rule is asked: n entries of those the question leaves open."""

    state: State
    question: Question
    n: int
    rng: np.random.Generator
    cache: Path | None


Rule = Callable[[Asked], Chosen]


def policy(rule: Rule, name: str) -> Policy:
    """The rule as a policy. Where the budget does not pay for all that it chose, the first that it pays for."""

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
        if plates is not None or per_row is not None or per_col is not None:
            raise ParameterError(f"expected no limits on a batch of {name}, which knows of none.")
        if (over := stop.ended(state, now)) is not None:
            return Batch.none(over)
        rng = stream(state.settings.seed, CHOICE, state.version)
        chosen = rule(Asked(state, open_question(state, now), n, rng, cache))
        k = stop.affordable(state, now, chosen.cost, None)
        if k == 0:
            return Batch.none("what is left of the budget does not pay for any entry that is available.")
        unknown = np.full(k, np.nan)
        return Batch(
            chosen.rows[:k], chosen.cols[:k], unknown, unknown, chosen.gain[:k], chosen.cost[:k], name
        )

    return next_batch


def open_question(state: State, now: dt.datetime) -> Question:
    """What may be asked for now: available, neither told nor pending, and paid for by the rest of the budget."""
    question = Question(
        state.shape,
        observed=state.told,
        pending=state.pending(now),
        mask=state.mask,
        costs=Costs(*state.costs),
    )
    left = stop.budget_left(state, now)
    if left is None or not state.costs.given:
        return question
    return replace(question, mask=stop.payable(question, left))


def candidates(question: Question) -> Entries:
    """All entries that may be chosen, in order of position."""
    m1, m2 = question.shape
    return Entries.of(*np.nonzero(question.available(np.arange(m1), np.arange(m2))))


def chosen(question: Question, entries: Entries, gain: Array | None = None) -> Chosen:
    """Entries in the order given, with what they cost."""
    gain = np.full(len(entries.rows), np.nan) if gain is None else gain
    return Chosen(*entries, gain, question.costs.at(*entries))
