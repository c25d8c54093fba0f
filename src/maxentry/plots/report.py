"""A campaign as one HTML page that needs no other file: the answer, how sure it is, and what comes next.

The page is `templates/report.html`; here is what it shows, in the order of its sections. Counts come from the status of
the campaign, the expected error and the advice from its outlook, and the answer from `views.answer`, as for the command
line and the server.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import count as count_up
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry import plots
from maxentry.campaign import views
from maxentry.campaign.views import describe_kind
from maxentry.model.likelihood import ANSWER_WORDS, ERROR_WORDS
from maxentry.plots import matplotlib, plotly
from maxentry.plots.plot import Plot, Subject
from maxentry.plots.records import Chart, FigureRecord
from maxentry.plots.style import check_installed, inline_svg, library_versions, render_page
from maxentry.posterior.decisions import name_stake
from maxentry.posterior.diagnostics import advice_at
from maxentry.posterior.posterior import summary_lines
from maxentry.posterior.rank import MOSTLY_MEANS
from maxentry.summary.error_curve import POINTS
from maxentry.summary.reasons import STANDS_OUT, Reason, reasons
from maxentry.transform import NONE, Transform
from maxentry.wording import count, number, one_line, sentence

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.outlook import Ahead
    from maxentry.posterior.posterior import Posterior

LEVEL = 0.9  # of the intervals of the answer
EVENTS = 30  # of the history, the last ones
NOT_SHOWN = ("rows", "cols", "mask", "costs", "name")  # settings that are long, or stand elsewhere
Facts = list[tuple[str, str]]
Draw = Callable[[FigureRecord], str]


def render_report(
    campaign: Campaign, *, n: int = 8, points: int = POINTS, interactive: bool = False, unit: str = ""
) -> str:
    """The text of the page.

    n: the size of the next batch. points: of the curve of the expected error, a fit or two each the first time.
    interactive: figures to zoom into and to point at; plotly.js (5 MB) is in the page then. unit: of the
    values, the campaign's own if not given.
    """
    check_installed("plotly" if interactive else "matplotlib", "jinja2")
    subject = Subject.check(campaign, unit or campaign.settings.unit or "")
    ahead = campaign.outlook(n)
    drawing = _draw_interactive if interactive else _draw_static
    ids = count_up()

    def draw(record: FigureRecord) -> str:
        return drawing(record, f"f{next(ids)}")

    return render_page(
        "report.html",
        title=campaign.name,
        script=plotly.script() if interactive else "",
        answer=answer_section(subject, draw),
        sure=sure_section(subject, ahead, draw) if len(subject.measured_keys) else None,
        advice=sentence(ahead.advice),
        **next_section(subject, n, draw),
        **_standing(subject),
        maps=_map_cards(subject, draw),
        **_history(subject, points, draw),
        sampler=sampler_section(subject, draw) if len(subject.measured_keys) else None,
        settings=_settings(subject),
    )


# Figures


class Card(NamedTuple):
    """A figure of the page: its caption and note as text, and its drawings as HTML, one for each panel of a chart."""

    caption: str
    note: str
    drawings: list[str]
    is_chart: bool
    kind: str = ""  # the class in the style sheet


def _card(plot: Plot, draw: Draw, about: str = "", kind: str = "") -> Card:
    record = plot.record
    note = " ".join(sentence(text) for text in (about, record.note) if text)
    pieces: list[FigureRecord] = [record]
    if isinstance(record, Chart):  # panel by panel, so that they stand below each other on a narrow screen
        pieces = [record._replace(panels=(panel,)) for panel in record.panels]
    drawings = [draw(piece) for piece in pieces]
    return Card(record.title.partition(":")[0], note, drawings, isinstance(record, Chart), kind)


def _draw_static(record: FigureRecord, name: str) -> str:
    """Draw a figure as SVG inside the page, without title and note, which stand in the page as text."""
    label = f"{record.title}. {record.note}".removesuffix(". ")
    with warnings.catch_warnings():  # letters that matplotlib's font lacks are drawn by the browser's
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        return inline_svg(matplotlib.draw(record._replace(title="", note="")), name, label)


def _draw_interactive(record: FigureRecord, name: str) -> str:
    """Draw a figure by plotly, whose script is in the page once."""
    fig = plotly.draw(record)
    fig.update_layout(margin={"t": 45, "b": 70}, title=None)
    text: str = fig.to_html(
        include_plotlyjs=False, full_html=False, div_id=name,
        config={"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )  # fmt: skip
    return text


# Sections


def _standing(subject: Subject) -> dict[str, Any]:
    """Return what was measured, as facts: counts and costs."""
    campaign, _ = subject.require_campaign("has a status")
    status = campaign.status()
    share = 100 * status.told / (status.rows * status.cols)
    budget = "" if status.budget is None else f" of {status.budget:g}"
    facts = [
        ("matrix", f"{status.rows:,} x {status.cols:,}"),
        *([("values", kind)] if (kind := describe_kind(status.to_dict())) else []),
        ("measured", f"{count(status.told, 'entry', 'entries')} ({share:.3g}%)"),
        ("pending", str(status.pending)),
        *((name, str(n)) for name, n in (("failed", status.failed), ("expired", status.expired)) if n),
        ("left to ask for", f"{status.available:,}"),
        ("spent", f"{status.spent:g}{budget}"),
    ]
    first, last, now = (f"{t:%Y-%m-%d %H:%M}" for t in (status.created_at, status.changed_at, subject.now))
    period = f"{count(status.events, 'event')} from {first} to {last} UTC. Report written at {now} UTC."
    return {"standing": facts, "period": period}


def answer_section(subject: Subject, draw: Draw) -> dict[str, Any] | None:
    """The answer to the campaign's goal: sentences and a figure. Where the table is to be filled, that is the table."""
    if not len(subject.measured_keys):
        return None
    campaign, state = subject.require_campaign("has a goal")
    goal, wanted = state.settings.wanted, views.describe_goal(campaign.status().to_dict())
    if goal.fills:
        about = "the best guess of every entry, dots where measured"
        return {
            "goal": "the completed table",
            "said": [],
            "figure": _card(plots.mean(subject), draw, about, "whole"),
        }
    if goal.kind == "best":
        figure = plots.best(subject, goal.k, goal.per, smallest=goal.sign < 0)
    elif goal.kind == "rank":
        figure = plots.ranking(subject, "rows" if goal.per == "row" else "columns", smallest=goal.sign < 0)
    else:
        figure = plots.mean(subject)
    found = views.answer(subject.posterior, goal, state.settings, LEVEL)
    said = [*found.summary[:-1], *filter(None, [found.note])]
    return {"goal": wanted, "said": said, "figure": _card(figure, draw, kind="whole")}


def sure_section(subject: Subject, ahead: Ahead, draw: Draw) -> dict[str, Any]:
    """How sure the answer is: what is at stake, the expected error, whether intervals are right, and the sampler."""
    state, facts = subject.require_campaign("has an outlook")[1], Facts()
    settings = state.settings
    unit = f" {subject.unit}" if subject.unit else ""
    after = "" if ahead.outlook is None else f"after {ahead.outlook.entries} more"
    if not settings.wanted.fills:
        found = views.answer(subject.posterior, settings.wanted, settings, LEVEL)
        of = unit if settings.wanted.kind == "best" else ""
        what, text = name_stake(settings.wanted, found.at_stake)
        facts.append((what, text + of))
        if ahead.at_stake is not None:
            facts.append((f"… {after}", name_stake(settings.wanted, ahead.at_stake.after)[1] + of))
    if ahead.outlook is not None:
        about = (
            ERROR_WORDS[views.error_of(state)].removeprefix("root mean square").removesuffix(", your units")
        )
        facts += [
            (f"expected error now{about}", f"{ahead.outlook.error_now:.3g}{unit}"),
            (f"… {after}", f"{ahead.outlook.error_after:.3g}{unit}"),
        ]
    return describe_trust(subject.posterior) | {
        "facts": facts,
        "figures": [_card(plots.calibration(subject), draw, kind="across")] if subject.has_numbers else [],
    }


def describe_trust(posterior: Posterior) -> dict[str, str]:
    """Whether the fit has settled, and what intervals leave out; what the sampler did stands at the end of the page."""
    diagnostics = posterior.diagnostics
    sampler = "The fit has settled: a longer one would say the same."
    if not diagnostics.converged:
        sampler = f"The fit has not settled. {advice_at(diagnostics.advice, 'page')}"
    return {"sampler": sampler, "note": rank_0_note(posterior)}


def _map_cards(subject: Subject, draw: Draw) -> list[Card]:
    """What was measured and, where the answer is another figure, the completed table."""
    cards = [_card(plots.observed(subject), draw)]
    state = subject.require_campaign("has a goal")[1]
    if len(subject.measured_keys) and state.settings.wanted.kind in ("best", "rank"):
        cards.append(_card(plots.mean(subject), draw, "the best guess of every entry"))
    return cards


class ReportTable(NamedTuple):
    """Cells as text."""

    columns: list[str]
    rows: list[list[str]]


def next_section(subject: Subject, n: int, draw: Draw) -> dict[str, Any]:
    """The next n entries on the map, and why each is worth measuring."""
    batch = subject.next_batch(n)
    _, state = subject.require_campaign("knows what comes next")
    with_model, with_costs = bool(np.isfinite(batch.sd).any()), state.costs.given
    posterior = subject.posterior if with_model else None
    predicted = ANSWER_WORDS[subject.likelihood.kind] if subject.likelihood.discrete else "predicted"
    columns = ["", "row", "column", *([predicted, "uncertainty (sd)", "gain"] if with_model else []),
               *(["cost"] if with_costs else []), "why"]  # fmt: skip
    rows = []
    for k, reason in enumerate(reasons(state, posterior, batch.rows, batch.cols)):
        labels = state.row_labels[batch.rows[k]], state.col_labels[batch.cols[k]]
        figures = [number(float(x[k])) for x in (batch.mean, batch.sd, batch.gain)] if with_model else []
        cost = [f"{batch.cost[k]:g}"] if with_costs else []
        rows.append(
            [str(k + 1), *map(one_line, labels), *figures, *cost, describe(reason, subject.transform)]
        )
    card = _card(plots.next_batch(subject, n), draw, kind="whole")
    return {"next": card, "batch": ReportTable(columns, rows), "why_none": sentence(batch.why)}


def describe(reason: Reason, transform: Transform = NONE) -> str:
    """Why an entry is worth measuring, in words."""
    parts = []
    if reason.sd_ratio is not None:
        scale = "" if transform == NONE else f" on the {transform} scale"
        parts.append(f"its uncertainty{scale} is {reason.sd_ratio:.2g} times the typical entry's")
    told = f"{reason.row_told or 'none'} of its row and {reason.col_told or 'none'} of its column measured"
    parts.append(told if reason.row_told or reason.col_told else "nothing in its row or column is measured")
    for side, c in (("row", reason.row_coherence), ("column", reason.col_coherence)):
        if c is not None and c >= STANDS_OUT:
            parts.append(f"its {side} is unlike others")
    return "; ".join(parts)


def _history(subject: Subject, points: int, draw: Draw) -> dict[str, Any]:
    campaign, _ = subject.require_campaign("has a history")
    told = campaign.history(frame="columns")
    columns = (told[name] for name in ("event", "at", "who", "kind", "what"))
    rows = [
        [str(event), f"{at:%Y-%m-%d %H:%M}", who or "", kind, what]
        for event, at, who, kind, what in zip(*columns, strict=True)
    ]
    n = count(len(rows), "event")
    which = f"The last {EVENTS} of {n}" if len(rows) > EVENTS else f"All {n}" if len(rows) > 1 else n
    return {
        "history": _card(plots.history(subject, points=points), draw),
        "which_events": which,
        "events": ReportTable(["event", "at (UTC)", "who", "kind", "what"], rows[: -EVENTS - 1 : -1]),
    }


def sampler_section(subject: Subject, draw: Draw) -> dict[str, Any]:
    """How the sampler did, what the low-rank part is, and the model."""
    kinds = [plots.rhat, plots.singular_values, plots.trace, plots.coherence]
    figures = [_card(chart(subject), draw) for chart in kinds]
    return {
        "figures": [f._replace(kind="across") if len(f.drawings) > 1 else f for f in figures],
        "facts": [
            fact for fact in summary_lines(subject.posterior) if fact[0] not in ("note", "advice")
        ],  # said above
    }


def rank_0_note(posterior: Posterior) -> str:
    """What intervals leave out where many chains have row and column means alone; nothing otherwise."""
    alone = posterior.rank_weights.get(0, 0.0)
    if alone < MOSTLY_MEANS:
        return ""
    evidence = "The data show little beyond row and column means."
    if alone < 1:
        evidence = (
            "The data do not settle how much structure there is beyond row and column means:"
            f" {alone:.0%} of the chains have none, {1 - alone:.0%} have a low-rank part."
        )
    return (
        f"{evidence} Without a low-rank part, any other structure counts as noise: intervals of new measurements"
        " include it, intervals of the entries do not."
    )


def _settings(subject: Subject) -> Facts:
    settings = subject.require_campaign("has settings")[1].settings
    shown: dict[str, Any] = {k: v for k, v in vars(settings).items() if k not in NOT_SHOWN and v is not None}
    shown["acquisition"] = settings.acquisition.replace("_", " ")
    shown |= {"mask": "given"} if settings.mask is not None else {}
    shown |= {"costs": "given"} if settings.costs.given else {}
    shown["versions"] = library_versions()
    return [(name, str(value)) for name, value in shown.items()]
