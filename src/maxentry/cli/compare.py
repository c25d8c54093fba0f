"""`compare`: would active sampling have helped on the user's own matrix?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from maxentry._io import can_be_path
from maxentry.acquisition import CRITERION_NAMES
from maxentry.cli import options, output
from maxentry.cli.options import option
from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.wording import count

if TYPE_CHECKING:
    from maxentry._types import Array
    from maxentry.compare import Cell, Engine, Failure, Outputs, Run, Strategy


HOME = "maxentry-study"
FACTS = "folder, runs, failed, missing, page, figures, tables, raw"
RATIO = ("case", "strategy", "ratio", "low", "high", "replicates")
JSON_KEYS = (
    f"JSON: {FACTS}, answer, rows, cols, known, initial, budget, batch, and ratios ({', '.join(RATIO)})."
)
STRATEGIES = (*CRITERION_NAMES, "balanced_uniform")
EPILOG = f"Strategies: {', '.join(STRATEGIES)}.\n\n{JSON_KEYS}"
QUICK = "Quick: small runs and few replicates, from which nothing can be concluded."

Strategies = Annotated[
    list[str] | None,
    option("--strategy", help="A way to choose (below). Repeat for more; by default the usual ones."),
]
Workers = Annotated[
    int | None, option("--workers", min=1, help="Processes on this machine; by default one for each core.")
]
Folder = Annotated[
    str | None, option("--output", "-o", metavar="FOLDER", help="Where results, figures and the report go.")
]
Report = Annotated[bool, option("--report", help="Run nothing: report on what is in the folder.")]
AnyCode = Annotated[
    bool, option("--any-code", help="Accept results of other versions of maxentry's numerics too.")
]
Progress = Annotated[
    bool | None, option("--progress/--no-progress", help="Show progress without a terminal too, or never.")
]


class Extension(NamedTuple):
    """More strategies for `compare`, as the context's object: the repository's studies have them."""

    strategies: Sequence[Strategy]


commands = typer.Typer()
study_commands = typer.Typer(no_args_is_help=True, help="The former name of `compare`.")
commands.add_typer(study_commands, name="study", rich_help_panel="Studies", hidden=True)


@commands.command(rich_help_panel="Studies", epilog=EPILOG)
@study_commands.command(epilog=EPILOG)
@options.add_settings(("rank", "transform", "noise"), defaults=True)
def compare(
    ctx: typer.Context,
    table: Annotated[
        str, typer.Argument(help="CSV or Parquet: a matrix with holes, or row, col, value; - is stdin.")
    ],
    initial: Annotated[
        int | None,
        option("--initial", min=1, help="Entries of the first design; by default the longer side."),
    ] = None,
    budget: Annotated[
        int | None,
        option(
            "--budget", min=1, help="Entries after them; by default three times as many, 60% at most in all."
        ),
    ] = None,
    batch: Annotated[
        int | None, option("--batch", min=1, help="Entries at a time; by default a tenth of the budget.")
    ] = None,
    strategy: Strategies = None,
    replicates: Annotated[
        int | None,
        option(
            "--replicates", min=1, help="How often each strategy is run; by default 5 times, 2 with --quick."
        ),
    ] = None,
    quick: Annotated[
        bool, option("--quick", help="Two batches and two replicates, unless given: a first look.")
    ] = False,
    costs: Annotated[
        str | None,
        option(
            "--costs",
            metavar="FILE",
            help="What entries cost: a matrix, or row,col,cost, or row,cost or col,cost.",
        ),
    ] = None,
    *,
    names: options.Names = None,
    out: Folder = None,
    workers: Workers = None,
    cluster: options.Cluster = None,
    report: Report = False,
    any_code: AnyCode = False,
    progress: Progress = None,
    force: Annotated[
        bool, option("--force", help="Replace files of the folder that are not of an earlier comparison.")
    ] = False,
    as_json: options.Json = False,
    **model: Any,
) -> None:
    """Would active sampling have helped on your data? Only known entries are asked for and judged.

    Results are stored as they come: after Ctrl-C, the same command continues where it stopped.
    """
    settings = options.parse_settings(model)
    from maxentry.compare import OURS, answer, choose_subject, compare_cells, write_comparison

    among = ctx.obj.strategies if ctx.obj else OURS
    matrix = read_matrix(table, names, costs)
    cells = compare_cells(
        matrix.M, name=matrix.name, initial=initial, budget=budget, batch=batch, strategies=strategy or (),
        replicates=replicates or (2 if quick else 5), costs=matrix.costs, labels=matrix.labels, quick=quick,
        among=among, **settings,
    )  # fmt: skip
    folder = _choose_folder(out, table, cells[0], quick)
    if not force:
        _refuse_other_files(folder)
    study = Study(
        cells, folder, workers, choose_engine(cluster), progress, any_code, report, as_json, quick,
    )  # fmt: skip
    sizes = _say_sizes(cells, as_json)
    runs = study.run()
    ran = {run.strategy for run in runs}
    subject = choose_subject(cell.strategy for cell in cells if cell.strategy.name in ran)
    sentence = answer(runs, subject)
    written = write_comparison(runs, study.folder, subject, sentence, study.caveats(runs), among)
    study.conclude(runs, written, {"answer": sentence, **sizes, "ratios": list_ratios(runs, among)})
    if not as_json:
        print(sentence)
    study.exit_on_failures()


def choose_engine(cluster: str | None) -> Engine | None:
    """Return the engine of a Dask cluster, if its address is given."""
    if cluster is None:
        return None
    from maxentry.compare.runner import run_on_cluster

    return run_on_cluster(cluster)


def where_to_find(study: str) -> str:
    """Say how to run what is in the repository but not in the package."""
    return f"In a checkout of maxentry, run: python -m evidence {study}"


# A study at the command line, also for the studies of the repository


@dataclass
class Study:
    """Cells to run or to report on, and what became of them."""

    cells: list[Cell]
    folder: Path
    workers: int | None
    engine: Engine | None
    progress: bool | None
    any_law: bool
    report: bool
    as_json: bool
    quick: bool = False
    kept: int = field(default=0, init=False)  # runs stored before
    failures: tuple[Failure, ...] = field(default=(), init=False)

    def run(self) -> list[Run]:
        """Return the results in the order of the cells; with --report, only those that are stored."""
        from maxentry.compare import RunsFailed, Store, find_runs, run_all

        if not self.cells:
            raise ParameterError(
                "none of these strategies can run on this matrix. Name others by --strategy, or leave it out."
            )
        store = Store(self.folder)
        stored = find_runs(self.cells, store, any_law=self.any_law or self.report)
        self.kept = len(stored)
        if self.report:
            if not stored:
                raise DataError(f"expected results of this study in {self.folder}, got none.")
            return list(stored.values())
        for name in ("matplotlib", "jinja2"):  # now, not after an hour
            if find_spec(name) is None:
                raise MissingDependencyError(f"the report needs {name}: pip install 'maxentry[studies]'.")
        try:
            return run_all(
                self.cells, store=store, workers=self.workers, engine=self.engine, progress=self.progress,
                any_law=self.any_law,
            )  # fmt: skip
        except RunsFailed as error:
            self.failures = error.failures
            if not error.runs:
                if output.is_debugging() or len({failure.error for failure in self.failures}) > 1:
                    self._say_failures()
                raise
            return error.runs

    def missing(self, runs: Sequence[Run]) -> int:
        """Return how many runs are neither there nor failed."""
        return len(self.cells) - len(runs) - len(self.failures)

    def caveats(self, runs: Sequence[Run]) -> str:
        """Return what readers must know of a report that is not of the whole study."""
        said, of = [QUICK] if self.quick else [], f"of {count(len(self.cells), 'run')}"
        if self.failures:
            errors = "; ".join(dict.fromkeys(str(f.error).rstrip(".") for f in self.failures))
            said.append(f"{len(self.failures)} {of} failed: {errors}.")
        if missing := self.missing(runs):
            said.append(f"{missing} {of} are missing; the same command without --report runs them.")
        return " ".join(said)

    def conclude(self, runs: Sequence[Run], written: Outputs, answers: Mapping[str, Any]) -> None:
        """Say what was done and where it is."""
        if self.as_json:
            facts = {"folder": self.folder, "runs": len(runs), "failed": self.failures}
            output.print_json({**facts, "missing": self.missing(runs), **written._asdict(), **answers})
            return
        kept = "all" if self.kept == len(runs) else str(self.kept)
        before = f" ({kept} stored before)" if self.kept and not self.report else ""
        time = f"{sum(run.cpu_s for run in runs) / 60:.1f} min of processor time"
        output.say(f"{count(len(runs), 'run')}{before}, {time}. Wrote {written.page}.", "dim")
        caveats = self.caveats(runs) if not self.failures else ""  # failures are reported at the end
        if caveats:
            output.warn(caveats)

    def exit_on_failures(self) -> None:
        """Report failures, if any, and exit with the code of a refusal."""
        if self.failures:
            self._say_failures()
            raise typer.Exit(output.ExitCode.REFUSED)

    def _say_failures(self) -> None:
        """Print each error once, with how many runs it ended."""
        if self.as_json and not output.is_debugging():
            return
        for error, n in Counter(f.error for f in self.failures).items():
            first = next(f for f in self.failures if f.error == error)
            others = f" ({count(n - 1, 'more run')} failed with this error)" if n > 1 else ""
            output.say(f"Failed: {first}{others}", "bold red")
            if output.is_debugging() and first.trace:
                output.say(first.trace)


def default_folder(out: str | None, study: str, quick: bool) -> Path:
    """Return where a study is stored; a quick one goes elsewhere, so that it replaces no report."""
    return Path(out) if out is not None else Path(HOME) / (f"{study}-quick" if quick else study)


def list_ratios(runs: Sequence[Run], strategies: Sequence[Strategy]) -> list[dict[str, Any]]:
    """Return the errors at the end as ratios to uniform's."""
    from maxentry.compare import metrics

    return [
        dict(zip(RATIO, (case, strategy, r.value, r.low, r.high, r.replicates), strict=True))
        for case, by in metrics.gather(runs, strategies).items()
        for strategy, r in metrics.compare_to_baseline(by).items()
        if r.replicates
    ]


def _choose_folder(out: str | None, path: str, cell: Cell, quick: bool) -> Path:
    """Return where a comparison is stored. Another table of the same name gets a folder of its own."""
    from maxentry.compare import Store

    stem = "stdin" if path == output.STD else Path(path).stem
    folder = default_folder(out, "compare-" + (re.sub(r"[^\w.-]+", "_", stem) or "table"), quick)
    if not can_be_path(str(folder)):
        raise ParameterError(f"expected the name of a folder, got {str(folder)!r}.")
    if out is not None:
        return folder
    mine = str(cell.case.source.identity()["digest"])
    digests = {run.identity.get("source", {}).get("digest") for run in Store(folder).runs()}
    return folder if mine in digests or not digests else folder.with_name(f"{folder.name}-{mine[:6]}")


def _refuse_other_files(folder: Path) -> None:
    """Refuse a folder without results in which the report would replace somebody's files."""
    from maxentry.compare.report import FILES
    from maxentry.compare.store import FILE

    taken = [folder / name for name in FILES if (folder / name).exists()]
    if taken and not (folder / FILE).exists():
        raise ParameterError(
            f"{taken[0]} exists, and it is not of an earlier comparison. Name another folder, or add --force."
        )


def _say_sizes(cells: Sequence[Cell], as_json: bool) -> dict[str, int]:
    """Say, unless in JSON, how large the matrix is and how much of it is measured; return these numbers."""
    import numpy as np

    case = cells[0].case
    M = case.source.truth(0).M
    known = int(np.isfinite(M).sum())
    strategies = list(dict.fromkeys(cell.strategy.name for cell in cells))
    then = f"then {case.budget} in batches of {case.batch}"
    if case.spend is not None:
        then = f"then batches of {case.batch} until what {case.spend:g} entries cost on average is spent"
    if not as_json:
        output.say(
            f"{case.name}: {M.shape[0]} x {M.shape[1]} with {known} known entries; {case.initial} at first, {then}; "
            f"{', '.join(strategies)}, {count(len(cells) // len(strategies), 'replicate')} each."
        )
    sizes = {"rows": M.shape[0], "cols": M.shape[1], "known": known, "initial": case.initial}
    return sizes | {"budget": case.budget, "batch": case.batch}


# The user's matrix


class GivenMatrix(NamedTuple):
    """A user's matrix, and what its entries cost."""

    name: str
    M: Array  # NaN where nothing is known
    costs: Array | None
    labels: tuple[list[str], list[str]]


def read_matrix(path: str, names: str | None, costs: str | None) -> GivenMatrix:
    """Read a matrix as `complete` does, with the mean of several measurements of one entry."""
    import numpy as np

    from maxentry.cli import matrices

    if path == costs == output.STD:
        raise DataError("only the matrix or the costs can come from standard input, not both.")
    matrix = matrices.read_matrix(path, names)
    matrix.refuse_limits("a comparison needs the measured values")
    labels = matrix.row_labels, matrix.col_labels
    shape = len(labels[0]), len(labels[1])
    total, times = np.zeros(shape), np.zeros(shape)
    np.add.at(total, matrix.positions(), matrix.values)
    np.add.at(times, matrix.positions(), 1)
    M = np.where(times > 0, total / np.maximum(times, 1), np.nan)
    # A file name that is not valid UTF-8 can be opened, but neither written nor drawn.
    name = "standard input" if path == output.STD else Path(path).name.encode("utf-8", "replace").decode()
    return GivenMatrix(name, M, None if costs is None else _read_costs(costs, *labels, M), labels)


def _read_costs(path: str, rows: list[str], cols: list[str], M: Array) -> Array:
    """Return what each entry costs. Only known entries need a cost."""
    import numpy as np

    from maxentry.cli import inputs

    ((part, prices),) = inputs.read_costs([path], rows, cols, partial=True).items()
    costs = np.broadcast_to(prices[:, None] if part == "row" else prices, M.shape)
    known, usable = np.isfinite(M), (costs > 0) & (costs < np.inf)
    for i, j in np.argwhere(known & ~usable)[:1]:
        cost = "none" if np.isnan(costs[i, j]) else f"{costs[i, j]:g}"
        raise DataError(
            f"expected a finite cost above 0 for every known entry, got {cost} for row {rows[i]!r}, column {cols[j]!r}."
        )
    return np.asarray(np.where(usable, costs, costs[known].mean()))


def _refuse_study(ctx: typer.Context) -> None:
    """Say where a study of the repository is."""
    raise ParameterError(
        f"`study {ctx.info_name}` is not part of the package. {where_to_find(str(ctx.info_name))}"
    )


for study_name in ("paper", "suite", "data"):
    context = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    study_commands.command(study_name, hidden=True, context_settings=context)(_refuse_study)
