"""When to stop: the expected error, the target and the budget of a campaign.

The expected error is the root mean square error that the posterior expects of its own mean, over all entries of the
matrix. It combines the posterior standard deviations and the variance that rank 0 may have taken for noise
(`unseen_variance`). The error after a batch follows from the covariances of the draws before anything is measured
(docs/mathematics.md).
"""

from __future__ import annotations

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition import Problem, total_variance
from maxentry.belief import Entries
from maxentry.campaign.state import OUTLOOK, State, derive_rng
from maxentry.posterior.posterior import Posterior
from maxentry.transform import NONE

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

BLOCK_ENTRIES = 1_000_000  # entries whose costs are computed at once
SAMPLED = 20_000  # entries sampled for the error in the user's units, if the model has another scale


def expected_error(state: State, posterior: Posterior) -> float:
    """Return the expected root mean square error over all entries, in the user's units."""
    belief, (m1, m2) = posterior.belief, state.shape
    on_scale = mean_square(posterior, total_variance.total_variance(belief))
    if posterior.transform == NONE:
        return float(np.sqrt(on_scale))
    if m1 * m2 <= SAMPLED:
        keys = np.arange(m1 * m2)
    else:
        keys = derive_rng(state.settings.seed, OUTLOOK, len(state.standing)).integers(m1 * m2, size=SAMPLED)
    z = belief.at(*Entries.from_keys(keys, m2))
    seen = float(np.mean(z.var(0, ddof=min(1, len(z) - 1))))
    mapped = float(np.mean(posterior.transform.inverse(z).var(0, ddof=min(1, len(z) - 1))))
    return float(np.sqrt(mapped * (1 + unseen_variance(posterior) / seen))) if seen > 0 else 0.0


def mean_square(posterior: Posterior, total: float) -> float:
    """Turn a total variance over the draws (divisor S) into the expected mean square error of an entry."""
    belief = posterior.belief
    S, (m1, m2) = belief.n_draws, belief.shape
    return max(total, 0.0) * S / max(S - 1, 1) / (m1 * m2) + unseen_variance(posterior)


def unseen_variance(posterior: Posterior) -> float:
    """Return the variance that rank="auto" may take for noise while most of its draws have rank 0.

    It is the noise variance of the rank-0 draws above that of the others. With few values, rank 0 fits only row and
    column means, and all other structure counts as noise. Stopping for that reason would be premature, so the excess
    counts as uncertainty. If other ranks have the majority, the spread of the draws already covers it.
    """
    noise, chains = posterior.belief.noise_var, posterior.chains
    flat = np.repeat([chain.rank == 0 for chain in chains], len(noise) // len(chains))
    if posterior.rank_choice is None or 2 * flat.sum() < len(flat):
        return 0.0
    others = 0.0 if flat.all() else float(noise[~flat].mean())
    return float(flat.mean()) * max(float(noise[flat].mean()) - others, 0.0)


def explain_end(state: State, now: dt.datetime) -> str | None:
    """Return why nothing more can be asked for; None if something can."""
    if state.n_available(now) == 0:
        told, failed = len(state.told_keys), len(state.barred.rows)
        if waiting := len(state.pending_asks(now)):
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
    if left is not None and left < state.costs.least * (1 - 1e-12):
        return (
            f"the budget is spent: {state.spent(now):g} of {state.settings.budget:g}, and the cheapest entry costs "
            f"{state.costs.least:g}."
        )
    return None


def explain_target(state: State, posterior: Posterior) -> str | None:
    """Return a sentence if the campaign has reached its target; None if it has no target or not reached it."""
    target = state.settings.target_sd
    if target is None or (error := expected_error(state, posterior)) > target:
        return None
    return f"the target is reached: the expected error is {error:.3g}, and {target:g} was asked for."


def budget_left(state: State, now: dt.datetime) -> float | None:
    """Return what is left of the budget; None without a budget."""
    budget = state.settings.budget
    return None if budget is None else budget - state.spent(now)


def find_payable(question: Problem, left: float) -> NDArray[np.bool_]:
    """Return an m1 x m2 mask of available entries that `left` pays for; with plates, for the whole plate."""
    m1, m2 = question.shape
    mask = np.empty((m1, m2), dtype=bool)
    step = max(1, BLOCK_ENTRIES // m2)
    line = np.zeros(m2 if question.limits.plates == "cols" else m1)  # the cost of each plate
    for start in range(0, m1, step):  # in blocks: all costs at once would take eight times the mask's memory
        rows = np.arange(start, min(start + step, m1))
        free = question.available(rows, np.arange(m2))
        cost = question.costs.at(rows[:, None], np.arange(m2))
        mask[rows] = free
        if question.limits.plates is None:
            mask[rows] &= cost <= left * (1 + 1e-12)
        elif question.limits.plates == "rows":
            line[rows] = np.where(free, cost, 0.0).sum(1)
        else:
            line += np.where(free, cost, 0.0).sum(0)
    if question.limits.plates is not None:
        paid = line <= left * (1 + 1e-12)
        mask &= paid[:, None] if question.limits.plates == "rows" else paid
    return mask


def count_affordable(state: State, now: dt.datetime, cost: Array, plate: Indices | None = None) -> int:
    """Return how many entries of a batch, from the first, the budget pays for; a plate counts whole or not at all."""
    left = budget_left(state, now)
    if left is None:
        return len(cost)
    k = int(np.searchsorted(np.cumsum(cost), left * (1 + 1e-12), side="right"))
    while plate is not None and 0 < k < len(cost) and plate[k] == plate[k - 1]:
        k -= 1
    return k
