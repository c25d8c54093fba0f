"""Problems (RFC 9457): every refusal as one JSON document with our sentence in it, and no secret."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from starlette.responses import Response

from maxentry.errors import (
    CampaignError,
    DataError,
    LabelError,
    MaxentryError,
    MissingDependencyError,
    NothingToAskError,
    ParameterError,
    RankError,
    SizeError,
    StorageError,
)
from maxentry.server.plain import Json

LOG = logging.getLogger("maxentry.server")
MEDIA_TYPE = "application/problem+json"
LONGEST = 2000  # characters of a sentence

# From the most particular on: the first that fits is meant.
STATUS: tuple[tuple[type[MaxentryError], int, str], ...] = (
    (NothingToAskError, 409, "Nothing left to ask"),
    (CampaignError, 409, "Contradicts what the campaign knows"),
    (StorageError, 503, "The storage does not answer"),
    (MissingDependencyError, 500, "The server lacks a package"),
    (LabelError, 422, "Unknown label"),
    (DataError, 422, "Data that cannot be used"),
    (RankError, 422, "A rank that cannot be used"),
    (ParameterError, 422, "An option that cannot be"),
    (SizeError, 422, "Too large"),
    (MaxentryError, 422, "Refused"),
)


class Problem(Exception):
    """A refusal: HTTP status, kind (a word for machines), title and detail (a sentence for people)."""

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        detail: str,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title, self.detail = status, kind, title, detail
        self.headers, self.more = headers or {}, more

    def to_dict(self) -> dict[str, Any]:
        """As the document."""
        return {
            "type": f"urn:maxentry:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """As the answer to a request."""
        return Json(self.to_dict(), self.status, self.headers, MEDIA_TYPE)


def of(error: BaseException, storage: str = "") -> Problem:
    """The problem that an error is to whoever made the request; `storage` is how messages name ours."""
    if isinstance(error, Problem):
        return error
    if not isinstance(error, MaxentryError):
        return unexpected(error)
    status, title = next((status, title) for kind, status, title in STATUS if isinstance(error, kind))
    detail, name = _sentence(str(error), storage), type(error).__name__
    if status >= 500:
        # A database's own words may name machines and users: they are for the log alone.
        LOG.error("%s: %s", name, error)
        detail = (
            "the server could not read or write its campaigns; nothing is known to be changed: try again."
        )
        return Problem(status, "storage", title, detail, {"Retry-After": "5"}, error="StorageError")
    return Problem(status, _dashed(name), title, detail, error=name)


def unexpected(error: BaseException) -> Problem:
    """A mistake of ours: what it was is in the log, under the reference that the answer names."""
    reference = secrets.token_hex(4)
    LOG.error("unexpected, reference %s", reference, exc_info=error)
    detail = f"this is a mistake in maxentry; the server's log has it under the reference {reference}."
    return Problem(500, "unexpected", "A mistake in the server", detail, reference=reference)


def no_campaign(name: str, names: list[str]) -> Problem:
    """There is none of this name."""
    there = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    came = f"there {'is' if len(names) == 1 else 'are'} {there}" if names else "there is none yet"
    detail = f"expected a campaign {name!r:.220}, but {came}."
    return Problem(404, "no-campaign", "No such campaign", detail, error="CampaignError")


def too_busy(detail: str, seconds: float = 5.0) -> Problem:
    """Come back later."""
    after = {"Retry-After": str(max(1, round(seconds)))}
    return Problem(429, "too-many-requests", "Too many requests", detail, after)


def closing() -> Problem:
    """The server ends: what was wanted can be had of the next one."""
    detail = "expected a running server, but it is being shut down: try again."
    return Problem(503, "closing", "Being shut down", detail, {"Retry-After": "5"}, error="StorageError")


def invalid(errors: Any) -> Problem:
    """A request that does not have the form it should have: the first mistake as a sentence, all of them as data."""
    found = [{"where": _place(e.get("loc", ())), "expected": str(e.get("msg", ""))} for e in errors][:20]
    first = found[0] if found else {"where": "the request", "expected": "another form"}
    if errors and errors[0].get("type") == "json_invalid":
        detail = "expected a body that is JSON, but it cannot be read as that."
        return Problem(400, "no-json", "Not JSON", detail, error="ParameterError")
    detail = f"{first['where']}: {first['expected'][:1].lower()}{first['expected'][1:]}."
    return Problem(
        422, "invalid-request", "A request of another form", detail, error="ParameterError", errors=found
    )


def unknown_parameter(name: str, known: list[str]) -> Problem:
    """A parameter in the address that means nothing there."""
    there = f"no parameters but {', '.join(known)}" if known else "no parameters"
    detail = f"expected {there} at this address, but {name[:100]!r} came."
    title = "A parameter that is not known"
    return Problem(422, "unknown-parameter", title, detail, error="ParameterError", known=known)


def _place(loc: Any) -> str:
    return ".".join(str(part) for part in loc) or "the request"


def _sentence(text: str, storage: str) -> str:
    """Our sentence without the path or the address of the storage, and not as long as what it may quote."""
    known = text.replace(f" in {storage}", "") if storage else text
    return known if len(known) <= LONGEST else f"{known[:LONGEST]} …"


def _dashed(name: str) -> str:
    """`NothingToAskError` as nothing-to-ask."""
    word = name.removesuffix("Error")
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in word).lstrip("-")
