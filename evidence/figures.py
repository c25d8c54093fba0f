"""Figures of a study of several matrices. Every figure is written as stem.png and stem.pdf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxentry.compare import metrics
from maxentry.compare.metrics import Curves, StudyCurves
from maxentry.compare.report import SHADED, Shown, build_panel, draw_legend, draw_panels
from maxentry.plots.matplotlib import LABEL, new_figure, trim_axes
from maxentry.plots.style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 7  # strategies in a figure of many panels


def draw_curves(study: StudyCurves, shown: Shown = "error", across: int = 4) -> Figure | None:
    """Draw a panel for every matrix with its foremost strategies; None if there is nothing to show."""
    foremost = {case: {name: by[name] for name in choose_foremost(by)} for case, by in study.items()}
    panels = [build_panel(case, by, shown) for case, by in foremost.items()]
    panels = [panel for panel in panels if panel.series]
    return draw_panels(panels, across) if panels else None


def choose_foremost(by: dict[str, Curves], most: int = MOST) -> list[str]:
    """Return uniform, the default and the paper's, then other active strategies, then the rest."""
    first = [s for s in SHADED if s in by]
    active = [s for s in by if s not in first and by[s].strategy.active]
    return [*first, *active, *(s for s in by if s not in first and s not in active)][:most]


def draw_ratios(study: StudyCurves) -> Figure | None:
    """Draw ratios to uniform at the end with their intervals, a band for every matrix: left of 1 is better."""
    rows = {}
    for case, by in study.items():
        foremost = {name: by[name] for name in choose_foremost(by)}
        ratios = {name: r for name, r in metrics.compare_to_baseline(foremost).items() if r.replicates}
        if ratios:
            rows[case] = ratios
    if not rows:
        return None
    strategies = list(
        {name: study[case][name].strategy for case, row in rows.items() for name in row}.values()
    )
    names = [s.name for s in strategies]
    fig = new_figure(7.2, 1.2 + len(rows) * (0.15 + 0.12 * len(names)))
    ax = fig.subplots()
    ax.axvline(1.0, color=INK, lw=1, ls="--")
    for k, row in enumerate(rows.values()):
        if k % 2:
            ax.axhspan(k - 0.5, k + 0.5, color=INK, alpha=0.05, lw=0)
        for name, ratio in row.items():
            at = names.index(name)
            style = strategies[at].style
            y = k + (at - (len(names) - 1) / 2) * 0.8 / len(names)
            if ratio.known:
                ax.plot([ratio.low, ratio.high], [y, y], color=style.color, lw=1.4)
            title = strategies[at].title
            ax.plot(
                [ratio.value], [y], color=style.color, marker=style.marker or "o", ms=4.5, ls="", label=title
            )
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels(list(rows), parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    label = "error at the end / uniform's (90% interval over replicates); left of 1 is better"
    ax.set_xlabel(label, **LABEL)
    trim_axes(ax)
    draw_legend(fig)
    return fig
