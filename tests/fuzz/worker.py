"""Makes calls and says on stdout how each ended, one line of JSON before and one after it.

    python -m tests.fuzz.worker SURFACE SEED FIRST NUMBER FOLDER

The same seed and number make the same call. Whoever started this process ends it where a call does not end.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.cases import Case, Ending, Surface, judge

SURFACES = {
    "python": ("tests.fuzz.python_calls", "PythonCalls"),
    "cli": ("tests.fuzz.commands", "Commands"),
    "rest": ("tests.fuzz.rest_requests", "RestRequests"),
    "files": ("tests.fuzz.files", "Files"),
}
MEMORY = 8 * 2**30  # bytes of address space: what is declared larger than that must be refused
FILE = 2**28


def surface(name: str, folder: Path) -> Surface:
    """A way in by its name."""
    module, kind = SURFACES[name]
    made: Surface = getattr(import_module(module), kind)(folder)
    return made


def draw(way: Surface, name: str, seed: int, k: int) -> Case:
    """The k-th call."""
    return way.case(Random(f"{seed} {name} {k}"))


def shorten_fits() -> None:
    """Fits of campaigns at their least length."""
    import maxentry.posterior.schedule

    maxentry.posterior.schedule.WORK = 1e6


def main(name: str, seed: int, first: int, number: int, folder: Path) -> None:
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    shorten_fits()
    way = surface(name, folder)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    out = os.fdopen(os.dup(1), "w")
    sys.stdout = sys.stderr  # what calls print is not for whoever reads this

    def say(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    for k in range(first, first + number):
        case = draw(way, name, seed, k)
        say(k=k, what=case.what)
        ending: Ending = judge(case)
        say(k=k, ending=ending.kind, words=ending.words[:2000])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
