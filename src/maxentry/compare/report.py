"""What the runs of a comparison say: the answer in a sentence, and the files it leaves in its folder.

The files are figures, one HTML page, the tables as Markdown, and the raw results.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxentry import tables
from maxentry._types import Array
from maxentry.compare import metrics
from maxentry.compare.metrics import Curves, Interval, Measure
from maxentry.compare.scenario import BASELINE, DEFAULT, OURS, Strategy
from maxentry.compare.store import Look, Run, atomic_path
from maxentry.errors import MissingDependencyError
from maxentry.plots.matplotlib import DPI, SMALLER, draw_panel, new_figure
from maxentry.plots.records import Panel, Series
from maxentry.plots.style import INK, inline_svg, library_versions
from maxentry.plots.style import render_page as fill_template
from maxentry.wording import count, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shown = Literal["error", "coverage"]
Mark = Literal["", "good", "bad", "even"]
MARKS: dict[metrics.Effect, Mark] = {
    "helps": "good", "harms": "bad", "no difference shown": "even", "unknown": "even",
}  # fmt: skip
LEAST_COVERAGE = 0.8  # 90% intervals that cover less than this are marked

RATIO_NOTE = (
    "Ratios are of the means over paired replicates, with the 90% interval of the logarithm (t): below 1 is better than"
    " uniform. Marked if the interval is all below 1 (better) or all above (worse)."
)
COST_NOTE = (
    "Campaigns end when the money is spent. In each replicate all strategies are compared at one cost: where the first"
    " of them ended. So a strategy that ends early sets it for all, and one more strategy may move it. The share of the"
    " money is of the most that any of them spent: median over replicates (least to most). Between looks, errors are"
    " interpolated linearly in the cost, which overstates those of a strategy with few looks, such as uniform."
)
REACH_NOTE = (
    "Entries or cost to reach: until the error was first uniform's at the end of the same replicate, median over"
    " replicates (quartiles), linear between looks. Marked if the upper quartile is below uniform's median. Costs are"
    " shares of the most that any strategy spent."
)
COVERAGE_NOTE = (
    "Coverage: the share of entries not measured that lie in their 90% intervals (a measurement's, if the matrix is"
    " real) at the end, and in brackets the least along the way, means over replicates. Marked if it is ever below"
    f" {LEAST_COVERAGE:.0%}."
)
TIME_NOTE = "Seconds: wall time (processor time) of one ask after the initial entries, means."


# The answer

FEW = 5  # replicates: below this, intervals tell little
NOTHING = 0.98  # relative to the spread of the values: predicting their mean has an error of 1


def choose_subject(strategies: Iterable[Strategy]) -> Strategy:
    """Return the strategy a comparison is about: the first active one, else the first that is not uniform."""
    strategies = list(strategies)
    others = [s for s in strategies if s.name != BASELINE.name]
    return next((s for s in strategies if s.active), others[0] if others else BASELINE)


def describe(strategy: Strategy) -> str:
    """Return what the question is about: active sampling, or a strategy that is not active by its title."""
    return "active sampling" if strategy.active and not strategy.mixes else strategy.title


def answer(runs: Iterable[Run], strategy: Strategy = DEFAULT) -> str:
    """Answer in a sentence whether this strategy would have helped. The runs are of one case."""
    study = metrics.gather(runs, [strategy])
    by = next(iter(study.values()), {})
    uniform = metrics.find_baseline(by, strategy.name)
    if uniform is None or not (ratio := metrics.end_ratio(by[strategy.name], uniform)).replicates:
        return f"There are no runs of both {strategy.title} and {BASELINE.title} sampling to compare."
    chosen, base = metrics.pair(by[strategy.name], uniform)
    end = "at the same cost" if chosen.by_cost else f"after {np.median(base.at(-1, 'n')):,.0f} entries"
    text = f"{_verdict(strategy, ratio)}: {end} the error of {strategy.title} is {_ratio_text(ratio)} of uniform's"
    not_shown = ratio.effect in ("harms", "no difference shown")
    if not_shown and not base.simulated and float(base.at(-1).mean()) >= NOTHING:
        text += "; no structure was found: the errors are as large as the spread of the values"
    return f"{text}."


def _verdict(strategy: Strategy, ratio: Interval) -> str:
    subject = describe(strategy)
    if strategy.mixes:
        return (
            f"{subject[:1].upper()}{subject[1:]} has an estimate of its own, so this does not compare choices"
        )
    return {
        "helps": f"Yes, {subject} would have helped",
        "harms": f"No, {subject} would have done worse than measuring at random",
        "no difference shown": f"No gain from {subject} is shown",
        "unknown": f"One replicate cannot tell whether {subject} would have helped",
    }[ratio.effect]


def _ratio_text(ratio: Interval) -> str:
    if not ratio.known:
        return f"{ratio.value:.2f}"
    value, _, interval = ratio.text().rstrip(")").partition(" (")
    few = ", which are few" if ratio.replicates < FEW else ""
    return f"{value} (90% interval {interval}, {ratio.replicates} replicates{few})"


# Tables


class ResultCell(NamedTuple):
    """A cell of a table: its text, and how it is marked."""

    text: str
    mark: Mark = ""


class ResultTable(NamedTuple):
    """A heading, what the numbers mean, and rows. The first column names the row."""

    heading: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[ResultCell, ...], ...]

    def markdown(self) -> str:
        """Return the table under its heading; marks are bold text and (!)."""
        signs = {"good": "**{}**", "bad": "{} (!)", "even": "{}", "": "{}"}
        lines = [f"## {self.heading}", "", self.note, "", _markdown_row(self.header)]
        lines.append("|" + "---|" * len(self.header))
        lines += [
            _markdown_row([signs[f.mark].format(escape_markdown(f.text)) for f in row]) for row in self.rows
        ]
        return "\n".join(lines)


def _markdown_row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escape_markdown(text: str) -> str:
    """Escape what would end a cell or the line, or fetch a picture."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").replace("[", "\\[")


def build_table(by: dict[str, Curves]) -> ResultTable:
    """Return everything measured of the strategies on one case, a row for each."""
    by_cost = any(curves.by_cost for curves in by.values())
    ratios = [metrics.end_ratio, metrics.unseen_ratio, *([] if by_cost else [metrics.area_ratio])]
    found = [metrics.compare_to_baseline(by, ratio) for ratio in ratios]
    rows = []
    for name, curves in by.items():
        error = cost_cells(curves) if by_cost else (ResultCell(f"{curves.at(-1).mean():.3f}"),)
        rows.append(
            (
                ResultCell(curves.strategy.title), ResultCell(str(len(curves.runs))), *error,
                *(ratio_cell(ratio.get(name)) for ratio in found), reach_cell(by, name, curves.spent),
                coverage_cell(curves), time_cell(curves),
            )
        )  # fmt: skip
    errors = ("share of the money", "entries by then", "error") if by_cost else ("error at the end",)
    header = (
        "strategy", "replicates", *errors, "error / uniform's", "the same, entries not measured",
        *(() if by_cost else ("area under the curve / uniform's",)),
        f"{'cost' if by_cost else 'entries'} to reach uniform's final error", "coverage", "seconds",
    )  # fmt: skip
    note = join_sentences(
        COST_NOTE if by_cost else "",
        RATIO_NOTE,
        estimates_note(curves.strategy for curves in by.values()),
        "All replicates are of the same matrix, so intervals are over designs and chains only.",
        REACH_NOTE,
        COVERAGE_NOTE,
        TIME_NOTE,
    )
    return ResultTable("Strategies", note, header, tuple(rows))


def join_sentences(*sentences: str) -> str:
    """Return the sentences that are not empty, in one paragraph."""
    return " ".join(filter(None, sentences))


def estimates_note(strategies: Iterable[Strategy]) -> str:
    """Name the strategies whose ratios mix the choice of entries with another estimate."""
    strategies, notes = list(strategies), []
    if any(s.baseline != BASELINE.name for s in strategies):
        notes.append(
            "MaxEnt with the paper's sampler is compared with uniform sampling judged by that sampler."
        )
    if mixed := "; ".join(s.title for s in strategies if s.mixes):
        notes.append(
            f"Judged by an estimate of their own, while uniform is judged by our posterior: {mixed}. Their numbers mix"
            " choice and estimate."
        )
    return " ".join(notes)


def ratio_cell(ratio: Interval | None) -> ResultCell:
    """Return a ratio to uniform, marked by what it shows."""
    return ResultCell("") if ratio is None else ResultCell(ratio.text(), MARKS[ratio.effect])


def cost_cells(curves: Curves) -> tuple[ResultCell, ResultCell, ResultCell]:
    """Return the share of the money at which strategies are compared, the entries it paid for, and the error."""
    shares = np.array(curves.ends)
    n, error = (metrics.values_at_common_cost(curves, measure) for measure in ("n", "error"))
    begun = np.isfinite(error)
    spent = (
        f"{share_text(float(np.median(shares)))} ({share_text(shares.min())} to {share_text(shares.max())})"
    )
    if not begun.any():
        return ResultCell(spent), ResultCell(""), ResultCell("")
    return (
        ResultCell(spent),
        ResultCell(count_text(n[begun].mean())),
        ResultCell(f"{error[begun].mean():.3f}"),
    )


def reach_cell(by: dict[str, Curves], strategy: str, spent: Measure) -> ResultCell:
    """Return the entries or cost until uniform's final error; of uniform itself, when it first had it."""
    write = share_text if spent == "cost" else count_text
    base = metrics.find_baseline(by, strategy)
    if base is None:
        return ResultCell("")
    reach = metrics.reach(by[strategy], base, spent)
    if base.strategy.name == strategy:
        return ResultCell(write(reach.uniform))
    text = write(reach.median)
    if math.isfinite(reach.low):
        text += f" ({write(reach.low)} to {write(reach.high)})"
    own = f"; its uniform {write(reach.uniform)}" if base.strategy.name != BASELINE.name else ""
    return ResultCell(text + own, "good" if reach.high < reach.uniform else "")


def coverage_cell(curves: Curves) -> ResultCell:
    """Return the coverage at the end, and the least along the way."""
    shares = metrics.coverage(curves)
    known = shares[np.isfinite(shares)]
    if not known.size:
        return ResultCell("")
    text = f"{share_text(known[-1])} ({share_text(known.min())})"
    return ResultCell(text, "bad" if known.min() < LEAST_COVERAGE else "")


def time_cell(curves: Curves) -> ResultCell:
    """Return the seconds of an ask."""
    wall, cpu = metrics.seconds_per_ask(curves), metrics.seconds_per_ask(curves, "cpu")
    return ResultCell(f"{seconds_text(wall)} ({seconds_text(cpu)})" if np.isfinite(wall) else "")


def count_text(x: float) -> str:
    """Write entries or a cost: 1,234 or 5.6; "never" if infinite."""
    if not math.isfinite(x):
        return "" if math.isnan(x) else "never"
    return f"{x:,.0f}" if abs(x) >= 10 else f"{x:.3g}"


def share_text(x: float) -> str:
    """Write a share: 91% or 0.3%; "never" if infinite."""
    return percent(x) if math.isfinite(x) else count_text(x)


def seconds_text(x: float) -> str:
    """Write seconds with two or three digits."""
    return "" if math.isnan(x) else f"{x:.2g}" if x < 10 else f"{x:,.0f}"


# Figures

SHADED = (BASELINE.name, DEFAULT.name, "maxent")  # with more lines than these, only these are shaded
# Errors are relative to the norm of a simulated matrix, and to the spread of a real one around its mean.
ERROR_LABELS = {True: "relative Frobenius error", False: "RMS error / standard deviation"}


def build_panel(title: str, by: dict[str, Curves], shown: Shown = "error") -> Panel:
    """Return the curves of one case: means over replicates, 25% and 75% quantiles shaded."""
    by_cost = any(c.by_cost for c in by.values())
    x_label = "share of the budget spent" if by_cost else "entries measured"
    if shown == "coverage":
        every = (_line(c, c.along()[0], metrics.coverage(c)) for c in by.values())
        lines = [line for line in every if np.isfinite(line.y).any()]
        limits = min([0.7, *(float(np.nanmin(line.y)) - 0.03 for line in lines)]), 1.005
        if lines:
            ends = np.asarray(lines[0].x)[[0, -1]]
            lines.append(Series("", ends, np.full(2, 0.9), color=INK, dashes="dotted"))
        y_label = "coverage of 90% intervals"
        return Panel(title, x_label, y_label, tuple(lines), y_limits=limits, log_shares=by_cost)
    series = []
    for name, curves in by.items():
        x, errors = curves.along()
        series.append(_line(curves, x, errors.mean(axis=0)))
        if name in SHADED or len(by) <= len(SHADED):
            low, high = np.quantile(errors, [0.25, 0.75], axis=0)
            series.append(Series("", x, series[-1].y, low, high, "band", curves.strategy.style.color))
    y_label = ERROR_LABELS[any(c.simulated for c in by.values())]
    return Panel(title, x_label, y_label, tuple(series), log_shares=by_cost)


def _line(curves: Curves, x: Array, y: Array) -> Series:
    color, dashes, marker = curves.strategy.style
    return Series(curves.strategy.title, x, y, color=color, dashes=dashes, marker=marker)


def draw_panels(panels: Sequence[Panel], across: int) -> Figure:
    """Draw panels side by side, with one legend above."""
    across = min(across, len(panels))
    down = -(-len(panels) // across)
    fig = new_figure(max(5.2, 3.6 * across), 3.1 * down + 0.6)
    axes = fig.subplots(down, across, squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for k, (ax, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        draw_panel(ax, panel, legend=False)
        if k % across and panel.y_label == panels[k - 1].y_label:
            ax.set_ylabel("")
    draw_legend(fig)
    return fig


def draw_legend(fig: Figure) -> None:
    """Draw one legend of all axes above the figure."""
    pairs = (zip(*ax.get_legend_handles_labels(), strict=True) for ax in fig.axes)
    handles = {title: handle for each in pairs for handle, title in each}
    legend = fig.legend(
        handles.values(), handles.keys(), loc="outside upper center", frameon=False, fontsize=SMALLER,
        ncols=max(1, min(len(handles), int(fig.get_figwidth() / 2.1))), handlelength=3.2, labelcolor=INK,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)


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


# The page


class Picture(NamedTuple):
    """A figure of the page."""

    heading: str
    note: str
    figure: Figure


class StudyPage(NamedTuple):
    """One HTML page that needs no other file."""

    heading: str
    sections: Sequence[ResultTable | Picture]
    lead: str = ""
    caveat: str = ""  # why this is not the whole study, if it is not


def render_page(page: StudyPage, runs: Sequence[Run], raw: str | None = None) -> str:
    """Return the HTML. raw: the name of the file beside the page with the raw results."""
    drawings = {
        section.heading: inline_svg(section.figure, f"figure{k}", section.heading)
        for k, section in enumerate(page.sections)
        if isinstance(section, Picture)
    }
    laws = Counter(run.law for run in runs)
    facts = {
        "versions at the time of this report": library_versions(),
        "laws of the runs": ", ".join(f"{law} ({n} runs)" for law, n in laws.items()),
        "processor time of all runs": f"{sum(run.cpu_s for run in runs) / 3600:.2f} hours",
    }
    cases = {run.case: json.dumps(dict(run.identity), indent=1) for run in runs}
    counts = (
        count(len(runs), "run"), count(len(cases), "matrix", "matrices"),
        count(len({run.strategy for run in runs}), "strategy", "strategies"),
    )  # fmt: skip
    return fill_template(
        "template.html", Path(__file__).parent, title=page.heading, page=page, drawings=drawings, facts=facts,
        cases=cases, raw=raw, counts=counts,
    )  # fmt: skip


# The folder


# What `write_comparison` writes, or deletes if it is older.
FILES = ("report.html", "tables.md", "runs.parquet", "runs.csv", "curves.png", "curves.pdf")


class Outputs(NamedTuple):
    """The files that were written."""

    page: Path
    figures: tuple[Path, ...]
    tables: Path
    raw: Path


def write_comparison(
    runs: Sequence[Run], folder: Path, strategy: Strategy, answer: str, caveat: str = "",
    strategies: Iterable[Strategy] = OURS,
) -> Outputs:  # fmt: skip
    """Write the report on one matrix: would this strategy have helped?"""
    ((case, by),) = metrics.gather(runs, strategies).items()
    panels = [build_panel(f"{case}: {shown}", by, shown) for shown in ("error", "coverage")]
    drawing = draw_panels([panel for panel in panels if panel.series], across=2)
    note = "Mean over replicates; shaded: 25% to 75% quantiles. Dotted: 90%."
    sections: list[ResultTable | Picture] = [
        Picture("Error and coverage along the way", note, drawing),
        build_table(by),
    ]
    page = StudyPage(f"Would {describe(strategy)} help on {case}?", sections, answer, caveat)
    return write_report(page, runs, folder, save_figure(drawing, folder / "curves"))


def write_report(page: StudyPage, runs: Sequence[Run], folder: Path, drawn: Sequence[Path]) -> Outputs:
    """Write the page, its tables as Markdown, and the raw results."""
    raw = write_raw(runs, folder)
    with atomic_path(folder / "report.html") as part:
        part.write_text(render_page(page, runs, raw.name), encoding="utf-8")
    caveat = f"**{escape_markdown(page.caveat)}**" if page.caveat else ""
    texts = [section.markdown() for section in page.sections if isinstance(section, ResultTable)]
    with atomic_path(folder / "tables.md") as part:
        part.write_text("\n\n".join(filter(None, (caveat, page.lead, *texts))) + "\n", encoding="utf-8")
    return Outputs(folder / "report.html", tuple(drawn), folder / "tables.md", raw)


RUN_COLUMNS = ("case", "strategy", "seed", "rows", "cols", "known", "scale")
COLUMNS = (*RUN_COLUMNS, *Look._fields, "law", "settings")


def write_raw(runs: Sequence[Run], folder: Path) -> Path:
    """Write a row for each look: runs.parquet, or runs.csv without a library for Parquet; delete an older other."""
    rows = [
        (run.case, run.strategy, run.seed, *run.shape, run.known, run.scale,
         *(None if math.isnan(x) else x for x in look), run.law, settings)
        for run in runs
        for settings in [json.dumps(dict(run.identity), sort_keys=True)]
        for look in run.looks
    ]  # fmt: skip
    name, other = "runs.parquet", "runs.csv"
    try:
        tables.parquet_library()
    except MissingDependencyError:
        name, other = other, name
    folder.mkdir(parents=True, exist_ok=True)
    columns = [[row[k] for row in rows] for k in range(len(COLUMNS))]
    tables.write(tables.Table(list(COLUMNS), columns), str(folder / name))
    with suppress(OSError):
        (folder / other).unlink(missing_ok=True)
    return folder / name
