"""Results: `posterior`, `answer`, `export` and `report` of a campaign; `complete` and `design` without one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxentry import tables
from maxentry._io import open_output
from maxentry.cli import options, output
from maxentry.cli.ask_tell import plate_table
from maxentry.cli.options import open_campaign, option
from maxentry.errors import ParameterError, SizeError
from maxentry.tables import Format, Table, cell_text, round_numbers
from maxentry.wording import chance, count, describe_ranks, sentence

if TYPE_CHECKING:
    from maxentry.observations import Observations
    from maxentry.posterior.decisions import Answer
    from maxentry.posterior.posterior import Posterior


FACTS = (
    "shape, n_observed, at_limit, kind, levels, rank, rank_weights, noise, noise_sd, noise_sds, transform, scales, "
    "features, converged, advice, interrupted"
)
POINT = re.compile(r"(?<=\d)\.(?=\d)")  # of a decimal number
LONG = "row, col, mean, sd, low, high, new_low, new_high, observed"
EVERYTHING = "a list of entries has everything about each"
GRADED = "for yes/no and grades also most_likely and the probability of each, p_…"
LARGEST = 20_000_000  # lines of a long table
NOUNS = {
    "mean": "estimate", "sd": "sd", "low": "lower end", "high": "upper end", "new_low": "lower end for a measurement",
    "new_high": "upper end for a measurement", "most_likely": "most likely grade",
}  # of what a wide table has  # fmt: skip
commands = typer.Typer()


@commands.command(
    rich_help_panel="Results",
    epilog=f"JSON: campaign, {FACTS}, and entries ({LONG}; {GRADED}) or, with -o, output.",
)
def posterior(
    context: typer.Context,
    out: options.Output = None,
    wide: options.Wide = True,
    what: options.WhatOption = options.What.mean,
    level: options.Level = 0.9,
    measured: options.Measured = False,
    entries: options.Entries = None,
    save: options.Save = None,
    force: options.Force = False,
    verbose: options.Verbose = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """The completed matrix, in your units, and how far each value can be trusted."""
    if entries is not None:
        options.refuse_beside(context, "--entries", ("what", "wide") if wide else ("what",), EVERYTHING)
    output.check_writable(out, form, force=force)
    output.check_writable(save, force=force)
    from maxentry.campaign.campaign import Campaign
    from maxentry.cli import inputs
    from maxentry.posterior.intervals import check_level

    check_level(level)
    with open_campaign(storage, name) as campaign, output.show_warnings():
        now, wanted = campaign.settings, None
        if entries is not None:
            wanted = inputs.read_entries(entries, now.rows, now.cols, "add-rows and add-cols add new ones.")
        belief, corner = campaign.posterior(), now.row_name or "row"
    where = output.next_options(storage, campaign.name, several=len(Campaign.list(storage)) > 1)
    write_posterior(
        belief, out, form, wide=wide, what=what, level=level, measured=measured, as_json=as_json, save=save,
        force=force, verbose=verbose, campaign=campaign.name, where=where, corner=corner, entries=wanted,
    )  # fmt: skip


@commands.command(
    rich_help_panel="Results",
    epilog="JSON: campaign, goal, at_stake, level, summary, note, and lines (row, col, place, estimate, low, high, "
    "probability, regret, observed; of a ranking rank_low, rank_high, above_next, tied) or, with -o, output; of a "
    "ranking pairs (above, below, probability, tied).",
)
def answer(
    goal: Annotated[
        str | None,
        typer.Argument(
            help="'best', 'best per row', 'smallest 3 per column', 'rank rows', 'threshold 6.5'; or the campaign's."
        ),
    ] = None,
    named: Annotated[str | None, option("--goal", help="The same, as an option.")] = None,
    out: options.Output = None,
    level: options.Level = 0.9,
    force: options.Force = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """What is best, in which order, or above what; and how sure that is."""
    if goal is not None and named is not None:
        raise typer.BadParameter("expected one goal, got two: as an argument and as --goal.")
    output.check_writable(out, form, force=force)
    with open_campaign(storage, name) as campaign:
        found, limits = campaign.answer(goal or named, level=level), campaign.settings.likelihood.limits
    document = {"campaign": campaign.name} | {key: x for key, x in found.to_dict().items() if key != "lines"}
    shown = not as_json and output.is_for_screen(out, form)
    table = Table.from_columns(_readable(found) if shown else {k: list(x) for k, x in found.table.items()})
    if not as_json and tables.choose_format(out, form) is not Format.parquet:
        table = Table(table.names, [round_numbers(column) for column in table.columns])
    output.deliver(
        table, out, form, force=force, as_json=as_json, document=document, key="lines", title=campaign.name
    )
    if not as_json:
        output.say(str(found))
        if limits is not None:
            output.say("An entry beyond an end of the scale counts as that end.", "dim")


def _readable(found: Answer) -> dict[str, list[Any]]:
    """The table of an answer for a screen: probabilities in per cent, ranks as "1 to 3", ties as "2 =", else "or"."""
    columns = {name: list(column) for name, column in found.table.items()}
    if found.goal.kind == "best":
        columns["place"] = [str(k) if k else "or" for k in columns["place"]]
    for name in ("probability", "above_next"):
        if name in columns:
            columns[name] = ["" if math.isnan(p) else chance(p) for p in columns[name]]
    if "tied" in columns:
        tied = columns.pop("tied")
        marks = [a or b for a, b in zip(tied, [False, *tied], strict=False)]
        columns["place"] = [
            f"{k} =" if mark else str(k) for k, mark in zip(columns["place"], marks, strict=True)
        ]
        ends = zip(columns["rank_low"], columns.pop("rank_high"), strict=True)
        columns = {"rank" if name == "rank_low" else name: x for name, x in columns.items()}
        columns["rank"] = [describe_ranks(low, high) for low, high in ends]
    return columns


@commands.command(
    rich_help_panel="Results",
    epilog="JSON: campaign, n, and entries (number, id, row, col, value, told_at, who, corrected; with --pending "
    "as of ask; with --asked id, row, col, mean, sd, gain, cost, status, asked_at, expires_at, who, reason) or, "
    "with -o, output.",
)
def export(
    out: options.Output = None,
    wide: Annotated[
        bool, typer.Option("--wide/--long", help="A matrix with holes, or one line a measurement.")
    ] = False,
    pending: Annotated[bool, option("--pending", help="The plate of all that is pending, instead.")] = False,
    asked: Annotated[bool, option("--asked", help="All that was ever asked and its fate, instead.")] = False,
    everything: Annotated[bool, option("--all", help="Struck-out measurements too.")] = False,
    force: options.Force = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """What was told, as a table; or the plate of what is pending."""
    if wide + pending + asked > 1:
        raise typer.BadParameter("expected one of --wide, --pending and --asked, got several.")
    output.check_writable(out, form, force=force)
    with open_campaign(storage, name) as campaign:
        if pending:
            table = plate_table(campaign.pending(frame="columns"), for_program=as_json)
        elif asked:
            table = Table.from_columns(campaign.asked(frame="columns"))
        else:
            wide = wide and not as_json
            columns = campaign.export(wide=wide, everything=everything, frame="columns")
            if form is Format.excel and campaign.settings.words is None:
                columns = _use_commas(columns, wide)
            table = Table.from_columns(columns)
            if wide and any(m.se for m in campaign.state.measurements):
                output.warn("A matrix has no room for standard errors: leave out --wide to export them.")
        document = {"campaign": campaign.name, "n": table.n}
        output.deliver(table, out, form, force=force, as_json=as_json, document=document, title=campaign.name)


def _use_commas(columns: dict[str, list[Any]], wide: bool) -> dict[str, list[Any]]:
    """Return what was exported with decimal commas in its limits; numbers get theirs when they are written."""
    limits = list(columns)[1:] if wide else ["value"]
    commas = {
        name: [POINT.sub(",", x) if isinstance(x, str) else x for x in columns[name]] for name in limits
    }
    return columns | commas


@commands.command(rich_help_panel="Results", epilog="JSON: campaign, output, bytes.")
def report(
    out: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE.html", help="The page to write; - is stdout.")
    ] = "report.html",
    n: Annotated[int, typer.Option("--next", min=1, help="The size of the next batch that is shown.")] = 8,
    points: Annotated[
        int,
        typer.Option(
            "--points",
            min=0,
            help="Moments at which the expected error is computed: a fit or two each, once.",
        ),
    ] = 8,
    unit: Annotated[str, option("--unit", help="What values are measured in, like '% yield'.")] = "",
    interactive: Annotated[
        bool, option("--interactive", help="Figures to zoom into and to point at (a page of 5 MB more).")
    ] = False,
    force: options.Force = False,
    as_json: options.Json = False,
    storage: options.Storage = options.STORAGE,
    name: options.Name = None,
) -> None:
    """Write one page that needs nothing else: what is known, what to measure next and why, how far to trust it."""
    if out != output.STD and not out.lower().endswith((".html", ".htm")):
        raise typer.BadParameter(f"expected a file that ends in .html, got {out!r}.", param_hint="--output")
    if out == output.STD and as_json:
        raise typer.BadParameter("--json and the page cannot both go to stdout. Name a file with -o.")
    output.check_writable(out, force=force)
    with open_campaign(storage, name) as campaign:
        from maxentry.plots.report import render_report

        page = render_report(campaign, n=n, points=points, interactive=interactive, unit=unit)
        if out == output.STD:
            print(page, end="")
            return
        content = page.encode()
        with open_output(out, replace=force) as stream:
            stream.write(content)
        size = len(content)
        document = {"campaign": campaign.name, "output": out, "bytes": size}
        output.report(document, f"Wrote {out} ({size / 1e6:.2g} MB).", as_json)


@commands.command(
    rich_help_panel="Without a campaign",
    epilog=f"JSON: {FACTS}, and entries ({LONG}; {GRADED}) or, with -o, output; with --check n, "
    "n_entries, of, error, usual, level, inside, low, high, said, log_loss and usual_log_loss (of yes/no and grades), "
    "limits, kept, side (columns or rows, if errors are in units of their scales), converged, advice, interrupted.",
)
@options.add_settings(
    (
        "rank",
        "noise",
        "noise_sd",
        "kind",
        "levels",
        "limits",
        "transform",
        "scale",
        "effects",
        "effort",
        "engine",
        "seed",
        "row_features",
        "col_features",
    ),
    defaults=True,
    panels=True,
)
def complete(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(help="CSV, Excel or Parquet: a matrix with holes, or row, col, value; - is stdin."),
    ],
    out: options.Output = None,
    wide: options.Wide = True,
    what: options.WhatOption = options.What.mean,
    level: options.Level = 0.9,
    *,
    measured: options.Measured = False,
    entries: options.Entries = None,
    check: Annotated[
        bool,
        option(
            "--check",
            help="Hold out a tenth of the values, of small tables up to a quarter, predict them from the rest, and "
            "say how far off that is and whether intervals are right; no table.",
        ),
    ] = False,
    names: options.Names = None,
    se: options.StandardError = None,
    sheet: options.Sheet = None,
    categories: options.Categories = None,
    save: options.Save = None,
    force: options.Force = False,
    verbose: options.Verbose = False,
    form: options.OutputFormat = None,
    cluster: options.Cluster = None,
    as_json: options.Json = False,
    **model: Any,
) -> None:
    """Fill the holes of a table, and say how far each filled value can be trusted."""
    if check and (out or save or entries):
        raise typer.BadParameter("expected --check or a table to write, got both: --check fits a part alone.")
    if check:
        others = ("what", "wide", "measured", "verbose", "form")
        options.refuse_beside(context, "--check", others, "it makes no table")
    elif entries is not None:
        options.refuse_beside(context, "--entries", ("what", "wide") if wide else ("what",), EVERYTHING)
    output.check_writable(out, form, force=force, sources=[data])
    output.check_writable(save, force=force, sources=[data])
    settings = options.parse_settings(model)
    seed = settings.get("seed") or 0
    from maxentry.cli import inputs, matrices
    from maxentry.model.likelihood import kind_words
    from maxentry.observations import Observations
    from maxentry.posterior.complete import complete as run_complete
    from maxentry.posterior.intervals import check_level

    check_level(level)
    words = kind_words(settings["kind"], settings.get("levels"))
    matrix = matrices.read_matrix(data, names, se, words, sheet, sheets=True)
    if matrix.flags and not options.is_given(context, "kind"):
        settings["kind"] = matrices.take_for_yes_no(data)
    inputs.read_all_features(settings, matrix.row_labels, matrix.col_labels, categories)
    observations = Observations.from_triples(**matrix.triples())
    matrices.warn_of_doubts(matrix, observations, settings)
    wanted = None if entries is None else inputs.read_entries(entries, matrix.row_labels, matrix.col_labels)
    if check:
        plain = observations.low is None and settings["kind"] == "numbers" and settings.get("limits") is None
        fit = partial(run_complete, cluster=cluster, **settings)
        _report_check(observations, fit, seed, level, plain, as_json)
        return
    with output.show_warnings():
        completed = run_complete(observations, cluster=cluster, **settings)
    write_posterior(
        completed, out, form, wide=wide, what=what, level=level, measured=measured, as_json=as_json, save=save,
        force=force, verbose=verbose, corner=matrix.names[0] if matrix.names else matrix.corner, entries=wanted,
    )  # fmt: skip


@commands.command(
    rich_help_panel="Without a campaign",
    epilog="JSON: shape, n, and entries (row, col, value) or, with -o, output.",
)
@options.add_settings(("seed",))
def design(
    shape: Annotated[
        str,
        typer.Argument(
            metavar="SHAPE|TABLE",
            help="30x20, or a table whose labels are used and measured entries left out.",
        ),
    ],
    n: Annotated[int, typer.Argument(min=1, help="How many entries.")],
    out: options.Output = None,
    *,
    names: options.Names = None,
    force: options.Force = False,
    form: options.OutputFormat = None,
    as_json: options.Json = False,
    **settings: Any,
) -> None:
    """Lay out which entries to measure first: every row and every column about equally often."""
    output.check_writable(out, form, force=force, sources=[shape])
    from maxentry import design as designs
    from maxentry.belief import Entries
    from maxentry.cli import matrices

    size = options.parse_shape(shape)
    if size is not None:
        matrix = matrices.Matrix(*options.count_labels(size))
    elif shape == output.STD or Path(shape).exists():
        matrix = matrices.read_matrix(shape, names)
    else:
        raise ParameterError(f"expected a shape like 30x20 or a table, got {shape!r}.")
    size = len(matrix.row_labels), len(matrix.col_labels)
    taken = Entries.from_lists(*matrix.positions()) if matrix.rows else None
    chosen = designs.balanced(size, n, taken=taken, **settings)
    rows = [matrix.row_labels[i] for i in chosen.rows]
    cols = [matrix.col_labels[j] for j in chosen.cols]
    table = Table(["row", "col", "value"], [rows, cols, [None] * len(rows)])
    output.deliver(
        table, out, form, force=force, as_json=as_json, document={"shape": list(size), "n": len(rows)}
    )


def _report_check(
    observations: Observations,
    fit: Callable[[Observations], Posterior],
    seed: int,
    level: float,
    plain: bool,
    as_json: bool,
) -> None:
    """Say how well values are predicted that were held out. plain: nothing was said of their kind or scale."""
    from maxentry.posterior.diagnostics import advice_at
    from maxentry.summary.held_out import check_held_out
    from maxentry.transform import hint_kind

    with output.show_warnings():
        found = check_held_out(observations, fit, seed, level)
    advice = advice_at(found.advice, "shell")
    output.report(found._asdict() | {"advice": advice}, "\n".join(found.sentences()), as_json)
    if not as_json and plain and (hint := hint_kind(observations.values, shell=True)):
        output.say(sentence(hint), "dim")
    if not found.converged and not as_json:
        output.warn(f"The fit has not converged: {advice}")
    if found.interrupted:
        output.warn("Interrupted: this is of what had been drawn by then.")
        raise typer.Exit(output.ExitCode.INTERRUPTED)


# A completed matrix as a table


def make_entry_table(
    posterior: Posterior, rows: Sequence[Any], cols: Sequence[Any], level: float, measured: bool
) -> Table:
    """One line for each of these entries, by label, with the columns of LONG."""
    found, data = posterior.predict(rows, cols, level, measured=measured), posterior.observations
    i, j = data.row_index(rows), data.col_index(cols)
    columns: dict[str, Any] = {"row": list(rows), "col": list(cols)}
    columns |= {name: getattr(found, name).tolist() for name in LONG.split(", ")[2:-1]}
    times = Counter(zip(data.rows.tolist(), data.cols.tolist(), strict=True))
    columns["observed"] = [times[at] for at in zip(i.tolist(), j.tolist(), strict=True)]
    if grades := posterior.likelihood.names:
        columns["most_likely"] = posterior.most_likely(rows, cols).tolist()
        p = posterior.answers.probabilities(posterior.belief, i, j)
        columns |= {f"p_{cell_text(grade)}": x.tolist() for grade, x in zip(grades, p, strict=True)}
    return Table.from_columns(columns)


def make_map_table(
    posterior: Posterior, *, wide: bool, what: str = "mean", level: float = 0.9, measured: bool = False,
    corner: str = "row",
) -> Table:  # fmt: skip
    """Wide: `what` by row and column. Long: one line per entry, with the columns of LONG."""
    data, (m1, m2) = posterior.observations, posterior.shape
    rows = list(range(m1)) if data.row_labels is None else list(data.row_labels)
    cols = list(range(m2)) if data.col_labels is None else list(data.col_labels)
    if wide:
        grid = _choose_map(posterior, what, level, measured)
        columns, titles = [rows, *(grid[:, j].tolist() for j in range(m2))], [cell_text(col) for col in cols]
        while corner in titles:  # a column of the matrix is called so
            corner += "_"
        return Table([corner, *titles], columns)
    if m1 * m2 > LARGEST:
        raise SizeError(
            f"expected at most {LARGEST} entries for a long table, got {m1} x {m2}. --wide is smaller."
        )
    import numpy as np

    arrays = posterior.arrays
    new = arrays.predictive_interval(level)
    times = np.bincount(data.rows.astype(np.int64) * m2 + data.cols, minlength=m1 * m2)
    maps: list[Any] = [*(arrays.measured() if measured else (arrays.mean, arrays.sd))]
    maps += [*(new if measured else arrays.interval(level)), *new, times]
    names = LONG.split(", ")
    if grades := posterior.likelihood.names:
        p = arrays.probabilities()
        maps += [_most_likely(posterior, p), *p]
        names += ["most_likely", *(f"p_{cell_text(grade)}" for grade in grades)]
    columns = [[row for row in rows for _ in cols], cols * m1, *(grid.ravel().tolist() for grid in maps)]
    return Table(names, columns)


def measured_cells(posterior: Posterior) -> frozenset[tuple[int, int]]:
    """The cells (line, column) of a wide table whose entries were measured; row labels are its first column."""
    data = posterior.observations
    return frozenset(zip(data.rows.tolist(), (data.cols + 1).tolist(), strict=True))


def _choose_map(posterior: Posterior, what: str, level: float, measured: bool) -> Any:
    maps = posterior.arrays
    if what == "most_likely":
        if not posterior.likelihood.names:
            raise ParameterError("--what most_likely is for --kind yes/no or grades, got numbers.")
        return _most_likely(posterior, maps.probabilities())
    if what in ("new_low", "new_high") or (measured and what in ("low", "high")):
        return maps.predictive_interval(level)[what in ("high", "new_high")]
    if what in ("low", "high"):
        return maps.interval(level)[what == "high"]
    return maps.measured()[what == "sd"] if measured else maps.mean if what == "mean" else maps.sd


def _most_likely(posterior: Posterior, probabilities: Any) -> Any:
    """The most likely grade of every entry, by name."""
    from maxentry.frames import object_array

    return object_array(posterior.likelihood.names)[probabilities.argmax(0)]


def list_facts(posterior: Posterior) -> dict[str, Any]:
    """Facts about the fit, for the JSON document."""
    from maxentry.posterior.coefficients import list_sides
    from maxentry.posterior.diagnostics import advice_at
    from maxentry.posterior.posterior import count_limited

    return {
        "shape": list(posterior.shape),
        "n_observed": posterior.observations.n,
        "at_limit": count_limited(posterior),
        "kind": posterior.likelihood.kind,
        "levels": list(posterior.likelihood.levels) or None,
        "rank": posterior.rank,
        "rank_weights": posterior.rank_weights,
        "noise": posterior.fit.noise,
        "noise_sd": posterior.noise_sd,
        "noise_sds": {cell_text(label): sd for label, sd in posterior.noise_sds.items()},
        "transform": str(posterior.transform),
        "scales": {cell_text(label): factor for label, factor in posterior.scales.items()},
        "features": list_sides(posterior.fit),
        "converged": bool(posterior.diagnostics.converged),
        "advice": advice_at(posterior.diagnostics.advice, "shell"),
        "interrupted": posterior.interrupted,
    }


def describe_answers(posterior: Posterior, measured: bool, command: str) -> str:
    """What the numbers of the table are, where that is not plain; ends in a line break, or is empty.

    command: to change the settings of a campaign, if there is one.
    """
    from maxentry.posterior.posterior import count_limited

    likelihood, n = posterior.likelihood, posterior.observations.n
    if likelihood.kind == "yes/no":
        return "" if measured else "mean, low and high are of the probability of yes.\n"
    if likelihood.levels:
        codes = zip(likelihood.scores, likelihood.levels, strict=True)
        named = ", ".join(cell_text(a) if a == b else f"{cell_text(a)} = {b}" for a, b in codes)
        return f"mean is the expected grade ({named}); --what most_likely and --long tell more.\n"
    limited = count_limited(posterior)
    if not limited and likelihood.limits is None:
        hint = posterior.arrays.hint_scale(posterior.observations, command)
        return f"{sentence(hint)}\n" if hint else ""
    which = "of what an instrument would show."
    if not measured:
        which = f"of the entry itself, which may lie beyond a limit; --measured: {which}"
    return f"{limited} of {count(n, 'value')} are at a limit. mean, low and high are {which}\n"


def summarize(posterior: Posterior, measured: bool = False, where: str | None = None) -> str:
    """The result in a line, what its numbers are, and what to do if the chains have not converged.

    where: options that find the campaign, if there is one.
    """
    from maxentry.posterior.coefficients import describe_choices
    from maxentry.posterior.diagnostics import advice_at
    from maxentry.transform import describe_scales

    (m1, m2), n = posterior.shape, posterior.observations.n
    facts = f"{m1} x {m2}, {count(n, 'value')}, rank {posterior.rank}{describe_choices(posterior.fit)}"
    meaning = describe_answers(posterior, measured, "" if where is None else f"maxentry set{where} ")
    if posterior.fit.scales is not None:
        facts += f", {posterior.fit.scales.side} on scales of their own: {describe_scales(posterior.scales)}"
    if posterior.diagnostics.converged:
        return f"{meaning}{facts}: converged."
    return f"{meaning}{facts}.\nnot converged: {advice_at(posterior.diagnostics.advice, 'shell')} (--verbose: details)"


def write_posterior(
    posterior: Posterior, out: str | None, form: Format | None, *, wide: bool, what: str, level: float,
    as_json: bool, save: str | None, force: bool, campaign: str | None = None, where: str | None = None,
    corner: str = "row", verbose: bool = False, measured: bool = False,
    entries: tuple[Sequence[Any], Sequence[Any]] | None = None,
) -> None:  # fmt: skip
    """Write the completed matrix, summarize the fit, and exit as interrupted if the sampling was."""
    from maxentry.posterior.diagnostics import advice_at

    if save is not None:
        posterior.save(save)
    wide = wide and entries is None
    in_full = as_json and out is None  # JSON has everything about an entry in one place
    if entries is not None:
        table = make_entry_table(posterior, *entries, level, measured)
    else:
        table = make_map_table(
            posterior, wide=wide and not in_full, what=what, level=level, measured=measured, corner=corner
        )
    document = ({} if campaign is None else {"campaign": campaign}) | list_facts(posterior)
    if not in_full and tables.choose_format(out, form) is not Format.parquet:
        labels = 1 if wide else 2
        table = Table(table.names, [*table.columns[:labels], *map(round_numbers, table.columns[labels:])])
    if mark := wide and not in_full and tables.choose_format(out, form) is Format.xlsx:
        table = replace(table, bold=measured_cells(posterior))
    output.deliver(
        table, out, form, force=force, as_json=as_json, document=document, title=what if wide else ""
    )
    if mark and not as_json:
        output.say(f"It has the {NOUNS[what]} of every entry; measured ones are bold.", "dim")
    if not as_json:
        details = f"{posterior!r}\n{posterior.diagnostics.summary()}"
        output.say(advice_at(details, "shell") if verbose else summarize(posterior, measured, where), "dim")
    if posterior.interrupted:
        output.warn("Interrupted: this is what had been drawn by then.")
        raise typer.Exit(output.ExitCode.INTERRUPTED)
