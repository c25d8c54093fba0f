"""Where strategies ask on MovieLens (300 most active users): by how many users, of which films.

    MAXENTRY_DATA=… python -m benchmarks.where_asked     # about three minutes; writes benchmarks/where_asked.md

Explains docs/results.md: the paper's criterion spends the budget on a handful of users.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from evidence.paper import ACTIVE
from evidence.strategies import get_strategy
from maxentry.compare.runner import ErrorObserver, open_campaign
from maxentry.compare.scenario import Cell

STRATEGIES = ("uniform", "predictive_variance", "maxent")
SEED = 0


def line(name: str) -> str:
    """One run, as a line of the table."""
    truth = ACTIVE.source.truth(SEED)
    cell = Cell(ACTIVE, get_strategy(name), SEED)
    observer = ErrorObserver(cell, truth)
    with open_campaign(cell, truth) as campaign:
        for n in (ACTIVE.initial, *(ACTIVE.batch for _ in range(ACTIVE.batches))):
            observer.measure(campaign, n)
        observer.look(campaign)
        told = campaign.state.told
        rows, cols = told.rows[ACTIVE.initial :], told.cols[ACTIVE.initial :]
    of_users = np.sort(np.bincount(rows, minlength=truth.M.shape[0]))[::-1]
    popularity = truth.judged.sum(0)
    ratings = float(np.median(popularity[cols]))
    return (
        f"| {name} | {of_users[:5].sum() / of_users.sum():.0%} | {np.count_nonzero(of_users)} | {ratings:.0f} "
        f"| {observer.looks[-1].error:.3f} |"
    )


def main() -> None:
    """Run, and write the table."""
    popularity = ACTIVE.source.truth(SEED).judged.sum(0)
    text = [
        "# Where strategies ask on MovieLens",
        "",
        f"By `python -m benchmarks.where_asked`: {ACTIVE.name}, one run of each (seed {SEED}), the {ACTIVE.budget} "
        f"entries after the initial {ACTIVE.initial}. A rating taken at random is of a film with "
        f"{np.median(np.repeat(popularity, popularity)):.0f} ratings (median).",
        "",
        "| strategy | share of the five users asked most | users asked at all | ratings of the film (median) "
        "| error at the end |",
        "|---|---|---|---|---|",
        *(line(name) for name in STRATEGIES),
    ]
    (Path(__file__).parent / "where_asked.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
