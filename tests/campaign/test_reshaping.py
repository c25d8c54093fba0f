"""Removing rows and columns, renaming and deleting campaigns: what stays, what is refused, what is found damaged."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxentry.campaign.backup import check_storage, copy_campaigns
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.ledger import snapshots
from maxentry.campaign.storage import Storage
from maxentry.errors import CampaignError, DataError, LabelError, MaxentryError, StorageError

ROWS, COLS = ["a", "b", "c", "d"], ["x", "y", "z"]
QUICK: dict[str, Any] = {"seed": 1, "acquisition": "balanced"}


def value(row: str, col: str) -> float:
    return 10.0 * ROWS.index(row) + COLS.index(col)


@pytest.fixture
def lab(tmp_path: Path) -> Any:
    with Campaign.create(
        tmp_path / "lab.db", "lab", ROWS, COLS, cache=tmp_path / "cache", **QUICK
    ) as campaign:
        batch = campaign.ask(8, frame="columns")
        values = [value(row, col) for row, col in zip(batch["row"], batch["col"], strict=True)]
        campaign.tell(batch["id"][:6], values[:6])
        campaign.fail(batch["id"][6:7])
        yield campaign


def test_the_id_of_a_deleted_campaign_is_not_given_again(lab: Campaign, tmp_path: Path) -> None:
    """Whoever still holds the deleted one finds that it is gone, and no damage."""
    file = tmp_path / "lab.db"
    Campaign.delete(file, "lab")
    with Campaign.create(file, "next", ROWS, COLS, **QUICK) as campaign:
        assert campaign.key.id > lab.key.id
        for look in (lab.status, lambda: lab.tell(row="a", col="x", value=1.0)):
            with pytest.raises(StorageError, match="it is gone") as refused:
                look()
            assert refused.value.code == "campaign_gone"
    with Storage(file) as storage, Storage(tmp_path / "copy.db", create=True) as copy:
        copy_campaigns(storage, copy)
        assert copy.names() == ["next"]


def entries(campaign: Campaign) -> dict[tuple[str, str], float]:
    table = campaign.export(frame="columns")
    return {(r, c): v for r, c, v in zip(table["row"], table["col"], table["value"], strict=True)}


def test_what_is_left_is_as_it_was(lab: Campaign) -> None:
    before = entries(lab)
    gone = sum(row == "b" for row, _ in before)
    assert lab.remove_rows(["b"]) == gone
    lab.remove_cols(["x"])
    assert entries(lab) == {(r, c): v for (r, c), v in before.items() if r != "b" and c != "x"}
    assert all(v == value(*entry) for entry, v in entries(lab).items())
    assert lab.state.shape == (3, 2)
    assert (lab.state.row_labels, lab.state.col_labels) == (("a", "c", "d"), ("y", "z"))
    asked = lab.asked(frame="columns")
    for row, col, status, reason in zip(*(asked[k] for k in ("row", "col", "status", "reason")), strict=True):
        assert (row == "b" or col == "x") <= (status in ("withdrawn", "failed"))
        assert status != "withdrawn" or reason in ("the row was removed", "the column was removed")
    wide = lab.export(wide=True, frame="columns")
    assert list(wide) == ["row", "y", "z"]
    more = lab.ask(20, frame="columns")
    assert set(more["row"]) <= {"a", "c", "d"}
    assert set(more["col"]) <= {"y", "z"}


def test_a_label_may_come_back(lab: Campaign) -> None:
    lab.remove_rows(["b", "a"])
    lab.add_rows(["b"])
    assert lab.state.row_labels == ("c", "d", "b")
    assert all(row != "b" for row, _ in entries(lab))
    lab.tell(row="b", col="x", value=7.0)
    assert entries(lab)["b", "x"] == 7.0
    lab.remove_rows(["c"])
    assert set(lab.export(everything=True, frame="columns")["row"]) <= {"a", "b", "c", "d"}


def test_a_renamed_row_keeps_all_that_is_known_of_it(lab: Campaign, tmp_path: Path) -> None:
    before, pending = entries(lab), lab.pending(frame="columns")
    lab.rename_rows({"b": "B-2"})
    lab.rename_cols({"x": "z", "z": "x"})  # names may change places
    rows, cols = {"b": "B-2"}, {"x": "z", "z": "x"}
    assert entries(lab) == {(rows.get(r, r), cols.get(c, c)): v for (r, c), v in before.items()}
    assert lab.pending(frame="columns")["row"] == [rows.get(r, r) for r in pending["row"]]
    assert (lab.state.row_labels, lab.state.col_labels) == (("a", "B-2", "c", "d"), ("z", "y", "x"))
    lab.tell(row="B-2", col="y", value=11.0, again=True)
    with Campaign.open(tmp_path / "lab.db") as again:
        assert again.state.row_labels == lab.state.row_labels
        assert again.history(frame="columns")["what"][-3:-1] == ["'b' to 'B-2'", "'x' to 'z', 'z' to 'x'"]
        with pytest.raises(LabelError):
            again.tell(row="q", col="y", value=1.0)
    check_storage(lab._storage)


def test_a_plate_from_before_a_renaming_is_understood(lab: Campaign) -> None:
    waiting = lab.pending(frame="columns")
    row = waiting["row"][0]
    lab.rename_rows({row: "NEW"})
    plate = {"id": waiting["id"][:1], "row": [row], "col": waiting["col"][:1], "value": [1.0]}
    with pytest.raises(LabelError) as refused:
        lab.tell(plate | {"row": ["other"]})
    assert refused.value.hint.startswith("Its id is of row 'NEW': write that, if it was renamed")
    with pytest.warns(UserWarning, match=f"Rows were renamed: '{row}' is read as 'NEW'"):
        assert lab.tell(plate).told == 1
    assert lab.tell(plate | {"row": ["NEW"]}).known == 1


def test_a_list_from_before_a_renaming_is_known_already(lab: Campaign, tmp_path: Path) -> None:
    log = {name: lab.export(frame="columns")[name] for name in ("row", "col", "value")}
    n = len(log["row"])
    lab.rename_rows({"b": "B", "c": "C"})
    lab.rename_cols({"x": "X"})
    lab.rename_rows({"B": "B-2"})
    for campaign in (lab, Campaign.open(tmp_path / "lab.db")):
        with pytest.warns(UserWarning, match="renamed") as said:
            assert campaign.tell(log) == (0, 0, n, 0)
        rows, cols = (str(w.message) for w in said)
        assert "'b' is read as 'B-2'" in rows
        assert "'c' is read as 'C'" in rows
        assert cols == "Columns were renamed: 'x' is read as 'X'."
    campaign.close()


def test_a_list_under_other_names_is_known_by_former_labels(tmp_path: Path) -> None:
    with Campaign.create(tmp_path / "lab.db", "lab", ["ant", "bee"], ["up", "down"], **QUICK) as lab:
        lab.rename_rows({"ant": "emmet"})
        lab.rename_cols({"up": "top"})
        file = tmp_path / "log.csv"
        file.write_text("animal,way,length\nant,up,1.5\nbee,down,2.5\n")
        with pytest.warns(UserWarning, match="read"):
            assert lab.tell(file).told == 2
        assert entries(lab) == {("emmet", "top"): 1.5, ("bee", "down"): 2.5}
        file.write_text("animal,up,down\nant,1.5,3.5\nbee,,2.5\n")
        with pytest.warns(UserWarning, match="renamed"):
            assert lab.tell(file) == (1, 0, 2, 0)


def test_a_label_that_has_meant_two_rows_is_not_understood(lab: Campaign) -> None:
    lab.rename_rows({"a": "A"})
    lab.add_rows(["a"])
    with pytest.warns(UserWarning, match="Another row was called 'a' before"):
        lab.tell(row="a", col="x", value=1.0)  # the row that is called so now
    assert entries(lab)["a", "x"] == 1.0
    lab.rename_rows({"a": "A-2"})
    lab.rename_rows({"b": "B", "c": "b"})
    lab.rename_rows({"b": "C"})
    lab.rename_rows({"d": "D"})
    lab.remove_rows(["D"])
    for row in ("a", "b", "d"):
        with pytest.raises(LabelError):
            lab.tell(row=row, col="y", value=5.0)
    with pytest.warns(UserWarning, match="'c' is read as 'C'"):
        assert lab.tell(row="c", col="y", value=21.0, again=True).told == 1


def test_a_label_that_a_removed_row_had_is_not_another_rows_former_one(lab: Campaign) -> None:
    lab.remove_rows(["b"])
    lab.rename_rows({"c": "b"})
    with pytest.warns(UserWarning, match="Another row was called 'b' before"):
        assert lab.tell(row="b", col="y", value=21.0, again=True).told == 1
    lab.rename_rows({"b": "B"})
    with pytest.raises(LabelError):
        lab.tell(row="b", col="y", value=5.0)
    with pytest.warns(UserWarning, match="'c' is read as 'B'"):
        assert lab.tell(row="c", col="y", value=21.0).known == 1


def test_a_label_that_another_row_had_before_is_named(tmp_path: Path) -> None:
    with Campaign.create(tmp_path / "lab.db", "lab", ["a", "b", "c"], ["x", "y"], **QUICK) as lab:
        lab.tell(row="a", col="x", value=1.0)
        lab.rename_rows({"a": "A"})
        lab.rename_rows({"c": "a"})
        with pytest.warns(
            UserWarning, match="Another row was called 'a' before. Values are of the row"
        ) as said:
            assert lab.tell({"row": ["a", "b"], "col": ["x", "x"], "value": [1.0, 2.0]}).told == 2
        assert len(said) == 1
        assert entries(lab) == {("A", "x"): 1.0, ("a", "x"): 1.0, ("b", "x"): 2.0}
        batch = lab.ask(3, frame="columns")
        lab.tell(
            {name: batch[name] for name in ("id", "row", "col")} | {"value": [1.0] * 3}
        )  # ids leave no doubt


def test_what_was_not_written_is_not_named(tmp_path: Path) -> None:
    """A former label is read as one that another row had before: only the first was written."""
    with Campaign.create(tmp_path / "lab.db", "lab", ["a", "b", "c"], ["x", "y"], **QUICK) as lab:
        lab.rename_rows({"a": "A"})
        lab.rename_rows({"c": "a"})
        with pytest.warns(UserWarning, match="'c' is read as 'a'") as said:
            assert lab.tell(row="c", col="x", value=1.0).told == 1
        assert len(said) == 1


def test_a_renaming_that_was_taken_back_leaves_labels_as_they_were(lab: Campaign) -> None:
    lab.rename_rows({"b": "B"})
    lab.rename_rows({"B": "b"})
    assert lab.tell(row="b", col="y", value=11.0, again=True).told == 1
    with pytest.warns(UserWarning, match="'B' is read as 'b'"):
        assert lab.tell(row="B", col="y", value=11.0).known == 1


def test_a_snapshot_has_former_labels(lab: Campaign, tmp_path: Path) -> None:
    lab.rename_rows({"a": np.int64(5), "b": "a"})
    lab.rename_cols({"x": "X"})
    state, file = lab.state, tmp_path / "state.npz"
    snapshots.save(state, file, "mark")
    again = snapshots.load(file, "mark")
    assert again is not None
    assert again.former == state.former
    assert (again.former.rows, again.former.cols) == ({"a": None, "b": "a"}, {"x": "X"})
    with np.load(file) as arrays:
        assert json.loads(arrays["about"].tobytes())["format"] == snapshots.WITH_FORMER


def test_other_labels_are_kept_as_a_reopened_campaign_has_them(lab: Campaign, tmp_path: Path) -> None:
    lab.rename_rows({"b": np.int64(5)})
    with Campaign.open(tmp_path / "lab.db") as again:
        assert repr(again.state.row_labels) == repr(lab.state.row_labels) == "('a', 5, 'c', 'd')"
    version = lab.state.version
    lab.rename_rows({"5": "5"})  # so it is called already
    assert lab.state.version == version


def test_a_fit_is_the_same_under_other_labels(lab: Campaign) -> None:
    mean = lab.posterior(progress=False).arrays.mean
    lab.rename_rows({"b": "B-2"})
    after = lab.posterior(progress=False)
    np.testing.assert_array_equal(after.arrays.mean, mean)
    assert list(after.to_frame()["row"][3:6]) == ["B-2"] * 3


def test_names_that_others_have_and_labels_that_are_not_there_are_refused(lab: Campaign) -> None:
    version = lab.state.version
    for names, error, words in (
        ({"no": "yes"}, LabelError, "no"),
        ({"a": "b"}, DataError, "'b'"),
        ({"a": "e", "b": "e"}, DataError, "'e'"),
        ({"a": None}, MaxentryError, "row"),
        ({"a": ""}, MaxentryError, "row"),
        ([("a", "e")], DataError, "mapping"),
    ):
        with pytest.raises(error, match=words):
            lab.rename_rows(names)
    lab.rename_rows({"a": "a"})  # nothing to do is no event
    lab.rename_rows({})
    assert lab.state.version == version


def test_costs_and_masks_follow(tmp_path: Path) -> None:
    mask = np.ones((4, 3), dtype=bool)
    mask[0, 0] = mask[2, 1] = False
    costs = {"row": [1, 2, 3, 4], "col": [10, 20, 30], "entry": np.arange(12.0).reshape(4, 3)}
    with Campaign.create("sqlite://", "lab", ROWS, COLS, mask=mask, costs=costs, **QUICK) as c:
        cost = c.state.costs.at(np.arange(4)[:, None], np.arange(3))
        c.remove_rows(["b"])
        c.remove_cols(["z"])
        np.testing.assert_array_equal(c.state.mask, np.delete(np.delete(mask, 1, 0), 2, 1))
        left = c.state.costs.at(np.arange(3)[:, None], np.arange(2))
        np.testing.assert_array_equal(left, np.delete(np.delete(cost, 1, 0), 2, 1))


def test_what_was_spent_stays_spent(lab: Campaign) -> None:
    spent = lab.status().spent
    pending = lab.pending(frame="columns")
    lab.remove_rows(["b"])
    assert lab.status().spent == spent - sum(row == "b" for row in pending["row"])


def test_a_fit_is_that_of_the_smaller_matrix(lab: Campaign, tmp_path: Path) -> None:
    lab.remove_rows(["b"])
    told = lab.export(frame="columns")
    values = {k: told[k] for k in ("row", "col", "value")}
    with Campaign.create("sqlite://", "lab", ["a", "c", "d"], COLS, values=values, **QUICK) as twin:
        pair = [c.posterior(progress=False).arrays.mean for c in (lab, twin)]
        np.testing.assert_array_equal(*pair)


def test_what_cannot_be_removed_is_refused(lab: Campaign) -> None:
    version = lab.state.version
    for labels, error, words in (
        (["no"], LabelError, "no"),
        ([], DataError, "row"),
        (["a", "a"], DataError, "twice|once"),
        (["a", "b", "c"], DataError, "at least two rows to stay"),
    ):
        with pytest.raises(error, match=words):
            lab.remove_rows(labels)
    assert lab.state.version == version


@pytest.mark.parametrize(
    ("given", "names", "words", "mended"),
    [
        ({"rank": 3}, [3, 4, 5], "cannot remove columns .*at most 1, .* Change that setting first", {"rank": "auto"}),
        ({"goal": "rank rows", "weights": [0, 0, 0, 1, 1, 1]}, [3, 4, 5], "not all zero", {"weights": None}),
        ({"mask": np.arange(36).reshape(6, 6) % 6 > 4}, [5], "False everywhere", {"mask": None}),
    ],
)  # fmt: skip
def test_settings_that_would_not_work_without_are_to_be_changed_first(
    given: dict[str, Any], names: list[int], words: str, mended: dict[str, Any]
) -> None:
    with Campaign.create("sqlite://", "lab", 6, 6, **QUICK | given) as c:
        with pytest.raises(ValueError, match=words) as refused:
            c.remove_cols(names)
        assert isinstance(refused.value, MaxentryError)
        assert (c.state.version, c.state.shape) == (1, (6, 6))
        c.set(**mended)
        c.remove_cols(names)
        c.set(budget=20)
        assert (c.settings.budget, c.state.shape) == (20, (6, 6 - len(names)))


def test_the_first_design_is_at_most_all_that_is_left(tmp_path: Path) -> None:
    with Campaign.create(tmp_path / "lab.db", "lab", 6, 6, n_initial=30, **QUICK) as c:
        c.remove_rows([5])
        assert c.settings.n_initial == 30
        c.remove_rows([0, 2])
        assert c.settings.n_initial == 18
        c.set(budget=20)
        c.add_rows(["new"])
        assert len(c.ask(18, frame="columns")["id"]) == 18
    with Campaign.open(tmp_path / "lab.db") as again:
        assert (again.settings.n_initial, again.settings.budget) == (18, 20)


def test_ids_and_measurements_of_removed_rows_are_refused(lab: Campaign) -> None:
    lab.remove_rows(["b"])
    asked, told = lab.asked(frame="columns"), lab.export(everything=True, frame="columns")
    id = asked["id"][asked["row"].index("b")]
    for change in (lambda: lab.tell([id], [1.0]), lambda: lab.fail(id), lambda: lab.correct(id, 2.0)):
        with pytest.raises(CampaignError, match="row or column was removed"):
            change()
    if "b" in told["row"]:
        with pytest.raises(CampaignError, match="was removed"):
            lab.correct(number=told["number"][told["row"].index("b")], value=1.0)


def test_a_snapshot_has_what_was_removed(lab: Campaign, tmp_path: Path) -> None:
    lab.remove_rows(["b"])
    state, file = lab.state, tmp_path / "state.npz"
    snapshots.save(state, file, "mark")
    again = snapshots.load(file, "mark")
    assert again is not None
    assert again.removed == state.removed == (("b",), ())
    assert [again.label_at("row", k) for k in again.asked.column("row")] == lab.asked(frame="columns")["row"]


def test_a_batch_that_was_chosen_before_is_chosen_again(tmp_path: Path) -> None:
    with Campaign.create(tmp_path / "lab.db", "lab", ROWS, COLS, **QUICK) as one:
        other, calls = Campaign.open(tmp_path / "lab.db"), 0
        from maxentry.campaign import policy

        def slow(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            batch = policy.next_batch(*args, **options)
            if calls == 1:
                other.remove_rows(["a"])
            return batch

        one._policy = slow
        batch = one.ask(9, frame="columns")
        assert calls == 2
        assert set(batch["row"]) == {"b", "c", "d"}
        other.close()


# Names


def test_a_renamed_campaign_keeps_its_chain(lab: Campaign, tmp_path: Path) -> None:
    lab.rename("new", who="ann")
    lab.rename("newer")
    assert lab.name == lab.status().name == "newer"
    assert lab.history(frame="columns")["what"][-2:] == ["'lab' to 'new'", "'new' to 'newer'"]
    with Storage(tmp_path / "lab.db") as storage, Storage(tmp_path / "copy.db", create=True) as copy:
        assert storage.names() == ["newer"]
        assert check_storage(storage).problems == []
        copy_campaigns(storage, copy)
        assert check_storage(copy).problems == []
    with Campaign.open(tmp_path / "copy.db", "newer") as opened:
        assert entries(opened) == entries(lab)


def test_a_name_that_is_taken_is_refused(lab: Campaign, tmp_path: Path) -> None:
    Campaign.create(tmp_path / "lab.db", "other", ROWS, COLS, **QUICK).close()
    version = lab.state.version
    with pytest.raises(CampaignError, match="'other', which is taken"):
        lab.rename("other")
    with pytest.raises(Exception, match="name"):
        lab.rename("")
    assert (lab.name, lab.state.version) == ("lab", version)


def test_a_name_that_was_changed_by_hand_is_found(lab: Campaign, tmp_path: Path) -> None:
    lab.rename("new")
    lab.close()
    with sqlite3.connect(tmp_path / "lab.db") as file:
        file.execute("UPDATE maxentry_campaigns SET name = 'forged'")
    file.close()
    with Storage(tmp_path / "lab.db") as storage:
        (problem,) = check_storage(storage).problems
    assert "the campaign's name is 'new' by its events" in problem


def test_a_deleted_campaign_is_gone(lab: Campaign, tmp_path: Path) -> None:
    Campaign.create(tmp_path / "lab.db", "other", ROWS, COLS, **QUICK).close()
    n = lab.state.version
    assert Campaign.delete(tmp_path / "lab.db", "lab") == n
    assert Campaign.list(tmp_path / "lab.db") == ["other"]
    with pytest.raises(StorageError, match="it is gone"):
        lab.ask(1)
    with Storage(tmp_path / "lab.db") as storage:
        assert check_storage(storage).problems == []
    with pytest.raises(CampaignError, match="'lab'"):
        Campaign.delete(tmp_path / "lab.db", "lab")
