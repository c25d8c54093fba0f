"""Leases go by one clock for all, and time never goes back."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.campaign.conftest import database
from tests.campaign.stand_ins import START, Clock, campaign, lowest

from maxentry.campaign.campaign import Campaign


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
