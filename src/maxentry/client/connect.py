"""`connect`: a campaign on a server, with the methods of `Campaign`."""

from __future__ import annotations

import datetime as dt
import json
import os
import tempfile
import threading
import uuid
from collections.abc import Hashable, Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from maxentry import cells, frames
from maxentry import labels as label_codec
from maxentry.campaign import campaign as opening
from maxentry.campaign import events, policy, views
from maxentry.campaign import settings as workable
from maxentry.campaign import tell as telling
from maxentry.campaign.events import Record
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import State, replay
from maxentry.campaign.tell import Receipt
from maxentry.campaign.views import Columns, FrameKind, Status
from maxentry.client import columns
from maxentry.client.wire import WAIT, Wire, read
from maxentry.errors import CampaignError, DataError, ParameterError
from maxentry.labels import checked_labels

if TYPE_CHECKING:
    from maxentry.campaign.outlook import Ahead
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
    certificate: a file with the certificate to trust, where the server has one that it signed itself.
    frame: "pandas", "polars" or "columns" for tables and maps, as in `Campaign.open`.
    On what is returned, `list()`, `open(name)` and `create(name, rows, cols, …)` are of the server's campaigns.
    Nothing is sent before it is used.
    """
    views.check_frame(frame)
    shown = token or os.environ.get("MAXENTRY_TOKEN") or None
    return RemoteCampaign(Wire(url, shown, certificate), campaign, frame)


class RemoteCampaign:
    """A campaign on a server. What its methods do is said at those of `Campaign`.

    `ask` and `tell` carry a key, so that they are repeated without harm when an answer is lost on its way.
    """

    def __init__(self, wire: Wire, name: str | None = None, frame: FrameKind | None = None) -> None:
        """For `connect`."""
        self._wire, self._wanted, self._frame = wire, name, frame
        self._found: tuple[str, str] | None = None  # id and name
        self._latest: State | None = None
        self._turn = threading.Lock()

    # Coming and going

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
        """Begin a campaign on this server."""
        frame = frame or frames.kind_of(values, rows, cols, *settings.values()) or self._frame
        views.check_frame(frame)
        opening.check_names(settings)
        made = workable.checked(Settings(name=name, rows=rows, cols=cols, seed=seed or 0, **settings))  # type: ignore[arg-type]
        told = None if values is None else [columns.line(line) for line in telling.lines(values)]
        body = columns.settings(made, ("name", "rows", "cols", *settings))
        begin = {"seed": seed, "values": told, "exist_ok": exist_ok, "who": opening.user(who)}
        found = self._wire.send("POST", "/campaigns", body | begin)
        return self._other(found, frame)

    def open(self, name: str | None = None, *, frame: FrameKind | None = None) -> RemoteCampaign:
        """The campaign of this name on this server, or the only one there is."""
        views.check_frame(frame)
        other = RemoteCampaign(self._wire, name, frame or self._frame)
        other._here()
        return other

    def list(self) -> list[str]:
        """The names of the campaigns on this server."""
        return [line["name"] for page in self._wire.pages("/campaigns") for line in page["items"]]

    def close(self) -> None:
        """Let go of the connection. The campaign stays where it is."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self._wanted if self._found is None else self._found[1]
        return f"Campaign {name!r} on {self._wire.url}" if name else f"Campaigns on {self._wire.url}"

    # What is known

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self._here()[1]

    @property
    def state(self) -> State:
        """What the events up to now add up to; only those that are new are fetched."""
        state = self._latest
        for page in self._wire.pages(self._at("/events"), after=0 if state is None else state.version):
            records = [_record(line) for line in page["items"]]
            state = replay(records) if state is None else state.after(records)
        assert state is not None
        with self._turn:  # another thread may have fetched later ones
            if self._latest is None or state.version > self._latest.version:
                self._latest = state
        return state

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self.state.settings

    def status(self) -> Status:
        """Counts and sums; prints as a few lines."""
        found = self._wire.get(self._at())
        found.pop("id")
        times = {name: dt.datetime.fromisoformat(found[name]) for name in ("created_at", "changed_at")}
        return Status(**found | times)

    def posterior(self, *, progress: bool | None = None) -> Posterior:
        """The posterior of the whole matrix given all that was told, in the user's units."""
        from maxentry.posterior.posterior import Posterior

        params: dict[str, Any] = {"wait": WAIT}
        while True:
            answer = self._wire.request("GET", self._at("/posterior/draws"), params=params)
            if answer.status_code != 202:
                break
            self._wire.finished(read(answer), progress)
            params["stale"] = True  # the fit that was waited for, though more may have been told since
        with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
            path = Path(folder) / "posterior.npz"
            path.write_bytes(answer.content)
            return views.framed(Posterior.load(path), self._frame)

    def outlook(self, n: int = 8, *, progress: bool | None = None) -> Ahead:
        """The expected error now, once the pending is told, and after the next n entries; and advice."""
        from maxentry.campaign.outlook import Ahead, Outlook

        params, found = {"n": _how_many(n), "wait": WAIT}, None
        while found is None:
            answer = self._wire.request("GET", self._at("/outlook"), params=params)
            found = read(answer)
            if answer.status_code == 202:
                job = self._wire.finished(found, progress)
                found = None if job is None else job["result"]
        numbers = found["outlook"]
        if numbers is not None:
            numbers = {name: x for name, x in numbers.items() if name != "gain_per_cost"}
        return Ahead(None if numbers is None else Outlook(**numbers), found["advice"])

    def asked(self, *, pending: bool = False, frame: FrameKind | None = None) -> Any:
        """All that was ever asked for and what became of it, or only what is pending, as a frame."""
        only = {"status": "pending"} if pending else {}
        return views.as_frame(self._lines("/asked", columns.IN_FULL, **only), frame or self._frame)

    def pending(self, *, frame: FrameKind | None = None) -> Any:
        """What is waited for, as `ask` gave it: id, row, col, mean, sd, gain, cost."""
        return views.as_frame(self._lines("/asked", columns.ASKS, status="pending"), frame or self._frame)

    def history(self, *, frame: FrameKind | None = None) -> Any:
        """What happened, one line an event: event, at, who, kind, what."""
        return views.as_frame(self._lines("/history", columns.HISTORY), frame or self._frame)

    def export(self, *, wide: bool = False, everything: bool = False, frame: FrameKind | None = None) -> Any:
        """What was told: long (number, id, row, col, value, told_at, who, corrected), or wide with means."""
        frame = frame or self._frame
        if wide:
            return views.wide(self.state, frame)
        return views.as_frame(
            self._lines("/measurements", columns.MEASUREMENTS, everything=everything), frame
        )

    # Asking and telling

    def ask(
        self,
        n: int = 1,
        *,
        plates: policy.Plates | None = None,
        per_row: int | None = None,
        per_col: int | None = None,
        who: str | None = None,
        progress: bool | None = None,
        frame: FrameKind | None = None,
    ) -> Any:
        """The next n entries to measure, as a frame of id, row, col, mean, sd, gain, cost; they are now pending."""
        frame = frame or self._frame
        views.as_frame({}, frame)  # refuse a frame that cannot be made before anything is handed out
        body = {
            "n": _how_many(n),
            "plates": plates,
            "per_row": per_row,
            "per_col": per_col,
            "who": opening.user(who),
        }
        key, path = str(uuid.uuid4()), self._at("/ask") + f"?wait={WAIT}"
        while "entries" not in (found := self._wire.send("POST", path, body, key=key)):
            self._wire.finished(found, progress)  # then the same request has its answer, and not more entries
        return views.as_frame(columns.read(found["entries"], columns.ASKS), frame)

    def tell(
        self,
        ids: Any = None,
        values: Any = None,
        *,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        again: bool = False,
        who: str | None = None,
    ) -> Receipt:
        """Tell values: `tell(ids, values)`, `tell(row=…, col=…, value=…)`, or `tell(table)`."""
        told = telling.lines(ids, values, row=row, col=col, value=value)
        body = {"lines": [columns.line(line) for line in told], "again": again, "who": opening.user(who)}
        return Receipt(**self._wire.send("POST", self._at("/tell"), body, key=str(uuid.uuid4())))

    def correct(
        self,
        id: int | None = None,
        value: float | None = None,
        *,
        row: Hashable = None,
        col: Hashable = None,
        number: int | None = None,
        reason: str = "",
        who: str | None = None,
    ) -> None:
        """Put a told value right; None strikes it out, and its entry may be asked for again."""
        which = {"id": cells.parse_id(id, "the id"), "row": columns.label(row), "col": columns.label(col)}
        number = cells.parse_id(number, "the number")
        body = {"number": number, "value": columns.number(value), "reason": str(reason)}
        self._post("/correct", which | body, who)

    def fail(
        self, ids: int | Iterable[int], reason: str = "", *, retry: bool = False, who: str | None = None
    ) -> None:
        """Say that measuring was tried and gave no value. The entry is not asked for again unless `retry`."""
        if known := columns.ids(ids):
            self._post("/fail", {"ids": known, "reason": str(reason), "retry": bool(retry)}, who)

    def withdraw(self, ids: int | Iterable[int], reason: str = "", *, who: str | None = None) -> None:
        """Say that these will not be measured: they go back. A failure withdrawn goes back, too."""
        if known := columns.ids(ids):
            self._post("/withdraw", {"ids": known, "reason": str(reason)}, who)

    # Changing the campaign itself

    def add_rows(self, labels: Iterable[Hashable], *, cost: Any = None, who: str | None = None) -> None:
        """Add rows after those there are. They are available in every column."""
        self._post("/rows", _labels(labels, "row", cost), who)

    def add_cols(self, labels: Iterable[Hashable], *, cost: Any = None, who: str | None = None) -> None:
        """Add columns after those there are. They are available in every row; costs as of rows."""
        self._post("/cols", _labels(labels, "column", cost), who)

    def set(self, *, who: str | None = None, **settings: Any) -> None:
        """Change settings from here on: budget, target_sd, lease, acquisition, costs, mask, and the like."""
        after = workable.changed(self.settings, settings)
        if settings:
            body = columns.settings(after, settings) | {"who": opening.user(who)}
            self._wire.send("PATCH", self._at("/settings"), body)

    # Inside

    def _here(self) -> tuple[str, str]:
        """The id and the name of the campaign that is meant."""
        if self._found is None:
            only = {} if self._wanted is None else {"name": self._wanted}
            found = self._wire.get("/campaigns", **only, limit=2)
            if found["total"] != 1:
                raise CampaignError(self._ambiguous())
            self._found = found["items"][0]["id"], found["items"][0]["name"]
        return self._found

    def _ambiguous(self) -> str:
        names = self.list()
        there = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        if not names:
            return f"expected a campaign on {self._wire.url}, but there is none yet."
        wanted = "the name of one campaign" if self._wanted is None else f"a campaign {self._wanted!r}"
        are = "is" if len(names) == 1 else "are"
        return f"expected {wanted} on {self._wire.url}, but there {are} {there}."

    def _other(self, found: dict[str, Any], frame: FrameKind | None) -> RemoteCampaign:
        other = RemoteCampaign(self._wire, found["name"], frame)
        other._found = found["id"], found["name"]
        return other

    def _at(self, path: str = "") -> str:
        return f"/campaigns/{quote(self._here()[0])}{path}"

    def _lines(self, path: str, names: Iterable[str], **params: Any) -> Columns:
        found = [line for page in self._wire.pages(self._at(path), **params) for line in page["items"]]
        return columns.read(found, names)

    def _post(self, path: str, body: dict[str, Any], who: str | None) -> None:
        self._wire.send("POST", self._at(path), body | {"who": opening.user(who)})


def _record(line: dict[str, Any]) -> Record:
    """An event as it was written over there."""
    event = events.read(line["kind"], json.dumps(line["payload"]))
    return Record(line["number"], dt.datetime.fromisoformat(line["at"]), line["who"], event)


def _labels(labels: Iterable[Hashable], side: str, cost: Any) -> dict[str, Any]:
    known = checked_labels(labels, side)
    if not known:
        raise DataError(f"expected {side} labels to add, but none came.")
    return {"labels": label_codec.encode(known), "cost": cost.tolist() if hasattr(cost, "tolist") else cost}


def _how_many(n: Any) -> int:
    if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
        raise ParameterError(f"expected a whole number of entries from 1 on, but {n!r} came.")
    return int(n)
