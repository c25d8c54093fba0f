"""Entering values: a table of boxes, one line an entry; who acts is asked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.dashboard.browser import NARROW, Watched
from tests.dashboard.lab import address, campaign, fitted, shown
from tests.dashboard.test_next_step import expect

Reader = Callable[..., Watched]
BOXES = "#batch td.value input"


def test_one_line_an_entry_and_reasons_on_demand(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=10, pending=3)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    lines = page.locator("#batch tr[data-id]")
    expect(lines).to_have_count(3)
    heights = lines.evaluate_all("found => found.map(line => line.getBoundingClientRect().height)")
    assert max(heights) < 50
    why = page.locator("#batch tr.why").first
    expect(why).to_be_hidden()
    page.get_by_role("button", name="Why id 11").click()
    expect(why.locator("p")).to_be_visible()
    assert why.locator("p").inner_text().endswith(".")
    assert why.locator(".chips").is_hidden()  # the figures, behind a toggle of their own
    why.get_by_text("Figures").click()
    expect(why.locator(".chips")).to_be_visible()


def test_a_comma_that_may_mean_thousands_is_refused_beside_its_box(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    boxes = page.locator(BOXES)
    for text, read in (
        ("1,234", ""),
        ("<12,345", ""),
        ("0,593", "read as 0.593"),
        ("1234,567", "read as 1234.567"),
    ):
        boxes.first.fill(text)
        expect(page.locator("#said-1")).to_have_text(read)
    boxes.first.fill("1,234")
    page.locator("#save").click()
    expect(page.locator("#said-1")).to_contain_text("may mean 1234 or 1.234. Use a decimal point.")
    expect(boxes.first).to_have_attribute("aria-invalid", "true")


def test_enter_goes_to_the_next_box_and_a_decimal_comma_is_understood(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    boxes = page.locator(BOXES)
    boxes.first.focus()
    page.keyboard.type("47,5")
    page.keyboard.press("Enter")
    expect(boxes.nth(1)).to_be_focused()
    page.keyboard.type("<0,5")
    expect(page.locator("#said-1")).to_have_text("read as 47.5")
    expect(page.locator("#said-2")).to_have_text("read as <0.5")
    page.keyboard.press("ArrowUp")
    expect(boxes.first).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Enter")
    expect(page.locator("#save")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#batch tr[data-id]")).to_have_count(1)
    told = lab.get(f"{path}/measurements").json()["items"]
    assert [m["text"] for m in told] == ["47.5", "<0.5"]


def test_what_is_typed_survives_a_reload_until_it_is_saved(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    page.locator(BOXES).nth(1).fill("12.5")
    page.reload()
    shown(page, 2)
    expect(page.locator(BOXES).nth(1)).to_have_value("12.5")
    page.locator("#do").click()
    expect(page.locator("#batch tr[data-id]")).to_have_count(2)
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('typed'))") == []


def test_what_is_typed_stays_when_its_entry_is_no_longer_pending(lab: Any, reader: Reader) -> None:
    """Its lease has ended, or as here somebody has withdrawn it: the value can still be saved."""
    path = campaign(lab, pending=2)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    page.locator("#batch tr[data-id='1'] input").fill("12,5")
    assert lab.post(f"{path}/withdraw", json={"ids": [1, 2]}).status_code == 200
    expect(page.locator("#said-1")).to_contain_text("No longer pending", timeout=60_000)
    expect(page.locator("#batch tr[data-id]")).to_have_count(1)
    page.locator("#save").click()
    expect(page.locator("#batch tr[data-id]")).to_have_count(0, timeout=60_000)
    assert [line["value"] for line in lab.get(f"{path}/measurements").json()["items"]] == [12.5]


def test_a_refused_value_is_marked_in_sight_and_says_why_beside_it(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=30, range=[0, 100])
    page = reader(lab.url, viewport=NARROW).tab(address(path))
    shown(page, 2)
    page.locator(BOXES).nth(2).fill("50")
    page.locator(BOXES).nth(24).fill("300")
    page.locator("#save").click()
    said = page.locator("#said-25")
    expect(said).to_contain_text("from 0 to 100, got 300")
    expect(said).to_be_in_viewport()
    expect(page.locator(BOXES).nth(24)).to_be_focused()
    assert page.locator(BOXES).nth(24).get_attribute("aria-invalid") == "true"
    assert lab.get(path).json()["told"] == 0
    page.locator(BOXES).nth(24).fill("30")
    expect(said).to_be_empty()
    assert page.locator(BOXES).nth(24).get_attribute("aria-invalid") is None


def test_who_acts_is_asked_once_and_remembered(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url, name=None).tab(address(path))
    shown(page, 2)
    page.locator(BOXES).first.fill("1.5")
    page.locator("#do").click()
    box = page.get_by_role("dialog", name="Who are you?")
    box.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled. Nothing was changed.").wait_for()
    assert lab.get(path).json()["told"] == 0
    page.locator("#do").click()
    box.get_by_label("Your name").fill("Bo")
    box.get_by_role("button", name="Continue").click()
    expect(page.locator("#batch tr[data-id]")).to_have_count(2)
    page.reload()
    shown(page, 3)
    page.locator(BOXES).first.fill("2.5")
    page.locator("#do").click()
    expect(page.locator("#batch tr[data-id]")).to_have_count(1)
    assert [m["who"] for m in lab.get(f"{path}/measurements").json()["items"]] == ["Bo", "Bo"]
    page.get_by_role("button", name="Your name: Bo").click()
    box.get_by_role("button", name="Without a name").click()
    page.get_by_role("button", name="Your name: none").wait_for()


def test_on_a_telephone_the_batch_comes_first(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=3, goal="best per row")
    page = reader(lab.url, viewport=NARROW, has_touch=True, is_mobile=True).tab(address(path))
    fitted(page)
    tops = [
        page.locator(place).bounding_box()["y"]
        for place in (".guide", "#batch", ".answer", ".matrix", ".numbers")
    ]
    assert tops == sorted(tops)
    expect(page.locator(BOXES).first).to_be_in_viewport()


def test_every_dialog_has_cancel(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=6, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.locator("#batch .more button").first.click()
    for opener in ("Mark as failed: id 7", "Withdraw: id 7", "Settings", "Add rows …", "Add columns …"):
        page.get_by_role("button", name=opener).first.click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert lab.get(path).json()["events"] == 3


def test_what_happened_is_said_in_plain_words(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=4, pending=1)
    lines = [{"row": "L7", "col": f"S{k}", "value": k, "id": None} for k in (1, 2)]
    free = [line for line in lines if lab.post(f"{path}/tell", json={"lines": [line]}).status_code == 200]
    assert free
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.locator(".events").get_by_text("imported 1 value").first.wait_for()
    page.locator(".events").get_by_text("saved ids 1 to 4").wait_for()
    assert "told" not in page.locator("#main").inner_text()
