"""axe-core finds nothing serious on any page or dialog, light and dark.

`axe/axe.min.js` is axe-core 4.14.0 as published (MPL 2.0, `axe/LICENSE`); it is for these tests alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.browser import NARROW, WIDE, Watched
from tests.dashboard.lab import address, campaign, fitted

Reader = Callable[..., Watched]
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")


def findings(page: Any) -> list[str]:
    """What axe-core calls serious or critical on the page as it is, and where."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE)
    page.evaluate("Promise.allSettled(document.getAnimations().map((one) => one.finished))")
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [
        f"{rule['id']}: {rule['help']}: {node['target']} {node['html'][:120]}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def test_the_measure_can_fail(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_text("No campaigns yet.").wait_for()
    page.evaluate("document.querySelector('#main').append(document.createElement('input'))")
    assert [line for line in findings(page) if line.startswith("label: ")]


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page(lab: Any, reader: Reader, tmp_path: Path, scheme: str, size: dict[str, int]) -> None:
    page = reader(lab.url, color_scheme=scheme, viewport=size).tab()
    page.get_by_text("No campaigns yet.").wait_for()
    found = {"empty list": findings(page)}
    page.get_by_role("button", name="New campaign").click()
    file = tmp_path / "yields.csv"
    file.write_text("ligand,substrate,yield\na,x,1\na,y,2\nb,x,3\nMean,x,2\nl1,x,3\nL1,x,3\n")
    page.get_by_label("Begin with a file").set_input_files(file)
    page.get_by_role("region", name="How the file was read").wait_for()
    page.get_by_text("is named like a sum,").wait_for()
    page.get_by_text("are named nearly alike").wait_for()
    page.get_by_text("More", exact=True).click()
    found["new campaign"] = findings(page)
    page.keyboard.press("Escape")
    page.locator("#help").click()
    found["help"] = findings(page)
    page.keyboard.press("Escape")
    path = campaign(lab, told=14, pending=3, goal="rank rows", budget=30)
    slip = campaign(lab, "slip", told=24)
    entry = lab.post(f"{slip}/ask?wait=60", json={"n": 1}).json()["entries"][0]
    lab.post(f"{slip}/tell", json={"lines": [{"id": entry["id"], "value": 512}]})
    page.goto(lab.url + address(slip))
    page.get_by_role("list", name="Values to look at").get_by_text("512, but all other values").wait_for()
    found["slip"] = findings(page)
    page.goto(lab.url + address(path))
    fitted(page)
    page.locator(".answer").get_by_text("Table", exact=True).click()
    page.locator("#health summary").click()
    page.locator("#batch .more button").first.click()
    page.locator("#batch .why summary").first.click()
    page.locator("#batch td.value input").first.fill("1,5")
    page.locator("#batch td.value input").nth(1).fill("about 3")
    page.locator("#do").click()
    page.locator("#batch .said.wrong").wait_for()
    found["campaign"] = findings(page)
    page.locator("#health summary").click()
    page.locator("#downloads summary").click()
    found["downloads"] = findings(page)
    page.locator("#downloads summary").click()
    page.get_by_label("row to go to").fill("L1")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_role("region", name="Selected entry").get_by_text("mean ± sd").wait_for()
    found["entry"] = findings(page)
    for opener in ("Settings", "Mark as failed: id 15", "Add rows …", "Remove …", "Your name: ann"):
        page.get_by_role("button", name=opener).first.click()
        page.get_by_role("dialog").wait_for()
        found[opener] = findings(page)
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("renamed")
    found["rename"] = findings(page)
    page.get_by_role("button", name="Delete campaign …").click()
    page.get_by_role("dialog", name="Delete yields").wait_for()
    found["delete"] = findings(page)
    page.keyboard.press("Escape")
    page.goto(lab.url + "/")
    page.get_by_role("link", name="yields").wait_for()
    found["list"] = findings(page)
    lab.patch(f"{path}/settings", json={"goal": "best per column", "budget": 14})
    page.goto(lab.url + address(path))
    fitted(page)
    found["best"] = findings(page)
    assert {where: lines for where, lines in found.items() if lines} == {}
