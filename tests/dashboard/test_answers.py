"""The answer is the first panel: sentences, a caterpillar of a ranking; files to take away; three maps."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import answer
from tests.contracts.test_same_numbers import facts_in
from tests.dashboard.browser import Watched
from tests.dashboard.lab import ROWS, address, campaign, colours_of_map, fitted, laboratory
from tests.dashboard.test_looks import contrast_of
from tests.dashboard.test_next_step import expect

Reader = Callable[..., Watched]


def test_the_first_panel_is_the_answer(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=14, goal="best per column")
    page = reader(lab.url).tab(address(path))
    fitted(page)
    found = lab.get(f"{path}/answer?wait=60").json()
    panel = page.locator(".answer")
    assert panel.locator("li").all_inner_texts() == found["summary"][:-1][:6]
    panel.get_by_text("Table", exact=True).click()
    expect(panel.locator("tbody tr")).to_have_count(len(found["lines"]))
    assert found["summary"][0].startswith("Best for S1: ")
    expect(panel).to_contain_text(found["summary"][-1])
    sections = page.locator(".layout > section, .layout .card:visible").evaluate_all(
        "found => found.map(one => [one.getBoundingClientRect().top, one.className])"
    )
    assert "answer" in min(sections)[1]


def test_a_ranking_is_a_caterpillar_with_ties(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=14, goal="rank rows")
    page = reader(lab.url).tab(address(path))
    fitted(page)
    lines = lab.get(f"{path}/answer?wait=60").json()["lines"]
    panel = page.locator(".answer")
    expect(panel.locator(".caterpillar .interval")).to_have_count(len(ROWS))
    assert panel.locator(".ranks li").all_inner_texts() == [line["row"] for line in lines]
    doubtful = [line["row"] for line in lines[:-1] if line["tied"]]
    assert panel.locator(".ranks li.tied").all_inner_texts() == doubtful
    panel.get_by_text("Table", exact=True).click()
    expect(panel.locator("tbody tr")).to_have_count(len(ROWS))


def test_the_next_step_says_what_it_should_change_for_the_goal(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=14, goal="best per column", acquisition="predictive_variance")
    page = reader(lab.url).tab(address(path))
    fitted(page)
    expect(page.locator("#step")).to_have_text(
        re.compile(
            r"should lower the expected regret by (less than )?[\d.]+% and change [\d.e-]+ of 5 choices\.$"
        )
    )


def test_the_page_advises_to_stop_where_the_server_says_so(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab("/")
    said = page.evaluate("""async () => {
      const { nextStep } = await import('/static/js/guide.js');
      const status = { pending: 0, available: 40, measurements: 20, budget: null, spent: 20 };
      const text = (goal, stop, now, after, changes) => nextStep({ status, n: 8, filled: 0, goal, suggested: {
        entries: [{}], total: 8, stop, outlook: { error_with_pending: now, error_after: after },
        at_stake: goal === 'fill' ? null : { now, after, changes, choices: 6 } } }).text;
      return [text('best per row', false, 3.2, 1.6, 1.4), text('best per row', true, 3.2, 3.2, 0.01),
        text('best per row', false, 0.15, 0.15, 0.01), text('rank rows', false, 0.15, 0.149999, 0.2),
        text('threshold 1', true, 0, 0, 0), text('fill', false, 1, 0.999, 0), text('fill', true, 1, 0.9, 0)];
    }""")
    stop = "8 more measurements should not change the answer. You can stop here."
    ask = "Ask for the next 8 entries: should lower "
    assert said == [
        f"{ask}the expected regret by 50% and change 1.4 of 6 choices.",
        stop,
        f"{ask}the expected regret by 0% and change 0.01 of 6 choices.",
        f"{ask}the pairs in the wrong order by less than 0.01% and change 0.2 of 6 pairs.",
        stop,
        f"{ask}the expected error by 0.1%.",
        "8 more measurements would lower the expected error by 10%. You can stop here.",
    ]


def test_a_table_that_is_to_be_filled_has_no_answer(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    assert page.locator(".answer").is_hidden()


def test_the_page_the_report_and_the_command_line_say_the_same(reader: Reader, tmp_path: Path) -> None:
    """The figures that people read; tests/contracts/test_same_numbers.py compares the others, without a browser."""
    file = tmp_path / "lab.db"
    with laboratory(str(file)) as lab:
        path = campaign(lab, told=14, pending=3, goal="best per column", budget=40)
        page = reader(lab.url).tab(address(path))
        fitted(page)
        report = lab.get(f"{path}/report?wait=60").text
        sentences = page.locator(".answer li").all_inner_texts()
        shown_facts = {
            box.locator("dt").inner_text(): box.locator("dd").first.inner_text()
            for box in page.locator(".facts div").all()
        }
    status = answer("status", "-s", file)
    reported, error = facts_in(report), status["outlook"]["error_now"]
    assert reported["expected error now against measurements"] == f"{error:.3g}"
    assert float(shown_facts["expected error"]) == pytest.approx(error, rel=5e-3)
    assert int(shown_facts["measured"]) == status["told"] == 14
    assert reported["measured"].startswith("14 entries ")
    assert int(shown_facts["pending"]) == status["pending"] == int(reported["pending"]) == 3
    assert int(shown_facts["left to ask"]) == status["available"] == int(reported["left to ask for"])
    assert float(shown_facts["budget left"]) == 40 - status["spent"]
    assert reported["spent"] == f"{status['spent']:g} of 40"
    said = answer("answer", "-s", file)["summary"]
    assert sentences == said[:-1][:6]
    assert all(f"<li>{line}</li>" in html.unescape(report) for line in said[:-1])


FILES = [
    ("Completed table (CSV)", "-completed.csv", lambda text: text.startswith("row,S1,S2,S3,S4,S5\nL1,")),
    (
        "Completed table (CSV, decimal comma)",
        "-completed.csv",
        lambda text: text.startswith("\ufeffrow;S1;"),
    ),
    ("Measurements (CSV)", "-measurements.csv", lambda text: text.startswith("number,id,row,col,value")),
    ("Plate as CSV", "-plate.csv", lambda text: text.startswith("id,row,col,mean,sd,value\n11,")),
    (
        "Plate (CSV, decimal comma)",
        "-plate.csv",
        lambda text: text.startswith("\ufeffid;row;col;mean;sd;value"),
    ),
    ("Report (HTML)", "-report.html", lambda text: "<html" in text and "yields" in text),
]


@pytest.mark.parametrize(("name", "ending", "good"), FILES, ids=[name for name, *_ in FILES])
def test_files_to_take_away(
    lab: Any, reader: Reader, name: str, ending: str, good: Callable[[str], bool]
) -> None:
    path = campaign(lab, told=10, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.locator("#downloads summary").click()
    with page.expect_download(timeout=120_000) as coming:
        page.get_by_role("button", name=name).click()
    assert coming.value.suggested_filename == f"yields{ending}"
    assert good(Path(coming.value.path()).read_text(encoding="utf-8"))


def test_three_maps_and_no_picture_twice(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=14, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    tabs = page.get_by_role("group", name="What the map shows").get_by_role("button")
    assert tabs.all_inner_texts() == ["Estimate", "Uncertainty", "Measured"]
    pictures = []
    for k, what in enumerate(("mean", "sd", "value")):
        tabs.nth(k).click()
        page.locator(f".map[data-loaded^={what}]").wait_for()
        pictures.append(str(colours_of_map(page)))
    assert len(set(pictures)) == 3
    page.locator(".legend").get_by_text("rings: pending").wait_for()  # the next batch, on what was measured


def test_marks_stand_out_on_both_ends_of_every_scale(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("heading", name="Campaigns").wait_for()
    ends = page.evaluate(
        """async () => {
          const { colour } = await import('/static/js/scale.js');
          return ['value', 'uncertainty', 'share'].flatMap((name) => [0, 0.5, 1].map((x) => colour(name, x, 0, 1)));
        }"""
    )
    inks = ("rgb(255,255,255)", "rgb(16,16,16)")  # each mark has both
    assert len(ends) == 9
    assert min(max(contrast_of(ink, ground) for ink in inks) for ground in ends) >= 3
