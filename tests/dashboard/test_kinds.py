"""Yes and no, grades and limits on the page: words instead of codes, boxes that offer them, legends, forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.browser import Watched
from tests.dashboard.lab import COLS, ROWS, address, campaign, fact, fitted, shown

Reader = Callable[..., Watched]
KINDS = {
    "yes/no": ({"kind": "yes/no"}, ["yes", "no"]),
    "grades": ({"kind": "grades", "levels": ["poor", "fair", "good"]}, ["poor", "fair", "good"]),
}


def expect(found: Any) -> Any:
    """Playwright's assertions, which wait."""
    from playwright.sync_api import expect as assertions

    return assertions(found)


def begin(lab: Any, kind: str) -> str:
    """A campaign of this kind, each value the next word in turn; the path to it."""
    settings, words = KINDS[kind]
    path = campaign(lab, kind.replace("/", " or "), **settings)
    entries = [(row, col) for row in ROWS for col in COLS][::2]
    lines = [{"row": r, "col": c, "value": words[k % len(words)]} for k, (r, c) in enumerate(entries)]
    assert lab.post(f"{path}/tell", json={"lines": lines, "who": "ann"}).status_code == 200
    return path


def pick(page: Any, row: str, col: str) -> Any:
    """The panel of an entry."""
    page.get_by_label("row to go to").fill(row)
    page.get_by_label("column to go to").fill(col)
    page.get_by_role("button", name="Go", exact=True).click()
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_role("heading", name=f"{row} · {col}").wait_for()
    return panel


@pytest.mark.parametrize(
    ("kind", "first", "guess", "other"),
    [("yes/no", "yes", "probability of yes", "no"), ("grades", "poor", "expected grade", "good")],
)
def test_an_entry_is_shown_and_corrected_in_words(
    lab: Any, reader: Reader, kind: str, first: str, guess: str, other: str
) -> None:
    path = begin(lab, kind)
    page = reader(lab.url).tab(address(path))
    fitted(page, 2)
    panel = pick(page, "L1", "S1")
    panel.get_by_text(f"{first}, entered by ann").wait_for()
    expect(panel.locator("dt").first).to_have_text(guess)
    if kind == "grades":
        known = lab.get(f"{path}/entry?row=L1&col=S1").json()["believed"]
        likely, each = (
            panel.locator(f"dt:text-is('{name}') + dd") for name in ("most likely grade", "probabilities")
        )
        expect(likely).to_have_text(known["most_likely"])
        expect(each).to_have_text(re.compile(r"^poor [\d.]+%, fair [\d.]+%, good [\d.]+%$"))
    panel.get_by_role("button", name="correct …").click()
    box = page.get_by_role("dialog")
    value = box.get_by_label("The right value")
    assert value.input_value() == first  # not a code
    value.fill(other)
    box.get_by_role("button", name="Correct", exact=True).click()
    panel.get_by_text(f"{other} (was {first}), entered by ann").wait_for()
    page.locator(".events li", has_text=f"measurement 1 now {other}").wait_for()
    (line, *_) = lab.get(f"{path}/measurements").json()["items"]
    assert line["text"] == other


@pytest.mark.parametrize("kind", KINDS)
def test_the_map_has_a_legend_in_words(lab: Any, reader: Reader, kind: str) -> None:
    path = begin(lab, kind)
    page = reader(lab.url).tab(address(path))
    fitted(page, 2)
    words = KINDS[kind][1]
    ends = page.locator(".legend .scale span")
    mean = ["0%", "100%"] if kind == "yes/no" else [words[0], words[-1]]
    expect(ends).to_have_text(mean)
    said = {
        "yes/no": "probability of yes of every entry",
        "grades": "expected grade of every entry: poor, fair, good",
    }
    page.locator(".legend").get_by_text(said[kind]).wait_for()
    page.get_by_role("button", name="Measured", exact=True).click()
    expect(page.locator(".map")).to_have_attribute("data-loaded", re.compile("^value"))
    expect(ends).to_have_text(["no", "yes"] if kind == "yes/no" else mean)
    area = page.evaluate("document.querySelector('.map').area")
    at = {"x": area["x"] + 0.5 * area["width"] / 5, "y": area["y"] + 0.5 * area["height"] / 7}
    page.locator(".stage").hover(position=at)
    tip = page.get_by_role("tooltip")
    tip.get_by_text(re.compile(f"(Measured: {words[0]}$|^{words[0]}, ann)")).first.wait_for()


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_offer_the_words_and_take_them_by_keys(lab: Any, reader: Reader, kind: str) -> None:
    settings, words = KINDS[kind]
    path = campaign(lab, pending=2, **settings)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    value = page.locator("#batch tr[data-id='1'] input")
    offered = "input => [...input.list.options].map((option) => option.value)"
    assert value.evaluate(offered) == words
    value.focus()
    page.keyboard.type(words[1])
    save = page.get_by_role("button", name="Save values")
    save.press("Enter")
    page.locator("#batch tr[data-id='1']").wait_for(state="detached")
    (line,) = lab.get(f"{path}/measurements").json()["items"]
    assert (line["id"], line["text"]) == (1, words[1])
    page.locator("#batch tr[data-id='2'] input").fill("perhaps")
    save.press("Enter")
    said = {
        "yes/no": "Expected yes or no (or true/false, right/wrong, pass/fail, +/-, 1/0), got 'perhaps'.",
        "grades": "Expected one of poor, fair, good, got 'perhaps'.",
    }
    expect(page.locator("#batch td.value").get_by_role("alert")).to_have_text(said[kind])


def test_figures_of_kinds_and_limits(lab: Any, reader: Reader) -> None:
    path = begin(lab, "grades")
    page = reader(lab.url).tab(address(path))
    fitted(page, 2)
    fact(page, "values", "3 grades")
    page.get_by_text("of the expected grade", exact=True).wait_for()
    page.get_by_text("The expected grades are expected to be off by").wait_for()
    path = campaign(lab, "limits", limits=[0, None])
    lines = [{"row": "L1", "col": "S1", "value": 0}, {"row": "L2", "col": "S2", "below": 3}]
    lines += [{"row": row, "col": "S3", "value": 5} for row in ROWS]
    assert lab.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    page.goto(lab.url + address(path))
    fact(page, "at a limit", "2")
    page.get_by_role("button", name="Change …").click()
    box = page.get_by_role("dialog")
    assert box.get_by_label("Lower end of the scale").input_value() == "0"
    box.get_by_label("Lower end of the scale").fill("")
    box.get_by_label("Upper end of the scale").fill("5")
    box.get_by_role("button", name="Save settings").click()
    fact(page, "at a limit", "8")
    assert lab.get(path).json()["limits"] == [None, 5.0]


def test_a_campaign_of_grades_is_created(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("grades")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    expect(form.get_by_label("Grades in their order")).to_be_hidden()
    form.get_by_label("Values are").select_option("grades")
    form.get_by_label("Grades in their order").fill("poor, fair ,good")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="grades", level=1).wait_for()
    (made,) = lab.get("/campaigns").json()["items"]
    status = lab.get(f"/campaigns/{made['id']}").json()
    assert (status["kind"], status["levels"]) == ("grades", ["poor", "fair", "good"])


def test_a_campaign_with_limits_is_created(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("yields")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    form.get_by_text("More", exact=True).click()
    form.get_by_label("Lower end of the scale").fill("0")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="yields", level=1).wait_for()
    (made,) = lab.get("/campaigns").json()["items"]
    status = lab.get(f"/campaigns/{made['id']}").json()
    assert (status["kind"], status["limits"]) == ("numbers", [0.0, None])


@pytest.mark.parametrize("words", [("pass", "fail", "TRUE"), ("+", "-", "+")])
def test_a_file_of_words_is_taken_for_yes_and_no(
    lab: Any, reader: Reader, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "screen.csv"
    file.write_text("row,x,y\na,{},{}\nb,{},\n".format(*words))
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    expect(form.get_by_label("Values are")).to_have_value("yes/no")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="screen", level=1).wait_for()
    (made,) = lab.get("/campaigns").json()["items"]
    told = lab.get(f"/campaigns/{made['id']}/measurements").json()["items"]
    assert [m["text"] for m in told] == ["yes", "no", "yes"]


def test_a_file_of_letters_is_refused_with_the_control_that_takes_them(
    lab: Any, reader: Reader, tmp_path: Path
) -> None:
    file = tmp_path / "marks.csv"
    file.write_text("ligand,S1,S2\nL1,,B\nL2,C,A\n")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    expect(form.get_by_role("region", name="How the file was read")).to_contain_text("3 values")
    form.get_by_role("button", name="Begin", exact=True).click()
    refused = form.get_by_role("alert").filter(has_text="row 'L1', column 'S2': 'B' is not a number.")
    expect(refused).to_contain_text("If the values are grades, choose “Values are: grades in an order”")
    expect(refused).not_to_contain_text("--")
    form.get_by_label("Values are").select_option(label="grades in an order")
    form.get_by_label("Grades in their order").fill("A, B, C")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="marks", level=1).wait_for()


@pytest.mark.parametrize("kind", ["yes/no", "grades", "numbers"])
def test_numbers_that_may_be_answers_or_grades_are_pointed_to_them(
    lab: Any, reader: Reader, tmp_path: Path, kind: str
) -> None:
    values = {"yes/no": [0, 1, 1, 0], "grades": [1, 2, 3, 3], "numbers": [0.2, 1.3, 1, 0]}[kind]
    file = tmp_path / "stars.csv"
    lines = [f"u{i}," + ",".join(str(x) for x in [*values[i:], *values[:i]]) for i in range(4)]
    file.write_text("\n".join(["Answers of May", "user,a,b,c,d", *lines, ""]))
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    read = form.get_by_role("region", name="How the file was read")
    expect(read).to_contain_text("16 values")
    expect(read).to_contain_text("Left out as a title: Answers of May")
    said = {
        "yes/no": "All values are 0 or 1. If they mean no and yes",
        "grades": "All values are among 1, 2, 3.",
    }
    if kind == "numbers":
        expect(read).not_to_contain_text("All values are")
        return
    expect(read).to_contain_text(said[kind])
    form.get_by_label("Values are").select_option(kind)
    if kind == "grades":
        expect(form.get_by_label("Grades in their order")).to_have_value("1, 2, 3")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="stars", level=1).wait_for()
    (made,) = lab.get("/campaigns").json()["items"]
    status = lab.get(f"/campaigns/{made['id']}").json()
    assert (status["kind"], status["measurements"]) == (kind, 16)


def test_a_list_of_words_is_known_as_one(lab: Any, reader: Reader, tmp_path: Path) -> None:
    file = tmp_path / "runs.csv"
    file.write_text("model,task,solved\na,t1,True\na,t2,False\nb,t1,False\n")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    read = form.get_by_role("region", name="How the file was read")
    expect(read).to_contain_text("2 rows, 2 columns, 3 values")
    expect(form.get_by_label("Values are")).to_have_value("yes/no")


def test_standard_errors_of_a_list_are_taken_and_other_columns_named(
    lab: Any, reader: Reader, tmp_path: Path
) -> None:
    file = tmp_path / "list.csv"
    file.write_text("row,col,value,se,operator\na,x,1.5,0.25,ann\na,y,2,,bob\nb,x,,,bob\nb,y,3,0.5,ann\n")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    expect(form.get_by_role("region", name="How the file was read")).to_contain_text("Not used: operator.")
    expect(form.get_by_label("Values are")).to_have_value("numbers")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="list", level=1).wait_for()
    (made,) = lab.get("/campaigns").json()["items"]
    told = lab.get(f"/campaigns/{made['id']}/measurements").json()["items"]
    assert [(m["text"], m["se"]) for m in told] == [("1.5", 0.25), ("2", None), ("3", 0.5)]
