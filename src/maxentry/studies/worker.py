"""What a worker does, on this machine or on a cluster's: one cell at a time, on one thread."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from functools import cache

from maxentry.errors import MaxentryError
from maxentry.studies.case import Cell
from maxentry.studies.outcomes import Failure, failed
from maxentry.studies.record import Run

# Libraries read these when they are loaded; a process for each core and threads in each would slow all of them down.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "MAXENTRY_THREADS",
    ),
    "1",
)  # fmt: skip
WATCH_S = 1.0


def perform(cell: Cell) -> Run | Failure:
    """Run a cell; an error comes back as words, since not every error can be sent from one process to another."""
    try:
        from maxentry.studies import experiment

        _made_ready()
        return experiment.run(cell)
    except Exception as error:
        words = str(error) if isinstance(error, MaxentryError) else f"{type(error).__name__}: {error}"
        return failed(cell, words, traceback.format_exc())


@cache
def _made_ready() -> None:
    """Hold to one thread, for good: of several cells in one process, as on a cluster, none must undo it for another."""
    from threadpoolctl import threadpool_limits

    _know_the_code()
    os.environ.setdefault("MAXENTRY_THREADS", "1")
    threadpool_limits(1)


def begin(parent: int) -> None:
    """Make a new process a worker: it says nothing beside the bar, and ends when its parent is gone."""
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if os.name == "posix":  # elsewhere a process does not learn that its parent has ended
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    _know_the_code()


def _know_the_code() -> None:
    """Take the fingerprints of the code as it is now, before somebody edits it."""
    from maxentry.studies.code import fingerprint

    for peers in (False, True):
        fingerprint(peers)


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(WATCH_S)
    os._exit(1)
