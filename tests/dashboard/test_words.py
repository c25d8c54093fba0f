"""What the page says of a fit, of its figures and of itself; what lies on what."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.dashboard.browser import Watched
from tests.dashboard.lab import SHAPE, address, campaign, fitted

Reader = Callable[..., Watched]
BOX = "element => { const b = element.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; }"


def test_whether_the_fit_is_to_be_trusted(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=10)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    found = lab.get(f"{path}/posterior").json()
    badge = page.locator("#health summary")
    assert badge.inner_text().startswith("Fit: good" if found["converged"] else "Fit: uncertain")
    assert page.locator("#trust").is_hidden()
    badge.click()
    said = page.locator("#trust").inner_text()
    assert said.startswith("The fit has converged" if found["converged"] else "The fit has not converged")
    assert "Rank 1." in said


VERDICTS = [
    (
        {"converged": False, "remark": "The chains were still moving: anneal longer."},
        "The fit has not converged: The chains were still moving: anneal longer. Rank 1.",
    ),
    ({"converged": True, "remark": ""}, "The fit has converged. Rank 1."),
    ({"converged": True, "remark": "On 3 of 90 …"}, "The fit has converged. On 3 of 90 … Rank 1."),
    (
        {"rank": 0, "rank_weights": {"0": 1.0}},
        "It uses rank 0: so far the data show little beyond row and column",
    ),
    (
        {"rank": 0, "rank_weights": {"0": 0.8, "1": 0.2}},
        "80% of its chains have rank 0, row and column means",
    ),
]


@pytest.mark.parametrize(("answer", "said"), VERDICTS)
def test_verdicts_in_words(lab: Any, reader: Reader, answer: dict[str, Any], said: str) -> None:
    path = campaign(lab, told=10)
    page = reader(lab.url).tab()

    def other(route: Any) -> None:
        found = route.fetch()
        route.fulfill(response=found, json=found.json() | answer)

    page.route("**/posterior?wait=0&stale=true", other)
    page.goto(lab.url + address(path))
    fitted(page)
    page.locator("#health summary").click()
    page.locator("#trust").get_by_text(said).wait_for()


def test_the_error_of_all_and_the_sd_of_one_are_called_differently(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=10, pending=2)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.locator("#batch .more button").first.click()
    page.locator("#batch .why summary").first.click()
    page.locator("#batch .chips li", has_text="× the median sd").first.wait_for()
    page.get_by_text("against measurements", exact=True).wait_for()
    assert "typical" not in page.locator("#main").inner_text().lower()
    chip = page.locator("#batch .chips li", has_text="× the median sd").first
    assert "without the noise" in chip.get_attribute("title")


def test_a_search_that_failed_is_forgotten_by_the_next(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=4)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_label("row to go to").fill("nowhere")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_text("There is no row nowhere.").wait_for()
    page.get_by_label("row to go to").fill("L2")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_role("heading", name="L2 · S1").wait_for()
    assert page.get_by_text("There is no row nowhere.").count() == 0


def test_words_that_go_away_lie_on_no_field(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=24)
    page = reader(lab.url).tab(address(path))
    page.locator("#batch tr[data-id='24'] input").wait_for()
    page.get_by_label("row to go to").fill("nowhere " * 20)
    page.get_by_role("button", name="Go", exact=True).click()
    toast = page.locator(".toast")
    toast.wait_for()
    covered = page.evaluate(
        """() => [...document.querySelectorAll('#batch td.value input')].filter((field) => {
          const [a, b] = [field, document.querySelector('.toast')].map((e) => e.getBoundingClientRect());
          return a.left < b.right && a.right > b.left;  // the page scrolls: at some height they would meet
        }).length"""
    )
    assert covered == 0
    left, _, right, _ = toast.evaluate(BOX)
    assert right - left > 300  # long words too


def test_asking_and_previewing_stand_in_one_line(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=4)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    tops = page.get_by_role("button", name=re.compile("^(Ask for entries|Preview)$")).evaluate_all(
        f"found => found.map({BOX}).map(box => box[1])"  # at one moment: what comes meanwhile may move them
    )
    assert len(tops) == 2
    assert tops[0] == tops[1]


@pytest.mark.parametrize("key", ["1", "2"])
def test_what_was_measured_is_dotted(lab: Any, reader: Reader, key: str) -> None:
    path = campaign(lab, told=10)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.keyboard.press("3")
    page.locator(".map[data-loaded=value]").wait_for()
    assert not any(marks(page))
    assert page.get_by_text("dots: measured").is_hidden()
    page.keyboard.press(key)
    page.locator(f".map[data-loaded^={'mean' if key == '1' else 'sd'}]").wait_for()
    told = lab.get(f"{path}/map?what=observed").json()["values"]
    assert marks(page) == [n > 0 for line in told for n in line]
    page.get_by_text("dots: measured").wait_for()


def marks(page: Any) -> list[bool]:
    """Whether there is a mark in the middle of each entry."""
    page.get_by_role("heading", name="The matrix").hover()
    found: list[bool] = page.evaluate(
        """([m1, m2]) => {
          const canvas = document.querySelector('.stage .marks'), ratio = window.devicePixelRatio;
          const copy = document.createElement('canvas');
          [copy.width, copy.height] = [canvas.width, canvas.height];
          const seen = copy.getContext('2d', { willReadFrequently: true });
          seen.drawImage(canvas, 0, 0);
          const box = document.querySelector('.map').area;
          return Array.from({ length: m1 * m2 }, (_, k) => {
            const [i, j] = [Math.floor(k / m2), k % m2];
            const x = box.x + (j + 0.5) * box.width / m2, y = box.y + (i + 0.5) * box.height / m1;
            return seen.getImageData(x * ratio, y * ratio, 1, 1).data[3] > 0;
          });
        }""",
        list(SHAPE),
    )
    return found
