"""Bodies of requests: not too large, not too slow, and of a kind that no form of another site can send."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maxentry.server.options import Limits
from maxentry.server.problems import Problem

KINDS = ("application/json", "text/csv")
LONGEST_LENGTH = 18  # digits of a Content-Length


class Bodies:
    """Refuses a body of more bytes than allowed (413), one that does not come (408), and other kinds (415)."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await self._whole(Headers(scope=scope), receive, scope["method"])
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        if body is None:  # gone before all of it came: nobody waits for an answer, nothing may be done
            return
        came = False

        async def receiving() -> Message:
            nonlocal came
            if came:
                return await receive()  # that the caller has gone
            came = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receiving, send)

    async def _whole(self, headers: Headers, receive: Receive, method: str) -> bytes | None:
        """The body; None where the caller went away. What can be refused by its headers is not read."""
        length = headers.get("content-length", "0")
        if len(length) > LONGEST_LENGTH or (length.isdecimal() and int(length) > self._limits.body):
            raise self._too_large()
        packed = headers.get("content-encoding", "identity").strip().lower()
        if packed not in ("", "identity"):
            detail = f"expected a body as it is, but one packed by {packed!r:.60} came."
            raise Problem(415, "packed", "A packed body", detail, {"Accept-Encoding": "identity"})
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._read(receive)
        except TimeoutError:
            raise Problem(
                408, "too-slow", "Too slow", "expected the rest of the request, but it did not come."
            ) from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method in ("POST", "PUT", "PATCH") and body and kind not in KINDS:
            detail = f"expected a body of {' or '.join(KINDS)}, but {kind or 'one of no kind'!r:.60} came."
            raise Problem(415, "media-type", "A body of another kind", detail)
        return body

    async def _read(self, receive: Receive) -> bytes | None:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self._limits.body:
                raise self._too_large()
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> Problem:
        detail = (
            f"expected a body of at most {self._limits.body} bytes, but a larger one came: send it in parts."
        )
        return Problem(413, "too-large", "Too large", detail, {"Connection": "close"})
