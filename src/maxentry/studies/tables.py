"""The tables of a report, as data, and as markdown for the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from maxentry.studies import metrics, notes, verdict
from maxentry.studies.metrics import BASELINE, Curves, Interval, Study, strategies_of
from maxentry.studies.record import Run
from maxentry.studies.wording import count, seconds, share, spelled, title, took

ENOUGH = 0.8  # 90% intervals that hold less than this are flagged
Mark = Literal["", "good", "bad", "even"]


class Field(NamedTuple):
    """What it says, and how it is to be seen."""

    text: str
    mark: Mark = ""


class Table(NamedTuple):
    """A heading, what the figures mean, and rows; the first column names the row."""

    heading: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[Field, ...], ...]


EFFECT_MARKS: dict[verdict.Effect, Mark] = {
    "helps": "good", "harms": "bad", "no difference shown": "even", "unknown": "even",
}  # fmt: skip


def all_tables(study: Study) -> list[Table]:
    """Those that have rows.

    Cases by cost have one of their own: strategies end at different costs there, and uniform's few looks tell no area.
    """
    by_entries = metrics.by_entries(study)
    tables = [
        overall(by_entries),
        ratios(by_entries, "Error at the end, as a ratio to uniform's", metrics.end_ratio),
        ratios(by_entries, "The same over entries that were not measured", metrics.unobserved_ratio),
        ratios(by_entries, "Area under the error curve, as a ratio to uniform's", metrics.area_ratio),
        errors(by_entries),
        at_one_cost(metrics.by_cost(study)),
        reached(study),
        coverage(study),
        times(study),
    ]
    return [table for table in tables if table.rows]


def markdown(runs: Iterable[Run]) -> str:
    """All tables, for a document."""
    return "\n\n".join(as_markdown(table) for table in all_tables(metrics.gather(runs))) + "\n"


def as_markdown(table: Table, level: int = 2) -> str:
    """One table under its heading; marks are words here."""
    signs: dict[Mark, str] = {"good": "**{}**", "bad": "{} (!)", "even": "{}", "": "{}"}
    lines = [f"{'#' * level} {table.heading}", "", table.note, ""]
    lines += [_row(table.header), "|" + "---|" * len(table.header)]
    lines += [_row([signs[cell.mark].format(plain(cell.text)) for cell in row]) for row in table.rows]
    return "\n".join(lines)


def _row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def plain(text: str) -> str:
    """Text in which nothing ends a cell, or the line, or fetches a picture."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("[", "\\[")


def claims_table(runs: Iterable[Run]) -> Table:
    """The paper's claims, judged."""
    marks: dict[verdict.Judgement, Mark] = {
        "holds": "good", "does not hold": "bad", "within chance": "even", "depends": "even",
    }  # fmt: skip
    kept = list(runs)
    rows = tuple(
        (
            Field(c.claim),
            Field(c.pair),
            Field(c.figure),
            Field(c.judgement, marks[c.judgement]),
            Field(c.numbers),
        )
        for c in verdict.claims(kept)
    )
    note = notes.joined(
        "Ratios, gaps and their 90% intervals are over paired replicates (t). Within chance: the interval contains what"
        " would be no difference. Depends: not the same on all. Errors, and so gaps, are in units of the spread of the"
        " matrix.",
        notes.same_matrix(metrics.gather(kept)),
    )
    return Table("The paper's claims", note, ("claim", "chosen by", "figure", "judgement", "found"), rows)


def ratios(study: Study, heading: str, measure: Callable[[Curves, Curves], Interval]) -> Table:
    """Cases by strategies."""
    names = [s for s in strategies_of(study) if s != BASELINE]
    rows = []
    for case in study:
        found = metrics.against_uniform(study, case, measure)
        if found:
            cells = [_ratio(found[name]) if name in found else Field("") for name in names]
            rows.append((Field(case), *cells))
    note = notes.joined(notes.RATIO, notes.own_estimates(names), notes.same_matrix(study))
    return Table(heading, note, ("matrix", *map(title, names)), tuple(rows))


def _ratio(ratio: Interval) -> Field:
    return Field(spelled(ratio), EFFECT_MARKS[verdict.effect(ratio)])


def overall(study: Study) -> Table:
    """Each strategy over all matrices."""
    rows = []
    ends = {case: metrics.against_uniform(study, case, metrics.end_ratio) for case in study}
    for name in strategies_of(study):
        found = {case: by[name] for case, by in ends.items() if name in by}
        kinds = [[r.value for c, r in found.items() if study[c][name].simulated is k] for k in (False, True)]
        if found:
            effects = [verdict.effect(ratio) for ratio in found.values()]
            worst = max(found, key=lambda case: found[case].value)
            means = [f"{metrics.geometric_mean(k):.2f} ({len(k)})" if k else "" for k in kinds]
            counts = [str(effects.count(e)) for e in ("helps", "no difference shown", "harms")]
            last = f"{found[worst].value:.2f} ({worst})"
            rows.append(tuple(map(Field, (title(name), *means, *counts, last))))
    note = notes.joined(
        "Error at the end as a ratio to uniform's: geometric means over matrices (in brackets how many), and on how"
        " many matrices the 90% interval is all below 1 (better), contains 1, or is all above 1 (worse). Without cases"
        " by cost.",
        notes.own_estimates(strategies_of(study)),
        notes.same_matrix(study),
    )
    header = ("strategy", "real", "simulated", "better on", "no difference shown", "worse on", "worst")
    return Table("Over all matrices", note, header, tuple(rows))


def errors(study: Study) -> Table:
    """Mean errors at the end."""
    names = strategies_of(study)
    rows = []
    for case, by in study.items():
        cells = [Field(f"{by[s].at(-1).mean():.3f}" if s in by else "") for s in names]
        rows.append(
            (Field(case), Field(_range([len(c.seeds) for c in by.values()])), Field(_told(by)), *cells)
        )
    note = (
        "Mean over replicates of the root mean square error over all known entries, relative to the spread of the"
        " matrix (Frobenius norm where simulated, standard deviation where real)."
    )
    header = ("matrix", "replicates", "entries", *map(title, names))
    return Table("Error at the end", note, header, tuple(rows))


def _told(by: dict[str, Curves]) -> str:
    first = min(curves.at(0, "n").min() for curves in by.values())
    last = max(curves.at(-1, "n").max() for curves in by.values())
    return f"{first:,.0f} to {last:,.0f}"


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def at_one_cost(study: Study) -> Table:
    """Cases by cost: every strategy where the first of them ended."""
    rows = []
    for case, by in study.items():
        found = [
            metrics.against_uniform(study, case, m) for m in (metrics.end_ratio, metrics.unobserved_ratio)
        ]
        for name, curves in by.items():
            ratios = [_ratio(ratio[name]) if name in ratio else Field("") for ratio in found]
            rows.append((Field(case), Field(title(name)), *map(Field, _at_one_cost(curves)), *ratios))
    note = notes.joined(
        notes.BY_COST, notes.RATIO, notes.own_estimates(strategies_of(study)), notes.same_matrix(study)
    )
    header = (
        "matrix", "strategy", "share of the money", "entries by then", "error", "ratio to uniform's",
        "ratio over entries not measured",
    )  # fmt: skip
    return Table("Where entries have costs: errors at one cost", note, header, tuple(rows))


def _at_one_cost(curves: Curves) -> tuple[str, str, str]:
    """The share of the money at which it is, how many entries that paid for, and the error."""
    shares = np.array(curves.ends)
    n, error = (metrics.at_common_cost(curves, measure) for measure in ("n", "error"))
    begun = np.isfinite(error)
    spent = f"{share(float(np.median(shares)))} ({share(shares.min())} to {share(shares.max())})"
    return spent, *((count(n[begun].mean()), f"{error[begun].mean():.3f}") if begun.any() else ("", ""))


def reached(study: Study) -> Table:
    """Entries, and cost where entries have costs, until uniform's final error."""
    names = [s for s in strategies_of(study) if s != BASELINE]
    rows = []
    for case, by in study.items():
        if BASELINE in by:
            rows.append(_reached(f"{case}, entries" if by[BASELINE].by_cost else case, by, names, "n"))
            if by[BASELINE].by_cost:
                rows.append(_reached(f"{case}, cost", by, names, "cost"))
    note = notes.joined(
        "Entries until the error was first uniform's at the end of the same replicate: median over replicates"
        " (quartiles); linear between looks. So it is for uniform, which may have had that error before its end."
        " Marked where the upper quartile is below uniform's median. Costs are shares of the most that any strategy"
        " spent.",
        notes.own_estimates(names),
    )
    header = ("matrix", title(BASELINE), *map(title, names))
    return Table("Entries and cost to reach uniform's final error", note, header, tuple(rows))


def _reached(name: str, by: dict[str, Curves], names: list[str], spent: metrics.Measure) -> tuple[Field, ...]:
    write = share if spent == "cost" else count
    fields = []
    for strategy in names:
        base = metrics.baseline(by, strategy)
        if strategy not in by or base is None:
            fields.append(Field(""))
            continue
        found = metrics.to_reach(by[strategy], base, spent)
        own = f"; its uniform {write(found.uniform)}" if base.strategy != BASELINE else ""
        fields.append(Field(took(found, write) + own, "good" if found.high < found.uniform else ""))
    uniform = metrics.to_reach(by[BASELINE], by[BASELINE], spent).uniform
    return (Field(name), Field(write(uniform)), *fields)


def coverage(study: Study) -> Table:
    """90% intervals: at first, least along the way, at the end."""
    names = [
        s
        for s in strategies_of(study)
        if any(s in by and metrics.has_intervals(by[s]) for by in study.values())
    ]
    rows = []
    for case, by in study.items():
        cells = [_coverage(by[s]) if s in by else Field("") for s in names]
        if any(cell.text for cell in cells):
            rows.append((Field(case), *cells))
    note = (
        "Share of the entries not measured that lie in their 90% intervals (a measurement's, where the matrix is real):"
        f" at the end, and in brackets the least along the way, means over replicates. Marked where it is ever below"
        f" {ENOUGH:.0%}."
    )
    return Table("Coverage of 90% intervals", note, ("matrix", *map(title, names)), tuple(rows))


def _coverage(curves: Curves) -> Field:
    shares = metrics.coverage(curves)
    known = shares[np.isfinite(shares)]
    if not known.size:
        return Field("")
    return Field(f"{share(known[-1])} ({share(known.min())})", "bad" if known.min() < ENOUGH else "")


def times(study: Study) -> Table:
    """Seconds for a choice."""
    names = strategies_of(study)
    rows = [
        (Field(case), *(Field(_seconds(by[s])) if s in by else Field("") for s in names))
        for case, by in study.items()
    ]
    note = (
        "Seconds on the clock for one ask after the initial entries (in brackets: of the processor), means."
    )
    return Table("Time for a step", note, ("matrix", *map(title, names)), tuple(rows))


def _seconds(curves: Curves) -> str:
    wall, cpu = metrics.seconds_per_ask(curves), metrics.seconds_per_ask(curves, "cpu")
    return f"{seconds(wall)} ({seconds(cpu)})" if np.isfinite(wall) else ""
