"""Whatever users write is text; tokens stay in their tab; the policy of the page is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.browser import Watched
from tests.dashboard.lab import address, campaign, fitted, laboratory
from tests.server.live import READ, TOKENS, WRITE

import maxentry.server

Reader = Callable[..., Watched]
STATIC = Path(maxentry.server.__file__).parent / "static"
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "'\"><svg onload=alert(3)>",
    "javascript:alert(4)",
]
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc"
    r"|createContextualFragment"
)


def test_labels_names_and_reasons_are_text(lab: Any, reader: Reader) -> None:
    name = "<b onclick=alert(5)>bold</b><iframe src=//elsewhere>"
    path = campaign(lab, name, rows=[*HOSTILE, "a", "b"], cols=HOSTILE, told=0, pending=0)
    asked = lab.post(f"{path}/ask?wait=60", json={"n": 8, "who": HOSTILE[0]}).json()["entries"]
    lines = [{"id": e["id"], "value": k * 1.5} for k, e in enumerate(asked[:6])]
    lab.post(f"{path}/tell", json={"lines": lines, "who": HOSTILE[1]})
    lab.post(f"{path}/fail", json={"ids": [asked[6]["id"]], "reason": HOSTILE[2]})
    someone = reader(lab.url)
    page = someone.tab()
    page.get_by_role("link", name=name).click()
    fitted(page)
    page.get_by_role("heading", name=name, exact=True).wait_for()
    area = page.evaluate("document.querySelector('.map').area")
    for k in range(4):
        at = {"x": area["x"] + (k + 0.5) * area["width"] / 4, "y": area["y"] + (k + 0.5) * area["height"] / 6}
        page.locator(".stage").click(position=at)
        page.get_by_role("heading", name=f"{HOSTILE[k]} · {HOSTILE[k]}").wait_for()
        page.get_by_role("tooltip").filter(has_text=HOSTILE[k]).wait_for()
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("These are not asked for yet").wait_for()
    page.get_by_text(HOSTILE[2]).first.wait_for()  # the reason, in the history
    inside = "#main :is(img, script, iframe, b, svg:not(.main-svg, .main-svg *)), [onerror], [onload]"
    assert page.locator(inside).count() == 0
    # `reader` fails the test if anything was said, opened or fetched from elsewhere.


def test_nothing_of_ours_parses_html_or_code() -> None:
    files = sorted(STATIC.rglob("*.js")) + sorted(STATIC.rglob("*.html"))
    assert len(files) > 10
    found = {f.name: SINKS.findall(f.read_text(encoding="utf-8")) for f in files}
    assert {name: words for name, words in found.items() if words} == {}
    assert SINKS.search("element.innerHTML = label")  # the check can fail


def test_the_page_of_a_server_with_tokens(storage: str, reader: Reader) -> None:
    from playwright.sync_api import expect

    with laboratory(storage, token=WRITE, tokens=TOKENS) as lab:
        path = campaign(lab, told=4, pending=2)
        someone = reader(lab.url)
        page = someone.tab(address(path))
        box = page.get_by_role("dialog")
        box.get_by_label("Token").fill("wrong-" + "x" * 30)
        box.get_by_role("button", name="Continue").click()
        box.get_by_text("got another").wait_for()
        box.get_by_label("Token").fill(WRITE)
        box.get_by_role("button", name="Continue").click()
        fitted(page)
        expect(page.locator(".live")).to_have_text("live", timeout=60_000)  # the stream has the token too
        assert page.evaluate("Object.values(sessionStorage)") == [WRITE]
        assert WRITE not in page.evaluate(
            "JSON.stringify([{...localStorage}, document.cookie, location.href])"
        )
        page.locator("#batch tr[data-id='5'] input").fill("40")
        page.get_by_role("button", name="Save values").click()
        page.locator("#batch tr[data-id='5']").wait_for(state="detached")
        page.reload()  # within the tab it is kept
        fitted(page)
        other = someone.tab(address(path))  # another tab is asked itself
        other.get_by_role("dialog").get_by_label("Token").wait_for()


def test_who_may_only_look_is_offered_nothing_else(storage: str, reader: Reader) -> None:
    with laboratory(storage, token=WRITE, tokens=TOKENS) as lab:
        path = campaign(lab, told=4, pending=2)
        page = reader(lab.url).tab(address(path))
        page.get_by_role("dialog").get_by_label("Token").fill(READ)
        page.keyboard.press("Enter")
        fitted(page)
        page.get_by_text("read only").wait_for()
        for name in (
            "Save values",
            "Ask for entries",
            "Change …",
            "Settings",
            "Enter values",
            "Add rows …",
            "Withdraw …",
        ):
            assert page.get_by_role("button", name=name).count() == 0  # hidden ones have no role
        for name in ("Results as a file", "value of id 5"):
            assert page.get_by_label(name).is_hidden(), name
        lines = page.locator("#batch form tr[data-id]")
        assert [line.get_attribute("data-id") for line in lines.all()] == ["5", "6"]
        lines.locator(".more button").first.click()
        assert page.locator("#batch .why p").first.is_visible()  # the reason
        assert "±" in lines.first.inner_text()
        names = lines.get_by_role("button").all_inner_texts()  # to the map, and the reasons
        assert [name for name in names if name != "why?"] == lines.locator("th").all_inner_texts()
        page.keyboard.press("2")
        page.locator(".map[data-loaded^=sd]").wait_for()


@pytest.mark.parametrize("by", ["button", "Enter"])
def test_who_may_only_look_may_look_ahead(storage: str, reader: Reader, by: str) -> None:
    with laboratory(storage, token=WRITE, tokens=TOKENS) as lab:
        path = campaign(lab, pending=1)
        page = reader(lab.url).tab(address(path))
        page.get_by_role("dialog").get_by_label("Token").fill(READ)
        page.keyboard.press("Enter")
        page.locator("#batch tr[data-id='1']").wait_for()
        many = page.get_by_label("How many")
        many.fill("3")
        page.get_by_role("button", name="Preview").click() if by == "button" else many.press("Enter")
        page.get_by_text("These are not asked for yet").wait_for()
        assert page.locator(".next tbody tr:not(.why)").count() == 3
        assert lab.get(path).json()["pending"] == 1
