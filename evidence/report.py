"""What a study leaves in its folder: the files of a comparison, with figures and tables of several matrices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evidence import figures, tables
from evidence.claims import build_claims_table, judge_claims
from evidence.paper import FIGURES
from evidence.strategies import STRATEGIES
from maxentry.compare import metrics
from maxentry.compare.report import Outputs, Picture, ResultTable, StudyPage, save_figure, write_report
from maxentry.compare.store import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES = (
    "Mean over replicates; shaded: 25% to 75% quantiles. Strategies that are not shown are in the tables."
)


def write_paper(runs: Sequence[Run], folder: Path, caveat: str = "") -> Outputs:
    """Draw each of the paper's figures and judge its claims. caveat: why this is not the whole study, if so."""
    study = metrics.gather(runs, STRATEGIES)
    drawn: dict[str, Picture | None] = {}
    for figure in FIGURES.values():
        cases = [panel.case.name for panel in figure.panels]
        part = {case: by for case, by in study.items() if case in cases}
        drawn[figure.name] = _picture(figure.title, CURVES, figures.draw_curves(part, across=2))
    drawn["coverage"] = _coverage(study)
    claims = build_claims_table(judge_claims(runs), tables.same_matrix_note(study))
    return _write("The paper's figures", study, runs, folder, drawn, caveat, [claims])


def write_suite(runs: Sequence[Run], folder: Path, caveat: str = "") -> Outputs:
    """Draw curves of every matrix, ratios to uniform and coverage."""
    study = metrics.gather(runs, STRATEGIES)
    ratios = "Error at the end as a ratio to uniform's, with 90% intervals over replicates."
    drawn = {
        "curves": _picture("Error along the way", CURVES, figures.draw_curves(study)),
        "ratios": _picture("Ratios to uniform", ratios, figures.draw_ratios(study)),
        "coverage": _coverage(study),
    }
    return _write("Strategies side by side", study, runs, folder, drawn, caveat)


def _coverage(study: metrics.StudyCurves) -> Picture | None:
    heading = "Coverage of 90% intervals along the way"
    return _picture(heading, "Dotted: 90%.", figures.draw_curves(study, "coverage"))


def _picture(heading: str, note: str, figure: Figure | None) -> Picture | None:
    return None if figure is None else Picture(heading, note, figure)


def _write(
    heading: str, study: metrics.StudyCurves, runs: Sequence[Run], folder: Path, drawn: dict[str, Picture | None],
    caveat: str, first: Sequence[ResultTable] = (),
) -> Outputs:  # fmt: skip
    """Save the figures and write the page: tables given first, then figures, then the tables of the study."""
    pictures = {name: picture for name, picture in drawn.items() if picture is not None}
    paths = [
        path for name, picture in pictures.items() for path in save_figure(picture.figure, folder / name)
    ]
    page = StudyPage(heading, [*first, *pictures.values(), *tables.build_tables(study)], caveat=caveat)
    return write_report(page, runs, folder, paths)
