"""Eight processes ask for and tell 1,000 entries in all, on SQLite and PostgreSQL: no duplicate, none lost, how fast.

    python benchmarks/workers.py            # writes benchmarks/workers.md
    python benchmarks/workers.py --quick    # 200 entries, 4 processes

The processes start together, once all are ready. They stop when every entry of the matrix has been handed out.
"""

import argparse
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from measures import table
from storages import storages
from tests.campaign import workers
from tests.campaign.worker import value_of

from maxentry.campaign.campaign import Campaign

HERE = Path(__file__).parent


def faults(campaign: Campaign, acknowledged: list[list[dict[str, Any]]], total: int) -> dict[str, int]:
    """What should not be: entries handed out twice, acknowledged values that are lost or wrong, entries left."""
    asked = campaign.asked(frame="columns")
    handed = Counter(zip(asked["row"], asked["col"], strict=True))
    kept = {m.id: (m.row, m.col, m.value) for m in campaign.state.measurements}
    told = {id: value for lines in acknowledged for id, value in workers.told(lines).items()}
    return {
        "handed out twice": sum(n - 1 for n in handed.values()),
        "acknowledged, not kept": sum(id not in kept or kept[id][2] != value for id, value in told.items()),
        "kept, not acknowledged": len(kept.keys() - told.keys()),
        "wrong values": sum(value != value_of(row, col) for row, col, value in kept.values()),
        "not told": total - len(kept),
    }


def measure(
    where: str, name: str, shape: tuple[int, int], processes: int, batch: int, **settings: Any
) -> dict[str, Any]:
    total = shape[0] * shape[1]
    with Campaign.create(where, name, *shape, seed=1, **settings):
        pass
    load = os.getloadavg()[0]  # of others: figures of a busy machine say little
    started = [workers.start(where, "own", batch, name=name) for _ in range(processes)]
    for process in started:
        workers.ready(process)
    start = time.perf_counter()
    for process in started:
        workers.go(process)
    with ThreadPoolExecutor(processes) as threads:  # so that no worker waits for its lines to be read
        outputs = list(threads.map(lambda process: process.communicate()[0], started))
    seconds = time.perf_counter() - start
    acknowledged = [workers.lines(output) for output in outputs]
    times = {
        kind: [line["seconds"] for lines in acknowledged for line in lines if kind in line]
        for kind in ("asked", "told")
    }
    shares = [len(workers.told(lines)) for lines in acknowledged]
    with Campaign.open(where, name) as campaign:
        found = faults(campaign, acknowledged, total)
        events = campaign.state.version
    codes = [process.returncode for process in started]
    return {
        "seconds": seconds,
        "faults": found,
        "times": times,
        "shares": shares,
        "events": events,
        "codes": codes,
        "load": load,
    }


def line(storage: str, n: int, batch: int, acquisition: str, result: dict[str, Any], total: int) -> list[str]:
    ask, tell = (np.array(result["times"][kind]) * 1000 for kind in ("asked", "told"))
    bad = ", ".join(f"{k}: {v}" for k, v in result["faults"].items() if v) or "none"
    if any(result["codes"]):
        bad += f", exit codes {result['codes']}"
    return [
        storage, acquisition, str(n), str(batch), str(total), bad, f"{result['load']:.1f}", f"{result['seconds']:.1f}",
        f"{total / result['seconds']:.0f}", f"{np.median(ask):.1f} / {np.quantile(ask, 0.95):.0f}",
        f"{np.median(tell):.1f} / {np.quantile(tell, 0.95):.0f}", f"{min(result['shares'])} to {max(result['shares'])}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    shape, processes = ((10, 20), 4) if quick else ((25, 40), 8)
    small = ((6, 5), 2) if quick else ((12, 10), 8)
    plans = [
        (shape, n, batch, "uniform") for n, batch in ((1, 1), (processes, 1), (processes, 8))
    ] + [(small[0], small[1], 4, "predictive_variance")]  # fmt: skip
    lines = []
    with storages() as kinds:
        for kind, where in kinds.items():
            for k, (m, n, batch, acquisition) in enumerate(plans):
                options = {} if acquisition == "uniform" else {"rank": 2}
                result = measure(where, f"campaign {k}", m, n, batch, acquisition=acquisition, **options)
                lines.append(line(kind, n, batch, acquisition, result, m[0] * m[1]))
                print(" | ".join(lines[-1]), flush=True)
    if not quick:
        (HERE / "workers.md").write_text(report(lines))


def report(lines: list[list[str]]) -> str:
    heads = [
        "storage", "acquisition", "processes", "entries a batch", "entries", "faults", "load before", "seconds",
        "entries/s", "ms an ask: median / 95%", "ms a tell: median / 95%", "entries by process",
    ]  # fmt: skip
    return f"""# Several processes on one campaign

Written by `python benchmarks/workers.py`: processes ask for a batch, tell its values and go on until every entry of
the matrix is told ({os.cpu_count()} cores, which clients and server share). Faults would be entries handed out twice,
acknowledged values that are not kept or wrong, entries left over. Every acknowledged event is on the disk (SQLite: WAL
with synchronous = FULL; PostgreSQL: its defaults).

{table(heads, lines)}
Whoever asks chooses without a lock; of those who chose the same entries at once, all but the first choose again.
"""


if __name__ == "__main__":
    main()
