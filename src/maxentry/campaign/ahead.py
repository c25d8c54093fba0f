"""Looking ahead: what is expected of the next batch, and whether to go on."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from maxentry.campaign import fitting, policy, stop
from maxentry.campaign.caching import Cache
from maxentry.campaign.state import State
from maxentry.campaign.stop import Outlook

HARDLY = 0.01  # a fall of the expected error by less than this share is not worth a batch


@dataclass(frozen=True)
class Ahead:
    """The outlook (None while there is no posterior to have one) and the advice, in one sentence."""

    outlook: Outlook | None
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"outlook": None if self.outlook is None else self.outlook.to_dict(), "advice": self.advice}

    def __str__(self) -> str:
        return self.advice if self.outlook is None else f"{self.outlook}; {self.advice}"


def look(
    state: State, n: int, now: dt.datetime, cache: Cache | None = None, *, progress: bool | None = None
) -> Ahead:
    """What the next n entries would change, without asking for them."""
    if (over := stop.ended(state, now)) is not None:
        return Ahead(None, over)
    if (phase := policy.design_phase(state, now)) is not None:
        return Ahead(None, f"ask: {phase}.")
    if 2 * len(state.told_keys) < max(state.shape):  # choices that need no posterior have no initial design
        return Ahead(None, f"ask: {len(state.told_keys)} told yet, too few for an outlook.")
    posterior = fitting.posterior(state, cache, progress=progress)
    limits = {name: getattr(state.settings, name) for name in ("plates", "per_row", "per_col")}
    batch = policy.next_batch(state, n, now, **limits, cache=cache, progress=progress)
    found = stop.outlook(state, posterior, batch, now)
    enough = stop.precise_enough(state, posterior) or (batch.why if not len(batch.rows) else None)
    return Ahead(found, enough or _advice(found, state.settings.target_sd))


def _advice(outlook: Outlook, target: float | None) -> str:
    if target is not None:
        return f"go on: the expected error is {outlook.error_now:.3g}, and {target:g} was asked for."
    before = outlook.error_with_pending
    fall = 1 - outlook.error_after / before if before else 0.0
    if fall < HARDLY:
        return "the next batch would hardly change what is known; stop, unless you need single entries."
    return f"go on: the next batch should lower the expected error by {fall:.0%}."
