"""Several at once: tabs follow each other, and looking holds up nobody."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.dashboard.browser import Watched
from tests.dashboard.lab import address, campaign, fact, fitted, shown

from maxentry.server.routes import posterior
from maxentry.server.service import CampaignFits

Reader = Callable[..., Watched]


def test_a_second_tab_sees_the_first_ones_values_without_reloading(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=3)
    someone = reader(lab.url)
    first, second = someone.tab(address(path)), someone.tab(address(path))
    fitted(first)
    fitted(second)
    kept = second.locator("#batch tr[data-id='10'] input")
    kept.fill("0.75")  # half done when the other one saves
    second.evaluate("window.sameAsEver = true")
    first.locator("#batch tr[data-id='9'] input").fill("44")
    first.get_by_role("button", name="Save values").click()
    second.locator("#batch tr[data-id='9']").wait_for(state="detached")
    shown(second, 4)
    fact(second, "measured", "9")
    assert kept.input_value() == "0.75"
    fitted(second, 4)
    assert second.evaluate("window.sameAsEver") is True


def test_the_list_follows_too(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_text("No campaigns yet").wait_for()
    campaign(lab, "yields")
    page.get_by_role("link", name="yields").wait_for()


def test_another_process_tells_while_the_page_is_open(lab: Any, storage: str, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url).tab(address(path))
    page.locator("#batch tr[data-id='3']").wait_for()
    told = "id,value\n1,41\n2,52\n"
    environment = os.environ | {"MAXENTRY_STORAGE": storage}
    command = [sys.executable, "-m", "maxentry", "tell", "-"]
    done = subprocess.run(command, input=told, env=environment, text=True, capture_output=True, timeout=250)
    assert done.returncode == 0, done.stderr
    page.locator("#batch tr[data-id='2']").wait_for(state="detached")
    fact(page, "measured", "2")


def test_an_open_page_holds_no_lock_and_writes_nothing(lab: Any, storage: str, reader: Reader) -> None:
    from playwright.sync_api import expect

    path = campaign(lab, told=6, pending=2)
    events = lab.get(path).json()["events"]
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("These are not asked for yet").wait_for()
    assert lab.get(path).json()["events"] == events
    # Nobody else writes while one has this: it is to be had at once.
    with sqlite3.connect(storage, timeout=30, isolation_level=None) as alone:
        alone.execute("BEGIN IMMEDIATE")
        expect(page.locator(".live")).to_have_text("live", timeout=60_000)
        page.get_by_role("button", name="Uncertainty").click()  # and the page looks on meanwhile
        page.locator(".map[data-loaded^=sd]").wait_for()
        alone.execute("ROLLBACK")
    alone.close()


def test_what_runs_is_seen_while_it_runs(lab: Any, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    from playwright.sync_api import expect

    make, go_on = CampaignFits.fit, threading.Event()

    def held(self: CampaignFits, state: Any, watch: Any) -> Any:
        watch(10, "sampling").advance(3)
        assert go_on.wait(120)
        return make(self, state, watch)

    monkeypatch.setattr(CampaignFits, "fit", held)
    path = campaign(lab, told=10)
    page = reader(lab.url).tab(address(path))
    try:
        running = page.locator(".work .job", has_text="Fitting: sampling")
        running.wait_for()
        bar = running.locator("progress")
        expect(bar).to_have_js_property("value", 3, timeout=60_000)
        expect(bar).to_have_js_property("max", 10, timeout=60_000)
        page.get_by_text("The first fit is running").wait_for()
    finally:
        go_on.set()
    fitted(page)
    running.wait_for(state="detached")


def test_a_preview_that_takes_long_is_made_once(
    lab: Any, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import expect

    upcoming = posterior._preview

    def slow(*given: Any) -> Any:
        time.sleep(4)  # longer than the page waits for an answer
        return upcoming(*given)

    path = campaign(lab, told=8)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_text("These are not asked for yet").wait_for()  # the one that comes by itself
    monkeypatch.setattr(posterior, "_preview", slow)
    before = len(_jobs(lab, "next"))
    page.get_by_label("How many").fill("3")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#batch tbody tr:not(.why)")).to_have_count(3, timeout=60_000)
    page.wait_for_timeout(3000)
    assert [job["status"] for job in _jobs(lab, "next")[: -before or None]] == ["done"]


def test_news_that_come_late_take_no_preview_away(lab: Any, reader: Reader) -> None:
    """Only those of a later state than the preview's do."""
    path = campaign(lab, pending=2)
    someone = reader(lab.url)
    held: list[Any] = []
    someone.context.route(f"**{path}/changes**", lambda route: held.append(route))
    page = someone.tab(address(path))
    page.get_by_label("How many").fill("3")
    page.get_by_role("button", name="Preview").click()
    listed = page.locator(".next tbody tr:not(.why)")
    listed.nth(2).wait_for()
    while not held:
        page.wait_for_timeout(50)
    for route in held:
        route.continue_()
    shown(page, lab.get(path).json()["events"])
    assert listed.count() == 3
    lab.post(f"{path}/tell", json={"lines": [{"id": 1, "value": 1.5}]})
    listed.first.wait_for(state="detached")


def _jobs(lab: Any, kind: str) -> list[Any]:
    return [job for job in lab.get("/jobs").json()["items"] if job["kind"] == kind]


def test_no_look_ends_after_a_later_one(lab: Any, reader: Reader) -> None:
    """What it saw is over: it would take lines away into which somebody may be typing."""
    path = campaign(lab, pending=1)
    someone = reader(lab.url)
    page = someone.tab(address(path))
    shown(page, 2)
    held: list[tuple[Any, Any]] = []

    def late(route: Any) -> None:
        held.append((route, route.fetch())) if not held else route.continue_()

    someone.context.route(f"**{path}/reasons", late)
    page.evaluate(
        """() => {
          window.gone = [];
          const lines = (changes) => changes.flatMap((one) => [...one.removedNodes]);
          const note = (changes) => window.gone.push(...lines(changes).map((line) => line.dataset.id));
          new MutationObserver(note).observe(document.querySelector('#batch form .batch'), { childList: true });
        }"""
    )
    lab.patch(f"{path}/settings", json={"budget": 30})
    while not held:
        page.wait_for_timeout(50)
    page.get_by_label("How many").fill("2")
    page.get_by_role("button", name="Ask for entries").click()
    page.get_by_text("2 entries to measure.").wait_for()
    page.wait_for_timeout(1000)  # for a look beside the one that is held, if there is any
    route, found = held[0]
    route.fulfill(response=found)
    page.locator("#batch tr[data-id='3']").wait_for()
    shown(page, lab.get(path).json()["events"])
    assert page.evaluate("window.gone") == []


def test_of_many_campaigns_the_last_are_listed(lab: Any, reader: Reader) -> None:
    for k in range(103):
        campaign(lab, f"campaign {k}")
    page = reader(lab.url).tab()
    page.get_by_text("The last 100 of 103.").wait_for()
    page.get_by_role("link", name="campaign 102").wait_for()


def test_a_look_that_fails_is_taken_again(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=1)
    someone = reader(lab.url)
    page = someone.tab(address(path))
    fitted(page)
    fails = [503, None]

    def once(route: Any) -> None:
        status = fails.pop(0) if fails else None
        route.continue_() if status is None else route.fulfill(status=status, body="{}")

    someone.context.route(f"**{path}/reasons", once)
    lab.post(f"{path}/tell", json={"lines": [{"id": 9, "value": 1.5}]})
    fitted(page, lab.get(path).json()["events"])
    assert len(fails) == 0


def test_a_look_that_is_taken_again_is_at_the_latest_news(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=2)
    someone = reader(lab.url)
    someone.context.add_init_script(
        """const begin = window.setTimeout;
        window.later = [];  // what the page would do in five seconds
        window.setTimeout = (act, ms, ...rest) => (ms === 5000 ? window.later.push(act) : begin(act, ms, ...rest));"""
    )
    page = someone.tab(address(path))
    fitted(page)
    fails = [503]

    def once(route: Any) -> None:
        route.fulfill(status=fails.pop(), body="{}") if fails else route.continue_()

    someone.context.route(f"**{path}/reasons", once)
    lab.post(f"{path}/tell", json={"lines": [{"id": 9, "value": 1.5}]})
    page.locator(".toast.bad").wait_for()
    lab.post(f"{path}/tell", json={"lines": [{"id": 10, "value": 2.5}]})
    events = lab.get(path).json()["events"]
    fitted(page, events)
    page.evaluate("window.later.forEach((act) => act())")
    page.wait_for_timeout(1000)  # for a look at the earlier news, if there is any
    assert page.locator("#main").get_attribute("data-version") == f"{events} {events}"
