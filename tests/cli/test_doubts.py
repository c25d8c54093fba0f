"""What a table may not mean is said: sums and footers, slips in labels, copies, values far off a scale."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.run import answer, good, refused

from maxentry import Campaign, Sampling, complete
from maxentry.errors import DataError, ParameterError
from maxentry.model.likelihood import Likelihood
from maxentry.observations import Observations
from maxentry.tables import doubts
from maxentry.tables.doubts import find_alike, find_footers, find_totals, is_total, warn_of_labels
from maxentry.tables.layout import find_long
from maxentry.transform import BEYOND, warn_of_beyond

SHORT = Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)


def begin(text: str, *more: object, name: str = "lab") -> str:
    """What `new --from` says of a file."""
    Path("t.csv").write_text(text, encoding="utf-8")
    return good("new", name, "--from", "t.csv", *more).stderr


def refuse(text: str, *more: object) -> str:
    Path("t.csv").write_text(text, encoding="utf-8")
    return refused("new", "lab", "--from", "t.csv", *more)


@pytest.mark.parametrize(
    "label", ["Mittelwert", "MEAN", "Total:", "Ø", "Summe A-D", "Std. Dev.", "Mean (n=3)"]
)
def test_names_of_sums_and_means(label: str) -> None:
    assert is_total(label)


@pytest.mark.parametrize("label", ["Total phosphorus", "L1", "Meany", "mean free path", 3, None, ""])
def test_names_of_other_lines(label: object) -> None:
    assert not is_total(label)  # type: ignore[arg-type]


def test_a_lost_decimal_point_is_named_when_it_is_read_and_told() -> None:
    values = np.random.default_rng(0).uniform(2, 98, (8, 6)).round(1)
    said = "Row 'L2', column 's1': 972, but all other values lie between 2.3 and 97.7."
    table = pd.DataFrame(values, [f"L{i}" for i in range(8)], [f"s{j}" for j in range(6)])
    table.loc["L0", "s0"] = np.nan
    assert "all other values" not in begin(table.to_csv(index_label="lig"))
    told = good("tell", "--row", "L0", "--col", "s0", "--value", "55")
    assert "all other values" not in told.stderr
    good("correct", "--row", "L0", "--col", "s0", "--strike")
    told = good("tell", "--row", "L0", "--col", "s0", "--value", "972")
    assert said.replace("L2", "L0").replace("s1", "s0") in told.stderr
    table.loc["L2", "s1"] = 972
    assert said in begin(table.to_csv(index_label="lig"), name="slip")
    shown = " ".join(good("status", "--fast", "-c", "slip").stdout.replace("│", "").split())
    assert said in shown
    assert answer("status", "--fast", "-c", "slip")["notes"][0].startswith(said)
    assert said in good("complete", "t.csv", "--rank", 0, "--effort", "quick", "-o", "out.csv").stderr


def test_slips_are_found_and_other_substances_are_not() -> None:
    same = [
        ("L1", "l1"),
        ("GPT 4", "GPT-4"),
        ("Tolluol", "Toluol"),
        ("Dioxan", "Dioxane"),
        ("Acetonitril", "Acetontiril"),
    ]
    for pair in same:
        assert find_alike(pair) == [pair]
    for pair in [
        ("Methanol", "Ethanol"),
        ("Propan", "Propen"),
        ("Ligand A", "Ligand AB"),
        ("XPhos", "SPhos"),
        ("1-2", "12"),
        ("dimethyl ether", "diethyl ether"),
        ("cysteine", "cystine"),
        ("c1ccccc1", "C1CCCCC1"),
        ("CCCCCCC", "CCCCCCCC"),
        ("ACGTTACG", "ACGTACG"),
        ("Co", "CO"),
    ]:
        assert find_alike(pair) == []
    assert find_alike(["toluol"], known=["Toluol", "toluOl"]) == [("Toluol", "toluol")]
    assert find_footers(["a", "b", "Stand: 1.2.2025", "new"], {"a", "b"}) == ["Stand: 1.2.2025"]
    assert find_footers(["a", "CC(=O)O", "Star Trek: Nemesis", "The Lord of the Rings"], {"a"}) == []


def test_sums_footers_and_slips_are_named_and_taken_out() -> None:
    said = begin("ligand,S1,S2,Mean\nL1,1,2,1.5\nl1,3,4,3.5\nMittelwert,2,3,2.5\n* by hand,,,\n")
    assert (
        "Row 'Mittelwert': named like a sum, mean or count of others, but it counts like any other row."
        in said
    )
    assert "Row '* by hand': without a value, like a footer, but counts as a row." in said
    assert "Column 'Mean': named like a sum, mean or count" in said
    assert "Rows 'L1' and 'l1': named nearly alike, but taken for different rows." in said
    assert "maxentry remove-rows LABEL" in said
    assert "3 columns, 9 values told" in said  # nothing is left out by itself
    good("remove-rows", "Mittelwert", "* by hand")
    good("remove-cols", "Mean")
    assert "named nearly alike" in good("add-rows", "L-1").stderr
    assert "named" not in begin("ligand,S1,S2\nL1,1,2\nL2,3,4\nL3,,\n", name="plain")


def test_a_line_of_counts_is_named_where_it_can_be_one() -> None:
    said = begin("lig,S1,S2\nL1,0.5,0.3\nL2,0.1,0.7\nMean,0.3,0.5\nn,2,2\n")
    assert "Rows 'Mean'; 'n': named like a sum, mean or count of others" in said
    assert find_totals(["L1", "L2", "N="]) == ["N="]
    assert find_totals(["L1", "L2", "Anzahl", "Mittelwert"]) == ["Anzahl", "Mittelwert"]
    for labels in (["C", "H", "N"], ["n", "L1", "L2", "L3"], ["L1", "m", "n"], [1, 2, 3]):
        assert find_totals(labels) == []


def test_absent_values_are_named_with_their_places() -> None:
    said = refuse("lig,S1,S2\nL1,n.d.,0.3\nL2,n.d.,0.7\nL3,0.5,n.d.\n")
    assert said.endswith("Likewise line 3, column S1 ('n.d.') and 1 more.")
    said = refuse("lig,S1,S2\nL1,n.d.,0.3\nL2,n.d.,0.7\n")
    assert "long table" not in said


def test_python_warns_of_the_same_labels() -> None:
    frame = pd.DataFrame({"S1": [1.0, 2.0, 1.5], "S2": [2.0, 3.0, 2.5]}, index=["L1", "L2", "Mean"])
    with pytest.warns(
        UserWarning, match=r"Row 'Mean': named like a sum, mean or count of others.*\n.*or the frame"
    ):
        warn_of_labels(Observations.of(frame))
    with pytest.warns(UserWarning, match="Rows 'L1' and 'l1': named nearly alike"):
        Campaign.create("sqlite://", "x", ["L1", "l1"], ["a", "b"]).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_labels(Observations.of(frame.iloc[:2]))
        warn_of_labels(Observations.of(np.eye(3)))


def test_values_far_beyond_a_scale_are_refused_everywhere() -> None:
    table, percent = "row,x,y\na,50,{}\nb,60,70\n", ("--limits", "0,100")
    assert "xpected a value from 0 to 100, got 972 at row 'a', column 'y'" in refuse(
        table.format(972), *percent
    )
    begin(table.format(109), *percent)  # noise may go a little beyond
    told = refused("tell", "--row", "b", "--col", "x", "--value", "880", "--again")
    assert "got 880 at row 'b', column 'x': write 100 if it is at the end of the scale or beyond." in told
    assert "got -11" in refused("correct", "--row", "a", "--col", "x", "--value", "-11")
    good("tell", "--row", "b", "--col", "x", "--value", ">880", "--again")  # a limit says so itself
    begin(table.format(972), name="open")
    said = refused("set", "--limits", "0,100", "-c", "open")
    assert "got (0.0, 100.0) and 972 at row 'a', column 'y'; correct that value first" in said
    good("set", "--limits", ",100", "-c", "open")  # open at one end: no width to judge by
    with Campaign.create("sqlite://", "x", ["a", "b"], ["x", "y"], limits=(0, 1)) as campaign:
        with pytest.raises(DataError, match="expected a value from 0 to 1, got 5"):
            campaign.tell(row="a", col="x", value=5.0)
        with pytest.raises(DataError, match="got 5"):
            campaign.tell(row=["a", "b"], col=["x", "x"], value=[0.5, 5.0])
        campaign.tell(row="a", col="x", value=1 + 0.9 * BEYOND)
        with pytest.raises(ParameterError, match="correct that value first"):
            campaign.set(limits=(0, 0.5))


def test_complete_warns_of_values_far_beyond_a_scale() -> None:
    data = Observations.of(np.array([[0.2, 5.0], [7.0, 0.4]]))
    law = Likelihood(limits=(0.0, 1.0))
    with pytest.warns(
        UserWarning, match=r"expected values from 0 to 1, got 5 at row 0, column 1 \(and 1 more\)"
    ):
        warn_of_beyond(data, law.limits)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_beyond(data, (0.0, float("inf")))
        warn_of_beyond(data, None)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("when,user,item,rating\n2024-01-05,u1,i1,3\n2024-01-06,u1,i2,4\n2024-01-07,u2,i1,5\n", "user, item, rating"),
        ("time,userId,itemId,r\n1600000000,1,1,3\n1600000001,1,2,4\n1600000002,2,1,5\n", "userId, itemId, r"),
        ("run_id,model,task,score\n1,a,x,0.1\n2,a,y,0.2\n3,b,x,0.3\n", "model, task, score"),
        ("model,task,score,wann\na,x,0.1,05.01.2024 12:30\na,y,0.2,6.1.2024\nb,x,0.3,7.1.24\n", "model, task, score"),
        ("plate,ligand,substrate,yield\nP1,a,x,1\nP1,a,y,2\nP2,b,x,3\n", "ligand, substrate, yield"),
    ],
    ids=["dates first", "seconds first", "ids first", "dates last", "plates first"],
)  # fmt: skip
def test_lists_are_known_beside_dates_and_ids(text: str, names: str) -> None:
    assert f"read as a long table, one measurement a line: {names}." in begin(text)


def test_a_frame_with_times_first_is_long() -> None:
    frame = pd.DataFrame(
        {
            "time": pd.to_datetime(["2024-01-05", "2024-01-06", "2024-01-07"]),
            "user": [1, 1, 2],
            "item": [1, 2, 1],
            "rating": [3.0, 4.0, 5.0],
        }
    )
    with pytest.warns(UserWarning, match="row='user', col='item', value='rating'"):
        assert Observations.of(frame).shape == (2, 2)
    assert find_long(["time", "a", "b"], [["1:00", "2:00", "3:00"], [1, 2, 3], [4, 5, 6]]) == {}


def test_several_bad_cells_are_named_at_once() -> None:
    wide = refuse("row,x,y\na,n.d.,2\nb,1,fehlgeschlagen\nc,error,3\nd,4,5\n")
    assert wide.startswith("t.csv, line 2, column x: 'n.d.' is not a number.")
    assert "or write failed there" in wide
    assert wide.endswith("Likewise line 3, column y ('fehlgeschlagen') and 1 more.")
    long = refuse("row,col,value\na,x,oh\na,y,1\nb,x,ah\nb,y,uh\nc,x,2\n")
    assert long.endswith("(--kind grades --levels A,B,C). Likewise line 4, column value ('ah') and 1 more.")
    good("new", "lab", "--shape", "3x3")
    Path("p.csv").write_text("row,col,value\nr1,c1,3 mg\nr2,c2,4 mg\nr3,c3,5 mg\nr1,c2,6 mg\n")
    told = refused("tell", "p.csv")
    assert told.endswith("Likewise line 3, column value ('4 mg'); line 4, column value ('5 mg') and 1 more.")


def test_small_stumbles_of_files() -> None:
    copies = begin("row,col,value\na,x,1.25\na,x,1.25\nb,y,2.5\n", name="copies")
    assert "line 3 is the same as an earlier line in every cell, and counted as measured again" in copies
    remarks = begin("row,x,y,Bemerkung\na,1,2,ok\nb,3,4,trüb\n", name="remarks")
    assert "columns of remarks are not used: 'Bemerkung'." in remarks
    assert "2 columns, 4 values told" in remarks
    both = refuse("model,task,score,seconds\na,x,0.1,3\na,y,0.2,4\nb,x,0.3,5\n")
    assert "pass --names model,task,score (or seconds as the last)." in both
    odd = refuse("row,x,y\na,pass,FAIL\nb,pass,timeout\nc,FAIL,pass\n")
    assert odd.startswith("t.csv, line 3, column y: expected yes or no")
    assert "got 'timeout'. Leave it empty" in odd
    for nameless in ("a,x,0.5\na,y,0.6\nb,x,0.7\n", "a,x,5\na,z,4\nb,x,3\nb,z,2\n"):
        assert "put a line of names before it" in refuse(nameless)
    assert "look like values (0.5, 0.3, 0.9, …)" in begin(
        "a,0.5,0.3,0.9\nb,1,2,3\nc,1,2,3\n", name="nameless"
    )
    assert "look like values" not in begin("dose,0.1,0.3,0.9\nb,1,2,3\nc,1,2,3\n", name="doses")
    comma = refuse("row,x,y\na,1,5,2,5\nb,1,5,2,5\n")
    assert "If its numbers have decimal commas, separate its cells by semicolons" in comma
    begin('row,x,y\na,"1,5",2\nb,"2,5",3\n', name="quoted")
    percents = "row,x,y,z\n" + "".join(f"r{k},{k},{100 - k},100\n" for k in range(0, 9, 2)) + "q,<0.5,100,0\n"
    assert "set --limits 0,100" in begin(percents, name="percents")
    assert "(did you mean 'L2'?)" in refused(
        "tell", "--row", "l2", "--col", "x", "--value", "1", "-c", _named()
    )


def _named() -> str:
    good("new", "named", "--row", "L1", "--row", "L2", "--col", "x", "--col", "y")
    return "named"


def test_long_labels_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """In which a slip would be looked for at every letter, and brackets for each other."""
    monkeypatch.setattr(doubts, "_fold", lambda text: pytest.fail("a long label was read"))
    assert find_alike(["methanol" * 40, "methanoll" * 40], known=["a" * 100_000]) == []
    assert not is_total("(" * 1_000_000)
    assert find_footers(["a", "*" + "x" * 1_000_000], {"a"}) == []


WIDE = "t1,t2,t3\nm1,pass,fail,pass\nm2,fail,fail,pass\nm3,pass,pass,fail\n"


@pytest.mark.parametrize("first", ["model", "task", "id", "date", "run_id"])
def test_a_wide_table_of_yes_and_no_is_no_list(first: str) -> None:
    said = good_new(f"{first},{WIDE}")
    assert "3 rows, 3 columns, 9 values told" in said.stdout + said.stderr


@pytest.mark.parametrize("names", ["candidate,question,score,comment", "batch,solvent,yield,operator"])
def test_labels_of_a_list_may_be_called_like_dates_and_batches(names: str) -> None:
    lines = "A,q1,1,x\nA,q2,2,y\nB,q1,3,x\nB,q2,4,y\n"
    assert "read as a long table" in begin(f"{names}\n{lines}")


def test_names_that_begin_with_a_number_are_labels() -> None:
    said = begin(
        "Ligand;Substrat;Ausbeute\nXPhos;4-Bromanisol;45,5\nXPhos;2-Bromtoluol;50\nSPhos;4-Bromanisol;3\n"
    )
    assert "read as a long table" in said
    assert not find_long(["a", "b", "c"], [["x", "x"], ["12 nM", "13 nM"], [1.0, 2.0]])


def test_grades_in_one_column_are_no_remarks() -> None:
    film = "film,ann,bob,carl\nf1,low,,\nf2,high,,\nf3,mid,,\n"
    said = good_new(film, "--kind", "grades", "--levels", "low,mid,high")
    assert "remarks" not in said.stderr
    assert "3 values told" in said.stdout + said.stderr
    assert "--names compound,target," in refuse("compound,target,ic50,hill\na,t1,1,2\nb,t2,3,4\n")


def good_new(text: str, *more: object):  # type: ignore[no-untyped-def]
    Path("t.csv").write_text(text, encoding="utf-8")
    return good("new", "lab", "--from", "t.csv", *more)


@pytest.mark.parametrize("names", ["10²,10³", '"1,234.5",b', "+-5,7"])
def test_odd_names_of_columns_are_names(names: str) -> None:
    assert "This is a bug" not in begin(f"row,{names}\na,1,2\nb,3,4\n")


def test_a_value_named_by_a_number_is_a_value() -> None:
    assert "read as a long table" in begin("sample,buffer,450\na,x,1\na,y,2\nb,x,3\n")
    assert "expected a line of names first" in refuse("a,x,1.5\na,y,2\nb,x,3\nb,y,4\n")


LOG = [
    "r1,2026-10-02T01:15:00Z,m1,t1,0.5",
    "r2,2026-10-02T01:16:00Z,m1,t2,0.6",
    "r3,2026-10-02T01:17:00Z,m2,t1,0.7",
]
LOG += ["r4,2026-10-02T01:18:00Z,m2,t2,0.8", "r5,2026-10-02T01:19:00Z,m3,t1,0.9", LOG[0]]


def test_a_log_with_a_copied_line_is_a_list() -> None:
    said = begin("run_id,timestamp,model,task,score\n" + "\n".join(LOG) + "\n")
    assert "read as a long table, one measurement a line: model, task, score" in said


def test_a_log_with_a_second_number_names_the_columns_to_give() -> None:
    lines = "\n".join(f"{line},{k}.5" for k, line in enumerate(LOG))
    said = refuse(f"run_id,timestamp,model,task,score,latency\n{lines}\n")
    assert "--names model,task,score" in said
    assert "remarks" not in said


def test_python_warns_of_copied_lines() -> None:
    frame = pd.DataFrame(
        {
            "row": ["a", "a", "b", "a"],
            "col": ["x", "y", "x", "x"],
            "value": [1.0, 2.0, 3.0, 1.0],
            "day": [1, 1, 1, 1],
        }
    )
    said = (
        "Line 4 is the same as an earlier line in every cell, and counted as measured again. Delete copies."
    )
    with pytest.warns(UserWarning, match=said):
        complete(frame, rank=0, sampling=SHORT, seed=1)
    with pytest.warns(UserWarning, match=said):
        Campaign.create("sqlite://", "x", ["a", "b"], ["x", "y"], values=frame).close()
    for other in (frame.assign(day=[1, 1, 1, 2]), frame.assign(value=[1, 2, 3, 1.5]), frame.iloc[:3]):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            complete(other, rank=0, sampling=SHORT, seed=1)
            Campaign.create("sqlite://", "x", ["a", "b"], ["x", "y"], values=other).close()
        assert not [w for w in caught if "earlier line" in str(w.message)]


def copies_said(frame: Any) -> bool:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        complete(frame, 0, sampling=Sampling(chains=4, anneal=10, settle=10, draws=4, thin=1), progress=False)
    return any("the same as an earlier line" in str(note.message) for note in said)


def test_replicates_that_agree_by_chance_and_lines_told_apart_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    twice = pd.DataFrame({"row": list("aabbccdd") * 2, "col": list("xy") * 8, "value": [*np.arange(8.0)] * 2})
    assert copies_said(twice)
    assert copies_said(twice.assign(note=None))
    dated = twice.set_index(pd.date_range("2026-01-01", periods=16))
    assert not copies_said(dated)
    empty = twice.assign(value=np.arange(16.0))
    empty.loc[[0, 8], "value"] = np.nan
    assert not copies_said(empty)
    grades = rng.integers(1, 6, 60).astype(float)
    assert not copies_said(pd.DataFrame({"row": list("abcd") * 15, "col": ["x", "y"] * 30, "value": grades}))
