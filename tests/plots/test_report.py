"""The page of a campaign needs nothing else, asks for nothing, and keeps labels from becoming code."""

import re
import sys

import numpy as np
import pytest
from tests.campaign.examples import begun, truth
from tests.campaign.stand_ins import Clock
from tests.pages import Reader
from tests.plots.examples import asked

from maxentry import plots
from maxentry.campaign.campaign import Campaign
from maxentry.errors import MissingDependencyError
from maxentry.plots import report
from maxentry.plots.plot import Subject

pytestmark = pytest.mark.usefixtures("short_fits")
EVIL = "<script>alert('x')</script> & \"$x_1$\""
SECTIONS = [
    "The answer: the completed table", "How sure", "What to measure next", "What was measured", "The sampler",
    "Settings and versions",
]  # fmt: skip
# The table, the next batch and what was measured; panels of history, calibration, R-hat, spectrum, traces, coherence
FIGURES = 3 + 2 + 2 + 1 + 1 + 3 + 2


def headings(text: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", text)


def check_self_contained(text: str) -> Reader:
    page = Reader(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    outside = [ref for ref in page.references if not ref.startswith(("#", "data:", "'#", '"#'))]
    assert outside == []
    local = {ref.strip("'\"").removeprefix("#") for ref in page.references if "#" in ref[:2]}
    assert local <= set(page.ids)
    assert not {"link", "iframe", "object", "base"} & page.tags
    assert "@import" not in text
    return page


def drawings(text: str) -> list[str]:
    """The figures of a page without names and labels of their own, so that the same picture is the same text."""
    found = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    return [re.sub(r'(id|aria-label)="[^"]*"|#[\w-]+', "", figure) for figure in found]


def evil() -> Campaign:
    campaign = Campaign.create(
        "sqlite://", EVIL, [EVIL, *(f"r{i}" for i in range(6))], [*(f"c{j}" for j in range(4)), EVIL],
        seed=1, rank=1, transform="log", budget=150, costs={"row": np.arange(1.0, 8.0)},
    )  # fmt: skip
    X = np.exp(truth((7, 5), 1))
    for _ in range(2):
        batch = campaign.ask(6, frame="columns", progress=False)
        rows, cols = campaign.state.row_labels, campaign.state.col_labels
        values = [X[rows.index(r), cols.index(c)] for r, c in zip(batch["row"], batch["col"], strict=True)]
        campaign.tell(batch["id"], values, who=EVIL)
    first = campaign.ask(1, frame="columns", progress=False)["id"]
    campaign.fail(first, reason=EVIL)
    return campaign


def test_the_page_has_everything_and_needs_nothing() -> None:
    campaign = asked()
    version = campaign.state.version
    text = report.render_report(campaign, n=3, points=2, unit="% yield")
    assert campaign.state.version == version
    page = check_self_contained(text)
    assert headings(text) == SECTIONS
    assert "script" not in page.tags
    assert "40 entries (37%)" in page.text
    assert "posterior mean (% yield)" in page.text
    assert "times the typical entry" in page.text
    assert page.text.count("chosen by predictive variance") == 1
    assert text.count("<svg") == FIGURES
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'name="viewport"' in text
    assert len(text) < 2_000_000


def test_labels_names_and_reasons_are_text() -> None:
    campaign = evil()
    text = report.render_report(campaign, n=2, points=1)
    page = check_self_contained(text)
    assert "<script>alert" not in text
    assert EVIL in page.text
    assert "cost" in page.text
    assert "on the log scale" in page.text

    interactive = report.render_report(campaign, n=2, points=1, interactive=True)
    assert "<script>alert" not in interactive
    assert not re.search(r"<script[^>]+src=|<link", interactive)
    assert interactive.count('class="plotly-graph-div"') == FIGURES
    assert interactive.count("plotly.js v") == 1
    assert headings(interactive) == SECTIONS


def test_a_campaign_without_values_has_a_page_too() -> None:
    text = report.render_report(begun(), n=4)
    check_self_contained(text)
    assert headings(text) == ["What to measure next", "What was measured", "Settings and versions"]
    assert "No values yet" in text
    assert "No entries asked for or measured yet." in text
    assert "initial design" in text


def test_a_campaign_that_is_over_says_why() -> None:
    campaign, X = begun(acquisition="balanced", budget=20), truth()
    batch = campaign.ask(20, frame="columns", progress=False)
    campaign.tell(batch["id"], X[batch["row"], batch["col"]])
    subject = Subject.check(campaign)
    section = report.next_section(subject, 8, lambda _: "")
    assert "budget is spent: 20 of 20" in section["why_none"]
    assert section["batch"].rows == []


def test_the_same_campaign_at_the_same_time_gives_the_same_page() -> None:
    campaign = begun(clock=Clock())
    assert report.render_report(campaign) == report.render_report(campaign)


@pytest.mark.parametrize("module", ["matplotlib.figure", "jinja2"])
def test_without_a_library_the_extra_is_named(
    module: str, undrawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[plots\]"):
        report.render_report(asked(), points=0)


@pytest.mark.parametrize(
    ("module", "interactive"), [("matplotlib", False), ("plotly", True), ("jinja2", False)]
)
def test_a_library_that_is_not_installed_is_named_before_any_fit(
    module: str, interactive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(Campaign, "posterior", lambda *_, **__: pytest.fail("a fit was begun"))
    with pytest.raises(MissingDependencyError, match=f"expected {module} for reports.*maxentry.plots"):
        report.render_report(asked(), points=0, interactive=interactive)


def test_the_same_figure_twice_would_be_found() -> None:
    campaign = asked()
    one, other, another = (
        report._draw_static(plot.record, name)
        for plot, name in (
            (plots.mean(campaign), "f1"),
            (plots.mean(campaign), "f2"),
            (plots.sd(campaign), "f3"),
        )
    )
    assert one != other
    assert len(drawings(one + other + another)) == 3
    assert len(set(drawings(one + other + another))) == 2


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("fill", "The answer: the completed table"),
        ("best per row", "Best for 0: "),
        ("rank columns", "Best column by average"),
        ("threshold 0.5", "probably above"),
    ],
)
def test_the_answer_comes_first(goal: str, said: str) -> None:
    campaign = begun(storage="sqlite://")
    campaign.set(goal=goal)
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((12, 9)) < 0.5)
    rows, cols = campaign.state.row_labels, campaign.state.col_labels
    campaign.tell(row=[rows[k] for k in i], col=[cols[k] for k in j], value=truth()[i, j].tolist())
    page = report.render_report(campaign, n=2, points=0)
    check_self_contained(page)
    named = "the completed table" if goal == "fill" else goal
    assert headings(page)[:3] == [f"The answer: {named}", "How sure", "What to measure next"]
    assert said in page
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert len(captions) == len(set(captions))
    shown = drawings(page)
    assert len(shown) == len(set(shown)) > len(captions)
    assert captions[-4:] == ["R-hat", "Singular values", "Traces", "Coherence"]
