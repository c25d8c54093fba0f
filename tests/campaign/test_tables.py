"""Plates as labs hand them back: CSV of all dialects, Parquet, frames, plain columns."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.campaign.stand_ins import campaign, lowest

from maxentry.campaign.campaign import Campaign
from maxentry.errors import CampaignError, DataError, LabelError, MissingDependencyError

PLATE = """id,row,col,value
1,a,x,1.5
2,a,y,
3,b,x,FAILED
4,b,y,-2e-3
"""


@pytest.fixture
def asked() -> Campaign:
    """Ids 1 to 4: a x, a y, b x, b y."""
    c = campaign(rows=["a", "b"], cols=["x", "y"], policy=lowest)
    c.ask(4)
    return c


def statuses(c: Campaign) -> list[str]:
    return c.asked(frame="columns")["status"]


def values(c: Campaign) -> list[float]:
    return c.export(frame="columns")["value"]


def frame() -> pd.DataFrame:
    return pd.read_csv(io.StringIO(PLATE))


def plain(path: Path) -> Path:
    path.write_text(PLATE)
    return path


def excel(path: Path) -> Path:
    path.write_bytes(b"\xef\xbb\xbf" + PLATE.replace("\n", "\r\n").encode())
    return path


def parquet(folder: Path) -> Path:
    path = folder / "plate.parquet"
    pl.DataFrame(
        {"id": [1, 2, 3, 4], "value": [1.5, None, None, -2e-3], "failed": [False, False, True, None]}
    ).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "form",
    [
        lambda folder: plain(folder / "plate.csv"),
        lambda folder: str(plain(folder / "plate.csv")),
        lambda folder: excel(folder / "plate.csv"),
        lambda folder: io.StringIO(PLATE),
        lambda folder: io.StringIO(PLATE.replace(",", ";")),
        lambda folder: io.StringIO(PLATE.replace(",", "\t")),
        lambda folder: io.StringIO(PLATE.replace(",", ";").replace(".", ",")),
        lambda folder: io.StringIO(PLATE.replace(",", "\t").replace("1.5", "1,5")),
        lambda folder: io.BytesIO(PLATE.encode("utf-16")),
        lambda folder: io.StringIO("\n \n" + PLATE),
        lambda folder: io.StringIO("\ufeffsep=;\r\n" + PLATE.replace(",", ";")),
        lambda folder: io.StringIO('"sep=\t"\n' + PLATE.replace(",", "\t")),
        lambda folder: io.StringIO(PLATE.replace("value", "value,,").replace("1.5", "1.5,,")),
        lambda folder: io.StringIO(PLATE.replace("id,row,col", " ID ,Row,COLUMN")),
        lambda folder: io.StringIO(PLATE + ",,,\n"),
        lambda folder: io.StringIO(PLATE.replace("1,a,x", ",a,x").replace("3,b,x", ",b,x")),
        parquet,
        lambda folder: frame(),
        lambda folder: pl.from_pandas(frame()),
        lambda folder: pl.from_pandas(frame()).lazy(),
        lambda folder: frame().sample(frac=1, random_state=3),
        lambda folder: frame().assign(value=[1.5, None, None, -2e-3], status=["told", "pending", "Failed", ""]),
        lambda folder: {"id": [1, 2, 3, 4], "value": [1.5, float("nan"), "failed", -2e-3]},
        lambda folder: {"row": [*"aabb"], "col": [*"xyxy"], "value": [1.5, "", " fail ", "-0.002"]},
    ],
)  # fmt: skip
def test_a_partial_plate_in_every_form(asked: Campaign, form: Any, tmp_path: Path) -> None:
    receipt = asked.tell(form(tmp_path))
    assert (receipt.told, receipt.failed, receipt.known) == (2, 1, 0)
    assert statuses(asked) == ["told", "pending", "failed", "told"]
    assert sorted(values(asked)) == [-2e-3, 1.5]


def test_a_plate_may_come_again_with_more_of_it(asked: Campaign) -> None:
    asked.tell(io.StringIO(PLATE))
    assert asked.tell(io.StringIO(PLATE)) == (0, 0, 3, 1)
    assert asked.tell(io.StringIO(PLATE.replace("2,a,y,", "2,a,y,7"))) == (1, 0, 3, 0)
    assert statuses(asked) == ["told", "told", "failed", "told"]


def test_a_decimal_comma_between_semicolons_may_have_three_figures(asked: Campaign) -> None:
    asked.tell(io.StringIO("id;value\n1;1,234\n2;-,5\n"))
    assert values(asked) == [1.234, -0.5]


def test_empty_lines_are_no_lines_and_count_as_none(asked: Campaign) -> None:
    assert asked.tell(io.StringIO("\nid;value\n\n1;3\n;\n2;\n;;\n\n")) == (1, 0, 0, 1)
    with pytest.raises(DataError, match="line 4"):
        asked.tell(io.StringIO("\nid;value\n\n1;x\n"))


@pytest.mark.parametrize("library", [pd, pl])
def test_a_short_list_is_known_by_the_labels_of_the_campaign(library: Any, tmp_path: Path) -> None:
    columns = {"substrate": ["S2", "S1"], "ligand": ["L1", "L2"], "yield": [0.5, 0.7], "who": ["ann", "bob"]}
    names = {"rows": ["L1", "L2", "L3"], "cols": ["S1", "S2"]}
    with campaign(**names) as c:
        said = "The table: read as a list: row = 'ligand', column = 'substrate', value = 'yield'."
        with (
            pytest.warns(UserWarning, match="1 column is not used: 'who'"),
            pytest.warns(UserWarning, match=said),
        ):
            assert c.tell(library.DataFrame(columns)).told == 2
        assert c.export(frame="columns")["row"] == ["L1", "L2"]
        assert c.export(frame="columns")["col"] == ["S2", "S1"]
        wide = {"ligand": ["L3"], "S1": [1.5], "S2": [2.5]}
        assert c.tell(library.DataFrame(wide)).told == 2
        two = {"ligand": ["L1"], "substrate": ["S1"], "yield": [0.5], "time": [3.0]}  # which are the values?
        with pytest.raises(DataError, match="'S1'"):
            c.tell(library.DataFrame(two))


WORDS = {"rows": ["L1", "L2", "L3"], "cols": ["S1", "S2"]}


@pytest.mark.parametrize(
    ("given", "text", "named"),
    [
        # A matrix with a wrong name: its first columns hold known labels, which are numbers
        ({"rows": [*range(1, 11)], "cols": [*range(1, 6)]}, "item,1,6\n1,1,2\n2,5,2\n3,3,4\n", "6"),
        ({"rows": [*range(1, 11)], "cols": [*range(1, 6)]}, "item,7,6\n1,1,2\n2,5,2\n3,3,4\n", "7"),
        # Numbers fit both ways: which are the rows?
        ({"rows": 10, "cols": 10}, "assay,compound,y\n1,2,0.5\n2,5,2.5\n3,3,4.5\n", "compound"),
        # Labels of both sides
        ({"rows": ["A", "B", "C"], "cols": ["A", "B"]}, "to,from,y\nA,B,1.5\nC,A,2.5\n", "B"),
        ({"rows": ["A", "B", "C"], "cols": ["A", "B"]}, "from,to,y\nA,B,1.5\nB,A,2.5\n", "B"),
        # Two columns hold rows
        (WORDS, "from,to,on,y\nL1,L2,S1,1.5\nL2,L3,S2,2.5\n", "L2"),
        # A list without a line of names, and a column of the matrix among words
        (WORDS, "L1,S1,0.5\nL2,S2,0.7\n", "S2"),
        (WORDS, "L1,S1,0.5\nL1,S2,0.7\nL2,S2,0.9\n", "S2"),
        (WORDS, "ligand,substrate,S1\nL1,S1,0.5\nL2,S2,0.7\n", "S1"),
    ],
)
def test_nothing_is_guessed_where_a_table_may_be_read_otherwise(given: Any, text: str, named: str) -> None:
    with campaign(**given) as c:
        with pytest.raises((DataError, LabelError), match=f"'{named}'"):
            c.tell(io.StringIO(text))
        assert values(c) == []


def test_reasons_are_kept(asked: Campaign) -> None:
    asked.tell(io.StringIO("id,value,failed,reason\n1,,yes,spilt\n2,3,no,\n"))
    assert asked.asked(frame="columns")["reason"][0] == "spilt"
    assert statuses(asked)[:2] == ["failed", "told"]


def test_asked_and_unasked_measurements_may_be_in_one_table(asked: Campaign) -> None:
    asked.add_rows(["c"])
    asked.tell(io.StringIO("id,row,col,value\n1,,,4\n,c,x,5\n"))
    assert values(asked) == [4.0, 5.0]
    assert asked.export(frame="columns")["id"] == [1, None]


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        (PLATE.replace("1,a,x", "1,b,x"), DataError, r"row 'a', column 'x' with id 1.*line 2"),
        (PLATE.replace("1,a", "1,q"), LabelError, "known row labels"),
        (PLATE.replace("1.5", "1.5.1"), DataError, "line 2"),
        (PLATE.replace("1.5", "1_5"), DataError, "line 2"),
        (PLATE.replace("4,b", "44,b"), DataError, "ids are 1 to 4"),
        (PLATE.replace("4,b", "four,b"), DataError, "line 5: expected an id"),
        (PLATE.replace("4,b,y", ",b,"), DataError, "line 5"),
        (PLATE.replace("2,a,y,", "1,a,x,9"), CampaignError, "expected one value for id 1"),
        (PLATE.replace("2,a,y,", "1,a,x,failed"), CampaignError, "id 1, which has one"),
        ("id,value,failed\n1,3,yes\n", DataError, "got both"),
        ("id,value,failed\n1,3,perhaps\n", DataError, "yes or no"),
        ("id,value,value\n1,3,4\n", DataError, "several columns are named value"),
        ("id,value\n1,3,4\n", DataError, "line 2: expected 2 cells, got 3"),
        ("1,a,x,1.5\n", DataError, "got 1, a, x, 1.5"),
        ("", DataError, "a line of names"),
        ("\n\n", DataError, "a line of names"),
        ("sep=;\n", DataError, "a line of names"),
        ('id,value\n1,"3\n', DataError, "line 2: not valid CSV"),
        ("id,note,value\n1,\"at 5 o'clock,3\n2,,4\n", DataError, "line 3: not valid CSV"),
        ('id,value\n1,"1,234"\n', DataError, "line 2, column value: '1,234' may mean 1234 or 1.234"),
        (
            "id\tvalue\n1\t1,234\n",
            DataError,
            "line 2, column value: '1,234' may mean 1234 or 1.234",
        ),
        ("id\tvalue\n1\t-1,234e2\n", DataError, "may mean"),
        ("id\tvalue\n1\t1,234,567\n", DataError, "is not a number"),
        ("id;value\n1;1,234,567\n", DataError, "is not a number"),
        ("id;value\n1;1.23,5\n", DataError, "is not a number"),
    ],
)
def test_a_plate_with_a_mistake_is_refused_whole(
    asked: Campaign, text: str, error: type[Exception], match: str
) -> None:
    version = asked.state.version
    with pytest.raises(error, match=match):
        asked.tell(io.StringIO(text))
    assert asked.state.version == version


def test_files_that_cannot_be_read_are_named(asked: Campaign, tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes(b"id,value\n1,\x81")
    with pytest.raises(DataError, match="CSV UTF-8"):
        asked.tell(latin)
    with pytest.raises(DataError, match="does not exist"):
        asked.tell(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="does not exist"):
        asked.tell(tmp_path / "nothing.parquet")
    with pytest.raises(DataError, match="the folder"):
        asked.tell(tmp_path)
    broken = tmp_path / "broken.parquet"
    broken.write_text("not parquet")
    with pytest.raises(DataError, match="Parquet"):
        asked.tell(broken)


def test_parquet_by_polars_or_by_nothing(
    asked: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet(tmp_path)
    monkeypatch.setattr("maxentry.tables.parquet.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[parquet\]"):
        asked.tell(path)
    monkeypatch.setattr("maxentry.tables.parquet.find_spec", lambda name: name == "polars" or None)
    assert asked.tell(path).told == 2


def test_frames_with_repeated_names_are_refused(asked: Campaign) -> None:
    with pytest.raises(DataError, match="expected"):
        asked.tell(pd.DataFrame([[1, 2.0, 3.0]], columns=["id", "value", "value"]))


def test_the_batch_itself_with_a_column_of_values_is_a_table() -> None:
    for kind in ("pandas", "polars"):
        with campaign() as c:
            batch = c.ask(3, frame=kind)  # type: ignore[arg-type]
            if kind == "pandas":
                batch["value"] = [1.0, 2.0, 3.0]
            else:
                batch = batch.with_columns(pl.Series("value", [1.0, 2.0, 3.0]))
            assert c.tell(batch).told == 3


def test_a_big_import_takes_time_in_proportion() -> None:
    with campaign(rows=500, cols=200) as c:
        grid = {"row": [i for i in range(100) for _ in range(200)], "col": list(range(200)) * 100}
        start = time.process_time()  # however busy the machine is
        assert c.tell({**grid, "value": [0.5] * 20_000}).told == 20_000
        assert c.tell({**grid, "value": [0.5] * 20_000}).known == 20_000
        assert time.process_time() - start < 20  # about 1 s; quadratic, it would be many minutes
