"""Looking ahead: what is expected of the next batch, and whether to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign


def ahead(campaign: Campaign, n: int) -> dict[str, Any]:
    """The outlook on the next n entries (None before there is a posterior) and the advice, in one sentence."""
    return campaign.outlook(n).to_dict()
