"""What choosing for a goal brings, beside rules that others use.

python -m benchmarks.goals                       # all tables that have no figures yet, then benchmarks/goals.md
python -m benchmarks.goals matrices              # one: matrices, ceiling, trap, times, loss, reliability or baybe
python -m benchmarks.goals page                  # the page and the picture of what was computed so far
GOALS_SEEDS=2 python -m benchmarks.goals         # fewer replicates (10 by default)
GOALS_SECONDS=500 python -m benchmarks.goals     # no new campaign after that time; started again, it goes on
GOALS_MATRICES="kinase pKd" GOALS_RULES="fill;best: goal" python -m benchmarks.goals matrices
"""

import os
import sys
import time

from benchmarks import matrices
from benchmarks.goals import campaigns, ceiling, peer, reliability, report, times, trap
from benchmarks.goals.rules import RULES


def run_matrices() -> None:
    """Campaigns on the ten real matrices."""
    named = os.environ.get("GOALS_MATRICES"), os.environ.get("GOALS_RULES")
    names, rules = (
        every if wish is None else wish.split(";")
        for wish, every in zip(named, (list(matrices.MATRICES), list(RULES)), strict=True)
    )
    until = time.monotonic() + float(os.environ.get("GOALS_SECONDS", "inf"))
    campaigns.run_all(names, rules, until)


TABLES = {
    "matrices": run_matrices,
    "ceiling": lambda: report.keep("ceiling", ceiling.run_all(report.read("ceiling") or [])),
    "trap": lambda: report.keep("trap", trap.run_all()),
    "times": lambda: report.keep("times", times.measure_times()),
    "loss": lambda: report.keep("loss", times.measure_loss()),
    "reliability": lambda: report.keep("reliability", reliability.run_all(report.read("reliability") or {})),
    "baybe": lambda: report.keep("baybe", peer.run_all()),
}

if __name__ == "__main__":
    named = sys.argv[1:] or [
        name for name in TABLES if name in ("matrices", "ceiling", "reliability") or report.read(name) is None
    ]
    for name in named:
        if name != "page":
            TABLES[name]()
    report.write_page()
