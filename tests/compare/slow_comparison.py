"""A comparison in a process of its own, some of whose runs take for ever: slow_comparison.py FOLDER LOG SECONDS."""

import os
import signal
import sys
import time
from pathlib import Path

from evidence.sources import Simulated
from maxentry.compare.scenario import BASELINE, Case, Cell, Truth

FOLDER, LOG, SECONDS = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])


class Slow:
    """Writes down which worker has begun what; replicates from the third on take their time."""

    def __init__(self, log: Path, seconds: float) -> None:
        self.log, self.seconds = log, seconds

    def identity(self) -> dict[str, str]:
        return {"kind": "slow"}

    def prepare(self) -> None:
        pass

    def truth(self, seed: int) -> Truth:
        with self.log.open("a") as stream:
            stream.write(f"{os.getpid()} {seed}\n")
        time.sleep(self.seconds if seed >= 2 else 0)
        return Simulated((5, 4), 1).truth(seed)


case = Case("slow", Slow(LOG, SECONDS), 5, 5, 5, looks=2, model=(("rank", 1), ("effects", False)))
CELLS = [Cell(case, BASELINE, seed) for seed in range(5)]

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born deaf to it
    import evidence.__main__ as command
    from maxentry.compare.report import Outputs
    from maxentry.engines import cluster

    cluster.PATIENCE_S = 120.0  # on a busy machine
    command.figure_cells = lambda *_, **__: CELLS
    command.report.write_paper = lambda runs, folder, caveat: Outputs(folder, (), folder, folder)
    sys.argv = ["evidence", "paper", "-o", FOLDER, "--workers", "2", *sys.argv[4:]]
    command.app()
