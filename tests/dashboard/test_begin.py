"""Begin: an empty page that invites, a file that shows how it was read, the example; and more rows later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.browser import Watched
from tests.dashboard.lab import ROWS, address, campaign, fitted, shown
from tests.dashboard.test_next_step import expect

Reader = Callable[..., Watched]
LONG = "Ligand;Substrat;Ausbeute\nL1;S1;1,5\nL1;S2;2,25\nL2;S1;<0,5\nL2;S2;\nL3;S1;4,0\n"


def created(lab: Any) -> str:
    """The path of the only campaign."""
    (made,) = lab.get("/campaigns").json()["items"]
    return f"/campaigns/{made['id']}"


def test_the_example_is_one_click_away(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_text("No campaigns yet.").wait_for()
    page.get_by_role("button", name="Try the example").click()
    page.get_by_role("heading", name="Example: yields", level=1).wait_for()
    fitted(page, 2)
    expect(page.locator(".answer li").first).to_contain_text("Best ligand for S1: ")
    page.goto(lab.url + "/")
    page.get_by_role("link", name="Example: yields").wait_for()
    assert page.get_by_text("No campaigns yet.").is_hidden()


def test_a_german_list_is_read_and_its_columns_are_put_right_by_clicking(
    lab: Any, reader: Reader, tmp_path: Path
) -> None:
    file = tmp_path / "Ausbeuten.csv"
    file.write_text("\ufeff" + LONG)
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    sheet = form.get_by_role("region", name="How the file was read")
    expect(sheet).to_contain_text("3 rows, 2 columns, 4 values")
    expect(sheet.locator("td.value").first).to_have_text("1.5")
    sheet.get_by_role("button", name="Substrat holds the row labels").click()
    expect(sheet).to_contain_text("2 rows, 3 columns, 4 values")
    assert form.get_by_label("Rows").is_hidden()
    assert form.get_by_label("Name", exact=True).input_value() == "Ausbeuten"
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="Ausbeuten", level=1).wait_for()
    path = created(lab)
    assert lab.get(f"{path}/labels").json() == {"rows": ["S1", "S2"], "cols": ["L1", "L2", "L3"]}
    told = lab.get(f"{path}/measurements").json()["items"]
    assert [(m["row"], m["col"], m["text"]) for m in told] == [
        ("S1", "L1", "1.5"),
        ("S2", "L1", "2.25"),
        ("S1", "L2", "<0.5"),
        ("S1", "L3", "4"),
    ]
    assert lab.get(f"{path}/settings").json()["row_name"] == "Substrat"


LISTS = {
    "trials": (
        "drug,cell line,successes,trials\nD1,C1,1,2\nD1,C2,0,1\nD2,C1,1,1\n",
        ["yes", "no", "no", "yes"],
    ),
    "limits": (
        "row,col,value,low,high,se\nR1,C1,1.5,,,0.2\nR1,C2,,,0.5,\nR2,C1,,2,3,\n",
        ["1.5", "<0.5", "2..3"],
    ),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_with_counts_of_trials_or_ends(lab: Any, reader: Reader, tmp_path: Path, kind: str) -> None:
    text, told = LISTS[kind]
    (tmp_path / "list.csv").write_text(text)
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(tmp_path / "list.csv")
    sheet = form.get_by_role("region", name="How the file was read")
    expect(sheet).to_contain_text("2 rows, 2 columns, 3 values")
    assert sheet.get_by_text("Not used").count() == 0
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="list", level=1).wait_for()
    assert [m["text"] for m in lab.get(f"{created(lab)}/measurements").json()["items"]] == told


def test_sums_are_left_out_by_a_button_and_slips_are_named(lab: Any, reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "sums.csv").write_text("ligand,S1,S2\nL1,1,2\nl1,3,4\nL2,5,6\nMittelwert,3,4\n")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(tmp_path / "sums.csv")
    sheet = form.get_by_role("region", name="How the file was read")
    expect(sheet).to_contain_text("4 rows, 2 columns, 8 values.")
    expect(sheet).to_contain_text("“L1” and “l1” are named nearly alike.")
    sheet.get_by_role("button", name="Leave it out: Mittelwert").click()
    expect(sheet).to_contain_text("3 rows, 2 columns, 6 values.")
    sheet.get_by_role("button", name="Take it back: Mittelwert").click()
    expect(sheet).to_contain_text("4 rows, 2 columns, 8 values.")
    sheet.get_by_role("button", name="Leave it out: Mittelwert").click()
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="sums", level=1).wait_for()
    assert lab.get(f"{created(lab)}/labels").json()["rows"] == ["L1", "l1", "L2"]


@pytest.mark.filterwarnings("ignore:.*read as windows-1252")
@pytest.mark.parametrize(
    ("text", "encoding", "unused"),
    [
        ("Säure;Öl;Ausbeute;Zeit\nä;x;1,5;3\nä;y;<0,5;4\nb;x;3;1\n", "cp1252", "Not used: Zeit."),
        (
            "userId,movieId,rating,timestamp\n1,31,2.5,12\n1,32,3,13\n7,31,4,5\n",
            "utf-8",
            "Not used: timestamp.",
        ),
        ("ligand,substrate,yield,comment\nL1,S1,5,\nL1,S2,6,\nL2,S1,7,\n", "utf-8", "Not used: comment."),
        ("model,task,score,passed\na,x,0.5,yes\na,y,0.6,no\nb,x,0.7,yes\n", "utf-8", "Not used: passed."),
        (
            "when,user,item,r\n2024-01-05,u,x,5\n2024-01-05,u,y,6\n2024-01-06,v,x,7\n",
            "utf-8",
            "Not used: when.",
        ),
    ],
    ids=["words", "numbers", "an empty column", "passed or not", "dates first"],
)
def test_a_plain_list_is_known_as_one(
    lab: Any, reader: Reader, tmp_path: Path, text: str, encoding: str, unused: str
) -> None:
    file = tmp_path / "list.csv"
    file.write_bytes(text.encode(encoding))
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    sheet = form.get_by_role("region", name="How the file was read")
    expect(sheet).to_contain_text("2 rows, 2 columns, 3 values.")
    expect(sheet).to_contain_text(unused)
    western = sheet.get_by_text("Read as windows-1252, since the file is not UTF-8")
    expect(western).to_have_count(1 if encoding == "cp1252" else 0)


def test_a_matrix_dropped_on_the_empty_page(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    welcome = page.get_by_role("region", name="Begin")
    welcome.wait_for()
    dropped = page.evaluate_handle(
        """() => {
          const files = new DataTransfer();
          files.items.add(new File(["ligand,S1,S2\\nL1,1.5,\\nL2,2,3\\n"], "yields.csv"));
          return files;
        }"""
    )
    welcome.dispatch_event("drop", {"dataTransfer": dropped})
    form = page.get_by_role("dialog")
    expect(form).to_contain_text("2 rows, 2 columns, 3 values")
    form.get_by_label("Goal").select_option("threshold")
    form.get_by_label("Threshold").fill("2,5")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="yields", level=1).wait_for()
    path = created(lab)
    assert lab.get(path).json()["told"] == 3
    assert lab.get(f"{path}/settings").json()["goal"] == "threshold 2.5"


def test_a_workbook_is_read_sheet_by_sheet(lab: Any, reader: Reader, tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for line in (["note"], ["made on Monday"]):
        book.active.append(line)
    page_two = book.create_sheet("yields")
    for cells in (["ligand", "S1", "S2"], ["L1", 0.015, None], ["L2", 2, "<0.5"]):
        page_two.append(cells)
    page_two["B2"].number_format = "0.0%"
    book.save(tmp_path / "yields.xlsx")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(tmp_path / "yields.xlsx")
    form.get_by_label("Sheet").select_option("yields")
    expect(form.get_by_role("region", name="How the file was read")).to_contain_text(
        "2 rows, 2 columns, 3 values"
    )
    form.get_by_text("B2: numbers in percent are read as Excel shows them: 45% is 45.").wait_for()
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="yields", level=1).wait_for()
    path = created(lab)
    assert [m["text"] for m in lab.get(f"{path}/measurements").json()["items"]] == ["1.5", "2", "<0.5"]


def test_a_file_that_cannot_be_read_says_why(lab: Any, reader: Reader, tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Begin with a file").set_input_files(file)
    form.get_by_role("alert").filter(has_text="picture.png: ").wait_for()
    assert form.get_by_label("Rows").is_visible()


GOALS = {
    "best per row": ("best per row", {}),
    "smallest 3 per column": ("best per column", {"Good values": "smallest", "How many": "3"}),
    "rank rows smallest": ("rank rows", {"Good values": "smallest"}),
    "best": ("best", {}),
}


@pytest.mark.parametrize("goal", GOALS)
def test_the_goal_is_chosen_at_the_beginning(lab: Any, reader: Reader, goal: str) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("screen")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    kind, more = GOALS[goal]
    form.get_by_label("Goal").select_option(kind)
    for name, text in more.items():
        box = form.get_by_label(name)
        box.fill(text) if name == "How many" else box.select_option(text)
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="screen", level=1).wait_for()
    shown(page, 1)
    path = created(lab)
    assert lab.get(f"{path}/settings").json()["goal"] == goal
    page.get_by_role("button", name="Settings").click()  # and read back as it was chosen
    box = page.get_by_role("dialog")
    assert box.get_by_label("Goal").input_value() == kind
    box.get_by_role("button", name="Save settings").click()
    page.get_by_text("Nothing was changed.").wait_for()
    assert lab.get(path).json()["events"] == 1


def test_settings_change_later(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=10, rows=["a", "b", "c"], cols=["x", "y", "z", "w"])
    page = reader(lab.url).tab(address(path))
    fitted(page)
    page.get_by_role("button", name="Settings").click()
    box = page.get_by_role("dialog")
    box.get_by_label("Goal").select_option("rank rows")
    box.get_by_label("Unit of the values").fill("% yield")
    box.get_by_label("Least value").fill("0")
    box.get_by_text("Costs (each entry costs 1)").click()
    box.get_by_label("Cost of each row").fill("a, 2\nb, 3")
    box.get_by_role("button", name="Save settings").click()
    box.get_by_role("alert").filter(has_text="Costs of rows: c has none.").wait_for()
    assert lab.get(path).json()["events"] == 3  # created, asked, told
    box.get_by_label("Cost of each row").fill("a, 2\nb, 3\nc, 4.5")
    box.get_by_role("button", name="Save settings").click()
    expect(box).to_have_count(0)
    now = lab.get(f"{path}/settings").json()
    assert (now["goal"], now["unit"], now["has_costs"]) == ("rank rows", "% yield", True)
    assert lab.get(f"{path}/entry?row=c&col=x").json()["cost"] == 4.5
    page.locator(".legend").get_by_text("best guess of every entry (% yield)").wait_for()
    expect(page.locator("#answer-title")).to_have_text("Answer: rank rows")


def test_the_target_of_a_goal_and_the_known_noise_are_set_shown_and_cleared(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("screen")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    form.get_by_text("More", exact=True).click()
    regret = form.get_by_label("Target: expected regret (in the units of the values)")
    expect(regret).to_be_hidden()  # as long as the table is to be filled
    form.get_by_label("Goal").select_option("best per row")
    regret.fill("0.5")
    form.get_by_label("Known noise").fill("0.1")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="screen", level=1).wait_for()
    path = created(lab)
    now = lab.get(f"{path}/settings").json()
    assert (now["enough"], now["noise_sd"]) == (0.5, 0.1)
    budget = page.get_by_role("region", name="Budget and target")
    expect(budget).to_contain_text("Ends when the expected regret is at most 0.5.")
    expect(budget).not_to_contain_text("No target")

    def settings() -> Any:
        page.get_by_role("button", name="Settings").click()
        return page.get_by_role("dialog")

    def save(box: Any) -> dict[str, Any]:
        box.get_by_role("button", name="Save settings").click()
        expect(box).to_have_count(0)
        return dict(lab.get(f"{path}/settings").json())

    box = settings()
    assert box.get_by_label("Target: expected regret").input_value() == "0.5"
    assert box.get_by_label("Known noise").input_value() == "0.1"
    box.get_by_label("Known noise").fill("")
    box.get_by_label("Goal").select_option("rank rows")
    share = box.get_by_label("Target: expected share of pairs in the wrong order (5% or 0.05)")
    expect(share).to_have_value("")  # a regret is no share
    share.fill("5")
    box.get_by_role("button", name="Save settings").click()
    box.get_by_role("alert").filter(has_text="“5” is not a share: write it in per cent").wait_for()
    share.fill("7 %")
    now = save(box)
    assert (now["goal"], now["enough"], now["noise_sd"]) == ("rank rows", 0.07, None)
    expect(budget).to_contain_text("Ends when the expected share of pairs in the wrong order is at most 7%.")
    box = settings()
    assert box.get_by_label("Target: expected share of pairs").input_value() == "7%"
    box.get_by_label("Goal").select_option("threshold")
    box.get_by_label("Threshold").fill("6.5")
    box.get_by_label("Target: expected share of entries on the wrong side").fill("0,02")
    now = save(box)
    assert (now["goal"], now["enough"]) == ("threshold 6.5", 0.02)
    expect(budget).to_contain_text("Ends when the expected share of entries on the wrong side is at most 2%.")
    box = settings()
    box.get_by_label("Target: expected share of entries").fill("")
    assert save(box)["enough"] is None
    expect(budget).to_contain_text("No target for the goal.No target for the expected error.")


def test_columns_of_a_ranking_have_weights(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("models")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    assert form.get_by_label("Weights").is_hidden()
    form.get_by_label("Goal").select_option("rank rows")
    form.get_by_label("Weights").fill("c2, 2")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="models", level=1).wait_for()
    path = created(lab)
    assert lab.get(f"{path}/settings").json()["weights"] == [1, 2, 1]
    page.get_by_role("button", name="Settings").click()
    box = page.get_by_role("dialog")
    assert box.get_by_label("Weights").input_value() == "c2, 2"
    box.get_by_label("Weights").fill("c2, 2\nc9, 0.5")
    box.get_by_role("button", name="Save settings").click()
    box.get_by_role("alert").filter(has_text="Weights of columns: there is no column “c9”.").wait_for()
    box.get_by_label("Weights").fill("c3, 0.5")
    box.get_by_role("button", name="Save settings").click()
    expect(box).to_have_count(0)
    assert lab.get(f"{path}/settings").json()["weights"] == [1, 1, 0.5]
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("dialog").get_by_label("Goal").select_option("best per row")  # which has no weights
    page.get_by_role("dialog").get_by_role("button", name="Save settings").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    now = lab.get(f"{path}/settings").json()
    assert (now["goal"], now["weights"]) == ("best per row", None)


def test_rows_and_columns_are_added(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    page = reader(lab.url).tab(address(path))
    fitted(page)
    for button, labels in (("Add rows …", "L8\nL9"), ("Add columns …", "S6")):
        page.get_by_role("button", name=button).click()
        box = page.get_by_role("dialog")
        box.get_by_label("New").fill(labels)
        box.get_by_role("button", name="Add", exact=False).last.click()
        expect(box).to_have_count(0)
    page.locator(".legend").get_by_text("all 9 rows, all 6 columns").wait_for()
    assert lab.get(f"{path}/labels").json()["rows"][-2:] == ["L8", "L9"]


def test_a_campaign_loses_a_row_gets_another_name_and_is_deleted(lab: Any, reader: Reader) -> None:
    path = campaign(lab, told=8)
    page = reader(lab.url).tab(address(path))
    shown(page, 3)
    page.get_by_role("button", name="Remove …").click()
    page.get_by_label("Labels").fill("L1")
    page.get_by_role("button", name="Remove", exact=True).click()
    page.locator(".toast", has_text="struck out").wait_for()
    assert lab.get(f"{path}/labels").json()["rows"] == ROWS[1:]
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Name", exact=True).fill("second")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("second", timeout=60_000)
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("button", name="Delete campaign …").click()
    page.get_by_label("Type its name").fill("first")
    page.get_by_role("button", name="Delete for good").click()
    page.locator("dialog .problem", has_text="not deleted").wait_for()
    assert lab.get("/campaigns").json()["total"] == 1
    page.get_by_label("Type its name").fill("second")
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_text("No campaigns yet.").wait_for()
    assert lab.get("/campaigns").json()["total"] == 0


def test_where_fits_run_is_chosen_and_changed(lab: Any, reader: Reader) -> None:
    page = reader(lab.url).tab()
    page.get_by_role("button", name="New campaign").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("large")
    form.get_by_label("Rows").fill("4")
    form.get_by_label("Columns").fill("3")
    form.get_by_text("More", exact=True).click()
    form.get_by_label("Fits run on").select_option("auto")
    form.get_by_role("button", name="Begin", exact=True).click()
    page.get_by_role("heading", name="large", level=1).wait_for()
    path = created(lab)
    assert lab.get(f"{path}/settings").json()["engine"] == "auto"
    page.get_by_role("button", name="Settings").click()
    box = page.get_by_role("dialog")
    box.get_by_text("More", exact=True).click()
    assert box.get_by_label("Fits run on").input_value() == "auto"
    box.get_by_label("Fits run on").select_option("cpu")
    box.get_by_role("button", name="Save settings").click()
    expect(box).to_have_count(0)
    assert lab.get(f"{path}/settings").json()["engine"] == "cpu"


@pytest.mark.parametrize("where", ["the empty page", "the form"])
def test_the_same_file_once_it_was_mended(lab: Any, reader: Reader, tmp_path: Path, where: str) -> None:
    """A browser says nothing of a file that is chosen twice, unless the box has forgotten it meanwhile."""
    file = tmp_path / "yields.csv"
    page = reader(lab.url).tab()
    opener = page.get_by_role("button", name="Choose a file …")
    if where == "the form":
        page.get_by_role("button", name="New campaign").click()
        opener = page.get_by_role("dialog").get_by_label("Begin with a file")
    for content, said in (
        (b"\x89PNG\r\n\x1a\n\x00\x00", "yields.csv: "),
        (b"ligand,S1,S2\nL1,1,2\nL2,3,4\n", "2 rows, 2 columns, 4 values"),
    ):
        file.write_bytes(content)
        with page.expect_file_chooser() as chooser:
            opener.click()
        assert chooser.value.element.evaluate("box => box.value") == ""
        chooser.value.set_files(file)
        expect(page.get_by_role("dialog")).to_contain_text(said)
        if where == "the empty page":
            page.get_by_role("button", name="Cancel").click()
            expect(page.get_by_role("dialog")).to_have_count(0)
