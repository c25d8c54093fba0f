"""Who may do what: tokens, names, other sites' pages, how often, how much; and what no answer may show."""

from __future__ import annotations

import re

import httpx
import pytest
from tests.server.live import READ, TOKENS, WRITE, begin, get, post, running, serving

from maxentry.errors import ParameterError
from maxentry.server import app as server_app
from maxentry.server.options import Options, ServerLimits, Tokens
from maxentry.server.problems import HttpProblem
from maxentry.server.routes import campaigns
from maxentry.server.security import API, RateLimiter, parse_bearer

OPEN = {f"{API}/health"}


def routes(client: httpx.Client) -> list[tuple[str, str]]:
    """Every method of every address in the description."""
    paths = client.get("/openapi.json").json()["paths"]
    return [
        (method.upper(), path) for path, methods in paths.items() for method in methods if path not in OPEN
    ]


def called(client: httpx.Client, method: str, path: str, token: str | None) -> httpx.Response:
    address = re.sub(r"\{\w+\}", "x", path.removeprefix(API))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    json = {} if method in ("POST", "PATCH") else None
    return client.request(method, address, headers=headers, json=json)


def test_every_route_needs_a_token_and_writing_that_for_writing() -> None:
    with serving(tokens=TOKENS) as client:
        found = routes(client)
        assert len(found) > 25
        for method, path in found:
            for wrong in (None, "x", WRITE[:-1], WRITE + "x", READ.upper(), "é" * 30):
                header = {} if wrong is None else {"Authorization": f"Bearer {wrong}".encode()}
                answer = client.request(
                    method, re.sub(r"\{\w+\}", "x", path.removeprefix(API)), headers=header
                )
                assert answer.status_code == 401, (method, path, wrong)
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
            reads = method == "GET" or path.endswith("/lookup")
            assert (called(client, method, path, READ).status_code == 403) is not reads, (method, path)
            assert called(client, method, path, WRITE).status_code not in (401, 403), (method, path)


def test_without_tokens_everybody_on_this_machine_may() -> None:
    with serving() as client:
        begin(client)
        assert client.get("/campaigns").json()["total"] == 1


def test_tokens_are_no_basic_passwords() -> None:
    assert parse_bearer(f"Bearer {READ}") == READ
    assert parse_bearer(f"bearer  {READ} ") == READ
    assert parse_bearer(f"Basic {READ}") is None
    assert parse_bearer(None) is None
    assert parse_bearer("Bearer") is None


@pytest.mark.parametrize(
    ("read", "write"),
    [("short", None), (None, "short"), (READ, None), (READ, READ), (None, "ü" * 30), (None, "a " * 20)],
)
def test_tokens_that_will_not_do(read: str | None, write: str | None) -> None:
    with pytest.raises(ParameterError) as refusal:
        Tokens(read, write)
    for token in (read, write):
        assert token is None or token == "short" or token not in str(refusal.value)


def test_scopes() -> None:
    assert [TOKENS.access(t) for t in (None, "", READ, WRITE, "x")] == [
        "none",
        "none",
        "read",
        "write",
        "none",
    ]
    assert Tokens(write=WRITE).access("") == "none"
    assert Tokens().access(None) == "write"
    assert READ not in repr(TOKENS)
    assert WRITE not in repr(Options(tokens=TOKENS))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "lab.example"])
def test_no_other_address_without_a_token(host: str) -> None:
    with pytest.raises(ParameterError, match="a token for writing"):
        Options(host=host)
    assert not Options(host=host, tokens=TOKENS).local


def test_only_our_own_names_are_answered_without_tokens() -> None:
    with running(hosts=("lab-pc",)) as (url, _):
        port = url.rsplit(":", 1)[1]
        for host, status in (
            ("evil.example", 421), (f"evil.example:{port}", 421), ("", 421), ("127.0.0.1.evil.example", 421),
            ("a:b:c", 421), ("127.0.0.1", 200), (f"localhost:{port}", 200), ("LAB-PC:1", 200), ("[::1]:80", 200),
        ):  # fmt: skip
            answer = get(f"{url}{API}/campaigns", headers={"Host": host})
            assert answer.status_code in ({status} if host else {400, 421}), host


def test_pages_of_other_sites_are_refused_and_there_is_no_cors() -> None:
    with serving() as client:
        body = {"name": "x", "rows": 2, "cols": 2}
        host = str(client.base_url.netloc, "ascii")
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", f"http://{host}.evil.example"):
            answer = client.post("/campaigns", json=body, headers={"Origin": origin})
            assert answer.status_code == 403
            assert client.get("/campaigns", headers={"Origin": origin}).status_code == 403
        assert client.get("/campaigns", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        answer = client.options("/campaigns", headers=preflight)
        assert answer.status_code >= 400
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        own = client.post("/campaigns", json=body, headers={"Origin": f"http://{host}"})
        assert own.status_code == 201
        assert not [name for name in own.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "", "http://\x7f", "https://a@b:c"])
def test_an_origin_that_cannot_be_read_is_another_site_s(origin: str) -> None:
    with serving() as client:
        answer = client.get("/campaigns", headers={"Origin": origin})
        assert answer.status_code == 403
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_link_to_our_page_may_be_followed_from_anywhere() -> None:
    """The page alone, and by whoever clicks on it: not by a script, a frame or a form of another site."""
    follows = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with running() as (url, _):
        assert get(url, headers=follows).status_code == 200
        for other in (
            {"Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Dest": "iframe"}, {"Origin": "https://evil.example"},
        ):  # fmt: skip
            assert get(url, headers=follows | other).status_code == 403
        assert get(f"{url}{API}/campaigns", headers=follows).status_code == 403
        assert post(url, headers=follows).status_code == 403


def test_addresses_are_not_made_of_the_host_that_came() -> None:
    with running(tokens=TOKENS) as (url, _):
        headers = {"Host": "evil.example", "Authorization": f"Bearer {WRITE}"}
        body = {"name": "x", "rows": 2, "cols": 2}
        made = post(f"{url}{API}/campaigns", json=body, headers=headers)
        assert made.headers["Location"].startswith(f"{API}/campaigns/")
        for path in (f"{API}/campaigns/", f"{API}/campaigns/x/", "/static"):
            answer = get(url + path, headers=headers)
            assert answer.status_code == 404
            assert "Location" not in answer.headers
            assert "evil.example" not in answer.text + str(answer.headers)


def test_a_token_for_reading_reads_by_post_where_nothing_is_written() -> None:
    with serving(tokens=TOKENS, token=READ) as client:
        assert client.post("/campaigns/x/lookup", json={"rows": [0], "cols": [0]}).status_code == 404
        for method, path in (
            ("DELETE", "/jobs/lookup"),
            ("PATCH", "/campaigns/x/lookup"),
            ("POST", "/lookups"),
        ):
            assert client.request(method, path).status_code == 403, path


def test_forms_of_other_sites_cannot_be_sent() -> None:
    with serving() as client:
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "",
        ):
            answer = client.post(
                "/campaigns", content=b'{"name":"x","rows":2,"cols":2}', headers={"Content-Type": kind}
            )
            assert answer.status_code == 415, kind
        assert client.get("/campaigns").json()["total"] == 0


def test_security_headers_are_on_every_answer() -> None:
    with running(tokens=TOKENS) as (url, _):
        for path in ("/", f"{API}/health", f"{API}/campaigns", "/nothing", "/static/nothing.js"):
            headers = get(url + path).headers
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["X-Frame-Options"] == "DENY"
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "http" not in headers["Content-Security-Policy"]  # nothing from elsewhere
            assert headers["Referrer-Policy"] == "no-referrer"


def test_files_beside_the_static_ones_are_not_served() -> None:
    with running() as (url, _):
        for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "//etc/passwd"):
            assert get(url + path).status_code in (404, 405)


# How much and how often


def test_a_body_too_large_is_refused_with_its_length_known_or_not() -> None:
    with serving(limits=ServerLimits(rate=0, body=2000)) as client:
        large = b'{"name":"' + b"x" * 5000 + b'"}'
        kind = {"Content-Type": "application/json"}
        assert client.post("/campaigns", content=large, headers=kind).status_code == 413
        chunked = client.post("/campaigns", content=iter([large[:3000], large[3000:]]), headers=kind)
        assert chunked.status_code == 413
        assert chunked.headers["Content-Type"] == "application/problem+json"
        assert "at most 2000 bytes" in chunked.json()["detail"]
        fits = b'{"name":"x","rows":2,"cols":2}'.ljust(2000)
        assert client.post("/campaigns", content=fits, headers=kind).status_code == 201


def test_a_packed_body_is_not_unpacked() -> None:
    import gzip

    bomb = gzip.compress(b'{"name":"' + b"x" * 10_000_000 + b'"}')
    with serving(limits=ServerLimits(rate=0, body=20_000)) as client:
        for packing in ("gzip", "GZIP", "deflate", "br", "gzip, identity"):
            headers = {"Content-Type": "application/json", "Content-Encoding": packing}
            answer = client.post("/campaigns", content=bomb, headers=headers)
            assert answer.status_code == 415
            assert "compressed" in answer.json()["detail"]
        body, plain = b'{"name":"x","rows":2,"cols":2}', {"Content-Encoding": "identity"}
        sent = client.post("/campaigns", content=body, headers=plain | {"Content-Type": "application/json"})
        assert sent.status_code == 201


def raw(url: str, *parts: str | bytes, seconds: float = 30) -> bytes:
    """What the server answers to bytes as they are; nothing where it only ends the connection."""
    import contextlib
    import socket

    host, port = url.removeprefix("http://").split(":")
    found = b""
    line = socket.create_connection((host, int(port)), timeout=seconds)
    with line, contextlib.suppress(ConnectionError):
        for part in parts:
            line.sendall(part.encode() if isinstance(part, str) else part)
        while chunk := line.recv(10_000):
            found += chunk
    return found


HEAD = f"POST {API}/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"Content-Length: {'9' * 5000}\r\n", (400, 413)),
        (f"Content-Length: {10**17}\r\n", (413,)),
        ("Content-Length: 3\r\nContent-Length: 4\r\n", (400,)),
        ("Content-Length: -1\r\n", (400,)),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", (400, 408)),
        (f"X-Long: {'x' * 2_000_000}\r\n", (400, 431)),
        ("Transfer-Encoding: gzip, chunked\r\n", (400, 501)),
        ("X-Odd: a\x00b\r\n", (400,)),
    ],
    ids=["digits", "large", "two lengths", "negative", "both", "long header", "gzip", "nul"],
)
def test_heads_that_are_traps(head: str, status: tuple[int, ...]) -> None:
    with running(limits=ServerLimits(rate=0, body_seconds=1)) as (url, _):
        answer = raw(url, HEAD, head, "\r\n", "abc")
        assert not answer or int(answer.split(maxsplit=2)[1]) in status, answer[:200]
        assert get(f"{url}{API}/campaigns").json()["total"] == 0


def test_a_request_cut_short_is_not_done() -> None:
    """Neither with what came of its body nor with none of it."""
    body = b'{"name":"x","rows":2,"cols":2}'
    with running() as (url, _):
        import socket

        host, port = url.removeprefix("http://").split(":")
        for sent in (body, body[:-1], b""):
            with socket.create_connection((host, int(port)), timeout=30) as line:
                line.sendall(f"{HEAD}Content-Length: 100\r\n\r\n".encode() + sent)
        assert get(f"{url}{API}/campaigns").json()["total"] == 0


def test_too_many_connections_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import contextlib
    import socket
    import time

    monkeypatch.setattr(server_app, "MOST_CONNECTIONS", 6)
    whole = f"GET {API}/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with running() as (url, _), contextlib.ExitStack() as lines:
        host, port = url.removeprefix("http://").split(":")
        for _ in range(5):
            lines.enter_context(socket.create_connection((host, int(port)), timeout=30)).sendall(b"GET")
        assert raw(url, whole).startswith(b"HTTP/1.1 503")
        lines.close()
        end = time.monotonic() + 60
        while not (answer := raw(url, whole)).startswith(b"HTTP/1.1 200") and time.monotonic() < end:
            time.sleep(0.01)  # it hears by and by that they are gone
        assert answer.startswith(b"HTTP/1.1 200")


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    import socket

    with running(limits=ServerLimits(rate=0, body_seconds=1)) as (url, _):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as slow:
            head = f"POST {API}/campaigns HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            slow.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert slow.recv(1000).startswith(b"HTTP/1.1 408")


def test_too_many_requests_are_told_to_wait() -> None:
    with serving(limits=ServerLimits(rate=0.01, burst=5)) as client:
        answers = [client.get("/health") for _ in range(8)]
        assert [a.status_code for a in answers[:5]] == [200] * 5
        assert answers[-1].status_code == 429
        assert int(answers[-1].headers["Retry-After"]) >= 1
        assert answers[-1].json()["type"].endswith("too-many-requests")


def test_buckets_fill_again_and_are_each_client_s_own() -> None:
    now = [0.0]
    rates = RateLimiter(2.0, 3, lambda: now[0])
    for _ in range(3):
        rates.count("a")
    with pytest.raises(HttpProblem):
        rates.count("a")
    rates.count("b")
    now[0] = 0.6
    rates.count("a")
    with pytest.raises(HttpProblem):
        rates.count("a")


def test_whoever_guesses_tokens_is_slowed_down() -> None:
    with serving(tokens=TOKENS, limits=ServerLimits(rate=0.01, burst=5)) as client:
        guesses = [
            client.get("/campaigns", headers={"Authorization": f"Bearer guess-{k}-{'x' * 20}"}).status_code
            for k in range(8)
        ]
        assert guesses[:5] == [401] * 5
        assert guesses[-1] == 429
        # Whoever has a token is not kept out by that.
        assert client.get("/campaigns", headers={"Authorization": f"Bearer {READ}"}).status_code == 200


def test_a_matrix_too_large_is_refused_before_it_is_made() -> None:
    with serving(limits=ServerLimits(rate=0, entries=100)) as client:
        for rows, cols in ((11, 10), (2**53, 2**53), (2, 51)):
            answer = client.post("/campaigns", json={"name": "x", "rows": rows, "cols": cols})
            assert answer.status_code == 422
            assert "at most 100 entries" in answer.json()["detail"]
        path = begin(client, rows=10, cols=10)
        assert client.post(f"{path}/rows", json={"labels": ["more"]}).status_code == 422


# What nobody may see


def test_no_answer_and_no_log_shows_a_secret(caplog: pytest.LogCaptureFixture, tmp_path) -> None:
    where = tmp_path / "secret-folder-name" / "lab.db"
    where.parent.mkdir()
    with caplog.at_level("DEBUG"), serving(str(where), tokens=TOKENS) as client:
        said = ""
        for token in (READ, WRITE, "wrong-" + "q" * 30):
            for method, path in routes(client):
                answer = called(client, method, path, token)
                said += answer.text + str(answer.headers)
        headers = {"Authorization": f"Bearer {WRITE}"}
        body = {"name": "x", "rows": 2, "cols": 2}
        for _ in range(2):  # the second is refused, by a sentence that names the storage
            said += client.post("/campaigns", json=body, headers=headers).text
        said += client.get("/campaigns/none", headers=headers).text
    assert "is taken" in said
    for secret in (READ, WRITE, "q" * 30, "secret-folder-name"):
        assert secret not in said
        assert secret == "secret-folder-name" or secret not in caplog.text


def test_a_mistake_of_ours_shows_a_reference_and_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("a secret detail")

    with serving() as client:
        path = begin(client)
        monkeypatch.setattr(campaigns.schemas, "LabelsResponse", broken)
        answer = client.get(f"{path}/labels")
        assert answer.status_code == 500
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.headers["X-Frame-Options"] == "DENY"
        document = answer.json()
        assert "secret" not in answer.text
        assert "ZeroDivision" not in answer.text
        assert document["reference"] in caplog.text
        assert "a secret detail" in caplog.text  # for whoever runs the server
        assert client.get(path).status_code == 200
