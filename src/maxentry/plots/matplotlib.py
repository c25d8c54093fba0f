"""Draws records with matplotlib, for print."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.errors import MissingDependencyError
from maxentry.plots.records import LONGEST, Chart, FigureRecord, HeatMap, Marks, Panel, Series, log_ticks
from maxentry.plots.style import GRID, INK, MARK, MARK_BLUE, MARK_SIZES, MATPLOTLIB, Dashes
from maxentry.wording import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 200
SMALL, SMALLER = 9, 8  # sizes of type
LABEL: dict[str, Any] = {"fontsize": SMALL, "color": INK, "parse_math": False}
LONGEST_ROW = 28  # characters of the label of a row: it is written along the row
ROW_INCHES, COLUMN_INCHES = 0.16, 0.19  # for a label
DASHES: dict[Dashes, Any] = {
    "solid": "-", "dashed": (0, (5.0, 2.0)), "dotted": (0, (1.0, 1.2)), "long": (0, (10.0, 1.5)),
    "dashdot": (0, (6.0, 1.5, 1.0, 1.5)),
}  # fmt: skip
MARKERS_PER_LINE = 6
MARKS: dict[str, dict[str, Any]] = {
    "measured": {"marker": ".", "facecolor": MARK, "edgecolor": "white", "linewidth": 0.4},
    "pending": {"marker": "s", "facecolor": "none", "edgecolor": MARK_BLUE, "linewidth": 1.6},
    "next": {"marker": "o", "facecolor": "white", "edgecolor": MARK, "linewidth": 1.2},
    "failed": {"marker": "x", "facecolor": MARK, "linewidth": 1.2},
}


def draw(record: FigureRecord) -> Figure:
    """A record as a matplotlib figure."""
    return _heat_map(record) if isinstance(record, HeatMap) else _chart(record)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "expected matplotlib for figures, but it is not installed: pip install 'maxentry[plots]'."
        ) from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _add_title(fig: Figure, title: str, note: str) -> None:
    width = max(40, int(13 * fig.get_figwidth()))
    lines = textwrap.wrap(note, width)
    fig.suptitle(shorten(title, width), **LABEL | {"fontsize": 11}, x=0.02, ha="left")
    if lines:
        fig.supxlabel("\n".join(lines), **LABEL | {"fontsize": SMALLER}, x=0.02, ha="left")


# Maps


def _heat_map(record: HeatMap) -> Figure:
    n1, n2 = record.values.shape
    width = _extent(0.3 * n2, COLUMN_INCHES * n2, 2.6, 7.0)
    height = _extent(0.24 * n1, ROW_INCHES * n1, 1.8, 6.4)
    longest = min(max(map(len, record.rows.names)), LONGEST_ROW)
    fig = new_figure(width + 1.5 + 0.07 * longest, height + 1.5)
    from matplotlib.colors import LogNorm, Normalize  # after `new_figure`, which says what to install

    ax = fig.subplots()
    low, high = record.limits
    norm = LogNorm(low, high) if record.logarithmic else Normalize(low, high)
    image = ax.imshow(
        np.ma.masked_invalid(record.values), cmap=MATPLOTLIB[record.scale], norm=norm, aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    _sides(ax, record, width, height)
    for marks in record.marks:
        _mark(ax, marks, min(width / n2, height / n1))
    bar = fig.colorbar(image, ax=ax, extend=_extend(record), fraction=0.05, pad=0.02)
    bar.set_label(record.unit, **LABEL)
    bar.ax.tick_params(labelsize=SMALLER, colors=INK, which="both")
    if record.logarithmic:
        _plain_numbers(bar.ax.yaxis, low, high)
    if record.ticks:
        at, names = record.named
        bar.set_ticks(at, labels=names, parse_math=False)
    bar.outline.set_visible(False)
    _add_title(fig, record.title, record.note)
    if [m for m in record.marks if len(m.rows)]:
        fig.legend(
            loc="outside lower right", frameon=False, fontsize=SMALLER, labelcolor=INK,
            ncols=4 if fig.get_figwidth() > 6 else 2, handletextpad=0.6, columnspacing=1.2,
        )  # fmt: skip
    return fig


def _extent(wanted: float, needed: float, least: float, most: float) -> float:
    """Inches of a side: as wanted within limits, a little beyond them if all labels fit then."""
    return max(float(np.clip(wanted, least, most)), needed if needed <= 1.3 * most else 0.0)


def _extend(record: HeatMap) -> str:
    known = record.values[np.isfinite(record.values)]
    below = known.size and known.min() < record.limits[0]
    above = known.size and known.max() > record.limits[1]
    return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[int(below), int(above)]


def _sides(ax: Axes, record: HeatMap, width: float, height: float) -> None:
    rows = record.rows.ticks(int(height / ROW_INCHES))
    columns = record.cols.ticks(int(width / COLUMN_INCHES))
    ax.set_yticks(rows, [shorten(record.rows.names[k], LONGEST_ROW) for k in rows], parse_math=False)
    names = [shorten(record.cols.names[k], LONGEST) for k in columns]
    upright = max(map(len, names)) * 0.085 > width / len(names)
    ax.set_xticks(columns, names, parse_math=False, rotation=90 if upright else 0)
    ax.tick_params(labelsize=SMALLER, colors=INK, length=2)
    ax.set_xlabel(record.cols.heading, **LABEL)
    ax.set_ylabel(record.rows.heading, **LABEL)
    ax.spines[:].set_color(GRID)


def _mark(ax: Axes, marks: Marks, cell: float) -> None:
    """Marks the size of a cell, within what can be seen."""
    from matplotlib.patheffects import withStroke

    size = float(np.clip(72 * cell * MARK_SIZES[marks.kind], 9.0 if marks.numbered else 2.5, 13.0))
    points = ax.scatter(marks.cols, marks.rows, s=size**2, label=marks.kind, zorder=3, **MARKS[marks.kind])
    if marks.kind == "failed":  # a cross has no edge, and is invisible on an empty cell of a dark page
        points.set_path_effects([withStroke(linewidth=3.0, foreground="white")])
    if marks.numbered:
        for k, (i, j) in enumerate(zip(marks.rows, marks.cols, strict=True)):
            ax.annotate(
                str(k + 1), (j, i), ha="center", va="center_baseline", fontsize=min(SMALLER, 0.62 * size),
                color=MARK, zorder=4,
            )  # fmt: skip


# Charts


def _chart(record: Chart) -> Figure:
    n = len(record.panels)
    tallest = max((0.2 * len(p.names) + 0.6 for p in record.panels if p.names), default=2.6)
    fig = new_figure({0: 6.0, 1: 4.6, 2: 8.6}.get(n, 10.5), max(2.6, tallest) + 0.9 if n else 1.2)
    for ax, panel in zip(np.ravel(fig.subplots(1, n)) if n else (), record.panels, strict=True):
        draw_panel(ax, panel)
    _add_title(fig, record.title, record.note)
    return fig


def draw_panel(ax: Axes, panel: Panel, *, legend: bool = True) -> None:
    """Draw one panel into its axes."""
    for k, series in enumerate(panel.series):
        _series(ax, series, k, along_x=bool(panel.names))
    if panel.names:
        names = [shorten(name, LONGEST) for name in panel.names]
        ax.set_yticks(range(len(names)), names, parse_math=False)
        ax.set_ylim(len(names) - 0.5, -0.5)
    if panel.from_zero:
        (ax.set_xlim if panel.names else ax.set_ylim)(0, None)
    if panel.whole:
        n = max(len(series.y) for series in panel.series)
        ax.set_xticks(range(1, n + 1, -(-n // 12)))
        ax.set_xlim(0.5, n + 0.5)
    if panel.logarithmic:
        ax.set_xscale("log")
        ax.set_yscale("log")
        _plain_numbers(ax.xaxis, *ax.get_xlim())
        _plain_numbers(ax.yaxis, *ax.get_ylim())
    if panel.log_shares:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:g}%")
        ax.xaxis.set_minor_formatter(lambda x, _: "")
    if panel.y_limits is not None:
        ax.set_ylim(panel.y_limits)
    if panel.unit_square:
        ax.set_xlim(0, 1)
        ax.set_ylim(0, 1)
        ax.set_aspect("equal")
    if any(series.kind == "steps" for series in panel.series):
        _times(ax)
    ax.set_title(panel.title, **LABEL)
    ax.set_xlabel(panel.x_label, **LABEL)
    ax.set_ylabel(panel.y_label, **LABEL)
    ax.grid(axis="x" if panel.names else "y", lw=0.4, alpha=0.5, color=GRID)
    trim_axes(ax)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=SMALLER, labelcolor=INK, loc="best")


def trim_axes(ax: Axes) -> None:
    """Leave only the left and the lower axis."""
    ax.tick_params(labelsize=SMALLER, colors=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)


def _plain_numbers(axis: Any, low: float, high: float) -> None:
    """1, 2, 5, 10, … instead of powers of ten."""
    axis.set_ticks(log_ticks(low, high), labels=[f"{x:g}" for x in log_ticks(low, high)])
    axis.set_ticks([], minor=True)


def _times(ax: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    where = AutoDateLocator(minticks=2, maxticks=5)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(where)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(where))  # type: ignore[no-untyped-call]
    ax.xaxis.get_offset_text().set(fontsize=SMALLER, color=INK)


def _series(ax: Axes, series: Series, k: int, *, along_x: bool) -> None:
    """Draw the k-th series of a panel; k keeps the markers of lines on top of each other apart."""
    x: Any = series.x
    look: dict[str, Any] = {"color": series.color, "label": series.name or None}
    match series.kind:
        case "band":
            low, high = np.asarray(series.low), np.asarray(series.high)
            ax.fill_between(x, low, high, alpha=0.25, lw=0, **look)
        case "steps":
            ax.step(x, series.y, where="post", lw=1.5, ls=DASHES[series.dashes], **look)
        case "dots":
            bars: dict[str, Any] = {"xerr" if along_x else "yerr": series.reach(along_x=along_x)}
            ax.errorbar(x, series.y, **bars, fmt="none", ecolor=series.color, elinewidth=1.0, alpha=0.55)
            size = 5.0 if len(series.y) <= 40 else 3.5
            ax.plot(x, series.y, ls="", marker="o", ms=size, mew=0, **look)
        case _:
            thin = len(series.y) > 100
            marker = "o" if series.kind == "line and dots" else series.marker
            every = max(1, len(series.y) // MARKERS_PER_LINE) if series.marker else 1
            ax.plot(
                x, series.y, lw=0.6 if thin else 1.5, alpha=0.7 if thin else 1, ls=DASHES[series.dashes], marker=marker,
                ms=4, markevery=(k % every, every), **look,
            )  # fmt: skip
