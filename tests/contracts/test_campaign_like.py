"""What everything with the methods of a `Campaign` must do: one at hand in memory or in a file, one on a server."""

from __future__ import annotations

import datetime as dt
import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.campaign.conftest import cache  # noqa: F401
from tests.campaign.postgres_server import database
from tests.campaign.stand_ins import snapshot

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import (
    CampaignError,
    DataError,
    LabelError,
    MaxentryError,
    NothingToAskError,
    ParameterError,
    RankError,
)

ROWS = ["α", dt.date(2030, 1, 1), ("a", 1), 4]
COLS = [1, 2.5, "x", "y/z ?", "%2F"]
QUICK = {"seed": 1, "acquisition": "balanced"}


class Local:
    """Campaigns at hand, begun and opened as `connect` does it."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def create(self, name: str, rows: Any, cols: Any, **given: Any) -> Campaign:
        return Campaign.create(self.storage, name, rows, cols, **given)

    def open(self, name: str | None = None) -> Campaign:
        return Campaign.open(self.storage, name)

    def list(self) -> list[str]:
        return Campaign.list(self.storage)

    def delete(self, name: str) -> int:
        return Campaign.delete(self.storage, name)


@pytest.fixture(
    params=(
        "memory",
        pytest.param(
            "file", marks=pytest.mark.slow
        ),  # a storage of another kind: tests/contracts/test_storages.py
        "server",
        pytest.param("server of postgresql", marks=pytest.mark.postgres),
    )
)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param in ("memory", "file"):
        with Storage(
            "sqlite://" if request.param == "memory" else tmp_path / "lab.db", create=True
        ) as storage:
            yield Local(storage)
    elif request.param == "server":
        yield from served(str(tmp_path / "lab.db"))
    else:
        with database(request.getfixturevalue("postgres")) as where:
            yield from served(where)


def served(where: str) -> Iterator[Any]:
    """Campaigns of a storage on a server."""
    from tests.server.live import TOKENS, WRITE, running

    import maxentry

    with running(where, tokens=TOKENS) as (url, _), maxentry.connect(url, WRITE) as remote:
        yield remote


def at_hand(name: str = "kinase", rows: Any = 4, cols: Any = 5, **given: Any) -> Campaign:
    """A campaign to compare with."""
    return Campaign.create("sqlite://", name, rows, cols, **QUICK | given)


def begun(lab: Any, name: str = "kinase", rows: Any = 4, cols: Any = 5, **given: Any) -> Any:
    return lab.create(name, rows, cols, **QUICK | given)


def asked(campaign: Any, n: int = 4, **given: Any) -> dict[str, list[Any]]:
    return campaign.ask(n, frame="columns", progress=False, **given)


def same(one: Any, other: Any) -> bool:
    """Equal, with NaN equal to itself and 1 not equal to 1.0 or True."""
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(type(one) is type(other) and one == other)


def untimed(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without times, which are of the clock; but they must be times."""
    for name in ("asked_at", "told_at", "at"):
        assert all(at.tzinfo is not None for at in columns.get(name, []))
    return {name: column for name, column in columns.items() if not name.endswith("at")}


def test_a_list_is_read_by_the_words_of_the_campaign(lab: Any) -> None:
    """At hand and over HTTP alike: words for values tell which column holds them."""
    nouns = {"row_name": "model", "col_name": "task"}
    solved = {"model": ["a", "b"], "task": ["x", "y"], "solved": ["yes", "no"], "runtime_s": [44.9, 3.5]}
    graded = {"model": ["a", "b"], "task": ["x", "y"], "grade": ["good", "bad"]}
    levels = ["bad", "fair", "good"]
    for k, (table, settings) in enumerate(
        ((solved, {"kind": "yes/no"}), (graded, {"kind": "grades", "levels": levels}))
    ):
        campaign = begun(lab, f"words {k}", ["a", "b", "c"], ["x", "y", "z"], **nouns, **settings)
        with pytest.warns(UserWarning, match="read as a list"):
            assert campaign.tell(table).told == 2
    timed = begun(lab, "timed", ["a", "b"], ["x", "y"], **nouns, value_name="runtime")
    with pytest.warns(UserWarning, match="value = 'runtime'"):
        timed.tell({"model": ["a"], "task": ["x"], "runtime": [4.5], "tokens": [100]})
    assert timed.export(frame="columns")["value"] == [4.5]


# Coming and going


def test_rows_are_removed_and_campaigns_renamed_and_deleted(lab: Any) -> None:
    campaign = begun(lab, "one", ROWS, COLS)
    campaign.tell(row=[ROWS[0], ROWS[1], ROWS[1]], col=[1, 1, "x"], value=[1.0, 2.0, 3.0])
    assert campaign.remove_rows([ROWS[1]]) == 2
    assert campaign.remove_cols(["y/z ?"]) == 0
    assert campaign.state.shape == (3, 4)
    assert same(campaign.export(frame="columns")["value"], [1.0])
    with pytest.raises(LabelError):
        campaign.remove_rows([ROWS[1]])
    campaign.rename_rows({ROWS[0]: "first"})
    campaign.rename_cols({1: ("one", 1)})
    assert campaign.state.row_labels[0] == campaign.export(frame="columns")["row"][0] == "first"
    assert campaign.export(frame="columns")["col"] == [("one", 1)]
    for names, error in (
        ({"no": "yes"}, LabelError),
        ({"first": ROWS[2]}, DataError),
        (["first"], DataError),
    ):
        with pytest.raises(error):
            campaign.rename_rows(names)
    campaign.rename("two")
    assert (campaign.name, lab.list()) == ("two", ["two"])
    with pytest.raises(CampaignError):
        begun(lab, "three").rename("two")
    assert lab.delete("two") == 7  # created, told, twice removed, thrice renamed
    with pytest.raises(CampaignError):
        lab.delete("two")
    with pytest.raises(MaxentryError, match=r"gone|deleted|expected the name"):
        campaign.status()
    begun(lab, "two")  # the name is free again, and what is left of the old one does not meet the new one
    with pytest.raises(MaxentryError, match=r"gone|deleted|expected the name"):
        campaign.tell(row=ROWS[0], col=1, value=5.0)
    assert lab.open("two").status().told == 0


def test_campaigns_are_begun_listed_and_opened(lab: Any) -> None:
    assert lab.list() == []
    with pytest.raises(CampaignError, match=r"there is none yet|got none"):
        lab.open()
    begun(lab, "one")
    assert lab.open().name == "one"
    begun(lab, "two/with ?odd%2Fname#")
    assert lab.list() == ["one", "two/with ?odd%2Fname#"]
    assert lab.open("two/with ?odd%2Fname#").status().name == "two/with ?odd%2Fname#"
    with pytest.raises(CampaignError, match=r"expected one of the campaigns .*, got no name"):
        lab.open()
    with pytest.raises(CampaignError, match=r"'three'.*'one'|'one'.*'three'"):
        lab.open("three")
    with pytest.raises(CampaignError, match="'one', which is taken"):
        begun(lab, "one")
    assert begun(lab, "one", exist_ok=True).name == "one"
    with pytest.raises(
        CampaignError, match="campaign 'one' exists with other row labels: expected 0, got 'other'"
    ):
        begun(lab, "one", rows=["other", "rows"], exist_ok=True)


def test_a_campaign_may_begin_with_what_is_known(lab: Any) -> None:
    table = {"row": [0, 1], "col": [2, 3], "value": [0.5, 1 / 3]}
    assert begun(lab, values=table).export(frame="columns")["value"] == [0.5, 1 / 3]
    with pytest.raises(LabelError, match="known row labels, got 9"):
        begun(lab, "other", values={"row": [9], "col": [0], "value": [1.0]})
    assert lab.list() == ["kinase"]


# The lab loop


def check_labels(lab: Any) -> None:
    """Labels, values and what is not there come back as they were, as those of a campaign at hand do."""
    campaign, twin = begun(lab, rows=ROWS, cols=COLS), at_hand(rows=ROWS, cols=COLS)
    assert same(asked(campaign, 6), asked(twin, 6))
    for c in (campaign, twin):
        c.tell([1, 2], [0.1 + 0.2, 5e-324], who="ann")
        c.tell(row=dt.date(2030, 1, 1), col="%2F", value=-1e300, who="bob")
        c.fail(c.pending(frame="columns")["id"][-1], "no colour", who="ärger 🧪")
    assert same(untimed(campaign.asked(frame="columns")), untimed(twin.asked(frame="columns")))
    assert same(untimed(campaign.export(frame="columns")), untimed(twin.export(frame="columns")))
    assert same(campaign.pending(frame="columns"), twin.pending(frame="columns"))
    assert same(campaign.export(wide=True, frame="columns"), twin.export(wide=True, frame="columns"))


def test_labels_and_values_come_back_as_they_were(lab: Any) -> None:
    check_labels(lab)


def test_the_check_can_fail(tmp_path: Path) -> None:
    class Stringly(Campaign):
        def export(self, **given: Any) -> Any:
            found = super().export(**given)
            return found | {"row": [str(label) for label in found["row"]]}

    class Lab(Local):
        def create(self, name: str, rows: Any, cols: Any, **given: Any) -> Campaign:
            return Stringly.create(self.storage, name, rows, cols, **given)

    with Storage(tmp_path / "lab.db", create=True) as storage, pytest.raises(AssertionError):
        check_labels(Lab(storage))


def test_what_is_asked_is_pending_until_told(lab: Any) -> None:
    campaign = begun(lab)
    first, second = asked(campaign, 3), asked(campaign, 2, who="robot")
    assert (first["id"], second["id"]) == ([1, 2, 3], [4, 5])
    assert not set(zip(first["row"], first["col"], strict=True)) & set(
        zip(second["row"], second["col"], strict=True)
    )
    assert all(math.isnan(x) for x in first["mean"])
    assert campaign.pending(frame="columns")["id"] == [1, 2, 3, 4, 5]
    receipt = campaign.tell(first["id"], [1.0, None, "failed"])
    assert receipt._asdict() == {"told": 1, "failed": 1, "known": 0, "awaited": 1}
    assert campaign.pending(frame="columns")["id"] == [2, 4, 5]
    assert campaign.asked(frame="columns")["status"] == ["told", "pending", "failed", "pending", "pending"]
    assert campaign.asked(pending=True, frame="columns")["who"][-1] == "robot"
    assert campaign.history(frame="columns")["kind"] == ["created", "asked", "asked", "told", "failed"]


@pytest.mark.parametrize("form", ["ids", "entries", "mapping", "stream", "pandas", "polars"])
def test_every_form_of_telling(lab: Any, form: str) -> None:
    campaign = begun(lab)
    batch = asked(campaign, 2)
    columns = {"id": batch["id"], "value": [1.5, -2.25]}
    if form == "ids":
        receipt = campaign.tell(np.array(batch["id"]), np.array([1.5, -2.25]))
    elif form == "entries":
        receipt = campaign.tell(row=batch["row"], col=batch["col"], value=[1.5, -2.25])
    elif form == "mapping":
        receipt = campaign.tell(columns)
    elif form == "stream":
        receipt = campaign.tell(io.StringIO("id;value\n1;1,5\n2;-2,25\n"))
    else:
        library = pytest.importorskip(form)
        receipt = campaign.tell(library.DataFrame(columns))
    assert receipt.told == 2
    assert campaign.export(frame="columns")["value"] == [1.5, -2.25]


def test_the_same_told_twice_changes_nothing_and_another_value_is_refused(lab: Any) -> None:
    campaign = begun(lab)
    asked(campaign, 1)
    campaign.tell(1, 2.0)
    assert campaign.tell(1, 2.0).known == 1
    with pytest.raises(CampaignError, match=r"value 2 recorded for id 1.*, got 3"):
        campaign.tell(1, 3.0)
    assert campaign.tell(1, 3.0, again=True).told == 1
    assert campaign.export(frame="columns")["value"] == [2.0, 3.0]


def test_corrections_failures_and_withdrawals(lab: Any) -> None:
    campaign = begun(lab)
    batch = asked(campaign, 5)
    campaign.tell(batch["id"][:2], [1.0, 2.0])
    campaign.correct(1, 1.5, reason="a slip")
    campaign.correct(value=None, row=batch["row"][1], col=batch["col"][1])
    campaign.fail([3], "empty well", retry=True)
    campaign.withdraw(np.array([4, 5]), "out of time")
    campaign.withdraw([])
    everything = campaign.export(everything=True, frame="columns")
    assert same(everything["value"], [1.5, math.nan])
    assert everything["corrected"] == [True, True]
    found = campaign.asked(frame="columns")
    assert found["status"] == ["told", "withdrawn", "failed", "withdrawn", "withdrawn"]
    assert found["reason"] == ["", "", "empty well", "out of time", "out of time"]
    assert campaign.status().available == 19  # all but the one that is told
    campaign.correct(number=2, value=2.5)
    assert campaign.export(frame="columns")["value"] == [1.5, 2.5]


def test_plates_and_limits(lab: Any) -> None:
    campaign = begun(lab)
    assert len(set(asked(campaign, 2, plates="rows")["row"])) == 2
    assert len(set(asked(campaign, 4, per_row=2)["row"])) == 2


def test_nothing_left_to_ask(lab: Any) -> None:
    campaign = begun(lab, rows=2, cols=2)
    batch = asked(campaign, 9)
    assert len(batch["id"]) == 4
    with pytest.raises(NothingToAskError, match=r"4 pending.*Tell those first"):
        asked(campaign)
    campaign.tell(batch["id"], [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(NothingToAskError, match="every entry has been told"):
        asked(campaign)


# The campaign itself


def test_settings_come_back_as_they_were(lab: Any) -> None:
    mask = np.ones((4, 5), dtype=bool)
    mask[1, 2] = False
    given = {
        "costs": {"row": dict(zip(ROWS, [1.0, 2.0, 3.0, 4.0], strict=True)), "col": [0.5] * 5},
        "mask": mask, "range": (0.0, math.inf), "transform": "log", "lease": 3600, "budget": 30.0, "rank": 1,
        "n_initial": 3, "noise": "student", "effects": False, "target_sd": 0.1, "per_row": 2,
    }  # fmt: skip
    campaign, twin = begun(lab, rows=ROWS, cols=COLS, **given), at_hand(rows=ROWS, cols=COLS, **given)
    assert campaign.settings == twin.settings
    assert same(asked(campaign, 3), asked(twin, 3))
    for c in (campaign, twin):
        c.set(budget=None, range=(-1, 2), mask=None, costs=np.full((4, 5), 2.0), rank="auto")
        c.set(plates="rows", per_row=None)
        c.set()
    assert campaign.settings == twin.settings
    assert snapshot(campaign.state)["settings"] == snapshot(twin.state)["settings"]
    expires = campaign.asked(frame="columns")["expires_at"]
    assert all(isinstance(at, dt.datetime) for at in expires)


def test_rows_and_columns_are_added(lab: Any) -> None:
    campaign = begun(lab, costs={"row": [1.0] * 4})
    campaign.add_rows(["new", dt.date(2030, 1, 2)], cost=np.array([2.0, 3.0]))
    campaign.add_cols(["more"])
    assert campaign.settings.shape == (6, 6)
    assert campaign.settings.rows[-1] == dt.date(2030, 1, 2)
    assert campaign.settings.costs.row.tolist() == [1, 1, 1, 1, 2, 3]
    assert campaign.state.shape == (6, 6)


def test_the_status(lab: Any) -> None:
    campaign, twin = begun(lab, budget=10.0), at_hand(budget=10.0)
    for c in (campaign, twin):
        asked(c, 3)
        c.tell([1], [0.5])
    one, other = campaign.status(), twin.status()
    timed = ("created_at", "changed_at")
    assert same(*({k: v for k, v in vars(s).items() if k not in timed} for s in (one, other)))
    assert one.created_at <= one.changed_at
    assert str(one).splitlines()[:3] == str(other).splitlines()[:3]


def test_the_state_is_what_the_events_add_up_to(lab: Any) -> None:
    campaign = begun(lab)
    asked(campaign, 3)
    assert campaign.state.version == 2
    other = lab.open("kinase")
    other.tell([1, 2], [0.5, 0.25])
    assert campaign.state.version == 3  # what others have done is seen
    assert snapshot(campaign.state) == snapshot(other.state)


def test_many_lines_come_whole(lab: Any) -> None:
    campaign = begun(lab, rows=60, cols=50)
    n = len(asked(campaign, 2500)["id"])
    campaign.tell(range(1, n + 1), [float(k) for k in range(1, n + 1)])
    assert campaign.export(frame="columns")["value"] == [float(k) for k in range(1, 2501)]
    assert campaign.asked(frame="columns")["id"] == list(range(1, 2501))


def test_frames(lab: Any) -> None:
    campaign, twin = begun(lab, rows=["a", "b"], cols=["x", "y"]), at_hand(rows=["a", "b"], cols=["x", "y"])
    for c in (campaign, twin):
        c.tell(row=["a", "b"], col=["x", "y"], value=[1.0, 2.0], who="ann")
    for kind in ("pandas", "polars"):
        pytest.importorskip(kind)
        for wide in (True, False):
            found, wanted = (c.export(wide=wide, frame=kind) for c in (campaign, twin))
            if not wide:
                found, wanted = (
                    found.drop(columns="told_at") if kind == "pandas" else found.drop("told_at"),
                    (wanted.drop(columns="told_at") if kind == "pandas" else wanted.drop("told_at")),
                )
            assert found.equals(wanted)
            assert type(found) is type(wanted)
    assert type(campaign.posterior().mean) is type(twin.posterior().mean)


# Refusals

Call = Callable[[Any], object]
REFUSED: dict[str, tuple[Call, type[MaxentryError], str]] = {
    "an id that never was": (lambda c: c.tell(7, 1.0), DataError, "an id that was asked, got 7"),
    "an id below 1": (lambda c: c.fail(0), DataError, "an id that was asked, got 0"),
    "an unknown label": (lambda c: c.tell(row="z", col=0, value=1.0), LabelError, "known row labels"),
    "text as a value": (lambda c: c.tell(1, "much"), DataError, "is not a number"),
    "an infinite value": (lambda c: c.tell(1, math.inf), DataError, "finite numbers"),
    "too few values": (lambda c: c.tell([1, 2], [1.0]), DataError, "as many values as entries"),
    "no entries": (lambda c: c.ask(0), ParameterError, "a whole number of entries from 1 on"),
    "half an entry": (lambda c: c.ask(1.5), ParameterError, "a whole number of entries from 1 on"),
    "a withdrawn value": (lambda c: (c.tell(1, 1.0), c.withdraw(1)), CampaignError, "id 1, which has one"),
    "nothing to correct": (lambda c: c.correct(2, 1.0), CampaignError, "got none yet"),
    "no such number": (lambda c: c.correct(number=9, value=1.0), DataError, "the number of a measurement"),
    "a label twice": (lambda c: c.add_rows([0]), DataError, "is there already"),
    "no labels": (lambda c: c.add_rows([]), DataError, "row labels to add"),
    "an unknown setting": (lambda c: c.set(colour=1), ParameterError, "a setting that may change"),
    "a fixed setting": (lambda c: c.set(seed=2), ParameterError, "a setting that may change"),
    "a wrong budget": (lambda c: c.set(budget=-1), ParameterError, "a positive finite number"),
    "a rank too high": (lambda c: c.set(rank=9), RankError, "half the shorter side"),
    "plates and limits": (lambda c: c.ask(1, plates="rows", per_row=1), ParameterError, "plates"),
    "nothing told": (
        lambda c: c.posterior(),
        CampaignError,
        "at least one measurement before there is a posterior",
    ),
    "lines of which one is wrong": (lambda c: c.tell([1, 7], [1.0, 1.0]), DataError, "got 7"),
}


def test_what_is_refused(lab: Any, subtests: pytest.Subtests) -> None:
    for name, (call, kind, said) in REFUSED.items():
        with subtests.test(name):
            campaign = begun(lab, name)
            asked(campaign, 3)
            told = len(campaign.state.measurements)
            with pytest.raises(kind, match=said) as refusal:
                call(campaign)
            assert type(refusal.value) is kind
            if "withdrawn" not in said and "id 1, which has one" not in said:
                assert len(campaign.state.measurements) == told


def test_what_cannot_be_begun(lab: Any) -> None:
    for given, kind in (
        ({"rows": ["a", "a"]}, DataError), ({"rows": ["1", 1]}, DataError), ({"rows": 1}, DataError),
        ({"rank": 9}, RankError), ({"colour": 1}, ParameterError), ({"name": ""}, ParameterError),
        ({"costs": -1}, ParameterError), ({"mask": [[True]]}, ParameterError), ({"seed": -1}, ParameterError),
        ({"lease": "soon"}, ParameterError), ({"range": (2, 1)}, ParameterError),
    ):  # fmt: skip
        with pytest.raises(kind):
            begun(lab, **{"name": "kinase"} | given)
    assert lab.list() == []


# What is believed


def test_the_posterior_the_outlook_and_the_choice_are_those_of_a_campaign_at_hand(lab: Any) -> None:
    given = {"acquisition": "predictive_variance", "rank": 1, "n_initial": 8, "rows": 6}
    campaign, twin = begun(lab, **given), at_hand(**given)
    X = np.add.outer(np.arange(6.0), np.arange(5.0) ** 2)
    for c in (campaign, twin):
        batch = asked(c, 9)
        c.tell(batch["id"], X[batch["row"], batch["col"]])
    one, other = campaign.posterior(progress=False), twin.posterior(progress=False)
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.sd, other.sd)
    assert one.observations.row_labels == other.observations.row_labels
    ahead, wanted = campaign.outlook(3, progress=False), twin.outlook(3, progress=False)
    assert ahead.advice == wanted.advice
    assert ahead.outlook == wanted.outlook
    assert same(asked(campaign, 3), asked(twin, 3))


def test_goals_are_kept_chosen_for_and_answered(lab: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 1)) * rng.normal(size=6) + rng.normal(size=(8, 1))
    i, j = np.nonzero(rng.random(X.shape) < 0.6)
    campaign = lab.create("x", 8, 6, seed=1, rank=1, goal="Best per  column")
    campaign.tell(row=i.tolist(), col=j.tolist(), value=X[i, j].tolist())
    assert campaign.settings.goal == "best per column"
    batch = campaign.ask(2, frame="columns")
    assert campaign.history(frame="columns")["what"][-1].endswith("best per column")
    assert len(batch["row"]) == 2
    found = campaign.answer()
    assert str(found).startswith("Best for 0: ")
    assert found.to_dict() == campaign.posterior().answer("best per column").to_dict()
    advice = campaign.outlook(3).advice
    assert advice.startswith("go on: Expected regret: ")
    assert "3 more measurements should lower it by" in advice
    campaign.set(enough=found.at_stake + 1)
    with pytest.raises(NothingToAskError, match="goal is reached: Expected regret"):
        campaign.ask(1)
    campaign.set(goal="rank rows", enough=None)
    assert campaign.answer().goal.kind == "rank"
    assert campaign.answer("threshold 0.5", level=0.5).level == 0.5
    for wrong in ("bes", "fill"):
        with pytest.raises(ParameterError, match="got"):
            campaign.answer(wrong)
    with pytest.raises(ParameterError, match="got 'bes'"):
        campaign.set(goal="bes")
    campaign.set(goal="fill")
    assert "goal" not in campaign.settings.to_json()


def test_weights_of_a_ranking_are_kept_chosen_for_and_shown(lab: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4)) + 3 * np.arange(6)[:, None] * np.array([1, -1, 0, 0])
    i, j = np.nonzero(rng.random(X.shape) < 0.8)
    cols = ["maths", "law", "art", "sport"]
    campaign = lab.create("x", 6, cols, seed=1, goal="rank rows", weights={"maths": 3})
    campaign.tell(row=i.tolist(), col=[cols[k] for k in j], value=X[i, j].tolist())
    assert campaign.settings.weights == (3.0, 1.0, 1.0, 1.0)
    assert campaign.status().weights == {"maths": 3.0}
    assert campaign.status().goal == "rank rows"
    assert "goal: rank rows, weights maths 3" in str(campaign.status())
    posterior = campaign.posterior()
    weighted, plain = (posterior.answer("rank rows", weights=w) for w in ({"maths": 3}, None))
    assert campaign.answer().summary == weighted.summary
    assert campaign.answer().to_dict()["pairs"] == weighted.to_dict()["pairs"]
    assert campaign.answer("rank rows smallest").goal.weights == campaign.settings.weights
    assert weighted.labels != plain.labels
    assert str(campaign.answer()).startswith("Best row by weighted average: 5")
    assert campaign.answer("rank columns").goal.weights is None
    ahead = campaign.outlook(2).at_stake
    assert ahead.now == pytest.approx(weighted.at_stake)
    assert (ahead.choices, ahead.after <= ahead.now) == (15, True)
    campaign.add_cols(["music"])
    assert campaign.settings.weights == (3.0, 1.0, 1.0, 1.0, 1.0)
    campaign.set(weights=[0, 3, 1, 1, 1])
    assert campaign.history(frame="columns")["what"][-1] == "weights given"
    assert campaign.answer().labels[0] == 0
    for wrong, why in (
        ({"weights": {"chess": 2}}, "chess"),
        ({"weights": [1, 2]}, "5 numbers from zero on, one for each column"),
        ({"goal": "rank columns"}, "weights of columns, got 'rank columns'"),
        ({"goal": "best"}, "weights of columns, got 'best'"),
    ):
        with pytest.raises(MaxentryError, match=why):
            campaign.set(**wrong)
    campaign.set(goal="rank columns", weights={0: 2})
    assert campaign.status().weights == {"0": 2.0}
    campaign.set(goal="best", weights=None)
    assert campaign.status().weights is None
    assert "weights" not in campaign.settings.to_json()
    with pytest.raises(MaxentryError, match="expected weights with the goal 'rank rows'"):
        lab.create("y", 3, 3, seed=1, weights=[1, 2, 3])


def test_answers_use_the_words_of_the_campaign(lab: Any) -> None:
    campaign = lab.create(
        "x", ["dppf", "XPhos"], ["S1", "S2"], seed=1, goal="best per column", row_name="ligand", col_name="substrate"
    )  # fmt: skip
    campaign.tell(row=["dppf", "dppf", "XPhos"], col=["S1", "S2", "S1"], value=[80.0, 60.0, 20.0])
    assert str(campaign.answer()).startswith("Best ligand for S1: dppf (")
    assert "Best substrate for dppf: " in str(campaign.answer("best per row"))
    assert str(campaign.answer("rank columns")).startswith("Best substrate by average: ")
