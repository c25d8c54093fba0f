"""A study in a process of its own, some of whose runs take for ever: python slow_study.py FOLDER LOG SECONDS."""

import os
import sys
import time
from pathlib import Path

from maxentry.studies.case import Case, Cell
from maxentry.studies.sources import Simulated, Truth

FOLDER, LOG, SECONDS = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])


class Slow:
    """Writes down which worker has begun what; replicates from the third on take their time."""

    def __init__(self, log: Path, seconds: float) -> None:
        self.log, self.seconds = log, seconds

    def identity(self) -> dict[str, str]:
        return {"kind": "slow"}

    def truth(self, seed: int) -> Truth:
        with self.log.open("a") as stream:
            stream.write(f"{os.getpid()} {seed}\n")
        time.sleep(self.seconds if seed >= 2 else 0)
        return Simulated((5, 4), 1).truth(seed)


case = Case("slow", Slow(LOG, SECONDS), 5, 5, 5, looks=2, model=(("rank", 1), ("effects", False)))
CELLS = [Cell(case, "uniform", seed) for seed in range(5)]


def figure_cells(*_: object, **__: object) -> list[Cell]:
    return CELLS


if __name__ == "__main__":
    from maxentry.cli import main
    from maxentry.studies import outputs, paper

    paper.figure_cells = figure_cells
    outputs.paper = lambda runs, folder, caveat: outputs.Outputs(folder, (), folder, folder)
    sys.argv = ["maxentry", "study", "paper", "-o", FOLDER, "--workers", "2", *sys.argv[4:]]
    main.run()
