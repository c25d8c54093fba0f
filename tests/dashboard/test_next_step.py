"""The sentence at the top: what to do next, with one primary button; and what a save changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.dashboard.browser import Watched
from tests.dashboard.lab import COLS, ROWS, address, campaign, fitted, shown, value

Reader = Callable[..., Watched]


def expect(found: Any) -> Any:
    """Playwright's assertions, which wait."""
    from playwright.sync_api import expect as assertions

    return assertions(found)


def test_from_the_first_entries_to_what_they_changed(lab: Any, reader: Reader) -> None:
    path = campaign(lab, acquisition="predictive_variance")
    page = reader(lab.url).tab(address(path))
    shown(page, 1)
    step, do = page.locator("#step"), page.locator("#do")
    expect(step).to_have_text("Ask for the first entries. They are spread evenly over rows and columns.")
    expect(do).to_have_text("Ask for 7 entries")
    page.get_by_label("How many").fill("12")
    expect(do).to_have_text("Ask for 12 entries")
    do.click()
    expect(step).to_have_text("Measure the 12 pending entries, then enter the values.")
    do.click()
    boxes = page.locator("#batch td.value input")
    expect(boxes.first).to_be_focused()
    for k in range(12):
        boxes.nth(k).fill(str(40 + k))
    expect(step).to_have_text("12 values of 12 pending entries entered.")
    expect(page.locator("#main button.primary")).to_have_count(1)
    do.click()
    changed = page.locator(".changes")
    expect(changed).to_contain_text("What changed: 12 values saved.")
    fitted(page, 3)
    expect(changed).to_contain_text(re.compile(r"Expected error [\d.]+\."))
    expect(step).to_have_text(
        re.compile(
            r"Ask for the next 12 entries: should lower the expected error by [\d.]+%\.|You can stop here\.$"
        )
    )


def test_the_error_before_and_after_a_save(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=10, pending=2, goal="best per column")
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.locator("#batch td.value input").first.fill("400")
    page.locator("#do").click()
    fitted(page, lab.get(path).json()["events"])
    changed = page.locator(".changes")
    expect(changed).to_contain_text(re.compile(r"1 value saved\. Expected error [\d.]+ → [\d.]+"))
    expect(changed).to_contain_text(re.compile(r"Furthest from its estimate: L\d · S\d, measured 400"))
    expect(changed).to_contain_text("New answer: Best for S")


def test_a_new_answer_is_one_with_another_first_place(lab: Any, reader: Reader) -> None:
    path = campaign(lab, goal="rank rows", rank=0)
    cells = [(row, col) for row in ROWS for col in COLS[:3]]
    lines = [
        {"row": row, "col": col, "value": 10.0 * (row == ROWS[0]) + value(row, col) / 50}
        for row, col in cells
    ]
    assert lab.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    asked = lab.post(f"{path}/ask?wait=60", json={"n": 8}).json()["entries"]
    usual = next(e for e in asked if e["row"] != ROWS[0])
    page = reader(lab.url).tab(address(path))
    fitted(page)
    answer, changed = page.locator("section.answer"), page.locator(".changes")
    expect(answer).to_contain_text(f"by average: {ROWS[0]}")
    before = answer.inner_text()
    page.locator(f"#batch td.value input[data-id='{usual['id']}']").fill("2")
    page.locator("#do").click()
    expect(changed).to_contain_text("1 value saved. Expected error", timeout=120_000)
    assert answer.inner_text() != before  # its figures moved
    expect(changed).not_to_contain_text("New answer")
    others = [e["id"] for e in asked if e["row"] not in (ROWS[0], usual["row"])]
    for id in others:
        page.locator(f"#batch td.value input[data-id='{id}']").fill("500")
    page.locator("#do").click()
    expect(changed).to_contain_text(f"{len(others)} values saved. Expected error", timeout=120_000)
    expect(changed).to_contain_text("New answer: ")
    expect(answer).not_to_contain_text(f"by average: {ROWS[0]}")


def test_it_never_asks_for_more_entries_than_there_are(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=34)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    expect(page.get_by_label("How many")).to_have_value("8")
    expect(page.locator("#do")).to_have_text("Ask for 1 entry")
    expect(page.locator("#step")).to_have_text(
        re.compile(r"^Ask for the last entry[:.]|You can stop here\.$")
    )
    page.locator("#do").click()
    expect(page.locator("#step")).to_have_text("Measure the 1 pending entry, then enter the values.")


def test_where_the_budget_is_spent_the_button_rests_and_says_why(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=6, budget=6)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    expect(page.locator("#step")).to_have_text("Budget spent: 6 of 6. To go on, raise it in the settings.")
    expect(page.locator("#do")).to_be_disabled()
    assert page.locator("#do").get_attribute("aria-describedby") == "step"
    expect(page.locator("#ask")).to_be_disabled()
    page.get_by_role("button", name="Settings").click()
    box = page.get_by_role("dialog")
    box.get_by_label("Budget").fill("8")
    box.get_by_role("button", name="Save settings").click()
    expect(page.locator("#do")).to_be_enabled()
    assert lab.get(path).json()["budget"] == 8


def test_when_everything_is_measured_the_completed_table_is_offered(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=6, rows=3, cols=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    expect(page.locator("#step")).to_have_text("Every entry is measured. Download the completed table.")
    with page.expect_download() as coming:
        page.locator("#do").click()
    assert coming.value.suggested_filename == "yields-completed.csv"


def test_entries_that_promise_nothing_for_the_goal_are_counted(lab: Any, reader: Reader) -> None:
    """One row is far above all others and measured everywhere, so that no other entry can be the best."""
    path = campaign(lab, goal="best per column", rank=0, noise_sd=0.5, acquisition="predictive_variance")
    known = [(row, col) for row in ROWS for k, col in enumerate(COLS) if row == ROWS[0] or k < 2]
    lines = [
        {"row": row, "col": col, "value": 1000.0 * (row == ROWS[0]) + value(row, col) / 50}
        for row, col in known
    ]
    assert lab.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    page = reader(lab.url).tab(address(path))
    fitted(page)
    expect(page.locator("#step")).to_have_text(
        re.compile("should not change the answer. You can stop here.$")
    )
    page.locator("#do").click()
    expect(page.locator(".toast")).to_contain_text("They promise nothing more for the goal.")
