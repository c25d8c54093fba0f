"""`study`: rerun the evidence, or ask of one's own matrix whether active sampling would have helped."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry import tables
from maxentry.cli import choices, grouped, options, output
from maxentry.cli.options import option

if TYPE_CHECKING:
    from maxentry.studies.record import Run

PANEL = "Studies"
FACTS = "folder, runs, failed, missing, page, figures, tables, raw"
WAYS = f"Strategies: {', '.join(choices.STRATEGIES)}."

app = typer.Typer(
    no_args_is_help=True,
    help="Rerun the paper's figures and the suite, or play your own matrix through.\n\n"
    "Results are kept in the folder as they come: after Ctrl-C, the same command goes on where it was.",
)

Figures = Annotated[
    list[str] | None,
    option("--figure", help="sim30, sim60, jester or movielens; again for more, all if not given."),
]
Matrices = Annotated[
    list[str] | None,
    option("--matrix", help="A matrix of the suite (below); again for more, all if not given."),
]
Strategies = Annotated[
    list[str] | None,
    option("--strategy", help="A way to choose (below); again for more, the usual ones if not given."),
]
Replicates = Annotated[
    int | None,
    option(
        "--replicates", min=1, help="How often each strategy is run; 10 times if not given, 2 if --quick."
    ),
]
Quick = Annotated[bool, option("--quick", help="The same in small, in under a minute: does it work here?")]
Workers = Annotated[
    int | None, option("--workers", min=1, help="Processes on this machine; one for each core if not given.")
]
Folder = Annotated[
    str | None, option("--output", "-o", metavar="FOLDER", help="Where results, figures and the report go.")
]
Dask = Annotated[
    str | None, option("--dask", metavar="ADDRESS", help="Send the runs to a Dask cluster: tcp://host:8786.")
]
Report = Annotated[bool, option("--report", help="Run nothing: report on what is in the folder.")]
AnyCode = Annotated[
    bool, option("--any-code", help="Take results that another version of maxentry has kept, too.")
]
Progress = Annotated[
    bool | None,
    option("--progress/--no-progress", help="Say how far it is where there is no terminal, or nowhere."),
]


@app.command(epilog=f"{WAYS}\n\nJSON: {FACTS}, and claims (claim, chosen_by, figure, found, judgement).")
def paper(
    figure: Figures = None,
    replicates: Replicates = None,
    quick: Quick = False,
    strategy: Strategies = None,
    out: Folder = None,
    workers: Workers = None,
    dask: Dask = None,
    report: Report = False,
    any_code: AnyCode = False,
    progress: Progress = None,
    as_json: options.Json = False,
) -> None:
    """Reproduce the paper's four figures, and judge its claims."""
    from maxentry.cli.studying import Asked, conclude, wanted_folder
    from maxentry.studies import outputs, verdict
    from maxentry.studies.paper import figure_cells
    from maxentry.studies.strategies import named

    for name in strategy or ():
        named(name)
    cells = figure_cells(figure or (), replicates or _usual(quick), quick=quick, strategies=strategy or ())
    folder = wanted_folder(out, "paper", quick)
    study = Asked(cells, folder, workers, dask, progress, any_code, report, as_json, quick)
    study.say_left_out(strategy or ())
    runs = study.runs()
    written = outputs.paper(runs, study.folder, study.caveats(runs))

    names = ("claim", "chosen_by", "figure", "found", "judgement")
    claims: list[dict[str, Any]] = [dict(zip(names, claim, strict=True)) for claim in verdict.claims(runs)]
    conclude(study, runs, written, {"claims": claims})
    if not as_json:
        _show(names, claims, grouped.claims)
    study.end()


@app.command(
    epilog=f"Matrices: {choices.listed(choices.MATRICES)}.\n\n{WAYS}\n\nJSON: {FACTS}, and ratios (case, strategy, "
    "ratio, low, high, replicates)."
)
def suite(
    matrix: Matrices = None,
    strategy: Strategies = None,
    replicates: Replicates = None,
    quick: Quick = False,
    out: Folder = None,
    workers: Workers = None,
    dask: Dask = None,
    report: Report = False,
    any_code: AnyCode = False,
    progress: Progress = None,
    as_json: options.Json = False,
) -> None:
    """Compare all strategies on simulated and real matrices."""
    from maxentry.cli.studying import Asked, conclude, wanted_folder
    from maxentry.studies import outputs
    from maxentry.studies.suite import suite_cells

    choices.check_matrices(matrix or ())
    cells = suite_cells(matrix or (), strategy or (), replicates or _usual(quick), quick=quick)
    folder = wanted_folder(out, "suite", quick)
    study = Asked(cells, folder, workers, dask, progress, any_code, report, as_json, quick)
    study.say_left_out(strategy or ())
    runs = study.runs()
    written = outputs.suite(runs, study.folder, study.caveats(runs))
    ratios = _ratios(runs)
    conclude(study, runs, written, {"ratios": ratios})
    if not as_json:
        _show(RATIO, ratios, grouped.ratios)
    study.end()


@app.command(
    epilog=f"{WAYS}\n\nJSON: {FACTS}, answer, rows, cols, known, initial, budget, batch, "
    "and ratios (case, strategy, ratio, low, high, replicates)."
)
def compare(
    table: Annotated[
        str, typer.Argument(help="CSV or Parquet: a matrix with holes, or row, col, value; - is stdin.")
    ],
    initial: Annotated[
        int | None,
        option("--initial", min=1, help="Entries of the first design; the longer side if not given."),
    ] = None,
    budget: Annotated[
        int | None,
        option(
            "--budget",
            min=1,
            help="Entries after them; three times as many if not given, 60% at most in all.",
        ),
    ] = None,
    batch: Annotated[
        int | None, option("--batch", min=1, help="Entries at a time; a tenth of the budget if not given.")
    ] = None,
    strategy: Strategies = None,
    replicates: Annotated[
        int | None,
        option(
            "--replicates", min=1, help="How often each strategy is run; 5 times if not given, 2 if --quick."
        ),
    ] = None,
    quick: Annotated[
        bool, option("--quick", help="Two batches and two replicates, if not given: a first look.")
    ] = False,
    costs: Annotated[
        str | None,
        option(
            "--costs",
            metavar="FILE",
            help="What entries cost: a matrix, or row,col,cost, or row,cost or col,cost.",
        ),
    ] = None,
    rank: options.Rank = "auto",
    transform: options.Transform = "none",
    noise: options.NoiseOption = options.Noise.gaussian,
    names: options.Names = None,
    out: Folder = None,
    workers: Workers = None,
    dask: Dask = None,
    report: Report = False,
    any_code: AnyCode = False,
    progress: Progress = None,
    as_json: options.Json = False,
) -> None:
    """Would active sampling have helped on your data? Only known entries are asked for; the others don't matter."""
    wanted = options.rank_of(rank)
    from maxentry.cli import studying
    from maxentry.cli.given import given as read
    from maxentry.studies import outputs, verdict
    from maxentry.studies.compare import compare_cells

    given = read(table, names, costs)
    cells = compare_cells(
        given.M, name=given.name, initial=initial, budget=budget, batch=batch, strategies=strategy or (),
        replicates=replicates or (2 if quick else 5), costs=given.costs, labels=given.labels, quick=quick,
        rank=wanted, transform=transform, noise=noise.value,
    )  # fmt: skip
    folder = studying.folder_of(out, table, cells[0], quick)
    study = studying.Asked(cells, folder, workers, dask, progress, any_code, report, as_json, quick)
    studying.say_sizes(study)
    runs = study.runs()
    chosen = verdict.subject([*(run.strategy for run in runs), *(cell.strategy for cell in cells)])
    answer = verdict.sentence(runs, chosen)
    written = outputs.compare(runs, study.folder, chosen, answer, study.caveats(runs))
    studying.conclude(
        study, runs, written, {"answer": answer, **studying.sizes(study), "ratios": _ratios(runs)}
    )
    if not as_json:
        print(answer)
    study.end()


@app.command(epilog="JSON: sets (name, title, rows, cols, known, unit, licence, citation, url, bytes, here).")
def data(
    name: Annotated[str | None, typer.Argument(help="One of them, with all that is known of it.")] = None,
    get: Annotated[bool, option("--get", help="Fetch it from its publisher, unless it is here.")] = False,
    as_json: options.Json = False,
) -> None:
    """Say which data sets there are, under which licence, and where their files go."""
    from maxentry.cli import datasets

    datasets.data(name, get, as_json)


def _usual(quick: bool) -> int:
    return 2 if quick else 10


RATIO = ("case", "strategy", "ratio", "low", "high", "replicates")


def _ratios(runs: list[Run]) -> list[dict[str, Any]]:
    """Errors at the end as ratios to uniform's."""
    from maxentry.studies import metrics

    study = metrics.gather(runs)
    return [
        dict(zip(RATIO, (case, strategy, r.value, r.low, r.high, r.replicates), strict=True))
        for case in study
        for strategy, r in metrics.against_uniform(study, case, metrics.end_ratio).items()
        if strategy != metrics.BASELINE and r.replicates
    ]


def _show(
    names: tuple[str, ...], lines: list[dict[str, Any]], on_terminal: Callable[[list[dict[str, Any]]], None]
) -> None:
    """Readable on a terminal, CSV down a pipe."""
    if sys.stdout.isatty():
        on_terminal(lines)
        return
    table = tables.Table(list(names), [[line[name] for line in lines] for name in names])
    output.deliver(table, None, None, as_json=False, document={})


def add(main: typer.Typer) -> None:
    """Give these commands to the app."""
    main.add_typer(app, name="study", rich_help_panel=PANEL)
