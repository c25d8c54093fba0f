"""Debian's Chromium, driven by Playwright; and what every page is held to, whatever a test is about."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

REQUIRED = "MAXENTRY_TEST_BROWSER_REQUIRED"  # set in CI, where nothing may be skipped
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 375, "height": 740}


def missing() -> str | None:
    """Why there is no browser to test with."""
    if find_spec("playwright") is None:
        return "no Playwright to be had"
    return None if shutil.which("chromium") else "no Chromium to be had"


def required() -> bool:
    """Whether a browser must be there."""
    return bool(os.environ.get(REQUIRED))


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, with an empty profile of its own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)  # as long as whatever else waits, however busy the machine is
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """Tabs of one reader, who keeps what a browser keeps; everything that goes wrong in them is noted."""

    def __init__(self, browser: Any, url: str, *, name: str | None = "ann", **options: Any) -> None:
        """`name`: under which the browser knows the reader, who is asked for it once; None: not asked yet."""
        self.url, self.wrong = url, list[str]()
        self.context = browser.new_context(**{"viewport": WIDE} | options)
        self.context.set_default_timeout(60_000)
        if name is not None:
            self.context.add_init_script(f"localStorage['maxentry-name'] ??= {json.dumps(name)}")

    def tab(self, where: str = "/") -> Any:
        """A new tab at this address of the server."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error} {getattr(error, 'stack', '')}"))
        page.on("dialog", lambda shown: (self.wrong.append(f"dialog: {shown.message}"), shown.dismiss()))
        page.on("console", self._said)
        page.on("request", self._asked)
        page.goto(self.url + where)
        return page

    def _said(self, message: Any) -> None:
        # Answers of 4xx are said by the browser too; what the page makes of them is for the tests.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.wrong.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        there = urlsplit(request.url)
        if there.scheme not in ("data", "blob") and there.netloc != urlsplit(self.url).netloc:
            self.wrong.append(f"from elsewhere: {request.url}")

    def close(self) -> None:
        """Close the tabs; fails where anything went wrong in them."""
        self.context.close()
        assert not self.wrong, self.wrong
