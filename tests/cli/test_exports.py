"""What is exported says the same when it is read again: every kind, wide and long, plain and German."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.run import answer, good, refused

from maxentry.campaign.campaign import Campaign

LIMITS = "row,x,y,z\na,<0.5,0.25..0.75,\nb,1.5,>100,2\nc,,1e-05,-3.5\n"
KINDS = {
    "limits": (LIMITS, []),
    "scale": ("row,x,y\na,0,100\nb,2.5,<1.5\n", ["--limits", "0,100"]),
    "yes and no": ("row,x,y\na,pass,fail\nb,,+\nc,-,\n", ["--kind", "yes/no"]),
    "named grades": ("row,x,y\na,none,v1.5\nb,=best,\n", ["--kind", "grades", "--levels", "none,v1.5,=best"]),
    "stars": ("row,x,y\na,0.5,1\nb,1.5,\n", ["--kind", "grades", "--levels", "0.5,1,1.5"]),
}
FORMS = ["csv", "excel", "tsv"]


def statements(name: str) -> list[tuple[object, ...]]:
    with Campaign.open("maxentry.db", name) as campaign:
        state = campaign.state
        low, high = (
            end.tolist() for end in (state.ends if not state.settings.likelihood.discrete else (state.values,) * 2)
        )  # fmt: skip
        return sorted(zip(state.told.rows.tolist(), state.told.cols.tolist(), low, high, strict=True))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", ["--wide", "--long"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_exported_says_the_same(kind: str, shape: str, form: str) -> None:
    table, options = KINDS[kind]
    Path("first.csv").write_text(table)
    good("new", "one", "--from", "first.csv", *options)
    good("export", shape, "--format", form, "-o", "out.csv", "-c", "one")
    labels = [
        word for side, names in (("row", "abc"), ("col", "xyz")) for word in _labels(table, side, names)
    ]
    good("new", "two", "--from", "out.csv", *labels, *options)
    assert statements("two") == statements("one")


def _labels(table: str, side: str, names: str) -> list[str]:
    """Options that name all labels in their order: a long table lacks those without a value."""
    known = table.split("\n")[0].split(",")[1:] if side == "col" else [line[0] for line in table.split()[1:]]
    return [word for name in names if name in known for word in (f"--{side}", name)]


def test_a_german_export_has_commas_in_limits() -> None:
    Path("t.csv").write_text(LIMITS)
    good("new", "c", "--from", "t.csv")
    good("export", "--wide", "--format", "excel", "-o", "wide.csv")
    assert Path("wide.csv").read_text("utf-8-sig").splitlines() == [
        "row;x;y;z", "a;<0,5;0,25..0,75;", "b;1,5;>100;2", "c;;1e-05;-3,5",
    ]  # fmt: skip
    good("export", "--format", "excel", "-o", "long.csv")
    assert ";a;y;0,25..0,75;" in Path("long.csv").read_text("utf-8-sig")


def test_repeated_answers_of_a_wide_export_are_refused_when_read() -> None:
    Path("t.csv").write_text("row,col,value\na,x,yes\nb,y,no\nb,x,yes\n")
    good("new", "c", "--from", "t.csv", "--kind", "yes/no")
    good("tell", "--row", "a", "--col", "x", "--value", "no", "--again")
    good("export", "--wide", "-o", "wide.csv")
    assert Path("wide.csv").read_text() == "row,x,y\na,yes | no,\nb,yes,no\n"
    assert [line["value"] for line in answer("export")["entries"]] == ["yes", "no", "yes", "no"]
    assert "got 'yes | no'" in refused("new", "d", "--from", "wide.csv", "--kind", "yes/no")


def test_the_first_column_keeps_its_name() -> None:
    Path("t.csv").write_text("ligand,x,y\na,1,2\nb,3,\n")
    good("new", "c", "--from", "t.csv")
    good("export", "--wide", "-o", "wide.csv")
    assert Path("wide.csv").read_text() == Path("t.csv").read_text()
    good("set", "--row-name", "base")
    assert good("export", "--wide").stdout.splitlines()[0] == "base,x,y"
    good("set", "--drop", "row-name")
    assert good("export", "--wide").stdout.splitlines()[0] == "row,x,y"
    assert "Expected row_name of 1 to 200" in refused("set", "--row-name", "a\tb")
    with Campaign.open("maxentry.db", "c") as campaign:
        campaign.set(row_name="ligand")
        assert campaign.export(wide=True, frame="pandas").index.name == "ligand"
        assert campaign.export(wide=True, frame="polars").columns == ["ligand", "x", "y"]
