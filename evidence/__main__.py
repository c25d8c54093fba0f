"""python -m evidence: rerun the paper's figures and the suite, compare strategies on a matrix, get the data sets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer

from evidence import datasets, report
from evidence.claims import Claim, judge_claims
from evidence.paper import FIGURES, figure_cells
from evidence.strategies import STRATEGIES, get_strategy
from evidence.suite import CASES, suite_cells
from maxentry import tables
from maxentry.cli import compare, options, output
from maxentry.cli.main import Commands
from maxentry.cli.options import option
from maxentry.cli.output import escape_text
from maxentry.compare.scenario import Cell
from maxentry.errors import DataError, MaxentryError

WAYS = f"Strategies: {', '.join(s.name for s in STRATEGIES)}."
MATRICES = f"Matrices: {'; '.join(case.name for case, _ in CASES)}."
SETS = "JSON: sets (name, title, rows, cols, known, unit, licence, citation, url, bytes, here)."

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Rerun the paper's figures and the suite, or compare all strategies on your own matrix.\n\n"
    "Results are stored as they come: after Ctrl-C, the same command continues where it stopped.",
)

Figures = Annotated[
    list[str] | None,
    option("--figure", help=f"One of {', '.join(FIGURES)}. Repeat for more; by default all."),
]
Matrices = Annotated[
    list[str] | None,
    option("--matrix", help="A matrix of the suite (below). Repeat for more; by default all."),
]
Replicates = Annotated[
    int | None,
    option(
        "--replicates",
        min=1,
        help="How often each strategy is run; by default 3 to 10 times, as the study has it, 2 with --quick.",
    ),
]
Quick = Annotated[bool, option("--quick", help="The same in small, in under a minute: does it work here?")]


@app.callback()
def main(ctx: typer.Context) -> None:
    """Give `compare` all strategies."""
    ctx.obj = compare.Extension(STRATEGIES)


@app.command(epilog=f"{WAYS}\n\nJSON: {compare.FACTS}, and claims ({', '.join(Claim._fields)}).")
def paper(
    ctx: typer.Context,
    figure: Figures = None,
    replicates: Replicates = None,
    quick: Quick = False,
    strategy: compare.Strategies = None,
    out: compare.Folder = None,
    workers: compare.Workers = None,
    cluster: options.Cluster = None,
    report_only: compare.Report = False,
    any_code: compare.AnyCode = False,
    progress: compare.Progress = None,
    as_json: options.Json = False,
) -> None:
    """Reproduce the paper's four figures, and judge its claims."""
    for name in strategy or ():
        get_strategy(name)
    cells = figure_cells(
        figure or (), replicates or (2 if quick else None), quick=quick, strategies=strategy or ()
    )
    study = compare.Study(
        cells, compare.default_folder(out, "paper", quick), workers, compare.choose_engine(cluster), progress,
        any_code, report_only, as_json, quick,
    )  # fmt: skip
    _warn_about_strategies(strategy or (), cells)
    runs = study.run()
    written = report.write_paper(runs, study.folder, study.caveats(runs))
    claims = [claim._asdict() for claim in judge_claims(runs)]
    study.conclude(runs, written, {"claims": claims})
    if not as_json:
        show_rows(Claim._fields, claims, show_claims)
    study.exit_on_failures()


@app.command(
    epilog=f"{MATRICES}\n\n{WAYS}\n\nJSON: {compare.FACTS}, and ratios ({', '.join(compare.RATIO)})."
)
def suite(
    ctx: typer.Context,
    matrix: Matrices = None,
    strategy: compare.Strategies = None,
    replicates: Replicates = None,
    quick: Quick = False,
    out: compare.Folder = None,
    workers: compare.Workers = None,
    cluster: options.Cluster = None,
    report_only: compare.Report = False,
    any_code: compare.AnyCode = False,
    progress: compare.Progress = None,
    as_json: options.Json = False,
) -> None:
    """Compare strategies on simulated and real matrices: those of the page, or those that --strategy names."""
    cells = suite_cells(matrix or (), strategy or (), replicates or (2 if quick else None), quick=quick)
    study = compare.Study(
        cells, compare.default_folder(out, "suite", quick), workers, compare.choose_engine(cluster), progress,
        any_code, report_only, as_json, quick,
    )  # fmt: skip
    _warn_about_strategies(strategy or (), cells)
    runs = study.run()
    written = report.write_suite(runs, study.folder, study.caveats(runs))
    ratios = compare.list_ratios(runs, STRATEGIES)
    study.conclude(runs, written, {"ratios": ratios})
    if not as_json:
        show_rows(compare.RATIO, ratios, show_ratios)
    study.exit_on_failures()


app.command("compare", epilog=f"{WAYS}\n\n{compare.JSON_KEYS}")(compare.compare)


def _warn_about_strategies(strategies: Sequence[str], cells: Sequence[Cell]) -> None:
    """Name strategies that were asked for but are run on none of these matrices."""
    used = {cell.strategy.name for cell in cells}
    unused = [name for name in dict.fromkeys(strategies) if name not in used]
    if unused and used:
        output.warn(f"Not run on these matrices: {', '.join(unused)}.")


# Rows at the terminal

Row = Mapping[str, Any]


def show_rows(
    names: Sequence[str], rows: Sequence[Row], on_terminal: Callable[[Sequence[Row]], None]
) -> None:
    """Print rows as tables on a terminal, as CSV down a pipe."""
    if sys.stdout.isatty():
        on_terminal(rows)
        return
    table = tables.Table(list(names), [[row[name] for row in rows] for name in names])
    output.deliver(table, None, None, as_json=False, document={})


def show_claims(rows: Sequence[Row]) -> None:
    """Print the paper's claims by what chooses; the row of all figures comes last and is bold."""
    for (claim, chosen), group in groupby(rows, key=lambda row: (row["claim"], row["chosen_by"])):
        lines = [(row["figure"], row["judgement"], row["found"]) for row in group]
        _show_table(f"{claim} (chosen by: {chosen})", ("figure", "judgement", "found"), lines)


def show_ratios(rows: Sequence[Row]) -> None:
    """Print ratios to uniform's error, a table for each case."""
    for case, group in groupby(rows, key=lambda row: str(row["case"])):
        lines = []
        for r in group:
            interval = f"{r['low']:.2f} to {r['high']:.2f}" if r["low"] == r["low"] else ""
            lines.append((r["strategy"], f"{r['ratio']:.2f}", interval, str(r["replicates"])))
        _show_table(case, ("strategy", "error / uniform's", "90% interval", "replicates"), lines)


def _show_table(heading: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in names:
        table.add_column(
            name, no_wrap=name in ("judgement", "90% interval"), max_width=26 if name == "figure" else None
        )
    for row in rows:
        table.add_row(*map(escape_text, row), style="bold" if row[0].startswith("all ") else None)
    out = output.console(stderr=False)
    out.print(
        escape_text(heading), style="bold", soft_wrap=False
    )  # a table's own title would be as narrow as the table
    out.print(table, soft_wrap=False)
    out.print()


# Data sets


@app.command(epilog=SETS)
def data(
    name: Annotated[str | None, typer.Argument(help="One of them, with everything known about it.")] = None,
    get: Annotated[bool, option("--get", help="Fetch it from its publisher, unless it is here.")] = False,
    as_json: options.Json = False,
) -> None:
    """List the data sets, their licences, and where their files go."""
    infos = datasets.catalogue() if name is None else (datasets.info(name),)
    if get:
        _fetch(infos)
    facts = [_facts(info) for info in infos]
    if as_json:
        output.print_json({"sets": facts})
    elif name is None:
        columns = ("name", "rows", "cols", "known", "here", "licence", "title")
        shown = [{**row, "here": "no" if row["here"] is None else "yes"} for row in facts]
        output.deliver(
            tables.Table(list(columns), [[row[n] for row in shown] for n in columns]), None, None, as_json=False,
            document={},
        )  # fmt: skip
        if missing := sum(row["here"] is None for row in facts):
            output.say(
                f"{missing} not here: fetched when a study needs them, or by --get. NAME says more.", "dim"
            )
    else:
        print("\n".join(f"{key}: {value}" for key, value in facts[0].items() if value is not None))
        if facts[0]["here"] is None:
            hint = datasets.explain_by_hand(infos[0])
            output.say(f"It is fetched when a study needs it, or by --get; without a network, {hint}.", "dim")


def _fetch(infos: Sequence[datasets.Info]) -> None:
    """Fetch all of them; one that fails does not keep the others from being fetched."""
    failures: dict[str, tuple[str, MaxentryError]] = {}  # each message once, with the first set it is about
    for info in infos:
        try:
            datasets.load(info.name)
        except MaxentryError as error:
            failures.setdefault(str(error), (info.name, error))
    if len(failures) == 1:
        ((_, failure),) = failures.values()
        raise failure
    if failures:
        reasons = "\n".join(f"{name}: {error}" for name, error in failures.values())
        raise DataError(f"some data sets could not be fetched.\n{reasons}")


def _facts(info: datasets.Info) -> dict[str, Any]:
    here = datasets.find_file(info)
    return {
        "name": info.name, "title": info.title, "rows": info.shape[0], "cols": info.shape[1], "known": info.known,
        "unit": info.unit, "licence": info.licence, "citation": info.citation, "url": info.url, "bytes": info.size,
        "here": None if here is None else str(here),
    }  # fmt: skip


if __name__ == "__main__":
    app(prog_name="python -m evidence")
