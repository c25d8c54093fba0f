"""Figures of a study in the paper's form: mean over replicates, 25% and 75% quantiles shaded.

What is drawn is a record made first (`Panel`, `Bar`); `drawing.py` draws it. Every figure is written as stem.png and
stem.pdf; none where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from maxentry.studies import drawing, metrics, verdict
from maxentry.studies.drawing import Bar, Line, Panel
from maxentry.studies.metrics import BASELINE, DEFAULT, Curves, Study
from maxentry.studies.record import Run

Shown = Literal["error", "coverage"]

MOST = 7  # strategies in a figure of many panels
SHADED = (BASELINE, DEFAULT, "maxent")  # where there are more lines than these, only theirs are shaded
# Errors are relative to the norm of a simulated matrix, and to the spread of a real one around its mean.
Y_LABELS = {True: "relative Frobenius error", False: "RMS error / standard deviation"}
COVERAGE = "coverage of 90% intervals"


def paper_figure(runs: Iterable[Run], stem: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """The paper's panels two in a row, every line named where it ends."""
    study = only(metrics.gather(runs), strategies)
    panels = [panel(case, by) for case, by in study.items()]
    return drawing.save(drawing.grid(panels, across=2, named_at_ends=True), stem)


def suite_figure(runs: Iterable[Run], stem: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """A small panel for every matrix; the foremost seven strategies unless some are named."""
    study = foremost_of_each(metrics.gather(runs), strategies)
    return drawing.save(drawing.grid([panel(case, by) for case, by in study.items()], across=4), stem)


def compare_figure(runs: Iterable[Run], stem: Path) -> list[Path]:
    """The one case of a comparison: errors, and coverage beside them."""
    study = metrics.gather(runs)
    shown: tuple[Shown, ...] = ("error", "coverage")
    panels = [panel(case, by, s)._replace(title=f"{case}: {s}") for case, by in study.items() for s in shown]
    return drawing.save(drawing.grid([p for p in panels if p.lines], across=2), stem)


def coverage_figure(runs: Iterable[Run], stem: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """Coverage of 90% intervals along the way, a panel for every matrix with any."""
    study = foremost_of_each(metrics.gather(runs), strategies)
    panels = [panel(case, by, "coverage") for case, by in study.items()]
    panels = [p for p in panels if p.lines]
    return drawing.save(drawing.grid(panels, across=4), stem) if panels else []


def ratio_figure(runs: Iterable[Run], stem: Path, strategies: Sequence[str] | None = None) -> list[Path]:
    """Ratios to uniform at the end with their intervals, a row for every matrix: left of 1 is better."""
    study = foremost_of_each(metrics.gather(runs), strategies)
    rows = bars(study)
    return drawing.save(drawing.ratios(rows), stem) if rows else []


def panel(case: str, by: dict[str, Curves], shown: Shown = "error") -> Panel:
    """The curves of one case."""
    kept = {s: c for s, c in by.items() if shown != "coverage" or metrics.has_intervals(c)}
    shaded = tuple(kept) if len(kept) <= len(SHADED) else SHADED
    lines = tuple(_line(curves, shown, strategy in shaded) for strategy, curves in kept.items())
    by_cost = any(curves.by_cost for curves in by.values())
    x_label = "share of the budget spent" if by_cost else "entries measured"
    if shown == "coverage":
        return Panel(case, x_label, COVERAGE, lines, 0.9, by_cost)
    y_label = Y_LABELS[any(curves.simulated for curves in by.values())]
    return Panel(case, x_label, y_label, lines, None, by_cost)


def _line(curves: Curves, shown: Shown, shaded: bool) -> Line:
    x, values = curves.along(shown)
    if shown == "coverage":
        return Line(curves.strategy, x, metrics.coverage(curves), None, None)
    mean, low, high = metrics.quartiles(values)
    return Line(curves.strategy, x, mean, low if shaded else None, high if shaded else None)


def bars(study: Study) -> dict[str, tuple[Bar, ...]]:
    """By case, the ratios at the end."""
    found = {case: metrics.against_uniform(study, case, metrics.end_ratio) for case in study}
    return {
        case: tuple(Bar(s, ratio) for s, ratio in by.items() if ratio.replicates)
        for case, by in found.items()
        if any(ratio.replicates for ratio in by.values())
    }


def foremost(by: dict[str, Curves], most: int = MOST) -> list[str]:
    """Uniform, the default and the paper's, then other ways to choose, then the rest."""
    first = [s for s in SHADED if s in by]
    active = [s for s in by if s not in first and s not in verdict.NOT_ACTIVE]
    return [*first, *active, *(s for s in by if s not in first and s not in active)][:most]


def only(study: Study, strategies: Sequence[str] | None) -> Study:
    """These strategies, in this order; all if None."""
    if strategies is None:
        return study
    kept = {case: {s: by[s] for s in strategies if s in by} for case, by in study.items()}
    return {case: by for case, by in kept.items() if by}


def foremost_of_each(study: Study, strategies: Sequence[str] | None = None) -> Study:
    """These strategies, or the foremost seven of each case."""
    if strategies is not None:
        return only(study, strategies)
    return {case: {s: by[s] for s in foremost(by)} for case, by in study.items()}
