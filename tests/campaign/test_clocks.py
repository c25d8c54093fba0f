"""Leases go by one clock for all, and time never goes back."""

from __future__ import annotations

import copy
import datetime as dt

import pytest
from tests.campaign.conftest import database
from tests.campaign.stand_ins import START, Clock, campaign, lowest, snapshot

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import replay


def test_a_clock_that_goes_back_does_not_take_the_campaign_along(where: str) -> None:
    clock = Clock()
    with campaign(where, clock=clock, lease=60, policy=lowest) as c:
        clock.forward(3600)
        c.ask(1)
        clock.forward(-3000)
        c.tell(row=3, col=4, value=1.0)
        assert c.history(frame="columns")["at"] == [START, *[START + dt.timedelta(seconds=3600)] * 2]
        c.ask(1)
        assert c.state.asked[2].expires_at == START + dt.timedelta(seconds=3660)
        assert c.status().pending == 2


def test_on_a_server_the_time_is_the_servers(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is an hour ahead must not take for expired what was just handed out."""

    class AnyTime(type):
        def __instancecheck__(cls, time: object) -> bool:
            return isinstance(time, usual)  # only the clock is replaced, not the type of a time

    class Ahead(dt.datetime, metaclass=AnyTime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]
            return real(tz) + dt.timedelta(hours=1)

    usual, real = dt.datetime, dt.datetime.now
    with database(postgres) as url, campaign(url, lease=600, policy=lowest) as c:
        handed = c.ask(2, frame="columns")
        monkeypatch.setattr("maxentry.campaign.storage.dt.datetime", Ahead)
        monkeypatch.setattr("maxentry.campaign.campaign.dt.datetime", Ahead)
        assert dt.datetime.now(dt.UTC) - real(dt.UTC) > dt.timedelta(minutes=50)
        with Campaign.open(url, policy=lowest) as ahead:
            assert ahead.status().pending == 2
            other = ahead.ask(2, frame="columns")
            created = campaign(url, name="other")
        monkeypatch.undo()
        assert handed["col"] == [0, 1]
        assert other["col"] == [2, 3]
        for times in (c.history(frame="columns")["at"], created.history(frame="columns")["at"]):
            assert max(times) < dt.datetime.now(dt.UTC) + dt.timedelta(minutes=5)
        created.close()


def at_years(years: float) -> Clock:
    return Clock(START + dt.timedelta(days=365.25 * years))


def test_a_clock_far_ahead_does_not_freeze_the_leases_of_others(where: str) -> None:
    """An ask, a tell and the end of leases go on by the clocks of the others."""
    right, ahead = Clock(), at_years(50)
    with campaign(where, clock=right, lease=600, policy=lowest) as c:
        wrong = copy.copy(c)
        wrong._clock = ahead
        c.ask(1)
        right.forward(60)
        wrong.ask(1)
        assert c.status().pending == 2
        right.forward(60)
        c.tell(row=3, col=4, value=1.0)
        assert c.history(frame="columns")["at"][-1] == right.now
        c.ask(1)
        assert c.state.asked[3].expires_at == right.now + dt.timedelta(seconds=600)
        right.forward(400)  # 520 s after the first event, which the second ask counts from
        assert [c.state.asked[id].status_at(right.now) for id in (1, 2, 3)] == ["pending"] * 3
        right.forward(100)
        assert [c.state.asked[id].status_at(right.now) for id in (1, 2, 3)] == [
            "expired",
            "expired",
            "pending",
        ]
        assert c.status().expired == 2
        right.forward(120)
        assert [ask.id for ask in c.state.pending_asks(c.now(c.state))] == []
        assert c.ask(1, frame="columns")["col"] == [0]  # the first entry again
        assert snapshot(replay(c.records())) == snapshot(c.state)


def test_what_a_clock_far_ahead_has_asked_for_expires_without_another_event(where: str) -> None:
    """It took all entries, so nobody else can write an event."""
    right = Clock()
    with campaign(where, 2, 2, clock=right, lease=600, policy=lowest) as c:
        wrong = copy.copy(c)
        wrong._clock = at_years(50)
        wrong.ask(2)
        wrong._clock.forward(5 * 86400)
        wrong.ask(1)
        wrong.tell(row=1, col=1, value=1.0)
        right.forward(60)
        assert c.status().pending == 3
        right.forward(600)
        assert (c.status().pending, c.status().expired) == (0, 3)
        assert len(c.ask(3, frame="columns")["id"]) == 3


def test_a_clock_far_behind_goes_by_the_events(where: str) -> None:
    right = Clock()
    with campaign(where, clock=right, lease=600, policy=lowest) as c:
        behind = copy.copy(c)
        behind._clock = at_years(-50)
        right.forward(3600)
        c.ask(1)
        assert behind.status().pending == 1
        behind.tell(row=3, col=4, value=1.0)
        assert c.history(frame="columns")["at"][-1] == right.now
        behind.ask(1)
        assert c.state.asked[2].expires_at == right.now + dt.timedelta(seconds=600)
        right.forward(601)
        assert c.status().expired == 2


def test_a_pause_of_months_is_no_clock_ahead(where: str) -> None:
    clock = Clock()
    with campaign(where, clock=clock, lease=600, policy=lowest) as c:
        c.ask(1)
        clock.forward(100 * 86400)
        assert c.status().expired == 1
        c.ask(1)
        clock.forward(-3600)  # within a day: the same hour for all
        assert c.status().pending == 1
        assert c.now(c.state) == c.state.changed_at


def test_a_wrong_clock_ahead_hands_out_leases_of_others_and_loses_nothing() -> None:
    """It cannot know better: as far as it sees, nobody was there for years. The others are not misled by it."""
    right = Clock()
    with campaign(clock=right, lease=600, policy=lowest) as c:
        first = c.ask(1, frame="columns")
        wrong = copy.copy(c)
        wrong._clock = at_years(50)
        right.forward(60)
        assert wrong.status().pending == 0
        second = wrong.ask(1, frame="columns")
        assert (first["row"], first["col"]) == (second["row"], second["col"])
        assert [c.state.asked[id].status_at(c.now(c.state)) for id in (1, 2)] == ["pending"] * 2
        assert c.ask(1, frame="columns")["col"] != first["col"]
        wrong.tell(second["id"], [0.25])
        c.tell(first["id"], [0.5])
        assert sorted(c.export(frame="columns")["value"]) == [0.25, 0.5]
