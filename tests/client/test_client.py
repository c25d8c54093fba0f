"""The client on a bad line: answers that are lost, servers that are busy, strangers, and tokens."""

from __future__ import annotations

from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs maxentry[client]")

from tests.campaign.conftest import cache  # noqa: E402, F401
from tests.server.live import READ, TOKENS, WRITE, running  # noqa: E402

import maxentry  # noqa: E402
from maxentry.client import wire  # noqa: E402
from maxentry.client.connect import RemoteCampaign  # noqa: E402
from maxentry.client.wire import Wire  # noqa: E402
from maxentry.errors import CampaignError, MissingDependencyError, ParameterError, StorageError  # noqa: E402


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire.time, "sleep", lambda _: None)
    monkeypatch.delenv("MAXENTRY_TOKEN", raising=False)


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


@pytest.mark.parametrize("lost", [1, 3])
def test_what_is_asked_and_told_is_done_once_though_answers_are_lost(lost: int) -> None:
    with running() as (url, _):
        maxentry.connect(url).create("x", 4, 5, seed=1, acquisition="balanced")
        asking = RemoteCampaign(Wire(url, None, Losing(lost, "/ask")))
        ids = asking.ask(3, frame="columns")["id"]
        telling = RemoteCampaign(Wire(url, None, Losing(lost, "/tell")))
        assert telling.tell(ids, [1.0, 2.0, 3.0], again=True).told == 3
        status = maxentry.connect(url).status()
        assert (status.measurements, status.pending) == (3, 0)


def test_what_cannot_be_repeated_is_not() -> None:
    with running() as (url, _):
        maxentry.connect(url).create("x", 4, 5)
        remote = RemoteCampaign(Wire(url, None, Losing(1, "/rows")))
        with pytest.raises(StorageError, match="whether it was done is not known"):
            remote.add_rows(["new"])
        assert maxentry.connect(url).settings.shape == (5, 5)


def answering(*answers: Any) -> RemoteCampaign:
    """A campaign whose server gives these answers, one after the other."""
    left = list(answers)
    transport = httpx.MockTransport(lambda _: left.pop(0))
    return RemoteCampaign(Wire("http://lab.example", "t" * 30, transport))


def test_a_busy_server_is_asked_again() -> None:
    busy = httpx.Response(429, json={"detail": "wait"}, headers={"Retry-After": "1"})
    one = httpx.Response(200, json={"items": [], "total": 0, "next": None})
    assert answering(busy, busy, one).list() == []


def test_strangers_are_named() -> None:
    for answer in (
        httpx.Response(200, text="<html>"),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(404, json=[1]),
    ):
        with pytest.raises((StorageError, ValueError)):
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


def test_nobody_there() -> None:
    with pytest.raises(StorageError, match=r"a maxentry server at http://127\.0\.0\.1:9"):
        maxentry.connect("http://127.0.0.1:9").list()


@pytest.mark.parametrize("url", ["lab.db", "ftp://x", "", None, "http://user:hunter2@lab.example"])
def test_addresses_that_will_not_do(url: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        maxentry.connect(url)
    assert "hunter2" not in str(refusal.value)


def test_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tokens=TOKENS) as (url, _):
        with pytest.raises(StorageError, match="expected a token") as refusal:
            maxentry.connect(url, "wrong-" + "x" * 30).list()
        assert "x" * 30 not in str(refusal.value)
        reader = maxentry.connect(url, READ)
        assert reader.list() == []
        with pytest.raises(StorageError, match="that for reading came"):
            reader.create("x", 2, 2)
        assert READ not in repr(reader)
        monkeypatch.setenv("MAXENTRY_TOKEN", WRITE)
        assert maxentry.connect(url).create("x", 2, 2).name == "x"


def test_nothing_is_sent_before_it_is_used() -> None:
    remote = maxentry.connect("http://127.0.0.1:9", campaign="x")
    assert repr(remote) == "Campaign 'x' on http://127.0.0.1:9"


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(wire, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[client\]"):
        maxentry.connect("http://127.0.0.1:9")


def test_it_has_the_methods_of_a_campaign_with_the_same_parameters() -> None:
    import inspect

    only_at_hand = {"storage", "cache", "clock", "policy", "self", "cls"}

    def parameters(method: Any) -> dict[str, Any]:
        found = inspect.signature(method).parameters
        return {name: p.default for name, p in found.items() if name not in only_at_hand}

    public = [name for name in vars(maxentry.Campaign) if not name.startswith("_")]
    assert len(public) > 18
    for name in public:
        method = getattr(maxentry.Campaign, name)
        assert hasattr(RemoteCampaign, name), name
        if callable(method):
            assert parameters(method) == parameters(getattr(RemoteCampaign, name)), name
