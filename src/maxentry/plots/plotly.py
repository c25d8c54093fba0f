"""Draws records with plotly, for the screen: the same figures, with names and numbers under the pointer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.errors import MissingDependencyError
from maxentry.plots.records import (
    LONGEST,
    AxisLabels,
    Chart,
    FigureRecord,
    HeatMap,
    Marks,
    Panel,
    Series,
    log_ticks,
)
from maxentry.plots.style import GREY, INK, MARK, MARK_BLUE, MARK_SIZES, PLOTLY
from maxentry.wording import shorten

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "long": "longdash", "dashdot": "dashdot"}
MARKS: dict[str, dict[str, Any]] = {
    "measured": {"symbol": "circle", "color": MARK, "line": {"color": "white", "width": 0.5}},
    "pending": {"symbol": "square-open", "color": MARK_BLUE, "line": {"width": 2}},
    "next": {"symbol": "circle", "color": "white", "line": {"color": MARK, "width": 1.5}},
    "failed": {"symbol": "x", "color": MARK, "line": {"color": "white", "width": 1}},
}
CLEAR = "rgba(0,0,0,0)"
ROW_TICKS, COLUMN_TICKS = 40, 18  # labels that fit into half of a page
LINES = "rgba(128,128,128,0.3)"


def draw(record: FigureRecord) -> Figure:
    """A record as a plotly figure; labels are shown as they are, never as markup."""
    return _heat_map(record) if isinstance(record, HeatMap) else _chart(record)


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise MissingDependencyError(
            "expected plotly for figures on the screen, but it is not installed: pip install 'maxentry[plots]'."
        ) from None
    return go


def script() -> str:
    """plotly.js of the installed package, to be put into a page once."""
    _plotly()
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def _layout(record: FigureRecord, **more: Any) -> dict[str, Any]:
    note = f"<br><sub>{escape(record.note)}</sub>" if record.note else ""
    return {
        "title": {"text": escape(record.title) + note, "x": 0.01, "xanchor": "left"},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "margin": {"l": 60, "r": 20, "t": 70, "b": 60},
        "autosize": True,
        "modebar": {"bgcolor": CLEAR, "color": GREY, "activecolor": GREY},
        **more,
    }


# Maps


def _heat_map(record: HeatMap) -> Figure:
    go = _plotly()
    low, high = record.limits
    z, ends = record.values, [low, high]
    bar: dict[str, Any] = {"title": {"text": escape(record.unit), "side": "right"}}
    if record.logarithmic:
        z, ends = np.log10(z), np.log10([low, high]).tolist()
        at = log_ticks(low, high)
        bar |= {"tickvals": np.log10(at).tolist(), "ticktext": [f"{x:g}" for x in at]}
    if record.ticks:
        at, names = record.named
        bar |= {"tickvals": at, "ticktext": [escape(name) for name in names]}
    rows, cols = (np.array([escape(name) for name in side.names]) for side in (record.rows, record.cols))
    fig = go.Figure(
        go.Heatmap(
            z=z, zmin=ends[0], zmax=ends[1], colorscale=PLOTLY[record.scale], colorbar=bar, hoverongaps=False,
            customdata=np.stack(np.broadcast_arrays(rows[:, None], cols), axis=-1),
            text=[[escape(record.text(x)) for x in line] for line in record.values.tolist()],
            hovertemplate="%{customdata[0]}, %{customdata[1]}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    for marks in record.marks:
        fig.add_trace(_marks(go, marks, record))
    fig.update_layout(
        _layout(
            record,
            xaxis=_side(record.cols, COLUMN_TICKS) | {"side": "bottom"},
            yaxis=_side(record.rows, ROW_TICKS) | {"autorange": "reversed"},
            legend={"orientation": "h", "y": -0.18, "x": 1, "xanchor": "right"},
            height=int(np.clip(18 * record.values.shape[0], 240, 620)) + 150,
        )
    )
    return fig


def _side(side: AxisLabels, most: int) -> dict[str, Any]:
    at = list(side.ticks(most))
    return {
        "tickvals": at,
        "ticktext": [escape(shorten(side.names[k], LONGEST)) for k in at],
        "tickfont": {"size": 10},
        "title": {"text": escape(side.heading)},
        "showgrid": False,
        "zeroline": False,
    }


def _marks(go: Any, marks: Marks, record: HeatMap) -> Any:
    n1, n2 = record.values.shape
    size = float(np.clip(MARK_SIZES[marks.kind] * min(620 / n2, np.clip(18 * n1, 240, 620) / n1), 3, 18))
    numbered = marks.numbered
    return go.Scatter(
        x=marks.cols, y=marks.rows, mode="markers+text" if numbered else "markers", name=marks.kind,
        marker=MARKS[marks.kind] | {"size": max(size, 14) if numbered else size},
        text=[str(k + 1) for k in range(len(marks.rows))] if numbered else None,
        textfont={"size": 9, "color": MARK},
        customdata=[escape(hint) for hint in marks.said], hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


# Charts


def _chart(record: Chart) -> Figure:
    go = _plotly()
    from plotly.subplots import make_subplots

    n = len(record.panels)
    if not n:
        return go.Figure(
            layout=_layout(record, xaxis={"visible": False}, yaxis={"visible": False}, height=160)
        )
    fig = make_subplots(1, n, subplot_titles=[escape(panel.title) for panel in record.panels])
    for k, panel in enumerate(record.panels, start=1):
        for series in panel.series:
            for trace in _series(go, series, along_x=bool(panel.names)):
                fig.add_trace(trace, 1, k)
        x, y = _axes(panel)
        fig.update_xaxes(**x, row=1, col=k)
        fig.update_yaxes(**y, row=1, col=k)
    tallest = max((20 * len(panel.names) for panel in record.panels if panel.names), default=0)
    legend = {"orientation": "h", "y": -0.32, "x": 0}
    fig.update_layout(_layout(record, height=max(380, tallest + 160), legend=legend))
    return fig


def _axes(panel: Panel) -> tuple[dict[str, Any], dict[str, Any]]:
    common: dict[str, Any] = {"gridcolor": LINES, "zeroline": False}
    common |= {"type": "log"} if panel.logarithmic else {"range": [0, 1]} if panel.unit_square else {}
    x, y = (common | {"title": {"text": escape(label)}} for label in (panel.x_label, panel.y_label))
    if panel.names:
        y |= _side(AxisLabels("", panel.names, len(panel.names)), ROW_TICKS) | {
            "range": [len(panel.names) - 0.5, -0.5]
        }
    if panel.log_shares:
        x |= {"type": "log", "tickformat": ".0%"}
    if panel.y_limits is not None:
        y["range"] = list(panel.y_limits)
    if panel.from_zero:
        (x if panel.names else y)["rangemode"] = "tozero"
    if panel.whole:
        n = max(len(series.y) for series in panel.series)
        x |= {"range": [0.5, n + 0.5], "dtick": -(-n // 12), "tick0": 1}
    return x, y


def _series(go: Any, series: Series, *, along_x: bool) -> list[Any]:
    common = {"name": escape(series.name), "showlegend": bool(series.name)}
    if series.kind == "band":
        edge = {"mode": "lines", "line": {"width": 0, "color": series.color}, "hoverinfo": "skip"}
        lower = go.Scatter(x=series.x, y=series.low, showlegend=False, **edge)
        return [lower, go.Scatter(x=series.x, y=series.high, fill="tonexty", **edge, **common)]
    mode = {"dots": "markers", "line and dots": "lines+markers"}.get(series.kind, "lines")
    thin = len(series.y) > 100
    bars = {}
    if (reach := series.reach(along_x=along_x)) is not None:
        bar = {"type": "data", "symmetric": False, "thickness": 1, "width": 0, "color": series.color}
        bars = {"error_x" if along_x else "error_y": bar | {"arrayminus": reach[0], "array": reach[1]}}
    hover = (
        {"customdata": [escape(x) for x in series.labels], "hovertemplate": "%{customdata}<extra></extra>"}
        if series.labels
        else {"hoverinfo": "skip"} if series.color == GREY else {}
    )  # fmt: skip
    shape = {"shape": "hv"} if series.kind == "steps" else {}
    return [
        go.Scatter(
            x=list(series.x), y=series.y, mode=mode, marker={"color": series.color, "size": 5 if thin else 7},
            line={"color": series.color, "width": 0.7 if thin else 2, "dash": DASHES[series.dashes], **shape},
            **bars, **hover, **common,
        )
    ]  # fmt: skip
