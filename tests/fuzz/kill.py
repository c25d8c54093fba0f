"""Kill a writing process again and again, and count what it had acknowledged and is not there, or is there twice.

    python -m tests.fuzz.kill --kills 1000 [--storage sqlite|postgresql] [--seed S]

The process is forked from this one, so that a kill takes milliseconds. As root it becomes the user nobody first, and
writes to a scratch folder only. `benchmarks/crashes.py` kills less often and compares batches, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.campaign.postgres_server import database, server
from tests.campaign.stand_ins import uniform
from tests.campaign.worker import value_of, work
from tests.campaign.workers import asked, lines, told
from tests.fuzz.__main__ import environment, privileges, scratch_folder

from maxentry.campaign.campaign import Campaign

SIDE = 200  # rows and columns of a campaign: room for many entries
AS_NEW = 60  # kills of one campaign, which grows


@dataclass
class Toll:
    """What was acknowledged, and what is wrong."""

    storage: str
    kills: int = 0
    calls: int = 0
    lost: int = 0
    twice: int = 0
    wrong: int = 0
    asked: dict[int, tuple[int, int]] = field(default_factory=dict)
    told: dict[int, float] = field(default_factory=dict)

    def check(self, where: str, name: str) -> None:
        """Compare a campaign with all that was acknowledged of it."""
        with Campaign.open(where, name, policy=uniform) as campaign:
            state = campaign.state
        kept = {m.id: m.value for m in state.measurements}
        entries = {id: (ask.row, ask.col) for id, ask in state.asked.items()}
        self.lost += sum(entries.get(id) != entry for id, entry in self.asked.items())
        self.lost += sum(kept.get(id) != value for id, value in self.told.items())
        self.twice += sum(n - 1 for n in Counter(m.id for m in state.measurements).values())
        self.wrong += sum(m.value != value_of(m.row, m.col) for m in state.measurements)

    def row(self) -> str:
        """A line of the table."""
        return f"| {self.storage} | {self.kills} | {self.calls} | {self.lost} | {self.twice} | {self.wrong} |"


def kill_once(where: str, name: str, rng: Random) -> list[dict[str, object]]:
    """Let a child work for a moment, kill it, and return what it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        sys.stdout = os.fdopen(1, "w")
        sys.stdin = open(os.devnull)  # noqa: SIM115
        try:
            work(where, name, "uniform", 1, 10**9)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(3)  # it was to be killed
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first = b"".join(pipe.readline() for _ in range(rng.randint(1, 12)))  # it is ready, and some calls
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the process ended by itself: {first + rest!r}"
    return lines(first + rest)[1:]


def kill_often(kind: str, where: str, kills: int, rng: Random) -> Toll:
    """Kill so often, and check after each kill."""
    toll, name = Toll(kind), ""
    for k in range(kills):
        if k % AS_NEW == 0:
            name = f"campaign {k}"
            Campaign.create(where, name, SIDE, SIDE, seed=1, policy=uniform).close()
            toll.asked, toll.told = {}, {}
        acknowledged = kill_once(where, name, rng)
        toll.kills, toll.calls = toll.kills + 1, toll.calls + len(acknowledged)
        toll.asked |= asked(acknowledged)
        toll.told |= told(acknowledged)
        toll.check(where, name)
    return toll


def main() -> int:
    """Run the command; as root, once more as nobody."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kill", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--storage", choices=("sqlite", "postgresql"), action="append")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if os.geteuid() == 0:
        folder = scratch_folder()
        words = [*privileges(), sys.executable, "-m", "tests.fuzz.kill", *sys.argv[1:]]
        try:
            return subprocess.run(words, cwd=folder, env=environment(folder), check=False).returncode
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    tolls = []
    print(
        "| storage | kills | acknowledged calls | lost | twice | wrong |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for kind in given.storage or ("sqlite", "postgresql"):
        with ExitStack() as stack:
            where: str | None = str(Path("kill.db").resolve())
            if kind == "postgresql" and (where := stack.enter_context(server())) is not None:
                where = stack.enter_context(database(where))
            if where is None:
                print("| postgresql | none there | | | | |")
                continue
            tolls.append(kill_often(kind, where, given.kills, Random(given.seed)))
            print(tolls[-1].row(), flush=True)
    return int(any(toll.lost or toll.twice or toll.wrong for toll in tolls))


if __name__ == "__main__":
    sys.exit(main())
