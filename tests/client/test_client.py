"""The client on a bad line: answers that are lost, servers that are busy, strangers, and tokens."""

from __future__ import annotations

import contextlib
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs maxentry[client]")

from tests.campaign.conftest import cache  # noqa: E402, F401
from tests.server.live import READ, TOKENS, WRITE, running  # noqa: E402

import maxentry  # noqa: E402
from maxentry.client import session  # noqa: E402
from maxentry.client.client import HttpSession, RemoteCampaign  # noqa: E402
from maxentry.errors import (  # noqa: E402
    CampaignError,
    DataError,
    MissingDependencyError,
    ParameterError,
    StorageError,
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.time, "sleep", lambda _: None)
    monkeypatch.delenv("MAXENTRY_TOKEN", raising=False)


@pytest.fixture
def connect() -> Iterator[Callable[..., RemoteCampaign]]:
    """`maxentry.connect`, whose connections end with the test."""
    with contextlib.ExitStack() as connections:
        yield lambda *given: connections.enter_context(maxentry.connect(*given))


class Losing(httpx.BaseTransport):
    """A line on which the request arrives and the first answers are lost."""

    def __init__(self, lost: int, verb: str) -> None:
        self.inner, self.left, self.verb = httpx.HTTPTransport(), lost, verb

    def handle_request(self, request: Any) -> Any:
        answer = self.inner.handle_request(request)
        if self.left and request.url.path.endswith(self.verb):
            self.left -= 1
            answer.read()
            raise httpx.ReadError("connection reset", request=request)
        return answer

    def close(self) -> None:
        self.inner.close()


@pytest.mark.parametrize("lost", [1, 3])
def test_what_is_asked_and_told_is_done_once_though_answers_are_lost(connect: Any, lost: int) -> None:
    with running() as (url, _):
        campaign = connect(url).create("x", 4, 5, seed=1, acquisition="balanced")
        with RemoteCampaign(HttpSession(url, transport=Losing(lost, "/ask"))) as asking:
            ids = asking.ask(3, frame="columns")["id"]
        with RemoteCampaign(HttpSession(url, transport=Losing(lost, "/tell"))) as telling:
            assert telling.tell(ids, [1.0, 2.0, 3.0], again=True).told == 3
        status = campaign.status()
        assert (status.measurements, status.pending) == (3, 0)


WRITES: dict[str, Callable[[Any], object]] = {
    "/fail": lambda c: c.fail([1], "no colour"),
    "/withdraw": lambda c: c.withdraw([2]),
    "/correct": lambda c: c.correct(3, 9.0),
    "/rows": lambda c: c.add_rows(["new"]),
    "/cols": lambda c: c.add_cols(["new"]),
    "/settings": lambda c: c.set(budget=7),
}


@pytest.mark.parametrize("path", WRITES)
def test_every_write_is_done_once_though_its_answer_is_lost(connect: Any, path: str) -> None:
    with running() as (url, _):
        campaign = connect(url).create("x", 4, 5, seed=1, acquisition="balanced")
        campaign.ask(3)
        campaign.tell([3], [1.0])
        before = campaign.state.version
        with RemoteCampaign(HttpSession(url, transport=Losing(2, path))) as remote:
            WRITES[path](remote)
        assert campaign.state.version == before + 1


def test_a_campaign_is_created_once_though_its_answer_is_lost() -> None:
    with running() as (url, _), RemoteCampaign(HttpSession(url, transport=Losing(2, "/campaigns"))) as remote:
        table = {"row": [0], "col": [1], "value": [2.0]}
        made = remote.create("x", 4, 5, values=table)
        assert (made.name, made.state.version, len(made.state.measurements)) == ("x", 2, 1)
        assert remote.list() == ["x"]


def test_whether_a_write_was_done_is_not_known_when_every_answer_is_lost(connect: Any) -> None:
    with running() as (url, _):
        campaign = connect(url).create("x", 4, 5)
        with (
            RemoteCampaign(HttpSession(url, transport=Losing(session.TRIES, "/rows"))) as remote,
            pytest.raises(StorageError, match="whether it was done is not known"),
        ):
            remote.add_rows(["new"])
        assert campaign.settings.shape == (5, 5)


def answering(*answers: Any) -> RemoteCampaign:
    """A campaign whose server gives these answers, one after the other."""
    left = list(answers)
    transport = httpx.MockTransport(lambda _: left.pop(0))
    return RemoteCampaign(HttpSession("http://lab.example", "t" * 30, transport=transport))


def test_a_busy_server_is_asked_again() -> None:
    busy = httpx.Response(429, json={"detail": "wait"}, headers={"Retry-After": "1"})
    one = httpx.Response(200, json={"items": [], "total": 0, "next": None})
    assert answering(busy, busy, one).list() == []


def test_strangers_are_named() -> None:
    for answer in (
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(200, json={"hello": "world"}),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(404, json=[1]),
    ):
        with pytest.raises(StorageError, match=f"something else .HTTP {answer.status_code}"):
            answering(answer).list()


def test_a_redirect_is_not_followed_with_the_token() -> None:
    with pytest.raises(StorageError, match="HTTP 302"):
        answering(httpx.Response(302, headers={"Location": "https://evil.example/"})).list()


def test_an_error_of_another_name_is_no_class_of_ours() -> None:
    for name in ("SystemExit", "annotations", "MaxentryErrors", None):
        with pytest.raises(StorageError, match="no luck"):
            answering(httpx.Response(418, json={"error": name, "detail": "no luck"})).list()
    with pytest.raises(CampaignError, match="no luck"):
        answering(httpx.Response(409, json={"error": "CampaignError", "detail": "no luck"})).list()


def test_nobody_there(connect: Any) -> None:
    with pytest.raises(StorageError, match=r"a maxentry server at http://127\.0\.0\.1:9"):
        connect("http://127.0.0.1:9").list()


@pytest.mark.parametrize("url", ["lab.db", "ftp://x", "", None, "http://user:hunter2@lab.example"])
def test_addresses_that_will_not_do(url: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        maxentry.connect(url)
    assert "hunter2" not in str(refusal.value)


def test_tokens(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tokens=TOKENS) as (url, _):
        with pytest.raises(StorageError, match="expected a token") as refusal:
            connect(url, "wrong-" + "x" * 30).list()
        assert "x" * 30 not in str(refusal.value)
        reader = connect(url, READ)
        assert reader.list() == []
        with pytest.raises(StorageError, match="got the one for reading"):
            reader.create("x", 2, 2)
        assert READ not in repr(reader)
        monkeypatch.setenv("MAXENTRY_TOKEN", WRITE)
        assert connect(url).create("x", 2, 2).name == "x"


@pytest.mark.parametrize(
    "token", ["secret\nX-Other: 1", "secret ümlaut", "secret blank", " ", "\x00secret", 7]
)
def test_a_token_that_fits_no_header_is_not_shown(token: Any) -> None:
    with pytest.raises(ParameterError, match="expected a token") as refusal:
        maxentry.connect("http://127.0.0.1:9", token)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "got"),
    [
        ("ftp://lab", "got 'ftp://lab'"),
        (7, "got 7"),
        ("http://me:secret@lab", "got one with a user or a password"),
    ],
)
def test_an_address_that_is_none_is_refused(url: Any, got: str) -> None:
    with pytest.raises(ParameterError, match=got) as refusal:
        maxentry.connect(url)
    assert "secret" not in str(refusal.value)


def job(status: str, **more: Any) -> dict[str, Any]:
    progress = {"what": "sampling", "done": 1, "total": 2}
    return {"id": "j", "status": status, "progress": progress, "result": None, "problem": None} | more


CAMPAIGN = httpx.Response(200, json={"items": [{"id": "u", "name": "x"}], "total": 1, "next": None})
NO_JOB = {"type": "urn:maxentry:problem:no-job", "detail": "there is none of this id any more."}
CLOSING = {
    "type": "urn:maxentry:problem:closing",
    "detail": "it is being shut down.",
    "error": "StorageError",
}
ENTRY = {"id": 7, "row": "a", "col": "b", "mean": None, "sd": None, "gain": None, "cost": 1.0}


@pytest.mark.parametrize(
    "lost",
    [httpx.Response(404, json=NO_JOB), httpx.Response(200, json=job("cancelled", problem=CLOSING))],
    ids=["another server", "a server that ends"],
)
def test_work_that_is_lost_with_its_server_is_asked_for_again(lost: Any) -> None:
    keys: list[str] = []
    left = [
        CAMPAIGN,
        httpx.Response(202, json=job("running")),
        lost,
        httpx.Response(202, json=job("queued")),
        httpx.Response(200, json=job("done")),
        httpx.Response(201, json={"campaign": "x", "entries": [ENTRY]}),
    ]

    def answer(request: Any) -> Any:
        if request.url.path.endswith("/ask"):
            keys.append(request.headers["Idempotency-Key"])
        return left.pop(0)

    remote = RemoteCampaign(HttpSession("http://lab.example", transport=httpx.MockTransport(answer)))
    assert remote.ask(frame="columns", progress=False)["id"] == [7]
    assert len(keys) == 3
    assert len(set(keys)) == 1  # one request, however often it is sent


def test_an_outlook_that_is_lost_with_its_server_is_asked_for_again() -> None:
    past = {"measurements": 8, "entries": 4, "error_before": 1.0, "error_promised": 0.8, "error_after": 0.9}
    found = {"outlook": None, "advice": "ask: nothing is known.", "past": [past]}
    remote = answering(
        CAMPAIGN,
        httpx.Response(202, json=job("running")),
        httpx.Response(404, json=NO_JOB),
        httpx.Response(202, json=job("running")),
        httpx.Response(200, json=job("done", result=found)),
    )
    assert remote.outlook(progress=False).to_dict() == found | {"at_stake": None}


def test_work_that_failed_or_was_cancelled_is_not() -> None:
    called_off = {"type": "urn:maxentry:problem:cancelled", "detail": "this was called off."}
    failed = {"type": "urn:maxentry:problem:data", "detail": "expected better.", "error": "DataError"}
    for document, kind in ((called_off, StorageError), (failed, DataError)):
        over = httpx.Response(200, json=job("failed", problem=document))
        with pytest.raises(kind, match=document["detail"]):
            answering(CAMPAIGN, httpx.Response(202, json=job("running")), over).ask(progress=False)


def test_several_threads_may_use_one_campaign(connect: Any) -> None:
    with running() as (url, _):
        remote = connect(url).create("x", 30, 30, seed=1, acquisition="balanced")
        failures: list[BaseException] = []

        def work(k: int) -> None:
            try:
                for j in range(5):
                    remote.tell(row=k, col=j, value=1.0)
                    assert remote.state.version > j
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(250)
        assert failures == []
        assert (remote.state.version, len(remote.state.measurements)) == (31, 30)


def test_nothing_is_sent_before_it_is_used() -> None:
    remote = maxentry.connect("http://127.0.0.1:9", campaign="x")
    assert repr(remote) == "Campaign 'x' on http://127.0.0.1:9"


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(session, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[client\]"):
        maxentry.connect("http://127.0.0.1:9")


ONLY_AT_HAND = {
    "storage",
    "cache",
    "clock",
    "policy",
    "self",
    "cls",
}  # a campaign on a server has no choice of these


def unlike(one: type, other: type) -> list[str]:
    """The public names of a class that another lacks, or has with other parameters (name, kind, default, type)."""

    def parameters(method: Any) -> list[tuple[Any, ...]]:
        found = inspect.signature(method).parameters.values()
        return [
            (p.name, p.kind, p.default, re.sub(r"\w+\.", "", p.annotation))  # from whichever module
            for p in found
            if p.name not in ONLY_AT_HAND
        ]

    found = []
    for name in (name for name in vars(one) if not name.startswith("_") or name in ("__enter__", "__exit__")):
        mine, theirs = getattr(one, name), getattr(other, name, None)
        alike = isinstance(mine, property) == isinstance(theirs, property) and callable(mine) == callable(
            theirs
        )
        if not alike or (callable(mine) and parameters(mine) != parameters(theirs)):
            found.append(name)
    return found


def test_it_has_the_methods_of_a_campaign_with_the_same_parameters() -> None:
    assert len([name for name in vars(maxentry.Campaign) if not name.startswith("_")]) > 18
    attributes = {"cache", "key", "now", "records", "tell_lines", "within"}  # of one at hand
    at_storage = {"delete"}  # for those who have the storage
    here = attributes | at_storage
    assert [name for name in unlike(maxentry.Campaign, RemoteCampaign) if name not in here] == []
    assert unlike(RemoteCampaign, maxentry.Campaign) == []


def test_the_comparison_can_fail() -> None:
    class Lacking:
        def ask(self, n: int = 1, plates: str | None = None) -> None: ...
        def settings(self) -> None: ...

    assert {"ask", "settings", "tell", "state"} <= set(unlike(maxentry.Campaign, Lacking))
