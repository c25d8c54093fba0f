"""The tables of a study of several matrices: matrices by strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from maxentry.compare import metrics, report
from maxentry.compare.metrics import Curves, Interval, StudyCurves
from maxentry.compare.report import ResultCell, ResultTable, join_sentences
from maxentry.compare.scenario import BASELINE, Strategy
from maxentry.compare.store import Run


def build_tables(study: StudyCurves) -> list[ResultTable]:
    """Return the tables that have rows.

    Cases by cost have a table of their own: strategies end at different costs, and uniform has too few looks for an
    area.
    """
    by_entries = {case: by for case, by in study.items() if not any(c.by_cost for c in by.values())}
    by_cost = {case: by for case, by in study.items() if case not in by_entries}
    tables = [
        without_gain(study),
        overall(by_entries),
        ratios(by_entries, "Error at the end, as a ratio to uniform's", metrics.end_ratio),
        ratios(by_entries, "The same over entries that were not measured", metrics.unseen_ratio),
        ratios(by_entries, "Area under the error curve, as a ratio to uniform's", metrics.area_ratio),
        errors(by_entries),
        errors_at_one_cost(by_cost),
        entries_to_reach(study),
        fields(study, "Coverage of 90% intervals", report.COVERAGE_NOTE, report.coverage_cell),
        fields(study, "Time for a step", report.TIME_NOTE, report.time_cell),
    ]
    return [table for table in tables if table.rows]


def list_strategies(study: StudyCurves) -> list[Strategy]:
    """Return all strategies in the order they come."""
    return list({name: c.strategy for by in study.values() for name, c in by.items()}.values())


def without_gain(study: StudyCurves) -> ResultTable:
    """List, for each strategy that chooses, the matrices on which it is not shown to be better than uniform."""
    rows = []
    for strategy in (s for s in list_strategies(study) if s.active):
        level, worse = list[str](), list[str]()
        for case, by in study.items():
            ratio = metrics.compare_to_baseline(by).get(strategy.name)
            if ratio is not None and ratio.effect != "helps":
                (worse if ratio.effect == "harms" else level).append(f"{case} {ratio.text()}")
        if level or worse:
            rows.append(
                (ResultCell(strategy.title), ResultCell("; ".join(level)), ResultCell("; ".join(worse)))
            )
    note = "Ratios to uniform's error at the end, or at one cost, whose 90% interval is not all below 1."
    header = ("strategy", "no difference shown", "worse than uniform")
    return ResultTable("Where choosing does not help", note, header, tuple(rows))


def overall(study: StudyCurves) -> ResultTable:
    """Summarise each strategy over all matrices."""
    ends = {case: metrics.compare_to_baseline(by) for case, by in study.items()}
    rows = []
    for strategy in list_strategies(study):
        name = strategy.name
        by = {case: ratios[name] for case, ratios in ends.items() if name in ratios}
        if not by:
            continue
        kinds = [[r.value for c, r in by.items() if study[c][name].simulated is k] for k in (False, True)]
        effects = [ratio.effect for ratio in by.values()]
        worst = max(by, key=lambda case: by[case].value)
        means = [f"{geometric_mean(k):.2f} ({len(k)})" if k else "" for k in kinds]
        counts = [str(effects.count(e)) for e in ("helps", "no difference shown", "harms")]
        rows.append(
            tuple(map(ResultCell, (strategy.title, *means, *counts, f"{by[worst].value:.2f} ({worst})")))
        )
    note = join_sentences(
        "Error at the end as a ratio to uniform's: geometric means over matrices (in brackets how many), and on how"
        " many matrices the 90% interval is all below 1 (better), contains 1, or is all above 1 (worse). Without cases"
        " by cost.",
        report.estimates_note(list_strategies(study)),
        same_matrix_note(study),
    )
    header = ("strategy", "real", "simulated", "better on", "no difference shown", "worse on", "worst")
    return ResultTable("Over all matrices", note, header, tuple(rows))


def geometric_mean(ratios: list[float]) -> float:
    """Average ratios over matrices: a half and a double cancel."""
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else np.nan


def ratios(study: StudyCurves, heading: str, ratio: Callable[[Curves, Curves], Interval]) -> ResultTable:
    """Return a ratio to uniform of every strategy on every matrix."""
    strategies = [s for s in list_strategies(study) if s.name != BASELINE.name]
    found = {case: metrics.compare_to_baseline(by, ratio) for case, by in study.items()}
    rows = tuple(
        (ResultCell(case), *(report.ratio_cell(by.get(s.name)) for s in strategies))
        for case, by in found.items()
        if by
    )
    note = join_sentences(report.RATIO_NOTE, report.estimates_note(strategies), same_matrix_note(study))
    return ResultTable(heading, note, ("matrix", *(s.title for s in strategies)), rows)


def errors(study: StudyCurves) -> ResultTable:
    """Return the mean errors at the end."""
    strategies = list_strategies(study)
    rows = []
    for case, by in study.items():
        replicates = sorted({len(c.seeds) for c in by.values()})
        first = min(c.at(0, "n").min() for c in by.values())
        last = max(c.at(-1, "n").max() for c in by.values())
        cells = [f"{by[s.name].at(-1).mean():.3f}" if s.name in by else "" for s in strategies]
        number = " to ".join(map(str, dict.fromkeys((replicates[0], replicates[-1]))))
        rows.append(tuple(map(ResultCell, (case, number, f"{first:,.0f} to {last:,.0f}", *cells))))
    note = (
        "Mean over replicates of the root mean square error over all known entries, relative to the spread of the"
        " matrix (Frobenius norm if simulated, standard deviation if real)."
    )
    header = ("matrix", "replicates", "entries", *(s.title for s in strategies))
    return ResultTable("Error at the end", note, header, tuple(rows))


def errors_at_one_cost(study: StudyCurves) -> ResultTable:
    """Return every strategy where the first of them ended."""
    rows = []
    for case, by in study.items():
        found = [
            metrics.compare_to_baseline(by, ratio) for ratio in (metrics.end_ratio, metrics.unseen_ratio)
        ]
        for name, curves in by.items():
            ratios = [report.ratio_cell(ratio.get(name)) for ratio in found]
            rows.append(
                (ResultCell(case), ResultCell(curves.strategy.title), *report.cost_cells(curves), *ratios)
            )
    note = join_sentences(
        report.COST_NOTE,
        report.RATIO_NOTE,
        report.estimates_note(list_strategies(study)),
        same_matrix_note(study),
    )
    header = (
        "matrix", "strategy", "share of the money", "entries by then", "error", "ratio to uniform's",
        "ratio over entries not measured",
    )  # fmt: skip
    return ResultTable("Where entries have costs: errors at one cost", note, header, tuple(rows))


def entries_to_reach(study: StudyCurves) -> ResultTable:
    """Return the entries, and the cost if entries have costs, until uniform's final error."""
    strategies = list_strategies(study)
    rows = []
    for case, by in study.items():
        if BASELINE.name not in by:
            continue
        kinds: dict[str, metrics.Measure] = {case: "n"}
        if by[BASELINE.name].by_cost:
            kinds = {f"{case}, entries": "n", f"{case}, cost": "cost"}
        for name, spent in kinds.items():
            rows.append((ResultCell(name), *(report.reach_cell(by, s.name, spent) for s in strategies)))
    note = join_sentences(report.REACH_NOTE, report.estimates_note(strategies))
    header = ("matrix", *(s.title for s in strategies))
    return ResultTable("Entries and cost to reach uniform's final error", note, header, tuple(rows))


def fields(study: StudyCurves, heading: str, note: str, field: Callable[[Curves], ResultCell]) -> ResultTable:
    """Return one field of every strategy on every matrix, without empty rows and columns."""
    found = {case: {name: field(c) for name, c in by.items()} for case, by in study.items()}
    shown = {name for by in found.values() for name, cell in by.items() if cell.text}
    strategies = [s for s in list_strategies(study) if s.name in shown]
    rows = tuple(
        (ResultCell(case), *(by.get(s.name, ResultCell("")) for s in strategies))
        for case, by in found.items()
        if any(cell.text for cell in by.values())
    )
    return ResultTable(heading, note, ("matrix", *(s.title for s in strategies)), rows)


def same_matrix_note(study: StudyCurves) -> str:
    """Name the cases whose intervals are not over matrices."""
    cases = [case for case, by in study.items() if has_one_matrix(next(iter(by.values())).runs[0])]
    if not cases:
        return ""
    where = "" if len(cases) == len(study) else f" on {'; '.join(cases)}"
    return (
        f"All replicates are of the same matrix{where}: the interval{' there' if where else ''} is over designs and"
        " chains only, and says nothing about other matrices of the kind."
    )


def has_one_matrix(run: Run) -> bool:
    """Return whether all replicates have the same matrix: a user's, certain rows of a data set, or all of it."""
    source: Mapping[str, Any] = run.identity.get("source", {})
    kind = source.get("kind")
    if kind != "data" or source.get("training"):  # rows known from the start differ between replicates
        return bool(kind == "given")
    if source.get("how", "random") != "random":
        return True
    # A random part that is smaller than it might be is the whole matrix.
    sides = zip(
        (source.get("rows"), source.get("cols")),
        source.get("busiest") or (None, None),
        run.shape,
        strict=True,
    )
    return all(n is None or (n >= most if most else n > size) for n, most, size in sides)
