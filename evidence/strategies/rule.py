"""Turn a rule, which says what it would choose, into a policy, which campaigns ask: with mask, costs and budget."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from maxentry._types import Array
from maxentry.acquisition import Problem, Selection
from maxentry.belief import Entries
from maxentry.campaign import policy
from maxentry.campaign.fits import Cache
from maxentry.campaign.policy import Batch
from maxentry.campaign.state import CHOICE, State, derive_rng
from maxentry.compare.scenario import Policy
from maxentry.errors import ParameterError


class Request(NamedTuple):
    """What a rule is asked for: n entries of those the problem leaves open."""

    state: State
    problem: Problem
    n: int
    rng: np.random.Generator
    cache: Cache | None


Rule = Callable[[Request], Selection]


def as_policy(rule: Rule, name: str) -> Policy:
    """Return the rule as a policy. If the budget does not pay for all it chose, the first that it pays for."""

    def next_batch(
        state: State, n: int, now: dt.datetime, *, cache: Cache | None = None, progress: Any = None, **limits: Any
    ) -> Batch:  # fmt: skip
        if any(limit is not None for limit in limits.values()):
            raise ParameterError(f"expected no limits on a batch of {name}, got {', '.join(limits)}.")
        if (reason := policy.explain_end(state, now)) is not None:
            return Batch.none(reason)
        rng = derive_rng(state.settings.seed, CHOICE, state.version)
        choice = rule(Request(state, build_problem(state, now), n, rng, cache))
        k = policy.count_affordable(state, now, choice.cost, None)
        if k == 0:
            return Batch.none("what is left of the budget does not pay for any entry that is available.")
        unknown = np.full(k, np.nan)
        return Batch(
            choice.rows[:k], choice.cols[:k], unknown, unknown, choice.gain[:k], choice.cost[:k], name
        )  # fmt: skip

    return next_batch


def build_problem(state: State, now: dt.datetime) -> Problem:
    """Return what may be asked for now: available, neither told nor pending, and within the rest of the budget."""
    problem = Problem(
        state.shape,
        observed=state.told,
        pending=state.pending(now),
        mask=state.mask,
        costs=state.costs,
    )
    left = policy.budget_left(state, now)
    if left is None or not state.costs.given:
        return problem
    return replace(problem, mask=policy.find_payable(problem, left))


def find_candidates(problem: Problem) -> Entries:
    """Return all entries that may be chosen, in order of position."""
    m1, m2 = problem.shape
    return Entries.from_lists(*np.nonzero(problem.available(np.arange(m1), np.arange(m2))))


def build_choice(problem: Problem, entries: Entries, gain: Array | None = None) -> Selection:
    """Return entries in the order given, with what they cost."""
    gain = np.full(len(entries.rows), np.nan) if gain is None else gain
    return Selection(*entries, gain, problem.costs.at(*entries))


def rank_setting(model: tuple[tuple[str, Any], ...], default: int) -> int:
    """Return the rank that a case sets, or the default."""
    rank = dict(model).get("rank")
    return rank if isinstance(rank, int) and rank > 0 else default
