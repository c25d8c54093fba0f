"""One client does not pass the limits by what it says of itself, and does not take the room of others."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import ExitStack
from typing import Any

import pytest
from tests.server.live import TOKENS, begin, get, httpx, running, serving

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import ParameterError
from maxentry.server.app import Server, create_app
from maxentry.server.connections import client_name
from maxentry.server.options import Options, ServerLimits

SLOW = ServerLimits(rate=0.001, burst=20)
FORGED = 1500


def ask(
    count: int, header: Any, peer: str = "127.0.0.1", path: str = "/api/v1/campaigns", **options: Any
) -> int:
    """How many of so many requests of one address, each with a header of its own, are refused as too many."""

    async def send_all() -> int:
        with Storage("sqlite://", create=True) as storage:
            given = Options(limits=SLOW, **options)
            config = Server(create_app(storage, given), given).config
            config.load()  # with what uvicorn does to requests
            transport = httpx.ASGITransport(config.loaded_app, client=(peer, 4711))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                answers = [await client.get(path, headers=header(k)) for k in range(count)]
        return sum(answer.status_code == 429 for answer in answers)

    return asyncio.run(send_all())


def forwarded(k: int) -> dict[str, str]:
    return {"X-Forwarded-For": f"10.{k // 65536}.{k // 256 % 256}.{k % 256}"}


def test_addresses_made_up_by_a_client_do_not_pass_the_rate_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    assert ask(FORGED, forwarded) == FORGED - SLOW.burst


def test_guesses_of_a_token_are_counted_by_the_real_address() -> None:
    def guess(k: int) -> dict[str, str]:
        return forwarded(k) | {"Authorization": f"Bearer {'guess' * 5}{k}"}

    assert ask(50, guess, tokens=TOKENS) == 50 - SLOW.burst


def test_addresses_are_believed_of_the_proxy_that_was_named_alone() -> None:
    named = {"proxies": ("10.9.9.9",)}
    assert ask(50, forwarded, "10.9.9.9", **named) == 0
    assert ask(50, lambda _: {"X-Forwarded-For": "10.1.1.1"}, "10.9.9.9", **named) == 30
    assert ask(50, forwarded, "127.0.0.1", **named) == 30
    # What a client makes up stands before what the proxy adds.
    invented = {k: {"X-Forwarded-For": f"{forwarded(k)['X-Forwarded-For']}, 10.1.1.1"} for k in range(50)}
    assert ask(50, invented.get, "10.9.9.9", **named) == 30


@pytest.mark.parametrize("proxy", ["*", "", "proxy.example", "10.0.0.1/8", "10.0.0.0/40"])
def test_a_proxy_is_an_address(proxy: str) -> None:
    with pytest.raises(ParameterError, match="expected the IP address of a reverse proxy"):
        Options(proxies=(proxy,))


def test_a_client_of_ipv6_is_its_network() -> None:
    assert client_name("2001:db8:1:2:3:4:5:6") == client_name("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert client_name("2001:db8:1:3::1") != client_name("2001:db8:1:2::1")
    assert client_name("::ffff:10.1.2.3") == client_name("10.1.2.3") == "10.1.2.3"
    assert client_name("testclient") == "testclient"
    assert ask(50, lambda k: {}, "2001:db8::1") == 30


# Streams and connections


def test_the_streams_of_one_client_leave_room_for_others() -> None:
    limits = ServerLimits(rate=0, streams=8, client_streams=3)
    with serving(limits=limits, proxies=("127.0.0.1",)) as client, ExitStack() as open_streams:
        path = begin(client)

        def follow(address: str) -> int:
            header = {"X-Forwarded-For": address}
            stream = client.stream("GET", f"{path}/changes?seconds=600", headers=header)
            return open_streams.enter_context(stream).status_code

        assert [follow("10.0.0.1") for _ in range(5)] == [200, 200, 200, 429, 429]
        assert [follow("10.0.0.2") for _ in range(4)] == [200, 200, 200, 429]
        assert [follow("10.0.0.3") for _ in range(3)] == [200, 200, 429]  # all there are


def test_by_default_one_client_cannot_have_all_streams_or_connections() -> None:
    limits = ServerLimits()
    assert 2 * limits.client_streams <= 64 < limits.streams
    assert limits.client_streams < limits.client_connections <= 500 // 4


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server has closed a connection; False if it answers instead."""
    connection.settimeout(60)
    try:
        return b" 200 " not in connection.recv(1000)
    except ConnectionError:
        return True


def test_silent_connections_of_one_client_leave_room_for_others() -> None:
    """500 connections from one address: all but a few are closed at once, and another address is answered."""
    limits = ServerLimits(rate=0, client_connections=20, head_seconds=600)
    with running(limits=limits) as (url, _), ExitStack() as sockets:
        host, port = url.removeprefix("http://").split(":")
        silent = [sockets.enter_context(socket.create_connection((host, int(port)))) for _ in range(500)]
        assert all(is_closed(connection) for connection in silent[20:])
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2"), timeout=60) as other:
            assert other.get(f"{url}/api/v1/health").status_code == 200
        refused = sockets.enter_context(socket.create_connection((host, int(port))))
        refused.settimeout(60)
        answer = refused.recv(1000)
        assert answer.startswith(b"HTTP/1.1 429")
        assert b"at most 20 connections of one client" in answer
        for connection in silent[:5]:
            connection.close()
        end = time.monotonic() + 60
        while _status(url) != 200 and time.monotonic() < end:
            time.sleep(0.01)
        assert _status(url) == 200


def _status(url: str) -> int:
    try:
        return get(f"{url}/api/v1/health").status_code
    except httpx.TransportError:
        return 0


def test_the_connections_of_a_proxy_are_those_of_many_clients() -> None:
    limits = ServerLimits(rate=0, client_connections=2)
    with running(limits=limits, proxies=("127.0.0.1",)) as (url, _), ExitStack() as sockets:
        host, port = url.removeprefix("http://").split(":")
        for _ in range(10):
            sockets.enter_context(socket.create_connection((host, int(port))))
        assert get(f"{url}/api/v1/health").status_code == 200


@pytest.mark.parametrize("sent", [b"", b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_head_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    with running(limits=ServerLimits(rate=0, head_seconds=1)) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(sent)
            assert is_closed(connection)


def test_a_long_answer_is_not_cut_off_by_the_time_for_a_head() -> None:
    with serving(limits=ServerLimits(rate=0, head_seconds=2)) as client:
        path = begin(client)
        with client.stream("GET", f"{path}/changes?seconds=3") as stream:
            assert "changed" in "".join(stream.iter_text())
        first = client.get(path)
        assert client.get(path).json() == first.json()


# Sizes


@pytest.mark.parametrize(("rows", "cols"), [(12_000_000, 2), (2, 12_000_000), (2**53, 2**53), (5000, 5001)])
def test_a_campaign_too_large_is_refused_before_anything_is_made(
    rows: int, cols: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Campaign, "create", lambda *_, **__: pytest.fail("a campaign was made"))
    with serving() as client:
        answer = client.post("/campaigns", json={"name": "x", "rows": rows, "cols": cols})
        assert answer.status_code == 422
        assert f"got {rows} x {cols}" in answer.json()["detail"]


def test_rows_that_make_a_campaign_too_large_are_refused() -> None:
    with serving(limits=ServerLimits(rate=0, labels=11)) as client:
        path = begin(client)
        assert client.post(f"{path}/rows", json={"labels": ["a", "b"]}).status_code == 200
        refused = client.post(f"{path}/rows", json={"labels": ["c"]})
        assert refused.status_code == 422
        assert "at most 11 rows and columns" in refused.json()["detail"]
