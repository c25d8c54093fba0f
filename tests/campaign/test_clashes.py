"""What is handed out when others have been quicker, or wrote without the lock."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from sqlalchemy import text
from tests.campaign.conftest import database
from tests.campaign.stand_ins import campaign, chosen, lowest

from maxentry.belief import Entries
from maxentry.campaign import storage as storage_module
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Log, Overtaken, Storage
from maxentry.errors import StorageError


@pytest.mark.parametrize("plates", ["rows", "cols"])
@pytest.mark.parametrize("by_setting", [True, False])
def test_a_plate_is_handed_out_whole_or_not_at_all(plates: Literal["rows", "cols"], by_setting: bool) -> None:
    """However often others have been quicker."""

    def stubborn(state: Any, n: int, now: Any, **_: Any) -> Any:
        line, other = np.repeat([2, 3], 4), np.tile(np.arange(4), 2)
        return chosen(state, Entries(*((line, other) if plates == "rows" else (other, line))))

    with campaign(rows=4, cols=4, policy=stubborn, plates=plates if by_setting else None) as c:
        c.tell(row=3, col=3, value=1.0)
        mine = c.ask(2, plates=None if by_setting else plates, frame="columns")
        assert mine["row" if plates == "rows" else "col"] == [2] * 4


def test_who_is_overtaken_asks_again(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    append, calls = Log.append, []

    def overtaken_once(log: Log, *given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise Overtaken("just now")
        return append(log, *given)

    with campaign(where, policy=lowest) as c:
        monkeypatch.setattr(Log, "append", overtaken_once)
        assert c.ask(2, frame="columns")["id"] == [1, 2]
        assert len(calls) == 2
        assert c.state.version == 2


def test_tables_that_were_upgraded_since_they_were_opened_are_not_written_to(lasting: str) -> None:
    with campaign(lasting, policy=lowest) as c:
        c.ask(1)
        with Storage(lasting) as other, other.writing() as connection:
            connection.execute(text("UPDATE maxentry_schema SET version = 1000"))
        for attempt in (lambda: c.tell(1, 5.0), lambda: c.ask(1), lambda: campaign(c._storage, name="more")):
            with pytest.raises(StorageError, match=r"got version 1000\. Upgrade maxentry"):
                attempt()
        assert c.state.version == 2


def test_an_upgrade_waits_for_whoever_writes(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "PATIENCE", 0.3)
    with (
        database(postgres) as url,
        Storage(url, create=True) as one,
        Storage(url) as other,
        campaign(one) as c,
        one.locked(c.key),
        pytest.raises(StorageError, match="another process has been writing"),
        other.writing() as connection,
    ):
        connection.execute(text("UPDATE maxentry_schema SET version = 1000"))


# What is known from the beginning


KNOWN = {"row": ["a", "b"], "col": ["x", "y"], "value": [1.5, 2.5]}


def test_values_are_there_from_the_beginning_or_nothing_is(
    lasting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Log.append

    def cut_short(log: Log, news: Any, *given: Any) -> Any:
        append(log, news[:1], *given)
        raise ZeroDivisionError  # the power goes between the creation and the values

    monkeypatch.setattr(Log, "append", cut_short)
    with pytest.raises(ZeroDivisionError):
        campaign(lasting, rows=["a", "b"], cols=["x", "y"], values=KNOWN)
    monkeypatch.undo()
    assert Campaign.list(lasting) == []
    with campaign(lasting, rows=["a", "b"], cols=["x", "y"], values=KNOWN) as c:
        assert c.history(frame="columns")["kind"] == ["created", "told"]
        assert c.export(frame="columns")["value"] == [1.5, 2.5]
    with campaign(lasting, rows=["a", "b"], cols=["x", "y"], values=KNOWN, exist_ok=True) as c:
        assert c.history(frame="columns")["kind"] == ["created", "told"]
    more = {"row": ["a"], "col": ["y"], "value": [3.5]}
    with campaign(lasting, rows=["a", "b"], cols=["x", "y"], values=more, exist_ok=True) as c:
        assert c.export(frame="columns")["value"] == [1.5, 2.5, 3.5]


def test_values_that_are_refused_leave_no_file(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="expected values from 0 to 2"):
        campaign(tmp_path / "lab.db", rows=["a", "b"], cols=["x", "y"], values=KNOWN, range=(0, 2))
    assert list(tmp_path.iterdir()) == []
