"""Figures of a comparison: mean over replicates, 25% and 75% quantiles shaded.

What is drawn is built as a record first (`Panel`), then drawn with matplotlib.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxentry.compare import metrics
from maxentry.compare.metrics import Curves
from maxentry.compare.scenario import (
    BASELINE,
    DASHED,
    DEFAULT,
    DOTTED,
    SOLID,
    Array,
    Strategy,
    Style,
)
from maxentry.compare.store import atomic_path
from maxentry.errors import DataError, MissingDependencyError
from maxentry.plots.style import GREEN, GRID, INK, ORANGE, PURPLE, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Shown = Literal["error", "coverage"]

DPI = 200
MARKERS_PER_LINE = 6
SMALL, SMALLER = 9, 8  # font sizes
SHADED = (BASELINE.name, DEFAULT.name, "maxent")  # with more lines than these, only these are shaded
# Errors are relative to the norm of a simulated matrix, and to the spread of a real one around its mean.
ERROR_LABELS = {True: "relative Frobenius error", False: "RMS error / standard deviation"}
# For strategies without a style.
STYLES = tuple(
    Style(color, dashes, marker)
    for dashes, marker in ((SOLID, "<"), (DASHED, "p"), (DOTTED, "1"))
    for color in (PURPLE, SKY, ORANGE, GREEN)
)


class Line(NamedTuple):
    """One strategy: its mean, and the quantiles to shade if any."""

    strategy: Strategy
    x: Array
    mean: Array
    low: Array | None
    high: Array | None


class Panel(NamedTuple):
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    promised: float | None = None  # a line across
    logarithmic: bool = False  # the x axis


def build_panel(title: str, by: dict[str, Curves], shown: Shown = "error") -> Panel:
    """Return the curves of one case."""
    curves = {s: c for s, c in by.items() if shown != "coverage" or metrics.has_intervals(c)}
    shaded = tuple(curves) if len(curves) <= len(SHADED) else SHADED
    lines = tuple(_build_line(c, shown, name in shaded) for name, c in curves.items())
    by_cost = any(c.by_cost for c in by.values())
    x_label = "share of the budget spent" if by_cost else "entries measured"
    if shown == "coverage":
        return Panel(title, x_label, "coverage of 90% intervals", lines, 0.9, by_cost)
    y_label = ERROR_LABELS[any(c.simulated for c in by.values())]
    return Panel(title, x_label, y_label, lines, None, by_cost)


def _build_line(curves: Curves, shown: Shown, shaded: bool) -> Line:
    x, values = curves.along(shown)
    if shown == "coverage":
        return Line(curves.strategy, x, metrics.coverage(curves), None, None)
    low, high = np.quantile(values, [0.25, 0.75], axis=0) if shaded else (None, None)
    return Line(curves.strategy, x, values.mean(axis=0), low, high)


def draw_panels(panels: Sequence[Panel], across: int) -> Figure:
    """Draw panels side by side, with one legend above."""
    if not panels:
        raise DataError("expected runs to draw, got none.")
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    fig = new_figure(max(5.2, 3.6 * across), 3.1 * down + 0.6)
    axes = fig.subplots(down, across, squeeze=False)
    strategies = list({line.strategy.name: line.strategy for p in panels for line in p.lines}.values())
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for k, (ax, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        _draw(ax, panel, strategies)
        ax.set_title(panel.title, fontsize=10, color=INK, parse_math=False)
        if k % across and panel.y_label == panels[k - 1].y_label:
            ax.set_ylabel("")
    draw_legend(fig, strategies)
    return fig


def _draw(ax: Axes, panel: Panel, strategies: Sequence[Strategy]) -> None:
    if panel.promised is not None:
        ax.axhline(panel.promised, color=INK, lw=0.8, ls=":", zorder=1)
    for k, line in enumerate(panel.lines):
        style = choose_style(line.strategy, strategies)
        if line.low is not None and line.high is not None:
            ax.fill_between(line.x, line.low, line.high, color=style.color, alpha=0.15, lw=0, zorder=1)
        every = max(1, len(line.x) // MARKERS_PER_LINE)
        ax.plot(
            line.x, line.mean, color=style.color, ls=style.dashes, marker=style.marker or None, lw=1.6, ms=4.5,
            markevery=(k % every, every), zorder=3 if line.strategy.name == DEFAULT.name else 2,
        )  # fmt: skip
    if panel.promised is not None:
        least = min(float(np.nanmin(line.mean)) for line in panel.lines)
        ax.set_ylim(min(0.7, least - 0.03), 1.005)
    if panel.logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:g}%")
        ax.xaxis.set_minor_formatter(lambda x, _: "")
    ax.set_xlabel(panel.x_label, fontsize=SMALL, color=INK)
    ax.set_ylabel(panel.y_label, fontsize=SMALL, color=INK)
    ax.grid(axis="y", lw=0.4, alpha=0.5, color=GRID)
    trim_axes(ax)


def trim_axes(ax: Axes) -> None:
    """Leave only the left and the lower axis."""
    ax.tick_params(labelsize=SMALLER, colors=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)


def choose_style(strategy: Strategy, among: Sequence[Strategy]) -> Style:
    """Return a strategy's own style, or one that the others do not have."""
    if strategy.style is not None:
        return strategy.style
    rest = [other.name for other in among if other.style is None]
    return STYLES[rest.index(strategy.name) % len(STYLES)]


def draw_legend(fig: Figure, strategies: Sequence[Strategy], lines: bool = True) -> None:
    """Draw one legend above the figure, of markers alone if there are no lines."""
    from matplotlib.lines import Line2D

    handles = []
    for strategy in strategies:
        color, dashes, marker = choose_style(strategy, strategies)
        ls, marker = (dashes, marker) if lines else ("", marker or "o")
        handles.append(Line2D([], [], color=color, ls=ls, marker=marker, ms=4.5))
    legend = fig.legend(
        handles, [strategy.title for strategy in strategies], loc="outside upper center", frameon=False,
        fontsize=SMALLER, ncols=max(1, min(len(strategies), int(fig.get_figwidth() / 2.1))), handlelength=3.2,
        labelcolor=INK,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "figures need matplotlib, which is not installed: pip install 'maxentry[studies]'."
        ) from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def save_figure(fig: Figure, stem: Path) -> list[Path]:
    """Write stem.png and stem.pdf, the same bytes for the same figure."""
    formats: dict[str, Any] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
    for path, (kind, metadata) in zip(paths, formats.items(), strict=True):
        with atomic_path(path) as part, warnings.catch_warnings():
            # A name in letters that the font does not have is drawn as boxes.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            fig.savefig(part, format=kind, dpi=DPI, metadata=metadata)
    return paths
