"""Programs that tests start as processes of their own: one that works, and one that waits to be killed.

    python -m tests.campaign.worker WHERE NAME POLICY BATCH TOTAL

waits for a line on stdin, then asks for and tells entries until TOTAL have been asked for or none is left; once at
least, however quick others are. After each call has returned it writes a line of JSON to stdout: what was
acknowledged, and the seconds it took. POLICY is "uniform" (no model; the tests' own) or "own" (the campaign's).
"""

from __future__ import annotations

import json
import sys
import time
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


def work(where: str, name: str, policy: str, batch: int, total: int) -> None:
    with Campaign.open(where, name, policy=uniform if policy == "uniform" else None) as campaign:
        if policy == "own":
            import maxentry.campaign.policy  # noqa: F401  which would take the first ask's time
        acknowledge({"ready": True})
        sys.stdin.readline()
        more = True
        while more:
            start = time.perf_counter()
            try:
                asked = campaign.ask(batch, frame="columns", progress=False)
            except NothingToAskError:
                break
            entries = list(zip(asked["id"], asked["row"], asked["col"], strict=True))
            acknowledge({"asked": entries, "seconds": time.perf_counter() - start})
            values = [value_of(row, col) for _, row, col in entries]
            start = time.perf_counter()
            campaign.tell([id for id, _, _ in entries], values)
            told = [[id, value] for (id, _, _), value in zip(entries, values, strict=True)]
            acknowledge({"told": told, "seconds": time.perf_counter() - start})
            more = len(campaign.state.asked) < total


if __name__ == "__main__":
    work(*sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5]))
