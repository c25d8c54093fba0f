"""Cells on the cores of this machine: a process for each, through joblib's loky."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.studies import worker
from maxentry.studies.case import Cell
from maxentry.studies.outcomes import Failure, StudyError
from maxentry.studies.record import Run


def cores(wish: int | None = None) -> int:
    """How many processes: as many as wished for, else one for each core that this process may use."""
    if wish is not None and wish < 1:
        raise ParameterError(f"expected at least 1 worker, but {wish} came.")
    return wish or int(_loky().cpu_count())


def results(cells: Sequence[Cell], workers: int) -> Generator[tuple[int, Run | Failure]]:
    """Run the cells, begun in their order; the position of each with what came of it, as soon as it is there.

    However this ends (Ctrl-C, an error, a reader that has enough), no process is left behind.
    """
    loky = _loky()
    with _interrupts_wait():  # workers inherit it: Ctrl-C on a terminal reaches us, not them
        executor = loky.ProcessPoolExecutor(
            min(workers, len(cells)), initializer=worker.begin, initargs=(os.getpid(),), env=worker.ONE_THREAD
        )
        futures = {executor.submit(worker.perform, cell): k for k, cell in enumerate(cells)}
    try:
        with warnings.catch_warnings():
            # A worker whose memory has grown is replaced by a new one, which is nobody's business.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            for future in loky.as_completed(futures):
                yield futures[future], future.result()
    except loky.BrokenProcessPool:
        raise StudyError(
            "expected the workers to live as long as the study, but one was ended from outside, perhaps for want of "
            "memory; what was done is kept, and the same command, with fewer workers, does the others."
        ) from None
    finally:
        with _interrupts_wait():
            executor.shutdown(kill_workers=True)


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold Ctrl-C back until this is done."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _loky() -> Any:
    try:
        import_module("psutil")  # by which loky ends its workers; without it they would live on
        return import_module("joblib.externals.loky")
    except ImportError as error:
        raise MissingDependencyError(
            f"expected joblib and psutil to run studies, but {error.name or 'one of them'} is not installed: "
            "pip install 'maxentry[studies]'."
        ) from None
