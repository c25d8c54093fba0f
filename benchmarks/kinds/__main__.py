"""Limits, grades, yes/no and known noise on real and simulated tables, beside a Gaussian fit and peers.

    python -m benchmarks.kinds                    # all checks that have no result yet, then benchmarks/kinds.md
    python -m benchmarks.kinds limits --again     # one check, computed anew; stopped, it goes on without --again
    python -m benchmarks.kinds limits --quick     # small; prints only
    KINDS_SEEDS=2 python -m benchmarks.kinds      # fewer seeds (5 and 3 by default)
    KINDS_SEEDS=0 python -m benchmarks.kinds limits grades yes_no    # the page of what was computed so far

Each line has the likelihood made for the data, and the plain Gaussian one (or a peer) on the same entries, in one run.
"""

import os
import sys
from pathlib import Path

from benchmarks.checks import main
from benchmarks.kinds import campaigns, choosing, grades, limits, noise, promises, scores, yes_no

HERE = Path(__file__).parent
CHECKS = {
    "limits": limits.limits, "grades": grades.grades, "grades_1m": grades.grades_1m,
    "grades_default": grades.grades_default, "yes_no": yes_no.yes_no, "known_noise": noise.known_noise,
    "promises": promises.promises, "bald": choosing.bald, "campaigns": campaigns.campaigns,
}  # fmt: skip

if __name__ == "__main__":
    named = [name for name in CHECKS if name in sys.argv] or list(CHECKS)
    so_far, again = os.environ.get("KINDS_SEEDS") == "0", "--again" in sys.argv
    if (so_far or again) and "before" not in sys.argv:
        scores.forget(named if again else [])
        for name in named:
            (HERE / "results" / f"{name}.now.json").unlink(missing_ok=True)
    compared = (
        "Beside today's Gaussian fit stands that of commit b121af5, with which limits and grades were asked for "
        "(`python -m benchmarks.kinds.before`). One of the three seeds of `grades_1m` is of the prior of row and "
        "column effects of before, IG(1/2, 0.0001) ([averages](averages.md))."
    )
    head = f"{__doc__.splitlines()[0]}\n\nWritten by `python -m benchmarks.kinds`. {compared}"
    main(__doc__, head, HERE.parent / "kinds.md", HERE / "results", CHECKS)
