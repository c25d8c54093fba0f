"""What is told twice, by id or by row and column, while several have been asked for the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.campaign.stand_ins import Clock, campaign, chosen, lowest

from maxentry.belief import Entries
from maxentry.campaign.campaign import Campaign
from maxentry.errors import CampaignError


def statuses(c: Campaign) -> list[str]:
    return c.asked(frame="columns")["status"]


def told(c: Campaign) -> list[tuple[int | None, float]]:
    found = c.export(frame="columns")
    return list(zip(found["id"], found["value"], strict=True))


def corner(state: Any, n: int, now: Any, **_: Any) -> Any:
    return chosen(state, Entries.from_lists([0] * n, [0] * n))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def handed_on(clock: Clock) -> Iterator[Campaign]:
    """Id 1 of row 0, column 0 has expired; id 2 of the same is pending."""
    with campaign(policy=lowest, clock=clock, lease=10) as c:
        c.ask(1)
        clock.forward(20)
        c.ask(1)
        assert statuses(c) == ["expired", "pending"]
        yield c


@pytest.fixture
def replicates() -> Iterator[Campaign]:
    """Ids 1 and 2, both pending, of row 0, column 0, of which several values are wanted."""
    with campaign(policy=corner, again=True) as c:
        c.ask(2)
        yield c


# By row and column


def test_the_same_told_twice_is_stored_once_and_answers_the_ask_that_is_pending(handed_on: Campaign) -> None:
    assert handed_on.tell(row=0, col=0, value=1.5).told == 1
    version = handed_on.state.version
    assert handed_on.tell(row=0, col=0, value=1.5).known == 1
    assert handed_on.state.version == version
    assert told(handed_on) == [(2, 1.5)]
    assert statuses(handed_on) == ["expired", "told"]
    assert (handed_on.status().pending, handed_on.status().spent) == (0, 1.0)


def test_another_value_is_refused_where_nobody_waits_for_one(handed_on: Campaign) -> None:
    handed_on.tell(row=0, col=0, value=1.5)
    with pytest.raises(CampaignError, match=r"value 1\.5 recorded for row 0, column 0, got 2"):
        handed_on.tell(row=0, col=0, value=2.0)
    assert handed_on.tell(row=0, col=0, value=2.0, again=True).told == 1
    assert told(handed_on) == [(2, 1.5), (1, 2.0)]


def test_another_value_answers_the_ask_that_still_waits(handed_on: Campaign) -> None:
    handed_on.tell(1, 1.5)
    assert handed_on.tell(row=0, col=0, value=2.0).told == 1
    assert handed_on.tell(row=[0, 0], col=[0, 0], value=[1.5, 2.0]).known == 2
    assert told(handed_on) == [(1, 1.5), (2, 2.0)]
    assert statuses(handed_on) == ["told", "told"]


def test_another_value_is_refused_once_the_ask_has_expired(handed_on: Campaign, clock: Clock) -> None:
    handed_on.tell(1, 1.5)
    clock.forward(20)
    with pytest.raises(CampaignError, match=r"value 1\.5 .*, got 2"):
        handed_on.tell(row=0, col=0, value=2.0)


def test_what_is_known_already_keeps_nobody_waiting(handed_on: Campaign) -> None:
    handed_on.tell(1, 1.5)
    assert handed_on.tell(row=0, col=0, value=1.5).known == 1
    assert statuses(handed_on) == ["told", "withdrawn"]
    assert handed_on.history(frame="columns")["what"][-1] == "id 2: told by row and column"
    version = handed_on.state.version
    assert handed_on.tell(row=0, col=0, value=1.5).known == 1
    assert handed_on.state.version == version
    assert handed_on.tell(2, 1.75).told == 1  # whoever had it may have measured it
    assert told(handed_on) == [(1, 1.5), (2, 1.75)]


def test_of_two_that_have_expired_the_last_is_answered(handed_on: Campaign, clock: Clock) -> None:
    clock.forward(20)
    handed_on.tell(row=0, col=0, value=1.5)
    assert told(handed_on) == [(2, 1.5)]


def test_where_replicates_are_wanted_every_ask_waits_for_a_value_of_its_own(replicates: Campaign) -> None:
    c = replicates
    for _ in range(2):
        c.tell(row=0, col=0, value=1.5)
    assert (told(c), statuses(c)) == ([(1, 1.5)], ["told", "pending"])
    assert c.tell(row=[0, 0], col=[0, 0], value=[1.5, 2.5]) == (1, 0, 1, 0)
    assert (told(c), statuses(c)) == ([(1, 1.5), (2, 2.5)], ["told", "told"])


def test_the_same_value_may_be_a_replicate_if_that_is_said(replicates: Campaign) -> None:
    replicates.tell(row=[0, 0], col=[0, 0], value=[1.5, 1.5], again=True)
    assert told(replicates) == [(1, 1.5), (2, 1.5)]


# Values that were struck out


def test_a_value_struck_out_does_not_come_back_with_the_plate() -> None:
    with campaign(policy=lowest) as c:
        c.ask(2)
        c.tell([1, 2], [5.0, 6.0])
        c.correct(1, None)
        version = c.state.version
        for again in (
            lambda: c.tell([1, 2], [5.0, 6.0]),
            lambda: c.tell(row=[0, 0], col=[0, 1], value=[5, 6]),
        ):
            with pytest.raises(CampaignError, match=r"column 0.* got 5, which was removed.*again=True"):
                again()
        assert c.state.version == version
        assert c.tell(1, 5.5).told == 1
        assert told(c) == [(2, 6.0), (1, 5.5)]


def test_neither_does_what_it_was_before_it_was_corrected() -> None:
    with campaign(policy=lowest) as c:
        c.ask(1)
        c.tell(1, 50.0)
        c.correct(1, 5.0)
        c.correct(1, None)
        for value in (50.0, 5.0):
            with pytest.raises(CampaignError, match="was removed"):
                c.tell(1, value)
        c.correct(1, 5.0)
        assert c.tell(1, 5.0).known == 1


def test_it_may_come_back_if_that_is_said_and_is_then_the_one_to_correct() -> None:
    with campaign(policy=lowest) as c:
        c.ask(1)
        c.tell(1, 5.0)
        c.correct(1, None)
        assert c.tell(1, 5.0, again=True).told == 1
        assert c.tell(1, 5.0).known == 1
        c.correct(1, 7.0)
        assert c.export(frame="columns", everything=True)["value"][1:] == [7.0]


def test_whoever_is_asked_anew_may_find_the_same_value() -> None:
    with campaign(policy=lowest) as c:
        c.ask(1)
        c.tell(1, 5.0)
        c.correct(1, None)
        c.ask(1)
        assert c.tell(2, 5.0).told == 1
        assert c.tell(row=0, col=0, value=5.0).known == 1


def test_what_was_measured_stays_paid_for() -> None:
    with campaign(policy=lowest, budget=3, costs={"row": [2, 1, 1, 1]}) as c:
        c.ask(1)
        c.tell(1, 5.0)
        c.correct(1, None)
        assert (statuses(c), c.status().spent) == (["withdrawn"], 2.0)
        c.withdraw(1)
        assert c.status().spent == 2.0


# Failures


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("which", [{"id": [1, 1]}, {"row": [0, 0], "col": [0, 0]}])
def test_one_report_cannot_tell_a_value_and_a_failure_of_the_same(
    which: dict[str, list[int]], order: list[int]
) -> None:
    with campaign(policy=lowest) as c:
        c.ask(1)
        version = c.state.version
        with pytest.raises(CampaignError, match=r"got both|which has one"):
            c.tell({**which, "value": [["failed", 2.0][k] for k in order]})
        assert c.state.version == version


def test_a_failure_told_twice_by_row_and_column_is_known(handed_on: Campaign) -> None:
    report = {"row": [0], "col": [0], "value": ["failed"]}
    assert handed_on.tell(report).failed == 1
    assert statuses(handed_on) == ["expired", "failed"]
    assert handed_on.tell(report).known == 1
    assert statuses(handed_on) == ["expired", "failed"]


def test_an_entry_that_nobody_asked_for_may_fail() -> None:
    with campaign(policy=lowest, budget=50.0) as c:
        c.ask(1)
        spent, available = c.status().spent, c.status().available
        report = {"row": [1, 1], "col": [1, 2], "value": ["failed", "failed"]}
        assert c.tell(report).failed == 2
        assert statuses(c) == ["pending", "failed", "failed"]
        assert c.tell(report).known == 2
        assert c.tell({"row": [1, 0], "col": [1, 2], "value": ["failed", "failed"]})[1:3] == (1, 1)
        assert c.status().spent == spent  # nobody paid for an ask
        assert c.state.asked[2].cost == 0.0
        assert c.status().available == available - 3  # they are not asked for
        c.fail(2, retry=True)
        assert c.status().available == available - 2
        assert c.tell(row=[1], col=[2], value=[4.0]).told == 1  # it went well after all
        assert c.tell(report).known == 2  # the old file again
        c.tell(row=[0], col=[1], value=[4.0])
        with pytest.raises(CampaignError, match="which has one"):
            c.tell({"row": [0], "col": [1], "value": ["failed"]})
        assert "id 2 to 3" in str(c.history(frame="columns")["what"]).replace("ids", "id")


def test_a_replicate_may_fail_beside_one_that_has_a_value(replicates: Campaign) -> None:
    replicates.tell({"row": [0, 0], "col": [0, 0], "value": ["failed", 2.5]})
    assert statuses(replicates) == ["failed", "told"]


# With and without a standard error


@pytest.mark.parametrize("value", [2.5, "<0.5", "0.5..0.7"])
def test_a_value_that_got_its_standard_error_later_is_known_when_it_is_told_again_without(value: Any) -> None:
    with campaign(rows=["a", "b"], cols=["x", "y"]) as c:
        log = {"row": ["a", "b"], "col": ["x", "y"], "value": [value, 4.0]}
        c.tell(log)
        c.correct(row="a", col="x", value=value, se=0.1)
        version = c.state.version
        assert c.tell(log) == (0, 0, 2, 0)
        assert c.tell(log | {"se": [0.1, None]}) == (0, 0, 2, 0)
        assert c.state.version == version
        with pytest.raises(CampaignError, match="recorded for row 'a', column 'x'"):
            c.tell(row="a", col="x", value=3.5)
        with pytest.raises(CampaignError, match="recorded for row 'a', column 'x'"):
            c.tell(row="a", col="x", value=value, se=0.2)


def test_an_id_whose_value_got_a_standard_error_is_known_when_its_plate_is_told_again() -> None:
    with campaign(policy=lowest) as c:
        c.ask(2)
        c.tell([1, 2], [1.5, 2.5])
        c.correct(1, 1.5, se=0.1)
        assert c.tell([1, 2], [1.5, 2.5]).known == 2


def test_one_value_with_and_without_a_standard_error_in_one_report_is_refused() -> None:
    with campaign(rows=["a", "b"], cols=["x", "y"]) as c:
        for se in ([0.1, None], [None, 0.1]):
            with pytest.raises(CampaignError, match="expected one value"):
                c.tell({"row": ["a", "a"], "col": ["x", "x"], "value": [1.0, 1.0], "se": se})
