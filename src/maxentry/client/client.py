"""`connect`: a campaign on a server, with the methods of `Campaign`.

`RemoteCampaign` turns calls into requests and answers into what `Campaign` returns; `HttpSession` sends the requests.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote
from warnings import warn

from maxentry import cells, frames, tables
from maxentry.acquisition.problem import Costs, Limits
from maxentry.campaign import events, views
from maxentry.campaign.campaign import check_count, user_name
from maxentry.campaign.events import Record
from maxentry.campaign.lines import Known, Line, read_lines
from maxentry.campaign.setting_values import read_more_features
from maxentry.campaign.settings import Settings, change_settings, check_settings, read_settings
from maxentry.campaign.state import State, replay
from maxentry.campaign.tell import Receipt, parse_ids
from maxentry.campaign.views import Columns, FrameKind, Status
from maxentry.client.session import WAIT, HttpSession, parse_document
from maxentry.errors import CampaignError, DataError
from maxentry.features import FeatureTable
from maxentry.labels import check_labels, decode, encode
from maxentry.model.likelihood import kind_words
from maxentry.wording import show

if TYPE_CHECKING:
    from maxentry.campaign.outlook import Ahead
    from maxentry.campaign.policy import About, Plates
    from maxentry.posterior.decisions import Answer
    from maxentry.posterior.posterior import Posterior


def connect(
    url: str,
    token: str | None = None,
    *,
    campaign: str | None = None,
    certificate: str | None = None,
    frame: FrameKind | None = None,
) -> RemoteCampaign:
    """A campaign on a server (`maxentry serve`), with the methods of `Campaign`: that of this name, or the only one.

    token: what the server's operator gave you, or the environment variable MAXENTRY_TOKEN; none is needed on the
        server's own machine, if it was started without.
    certificate: a file with the certificate to trust, for a server with a self-signed one.
    frame: "pandas", "polars" or "columns" for tables and maps, as in `Campaign.open`.
    On what is returned, `list()`, `open(name)` and `create(name, rows, cols, …)` are of the server's campaigns.
    Nothing is sent before it is used.
    """
    views.check_frame(frame)
    token = token or os.environ.get("MAXENTRY_TOKEN") or None
    return RemoteCampaign(HttpSession(url, token, certificate), campaign, frame)


class RemoteCampaign:
    """A campaign on a server. Its methods are documented at those of `Campaign`.

    Every write carries a key, so that it is repeated without harm when an answer is lost on its way.
    """

    def __init__(
        self,
        session: HttpSession,
        name: str | None = None,
        frame: FrameKind | None = None,
        id: str | None = None,
    ) -> None:
        """For `connect`. Without an id the campaign is looked for when it is first used."""
        self._session, self._name, self._frame, self._id = session, name, frame, id
        self._latest: State | None = None
        self._lock = threading.Lock()

    # Open and close

    def create(
        self,
        name: str,
        rows: Iterable[Hashable] | int,
        cols: Iterable[Hashable] | int,
        *,
        seed: int | None = None,
        values: Any = None,
        exist_ok: bool = False,
        who: str | None = None,
        frame: FrameKind | None = None,
        **settings: Any,
    ) -> RemoteCampaign:
        """Create a campaign on this server."""
        frame = frame or frames.frame_library(values, rows, cols, *settings.values()) or self._frame
        views.check_frame(frame)
        settings = read_settings(settings, values)
        wanted = check_settings(Settings(name=name, rows=rows, cols=cols, seed=seed or 0, **settings))  # type: ignore[arg-type]
        told = (
            None
            if values is None
            else [_line(line) for line in read_lines(values, words=wanted.words, flags=True)]
        )
        body = _settings(wanted, ("name", "rows", "cols", *settings))
        body |= {"seed": seed, "values": told, "exist_ok": exist_ok, "who": user_name(who)}
        created = self._session.send("POST", "/campaigns", body)
        return RemoteCampaign(self._session, created["name"], frame, created["id"])

    def open(self, name: str | None = None, *, frame: FrameKind | None = None) -> RemoteCampaign:
        """The campaign of this name on this server, or the only one."""
        views.check_frame(frame)
        found = self._find(name)
        return RemoteCampaign(self._session, found["name"], frame or self._frame, found["id"])

    def list(self) -> list[str]:
        """The names of the campaigns on this server."""
        return [line["name"] for page in self._session.pages("/campaigns") for line in page["items"]]

    def close(self) -> None:
        """Close the connection. The campaign stays where it is."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{f'Campaign {self._name!r}' if self._name else 'Campaigns'} on {self._session.url}"

    # Look

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self._resolve()[0]

    @property
    def state(self) -> State:
        """The replay of all events; only those that are new are fetched."""
        state = self._latest
        for page in self._session.pages(self._at("/events"), after=0 if state is None else state.version):
            records = [_record(line) for line in page["items"]]
            state = replay(records) if state is None else state.after(records)
        assert state is not None
        with self._lock:  # another thread may have fetched later ones
            if self._latest is None or state.version > self._latest.version:
                self._latest = state
        return state

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self.state.settings

    def status(self) -> Status:
        """Counts and sums; prints as a few lines."""
        document = self._session.get(self._at())
        times = {name: dt.datetime.fromisoformat(document[name]) for name in ("created_at", "changed_at")}
        return Status(**{name: x for name, x in document.items() if name != "id"} | times)

    def posterior(self, *, progress: bool | None = None) -> Posterior:
        """The posterior of the whole matrix given all measurements, in the user's units."""
        from maxentry.posterior.posterior import Posterior

        path, params = self._at("/posterior/draws"), {"wait": WAIT}
        while (response := self._session.request("GET", path, params=params)).status_code == 202:
            self._session.wait_for(parse_document(response), progress)
            params["stale"] = True  # the fit that was waited for, though more may have been told since
        with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
            file = Path(folder) / "posterior.npz"
            file.write_bytes(response.content)
            return views.convert_maps(Posterior.load(file), self._frame)

    def answer(self, goal: str | None = None, *, level: float = 0.9, progress: bool | None = None) -> Answer:
        """The answer to the campaign's goal, or to another one."""
        settings = self.settings
        wanted = views.choose_goal(goal, settings)
        return views.answer(self.posterior(progress=progress), wanted, settings, level)

    def outlook(self, n: int = 8, *, progress: bool | None = None) -> Ahead:
        """The expected error now, once the pending entries are measured, and after the next n entries; and advice."""
        from maxentry.campaign.outlook import Ahead

        params, document = {"n": check_count(n), "wait": WAIT}, None
        while document is None:
            response = self._session.request("GET", self._at("/outlook"), params=params)
            document = parse_document(response)
            if response.status_code == 202:
                document = self._session.wait_for(document, progress)
        return Ahead.from_dict(document)

    def asked(self, *, pending: bool = False, frame: FrameKind | None = None) -> Any:
        """All entries that were asked for and their status, or only the pending ones, as a frame."""
        only = {"status": "pending"} if pending else {}
        return self._table("/asked", views.ASKED_COLUMNS, frame, **only)

    def pending(self, *, frame: FrameKind | None = None) -> Any:
        """The pending entries, as `ask` returned them: id, row, col, mean, sd, gain, cost."""
        return self._table("/asked", views.ASK_COLUMNS, frame, status="pending")

    def history(self, *, frame: FrameKind | None = None) -> Any:
        """What happened, one line an event: event, at, who, kind, what."""
        return self._table("/history", views.HISTORY_COLUMNS, frame)

    def export(self, *, wide: bool = False, everything: bool = False, frame: FrameKind | None = None) -> Any:
        """The measurements: long (number, id, row, col, value, told_at, who, corrected), or wide with means."""
        if wide:
            return views.wide(self.state, frame or self._frame)
        pages = self._session.pages(self._at("/measurements"), everything=everything)
        lines = [{"limits": None, "se": None} | line for page in pages for line in page["items"]]
        names = (*views.MEASUREMENT_COLUMNS, "limits", "se")
        return views.as_frame(views.with_words(_columns(lines, names), self._words), frame or self._frame)

    # Ask and tell

    def ask(
        self,
        n: int = 1,
        *,
        row: Hashable = None,
        about: About = "row",
        plates: Plates | None = None,
        per_row: int | None = None,
        per_col: int | None = None,
        who: str | None = None,
        progress: bool | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """The next n entries to measure, as a frame of id, row, col, mean, sd, gain, cost; they are now pending.

        row: only entries of this row, those that tell most about all of it, or (about="average") about its average.
        """
        frame = frame or self._frame
        views.as_frame({}, frame)  # refuse an impossible frame before anything is asked for
        limits: dict[str, Any] = {"plates": plates, "per_row": per_row, "per_col": per_col}
        if row is not None or about != "row":  # which older servers do not know
            limits |= {"row": _label(row), "about": about}
        body = {"n": check_count(n), **limits, "who": user_name(who)}
        key, path = str(uuid.uuid4()), self._at("/ask") + f"?wait={WAIT}"
        while "entries" not in (document := self._session.send("POST", path, body, key=key)):
            self._session.wait_for(document, progress)  # then the same request returns its entries
        columns = _columns(document["entries"], views.ASK_COLUMNS)
        if Limits(plates=plates).block:
            columns = views.add_wells(columns, self.state)
        return views.as_frame(columns, frame)

    def tell(
        self,
        ids: Any = None,
        values: Any = None,
        *,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        low: Any = None,
        high: Any = None,
        se: Any = None,
        again: bool = False,
        who: str | None = None,
    ) -> Receipt:
        """Tell values: `tell(ids, values)`, `tell(row=…, col=…, value=…)`, or `tell(table)`."""
        given = {"row": row, "col": col, "value": value, "low": low, "high": high, "se": se}
        told = read_lines(ids, values, **given, words=self._words, known=self._known(ids))
        body = {"lines": [_line(line) for line in told], "again": again, "who": user_name(who)}
        receipt = self._session.send("POST", self._at("/tell"), body)
        for note in receipt.pop("notes", []):
            warn(note, stacklevel=2)
        return Receipt(**receipt)

    def _known(self, data: Any) -> Known | None:
        """What the campaign knows of its rows and columns, by which a table is read."""
        if not tables.is_table(data):
            return None
        labels, settings = (self._session.get(self._at(path)) for path in ("/labels", "/settings"))
        rows, cols = (decode(labels[side]) or () for side in ("rows", "cols"))
        row, col, value = (settings.get(noun) for noun in ("row_name", "col_name", "value_name"))
        return Known(rows, cols, row, col, value, self._words)

    @cached_property
    def _words(self) -> cells.Words | None:
        """The words that stand for numbers; the kind of a campaign never changes."""
        settings = self._session.get(self._at("/settings"))
        return kind_words(settings.get("kind"), settings.get("levels"))

    def correct(
        self,
        id: int | None = None,
        value: float | str | None = None,
        *,
        row: Hashable = None,
        col: Hashable = None,
        number: int | None = None,
        se: float | None = None,
        reason: str = "",
        who: str | None = None,
    ) -> None:
        """Correct a value; None strikes it out, and its entry may be asked for again."""
        body = {
            "id": cells.parse_id(id, "the id"),
            "row": _label(row),
            "col": _label(col),
            "number": cells.parse_id(number, "the number"),
            "value": _number(value),
            "reason": str(reason),
        }
        body |= {} if se is None else {"se": cells.parse_number(se, "the correction, se")}
        self._post("/correct", body, who)

    def fail(
        self, ids: int | Iterable[int], reason: str = "", *, retry: bool = False, who: str | None = None
    ) -> None:
        """Say that measuring was tried and gave no value. The entry is not asked for again unless `retry`."""
        if known := parse_ids(ids):
            self._post("/fail", {"ids": known, "reason": str(reason), "retry": bool(retry)}, who)

    def withdraw(self, ids: int | Iterable[int], reason: str = "", *, who: str | None = None) -> None:
        """Say that entries will not be measured: they may be asked for again. So may a failure that is withdrawn."""
        if known := parse_ids(ids):
            self._post("/withdraw", {"ids": known, "reason": str(reason)}, who)

    # Change the campaign itself

    def add_rows(
        self, labels: Iterable[Hashable], *, cost: Any = None, features: Any = None, who: str | None = None
    ) -> None:
        """Add rows after the existing ones. They are available in every column."""
        self._post("/rows", self._new_labels(labels, "row", cost, features), who)

    def add_cols(
        self, labels: Iterable[Hashable], *, cost: Any = None, features: Any = None, who: str | None = None
    ) -> None:
        """Add columns after the existing ones. They are available in every row; the rest as of rows."""
        self._post("/cols", self._new_labels(labels, "column", cost, features), who)

    def _new_labels(self, labels: Iterable[Hashable], side: str, cost: Any, features: Any) -> dict[str, Any]:
        known = check_labels(labels, side)
        if not known:
            raise DataError(f"expected {side} labels to add, got none.")
        body = {"labels": encode(known), "cost": cost.tolist() if hasattr(cost, "tolist") else cost}
        table = read_more_features(features, known, side, self.settings.features_of(side))
        return body | {"features": None if table is None else table.to_plain(known)}

    def remove_rows(self, labels: Iterable[Hashable], *, who: str | None = None) -> int:
        """Remove rows; return how many values were struck out."""
        return self._remove("/rows/remove", labels, "row", who)

    def remove_cols(self, labels: Iterable[Hashable], *, who: str | None = None) -> int:
        """Remove columns; return how many values were struck out."""
        return self._remove("/cols/remove", labels, "column", who)

    def _remove(self, path: str, labels: Iterable[Hashable], side: str, who: str | None) -> int:
        body = {"labels": encode(check_labels(labels, side)), "who": user_name(who)}
        return int(self._session.send("POST", self._at(path), body)["struck"])

    def rename_rows(self, names: Mapping[Hashable, Hashable], *, who: str | None = None) -> None:
        """Give rows other labels, a mapping from old to new ones. All that is known of them stays."""
        self._rename("/rows/rename", names, "row", who)

    def rename_cols(self, names: Mapping[Hashable, Hashable], *, who: str | None = None) -> None:
        """Give columns other labels, as `rename_rows` does rows."""
        self._rename("/cols/rename", names, "column", who)

    def _rename(self, path: str, names: Mapping[Hashable, Hashable], side: str, who: str | None) -> None:
        if not isinstance(names, Mapping):
            raise DataError(f"expected a mapping from old to new {side} labels, got {show(names)}.")
        old, new = (encode(check_labels(labels, side)) for labels in (list(names), list(names.values())))
        if old:
            self._post(path, {"labels": old, "names": new}, who)

    def rename(self, name: str, *, who: str | None = None) -> None:
        """Give the campaign another name, which no other campaign of the server has."""
        wanted = check_settings(replace(self.settings, name=name)).name
        self._post("/rename", {"name": wanted}, who)
        self._name = wanted

    def delete(self, name: str) -> int:
        """Delete the campaign of this name on this server with its whole history, for good; return its events."""
        found = self._find(name)
        path, params = f"/campaigns/{quote(found['id'])}", {"name": found["name"]}
        try:
            return int(parse_document(self._session.request("DELETE", path, params=params))["events"])
        except CampaignError as error:  # an answer was lost, and the campaign is gone by now
            if error.code != "unknown_campaign":
                raise
            return int(found["events"])

    def set(self, *, who: str | None = None, **settings: Any) -> None:
        """Change settings from now on: budget, target_sd, lease, acquisition, costs, mask, and the like."""
        after = change_settings(self.settings, settings)
        if settings:
            body = _settings(after, settings) | {"who": user_name(who)}
            self._session.send("PATCH", self._at("/settings"), body)

    # Requests

    def _resolve(self) -> tuple[str, str]:
        """The campaign's name and id."""
        if self._id is None or self._name is None:
            found = self._find(self._name)
            self._name, self._id = str(found["name"]), str(found["id"])
        return self._name, self._id

    def _find(self, name: str | None) -> dict[str, Any]:
        only = {} if name is None else {"name": name}
        page = self._session.get("/campaigns", **only, limit=2)
        if page["total"] != 1:
            names = self.list()
            known = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
            expected = f"one of the campaigns on {self._session.url} ({known or 'there is none yet'})"
            raise CampaignError(f"expected {expected}, got {'no name' if name is None else repr(name)}.")
        campaign: dict[str, Any] = page["items"][0]
        return campaign

    def _at(self, path: str = "") -> str:
        return f"/campaigns/{quote(self._resolve()[1])}{path}"

    def _table(self, path: str, names: Iterable[str], frame: FrameKind | None, **params: Any) -> Any:
        pages = self._session.pages(self._at(path), **params)
        lines = [line for page in pages for line in page["items"]]
        return views.as_frame(_columns(lines, names), frame or self._frame)

    def _post(self, path: str, body: dict[str, Any], who: str | None) -> None:
        self._session.send("POST", self._at(path), body | {"who": user_name(who)})


# From JSON


def _record(line: dict[str, Any]) -> Record:
    """An event as it is stored over there."""
    event = events.read(line["kind"], json.dumps(line["payload"]))
    return Record(line["number"], dt.datetime.fromisoformat(line["at"]), line["who"], event)


def _columns(lines: Iterable[dict[str, Any]], names: Iterable[str]) -> Columns:
    """The lines of an answer as columns, each of its type."""
    return {name: [_READERS.get(name, lambda x: x)(line[name]) for line in lines] for name in names}


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("mean", "sd", "gain", "cost", "value"), lambda x: math.nan if x is None else float(x)),
    **dict.fromkeys(("row", "col"), lambda x: (decode([x]) or ())[0]),
    **dict.fromkeys(
        ("asked_at", "expires_at", "told_at", "at"),
        lambda x: None if x is None else dt.datetime.fromisoformat(x),
    ),
}


# To JSON


def _line(line: Line) -> dict[str, Any]:
    """A measurement."""
    body = {name: getattr(line, name) for name in ("id", "failed", "reason")}
    body |= {"row": _label(line.row), "col": _label(line.col), "value": _number(line.value)}
    read, counts = line.reading, line.counts
    body |= {} if counts is None else {"value": None, "successes": counts[0], "trials": counts[1]}
    return body if read is None else body | {"value": str(read.statement), "se": read.se or None}


def _label(x: Any) -> Any:
    return (encode((x,)) or [None])[0]


def _number(x: Any) -> Any:
    """A number; what is not finite goes as text, for the campaign to refuse in its words."""
    x = x.item() if hasattr(x, "item") else x
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


def _settings(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Some of the settings."""
    return {name: _setting(name, getattr(settings, name), settings) for name in names}


def _setting(name: str, value: Any, settings: Settings) -> Any:
    if name in ("rows", "cols"):
        return encode(value)
    if name in ("range", "limits") and value is not None:
        return [x if math.isfinite(x) else None for x in value]
    if isinstance(value, Costs):
        return {part: array.tolist() for part, array in value.parts.items()} or None
    if isinstance(value, FeatureTable):
        return value.to_plain(settings.rows if name == "row_features" else settings.cols)
    return value.tolist() if hasattr(value, "tolist") else value
