"""How a run of a study can end: with its result, with an error of its own, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxentry.errors import MaxentryError
from maxentry.studies.case import Cell
from maxentry.studies.plural import counted
from maxentry.studies.record import Run


@dataclass(frozen=True)
class Failure:
    """A cell that raised an error: the error in one line, and where it came from."""

    case: str
    strategy: str
    seed: int
    error: str
    trace: str = ""

    def __str__(self) -> str:
        return f"{self.case}, {self.strategy}, seed {self.seed}: {self.error}"


class StudyError(MaxentryError):
    """A study could not be run to its end; what was done is kept."""


class RunsFailed(StudyError):
    """Some cells raised errors; the others were run and kept, and are in `runs`."""

    def __init__(self, failures: Sequence[Failure], runs: Sequence[Run]) -> None:
        self.failures, self.runs = tuple(failures), list(runs)
        n = len(failures)
        others = f"; {counted(n - 1, 'more run')} failed" if n > 1 else ""
        super().__init__(f"expected every run to succeed, but one failed ({failures[0]}){others}.")


class StudyStopped(KeyboardInterrupt):
    """Ctrl-C: says how far the study has come."""

    def __init__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        super().__init__(
            f"interrupted: {done} of {counted(total, 'run')} are kept; the same command does the others."
        )


def failed(cell: Cell, error: str, trace: str = "") -> Failure:
    """The failure of a cell."""
    return Failure(cell.case.name, cell.strategy, cell.seed, " ".join(error.split()), trace)
