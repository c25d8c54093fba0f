"""Campaigns with many events: seconds to open one, with and without a snapshot, and to tell one value or a million.

    python benchmarks/events.py            # writes benchmarks/events.md
    python benchmarks/events.py --quick    # fewer events

Half of the events are asks and half are tells of one entry each; 1 in 200 is a correction.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from measures import table
from storages import storages

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Asked, Corrected, Event, Told
from maxentry.campaign.storage import Log, Storage

HERE = Path(__file__).parent
SIDE = 2000  # rows and columns
BLOCK = 10_000  # events written in one transaction


def build(path: Path, n: int) -> None:
    """Write a campaign of n events."""
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    Campaign.create(path, "long", SIDE, SIDE, seed=1, acquisition="uniform", clock=lambda: start).close()
    with Storage(path) as storage:
        key, version, told = storage.find("long"), 1, 0
        entries = np.random.default_rng(1).permutation(SIDE * SIDE)
        pending: list[Event] = []
        while version < n:
            news: list[Event] = []
            while len(news) < min(BLOCK, n - version):
                if pending:
                    news.append(pending.pop())
                    continue
                i, j = divmod(int(entries[told]), SIDE)
                told += 1
                zero, by = (0.0,), version + len(news)
                news.append(Asked(told, (i,), (j,), zero, zero, zero, (1.0,), by, None, "uniform"))
                if told % 100 == 0:
                    pending.append(Corrected(told, 0.5, "typo"))
                pending.append(Told((told,), (i,), (j,), (i + j / 7,)))
            with storage.locked(key) as log:
                log.append(news, version, start + dt.timedelta(seconds=version), "benchmark")
            version += len(news)


def measure(path: Path, snapshots: bool) -> None:
    """Open the campaign and tell values; print seconds (on the clock, of the processor), MiB and milliseconds."""
    began, busy = time.perf_counter(), time.process_time()
    campaign = Campaign.open(path)
    opened, worked = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    free = np.setdiff1d(np.arange(SIDE * SIDE), campaign.state.told_keys)
    times = []
    for key in free[:20] if snapshots else free[20:40]:
        began, busy = time.perf_counter(), time.process_time()
        campaign.tell(row=int(key) // SIDE, col=int(key) % SIDE, value=1.0)
        times.append((1000 * (time.perf_counter() - began), 1000 * (time.process_time() - busy)))
    tell, tell_busy = (statistics.median(x) for x in zip(*times, strict=True))
    print(f"{opened:.2f} {worked:.2f} {peak:.0f} {times[0][0]:.1f} {tell:.1f} {tell_busy:.1f}", flush=True)
    campaign.close()


def apart(*arguments: str, folder: str) -> list[float]:
    """Run this script with these arguments in a process of its own, and return the numbers that it prints."""
    command = [sys.executable, __file__, *arguments]
    environment = os.environ | {"MAXENTRY_CACHE": folder}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(x) for x in done.stdout.split()]


def tell_at_once(where: str, n: int) -> tuple[float, float]:
    """Tell n lines in one call; return the seconds it took, and those with the lock held."""
    held = 0.0

    @contextmanager
    def watch(_: Log) -> Iterator[None]:
        nonlocal held
        began = time.perf_counter()
        yield
        held = time.perf_counter() - began

    side = int(np.ceil(np.sqrt(n)))
    with Campaign.create(where, f"report {n}", side, side, seed=1) as campaign:
        rows, cols = divmod(np.arange(n), side)
        began = time.perf_counter()
        campaign.within(watch).tell(row=rows, col=cols, value=np.sqrt(np.arange(n)))
        return time.perf_counter() - began, held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--snapshots", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.snapshots)
        return
    load = os.getloadavg()[0]  # of others: figures of a busy machine say little
    sizes, n_lines = ((10_000, 50_000), 50_000) if given.quick else ((10_000, 100_000, 1_000_000), 1_000_000)
    lines: list[list[object]] = []
    with tempfile.TemporaryDirectory(prefix="maxentry-events-") as folder:
        for n in sizes:
            path = Path(folder) / f"{n}.db"
            build(path, n)
            cold = apart("--measure", str(path), folder=f"{folder}/cache{n}")
            warm = apart("--measure", str(path), "--snapshots", folder=f"{folder}/cache{n}")
            lines.append([n, *(f"{x:g}" for x in (*cold, *warm))])
            print(" | ".join(map(str, lines[-1])), flush=True)
    reports: list[list[object]] = []
    with storages() as kinds:
        for kind, where in kinds.items():
            seconds, held = tell_at_once(where, n_lines)
            reports.append([kind, n_lines, f"{seconds:.1f}", f"{held:.1f}"])
            print(" | ".join(map(str, reports[-1])), flush=True)
    if not given.quick:
        (HERE / "events.md").write_text(report(lines, reports, load))


def report(lines: list[list[object]], reports: list[list[object]], load: float) -> str:
    heads = ["open, s", "of the processor", "peak, MiB", "first tell, ms", "a tell, ms", "of the processor"]
    return f"""# Campaigns with many events

Written by `python benchmarks/events.py` ({os.cpu_count()} cores, load {load:.1f} before). Half of the events are asks
and half are tells of one entry each, with some corrections, in a SQLite file. First all events are replayed; then the
campaign is opened once more, from the snapshot that the first opening has left if there were 20,000 events or more.
A tell is of one value: the first after opening, and the median of 20.
The time of the processor is what a machine without other work would take.

{table(["events", *heads, *(f"again: {head}" for head in heads)], lines)}
One tell of many lines. They are judged before the lock of the campaign is taken.

{table(["storage", "lines", "seconds", "of these with the lock held"], reports)}"""


if __name__ == "__main__":
    main()
