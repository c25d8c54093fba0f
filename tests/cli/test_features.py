"""Features from the shell: CSV of any dialect and Excel, with new campaigns, later, and with new rows."""

from pathlib import Path

import numpy as np
import pandas as pd
from tests.cli.run import answer, good, refused

from maxentry.campaign.campaign import Campaign
from maxentry.features import FeatureTable

GERMAN = "Verbindung;logP;polar;solvent\nK1;1,5;yes;THF\nK2;2,25;no;DMF\nK3;;yes;THF\nK4;-0,3;no;water\n"


def features(side: str = "row") -> FeatureTable:
    with Campaign.open("maxentry.db") as campaign:
        known = campaign.settings.features_of(side)
    assert known is not None
    return known


def begin(*words: object) -> str:
    Path("descriptors.csv").write_text(GERMAN)
    given = ("--row-features", "descriptors.csv", "--categories", "solvent", "--col", "x", "--col", "y")
    return good("new", "lab", "--seed", 1, *given, *words).stderr


def test_a_new_campaign_takes_rows_and_features_from_one_file() -> None:
    said = begin()
    assert "missing values are taken as the mean of their column, and marked: logP (1)" in said
    known = features()
    assert known.names == ("logP", "polar", "solvent")
    np.testing.assert_array_equal(known.cells[:, 0], [1.5, 2.25, np.nan, -0.3])
    with Campaign.open("maxentry.db") as campaign:
        assert campaign.settings.rows == ("K1", "K2", "K3", "K4")


def test_rows_of_a_table_find_theirs_in_a_larger_file_and_columns_have_theirs() -> None:
    Path("descriptors.csv").write_text(GERMAN)
    Path("yields.csv").write_text("row,x,y\nK4,1,2\nK2,3,\n")
    pd.DataFrame({"col": ["y", "x"], "size": [7.0, 9.5]}).to_excel("sizes.xlsx", index=False)
    said = good(
        "new", "lab", "--from", "yields.csv", "--row-features", "descriptors.csv", "--categories", "solvent",
        "--col-features", "sizes.xlsx",
    ).stderr  # fmt: skip
    assert "features of 2 unknown rows are left out: 'K1', 'K3'" in said
    np.testing.assert_array_equal(features().cells[:, 0], [-0.3, 2.25])
    np.testing.assert_array_equal(features("col").cells[:, 0], [9.5, 7.0])


def test_a_sheet_of_a_workbook_is_named_after_a_colon() -> None:
    with pd.ExcelWriter("all.xlsx") as book:
        pd.DataFrame({"row": ["a", "b", "c"], "note": [1.0, 2.0, 4.0]}).to_excel(
            book, sheet_name="Notes", index=False
        )
        pd.DataFrame({"row": ["b", "a", "c"], "logP": [7.0, 9.5, 1.0]}).to_excel(
            book, sheet_name="My sheet", index=False
        )
        pd.DataFrame({"row": ["d"], "logP": [3.0]}).to_excel(book, sheet_name="More", index=False)
    columns = ("--col", "x", "--col", "y")
    good("new", "lab", "--row-features", "all.xlsx:My sheet", *columns)
    np.testing.assert_array_equal(features().cells[:, 0], [7.0, 9.5, 1.0])
    good("add-rows", "--features", "all.xlsx:More")
    np.testing.assert_array_equal(features().cells[:, 0], [7.0, 9.5, 1.0, 3.0])
    said = refused("set", "--row-features", "all.xlsx:Mine")
    assert "all.xlsx: expected a sheet named 'Mine', got 'Notes', 'My sheet', 'More'" in said
    said = good("new", "first", "--row-features", "all.xlsx", *columns).stderr
    assert "all.xlsx, sheet 'Notes': the features are those of this sheet" in said
    assert "for another write all.xlsx:My sheet, all.xlsx:More" in said


def test_words_are_refused_with_the_option_that_declares_them() -> None:
    Path("descriptors.csv").write_text(GERMAN)
    words = ("new", "lab", "--row-features", "descriptors.csv", "--col", "x", "--col", "y")
    said = refused(*words)
    assert "'solvent', descriptors.csv, line 2: expected a number, got the text 'THF'" in said
    assert "--categories solvent" in said
    assert "got 'base'" in refused(*words, "--categories", "solvent,base", code=2)
    assert answer("list") == {"campaigns": []} if Path("maxentry.db").exists() else True


def test_rows_are_added_with_their_features_and_features_change_and_go() -> None:
    begin()
    Path("more.csv").write_text("row,logP,solvent\nK5,3.5,toluene\nK6,1,THF\n")
    assert answer("add-rows", "--features", "more.csv")["rows"] == 6
    np.testing.assert_array_equal(features().cells[4:, 0], [3.5, 1.0])
    Path("wrong.csv").write_text("row,logp\nK7,1\n")
    assert "Expected features among 'logP'" in refused("add-rows", "K7", "--features", "wrong.csv")
    good("remove-rows", "K1")
    assert len(features()) == 5
    Path("other.csv").write_text("row,mass\nK2,1\nK3,2\nK4,4\nK5,5\nK6,7\n")
    assert answer("set", "--row-features", "other.csv")["changed"] == ["row_features"]
    assert features().names == ("mass",)
    good("set", "--drop", "row-features")
    assert "row_features dropped" in good("history").stdout


def test_a_file_of_other_rows_is_refused() -> None:
    Path("other.csv").write_text("row,mass\nA,1\nB,2\n")
    said = refused("new", "lab", "--shape", "3x2", "--row-features", "other.csv")
    assert "Expected features by row label ('r1', ...), got 'A', ... and none of these" in said


def test_rows_without_a_measurement_are_predicted_and_asked_about_from_the_shell() -> None:
    rng = np.random.default_rng(0)
    rows, cols = [f"K{k}" for k in range(24)], [f"T{k}" for k in range(6)]
    F = rng.standard_normal((24, 2))
    truth = F @ rng.standard_normal((2, 6)) + F[:, [0]]
    measured = pd.DataFrame(truth + 0.1 * rng.standard_normal(truth.shape), rows, cols)
    measured = measured.where(rng.random(truth.shape) < 0.7)[:18]  # six rows have no measurement
    measured.to_csv("values.csv")
    table = pd.DataFrame(F, rows, ["logp", "charge"])
    table.to_csv("descriptors.csv", sep=";", decimal=",")
    good(
        "new", "lab", "--from", "values.csv", "--rows", "descriptors.csv", "--row-features", "descriptors.csv",
        "--seed", 1, "--rank", 1, "--effort", "quick",
    )  # fmt: skip
    good("posterior", "--wide", "-o", "mean.csv")
    mean = pd.read_csv("mean.csv", index_col=0).to_numpy()
    error = np.sqrt(((mean - truth)[18:] ** 2).mean())
    assert error < 0.5 * truth[18:].std()  # what the mean of each column would miss
    asked = answer("ask", 6)["entries"]
    assert any(entry["row"] in rows[18:] for entry in asked)
    assert all(np.isfinite(entry["mean"]) for entry in asked)


def test_complete_takes_features_and_predicts_rows_without_a_value() -> None:
    rng = np.random.default_rng(0)
    f = rng.standard_normal(16)
    Y = np.outer(f, [1.0, -2.0, 3.0, 2.0]) + 0.01 * rng.standard_normal((16, 4))
    names = [f"K{k}" for k in range(16)]
    pd.DataFrame({"row": names, "f": f}).to_csv("f.csv", index=False)
    table = pd.DataFrame(Y, names, list("wxyz"))
    table.loc["K15"] = np.nan
    table.to_csv("y.csv")
    words = ("complete", "y.csv", "--rank", 1, "--seed", 1, "--effort", "quick", "--long")
    entries = answer(*words, "--row-features", "f.csv")["entries"]
    found = [entry["mean"] for entry in entries if entry["row"] == "K15"]
    np.testing.assert_allclose(found, Y[15], atol=0.4)
    assert "'solvent'" in refused(*words, "--row-features", "f.csv", "--categories", "solvent", code=2)


def test_which_entries_were_observed_is_for_complete_and_not_for_campaigns() -> None:
    Y = np.add.outer(np.arange(12.0), [0.0, 3.0, 1.0, 2.0])
    Y[np.add.outer(np.arange(12), np.arange(4)) % 3 == 0] = np.nan
    pd.DataFrame(Y, [f"u{k}" for k in range(12)], list("wxyz")).to_csv("y.csv")
    words = ("complete", "y.csv", "--rank", 1, "--seed", 1, "--effort", "quick", "--long")
    plain, told = (
        [entry["mean"] for entry in answer(*words, *more)["entries"]]
        for more in ((), ("--row-features", "observed", "--col-features", "observed"))
    )
    assert not np.allclose(plain, told, rtol=1e-6)
    for command in (("--from", "y.csv"), ("--row", "r", "--row", "s", "--col", "x", "--col", "y")):
        said = refused("new", "lab", *command, "--row-features", "observed")
        assert "A campaign chooses what is measured" in said
    Path("observed").write_text("row,f\nu0,1\nu1,2\n")  # a file of that name is a file
    assert "10 rows without features" in good(*words, "--row-features", "observed").stderr


def test_rows_added_without_their_features_are_named() -> None:
    begin()
    Path("more.csv").write_text("row,logP\nZ1,0.5\nZ2,0.7\n")
    assert "marked: polar (2), solvent (2)" in good("add-rows", "--features", "more.csv").stderr
    assert "2 new rows without features: 'Z3', 'Z4'" in good("add-rows", "Z3", "Z4").stderr
    assert "without features" not in good("add-cols", "new").stderr


def test_status_names_features() -> None:
    begin()
    assert "of rows: 3 (logP, polar, solvent)" in good("status", "--fast").stdout
    assert answer("status", "--fast")["row_features"] == {"n": 3, "names": ["logP", "polar", "solvent"]}
    with Campaign.open("maxentry.db") as campaign:
        assert "features of rows: 3 (logP, polar, solvent)" in str(campaign.status())
