"""Problem documents (RFC 9457): every refusal is one, with a sentence for people, and none reveals a secret."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from maxentry import errors
from maxentry.errors import MaxentryError
from maxentry.server.json import AsciiJson

LOG = logging.getLogger("maxentry.server")
MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000  # characters

# The most particular class first: the first that fits is used.
STATUS: tuple[tuple[type[MaxentryError], int, str], ...] = (
    (errors.NothingToAskError, 409, "Nothing left to ask"),
    (errors.CampaignError, 409, "Contradicts what the campaign knows"),
    (errors.StorageError, 503, "The storage does not answer"),
    (errors.MissingDependencyError, 500, "The server lacks a package"),
    (errors.LabelError, 422, "Unknown label"),
    (errors.DataError, 422, "Data that cannot be used"),
    (errors.RankError, 422, "A rank that cannot be used"),
    (errors.ParameterError, 422, "An option that cannot be used"),
    (errors.SizeError, 422, "Too large"),
    (MaxentryError, 422, "Refused"),
)


class HttpProblem(Exception):
    """A refusal: HTTP status, kind (a word for programs), title and detail (a sentence for people)."""

    def __init__(
        self,
        status: int,
        kind: str,
        title: str,
        detail: str,
        headers: dict[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title, self.detail = status, kind, title, detail
        self.headers, self.members = headers or {}, members

    def to_dict(self) -> dict[str, Any]:
        """Return the document as plain data."""
        return {
            "type": f"urn:maxentry:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> Response:
        """Return the document as the answer to a request."""
        return AsciiJson(self.to_dict(), self.status, self.headers, MEDIA_TYPE)


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    error: str | None = None
    code: str | None = None


# What the description of every route says of its refusals.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": text,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
    }
    for status, text in {
        400: "Not JSON.",
        401: "A token is needed.",
        403: "The token only allows reading, or another site's page made the request.",
        404: "No such campaign or job.",
        405: "No such method here.",
        408: "The request was not complete in time.",
        409: "It contradicts what the campaign knows; nothing was changed.",
        413: "The body is too large.",
        415: "A body of another media type.",
        421: "Not a name of this server.",
        422: "It cannot be used; nothing was changed.",
        429: "Too many requests, or too much work waiting.",
        503: "The storage does not answer, or the server is shutting down.",
    }.items()
}


def from_error(error: BaseException) -> HttpProblem:
    """Turn an error into a problem."""
    if isinstance(error, HttpProblem):
        return error
    if not isinstance(error, MaxentryError):
        return bug(error)
    status, title = next((status, title) for kind, status, title in STATUS if isinstance(error, kind))
    name = type(error).__name__
    if status >= 500:
        # The database's own words may name machines and users: they go to the log alone.
        LOG.error("%s: %s", name, error)
        detail = "the server could not read or write its campaigns; whether anything changed is not known: try again."
        return HttpProblem(status, "storage", title, detail, {"Retry-After": "5"}, error="StorageError")
    return HttpProblem(
        status, type(error).code.replace("_", "-"), title, _describe(error), error=name, code=error.code
    )


def _describe(error: MaxentryError) -> str:
    """The error's message, not too long, with a hint for clients of the server in place of the one for Python."""
    fields = error.fields
    if error.code == "name_taken":  # whose message names the storage
        return f"expected a new name, got {fields['name']!r:.220}, which is taken."
    add = "or send it with again=true to add another measurement."
    hints = {
        "has_value": "A correction to null removes the value.",
        "other_value": f"Correct the measurement to replace its value, {add}",
        "removed_value": f"Correct the measurement to restore its value, {add}",
        "several_measurements": f"Give its number, one of {', '.join(map(str, fields.get('numbers', ())))}.",
    }
    message, hint = error.message, hints.get(error.code, error.hint)
    cut = message if len(message) <= LONGEST_DETAIL else f"{message[:LONGEST_DETAIL]} …"
    return f"{cut} {hint}".rstrip()


def bug(error: BaseException) -> HttpProblem:
    """A bug: the log has it, under a reference that the answer names."""
    reference = secrets.token_hex(4)
    LOG.error("unexpected, reference %s", reference, exc_info=error)
    detail = f"this is a bug in maxentry; the server's log has it under the reference {reference}."
    return HttpProblem(500, "unexpected", "A bug in the server", detail, reference=reference)


def no_campaign(name: str, names: list[str]) -> HttpProblem:
    """No campaign has this name or id."""
    known = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    detail = f"expected the name of a campaign ({known or 'there is none yet'}), got {name!r:.220}."
    return HttpProblem(404, "no-campaign", "No such campaign", detail, error="CampaignError")


def no_job() -> HttpProblem:
    """No job has this id, or it was forgotten."""
    return HttpProblem(
        404, "no-job", "No such job", "expected the id of a job, got one that is not known (any more)."
    )


def too_busy(detail: str, seconds: float = 5.0) -> HttpProblem:
    """The client is to come back after so many seconds."""
    after = {"Retry-After": str(max(1, round(seconds)))}
    return HttpProblem(429, "too-many-requests", "Too many requests", detail, after)


def closing() -> HttpProblem:
    """The server shuts down; another one may do the work."""
    detail = "expected a running server, got one that is shutting down: try again."
    return HttpProblem(503, "closing", "Shutting down", detail, {"Retry-After": "5"}, error="StorageError")


def cancellation() -> HttpProblem:
    """A job was cancelled before it was done."""
    return HttpProblem(409, "cancelled", "Cancelled", "this was cancelled before it was done.")


def no_json() -> HttpProblem:
    """A body that is not JSON."""
    detail = "expected a body in JSON, got one that cannot be read as JSON."
    return HttpProblem(400, "no-json", "Not JSON", detail, error="ParameterError")


def invalid(mistakes: Sequence[dict[str, Any]]) -> HttpProblem:
    """A request of the wrong form: the first mistake as a sentence, the first twenty as data."""
    if mistakes and mistakes[0].get("type") == "json_invalid":
        return no_json()
    lines = [
        {"where": ".".join(map(str, mistake["loc"])) or "the request", "expected": str(mistake["msg"])}
        for mistake in mistakes[:20]
    ] or [{"where": "the request", "expected": "another form"}]
    where, expected = lines[0]["where"], lines[0]["expected"]
    detail = f"{where}: {expected[:1].lower()}{expected[1:]}."
    title = "A request of the wrong form"
    return HttpProblem(422, "invalid-request", title, detail, error="ParameterError", errors=lines)


def unknown_parameter(name: str, known: list[str]) -> HttpProblem:
    """A query parameter that the route does not have."""
    expected = f"no parameters but {', '.join(known)}" if known else "no parameters"
    detail = f"expected {expected} at this address, got {name[:100]!r}."
    title = "Unknown parameter"
    return HttpProblem(422, "unknown-parameter", title, detail, error="ParameterError", known=known)


def from_status(status: int, detail: str, headers: dict[str, str]) -> HttpProblem:
    """A refusal by the web framework."""
    kind, title, sentence = {
        404: ("no-address", "Nothing here", "expected an address of this server, got one without anything."),
        405: ("no-method", "No such method here", "expected another method for this address."),
        400: ("no-json", "Not JSON", no_json().detail),
    }.get(status, ("refused", "Refused", detail))
    return HttpProblem(status, kind, title, sentence, headers)
