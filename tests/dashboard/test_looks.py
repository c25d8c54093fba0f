"""Light and dark, wide and narrow, with keys alone, and large."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.dashboard.browser import NARROW, Watched
from tests.dashboard.lab import address, campaign, fitted, shown

Reader = Callable[..., Watched]


def colours(page: Any, selector: str) -> tuple[float, float]:
    """Relative luminance (WCAG) of the text of an element and of what it stands on."""
    ink, ground = page.evaluate(
        """(selector) => {
          const element = document.querySelector(selector);
          const ink = getComputedStyle(element).color;
          let behind = element, ground = 'rgba(0, 0, 0, 0)';
          while (behind && (ground === 'rgba(0, 0, 0, 0)' || ground === 'transparent')) {
            ground = getComputedStyle(behind).backgroundColor;
            behind = behind.parentElement;
          }
          return [ink, ground];
        }""",
        selector,
    )
    return luminance(ink), luminance(ground)


def luminance(colour: str) -> float:
    parts = np.array([float(x) for x in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(page: Any, selector: str) -> float:
    one, other = sorted(colours(page, selector))
    return (other + 0.05) / (one + 0.05)


SEEN = (
    "h1",
    ".note",
    "button.primary",
    ".facts dt",
    ".step",
    ".badge summary",
    ".expected",
    "button.quiet",
    ".pill.live",
    ".segments button",
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_system_says_light_or_dark(lab: Any, reader: Reader, scheme: str) -> None:
    path = campaign(lab, told=6, pending=2)
    page = reader(lab.url, color_scheme=scheme).tab(address(path))
    fitted(page)
    ground = colours(page, "body")[1]
    assert (ground < 0.05) == (scheme == "dark")
    assert {selector: contrast(page, selector) for selector in SEEN if contrast(page, selector) < 4.5} == {}
    assert contrast_of("rgb(120,120,120)", "rgb(140,140,140)") < 4.5  # the measure can fail


def contrast_of(ink: str, ground: str) -> float:
    one, other = sorted((luminance(ink), luminance(ground)))
    return (other + 0.05) / (one + 0.05)


def test_the_reader_says_dark_and_it_stays(lab: Any, reader: Reader) -> None:
    page = reader(lab.url, color_scheme="light").tab()
    page.get_by_role("heading", name="Campaigns").wait_for()
    assert colours(page, "body")[1] > 0.9
    page.get_by_role("button", name="Theme: system").click()
    assert colours(page, "body")[1] < 0.05
    page.reload()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert colours(page, "body")[1] < 0.05
    page.keyboard.press("d")
    page.get_by_role("button", name="Theme: light").wait_for()
    assert colours(page, "body")[1] > 0.9


def test_a_narrow_screen_scrolls_one_way_only(lab: Any, reader: Reader) -> None:
    path = campaign(lab, "a name that is rather longer than a telephone is wide", told=8, pending=3)
    someone = reader(lab.url, viewport=NARROW, has_touch=True, is_mobile=True)
    page = someone.tab(address(path))
    fitted(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    boxes = page.get_by_role("button").evaluate_all(  # all at one moment: work in the background has some too
        "found => found.map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
    )
    assert len(boxes) > 10
    assert [
        box for box in boxes if box[1] - box[0] > 1 and not 0 <= box[0] <= box[1] <= NARROW["width"] + 1
    ] == []
    page.locator(".stage").scroll_into_view_if_needed()
    box = page.locator(".stage").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.3)
    page.get_by_role("region", name="Selected entry").get_by_text("mean ± sd").wait_for()
    page.goto(someone.url + "/")
    page.get_by_role("button", name="New campaign").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.get_by_role("dialog").bounding_box()["width"] <= NARROW["width"]


def test_pointing_at_an_entry_tells_its_story(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    (first, *_) = lab.get(f"{path}/measurements").json()["items"]
    page = reader(lab.url).tab(address(path))
    fitted(page)
    i, j = int(first["row"][1:]) - 1, int(first["col"][1:]) - 1
    area = page.evaluate("document.querySelector('.map').area")
    at = {"x": area["x"] + (j + 0.5) * area["width"] / 5, "y": area["y"] + (i + 0.5) * area["height"] / 7}
    page.locator(".stage").hover(position=at)
    tip = page.get_by_role("tooltip")
    tip.get_by_text("mean ± sd").wait_for()
    said = tip.inner_text()
    assert f"{first['row']} · {first['col']}" in said
    assert "ann" in said  # who told it
    assert f"{first['value']:.4g}" in said.replace(",", "")


def test_whoever_is_quicker_than_the_page_does_no_harm(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    someone = reader(lab.url)
    held: list[Any] = []
    news = f"**{path}/changes**"  # with the first of them comes the map
    someone.context.route(news, lambda route: held.append(route))
    page = someone.tab(address(path))
    page.get_by_role("button", name="Measured", exact=True).click()
    for name in ("Zoom in (+)", "Show all (0)"):
        page.get_by_role("button", name=name).click()
    page.locator(".stage").press("ArrowDown")
    page.locator(".stage").press("PageDown")
    assert page.locator(".map[data-loaded]").count() == 0
    while not held:
        page.wait_for_timeout(50)
    for route in held:
        route.continue_()
    page.locator(".map[data-loaded=value]").wait_for()


def test_everything_with_keys_alone(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.keyboard.press("2")
    page.locator(".map[data-loaded^=sd]").wait_for()
    page.keyboard.press("m")
    stage = page.locator(".stage")
    assert stage.evaluate("element => element === document.activeElement")
    width = stage.evaluate("element => getComputedStyle(element).outlineWidth")
    assert float(width.removesuffix("px")) >= 2  # the focus is seen
    page.keyboard.press("ArrowRight")  # where the cursor begins
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    said = page.locator(".map [aria-live]")
    assert re.fullmatch(r"row L5, column S4: Uncertainty [\d.]+", said.inner_text())
    page.keyboard.press("Enter")
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_role("heading", name="L5 · S4").wait_for()
    page.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    page.keyboard.press("+")
    page.get_by_text(re.compile(r"rows \d+–\d+ of 7")).wait_for()
    page.keyboard.press("0")
    page.get_by_text("all 7 rows").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("arrow keys").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("v")  # to the first value
    page.keyboard.type("47.5")
    page.keyboard.press("Enter")  # to the next box
    page.keyboard.press("Enter")  # to the button
    assert page.evaluate("document.activeElement.id") == "save"
    page.keyboard.press("Enter")
    page.locator("#batch tr[data-id='9']").wait_for(state="detached")
    assert lab.get(path).json()["told"] == 9
    page.keyboard.press("g")
    page.get_by_role("heading", name="Campaigns").wait_for()


def test_controls_have_names(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=6, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea, a, meter, progress')]
          .filter(e => !(e.ariaLabel || e.labels?.length || e.textContent.trim() || e.title)).map(e => e.outerHTML)"""
    )
    assert nameless == []
    assert page.locator("h1").count() == 1


def test_a_thousand_by_a_thousand(lab: Any, reader: Reader) -> None:
    path = campaign(lab, "large", rows=1000, cols=1000)
    rng = np.random.default_rng(1)
    at = rng.choice(1000 * 1000, 3000, replace=False)
    lines = [{"row": int(k // 1000), "col": int(k % 1000), "value": float(k % 7)} for k in at]
    assert lab.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    page.keyboard.press("3")
    page.locator(".map[data-loaded=value]").wait_for()
    page.get_by_text(
        "all 1,000 rows, all 1,000 columns; each cell is the mean of those measured among several entries"
    ).wait_for()
    page.get_by_label("row to go to").fill("777")
    page.get_by_label("column to go to").fill("123")
    page.get_by_role("button", name="Go", exact=True).click()
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_role("heading", name="777 · 123").wait_for()
    page.get_by_text(re.compile(r"rows 7\d\d–8\d\d of 1,000, columns \d+–1\d\d of 1,000$")).wait_for()
    page.keyboard.press("0")
    page.get_by_text("all 1,000 rows").wait_for()
