"""Asking about one row, from the panel of an entry of it, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.dashboard.browser import Watched
from tests.dashboard.lab import COLS, address, campaign, fact, fitted, shown

Reader = Callable[..., Watched]


def test_a_new_row_is_added_and_asked_about(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=20)
    page = reader(lab.url).tab(address(path))
    fitted(page)  # until then the page grows, and a press and its release may hit different things
    page.get_by_role("button", name="Add rows …").click()
    form = page.get_by_role("dialog")
    form.get_by_label("New rows").fill("newcomer")
    form.get_by_role("button", name="Add rows").click()
    shown(page, 4)
    page.get_by_label("row to go to").fill("newcomer")
    page.get_by_role("button", name="Go", exact=True).click()
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_role("heading", name="Row newcomer").wait_for()
    panel.get_by_label("Entries of this row").fill("3")
    panel.get_by_label("That tell most about").select_option("its average")
    panel.get_by_role("button", name="Ask about this row").click()
    page.locator("#batch form tr[data-id]").nth(2).wait_for()
    fact(page, "pending", "3")
    asked = lab.get(f"{path}/asked?status=pending").json()["items"]
    assert [line["row"] for line in asked] == ["newcomer"] * 3
    assert {line["col"] for line in asked} <= set(COLS)

    panel.get_by_label("Entries of this row").fill("9")
    panel.get_by_role("button", name="Ask about this row").click()
    page.locator("#batch form tr[data-id]").nth(4).wait_for()  # the rest of its five
    panel.get_by_role("button", name="Ask about this row").click()
    panel.get_by_role("alert").filter(has_text="no entry of row 'newcomer' is left to ask for").wait_for()
    assert lab.get(f"{path}/asked?status=pending").json()["total"] == 5
