"""Records of what is to be seen, and matplotlib drawing them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, MissingDependencyError
from maxentry.plots.style import GRID, INK
from maxentry.studies.metrics import DEFAULT, Interval
from maxentry.studies.styles import style
from maxentry.studies.whole import whole
from maxentry.studies.wording import title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

DPI = 200
MARKERS_A_LINE = 6
SMALL, SMALLER = 9, 8  # sizes of type


class Line(NamedTuple):
    """One strategy: its mean, and quantiles to be shaded if any."""

    strategy: str
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
    logarithmic: bool = False  # of what was spent


class Bar(NamedTuple):
    """A ratio to uniform with its interval."""

    strategy: str
    ratio: Interval


def drawn(panels: Sequence[Panel]) -> list[str]:
    """In the order they come."""
    return list(dict.fromkeys(line.strategy for panel in panels for line in panel.lines))


def grid(panels: Sequence[Panel], across: int, named_at_ends: bool = False) -> Figure:
    """Panels side by side, with one legend above, or every line named where it ends."""
    if not panels:
        raise DataError("expected runs to draw, but there are none.")
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    fig = _figure(
        max(5.2, (5.2 if named_at_ends else 3.6) * across), 3.1 * down + (0 if named_at_ends else 0.6)
    )
    axes = fig.subplots(down, across, squeeze=False)
    names = drawn(panels)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for k, (ax, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        draw(ax, panel, names)
        ax.set_title(panel.title, fontsize=10, color=INK, parse_math=False)
        if k % across and panel.y_label == panels[k - 1].y_label:
            ax.set_ylabel("")
        if named_at_ends:
            _name_ends(ax, panel)
    if not named_at_ends:
        legend(fig, names)
    return fig


def single(panel: Panel, names: Sequence[str]) -> Figure:
    """One panel without title or legend, styled as among all these strategies."""
    fig = _figure(4.4, 3.0)
    draw(fig.subplots(), panel, names)
    return fig


def draw(ax: Axes, panel: Panel, names: Sequence[str]) -> None:
    """The lines of a panel, and what they are measured in."""
    if panel.promised is not None:
        ax.axhline(panel.promised, color=INK, lw=0.8, ls=":", zorder=1)
    for k, line in enumerate(panel.lines):
        look = style(line.strategy, names)
        if line.low is not None and line.high is not None:
            ax.fill_between(line.x, line.low, line.high, color=look.color, alpha=0.15, lw=0, zorder=1)
        every = max(1, len(line.x) // MARKERS_A_LINE)
        ax.plot(
            line.x, line.mean, color=look.color, ls=look.dashes, marker=look.marker or None, lw=1.6, ms=4.5,
            markevery=(k % every, every), zorder=3 if line.strategy == DEFAULT else 2,
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
    _plain_axes(ax)


def _plain_axes(ax: Axes) -> None:
    ax.tick_params(labelsize=SMALLER, colors=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(INK)


def _name_ends(ax: Axes, panel: Panel) -> None:
    """Each line's name right of where it ends, moved apart where they would overlap."""
    bottom, top = ax.get_ylim()
    ends = [float(line.mean[-1]) for line in panel.lines]
    heights = apart(ends, (top - bottom) * 0.075, bottom, top)
    across = ax.get_yaxis_transform()  # from 0 to 1 across the panel, whatever its scale
    names = drawn([panel])
    for line, end, height in zip(panel.lines, ends, heights, strict=True):
        look = style(line.strategy, names)
        ax.annotate(
            title(line.strategy), (float(line.x[-1]), end), (1.03, height), textcoords=across,
            fontsize=SMALLER, color=INK, va="center", annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "lw": 1.0, "color": look.color, "shrinkA": 1, "shrinkB": 3},
        )  # fmt: skip


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights near the wanted ones, in their order and at least `gap` apart, within bounds where there is room."""
    order = np.argsort(wanted, kind="stable")
    heights = np.array(wanted, dtype=float)[order]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + gap)
    heights[-1:] = np.minimum(heights[-1:], max(high, low + gap * (len(heights) - 1)))
    for k in range(len(heights) - 2, -1, -1):
        heights[k] = min(heights[k], heights[k + 1] - gap)
    placed = np.empty(len(heights))
    placed[order] = heights
    return [float(height) for height in placed]


def ratios(rows: dict[str, tuple[Bar, ...]]) -> Figure:
    """Points and intervals, a band for each case; left of 1 is better than uniform."""
    names = list(dict.fromkeys(bar.strategy for row in rows.values() for bar in row))
    fig = _figure(7.2, 1.2 + len(rows) * (0.15 + 0.12 * len(names)))
    ax = fig.subplots()
    ax.axvline(1.0, color=INK, lw=1, ls="--")
    for k, row in enumerate(rows.values()):
        if k % 2:
            ax.axhspan(k - 0.5, k + 0.5, color=INK, alpha=0.05, lw=0)
        for bar in row:
            look, ratio = style(bar.strategy, names), bar.ratio
            y = k + (names.index(bar.strategy) - (len(names) - 1) / 2) * 0.8 / len(names)
            if ratio.known:
                ax.plot([ratio.low, ratio.high], [y, y], color=look.color, lw=1.4)
            ax.plot([ratio.value], [y], color=look.color, marker=look.marker or "o", ms=4.5, ls="")
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels(list(rows), parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    label = "error at the end / uniform's (90% interval over replicates); left of 1 is better"
    ax.set_xlabel(label, fontsize=SMALL, color=INK)
    _plain_axes(ax)
    legend(fig, names, lines=False)
    return fig


def swatch(strategy: str, names: Sequence[str]) -> Figure:
    """A piece of a strategy's line, for a legend that is text."""
    look = style(strategy, names)
    fig = _figure(0.5, 0.16)
    ax = fig.subplots()
    ax.plot([0, 0.5, 1], [0, 0, 0], color=look.color, ls=look.dashes, marker=look.marker or None, lw=1.6, ms=4.5,
            markevery=[1])  # fmt: skip
    ax.set_axis_off()
    return fig


def legend(fig: Figure, names: Sequence[str], lines: bool = True) -> None:
    """One for the whole figure, above it; of markers alone where there are no lines."""
    from matplotlib.lines import Line2D

    looks = [style(name, names) for name in names]
    handles = [
        Line2D(
            [],
            [],
            color=s.color,
            ls=s.dashes if lines else "",
            marker=s.marker or ("" if lines else "o"),
            ms=4.5,
        )
        for s in looks
    ]
    made = fig.legend(
        handles, [title(name) for name in names], loc="outside upper center", frameon=False, fontsize=SMALLER,
        ncols=_columns(names, float(fig.get_figwidth())), handlelength=3.2, labelcolor=INK,
    )  # fmt: skip
    for text in made.get_texts():
        text.set_parse_math(False)


def _columns(names: Sequence[str], width: float) -> int:
    return max(1, min(len(names), int(width / 2.1)))


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "expected matplotlib for figures, but it is not installed: pip install 'maxentry[studies]'."
        ) from None
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def save(fig: Figure, stem: Path) -> list[Path]:
    """stem.png and stem.pdf, the same bytes for the same figure."""
    plain: dict[str, Any] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in plain]
    for path, (kind, metadata) in zip(paths, plain.items(), strict=True):
        with whole(path) as part, warnings.catch_warnings():
            # A name in letters that the font has not is drawn as boxes; nobody can do anything about it here.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            fig.savefig(part, format=kind, dpi=DPI, metadata=metadata)
    return paths
