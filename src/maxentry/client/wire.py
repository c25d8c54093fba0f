"""The wire to a server: requests, retries, and problems as the errors that they were over there."""

from __future__ import annotations

import contextlib
import ssl
import time
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
WAIT = 30  # seconds that the server may keep us waiting before it goes on in the background
PATIENCE = 30.0  # seconds without an answer, beyond those
KIND = "urn:maxentry:problem:"
OVER = ("done", "failed", "cancelled")


class _NoJobError(StorageError):
    """The server knows of no such job."""


class Wire:
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
        self.url = _checked(url)
        shown = {} if token is None else {"Authorization": f"Bearer {_checked_token(token)}"}
        headers = {"User-Agent": "maxentry", **shown}
        timeout = self._httpx.Timeout(WAIT + PATIENCE, connect=10.0)
        # Redirects are not followed: the token is for this server and for no other.
        self._client: httpx.Client = self._httpx.Client(
            base_url=self.url + API,
            headers=headers,
            timeout=timeout,
            transport=transport,
            verify=True if certificate is None else _trusting(certificate),
        )

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """The answer to a question."""
        return read(self.request("GET", path, params=params))

    def pages(self, path: str, *, after: int = 0, **params: Any) -> Iterator[dict[str, Any]]:
        """Page after page, from the line after this one on."""
        following: int | None = after
        while following is not None:
            page = self.get(path, **params, after=following, limit=1000)
            if "items" not in page or "next" not in page:
                raise _strange(200)
            following = page["next"]
            yield page

    def send(self, method: str, path: str, body: Any, *, key: str | None = None) -> dict[str, Any]:
        """What came of something that changes the campaign; with a key it may be sent again if nobody answers."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return read(self.request(method, path, json=body, headers=headers, repeatable=key is not None))

    def request(self, method: str, path: str, *, repeatable: bool = False, **more: Any) -> httpx.Response:
        """The answer; what may be repeated is, when nobody answers or the server is busy."""
        again = repeatable or method == "GET"
        for attempt in range(1, TRIES + 1):
            try:
                answer = self._client.request(method, path, **more)
            except self._httpx.TransportError as error:
                never_sent = isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout))
                if attempt == TRIES or not (again or never_sent):
                    raise self._unreachable(error, never_sent) from None
                time.sleep(0.1 * 2**attempt)
                continue
            if answer.status_code in (429, 503) and attempt < TRIES and (again or answer.status_code == 429):
                time.sleep(_pause(answer))
                continue
            if answer.status_code >= 300:
                raise problem(answer)
            return answer
        raise AssertionError("unreachable")

    def _unreachable(self, error: Exception, never_sent: bool) -> StorageError:
        what = "" if never_sent else " (whether it was done is not known; telling the same again is harmless)"
        reason = str(error).rstrip(".") or type(error).__name__
        return StorageError(f"expected a maxentry server at {self.url}, but {reason}{what}.")

    def finished(self, job: dict[str, Any], progress: bool | None) -> dict[str, Any] | None:
        """The job once it is over, with a bar in the meantime; what went wrong with it is raised.

        None where the server has ended, or another one answers now, which knows nothing of it: ask again.
        """
        pause = 0.05
        with contextlib.ExitStack() as shown:
            bar: Progress | None = None
            stretch, done = ("", 0), 0
            while job["status"] not in OVER:
                now = job["progress"]
                if now["total"] and (now["what"], now["total"]) != stretch:
                    shown.pop_all().close()
                    stretch, done = (now["what"], now["total"]), 0
                    bar = shown.enter_context(track(now["total"], now["what"], progress))
                if bar is not None:
                    bar.advance(now["done"] - done)
                    done = now["done"]
                time.sleep(pause)
                pause = min(2 * pause, 1.0)
                try:
                    job = self.get(f"/jobs/{job['id']}")
                except _NoJobError:
                    return None
        if job["problem"] is not None and job["problem"]["type"] == f"{KIND}closing":
            return None
        if job["problem"] is not None:
            raise _error(job["problem"])
        return job


def read(answer: httpx.Response) -> dict[str, Any]:
    """The document in an answer."""
    try:
        document = answer.json()
    except ValueError:
        raise _strange(answer.status_code) from None
    if not isinstance(document, dict):
        raise _strange(answer.status_code)
    return document


def problem(answer: httpx.Response) -> MaxentryError:
    """The error that an answer tells of."""
    try:
        document = answer.json()
        return _error(document) if isinstance(document, dict) else _strange(answer.status_code)
    except ValueError:
        return _strange(answer.status_code)


def _error(document: dict[str, Any]) -> MaxentryError:
    if document.get("type") == f"{KIND}no-job":
        return _NoJobError(str(document.get("detail")))
    kind = getattr(errors, str(document.get("error")), None)
    known = isinstance(kind, type) and issubclass(kind, MaxentryError)
    # Tokens, limits and hosts are matters of reaching the campaigns, not of the campaigns.
    made = kind if known else StorageError
    assert isinstance(made, type)
    error: MaxentryError = made(str(document.get("detail") or document.get("title") or "refused."))
    return error


def _strange(status: int) -> StorageError:
    return StorageError(f"expected an answer of a maxentry server, but something else came (HTTP {status}).")


def _pause(answer: httpx.Response) -> float:
    after = answer.headers.get("Retry-After", "1")
    return min(float(after), 10.0) if after.isdecimal() else 1.0


def _checked(url: Any) -> str:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or "@" in url:
        raise ParameterError("expected the address of a server like http://127.0.0.1:8765, but another came.")
    return url.rstrip("/").removesuffix(API)


def _checked_token(token: Any) -> str:
    """The token, fit for a header; one that is not would be in the error that says so."""
    known = token.strip() if isinstance(token, str) else ""
    if not known or not known.isascii() or not known.isprintable() or " " in known:
        raise ParameterError("expected a token of printable characters without blanks, but another came.")
    return known


def _trusting(certificate: str) -> ssl.SSLContext:
    """TLS that trusts this certificate (of the server, or of who signs for it) and no other."""
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError as error:  # of the file, and of OpenSSL
        reason = error.strerror or type(error).__name__
        raise ParameterError(f"expected a certificate in {certificate}, but: {reason}.") from None
