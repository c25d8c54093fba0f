"""What the commands of `study` have in common: running, stopping, failing, and saying what came of it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import typer

from maxentry.cli import codes, output
from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.studies import outputs
from maxentry.studies.case import Cell
from maxentry.studies.meter import duration
from maxentry.studies.outcomes import Failure, RunsFailed, StudyStopped
from maxentry.studies.record import Run
from maxentry.studies.runner import known, run_all
from maxentry.studies.store import Store

HOME = "maxentry-study"


QUICK = "Quick: small runs and few replicates, from which nothing is to be concluded."


def wanted_folder(out: str | None, study: str, quick: bool) -> Path:
    """Where a study is kept: the same in small elsewhere, so that it replaces no report."""
    return Path(out) if out is not None else Path(HOME) / (f"{study}-quick" if quick else study)


@dataclass
class Asked:
    """A study as it was asked for; `failures`, and how many runs were `kept` from before, are known when it has run."""

    cells: list[Cell]
    folder: Path
    workers: int | None
    dask: str | None
    progress: bool | None
    any_code: bool
    report: bool
    as_json: bool
    quick: bool = False
    kept: int = field(default=0, init=False)
    failures: tuple[Failure, ...] = field(default=(), init=False)

    def runs(self) -> list[Run]:
        """The results, in the order of the cells: run, or read where only a report is wished for."""
        if not self.cells:
            raise ParameterError("expected strategies that are run on these matrices, but none of them is.")
        store = Store(self.folder)
        if self.report:
            found = list(known(self.cells, store, accept_other_code=True).values())
            outputs.check(found, self.folder)
            self.kept = len(found)
            return found
        _check_figures()
        self.kept = len(known(self.cells, store, accept_other_code=self.any_code))
        try:
            return run_all(
                self.cells, store=store, workers=self.workers, dask=self.dask, progress=self.progress,
                accept_other_code=self.any_code,
            )  # fmt: skip
        except RunsFailed as error:
            self.failures = error.failures
            if not error.runs:
                if _debugging() or len({failure.error for failure in self.failures}) > 1:
                    self._say_failures()
                raise
            return error.runs
        except StudyStopped as stop:
            self._stopped(stop)

    def missing(self, runs: Sequence[Run]) -> int:
        """How many runs are neither there nor failed."""
        return len(self.cells) - len(runs) - len(self.failures)

    def caveats(self, runs: Sequence[Run]) -> str:
        """What must be known of a report that is not of the whole study: said on it, and nowhere else to be read."""
        said = [QUICK] if self.quick else []
        if self.failures:
            errors = "; ".join(dict.fromkeys(str(f.error).rstrip(".") for f in self.failures))
            said.append(f"{len(self.failures)} of {output.count(len(self.cells), 'run')} failed: {errors}.")
        if missing := self.missing(runs):
            of = output.count(len(self.cells), "run")
            said.append(f"{missing} of {of} are missing; without --report the same command does them.")
        return " ".join(said)

    def say_left_out(self, strategies: Sequence[str]) -> None:
        """Name strategies that were asked for and are run on none of these matrices."""
        run = {cell.strategy for cell in self.cells}
        left_out = [name for name in dict.fromkeys(strategies) if name not in run]
        if left_out and run:
            output.warn(f"Not run on these matrices: {', '.join(left_out)}.")

    def end(self) -> None:
        """Say what failed, if anything did, and end accordingly."""
        if self.failures:
            self._say_failures()
            raise typer.Exit(codes.REFUSED)

    def _stopped(self, stop: StudyStopped) -> NoReturn:
        if self.as_json:
            error = {"kind": "Interrupted", "message": str(stop), "code": codes.INTERRUPTED}
            output.print_json({"error": {**error, "done": stop.done, "total": stop.total}})
        else:
            text = str(stop)
            output.say(text[:1].upper() + text[1:], "bold red")
        raise typer.Exit(codes.INTERRUPTED)

    def _say_failures(self) -> None:
        """Each error once, with how many runs it ended."""
        debugging = _debugging()
        if self.as_json and not debugging:
            return
        for error, n in Counter(f.error for f in self.failures).items():
            first = next(f for f in self.failures if f.error == error)
            others = f" ({output.count(n - 1, 'more run')} failed so)" if n > 1 else ""
            output.say(f"Failed: {first}{others}", "bold red")
            if debugging and first.trace:
                output.say(first.trace)


def _debugging() -> bool:
    return os.environ.get("MAXENTRY_DEBUG", "") not in ("", "0")


def _check_figures() -> None:
    """Refuse at once, not after an hour, where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "expected matplotlib to draw a study's figures, but it is not installed: pip install 'maxentry[studies]'."
        )


def conclude(study: Asked, runs: list[Run], written: outputs.Outputs, answers: Mapping[str, Any]) -> None:
    """Say what was done and where it lies."""
    if study.as_json:
        output.print_json(
            {
                "folder": str(study.folder),
                "runs": len(runs),
                "failed": [str(failure) for failure in study.failures],
                "missing": study.missing(runs),
                "page": str(written.page),
                "figures": [str(path) for path in written.figures],
                "tables": str(written.tables),
                "raw": str(written.raw),
                **answers,
            }
        )
        return
    kept = "all" if study.kept == len(runs) else str(study.kept)
    before = f" ({kept} kept from before)" if study.kept and not study.report else ""
    time = duration(sum(run.cpu_s for run in runs))
    output.say(
        f"{output.count(len(runs), 'run')}{before}, {time} of processor time in all. Wrote {written.page}.",
        "dim",
    )
    caveats = study.caveats(runs) if not study.failures else ""  # failures are told at the end
    if caveats:
        output.warn(caveats)


def folder_of(out: str | None, path: str, cell: Cell, quick: bool) -> Path:
    """Where a comparison is kept; a table of the same name as another has a folder of its own."""
    stem = "stdin" if path == output.STD else Path(path).stem
    folder = wanted_folder(out, "compare-" + (re.sub(r"[^\w.-]+", "_", stem) or "table"), quick)
    if out is not None:
        return folder
    mine = str(cell.case.source.identity()["digest"])
    digests = {run.identity.get("source", {}).get("digest") for run in Store(folder).runs()}
    return folder if mine in digests or not digests else folder.with_name(f"{folder.name}-{mine[:6]}")


def sizes(study: Asked) -> dict[str, int]:
    """How large the matrix is and how much of it is measured."""
    case = study.cells[0].case
    M = case.source.truth(0).M
    return {
        "rows": M.shape[0], "cols": M.shape[1], "known": int(np.isfinite(M).sum()), "initial": case.initial,
        "budget": case.budget, "batch": case.batch,
    }  # fmt: skip


def say_sizes(study: Asked) -> None:
    """What is going to be played through, in one sentence."""
    if study.as_json:
        return
    s, case = sizes(study), study.cells[0].case
    strategies = dict.fromkeys(cell.strategy for cell in study.cells)
    times = len(study.cells) // len(strategies)
    then = f"then {s['budget']} in batches of {s['batch']}"
    if case.spend is not None:
        then = f"then batches of {s['batch']} until what {case.spend:g} entries cost on average is spent"
    output.say(
        f"{case.name}: {s['rows']} x {s['cols']} with {s['known']} known entries; {s['initial']} at first, {then}, by "
        f"{', '.join(strategies)}, {'once' if times == 1 else f'{times} times'} each."
    )
