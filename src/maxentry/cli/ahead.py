"""Looking ahead: what is expected of the next batch, and whether to go on."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from maxentry.cli.output import spoken

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.stop import Outlook


def ahead(campaign: Campaign, n: int) -> dict[str, Any]:
    """The outlook on the next n entries (None before there is a posterior) and the advice, in one sentence."""
    import datetime as dt

    from maxentry.campaign import policy, stop

    state, now = campaign.state, dt.datetime.now(dt.UTC)
    if (over := stop.ended(state, now)) is not None:
        return {"outlook": None, "advice": spoken(over)}
    if (phase := policy.design_phase(state, now)) is not None:
        return {"outlook": None, "advice": f"ask: {phase}."}
    if 2 * len(state.told_keys) < max(state.shape):  # choices that need no posterior have no initial design
        return {"outlook": None, "advice": f"ask: {len(state.told_keys)} told yet, too few for an outlook."}
    posterior = campaign.posterior()
    if posterior.interrupted:  # what was drawn by then is no ground for advice
        raise KeyboardInterrupt
    batch = policy.next_batch(state, n, now, cache=campaign.cache)
    found = stop.outlook(state, posterior, batch, now)
    enough = stop.precise_enough(state, posterior) or (batch.why if not len(batch.rows) else None)
    return {"outlook": asdict(found), "advice": enough or _advice(found, state.settings.target_sd)}


def _advice(outlook: Outlook, target: float | None) -> str:
    if target is not None:
        return f"go on: the expected error is {outlook.error_now:.3g}, and {target:g} was asked for."
    fall = 1 - outlook.error_after / outlook.error_with_pending if outlook.error_with_pending else 0.0
    if fall < 0.01:
        return "the next batch would hardly change what is known; stop, unless you need single entries."
    return f"go on: the next batch should lower the expected error by {fall:.0%}."
