"""Tables as people keep them: numbered lines, further sheets, seeds, columns in another order; none is misread."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.run import answer, good, refused
from tests.cli.test_excel import YIELDS, write_book
from tests.frames.test_numbered_rows import both, read

from maxentry import Campaign, Observations, tables
from maxentry.errors import DataError, LabelError
from maxentry.tables import layout


def save(lines: Any, name: str = "t.csv") -> str:
    pd.DataFrame(lines).to_csv(name, index=False)
    return name


def ratings(*order: str, copies: int = 0) -> dict[str, Any]:
    """Values of eight users and six items, in columns of these names and this order."""
    rng = np.random.default_rng(1)
    at = np.argwhere(rng.random((8, 6)) < 0.7)
    at = np.vstack([at, at[:copies]])
    values = rng.uniform(1, 5, len(at)).round(4)
    values[len(at) - copies :] = values[:copies]
    found = {"user": at[:, 0] + 1, "item": at[:, 1] + 101, "value": values}
    roles = {name: role for role, names in NOUNS.items() for name in names}
    return {name: found[roles[name]] for name in order}


NOUNS = {"user": ("user", "probe"), "item": ("item", "assay"), "value": ("rating", "signal")}


# A running number before the labels


@pytest.mark.parametrize("name", ["", "nr", "#", "id", "Lfd. Nr."])
@pytest.mark.parametrize("start", [0, 1])
def test_numbers_of_lines_before_the_labels_are_named(name: str, start: int) -> None:
    frame = pd.DataFrame({"model": ["a", "b", "c"], "t1": [1.5, None, 2], "t2": [3, 4, None]})
    frame.insert(0, name, range(start, start + 3))
    said = refused("new", "lab", "--from", save(frame))
    got = f" ({name!r})" if name else ""
    assert said == (
        f"t.csv: expected row labels in the first column, got numbers of lines{got}; labels are in the second "
        "('model'). Delete the first column."
    )
    good("new", "lab", "--from", save(frame.drop(columns=name)))


@both
def test_python_names_numbers_of_lines(frame: Any) -> None:
    data = {"nr": [1, 2, 3], "model": ["a", "b", "c"], "t1": [1.5, 2.0, 2.5], "t2": [1.0, 2.0, 3.0]}
    with pytest.raises(
        DataError, match=r"got numbers of lines \('nr'\); labels are in the second \('model'\)"
    ):
        read(frame(data))
    campaign = Campaign.create("sqlite://", "x", ["a", "b", "c"], ["t1", "t2"])
    with pytest.raises(DataError, match="got numbers of lines"):
        campaign.tell(frame(data))


@pytest.mark.parametrize(
    "columns",
    [
        {"nr": [1, 2, 3], "a": [1.5, 2, 3], "b": [1, 2, 3]},
        {"nr": [1, 2, 4], "a": ["x", "y", "z"], "b": [1, 2, 3]},  # does not count by ones
        {"nr": [7, 8, 9], "a": ["x", "y", "z"], "b": [1, 2, 3]},  # does not begin with 0 or 1
        {"sample": [1, 2, 3], "assay": ["x", "y", "z"], "signal": [1, 2, 3]},  # a list: samples have numbers
        {"year": [2001, 2002, 2003], "a": ["x", "y", "z"], "b": [1, 2, 3], "c": [4, 5, 6]},
        {"nr": [1, 2, 3], "a": ["x", "y", "x"], "b": [1, 2, 3]},  # no labels: one comes twice
        {"nr": [1, 2, 3], "a": ["x", "y", "z"], "b": ["u", "v", "w"]},  # a list
        {"nr": [1, 2, 3], "a": ["yes", "no", None], "b": [1, 2, 3]},
        {"nr": [1, 2, 3], "a": [None, None, None], "b": [1, 2, 3]},
    ],
)
def test_other_tables_have_no_numbers_of_lines(columns: dict[str, Any]) -> None:
    assert layout.find_line_numbers([*columns], [*columns.values()]) == ""


# Sheets of a workbook


def test_other_sheets_that_hold_cells_are_said_with_the_option() -> None:
    other = [["ligand", "S1"], ["L9", 1]]
    write_book("two.xlsx", Empty=[], May=YIELDS, June=other, Blank=[["  "], []])
    said = good("new", "lab", "--from", "two.xlsx").stderr
    assert (
        "two.xlsx, sheet 'May': only this sheet is read, and not 'June'; --sheet 'June' reads that one."
        in said
    )
    assert said.count("sheet is read") == 1
    assert "only this sheet" not in good("new", "named", "--from", "two.xlsx", "--sheet", "May").stderr
    write_book("one.xlsx", Empty=[], May=YIELDS)
    assert "only this sheet" not in good("new", "one", "--from", "one.xlsx").stderr
    write_book("costs.xlsx", A=[["row", "cost"], ["L1", 1], ["L2", 1], ["L3", 2]], B=[["x", "y"], [1, 2]])
    said = good("new", "priced", "--from", "one.xlsx", "--costs", "costs.xlsx").stderr
    assert (
        "costs.xlsx, sheet 'A': only this sheet is read, and not 'B'; another needs a file of its own."
        in said
    )


def test_python_says_so_when_a_workbook_is_told() -> None:
    write_book("two.xlsx", May=YIELDS, June=[["ligand", "S1"], ["L1", 1]])
    campaign = Campaign.create("sqlite://", "x", ["L1", "L2", "L3"], ["S1", "S2"])
    with pytest.warns(UserWarning, match="sheet 'May': only this sheet is read, and not 'June'"):
        campaign.tell("two.xlsx")
    (note,) = tables.read("two.xlsx").notes  # the page shows it beside its choice of sheets
    assert note == "two.xlsx, sheet 'May': only this sheet is read, and not 'June'."


# Seeds and the like are no values


def test_the_advice_names_values_before_seeds() -> None:
    lines = [(f"m{i}", f"t{j}", seed, 0.1 * seed + i) for i in range(3) for j in range(3) for seed in (0, 1)]
    frame = pd.DataFrame(lines, columns=["model", "task", "seed", "solved"])
    said = refused("new", "lab", "--from", save(frame))
    assert said.endswith("pass --names model,task,solved.")
    for name in ("run_id", "year", "fold", "epoch", "random_state"):
        names, others = layout.suggest_names(*columns_of(frame.rename(columns={"seed": name})))
        assert (names, others) == (("model", "task", "solved"), [])
    both_values = frame.assign(seconds=1.5).rename(columns={"seed": "cost"})
    assert layout.suggest_names(*columns_of(both_values)) == (
        ("model", "task", "cost"),
        ["solved", "seconds"],
    )
    assert layout.suggest_names(
        *columns_of(frame[["model", "task", "seed"]].rename(columns={"seed": "year"}))
    )[0]
    assert answer("new", "lab", "--from", save(frame[["model", "task", "solved", "seed"]]))["told"] == 18


def columns_of(frame: pd.DataFrame) -> tuple[list[str], list[list[Any]]]:
    return [*frame.columns], [frame[name].tolist() for name in frame]


# Lists whose columns stand in another order, or with copied lines


@both
@pytest.mark.parametrize(
    ("order", "names"),
    [
        (("rating", "user", "item"), ("user", "item")),
        (("item", "rating", "user"), ("item", "user")),
        (("rating", "item", "user"), ("item", "user")),
    ],
)
def test_python_refuses_a_list_in_another_order_with_its_names(
    frame: Any, order: tuple[str, ...], names: tuple[str, str]
) -> None:
    data = ratings(*order)
    with pytest.raises(DataError, match=f"Say row='{names[0]}', col='{names[1]}', value='rating'"):
        read(frame(data))
    found, _ = read(frame(data), row="user", col="item", value="rating")
    assert found.shape == (8, 6)
    with pytest.raises(DataError, match="Say row="):
        read(frame(data | {"timestamp": [1_700_000_000 + k for k in range(len(data["user"]))]}))


@both
@pytest.mark.parametrize(
    "order", [("probe", "assay", "signal"), ("signal", "probe", "assay"), ("probe", "signal", "assay")]
)
def test_python_warns_of_pairs_of_numbers_in_any_order_and_with_copies(
    frame: Any, order: tuple[str, ...]
) -> None:
    for copies in (0, 2):
        found, said = read(frame(ratings(*order, copies=copies)))
        assert found.shape[1] == 3
        assert "say row='probe', col='assay', value='signal'." in said[0]


def test_a_matrix_of_whole_numbers_is_rarely_taken_for_a_list_in_another_order() -> None:
    """Where no pair of two columns comes twice, nothing tells it from a list: a chance of few per cent."""
    rng, taken = np.random.default_rng(2), 0
    for k in range(200):
        frame = {name: rng.integers(0, 3 + k // 10, 40).astype(float) for name in "abc"}
        frame["b"] = rng.normal(size=40)
        taken += layout.find_pairs([*frame], [*frame.values()]) != ()
        holes = frame | {"a": [None, *frame["a"][1:]]}
        assert layout.find_pairs([*holes], [*holes.values()]) == ()
    assert taken <= 20


def test_the_shell_refuses_values_as_row_labels_where_the_rest_are_pairs() -> None:
    for order in (("signal", "probe", "assay"), ("rating", "user", "item")):
        said = refused("new", "lab", "--from", save(ratings(*order)))
        value, row, col = order
        assert f"got numbers that look like values ({value!r}). If this is a long table" in said
        assert said.endswith(f"--names {row},{col},{value}. If they are labels, write a letter before them.")
    short = {"yield": [51.5, 33.2], "ligand": ["L1", "L2"], "base": ["b", "c"]}
    assert refused("new", "lab", "--from", save(short)).endswith("pass --names ligand,base,yield.")


# Telling in the columns a campaign began with


def test_a_list_is_told_under_the_names_it_began_with() -> None:
    good("new", "lab", "--from", save(ratings("probe", "assay", "signal")), "--names", "probe,assay,signal")
    before = pd.read_csv(io.StringIO(good("export", "--wide").stdout), index_col=0)
    free = [(row, col) for row in before.index for col in before.columns if np.isnan(before.loc[row, col])]
    (a, b), (c, d), (e, f) = free[:3]
    said = good("tell", save({"probe": [a], "assay": [int(b)], "signal": [7.5]})).stderr
    assert "read as a list: row = 'probe', column = 'assay', value = 'signal'." in said
    good("tell", save({"signal": [8.5], "assay": [int(d)], "probe": [c], "who": ["Ann"]}))
    good("tell", save({"assay": [int(f)], "Probe": [e], "value": [9.5]}))
    after = pd.read_csv(io.StringIO(good("export", "--wide").stdout), index_col=0)
    assert [after.loc[a, b], after.loc[c, d], after.loc[e, f]] == [7.5, 8.5, 9.5]
    assert int(after.notna().sum().sum()) == int(before.notna().sum().sum()) + 3
    (a, b), (c, d) = free[3:5]
    told = {"probe": [a, c], "assay": [int(b), int(d)], "signal": [6.5, None], "se": [0.5, None]}
    good("tell", save(told | {"status": [None, "failed"]}))
    entries = answer("export")["entries"]
    assert (entries[-1]["value"], entries[-1]["se"], answer("status", "--fast")["failed"]) == (6.5, 0.5, 1)
    good("tell", save({"probe": [c], "assay": [int(d)], "failed": ["yes"]}))
    said = refused("tell", save({"probe": [a], "assay": [int(b)], "conc": [7.5], "pH": [7]}))
    assert "expected one column of values beside 'probe' and 'assay', got conc, pH." in said


def test_names_that_the_campaign_turned_round_are_not_turned_back() -> None:
    data = {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 3], "rating": [1.5, 2.5, 3.5, 4.5, 5.5]}
    good("new", "lab", "--from", save(data), "--names", "item,user,rating")
    good("tell", save({"user": [1, 3], "item": [3, 1], "rating": [6.5, 7.5]}))
    wide = pd.read_csv(io.StringIO(good("export", "--wide").stdout), index_col=0)
    assert (wide.index.name, wide.loc[3, "1"], wide.loc[1, "3"]) == ("item", 6.5, 7.5)
    with Campaign.open("sqlite:///maxentry.db", "lab") as campaign:
        frame = pd.DataFrame({"user": [3, 2], "item": [2, 2], "rating": [0.5, 1.0]})
        with pytest.warns(UserWarning, match="row = 'item', column = 'user'"):
            campaign.tell(frame)
    wide = pd.read_csv(io.StringIO(good("export", "--wide").stdout), index_col=0)
    assert (wide.loc[2, "3"], wide.loc[2, "2"]) == (0.5, 1.0)


BEGUN = (
    "ligand,base,yield\nL1,b1,51.5\nL1,b2,33.5\nL2,b1,41.5\nL2,b3,31.5\nL3,b2,21.5\nL3,b3,11.5\nL4,b4,3.5\n"
)


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("ligand,base,yield,status\nL1,b3,51.5,ok\nL1,b4,50,ok\n", ()),
        ("ligand,base,yield,se\nL1,b3,51.5,1\nL1,b4,50,1\n", ()),
        ("ligand,base,yield,err\nL1,b3,51.5,1\nL1,b4,50,1\n", ("--se", "err")),
        ("ligand,base,yield,comment\nL1,b3,51.5,\nL1,b4,50,dark\n", ()),
        ("ligand,base,yield,comment\nL1,b3,51.5,\nL1,b4,50,\n", ()),
        ("base,yield,ligand\nb3,51.5,L1\nb4,50,L1\n", ()),
        ("ligand,base,lower,upper\nL1,b3,50,52\nL1,b4,49,50\n", ()),
        ("ligand,base,yield,lower,upper\nL1,b3,51,50,52\nL1,b4,50,49,51\n", ()),
    ],
)
def test_lists_under_the_campaigns_names_are_told_with_what_stands_beside(
    lines: str, options: tuple[str, ...]
) -> None:
    Path("s.csv").write_text(BEGUN)
    good("new", "lab", "--from", "s.csv")
    Path("more.csv").write_text(lines)
    assert "2 values told" in good("tell", "more.csv", *options).stderr


@pytest.mark.parametrize(
    ("begun", "lines", "told"),
    [
        (BEGUN, "ligand,base,yield,temp\nL1,b3,,60\nL2,b4,51.5,80\n", "yield"),
        (BEGUN, "ligand,base,yield,temp\nL1,b3,failed,60\nL2,b4,51.5,80\n", "yield"),
        (BEGUN, "Nr,ligand,base,yield\n1,L1,b3,51.5\n2,L2,b4,\n", "yield"),
        (BEGUN.replace("yield", "runtime"), "ligand,base,runtime,tokens\nL1,b3,51.5,60\n", "runtime"),
        (BEGUN.replace("yield", "n"), "ligand,base,n,effort\nL1,b3,51.5,60\n", "n"),
    ],
)
def test_values_are_in_the_column_that_held_them_first(begun: str, lines: str, told: str) -> None:
    Path("s.csv").write_text(begun)
    good("new", "lab", "--from", "s.csv", "--names", f"ligand,base,{told}")
    Path("more.csv").write_text(lines)
    assert f"value = '{told}'" in good("tell", "more.csv").stderr
    assert [entry["value"] for entry in answer("export")["entries"][7:]] == [51.5]


def test_an_unfilled_plate_tells_nothing() -> None:
    Path("s.csv").write_text(BEGUN)
    good("new", "lab", "--from", "s.csv")
    Path("more.csv").write_text("ligand,base,yield,temp\nL1,b3,,60\nL2,b4,,80\n")
    good("tell", "more.csv")
    Path("one.csv").write_text("ligand,base,yield\nL1,b3,failed\n")
    good("tell", "one.csv")
    status = answer("status", "--fast")
    assert (status["measurements"], status["failed"]) == (7, 1)
    good("set", "--drop", "value_name")  # as in a campaign of an earlier version
    assert "got yield, temp" in refused("tell", "more.csv")


def test_values_beside_their_limits_are_not_dropped() -> None:
    Path("s.csv").write_text(BEGUN)
    good("new", "lab", "--from", "s.csv")
    Path("more.csv").write_text("ligand,base,yield,low,high\nL1,b3,51.5,40,60\nL1,b4,50,45,55\n")
    assert "got both" in refused("tell", "more.csv")


CONFIDENT = {"row": ["a", "a", "b", "b"], "col": ["x", "y", "x", "z"], "score": [50.0, 40, 30, 20]}
BOUNDS = {"lower": [40.0, 30, 20, 10], "upper": [60.0, 50, 40, 30]}
RANGES = ["40..60", "30..50", "20..40", "10..30"]


@both
def test_confidence_intervals_are_no_limits_where_a_column_may_be_the_values(frame: Any) -> None:
    with pytest.raises(DataError, match="'value'"):
        read(frame(CONFIDENT | BOUNDS))
    limits = frame({name: CONFIDENT[name] for name in ("row", "col")} | BOUNDS)
    assert Observations.of(limits).low is not None
    said = refused("new", "lab", "--from", save(CONFIDENT | BOUNDS))
    assert said.endswith("If another column holds the values, pass --names ROW,COL,VALUE.")
    good("new", "lab", "--from", save(CONFIDENT | BOUNDS), "--names", "row,col,score")
    assert [entry["value"] for entry in answer("export")["entries"]] == CONFIDENT["score"]
    lists = {"ligand": CONFIDENT["row"], "base": CONFIDENT["col"], "lower": BOUNDS["lower"]}
    refused("new", "other", "--from", save(lists | {"score": CONFIDENT["score"], "upper": BOUNDS["upper"]}))


@pytest.mark.parametrize("extra", ["", ",comment", ",operator", ",failed,operator"])
@both
def test_limits_stay_limits_beside_words_and_empty_columns(frame: Any, extra: str) -> None:
    """An empty column, or one of words, holds no values that lower and upper could belong to."""
    words = {"comment": [None] * 4, "operator": ["Ann", "Bob", None, "Ann"], "failed": ["no"] * 4}
    beside = {name: words[name] for name in extra.split(",") if name}
    lines = {"row": CONFIDENT["row"], "col": CONFIDENT["col"]} | BOUNDS | beside
    if "failed" not in beside:
        assert np.array_equal(Observations.of(frame(lines)).low, BOUNDS["lower"])
        named = {"ligand": lines["row"], "base": lines["col"]} | BOUNDS | beside
        good("new", "lab", "--from", save(named))
        assert [entry["value"] for entry in answer("export")["entries"]] == RANGES
    campaign = Campaign.create("sqlite://", "x", ["a", "b"], ["x", "y", "z"])
    with pytest.raises(DataError, match="value"):
        campaign.tell(frame(CONFIDENT | BOUNDS | {"failed": ["no"] * 4}))
    assert campaign.tell(frame(lines)).told == 4
    assert [str(value) for value in campaign.export(frame="columns")["value"]] == RANGES


def test_columns_without_a_name_hold_no_values() -> None:
    Path("s.csv").write_text(BEGUN)
    good("new", "lab", "--from", "s.csv")
    good("set", "--drop", "value_name")
    Path("more.csv").write_text(",ligand,base,yield\n0,L1,b3,50.5\n1,L2,b2,60.5\n")
    good("tell", "more.csv")
    assert [entry["value"] for entry in answer("export")["entries"][7:]] == [50.5, 60.5]


def test_a_name_of_values_on_two_lines_is_remembered_on_one() -> None:
    Path("s.csv").write_text(BEGUN.replace("yield", '"Yield\n(%)"'))
    good("new", "lab", "--from", "s.csv")
    Path("more.csv").write_text('ligand,base,"Yield\n(%)",temp\nL1,b3,50.5,20\n')
    good("tell", "more.csv")
    assert answer("export")["entries"][-1]["value"] == 50.5


@pytest.mark.parametrize(("mark", "name"), [(";", "t.csv"), ("\t", "t.tsv")])
def test_one_number_with_both_marks_tells_what_a_point_is(mark: str, name: str) -> None:
    lines = "row;c1;c2\na;1.234,5;2\nb;1.234;3\nc;5,5;1\n".replace(";", mark)
    Path(name).write_text(lines)
    said = refused("new", "lab", "--from", name)
    assert "'1.234' may mean 1234 or 1,234" in said
    Path(name).write_text(lines.replace("1.234" + mark, "1.234,0" + mark))
    good("new", "lab", "--from", name)
    assert [entry["value"] for entry in answer("export")["entries"]] == [1234.5, 2, 1234, 3, 5.5, 1]


THOUSANDS = "may mean 1234. If it does, write such numbers without points."


def test_a_point_between_semicolons_that_may_be_one_of_thousands_is_named() -> None:
    Path("s.csv").write_text("row;col;value\na;x;500\nb;x;1.234\na;y;12.500\nb;y;7\n")
    said = (
        "s.csv, line 3, column value: '1.234' is read with a decimal point, but between semicolons "
        + THOUSANDS
    )
    assert said in good("new", "lab", "--from", "s.csv").stderr
    assert [entry["value"] for entry in answer("export")["entries"]] == [500, 1.234, 12.5, 7]
    told = good("tell", "s.csv").stderr
    assert said in told
    assert "4 known already" in told
    Path("wide.csv").write_text("row;x;y;z\na;1;2;3\nb;1.234;1;2\nc;4;5;6\n")
    assert (
        THOUSANDS in good("complete", "wide.csv", "-o", "done.csv", "--rank", "1", "--effort", "quick").stderr
    )


@pytest.mark.parametrize(
    "cells",
    [
        ("1.234", "0.593"),
        ("1.234", "12.5"),
        ("12.5", "1.234"),
        ("1.234", "1234.567"),
        ("1.234", "<0.5"),
        ("1.234", "0.5..0.7"),
        ("1.234", "1.5e3"),
        ("1.234", ".5"),
        ("12.34", "1.2345"),
        ("1234", "567"),
        ("1,234", "567"),
        ("2026.01.123", "12:30"),
    ],
)
def test_a_number_that_settles_what_a_point_is_needs_no_note(cells: tuple[str, str]) -> None:
    text = "row;col;value\na;x;{}\nb;x;{}\n".format(*cells)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tables.read(io.StringIO(text)).notes == ()


@pytest.mark.parametrize("cell", ["1.234", "-1.234", "<1.234", "1.234..5.678", "[1.234; 5.678]", "999.000"])
def test_python_warns_of_points_that_may_be_those_of_thousands(cell: str) -> None:
    text = f'row;col;value\na;x;5\nb;x;"{cell}"\n'
    with pytest.warns(UserWarning, match="line 3, column value: .* between semicolons may mean"):
        assert len(tables.read(io.StringIO(text)).notes) == 1


@pytest.mark.parametrize(
    "text",
    [
        "row,col,value\na,x,1.234\n",
        "row\tcol\tvalue\na\tx\t1.234\n",
        "id;x\n1.234;5\n2.345;6\n",
        "value;row;col\n5;1.234;x\n",
    ],
    ids=["commas", "tabs", "labels", "rows"],
)
def test_points_elsewhere_are_decimal_points(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tables.read(io.StringIO(text)).notes == ()


def test_a_replicate_that_is_asked_for_may_fail() -> None:
    good("new", "lab", "--shape", "2x2", "--again", "--seed", "1", "--acquisition", "balanced")
    for row, col in (("r1", "c1"), ("r1", "c2"), ("r2", "c1"), ("r2", "c2")):
        good("tell", "--row", row, "--col", col, "--value", "1")
    asked = answer("ask", "1")["entries"][0]
    good("fail", "--row", asked["row"], "--col", asked["col"])
    assert answer("status", "--fast")["pending"] == 0


def test_yes_and_no_under_the_campaigns_names_are_told() -> None:
    begun = "model,task,solved\nm1,t1,yes\nm1,t2,no\nm2,t1,no\nm2,t3,yes\nm3,t2,yes\nm3,t4,no\n"
    Path("s.csv").write_text(begun)
    good("new", "lab", "--from", "s.csv", "--kind", "yes/no")
    Path("more.csv").write_text("model,task,solved\nm1,t3,yes\nm2,t2,no\nm2,t4,no\nm3,t1,yes\n")
    assert "4 values told" in good("tell", "more.csv").stderr


def test_a_column_of_the_campaign_may_be_called_like_what_stands_beside_values() -> None:
    campaign = Campaign.create("sqlite://", "x", ["a", "b"], ["x", "y"], row_name="model", col_name="se")
    assert campaign.tell({"model": ["a"], "se": ["x"], "score": [1.0]}).told == 1


def test_a_failure_is_not_claimed_of_an_entry_with_a_value() -> None:
    Path("s.csv").write_text(BEGUN)
    good("new", "lab", "--from", "s.csv")
    good("fail", "--row", "L1", "--col", "b3")
    good("tell", "--row", "L1", "--col", "b3", "--value", "9")
    assert "an entry without a value" in refused("fail", "--row", "L1", "--col", "b3")


def test_run_times_are_not_taken_for_results() -> None:
    """Words for yes and no are values, too: nothing is guessed beside a column of numbers."""
    lines = "model,task,solved,runtime_s\nm1,t3,yes,44.9\nm2,t2,no,3.5\n"
    Path("more.csv").write_text(lines)
    begun = "model,task,solved\nm1,t1,1\nm1,t2,0\nm2,t1,0\nm2,t3,1\nm3,t2,1\nm3,t4,0\n"
    Path("s.csv").write_text(begun)
    good("new", "numbers", "--from", "s.csv", "--names", "model,task,solved")
    assert "Values that are yes or no need kind='yes/no'" in refused("tell", "more.csv")
    good("new", "words", "--from", "s.csv", "--names", "model,task,solved", "--kind", "yes/no")
    assert "2 values told" in good("tell", "-c", "words", "more.csv").stderr


def test_one_line_of_known_numbers_is_a_list() -> None:
    campaign = Campaign.create("sqlite://", "x", [100, 101], [1007, 1008])
    with pytest.warns(UserWarning, match="read as a list: row = 'userId', column = 'movieId'"):
        assert campaign.tell(pd.DataFrame({"userId": [100], "movieId": [1007], "rating": [4.0]})).told == 1
    with pytest.raises(LabelError):  # a column that nobody knows: nothing is guessed
        campaign.tell(pd.DataFrame({"userId": [100], "movieId": [7], "rating": [4.0]}))


def test_numbers_of_lines_behind_the_labels_and_plates_are_named_or_left_aside() -> None:
    lines = {"ligand": ["A", "B", "C"], "Nr.": [1, 2, 3], "S1": [1.5, 2.5, 3.5], "S2": [2.5, 3.5, 4.5]}
    said = good("new", "lab", "--from", save(lines)).stderr
    assert "Column 'Nr.': named like numbers of lines, but it counts like any other column." in said
    lines = {
        "Platte": [1, 1, 2, 2],
        "ligand": ["A", "A", "B", "B"],
        "base": ["x", "y", "x", "y"],
        "yield": [1.5, 2, 3, 4],
    }
    assert "2 rows, 2 columns, 4 values told" in good("new", "plates", "--from", save(lines)).stderr


def test_copies_of_yes_and_no_are_named_where_runs_are_numbered() -> None:
    lines = {
        "run": [*range(8), 7],
        "model": ["a", "b"] * 4 + ["b"],
        "task": [*"xxyyzzww", "w"],
        "solved": ["yes", "no"] * 4 + ["no"],
    }
    how = ("--names", "model,task,solved", "--kind", "yes/no")
    assert "the same as an earlier line" in good("new", "runs", "--from", save(lines), *how).stderr
    del lines["run"]
    assert "the same as an earlier line" not in good("new", "trials", "--from", save(lines), *how).stderr


def test_a_column_of_failures_is_not_read_at_the_beginning_and_that_is_said() -> None:
    lines = {
        "ligand": ["A", "A", "B"],
        "base": ["x", "y", "x"],
        "yield": [1.5, 0, 3],
        "Status": ["ok", "failed", "ok"],
    }
    said = good("new", "lab", "--from", save(lines)).stderr
    assert "'Status' is not read here: clear the values of lines that failed." in said
