"""A study as one HTML page that needs nothing else: figures, tables, settings, and where choosing does not help."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

from maxentry.plots.style import inline_svg, style_sheet
from maxentry.studies import drawing, figures, metrics, tables, verdict
from maxentry.studies.metrics import DEFAULT, Study
from maxentry.studies.plural import counted
from maxentry.studies.record import Run
from maxentry.studies.tables import Field, Table
from maxentry.studies.whole import whole
from maxentry.studies.wording import spelled, title

SIGNS = {"good": "✓ ", "bad": "✗ ", "even": "", "": ""}
LIBRARIES = ("maxentry", "numpy", "scipy", "numba")


def write(text: str, path: Path) -> Path:
    """A page, in place of one that was there."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")
    return path


def html(
    runs: Sequence[Run],
    *,
    heading: str = "Which entries to measure: a study",
    lead: str = "",
    raw: str | None = None,
    strategy: str = DEFAULT,
    claims: bool = False,
    caveat: str = "",
) -> str:
    """The page of these runs.

    lead: a sentence to begin with. raw: the name of the file beside the page with the raw results. strategy: the one
    whose failures are named first. claims: judge the paper's claims (the runs are of its figures). caveat: why this is
    not the whole study, if it is not.
    """
    study = metrics.gather(runs)
    judged = [as_html(tables.claims_table(runs))] if claims else []
    sections = [
        f"<header><h1>{escape(heading)}</h1>{_paragraph(lead)}{_caveat(caveat)}{_made_of(runs, study)}</header>",
        no_gain(study, strategy),
        *judged,
        curves(metrics.by_entries(study), "error", "Error by entries measured"),
        curves(metrics.by_cost(study), "error", "Error by the share of the money spent", "money"),
        *(as_html(table) for table in tables.all_tables(study)),
        curves(study, "coverage", "Coverage of 90% intervals along the way"),
        settings(runs, raw),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(heading)}</title>\n<style>{style_sheet()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


def _paragraph(text: str) -> str:
    return f'<p class="lead">{escape(text)}</p>' if text else ""


def _caveat(text: str) -> str:
    return f'<p class="not"><b>{escape(text)}</b></p>' if text else ""


def _made_of(runs: Sequence[Run], study: Study) -> str:
    matrices = counted(len(study), "matrix", "matrices")
    strategies = counted(len(metrics.strategies_of(study)), "strategy", "strategies")
    return (
        f"<p>{counted(len(runs), 'run')}: {matrices}, {strategies}. Every run is a campaign as a user has"
        " it; uniform sampling measures as many entries at random, and is completed by the same model.</p>"
    )


def no_gain(study: Study, strategy: str) -> str:
    """Where active sampling does not help: the chosen strategy in a list, the others counted."""
    compared = sum(strategy in by and metrics.baseline(by, strategy) is not None for by in study.values())
    parts = [f'<section class="not"><h2>Where {escape(verdict.helper(strategy))} does not help</h2>']
    if compared:
        parts.append(_listed(verdict.without_gain(study, strategy), title(strategy), compared))
    others = [name for name in verdict.active(study) if name != strategy]
    lines = []
    for name in others:
        found = verdict.without_gain(study, name)
        if found:
            cases = ", ".join(f"{escape(f.case)} {escape(spelled(f.ratio))}" for f in found)
            lines.append(f"<li><b>{escape(title(name))}</b>: {cases}</li>")
    if lines:
        parts.append(f"<details><summary>The other strategies</summary><ul>{''.join(lines)}</ul></details>")
    if not compared and not lines:
        return ""
    return "".join([*parts, "</section>"])


def _listed(found: Sequence[verdict.NoGain], name: str, compared: int) -> str:
    every = "the one case" if compared == 1 else f"each of the {compared} cases"
    if not found:
        return (
            f"<p>Nowhere here: on {every} the error of {escape(name)} at the end is below uniform's, and so is its"
            " whole 90% interval.</p>"
        )
    meaning = {
        "harms": "worse than uniform",
        "no difference shown": "no difference shown",
        "unknown": "one replicate cannot tell",
    }
    items = "".join(
        f"<li><b>{escape(f.case)}</b>: ratio {escape(spelled(f.ratio))}, {meaning[f.effect]}</li>"
        for f in found
    )
    of = f"{len(found)} of {counted(compared, 'case', 'cases')}"
    return (
        f"<p>On {of}, {escape(name)} is not shown to have a smaller error at the end than uniform sampling: the 90%"
        f" interval of the ratio contains 1 or is above it.</p><ul>{items}</ul>"
    )


def curves(study: Study, measure: figures.Shown, heading: str, prefix: str = "") -> str:
    """A card for each matrix, one legend for all; prefix: of the names in figures, where a measure is shown twice."""
    panels = [figures.panel(case, by, measure) for case, by in figures.foremost_of_each(study).items()]
    panels = [p for p in panels if p.lines]
    if not panels:
        return ""
    names = drawing.drawn(panels)
    cards = []
    for k, p in enumerate(panels):
        drawn = drawing.single(p, names)
        what = f"{p.y_label} of {len(p.lines)} strategies on {p.title}"
        image = inline_svg(drawn, f"{prefix}{measure}{k}", what)
        cards.append(f"<figure><figcaption>{escape(p.title)}</figcaption>{image}</figure>")
    note = "Mean over replicates; shaded: 25% to 75% quantiles." if measure != "coverage" else "Dotted: 90%."
    if set(names) < set(metrics.strategies_of(study)):
        note += " Strategies that are not shown are in the tables."
    legend = _legend(names, prefix + measure)
    return (
        f"<section><h2>{escape(heading)}</h2><p>{note}</p>{legend}"
        f'<div class="cards">{"".join(cards)}</div></section>'
    )


def _legend(names: Sequence[str], prefix: str) -> str:
    items = [
        f"<li>{inline_svg(drawing.swatch(name, names), f'{prefix}-key{k}', '')}{escape(title(name))}</li>"
        for k, name in enumerate(names)
    ]
    return f'<ul class="key">{"".join(items)}</ul>'


def as_html(table: Table) -> str:
    """One table under its heading; it scrolls by itself on narrow screens."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = []
    for name, group in groupby(table.rows, key=lambda row: row[0].text):
        alike = list(group)
        over = f' rowspan="{len(alike)}"' if len(alike) > 1 else ""
        first = f'<th scope="row"{over}>{escape(name)}</th>'
        for row in alike:
            rows.append(f"<tr>{first}{''.join(map(_field, row[1:]))}</tr>")
            first = ""
    return (
        f"<section><h2>{escape(table.heading)}</h2><p>{escape(table.note)}</p>"
        f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _field(field: Field) -> str:
    """What is in brackets after a figure goes below it."""
    figure, _, rest = field.text.partition(" (")
    text = escape(field.text)
    if rest.endswith(")") and " " not in figure:
        text = f"{escape(figure)} <small>({escape(rest)}</small>"
    return f"<td{_class(field.mark)}>{SIGNS[field.mark]}{text}</td>"


def _class(mark: str) -> str:
    return f' class="{mark}"' if mark else ""


def settings(runs: Sequence[Run], raw: str | None) -> str:
    """What was run, with which code; nothing of the machine."""
    codes = Counter(run.code for run in runs)
    cases = {run.case: run.identity for run in runs}
    rows = [
        (
            "versions at the time of this report",
            ", ".join([f"Python {platform.python_version()}", *_versions()]),
        ),
        (
            "fingerprints of the code of the runs",
            ", ".join(f"{code} ({n} runs)" for code, n in codes.items()),
        ),
        ("processor time of all runs", f"{sum(run.cpu_s for run in runs) / 3600:.2f} hours"),
    ]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    details = "".join(
        f"<details><summary>{escape(case)}</summary><pre>{escape(json.dumps(dict(identity), indent=1))}</pre></details>"
        for case, identity in cases.items()
    )
    link = (
        f'<p>Raw results, a row for each look: <a href="{escape(raw)}">{escape(raw)}</a>.</p>' if raw else ""
    )
    return f"<section><h2>Settings and versions</h2>{link}<dl>{listed}</dl>{details}</section>"


def _versions() -> list[str]:
    found = []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout that was not installed
            continue
    return found
