"""SIGKILL at random moments during 300 asks and tells, on SQLite and PostgreSQL: is anything acknowledged lost?

    python benchmarks/crashes.py            # writes benchmarks/crashes.md
    python benchmarks/crashes.py --quick    # 40 asks and tells

A process asks for and tells entries, one at a time, and writes a line to a pipe after each call has returned: what was
acknowledged. After a random number of lines and a random pause it is killed. Then the storage is opened, and

1. every acknowledged entry and value must be there, unchanged, and the events must replay;
2. the next entry asked for must be that of a twin that was never killed: the same events written into a storage in
   memory, opened there, with no cache.

Then the next process goes on, until enough has been acknowledged.
"""

import argparse
import random
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from measures import table
from storages import storages
from tests.campaign import workers
from tests.campaign.worker import value_of

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Created
from maxentry.campaign.storage import Storage
from maxentry.errors import NothingToAskError

HERE = Path(__file__).parent
NAME = "crashes"


def twin(where: str, name: str) -> tuple[list[Any], list[Any]]:
    """What a campaign with the same events asks next that was never killed and has nothing cached."""
    with Storage(where) as storage, tempfile.TemporaryDirectory() as folder, Storage("sqlite://") as memory:
        records = storage.events(storage.find(name))
        first = records[0]
        assert isinstance(first.event, Created)
        key = memory.add(name, first.event, first.at, first.who)
        for record in records[1:]:
            with memory.locked(key) as log:
                log.append([record.event], record.number - 1, record.at, record.who)
        asked = Campaign.open(memory, name, cache=folder).ask(1, frame="columns", progress=False)
        return asked["row"], asked["col"]


class Tally:
    """What has been acknowledged so far, and what was found wrong."""

    def __init__(self) -> None:
        self.asked: dict[int, tuple[int, int]] = {}
        self.told: dict[int, float] = {}
        self.calls = self.kills = self.unacknowledged = 0
        self.lost = self.wrong = self.other_batches = self.damaged = 0

    def take(self, lines: list[dict[str, Any]]) -> None:
        self.asked |= workers.asked(lines)
        self.told |= workers.told(lines)
        self.calls += len(lines)
        self.kills += 1

    def check(self, where: str, name: str) -> None:
        """Open, compare, ask for one entry beside the twin, and tell it."""
        with Campaign.open(where, name) as campaign:
            state = campaign.state
            kept = {m.id: m.value for m in state.measurements}
            entries = {id: (ask.row, ask.col) for id, ask in state.asked.items()}
            self.lost += sum(entries.get(id) != entry for id, entry in self.asked.items())
            self.lost += sum(kept.get(id) != value for id, value in self.told.items())
            self.wrong += sum(m.value != value_of(m.row, m.col) for m in state.measurements)
            self.unacknowledged += len(kept.keys() - self.told.keys()) + len(
                entries.keys() - self.asked.keys()
            )
            expected = twin(where, name)
            batch = campaign.ask(1, frame="columns", progress=False)
            self.other_batches += (batch["row"], batch["col"]) != expected
            value = value_of(batch["row"][0], batch["col"][0])
            campaign.tell(batch["id"], [value])
            self.asked = {id: (ask.row, ask.col) for id, ask in campaign.state.asked.items()}
            self.told = {m.id: m.value for m in campaign.state.measurements if m.id is not None}
        if "://" not in where:
            with sqlite3.connect(where) as connection:
                self.damaged += connection.execute("PRAGMA integrity_check").fetchone() != ("ok",)
            connection.close()


def crash(where: str, name: str, calls: int, shape: tuple[int, int], most: int, **settings: Any) -> Tally:
    """Kill and check until so many calls have been acknowledged."""
    rng, tally = random.Random(1), Tally()
    Campaign.create(where, name, *shape, seed=1, **settings).close()
    while tally.calls < calls:
        process = workers.start(where, "own", 1, name=name)
        workers.ready(process)
        workers.go(process)
        tally.take(workers.killed_after(process, rng.randint(0, most), rng.uniform(0.0, 0.02)))
        try:
            tally.check(where, name)
        except NothingToAskError:  # the matrix is full
            break
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    calls, model_calls = (40, 20) if quick else (300, 60)
    lines = []
    with storages() as kinds:
        for kind, where in kinds.items():
            for acquisition, n, shape, most in (
                ("uniform", calls, (30, 30), 24),
                ("predictive_variance", model_calls, (12, 10), 12),
            ):
                options = {} if acquisition == "uniform" else {"rank": 2, "n_initial": 12}
                tally = crash(
                    where, f"{NAME} {acquisition}", n, shape, most, acquisition=acquisition, **options
                )
                lines.append([kind, acquisition, tally.calls, tally.kills, tally.unacknowledged, tally.lost,
                              tally.wrong, tally.damaged, tally.other_batches])  # fmt: skip
                print(lines[-1], flush=True)
    if not quick:
        (HERE / "crashes.md").write_text(report(lines))


def report(lines: list[list[object]]) -> str:
    heads = [
        "storage", "acquisition", "calls acknowledged", "kills", "there, not acknowledged", "**lost**",
        "**wrong values**", "**files damaged**", "**next batch not the twin's**",
    ]  # fmt: skip
    return f"""# Killed at random moments

Written by `python benchmarks/crashes.py`: a process that asks and tells is killed by SIGKILL again and again. All in
bold must be 0. An event may be there though its caller did not live to hear of it; those are counted too.

{table(heads, lines)}"""


if __name__ == "__main__":
    main()
