"""What every request passes before anything is read of it: who calls whom, from where, and how often."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maxentry.server import problems, tokens
from maxentry.server.options import LOCAL, Options
from maxentry.server.problems import Problem

API = "/api/v1"
READING = ("GET", "HEAD", "OPTIONS")
READ_BY_POST = "/lookup"  # entries by label, too many for an address
OPEN = (f"{API}/health", f"{API}/openapi.json", "/", "/static")  # what shows nothing of any campaign
CLIENTS = 10_000  # whose rate is remembered

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
)


class Shield:
    """Security headers on every answer; a mistake of ours becomes a problem with a reference, no trace of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = {name for name, _ in message["headers"]}
                extra = [header for header in SECURITY_HEADERS if header[0] not in given]
                private = [] if b"cache-control" in given else [(b"cache-control", b"no-store")]
                message = {**message, "headers": [*message["headers"], *extra, *private]}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            problem = problems.of(error)
            if begun:  # half an answer is out: end the connection rather than pretend that it is whole
                raise
            await problem.response()(scope, receive, sending)


class Guard:
    """Refuses strangers: wrong host, pages of other sites, no token or too weak a one, too many requests."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app, self._options = app, options
        self._hosts = {host.lower() for host in (*LOCAL, *options.hosts, options.host)}
        self._rates = Rates(options.limits.rate, options.limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        address = (scope.get("client") or ("",))[0]
        shown = tokens.of_header(headers.get("authorization"))
        may = self._options.tokens.scope(shown)
        # Whoever guesses tokens is counted by address, so that each guess is not a client of its own.
        self._rates.count(address if may == "none" or not shown else f"{address} {may}")
        self._check_host(headers)
        if not _followed(method, path, headers):
            self._check_origin(headers)
        if path in OPEN or path.startswith("/static/"):
            return
        if may == "none":
            raise _unknown(shown)
        reads = method in READING or (method == "POST" and path.endswith(READ_BY_POST))
        if may == "read" and not reads:
            detail = "expected the token for writing, but that for reading came."
            raise Problem(403, "read-only", "Only for reading", detail)

    def _check_host(self, headers: Headers) -> None:
        """Without tokens a page could reach us under a name of its own (DNS rebinding): only our names are answered."""
        if not self._options.tokens.needed and _host(headers.get("host", "")) not in self._hosts:
            detail = "expected to be called by a name of this machine; --allow-host adds others."
            raise Problem(421, "wrong-host", "Called by another name", detail)

    def _check_origin(self, headers: Headers) -> None:
        """Pages of other sites may not use the reader's own access; there are no CORS headers either."""
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is not None and (not host or _place(origin) != host.lower()):
            raise _foreign()
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise _foreign()


class Rates:
    """A bucket a client: it fills at `rate` a second up to `burst`, and every request takes one out."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._turn = threading.Lock()

    def count(self, client: str) -> None:
        """Count a request of this client; refuse it if there have been too many."""
        if not self._rate:
            return
        now = self._clock()
        with self._turn:
            left, then = self._buckets.pop(client, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._rate)
            self._buckets[client] = (max(left - 1, 0.0) if left >= 1 else left, now)
            while len(self._buckets) > CLIENTS:
                self._buckets.popitem(last=False)
        if left < 1:
            raise problems.too_busy(
                f"expected at most {self._rate:g} requests a second, but more came: wait a moment.",
                (1 - left) / self._rate,
            )


def _unknown(shown: str | None) -> Problem:
    came = "none came" if shown is None else "another came"
    detail = f"expected a token (Authorization: Bearer …), but {came}."
    return Problem(401, "token", "A token is needed", detail, {"WWW-Authenticate": 'Bearer realm="maxentry"'})


def _foreign() -> Problem:
    detail = "expected a request of this server's own pages or of a program, but another site's page made it."
    return Problem(403, "other-site", "From another site", detail)


def _followed(method: str, path: str, headers: Headers) -> bool:
    """Whether somebody follows a link to our pages, which no other page can look into or use."""
    going = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return going and method == "GET" and not path.startswith(API) and "origin" not in headers


def _place(origin: str) -> str:
    """The host and port in an Origin header; nothing where there is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _host(header: str) -> str:
    """The name in a Host header, without the port; nothing where it is none."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""
