"""A campaign as one HTML page that needs nothing else: what is known, what comes next, and how far to trust it."""

from __future__ import annotations

import contextlib
import platform
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from maxentry.plots import calibrated, chains, factors, maps, past, printed, screen
from maxentry.plots.page_style import STYLE
from maxentry.plots.reasons import Reason, reasons
from maxentry.plots.records import Chart, HeatMap, Record
from maxentry.plots.subject import Subject
from maxentry.plots.svg import inlined
from maxentry.plots.words import advice, counted, unseen

if TYPE_CHECKING:
    from maxentry.campaign.campaign import Campaign
    from maxentry.campaign.outlook import Ahead
    from maxentry.campaign.policy import BatchLike

# A figure measures its place when it is drawn, before those beside it are there.
FIT = "<script>addEventListener('load', () => dispatchEvent(new Event('resize')))</script>"
LIBRARIES = ("maxentry", "numpy", "scipy", "numba")
EVENTS = 30  # of the history, the last ones
NOT_SHOWN = ("rows", "cols", "mask", "costs", "name")  # settings that are long, or said elsewhere
Draw = Callable[[Record], str]


def html(
    campaign: Campaign, *, n: int = 8, points: int = past.POINTS, interactive: bool = False, unit: str = ""
) -> str:
    """The text of the page.

    n: the size of the next batch. points: of the curve of the expected error, a fit each the first time.
    interactive: figures to zoom into and to point at; plotly.js (5 MB) is in the page then. unit: of the values.
    """
    subject = Subject.of(campaign, unit)
    draw = _interactive() if interactive else _static()
    ahead, batch = campaign.outlook(n), subject.upcoming(n)
    fitted = bool(len(subject.told_keys))
    sections = [
        _header(subject, ahead),
        _known(subject, draw, fitted),
        _next(subject, batch, draw),
        _history(subject, points, draw),
        _trust(subject, draw) if fitted else "",
        _settings(subject),
    ]
    return _page(subject.name, [screen.script(), *sections, FIT] if interactive else sections)


def _page(name: str, sections: Iterable[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="maxentry">\n'
        f"<title>{escape(name)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


# Figures


def _static() -> Draw:
    """Figures as SVG within the page."""
    count = iter(range(1000))

    def draw(record: Record) -> str:
        with warnings.catch_warnings():  # a script that matplotlib's font lacks is drawn by the browser's
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            return inlined(printed.figure(_bare(record)), f"f{next(count)}", _spoken(record))

    return draw


def _interactive() -> Draw:
    """Figures by plotly, whose script is in the page once."""
    count = iter(range(1000))

    def draw(record: Record) -> str:
        made = screen.figure(_bare(record))
        made.update_layout(margin={"t": 45, "b": 70}, title=None)
        text: str = made.to_html(
            include_plotlyjs=False, full_html=False, div_id=f"f{next(count)}",
            config={"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
        )  # fmt: skip
        return text

    return draw


def _bare(record: Record) -> Record:
    """Without title and note, which stand in the page as text."""
    return record._replace(title="", note="")


def _spoken(record: Record) -> str:
    return f"{record.title}. {record.note}".removesuffix(". ")


def _figure(record: Record, draw: Draw, about: str = "", kind: str = "") -> str:
    """A card with a caption; a chart that has nothing to show is a sentence."""
    caption = escape(record.title.partition(":")[0])
    note = " ".join(f"{part[0].upper()}{part[1:]}." for part in (about, record.note) if part)
    said = f'<p class="note">{escape(note)}</p>' if note else ""
    drawn = "".join(map(draw, _pieces(record)))
    if isinstance(record, Chart):
        drawn = f'<div class="panels">{drawn}</div>' if drawn else ""
    return f'<figure class="{kind}"><figcaption>{caption}</figcaption>{said}{drawn}</figure>'


def _pieces(record: Record) -> list[Record]:
    """A chart panel by panel, so that they stand below each other on a narrow screen."""
    if isinstance(record, HeatMap):
        return [record]
    return [record._replace(panels=(panel,)) for panel in record.panels]


# Sections


def _header(subject: Subject, ahead: Ahead) -> str:
    assert subject.campaign is not None
    status = subject.campaign.status()
    size = status.rows * status.cols
    facts = [
        ("matrix", f"{status.rows:,} x {status.cols:,}"),
        ("measured", f"{counted(status.told, 'entry', 'entries')} ({100 * status.told / size:.3g}%)"),
        ("pending", str(status.pending)),
        *(
            (name, str(count))
            for name, count in (("failed", status.failed), ("expired", status.expired))
            if count
        ),
        ("left to ask", f"{status.available:,}"),
        ("spent", f"{status.spent:g}" + ("" if status.budget is None else f" of {status.budget:g}")),
    ]
    if ahead.outlook is not None:
        in_units = f" {subject.unit}" if subject.unit else ""
        facts += [
            ("expected error now", f"{ahead.outlook.error_now:.3g}{in_units}"),
            (f"after {ahead.outlook.entries} more", f"{ahead.outlook.error_after:.3g}{in_units}"),
        ]
    when = f"{status.created_at:%Y-%m-%d %H:%M} to {status.changed_at:%Y-%m-%d %H:%M} UTC"
    lead = ahead.advice[:1].upper() + ahead.advice[1:]
    return (
        f'<header><h1>{escape(status.name)}</h1><p class="lead">{escape(lead)}</p>'
        f'<dl class="facts">{_facts(facts)}</dl><p class="note">{counted(status.events, "event")} from {when}; this'
        f" report: {subject.now:%Y-%m-%d %H:%M} UTC.</p></header>"
    )


def _known(subject: Subject, draw: Draw, fitted: bool) -> str:
    shown: list[tuple[HeatMap, str]] = [(maps.observed(subject), "")]
    if fitted:
        shown += [
            (maps.mean(subject), "the best guess of every entry"),
            (maps.sd(subject), "how far that guess may be off, as one standard deviation"),
            (maps.width(subject), "each entry lies within an interval of this width with probability 90%"),
        ]
    cards = "".join(_figure(record, draw, about) for record, about in shown)
    lead = "" if fitted else "<p>Nothing is told yet, so nothing is completed yet.</p>"
    return f'<section><h2>What is known</h2>{lead}<div class="maps">{cards}</div></section>'


def _next(subject: Subject, batch: BatchLike, draw: Draw) -> str:
    heading = "<section><h2>What to measure next</h2>"
    card = _figure(maps.next_batch(subject, len(batch.rows), batch=batch), draw, kind="whole")
    if not len(batch.rows):
        return f"{heading}<p>{escape(batch.why)}</p>{card}</section>"
    assert subject.state is not None
    costs = subject.state.costs.given
    found = reasons(subject, batch)
    with_model = any(np.isfinite(reason.sd) for reason in found)
    names = [
        "",
        "row",
        "column",
        *(("expected", "sd", "gain") if with_model else ()),
        *(("cost",) if costs else ()),
        "why",
    ]
    rows = [_reason(k, reason, with_model, costs) for k, reason in enumerate(found, start=1)]
    lead = (
        "<p>Nothing has been asked for by writing this report; <code>maxentry ask</code> hands these out.</p>"
    )
    return f"{heading}{lead}{card}{_table(names, rows, 'reasons')}</section>"


def _reason(k: int, reason: Reason, with_model: bool, costs: bool) -> list[str]:
    believed = (_number(reason.mean), _number(reason.sd), _number(reason.gain)) if with_model else ()
    price = (f"{reason.cost:g}",) if costs else ()
    return [str(k), reason.row, reason.col, *believed, *price, reason.why]


def _history(subject: Subject, points: int, draw: Draw) -> str:
    assert subject.campaign is not None
    told = subject.campaign.history(frame="columns")
    lines = list(zip(told["event"], told["at"], told["who"], told["kind"], told["what"], strict=True))
    last = [
        [str(e), f"{at:%Y-%m-%d %H:%M}", who or "", kind, what] for e, at, who, kind, what in lines[-EVENTS:]
    ]
    events = counted(len(lines), "event")
    some = (
        f"the last {EVENTS} of {events}"
        if len(lines) > EVENTS
        else f"all {events}"
        if len(lines) > 1
        else events
    )
    card = _figure(past.history(subject, points), draw)
    table = _table(["event", "at (UTC)", "who", "kind", "what"], last[::-1])
    return f"<section><h2>History</h2>{card}<details><summary>{some}</summary>{table}</details></section>"


def _trust(subject: Subject, draw: Draw) -> str:
    diagnostics = subject.posterior.diagnostics
    verdict = "The sampler has converged." if diagnostics.converged else "The sampler has not converged."
    records = [
        calibrated.calibration(subject), chains.rhat(subject), factors.singular_values(subject), chains.trace(subject),
        factors.coherence(subject),
    ]  # fmt: skip
    cards = "".join(_figure(record, draw, kind=_width(record)) for record in records)
    about = subject.posterior.__repr__().splitlines()[1:]
    lines = [(name, text) for name, _, text in (line.strip().partition(": ") for line in about)]
    facts = _facts(line for line in lines if line[0] not in ("note", "advice"))  # which are sentences
    note = unseen(subject.posterior)
    notes = f"<p>{escape(note)}</p>" if note else ""
    return (
        f"<section><h2>How far to trust it</h2><p>{verdict} {escape(advice(subject.posterior))}</p>{notes}"
        f'<div class="maps">{cards}</div><dl class="facts">{facts}</dl></section>'
    )


def _width(record: Chart) -> str:
    return "across" if len(record.panels) > 1 else ""


def _settings(subject: Subject) -> str:
    assert subject.state is not None
    settings = subject.state.settings
    shown: dict[str, Any] = {k: v for k, v in settings._all().items() if k not in NOT_SHOWN and v is not None}
    shown["acquisition"] = settings.acquisition.replace("_", " ")
    shown |= {"mask": "given"} if settings.mask is not None else {}
    shown |= {"costs": "given"} if settings.costs.given else {}
    versions = ", ".join([f"Python {platform.python_version()}", *_versions()])
    listed = _facts([(name, str(value)) for name, value in (*shown.items(), ("versions", versions))])
    return f'<section><h2>Settings and versions</h2><dl class="facts">{listed}</dl></section>'


def _facts(lines: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in lines)


def _versions() -> list[str]:
    found = []
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):  # a checkout that was not installed has none
            found.append(f"{name} {version(name)}")
    return found


def _table(names: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide {kind}" tabindex="0">{table}</div>'


def _number(x: float) -> str:
    return "" if not np.isfinite(x) else f"{x:.4g}"
