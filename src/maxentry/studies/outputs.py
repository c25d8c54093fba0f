"""What a study leaves in its folder: figures, one page, the tables as text, and the raw results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maxentry.errors import DataError
from maxentry.studies import export, figures, page, tables, verdict
from maxentry.studies.paper import FIGURES
from maxentry.studies.record import Run
from maxentry.studies.whole import whole

PAGE = "report.html"


class Outputs(NamedTuple):
    """The files that were written."""

    page: Path
    figures: tuple[Path, ...]
    tables: Path
    raw: Path


def paper(runs: Sequence[Run], folder: Path, caveat: str = "") -> Outputs:
    """A figure for each of the paper's, and their claims judged. caveat: why this is not the whole study, if so."""
    drawn: list[Path] = []
    for figure in FIGURES.values():
        cases = {panel.case.name for panel in figure.panels}
        mine = [run for run in runs if run.case in cases]
        if mine:
            drawn += figures.paper_figure(mine, folder / figure.name)
    drawn += figures.coverage_figure(runs, folder / "coverage")
    claims = tables.as_markdown(tables.claims_table(runs))
    raw = export.write_table(runs, folder)
    text = page.html(runs, heading="The paper's figures", raw=raw.name, caveat=caveat, claims=True)
    page.write(text, folder / PAGE)
    return _written(folder, drawn, f"{claims}\n\n{tables.markdown(runs)}", raw, caveat)


def suite(runs: Sequence[Run], folder: Path, caveat: str = "") -> Outputs:
    """Curves of every matrix, ratios to uniform, coverage."""
    drawn = figures.suite_figure(runs, folder / "curves")
    drawn += figures.ratio_figure(runs, folder / "ratios")
    drawn += figures.coverage_figure(runs, folder / "coverage")
    raw = export.write_table(runs, folder)
    text = page.html(runs, heading="Strategies side by side", raw=raw.name, caveat=caveat)
    page.write(text, folder / PAGE)
    return _written(folder, drawn, tables.markdown(runs), raw, caveat)


def compare(runs: Sequence[Run], folder: Path, strategy: str, answer: str, caveat: str = "") -> Outputs:
    """The curves of one matrix, and the answer: would this strategy have helped?"""
    drawn = figures.compare_figure(runs, folder / "curves")
    raw = export.write_table(runs, folder)
    heading = f"Would {verdict.helper(strategy)} help on {runs[0].case}?"
    text = page.html(runs, heading=heading, lead=answer, raw=raw.name, strategy=strategy, caveat=caveat)
    page.write(text, folder / PAGE)
    return _written(folder, drawn, f"{answer}\n\n{tables.markdown(runs)}", raw, caveat)


def check(runs: Sequence[Run], folder: Path) -> None:
    """Refuse to report on nothing."""
    if not runs:
        raise DataError(f"expected results to report on in {folder}, but there are none of this study.")


def _written(folder: Path, drawn: list[Path], text: str, raw: Path, caveat: str) -> Outputs:
    with whole(folder / "tables.md") as part:
        part.write_text(f"**{tables.plain(caveat)}**\n\n{text}" if caveat else text, encoding="utf-8")
    return Outputs(folder / PAGE, tuple(drawn), folder / "tables.md", raw)
