"""A connection to one server: requests are sent again where that is harmless, jobs are waited for, and problem
documents are raised as the errors that they were on the server.
"""

from __future__ import annotations

import contextlib
import ssl
import time
import uuid
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxentry import errors
from maxentry.errors import MaxentryError, MissingDependencyError, ParameterError, StorageError
from maxentry.progress import Progress, track

if TYPE_CHECKING:
    import httpx

API = "/api/v1"
TRIES = 5
WAIT = 30  # seconds that the server may make us wait before the work goes on in the background
PATIENCE = 30.0  # seconds without an answer, beyond those
PROBLEM, NO_JOB = "urn:maxentry:problem:", "no-job"


class HttpSession:
    """A connection to one server."""

    def __init__(
        self, url: str, token: str | None = None, certificate: str | None = None, transport: Any = None
    ) -> None:
        try:
            self._httpx = import_module("httpx")
        except ImportError:
            raise MissingDependencyError(
                "expected httpx to reach a server, but it is not installed: pip install 'maxentry[client]'."
            ) from None
        self.url = _check_url(url)
        authorization = {} if token is None else {"Authorization": f"Bearer {_check_token(token)}"}
        # Redirects are not followed: the token is for this server and for no other.
        self._client: httpx.Client = self._httpx.Client(
            base_url=self.url + API,
            headers={"User-Agent": "maxentry", **authorization},
            timeout=self._httpx.Timeout(WAIT + PATIENCE, connect=10.0),
            transport=transport,
            verify=True if certificate is None else _trust(certificate),
        )

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """GET a document."""
        return parse_document(self.request("GET", path, params=params))

    def pages(self, path: str, *, after: int = 0, **params: Any) -> Iterator[dict[str, Any]]:
        """GET page after page, from the line after this number on."""
        following: int | None = after
        while following is not None:
            page = self.get(path, **params, after=following, limit=1000)
            if "items" not in page or "next" not in page:
                raise _not_maxentry(200)
            following = page["next"]
            yield page

    def send(self, method: str, path: str, body: Any, *, key: str | None = None) -> dict[str, Any]:
        """Send a change with an idempotency key, by default a new one; it is sent again if there is no answer."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        return parse_document(self.request(method, path, json=body, headers=headers))

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request that may be sent twice; repeat it when there is no answer or the server is busy."""
        for attempt in range(1, TRIES + 1):
            try:
                response = self._client.request(method, path, **more)
            except self._httpx.TransportError as error:
                if attempt == TRIES:
                    never_sent = isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout))
                    unknown = " (whether it was done is not known; telling the same again is harmless)"
                    hint = "" if never_sent or method == "GET" else unknown
                    reason = str(error).rstrip(".") or type(error).__name__
                    raise StorageError(
                        f"expected a maxentry server at {self.url}, but {reason}{hint}."
                    ) from None
                time.sleep(0.1 * 2**attempt)
                continue
            status = response.status_code
            if attempt < TRIES and status in (429, 503):
                after = response.headers.get("Retry-After", "1")
                time.sleep(min(float(after), 10.0) if after.isdecimal() else 1.0)
                continue
            if status >= 300:
                raise _error(parse_document(response))
            return response
        raise AssertionError("unreachable")

    def wait_for(self, job: dict[str, Any], progress: bool | None) -> dict[str, Any] | None:
        """Wait until a job is over, with a progress bar, and return its result; its problem is raised.

        None if the server has ended, or another one answers now that does not know the job: repeat the request.
        """
        pause = 0.05
        with contextlib.ExitStack() as bars:
            bar: Progress | None = None
            stretch, done = ("", 0), 0
            while job["status"] not in ("done", "failed", "cancelled"):
                now = job["progress"]
                if now["total"] and (now["what"], now["total"]) != stretch:
                    bars.pop_all().close()
                    stretch, done = (now["what"], now["total"]), 0
                    bar = bars.enter_context(track(now["total"], now["what"], progress))
                if bar is not None:
                    bar.advance(now["done"] - done)
                    done = now["done"]
                time.sleep(pause)
                pause = min(2 * pause, 1.0)
                try:
                    job = self.get(f"/jobs/{job['id']}")
                except StorageError as error:
                    if error.code != NO_JOB:
                        raise
                    return None
        if (problem := job["problem"]) is None:
            result: dict[str, Any] = job["result"]
            return result
        if problem["type"] == f"{PROBLEM}closing":
            return None
        raise _error(problem)


def parse_document(response: httpx.Response) -> dict[str, Any]:
    """Read the JSON document in a response."""
    try:
        document = response.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _not_maxentry(response.status_code)
    return document


def _error(problem: dict[str, Any]) -> MaxentryError:
    """The error that a problem document tells of."""
    detail = str(problem.get("detail") or problem.get("title") or "refused.")
    if problem.get("type") == f"{PROBLEM}{NO_JOB}":
        return StorageError(detail, code=NO_JOB)
    kind = getattr(errors, str(problem.get("error")), None)
    if isinstance(kind, type) and issubclass(kind, MaxentryError):
        return kind(detail, code=problem.get("code"))
    return StorageError(detail)  # tokens, limits and hosts: the campaigns cannot be reached


def _not_maxentry(status: int) -> StorageError:
    return StorageError(
        f"expected an answer of a maxentry server, got something else (HTTP {status}). Check the address."
    )


def _check_url(url: Any) -> str:
    expected = "expected the address of a server like http://127.0.0.1:8765"
    if isinstance(url, str) and "@" in url:  # not shown: it may hold a password
        raise ParameterError(f"{expected}, got one with a user or a password. Pass token= instead.")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ParameterError(f"{expected}, got {url!r:.100}.")
    return url.rstrip("/").removesuffix(API)


def _check_token(token: Any) -> str:
    """Return the token; refuse one that no header can hold, without showing it as httpx would."""
    known = token.strip() if isinstance(token, str) else ""
    if not known or not known.isascii() or not known.isprintable() or " " in known:
        length = f"one of {len(known)} characters, some of them others" if known else "an empty one"
        got = length if isinstance(token, str) else type(token).__name__
        raise ParameterError(f"expected a token of printable ASCII characters without blanks, got {got}.")
    return known


def _trust(certificate: str) -> ssl.SSLContext:
    """TLS that trusts this certificate (the server's, or its issuer's) and no other."""
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError as error:  # of the file, and of OpenSSL
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"expected a certificate in {certificate}, got: {reason}.") from None
