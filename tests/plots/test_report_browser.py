"""The page of a campaign in a browser without a network: it loads nothing, and is whole on phones, dark, on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.browser import NARROW, REQUIRED, WIDE, chromium, missing, required
from tests.plots.examples import asked

from maxentry.plots import report

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
SMALL_FIGURES = """[...document.querySelectorAll('figure svg[role=img], figure .js-plotly-plot')]
    .filter(x => x.getBoundingClientRect().width < 200 || x.getBoundingClientRect().height < 80).length"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if (why := missing()) is not None:
        if required():
            pytest.fail(f"{why}, and {REQUIRED} is set")
        pytest.skip(why)
    with chromium() as found:
        yield found


@pytest.fixture(scope="module", params=["static", "interactive"])
def page_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    text = report.render_report(asked(), points=0, interactive=request.param == "interactive", unit="% yield")
    file.write_text(text, encoding="utf-8")
    return file


class Seen:
    """A page in a context without a network, and all that it asked for or complained of."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": WIDE, "offline": True} | options)
        self.context.set_default_timeout(60_000)
        self.wrong: list[str] = []
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type == "error" else None)
        self.page.on("request", self._asked)
        self.page.goto(file.as_uri())

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.wrong.append(request.url)


@pytest.mark.parametrize(
    "options",
    [{}, {"viewport": NARROW}, {"color_scheme": "dark"}, {"viewport": NARROW, "color_scheme": "dark"}],
    ids=["wide", "phone", "dark", "dark phone"],
)
def test_the_page_is_whole_without_a_network(browser: Any, page_file: Path, options: dict[str, Any]) -> None:
    seen = Seen(browser, page_file, **options)
    seen.page.wait_for_function(
        f"() => {SMALL_FIGURES} === 0"
    )  # interactive ones may be drawn after the page came
    seen.page.wait_for_function(f"() => {TOO_WIDE} <= 0")
    assert seen.page.locator("figure").count() >= 8
    dark = options.get("color_scheme") == "dark"
    assert (seen.page.evaluate(PAPER) == "rgb(22, 22, 22)") is dark
    assert seen.wrong == []
    seen.context.close()


def test_paper_is_white_in_a_dark_room(browser: Any, page_file: Path) -> None:
    seen = Seen(browser, page_file, color_scheme="dark")
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate(PAPER) == "rgb(255, 255, 255)"
    assert len(seen.page.pdf()) > 10_000
    seen.context.close()


def test_a_page_that_loads_something_is_found_out(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<script src='https://example.org/x.js'></script><p style='width:3000px'>wide</p>")
    seen = Seen(browser, file)
    assert any("example.org" in said for said in seen.wrong)
    assert seen.page.evaluate(TOO_WIDE) > 0
    seen.context.close()
