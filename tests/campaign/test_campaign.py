from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.campaign.stand_ins import START, Clock, campaign, chosen, lowest, snapshot, uniform

from maxentry.campaign import events
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import replay
from maxentry.campaign.storage import Storage
from maxentry.errors import (
    CampaignError,
    DataError,
    LabelError,
    MaxentryError,
    NothingToAskError,
    ParameterError,
)


def test_ask_tell_and_what_is_shown_of_it(where: str) -> None:
    with campaign(where, rows=["a", "b", "c"], cols=["x", "y"]) as c:
        batch = c.ask(4)
        assert list(batch.columns) == ["id", "row", "col", "mean", "sd", "gain", "cost"]
        assert list(batch["id"]) == [1, 2, 3, 4]
        assert len(set(zip(batch["row"], batch["col"], strict=True))) == 4
        receipt = c.tell(batch["id"], [1.0, 2.0, np.nan, 4.0])
        assert receipt == (3, 0, 0, 1)
        status = c.status()
        assert (status.told, status.pending, status.available) == (3, 1, 2)
        assert "3 entries told (50%)" in str(status)
        told = c.export()
        assert list(told["value"]) == [1.0, 2.0, 4.0]
        assert list(told["row"]) == [batch["row"][k] for k in (0, 1, 3)]
        observations = c.state.observations()
        assert observations.n == 3
        assert observations.row_labels == ("a", "b", "c")
        assert list(c.pending()["id"]) == [3]
        assert list(c.asked()["status"]) == ["told", "told", "pending", "told"]
        assert list(c.history()["kind"]) == ["created", "asked", "told"]


def test_frames_are_of_the_kind_wanted() -> None:
    with campaign() as c:
        assert isinstance(c.ask(2, frame="pandas"), pd.DataFrame)
        assert isinstance(c.ask(2, frame="polars"), pl.DataFrame)
        columns = c.ask(2, frame="columns")
        assert columns["id"] == [5, 6]
        c.tell([1, 2, 5], [1.0, 2.0, 3.0])
        wide = c.export(wide=True)
        assert wide.shape == (4, 5)
        assert wide.notna().to_numpy().sum() == 3
        assert c.export(wide=True, frame="polars").shape == (4, 6)
        assert len(c.export(wide=True, frame="columns")) == 6


def test_a_frame_that_cannot_be_made_is_refused_before_anything_is_handed_out() -> None:
    with campaign() as c:
        with pytest.raises(ParameterError, match="'pandas' or 'polars'"):
            c.ask(2, frame="excel")  # type: ignore[arg-type]
        assert c.status().pending == 0


def test_replicates_are_exported_as_their_mean() -> None:
    with campaign() as c:
        c.tell(row=[0, 0], col=[1, 1], value=[1.0, 3.0], again=True)
        assert c.export(wide=True).loc[0, 1] == 2.0
        assert (c.status().told, c.status().measurements) == (1, 2)


def test_opened_again_it_is_the_same_and_asks_the_same(lasting: str) -> None:
    with campaign(lasting) as c, Storage(lasting) as storage:
        for _ in range(3):
            c.tell(c.ask(3)["id"], [1.0, 2.0, 3.0])
        with Campaign.open(lasting, policy=uniform) as opened:
            assert snapshot(opened.state) == snapshot(c.state)
            then = replay(storage.events(storage.find(None)))
            expected = uniform(then, 4, START)
            batch = opened.ask(4)
        assert list(batch["row"]) == list(expected.rows)
        assert list(batch["col"]) == list(expected.cols)
        assert list(c.pending()["id"]) == [10, 11, 12, 13]


def test_nothing_is_asked_twice_until_nothing_is_left(where: str) -> None:
    with campaign(where) as c:
        seen = set()
        for _ in range(7):
            batch = c.ask(3, frame="columns")
            seen |= set(zip(batch["row"], batch["col"], strict=True))
        assert len(batch["id"]) == 2
        assert len(seen) == 20
        with pytest.raises(NothingToAskError, match="as good as any"):
            c.ask(1)
        assert len(c.history(frame="columns")["event"]) == 8


def test_told_values_are_never_asked_again_even_if_nobody_had_asked() -> None:
    with campaign() as c:
        c.tell(row=[0, 0, 0], col=[0, 1, 2], value=[1, 2, 3])
        batch = c.ask(20, frame="columns")
        assert len(batch["id"]) == 17
        assert not {(0, 0), (0, 1), (0, 2)} & set(zip(batch["row"], batch["col"], strict=True))


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "three"])
def test_how_many_must_be_a_number(n: object) -> None:
    with campaign() as c, pytest.raises(ParameterError, match="whole number"):
        c.ask(n)  # type: ignore[arg-type]


def test_limits_come_from_ask_or_else_from_the_settings() -> None:
    seen = []

    def policy(state, n, now, **options):
        seen.append({name: options[name] for name in ("plates", "per_row", "per_col")})
        return uniform(state, n, now)

    with campaign(policy=policy, per_row=2) as c:
        c.ask(1)
        c.ask(1, plates="rows")
    assert seen == [
        {"plates": None, "per_row": 2, "per_col": None},
        {"plates": "rows", "per_row": None, "per_col": None},
    ]


# Telling twice


def test_telling_twice_is_refused_unless_it_is_the_same_or_again(where: str) -> None:
    with campaign(where) as c:
        c.ask(3)
        c.tell(1, 5.0)
        before = c.state.version
        assert c.tell(1, 5.0).known == 1
        assert c.state.version == before
        with pytest.raises(CampaignError, match=r"value 5 recorded for id 1 .*, got 6"):
            c.tell(1, 6.0)
        with pytest.raises(CampaignError):
            c.tell([2, 1], [1.0, 6.0])
        assert c.state.version == before
        assert c.asked(frame="columns")["status"] == ["told", "pending", "pending"]
        assert c.tell(1, 6.0, again=True).told == 1
        assert c.export(frame="columns")["value"] == [5.0, 6.0]
        assert c.tell(1, 6.0).known == 1


def test_the_same_holds_for_entries_without_an_id() -> None:
    with campaign() as c:
        c.tell(row=0, col=0, value=1.0)
        assert c.tell(row=0, col=0, value=1.0).known == 1
        with pytest.raises(CampaignError, match="value 1 recorded for row 0, column 0, got 2"):
            c.tell(row=0, col=0, value=2.0)
        with pytest.raises(CampaignError):
            c.tell(row=[1, 1], col=[0, 0], value=[1.0, 2.0])
        assert c.tell(row=[1, 1], col=[0, 0], value=[1.0, 1.0]) == (1, 0, 1, 0)
        assert c.tell(row=[2, 2], col=[0, 0], value=[1.0, 1.0], again=True).told == 2


def test_a_pending_entry_told_by_its_labels_is_pending_no_more() -> None:
    with campaign(rows=["a", "b"], cols=["x", "y"], policy=lowest) as c:
        c.ask(2)
        c.tell(row=["a", "a"], col=["y", "y"], value=[3.0, 3.0])
        assert c.asked(frame="columns")["status"] == ["pending", "told"]
        assert c.export(frame="columns")["id"] == [2]
        assert c.tell(row="a", col="y", value=3.0).known == 1


# Failing, withdrawing, expiring, correcting


def test_failed_entries_stay_away_and_withdrawn_ones_come_back(where: str) -> None:
    with campaign(where, policy=lowest) as c:
        c.ask(3)
        c.fail(1, "no colour")
        c.fail([2], retry=True)
        c.withdraw(3)
        assert c.asked(frame="columns")["status"] == ["failed", "failed", "withdrawn"]
        assert c.asked(frame="columns")["reason"][0] == "no colour"
        assert (c.status().failed, c.status().available, c.status().spent) == (2, 19, 2.0)
    with campaign(where if where != "sqlite://" else "sqlite://", name="other", policy=uniform) as c:
        first = c.ask(1, frame="columns")
        c.fail(1)
        rest = c.ask(20, frame="columns")
        assert len(rest["id"]) == 19
        assert (first["row"][0], first["col"][0]) not in set(zip(rest["row"], rest["col"], strict=True))
        c.withdraw(1)
        assert len(c.ask(20, frame="columns")["id"]) == 1


def test_what_was_failed_withdrawn_or_expired_may_still_be_told() -> None:
    clock = Clock()
    with campaign(clock=clock, lease=60) as c:
        c.ask(3)
        c.fail(1)
        c.withdraw(2)
        clock.forward(61)
        assert c.asked(frame="columns")["status"] == ["failed", "withdrawn", "expired"]
        assert c.tell([1, 2, 3], [1.0, 2.0, 3.0]).told == 3
        assert c.asked(frame="columns")["status"] == ["told"] * 3


def test_said_twice_is_one_event_and_told_values_can_neither_fail_nor_be_withdrawn() -> None:
    with campaign() as c:
        c.ask(4)
        c.tell(1, 1.0)
        c.fail(2)
        c.withdraw(3)
        version = c.state.version
        c.fail([2, 2])
        c.withdraw(3)
        assert c.state.version == version
        for refused in (c.fail, c.withdraw):
            with pytest.raises(CampaignError, match="id 1, which has one"):
                refused([4, 1])
            with pytest.raises(DataError, match="ids are 1 to 4"):
                refused(9)
        assert c.state.version == version


def test_leases_end(where: str) -> None:
    clock = Clock()
    with campaign(where, clock=clock, lease=3600) as c:
        c.ask(20)
        with pytest.raises(NothingToAskError):
            c.ask(1)
        clock.forward(3599)
        assert c.status().pending == 20
        clock.forward(1)
        assert (c.status().pending, c.status().expired, c.status().spent) == (0, 20, 0.0)
        assert list(c.ask(2)["id"]) == [21, 22]
        c.set(lease=None)
        c.ask(1)
        clock.forward(1e7)
        assert c.status().pending == 1


def test_a_wrong_value_is_corrected_and_history_stays(where: str) -> None:
    with campaign(where, rows=["a", "b"], cols=["x", "y"]) as c:
        c.ask(1)
        c.tell(1, 10.0)
        c.tell(row="a", col="x", value=1.0, again=True)
        c.correct(1, 0.1, reason="a slip of the point")
        assert c.export(frame="columns")["value"] == [0.1, 1.0]
        assert c.export(frame="columns")["corrected"] == [True, False]
        row, col = c.asked(frame="columns")["row"][0], c.asked(frame="columns")["col"][0]
        what = f"measurement 1 now 0.1 (row '{row}', column '{col}', was 10): a slip of the point"
        assert c.history(frame="columns")["what"][-1] == what
        kinds = [type(r.event).__name__ for r in c.records()]
        assert kinds == ["Created", "Asked", "Told", "Told", "Corrected"]
        version = c.state.version
        c.correct(1, 0.1)
        assert c.state.version == version
        assert c.tell(1, 0.1).known == 1


def test_a_value_struck_out_leaves_its_entry_to_be_asked_again() -> None:
    with campaign(policy=lowest) as c:
        c.ask(1)
        c.tell(1, 10.0)
        c.correct(1, None, reason="contaminated")
        assert c.export(frame="columns")["value"] == []
        assert math.isnan(c.export(frame="columns", everything=True)["value"][0])
        assert c.status().told == 0
        assert c.asked(frame="columns")["status"] == ["withdrawn"]
        again = c.ask(1, frame="columns")
        assert (again["id"], again["row"], again["col"]) == ([2], [0], [0])
        c.correct(1, 11.0)
        assert c.export(frame="columns")["value"] == [11.0]


def test_what_to_correct_must_be_clear() -> None:
    with campaign() as c:
        c.ask(1)
        c.tell(row=[0, 0, 1], col=[0, 0, 0], value=[1.0, 2.0, 3.0], again=True)
        with pytest.raises(CampaignError, match="got none yet"):
            c.correct(row=3, col=3, value=1.0)
        with pytest.raises(CampaignError, match="number=, one of"):
            c.correct(row=0, col=0, value=1.5)
        c.correct(number=2, value=1.5)
        c.correct(row=1, col=0, value=7.0)
        assert c.export(frame="columns")["value"][1:] == [1.5, 7.0]
        with pytest.raises(DataError, match="there are 3"):
            c.correct(number=4, value=1.0)
        with pytest.raises(DataError, match="an id, a row and a column"):
            c.correct(value=1.0)


# Values and labels


@pytest.mark.parametrize(
    ("wrong", "told", "corrected"),
    [
        (float("inf"), "expected finite numbers, got inf at row 'a', column", None),
        (-0.5, "expected values from 0 to 100, got -0.5 at row 'a', column", None),
        (100.5, "expected values from 0 to 100, got 100.5 at row 'a', column", None),
        (
            "many",
            "(line 2, column value|row 'a', column 'y'): 'many' is not a number",
            "the correction: 'many' is not a number",
        ),
        (
            [1.0],
            r"(line 2, column value|row 'a', column 'y'): \[1.0\] is not a number",
            r"the correction: \[1.0\] is not a number",
        ),
    ],
)
def test_values_are_checked(wrong: object, told: str, corrected: str | None) -> None:
    with campaign(range=(0, 100), rows=["a", "b"], cols=["x", "y"], policy=lowest) as c:
        c.ask(2)
        for attempt in (
            lambda: c.tell([1, 2], [1.0, wrong]),
            lambda: c.tell(row=["a", "a"], col=["x", "y"], value=[1.0, wrong]),
        ):
            with pytest.raises(DataError, match=told):
                attempt()
        assert c.status().told == 0
        c.tell([1, 2], [0, 100])
        with pytest.raises(DataError, match=corrected or f"{told} 'x'"):
            c.correct(1, wrong)  # type: ignore[arg-type]


def test_values_must_be_on_the_scale_of_the_transform() -> None:
    with campaign(transform="log") as c:
        with pytest.raises(DataError, match="row 0, column 1"):
            c.tell(row=[0, 0], col=[0, 1], value=[1.0, 0.0])
        c.tell(row=0, col=0, value=1e-3)
        observations = c.state.observations()
        assert observations.values.tolist() == [1e-3]
        assert c.settings.transform == "log"


def test_numbers_and_text_of_any_kind_are_read() -> None:
    with campaign(rows=["1", "2"], cols=[dt.date(2030, 1, 1), ("a", 2), 7]) as c:
        c.ask(6)
        c.tell(np.int64(1), np.float32(0.5))
        c.tell(np.array([2, 3]), np.array([1, 2]))
        c.tell(pd.Series([4.0]), pl.Series([3]))
        c.withdraw(c.pending()["id"])
        c.tell(row=1, col="7", value=1.0, again=True)
        c.tell(row="1", col="('a', 2)", value=1.0, again=True)
        c.tell(row=["2"], col=[dt.date(2030, 1, 1)], value=["1.25"], again=True)
        assert c.status().measurements == 7


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "expected row, col, value together, got no row"),
        ({"ids": 1}, "expected id, value together, got no value"),
        ({"ids": [1], "values": 1.0}, r"line 1: expected an id \(a whole number\), got \[1\]"),
        ({"ids": [1, 2], "values": [1.0]}, "as many values as entries, got 2 of id and 1 of value"),
        ({"ids": 1, "values": [1.0]}, "expected several ids with several values, got one: 1"),
        ({"ids": [99], "values": [1.0]}, "expected an id that was asked, got 99; ids are 1 to 2"),
        ({"ids": [1.5], "values": [1.0]}, r"expected an id \(a whole number\), got 1.5"),
        ({"ids": ["a b"], "values": [1.0]}, r"expected an id \(a whole number\), got 'a b'"),
        ({"ids": [1], "values": [1.0], "row": [0]}, "expected ids alone, got row too"),
        ({"row": 0, "col": 0}, "expected row, col, value together, got no value"),
        ({"row": "nowhere", "col": 0, "value": 1.0}, "expected known row labels, got 'nowhere'"),
        ({"row": None, "col": 0, "value": 1.0}, "expected row, col, value together, got no row"),
        ({"values": [1.0]}, "expected row, col and value alone, got values too"),
        ({"ids": {"id": [1], "colour": ["red"]}}, r"and value \(or low, high\), got id, colour"),
        ({"ids": {"id": [1], "value": [1.0, 2.0]}}, r"expected columns of one length, got lengths \[1, 2\]"),
        (
            {"ids": {"value": [1.0]}},
            r"expected columns id \(or row and col\) and value \(or low, high\), got value",
        ),
        ({"ids": "no such file.csv"}, "no such file.csv does not exist"),
    ],
)
def test_what_cannot_be_told_is_refused(given: dict[str, object], match: str) -> None:
    with campaign() as c:
        c.ask(2)
        version = c.state.version
        with pytest.raises(MaxentryError, match=match) as caught:
            c.tell(**given)  # type: ignore[arg-type]
        assert isinstance(caught.value, (DataError, LabelError))
        assert c.state.version == version


# The campaign itself


def test_rows_and_columns_are_added(where: str) -> None:
    with campaign(where, costs={"row": [1, 2, 3, 4]}) as c:
        c.tell(row=0, col=0, value=1.0)
        c.add_rows(["new", "newer"], cost=10)
        c.add_cols([dt.date(2030, 1, 1)])
        assert c.state.shape == (6, 6)
        assert c.state.row_labels[-2:] == ("new", "newer")
        c.tell(row="newer", col=dt.date(2030, 1, 1), value=2.0)
        assert c.export(wide=True).shape == (6, 6)
        batch = c.ask(40, frame="columns")
        assert len(batch["id"]) == 34
        assert {10.0} == {cost for row, cost in zip(batch["row"], batch["cost"], strict=True) if row == "new"}
        version = c.state.version
        for labels in ([], ["new"], "text", [None]):
            with pytest.raises(DataError):
                c.add_rows(labels)
        wide = getattr(pl, "Int128", pl.Utf8)  # NumPy has no such integers, old polars neither
        for cost in ("dear", [1, 2], pl.DataFrame({"a": ["1"]}).cast(wide)):
            with pytest.raises(DataError, match="expected one cost, or 1, as numbers"):
                c.add_rows(["another"], cost=cost)
        assert c.state.version == version
        c.add_cols(["z"], cost=1.0)
        assert c.state.costs.at(0, 6) == 2


@pytest.mark.parametrize("label", ["1", " 1", dt.date(2030, 1, 1)])
def test_labels_that_read_alike_are_refused(label: object) -> None:
    with campaign(rows=[0, 1, "2030-01-01"], cols=[0, 1, "2030-01-01"]) as c:
        version = c.state.version
        for add, side in ((c.add_rows, "row"), (c.add_cols, "column")):
            with pytest.raises(DataError, match=f"expected {side} labels that read differently .*, got "):
                add(["new", label])
        assert c.state.version == version
        for sides in ({"rows": [0, 1, "2030-01-01", label]}, {"cols": [0, 1, "2030-01-01", label]}):
            with pytest.raises(DataError, match="that read differently as text"):
                campaign(**sides)
            with pytest.raises(DataError, match="that read differently as text"):
                campaign(**sides, exist_ok=True)
        c.add_rows([2, 3.5, "one"])


@pytest.mark.parametrize(
    ("rows", "difference"),
    [(["a", "c"], "expected 'b', got 'c'"), (["a", "b", "c"], "expected 2 labels, got 3")],
)
def test_a_campaign_that_exists_with_other_labels_says_which(rows: list[str], difference: str) -> None:
    storage = Storage("sqlite://")
    campaign(storage, rows=["a", "b"])
    with pytest.raises(CampaignError, match=f"exists with other row labels: {difference}"):
        campaign(storage, rows=rows, exist_ok=True)


def test_an_event_that_cannot_be_stored_names_the_field() -> None:
    with pytest.raises(DataError, match=r"expected finite numbers, got \[1\.0, inf\] in values"):
        events.write(events.Told((None, None), (0, 1), (0, 0), (1.0, math.inf)))


def test_a_campaign_that_has_such_labels_can_still_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = Storage("sqlite://")
    with monkeypatch.context() as before:
        before.setattr("maxentry.cells.check_distinct", lambda *_: None)
        campaign(storage, rows=[1, "1"])
    c = campaign(storage, rows=[1, "1"], exist_ok=True)
    c.add_rows([2])
    c.tell(row="1", col=0, value=5.0)
    assert c.export(frame="columns")["row"] == ["1"]
    with pytest.raises(DataError, match=r"got 2 and '2'"):
        c.add_rows(["2"])


def test_settings_are_changed_by_an_event(where: str) -> None:
    mask = np.zeros((4, 5), dtype=bool)
    mask[1, 2] = True
    with campaign(where) as c:
        c.set(budget=7, mask=mask, costs={"col": [1, 2, 3, 4, 5]}, acquisition="maxent")
        assert (c.settings.budget, c.settings.acquisition) == (7.0, "maxent")
        batch = c.ask(3, frame="columns")
        assert (batch["row"], batch["col"], batch["cost"]) == ([1], [2], [3.0])
        c.set(mask=None, budget=None)
        assert c.status().available == 19
        version = c.state.version
        for wrong in ({"seed": 3}, {"budget": -1}, {"mask": mask[:2]}):
            with pytest.raises(ParameterError):
                c.set(**wrong)
        c.set()
        assert c.state.version == version


def test_settings_are_checked_before_a_file_is_made(tmp_path) -> None:
    with pytest.raises(ParameterError, match="did you mean 'acquisition'"):
        campaign(tmp_path / "lab.db", aquisition="maxent")
    with pytest.raises(ParameterError):
        campaign(tmp_path / "lab.db", budget=-1)
    with pytest.raises(DataError, match="read differently"):
        campaign(tmp_path / "lab.db", rows=[1, "1"])
    assert list(tmp_path.iterdir()) == []


def test_without_a_seed_campaigns_differ_and_keep_theirs() -> None:
    with campaign(seed=None) as one, campaign(seed=None) as other:
        assert one.settings.seed != other.settings.seed


def test_times_are_utc_whatever_the_clock() -> None:
    local = dt.timezone(dt.timedelta(hours=5))
    with campaign(clock=lambda: START.astimezone(local)) as c:
        c.ask(1)
        assert c.state.asked[1].asked_at == START
        assert c.state.asked[1].asked_at.utcoffset() == dt.timedelta(0)
    with campaign() as c:
        c._clock = lambda: START.replace(tzinfo=None)
        with pytest.raises(ParameterError, match="time zone"):
            c.ask(1)


def test_nothing_told_has_no_posterior() -> None:
    with campaign() as c, pytest.raises(CampaignError, match="expected at least one measurement"):
        c.posterior()


def test_state_is_the_same_replayed_or_step_by_step() -> None:
    with campaign() as c:
        c.tell(c.ask(5)["id"], [1, 2, "failed", None, 5])
        c.correct(1, 3.0)
        c.withdraw(4)
        c.add_cols(["z"])
        records = c.records()
        stepwise = replay(records[:1])
        for record in records[1:]:
            stepwise = stepwise.after([record])
        assert snapshot(stepwise) == snapshot(replay(records)) == snapshot(c.state)


@pytest.mark.parametrize(
    "acquisition", ["maxent", "uniform"]
)  # without a model, the second choice holds the lock
def test_a_policy_that_is_late_chooses_again_with_what_others_took(acquisition: str) -> None:
    storage = Storage("sqlite://")
    rival = campaign(storage, policy=lowest, acquisition=acquisition)
    calls = []

    def late(state, n, now, **_):
        calls.append(state.version)
        batch = lowest(state, n, now)
        if len(calls) == 1:
            rival.ask(2)
        return batch

    mine = Campaign.open(storage, policy=late).ask(3, frame="columns")
    assert len(calls) == 2
    assert (mine["id"], mine["col"]) == ([3, 4, 5], [2, 3, 4])
    assert rival.state.version == 3


def test_a_policy_that_is_always_late_gets_what_is_left_of_its_batch() -> None:
    storage = Storage("sqlite://")
    rival = campaign(storage, cols=30, policy=lowest)

    def late(state, n, now, **_):
        batch = lowest(state, n, now)
        rival.ask(1)
        return batch

    mine = Campaign.open(storage, policy=late).ask(5, frame="columns")
    assert len(mine["id"]) == 4
    everything = rival.asked(frame="columns")
    assert len(set(zip(everything["row"], everything["col"], strict=True))) == len(everything["id"])


def test_two_who_ask_at_once_do_not_overdraw_the_budget() -> None:
    storage = Storage("sqlite://")

    def thrifty(state, n, now, **_):
        left = int(state.settings.budget - state.spent(now))
        return lowest(state, min(n, left), now)

    rival = campaign(storage, policy=thrifty, budget=5)
    calls = []

    def late(state, n, now, **_):
        batch = uniform(state, min(n, int(state.settings.budget - state.spent(now))), now)
        calls.append(len(batch.rows))
        if len(calls) == 1:
            rival.ask(3)
        return batch

    mine = Campaign.open(storage, policy=late).ask(4, frame="columns")
    assert calls == [4, 2]
    assert len(mine["id"]) == 2
    assert rival.status().spent == 5.0


def test_where_entries_may_be_asked_again_only_what_came_in_between_clashes() -> None:
    storage = Storage("sqlite://")
    from maxentry.belief import Entries

    def corner(state, n, now, **_):
        return chosen(state, Entries.from_lists([0, 0], [0, 0]))

    c = campaign(storage, policy=corner, again=True)
    c.tell(c.ask(2)["id"], [1.0, 2.0])
    assert list(c.ask(2)["id"]) == [3, 4]
    calls = []

    def late(state, n, now, **_):
        calls.append(n)
        if len(calls) == 1:
            c.ask(2)
        return corner(state, n, now)

    assert list(Campaign.open(storage, policy=late).ask(2)["id"]) == [7, 8]
    assert len(calls) == 2
