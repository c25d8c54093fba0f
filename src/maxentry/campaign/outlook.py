"""Outlook: the expected error after the next batch, what past batches promised and brought, and advice.

The advice does not depend on the size of the batch asked about. It compares what a unit of cost (an entry, where no
costs are given) takes off the expected error now with what one has taken off so far, from the spread of the values to
the error now, and with what remains: returns diminish, so all entries that are left bring at most the present rate.

Past batches are shown as they were: expected to lower the error by so much, and what came. No later promise is
corrected by them, since on the suite's matrices what a batch fell short of says nothing about the next
(benchmarks/NOTES.md).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._types import Array
from maxentry.acquisition.total_variance import Reading, TotalVariance
from maxentry.belief import BLOCK_NUMBERS, Entries
from maxentry.campaign import fits, policy
from maxentry.campaign.fits import Cache
from maxentry.campaign.state import OUTLOOK, State, derive_rng
from maxentry.posterior.posterior import Posterior
from maxentry.wording import count, percent

if TYPE_CHECKING:
    from maxentry.campaign.settings import Settings
    from maxentry.posterior.decisions import Prospect
    from maxentry.posterior.intervals import Deviation

LEAST_RATE = (
    0.05  # advise to stop if a unit of cost brings less than this fraction of what it has brought so far
)
LEAST_REST = (
    0.05  # or if all entries left, at the present rate, would lower the error by less than this fraction
)

# With a goal, if less than this is at stake (of the spread of the values, of the pairs, of the entries) and the next
# batch should change fewer choices than that
LEAST_STAKE, FEWEST_CHANGES = 0.01, 0.05
SAMPLED = 8_000  # entries whose answers stand for all
PAST = 3  # batches whose promises are shown, at most
LATEST_TELLS = 50  # among which they are looked for


@dataclass(frozen=True)
class Outlook:
    """The expected error (of what a measurement of each entry would show) now and after the next batch."""

    error_now: float
    error_with_pending: float  # once all pending entries are told
    error_after: float  # and the next batch, too
    entries: int  # of that batch
    cost: float
    error_at_start: float = 0.0  # the spread of the values: the error of predicting their mean everywhere
    gain_per_cost_so_far: float = 0.0  # by all measurements together
    entries_left: int = 0  # that may still be asked for

    @property
    def gain_per_cost(self) -> float:
        """The decrease of the expected error per unit of cost."""
        return (self.error_with_pending - self.error_after) / self.cost if self.cost else 0.0

    def __str__(self) -> str:
        waiting = "" if self.error_with_pending == self.error_now else (
            f", {self.error_with_pending:.3g} once all pending is told"
        )  # fmt: skip
        after = f"after {self.entries} more {self.error_after:.3g} for a cost of {self.cost:.4g}"
        gain = f"{self.gain_per_cost:.3g} less for a unit of it"
        return f"expected error now {self.error_now:.3g}{waiting}, {after} ({gain})"

    def to_dict(self) -> dict[str, float]:
        """Return the fields as plain data."""
        return asdict(self) | {"gain_per_cost": self.gain_per_cost}


def compute_outlook(state: State, posterior: Posterior, batch: policy.Batch, now: dt.datetime) -> Outlook:
    """Compute the expected error now, with the pending entries and with a batch."""
    pending = state.pending(now)
    steps = [pending, pending.joined(Entries(batch.rows, batch.cols))]
    at_once, with_pending, after = expect_errors(state, posterior, steps)
    values = posterior.value_map.common(state.values, *state.told)
    spread, paid = float(np.std(values)), float(state.costs.at(*state.told).sum())
    so_far = max(spread - at_once, 0.0) / paid if paid else 0.0
    cost, left = float(batch.cost.sum()), state.n_available(now)
    return Outlook(at_once, with_pending, after, len(batch.rows), cost, spread, so_far, left)


def expect_errors(state: State, posterior: Posterior, steps: list[Entries]) -> list[float]:
    """Return the expected error now and once the entries of each step, which has those before it, are measured."""
    totals, parts = TotalVariance(posterior.belief, *_reading(posterior)), fits.error_parts(state, posterior)
    total, shares, own = totals.now(), [1.0], [1.0]  # of the variances now, on the scale of the model
    for entries in steps:
        left = totals.expected_after(entries, len(posterior.chains)) / total if total > 0 else 1.0
        shares.append(min(left, shares[-1]))
        own.append(share_of_deviations(posterior, entries))
    errors: list[float] = np.sqrt(parts.pattern * np.array(shares) + parts.rest * np.array(own)).tolist()
    return errors


def share_of_deviations(posterior: Posterior, entries: Entries) -> float:
    """Return the variance of the entries' own deviations once some are measured (again), over that now; of all entries.

    An error variance u becomes u nu2 / (nu2 + c u) by c measurements more, and omega2 u / (omega2 + u) stays open.
    """
    own = posterior.deviation
    if own is None:
        return 1.0
    keys, more = np.unique(entries.keys(own.m2), return_counts=True)
    place = np.minimum(np.searchsorted(own.keys, keys), max(len(own.keys) - 1, 0))
    known = own.keys[place] == keys if len(own.keys) else np.zeros(len(keys), dtype=bool)
    size, again = posterior.shape[0] * posterior.shape[1], place[known]
    now = _left_open(own, own.times, own.var) + (size - len(own.keys)) * float(own.omega2.mean())
    before = _left_open(own, own.times[again], own.var[again])
    fall = before - _left_open(own, own.times[again], own.var[again], more[known])
    fall += len(keys[~known]) * float(own.omega2.mean()) - _left_open(own, more[~known])
    return 1.0 - fall / now if now > 0 else 1.0


def _left_open(own: Deviation, times: Array, var: Array | float = 0.0, more: Array | float = 0.0) -> float:
    """Return the sum of the variances that entries keep which were measured so often, and `more` times again."""
    columns = np.broadcast_arrays(times, var, more)
    groups, counts = np.unique(np.array(columns, dtype=np.float64), axis=1, return_counts=True)
    total, step = 0.0, max(1, BLOCK_NUMBERS // own.omega2.size)
    omega2, nu2 = own.omega2[:, None], own.nu2[:, None]
    for start in range(0, counts.size, step):
        n, given, again = groups[:, start : start + step]
        u = np.where(n > 0, nu2 / np.maximum(n, 1.0), 0.0) + given
        u = u * nu2 / (nu2 + again * u)
        total += float((omega2 * u / (omega2 + u)).mean(0) @ counts[start : start + step])
    return total


def _reading(posterior: Posterior) -> tuple[Reading | None, Entries | None]:
    """Return how yes or no, or grades, are read, and entries evenly spread; None for numbers."""
    if not posterior.likelihood.discrete:
        return None, None

    def read(entries: Entries) -> tuple[Array, Array]:
        x, law = posterior.belief.at(*entries), posterior.noise_law.at(*entries)
        return posterior.likelihood.answers(x, law), posterior.likelihood.reading_variance(x, law)

    m1, m2 = posterior.shape
    keys = np.linspace(0, m1 * m2 - 1, min(m1 * m2, SAMPLED)).astype(np.int64)
    return read, Entries.from_keys(keys, m2)


class PastBatch(NamedTuple):
    """Measurements told in the past: the expected error before them, what was promised of them, and what came."""

    measurements: int  # before them
    entries: int
    error_before: float
    error_promised: float
    error_after: float

    @property
    def promised(self) -> float:
        """By which share the expected error should have fallen."""
        return 1 - self.error_promised / self.error_before

    @property
    def came(self) -> float:
        """By which share it fell; negative where it rose."""
        return 1 - self.error_after / self.error_before


def find_past_batches(state: State, posterior: Posterior, cache: Cache | None) -> tuple[PastBatch, ...]:
    """Return the latest batches of which a fit before and a fit after is at hand, the first first; makes no fit."""
    sizes, fitted = list(state.sizes_by_event.values()), [(len(state.standing), posterior)]
    for n in sizes[-LATEST_TELLS - 1 : -1][::-1]:
        if len(fitted) > PAST or 2 * n < max(state.shape):
            break
        if (then := fits.find_fit(state, n, cache)) is not None:
            fitted.append((n, then))
    batches = []
    for (n, before), (end, after) in pairwise(reversed(fitted)):
        told = Entries(state.told.rows[n:end], state.told.cols[n:end])
        first, last = (replace(state, measurements=state.standing[:size]) for size in (n, end))
        now, promised = expect_errors(first, before, [told])
        batches.append(PastBatch(n, end - n, now, promised, fits.expected_error(last, after)))
    return tuple(batches)


@dataclass(frozen=True)
class Ahead:
    """The outlook (None while there is no posterior), advice in a sentence or two, and past batches.

    at_stake: for a goal other than filling, now and after the next batch, and how much that should change.
    """

    outlook: Outlook | None
    advice: str
    past: tuple[PastBatch, ...] = ()
    at_stake: Prospect | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        outlook = None if self.outlook is None else self.outlook.to_dict()
        stake = None if self.at_stake is None else self.at_stake._asdict()
        past = [batch._asdict() for batch in self.past]
        return {"outlook": outlook, "advice": self.advice, "past": past, "at_stake": stake}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Ahead:
        """Read what `to_dict` gave; fields of a later version are left out."""
        numbers, names = document["outlook"], {field.name for field in fields(Outlook)}
        outlook = None if numbers is None else Outlook(**{k: x for k, x in numbers.items() if k in names})
        past = document.get("past", ())
        batches = tuple(PastBatch(*(batch[name] for name in PastBatch._fields)) for batch in past)
        return cls(outlook, document["advice"], batches, _read_prospect(document.get("at_stake")))

    def __str__(self) -> str:
        return self.advice if self.outlook is None else f"{self.outlook}; {self.advice}"


def _read_prospect(document: dict[str, Any] | None) -> Prospect | None:
    from maxentry.posterior.decisions import Prospect

    return None if document is None else Prospect(*(document[name] for name in Prospect._fields))


def look_ahead(
    state: State, n: int, now: dt.datetime, cache: Cache | None = None, *, progress: bool | None = None
) -> Ahead:
    """Return the outlook for the next n entries, without reserving them."""
    if (over := policy.explain_end(state, now)) is not None:
        return Ahead(None, over)
    if (phase := policy.explain_design_phase(state, now)) is not None:
        return Ahead(None, f"ask: {phase}.")
    if has_few(state):
        return Ahead(None, f"ask: {len(state.told_keys)} told yet, too few for an outlook.")
    posterior = fits.fit_posterior(state, cache, progress=progress)
    limits = policy.resolve_limits({}, state.settings)
    batch = policy.next_batch(state, n, now, **limits, cache=cache, progress=progress)
    outlook = compute_outlook(state, posterior, batch, now)
    past = find_past_batches(state, posterior, cache)
    enough = policy.explain_target(state, posterior) or (batch.why if not len(batch.rows) else None)
    if state.settings.goal != "fill":
        prospect = expect_goal(state, posterior, batch)
        advice = enough or describe_goal(state.settings, posterior, prospect, outlook)
        return Ahead(outlook, advice, past, prospect)
    advice = enough or " ".join([give_advice(outlook, state.settings.target_sd), *describe_past(past)])
    return Ahead(outlook, advice, past)


def has_few(state: State) -> bool:
    """Whether too little is told for an outlook: criteria without a model have no initial design."""
    return 2 * len(state.told_keys) < max(state.shape)


def expect_goal(state: State, posterior: Posterior, batch: policy.Batch) -> Prospect | None:
    """Return what is at stake for the goal now, and what the next batch should change; None for a large matrix."""
    from maxentry.posterior.decisions import expect_stake

    entries, rng = Entries(batch.rows, batch.cols), derive_rng(state.settings.seed, OUTLOOK, state.version)
    goal, answers = state.settings.wanted, posterior.goal_answers
    return expect_stake(posterior.belief, answers, goal, entries, rng, state.told_keys)


def describe_goal(
    settings: Settings, posterior: Posterior, prospect: Prospect | None, outlook: Outlook
) -> str:
    """Say what is at stake for the goal now, and what the next batch should change."""
    from maxentry.posterior.decisions import name_stake, say_stake

    goal = settings.wanted
    if prospect is None:
        return f"go on: {posterior.answer(goal).summary[-1]}"
    if prospect.now == 0:
        return f"{say_stake(goal, prospect.now)} You can stop here."
    said = f"{say_stake(goal, prospect.now).rstrip('.')}; {prospect.say(goal, outlook.entries)}."
    if settings.enough is not None:
        return f"go on: {said} {name_stake(goal, settings.enough)[1]} was asked for."
    return f"{said} You can stop here." if can_stop(settings, outlook, prospect) else f"go on: {said}"


def can_stop(settings: Settings, outlook: Outlook, prospect: Prospect | None) -> bool:
    """Whether the advice is to stop; prospect: what is at stake for a goal other than filling, if it is known.

    Where a target or `enough` is set, that alone says when.
    """
    if settings.goal == "fill":
        return settings.target_sd is None and (_brings_no_more(outlook) or _brings_little(outlook))
    if prospect is None:
        return False
    if prospect.now == 0:
        return True
    if settings.enough is not None:
        return False
    least = LEAST_STAKE * (outlook.error_at_start if settings.wanted.kind == "best" else 1.0)
    fall = (
        (prospect.now - prospect.after) / outlook.entries * outlook.entries_left if outlook.entries else 0.0
    )
    little = prospect.now < least or fall <= LEAST_REST * prospect.now
    return little and prospect.changes < FEWEST_CHANGES


def _brings_no_more(outlook: Outlook) -> bool:
    """Whether all entries left, at the present rate, would hardly lower the expected error."""
    fall = outlook.error_with_pending - outlook.error_after
    rest = fall / outlook.entries * outlook.entries_left if outlook.entries else 0.0
    return rest <= LEAST_REST * outlook.error_with_pending


def _brings_little(outlook: Outlook) -> bool:
    """Whether a unit of cost brings little of what it has brought so far."""
    return outlook.gain_per_cost < LEAST_RATE * outlook.gain_per_cost_so_far


def describe_past(past: tuple[PastBatch, ...]) -> list[str]:
    """Say by how much past batches should have lowered the expected error, and by how much they did."""
    if not past:
        return []
    promised = ", ".join(percent(batch.promised) for batch in past)
    came = ", ".join(percent(batch.came) for batch in past)
    batches = "The last batch" if len(past) == 1 else f"The last {len(past)} batches"
    return [f"{batches} promised {promised}; {came} came."]


def give_advice(outlook: Outlook, target: float | None) -> str:
    """Say whether to go on, by the rate at which entries lower the expected error, whatever their number."""
    if target is not None:
        return f"go on: the expected error is {outlook.error_now:.3g}, and {target:g} was asked for."
    before, n = outlook.error_with_pending, count(outlook.entries, "more measurement")
    fall = before - outlook.error_after
    rate, so_far = outlook.gain_per_cost, outlook.gain_per_cost_so_far
    unit = "an entry" if outlook.cost == outlook.entries else "a unit of cost"
    share = (
        ""
        if not so_far
        else f"{rate / so_far:{'.2g' if rate < 10 * so_far else ',.0f'}} times"
        if rate > 2 * so_far
        else f"{percent(rate / so_far)} of"
    )
    compared = f"{unit} now brings {share} what it has brought so far" if share else ""
    if _brings_no_more(outlook):
        reason = f"All {outlook.entries_left:,} entries left would lower the expected error by at most {LEAST_REST:.0%}"
    elif _brings_little(outlook):
        reason = compared[0].upper() + compared[1:]
    else:
        tail = f"; {compared}" if compared else ""
        return f"go on: {n} should lower the expected error by {percent(fall / before)}{tail}."
    return f"{reason}. You can stop here, unless you need single entries."
