"""How long an ask and the tell after it take while eight processes do so on one campaign, on SQLite and PostgreSQL.

    python benchmarks/together.py            # writes benchmarks/together.md
    python benchmarks/together.py --quick    # 200 entries, not written

Entries are chosen without a model (acquisition "uniform", one at a time), so that what is measured is the storage: its
lock, its commits, and who gets the lock next. The same is done by one process alone, right before.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from measures import table
from storages import storages
from tests.fuzz import attacks
from workers import measure

HERE = Path(__file__).parent
PROCESSES = 8


def pairs(times: dict[str, list[float]]) -> Any:
    """Seconds of each ask with the tell that follows it; each process writes them in turn."""
    n = min(len(times["asked"]), len(times["told"]))
    return np.array(times["asked"][:n]) + np.array(times["told"][:n])


def line(storage: str, n: int, result: dict[str, Any], alone: Any) -> list[str]:
    seconds = pairs(result["times"])
    median, p99 = np.quantile(seconds, [0.5, 0.99])
    bad = ", ".join(f"{k}: {v}" for k, v in result["faults"].items() if v) or "none"
    return [
        storage, str(n), str(len(seconds)), f"{result['load']:.1f}", f"{len(seconds) / result['seconds']:.0f}",
        f"{1000 * median:.0f}", f"{1000 * p99:.0f}", f"{1000 * seconds.max():.0f}",
        f"{p99 / np.median(alone):.0f}", f"{p99 / seconds.mean():.1f}", bad,
    ]  # fmt: skip


def keep(storage: str, result: dict[str, Any], alone: Any) -> None:
    """Leave what was found for the table of attacks."""
    seconds = pairs(result["times"])
    p99 = np.quantile(seconds, 0.99)
    found = {"lost or twice": sum(result["faults"].values())}
    if storage == "SQLite":
        found["p99 of a second"] = int(p99 >= 1)
    notes = f"p99 of an ask and a tell {1000 * p99:.0f} ms, {p99 / np.median(alone):.0f} times the median of one alone"
    what = f"{PROCESSES} processes that ask and tell on {storage}"
    attacks.save(f"together-{storage.lower()}", what, len(seconds), found, notes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    shape = (10, 20) if quick else (30, 40)
    lines = []
    with storages() as kinds:
        for kind, where in kinds.items():
            alone = None
            for n in (1, PROCESSES):
                result = measure(where, f"together {n}", shape, n, 1, acquisition="uniform")
                alone = pairs(result["times"]) if alone is None else alone
                lines.append(line(kind, n, result, alone))
                print(" | ".join(lines[-1]), flush=True)
            keep(kind, result, alone)
    if not quick:
        (HERE / "together.md").write_text(report(lines))


def report(lines: list[list[str]]) -> str:
    heads = [
        "storage", "processes", "pairs", "load before", "pairs/s", "ms: median", "**ms: p99**", "ms: longest",
        "p99 / median of one alone", "p99 / mean", "faults",
    ]  # fmt: skip
    return f"""# An ask and a tell, eight at once

Written by `python benchmarks/together.py`: {PROCESSES} processes ask for one entry and tell its value, again and again,
until every entry of one campaign is told ({os.cpu_count()} cores, which all share, with other work as the load says).
Entries are chosen without a model, so this is the time of the storage. Every acknowledged event is on the disk. If one
process alone takes a time t and all wait for one lock, eight take 8 t each; p99 / mean says how fairly they take turns.

{table(heads, lines)}"""


if __name__ == "__main__":
    main()
