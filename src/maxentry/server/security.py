"""Middlewares that every request passes: security headers, tokens, other sites, rates, and the body.

`SafeResponses` is the outermost: it answers what the others raise. Starlette checks the host and the size of the body
(`app.py`), and refuses in plain text, which becomes a problem document, too.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maxentry.server import problems
from maxentry.server.connections import CLIENT, client_name
from maxentry.server.options import LOCAL_HOSTS, Options, ServerLimits
from maxentry.server.problems import HttpProblem

API = "/api/v1"
READING = ("GET", "HEAD", "OPTIONS")
READ_BY_POST = "/lookup"  # its labels are too many for an address
OPEN = (f"{API}/health", f"{API}/openapi.json", "/", "/static")  # these show nothing of any campaign
MOST_CLIENTS = 10_000  # whose rate is remembered
BODY_TYPES = (
    "application/json",
    "text/csv",
    "application/octet-stream",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
)  # a form of another site can send none

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",  # the browser may store the page, but asks before each use whether it is the same
}


class SafeResponses:
    """Adds security headers to every response; turns errors and refusals in plain text into problem documents."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self._app = app
        host = "expected to be called by a name of this machine; --allow-host adds others."
        size = f"expected a body of at most {limits.body} bytes, got a larger one: send it in parts."
        self._refusals = {
            400: HttpProblem("wrong-host", host),
            413: HttpProblem("too-large", size, {"Connection": "close"}),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = replaced = False

        async def send_safely(message: Message) -> None:
            nonlocal started, replaced
            if replaced:  # the rest of a refusal in plain text
                return
            if message["type"] == "http.response.start":
                headers, status = MutableHeaders(scope=message), message["status"]
                if headers.get("content-type", "").startswith("text/plain") and status in self._refusals:
                    await self._refusals[status].response()(scope, receive, send_safely)
                    replaced = True
                    return
                started = True
                if scope["path"].startswith(API):  # what the API answers is never stored
                    headers["Cache-Control"] = "no-store"
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception as error:
            problem = problems.from_error(error)
            if started:  # half a response is out: end the connection rather than pretend that it is whole
                raise
            await problem.response()(scope, receive, send_safely)


def allowed_hosts(options: Options) -> list[str]:
    """The names by which the server may be called.

    Without tokens, a page could reach it under a name of its own (DNS rebinding), so only names of this machine.
    """
    if options.tokens.needed:
        return ["*"]
    names = {*LOCAL_HOSTS, *options.hosts, options.host}
    return [f"[{name}]" if ":" in name else name for name in names]


class AccessControl:
    """Refuses pages of other sites, requests without the token they need, and too many requests."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app, self._tokens = app, options.tokens
        self._rates = RateLimiter(options.limits.rate, options.limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http":
            CLIENT.set(client_name((scope.get("client") or ("",))[0]))
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        address = CLIENT.get()
        token = parse_bearer(headers.get("authorization"))
        access = self._tokens.access(token)
        # Wrong tokens are counted by address, so that each guess is not a client of its own.
        self._rates.count(address if access == "none" or not token else f"{address} {access}")
        if not _follows_link(method, path, headers):
            _check_origin(headers)
        if path in OPEN or path.startswith("/static/"):
            return
        if access == "none":
            detail = (
                f"expected a token (Authorization: Bearer …), got {'none' if token is None else 'another'}."
            )
            raise HttpProblem("token", detail, {"WWW-Authenticate": 'Bearer realm="maxentry"'})
        reads = method in READING or (method == "POST" and path.endswith(READ_BY_POST))
        if access == "read" and not reads:
            raise HttpProblem("read-only", "expected the token for writing, got the one for reading.")


def parse_bearer(header: str | None) -> str | None:
    """The token in an `Authorization: Bearer …` header, if it is one."""
    kind, _, token = (header or "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def _follows_link(method: str, path: str, headers: Headers) -> bool:
    """Whether the browser follows a link to the dashboard, which the other page can neither read nor use."""
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return navigates and method == "GET" and not path.startswith(API) and "origin" not in headers


def _check_origin(headers: Headers) -> None:
    """Pages of other sites may not use the reader's own access; there are no CORS headers either."""
    origin, host = headers.get("origin"), headers.get("host", "").lower()
    own = origin is None or origin.lower() in (f"http://{host}", f"https://{host}")
    if not own or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        detail = "expected a request of this server's own pages or of a program, got one of another site."
        raise HttpProblem("other-site", detail)


class RateLimiter:
    """A token bucket for each client: it fills at `rate` a second up to `burst`, and every request takes one out."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, client: str) -> None:
        """Count a request of this client; refuse it if there have been too many."""
        if not self._rate:
            return
        now = self._clock()
        with self._lock:
            left, then = self._buckets.pop(client, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._rate)
            self._buckets[client] = (max(left - 1, 0.0) if left >= 1 else left, now)
            while len(self._buckets) > MOST_CLIENTS:
                self._buckets.popitem(last=False)
        if left < 1:
            raise problems.too_busy(
                f"expected at most {self._rate:g} requests a second, got more: wait a moment.",
                (1 - left) / self._rate,
            )


class WholeBodies:
    """Reads the whole body before the routes run; refuses slow (408) and compressed ones, and other types (415)."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self._app, self._seconds = app, limits.body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._read(Request(scope, receive))
        except ClientDisconnect:  # nobody waits for an answer, and nothing may be done
            return
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_whole() -> Message:
            return messages.pop() if messages else await receive()  # then the disconnect

        await self._app(scope, receive_whole, send)

    async def _read(self, request: Request) -> bytes:
        headers = request.headers
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            detail = f"expected a body that is not compressed, got one of {encoding!r:.60}."
            raise HttpProblem("packed", detail, {"Accept-Encoding": "identity"})
        try:
            async with asyncio.timeout(self._seconds):
                body = await request.body()
        except TimeoutError:
            detail = f"expected the whole body within {self._seconds:g} seconds, got a part of it."
            raise HttpProblem("too-slow", detail) from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method in ("POST", "PUT", "PATCH") and body and kind not in BODY_TYPES:
            detail = f"expected a body of {' or '.join(BODY_TYPES)}, got {kind or 'no type'!r:.60}."
            raise HttpProblem("media-type", detail)
        return body
