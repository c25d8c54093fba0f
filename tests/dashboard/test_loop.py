"""A campaign from its beginning to its values, by hand and by file, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.dashboard.browser import Watched
from tests.dashboard.lab import ROWS, address, campaign, colours_of_map, fact, fitted, shown, value

Reader = Callable[..., Watched]


def fill_in(page: Any, n: int) -> None:
    """Values into the first n lines of the batch."""
    for k in range(n):
        line = page.locator("#batch form tr[data-id]").nth(k)
        row, col = line.locator("th").inner_text(), line.locator("td.col").inner_text()
        line.locator("input").fill(str(value(row, col)))


def test_create_ask_tell_watch_reload(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("yields")
    form.get_by_label("Rows").fill("\n".join(ROWS))
    form.get_by_label("Columns").fill("5")
    form.get_by_text("More", exact=True).click()
    form.get_by_label("Rank").fill("1")
    form.get_by_label("Seed").fill("1")
    form.get_by_label("Budget").fill("30")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="yields", level=1).wait_for()
    shown(page, 1)
    (made,) = lab.get("/campaigns").json()["items"]
    assert (made["name"], made["rows"], made["cols"]) == ("yields", 7, 5)
    path = f"/campaigns/{made['id']}"
    assert lab.get(f"{path}/settings").json()["rank"] == 1
    assert lab.get(f"{path}/labels").json() == {"rows": ROWS, "cols": ["c1", "c2", "c3", "c4", "c5"]}

    page.get_by_label("How many").fill("12")
    page.get_by_role("button", name="Ask for entries").click()
    page.locator("#batch form tr[data-id]").nth(11).wait_for()
    fact(page, "pending", "12")
    fact(page, "budget left", "18")
    assert page.locator(".empty").inner_text() != ""  # nothing to believe yet

    fill_in(page, 10)
    page.get_by_role("button", name="Save values").click()
    page.locator("#batch form tr[data-id]").nth(2).wait_for(state="detached")
    assert page.locator("#batch form tr[data-id]").count() == 2
    fitted(page, 3)
    fact(page, "measured", "10")
    assert page.locator(".empty").is_hidden()
    told = lab.get(f"{path}/measurements").json()["items"]
    assert [m["value"] for m in told] == [value(m["row"], m["col"]) for m in told]

    before = colours_of_map(page)
    assert len({tuple(p) for p in before}) > 5  # a map, not one colour
    fill_in(page, 2)
    page.get_by_role("button", name="Save values").click()
    fitted(page, 4)
    after = colours_of_map(page)
    assert after != before
    assert page.locator(".chart").get_attribute("data-points") not in (None, "0")

    page.reload()
    fitted(page, 4)
    fact(page, "measured", "12")
    assert colours_of_map(page) == after


def test_what_the_browser_must_refuse_to_begin(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("yields")
    form.get_by_label("Rows").fill("a\na")
    form.get_by_label("Columns").fill("5")
    form.get_by_role("button", name="Begin", exact=True).click()
    form.get_by_role("alert").filter(has_text="expected").wait_for()
    assert lab.get("/campaigns").json()["total"] == 0
    assert form.get_by_label("Rows").input_value() == "a\na"  # nothing typed is lost


def test_failed_and_withdrawn(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=4)
    page = reader(lab.url).tab(address(path))
    page.get_by_role("button", name="Mark as failed: id 2,").click()
    box = page.get_by_role("dialog")
    box.get_by_label("Reason").fill("no colour")
    box.get_by_role("button", name="Mark as failed").click()
    page.locator("#batch tr[data-id='2']").wait_for(state="detached")
    page.get_by_role("button", name="Why id 3,").click()
    page.get_by_role("button", name="Withdraw: id 3,").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    page.locator("#batch tr[data-id='3']").wait_for(state="detached")
    fact(page, "failed or withdrawn", "2")
    asked = {a["id"]: a for a in lab.get(f"{path}/asked").json()["items"]}
    assert [asked[k]["status"] for k in (1, 2, 3, 4)] == ["pending", "failed", "withdrawn", "pending"]
    assert asked[2]["reason"] == "no colour"
    page.locator("#batch tr[data-id='4'] input").fill("failed")  # the word serves too
    page.get_by_role("button", name="Save values").click()
    page.locator("#batch tr[data-id='4']").wait_for(state="detached")
    assert lab.get(f"{path}/asked?status=failed").json()["total"] == 2
    crossed = lab.get(f"{path}/map?what=failed").json()["values"]
    assert sum(map(sum, crossed)) == 2


def test_a_value_that_is_none_is_refused_where_it_stands(lab: Any, reader: Reader) -> None:
    path = campaign(lab, pending=3)
    page = reader(lab.url).tab(address(path))
    page.locator("#batch tr[data-id='1'] input").fill("0.5")
    page.locator("#batch tr[data-id='2'] input").fill("about 3")
    page.get_by_role("button", name="Save values").click()
    beside = page.locator("#batch tr[data-id='2'] td.value").get_by_role("alert")
    beside.filter(has_text="'about 3' is not a number").wait_for()
    assert page.locator("#batch tr[data-id='2'] input").get_attribute("aria-invalid") == "true"
    assert page.locator("#batch tr[data-id='1'] input").input_value() == "0.5"  # still there to be sent
    assert lab.get(path).json()["told"] == 0


def test_a_bad_file_names_its_line_and_changes_nothing(lab: Any, reader: Reader, tmp_path: Path) -> None:
    path = campaign(lab, pending=4)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    plate = tmp_path / "plate.csv"
    plate.write_text("id,value\n1,0.5\n2,oops\n3,0.7\n")
    page.get_by_label("Results as a file").set_input_files(plate)
    said = page.locator("#batch > .problem")
    said.filter(has_text=re.compile(r"plate\.csv: .*line 3.*'oops'.*Nothing was changed")).wait_for()
    assert lab.get(path).json()["events"] == 2
    fact(page, "measured", "0")
    plate.write_text("id,value\n1,0.5\n2,0.6\n3,failed\n4,\n")
    page.get_by_label("Results as a file").set_input_files(plate)  # the same file, mended
    page.locator(".toast", has_text="2 values saved, 1 failed, 1 still awaited").wait_for()
    assert said.is_hidden()
    states = [a["status"] for a in lab.get(f"{path}/asked").json()["items"]]
    assert states == ["told", "told", "failed", "pending"]


def test_how_a_list_was_read_is_said(lab: Any, reader: Reader, tmp_path: Path) -> None:
    path = campaign(lab, pending=1)
    page = reader(lab.url).tab(address(path))
    shown(page, 2)
    known = lab.get(f"{path}/labels").json()
    file = tmp_path / "list.csv"
    file.write_text(f"ligand,substrate,yield\n{known['rows'][0]},{known['cols'][1]},0.5\n")
    page.get_by_label("Results as a file").set_input_files(file)
    said = "1 value saved. The table: read as a list: row = 'ligand', column = 'substrate', value = 'yield'."
    page.locator(".toast", has_text=said).wait_for()


def test_a_plate_goes_out_and_comes_back(lab: Any, reader: Reader, tmp_path: Path) -> None:
    path = campaign(lab, pending=3, rows=['a,"b"', "c\nd", "=1+1"], cols=["x", "y"])
    page = reader(lab.url).tab(address(path))
    page.locator("#batch form tr[data-id]").nth(2).wait_for()
    page.locator("#downloads summary").click()
    with page.expect_download() as coming:
        page.get_by_role("button", name="Plate as CSV").click()
    text = Path(coming.value.path()).read_text()
    filled = tmp_path / "plate.csv"
    filled.write_text(re.sub(r",$", ",0.25", text, flags=re.MULTILINE))
    page.get_by_label("Results as a file").set_input_files(filled)
    page.get_by_text("3 values saved").first.wait_for()
    assert lab.get(path).json()["told"] == 3


def test_an_entry_is_picked_corrected_and_told(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    (first, *_) = lab.get(f"{path}/measurements").json()["items"]
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_label("row to go to").fill(first["row"])
    page.get_by_label("column to go to").fill(first["col"])
    page.get_by_role("button", name="Go", exact=True).click()
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_text("entered by ann").wait_for()
    assert "±" in panel.inner_text()
    panel.get_by_role("button", name="correct …").click()
    box = page.get_by_role("dialog")
    box.get_by_label("The right value").fill("33.5")
    box.get_by_role("button", name="Correct", exact=True).click()
    panel.get_by_text("33.5 (was").wait_for()
    assert lab.get(f"{path}/measurements").json()["items"][0]["value"] == 33.5
    fitted(page, lab.get(path).json()["events"])  # the panel is drawn anew with the fit: not below a click
    panel.get_by_label("Measured again").fill("34.5")
    panel.get_by_role("button", name="Save value").click()
    panel.get_by_text("34.5, entered by").wait_for()
    assert lab.get(path).json()["measurements"] == 9


def test_a_limit_is_told_in_the_box_and_shown(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    (first, *_) = lab.get(f"{path}/measurements").json()["items"]
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_label("row to go to").fill(first["row"])
    page.get_by_label("column to go to").fill(first["col"])
    page.get_by_role("button", name="Go", exact=True).click()
    panel = page.get_by_role("region", name="Selected entry")
    panel.get_by_label("Measured again").fill("<0.5")
    panel.get_by_role("button", name="Save value").click()
    panel.get_by_text("<0.5, entered by").wait_for()
    assert lab.get(f"{path}/measurements").json()["items"][-1]["limits"] == [None, 0.5]


def test_what_is_typed_outlives_a_fit(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8, pending=1)
    (first, *_) = lab.get(f"{path}/measurements").json()["items"]
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_label("row to go to").fill(first["row"])
    page.get_by_label("column to go to").fill(first["col"])
    page.get_by_role("button", name="Go", exact=True).click()
    typed = page.get_by_role("region", name="Selected entry").get_by_label("Measured again")
    typed.fill("34.5")
    lab.post(f"{path}/tell", json={"lines": [{"id": 9, "value": 40.0}]})
    fitted(page, lab.get(path).json()["events"])
    assert typed.input_value() == "34.5"
    assert typed.evaluate("element => element === document.activeElement")


def test_what_would_be_next_is_what_would_be_asked_for(lab: Any, reader: Reader) -> None:
    path = campaign(lab, rows=30, cols=20, pending=1)
    page = reader(lab.url).tab(address(path))
    page.locator("#batch tr[data-id='1']").wait_for()
    page.get_by_label("How many").fill("2")
    page.get_by_label("As", exact=True).select_option("rows")
    page.get_by_role("button", name="Preview").click()
    page.locator(".next tbody tr:not(.why)").nth(1).wait_for()
    names = page.locator(".next tbody th").all_inner_texts()
    page.get_by_role("button", name="Ask for entries").click()
    page.locator("#batch form tr[data-id]").nth(1).wait_for()
    handed = [e for e in lab.get(f"{path}/asked").json()["items"] if e["id"] > 1]
    assert len(names) == len(handed) == 40
    assert set(names) == {str(e["row"]) for e in handed}
    assert len(set(names)) == 2
    page.get_by_label("As", exact=True).select_option("")
    page.get_by_label("How many").fill("300")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("and 100 entries more, on the map").wait_for()
    assert page.locator(".next tbody tr:not(.why)").count() == 200
