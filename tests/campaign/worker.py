"""Programs that tests start as processes of their own: one that works, and one that waits to be killed.

    python -m tests.campaign.worker WHERE POLICY BATCH TOTAL

asks for and tells entries until the campaign holds TOTAL of them, and writes a line of JSON to stdout after each call
has returned: what was acknowledged. POLICY is "uniform" (no model; in the tests' own words) or "own" (the campaign's).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.campaign.stand_ins import uniform

from maxentry.campaign.campaign import Campaign
from maxentry.errors import NothingToAskError


def value_of(row: Any, col: Any) -> float:
    """What measuring an entry gives: the same for everyone, and another for every entry."""
    return float(row) * 1000.0 + float(col) + 0.125


def acknowledge(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def work(where: str, policy: str, batch: int, total: int) -> None:
    with Campaign.open(where, policy=uniform if policy == "uniform" else None) as campaign:
        acknowledge({"ready": True})
        while len(campaign.state.asked) < total:
            try:
                asked = campaign.ask(batch, frame="columns", progress=False)
            except NothingToAskError:
                break
            entries = list(zip(asked["id"], asked["row"], asked["col"], strict=True))
            acknowledge({"asked": entries})
            values = [value_of(row, col) for _, row, col in entries]
            campaign.tell([id for id, _, _ in entries], values)
            acknowledge({"told": [[id, value] for (id, _, _), value in zip(entries, values, strict=True)]})


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
