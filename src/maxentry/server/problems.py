"""Problem documents (RFC 9457): every refusal is one, with a sentence for people, and none reveals a secret."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from maxentry.errors import MaxentryError, refusal
from maxentry.wording import shorten

LOG = logging.getLogger("maxentry.server")
MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000  # characters

# The status and the title of each kind of problem. An error of the package is of the kind of its class's code.
KINDS: dict[str, tuple[int, str]] = {
    "nothing-to-ask": (409, "Nothing left to ask"),
    "campaign": (409, "Contradicts what the campaign knows"),
    "storage": (503, "The storage does not answer"),
    "missing-dependency": (500, "The server lacks a package"),
    "label": (422, "Unknown label"),
    "data": (422, "Data that cannot be used"),
    "rank": (422, "A rank that cannot be used"),
    "parameter": (422, "An option that cannot be used"),
    "size": (422, "Too large"),
    "error": (422, "Refused"),
    "no-json": (400, "Not JSON"),
    "refused": (400, "Refused"),
    "token": (401, "A token is needed"),
    "read-only": (403, "Only for reading"),
    "other-site": (403, "From another site"),
    "no-address": (404, "Nothing here"),
    "no-campaign": (404, "No such campaign"),
    "no-id": (404, "No such id"),
    "no-job": (404, "No such job"),
    "no-method": (405, "No such method here"),
    "too-slow": (408, "Too slow"),
    "cancelled": (409, "Cancelled"),
    "too-large": (413, "Too large"),
    "media-type": (415, "A body of another type"),
    "packed": (415, "A compressed body"),
    "wrong-host": (421, "Not a name of this server"),
    "invalid-request": (422, "A request of the wrong form"),
    "unknown-parameter": (422, "Unknown parameter"),
    "too-many-requests": (429, "Too many requests"),
    "unexpected": (500, "A bug in the server"),
    "closing": (503, "Shutting down"),
    "disk-full": (507, "The disk is full"),
}

# Failures of the storage that another try does not mend, by their codes.
LASTING = {
    "storage_damaged": "the server's storage is damaged: whoever runs it finds out more by `maxentry check`.",
    "storage_replaced": "the server's storage was removed or replaced: whoever runs it has to put it back.",
}


class HttpProblem(Exception):
    """A refusal: its kind (one of KINDS), and a detail (a sentence for people)."""

    def __init__(self, kind: str, detail: str, headers: dict[str, str] | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.headers, self.members = kind, detail, headers or {}, members
        self.status, self.title = KINDS[kind]

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
        """Return the document as the answer to a request, in ASCII: texts from requests may hold half a character."""
        return Response(json.dumps(self.to_dict()), self.status, self.headers, MEDIA_TYPE)


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    error: str | None = None
    code: str | None = None
    line: int | None = Field(None, description="Of what was told, the line that was refused, from 1.")
    said: str | None = Field(None, description="What is wrong with the value, without its place.")
    reason: str | None = Field(
        None,
        description="Of values: what is wrong and where, without advice, for clients that give their own.",
    )


# What the description of every route says of its refusals: the titles of each status.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": ", or: ".join(title for known, title in KINDS.values() if known == status),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}},
    }
    for status in dict.fromkeys(status for status, _ in KINDS.values())
}


def from_error(error: BaseException) -> HttpProblem:
    """Turn an error into a problem."""
    match error:
        case HttpProblem():
            return error
        case RequestValidationError():
            return _from_validation(error)
        case HTTPException():
            return _from_framework(error)
        case MaxentryError():
            return _from_package(error)
    reference = secrets.token_hex(4)
    LOG.error("unexpected, reference %s", reference, exc_info=error)
    detail = f"this is a bug in maxentry; the server's log has it under the reference {reference}."
    return HttpProblem("unexpected", detail, reference=reference)


def _from_package(error: MaxentryError) -> HttpProblem:
    kind, name = type(error).code.replace("_", "-"), type(error).__name__
    if error.code == "disk_full":
        LOG.error("%s: %s", name, error)
        detail = (
            "the server's disk is full: nothing was changed. Make room and send it again; reading goes on."
        )
        return HttpProblem("disk-full", detail, error=name, code=error.code)
    if error.code == "campaign_gone":
        return HttpProblem(
            "no-campaign", "this campaign was deleted.", error="CampaignError", code="unknown_campaign"
        )
    if KINDS[kind][0] >= 500:
        # The database's own words may name machines and users: they go to the log alone.
        LOG.error("%s: %s", name, error)
        if error.code in LASTING:
            return HttpProblem(kind, LASTING[error.code], error="StorageError", code=error.code)
        detail = "the server could not read or write its campaigns; whether anything changed is not known: try again."
        return HttpProblem(kind, detail, {"Retry-After": "5"}, error="StorageError")
    about = {key: error.fields[key] for key in ("line", "said", "reason") if key in error.fields}
    return HttpProblem(kind, _describe(error), error=name, code=error.code, **about)


def _describe(error: MaxentryError) -> str:
    """The error's message, not too long, with a hint for clients of the server in place of the one for Python."""
    fields = error.fields
    if error.code == "name_taken":  # whose message names the storage
        return f"expected a new name, got {fields['name']!r:.220}, which is taken."
    add = "or send it with again=true to add another measurement."
    hints = {
        "has_value": "A correction to null removes the value.",
        "other_value": f"Correct the measurement to replace its value, {add}",
        "other_se": f"Correct the measurement to give it its standard error, {add}",
        "two_values": "Leave one out, or send them with again=true if both were measured.",
        "removed_value": f"Correct the measurement to restore its value, {add}",
        "several_measurements": f"Give its number, one of {', '.join(map(str, fields.get('numbers', ())))}.",
    }
    needs = {  # the advice in their messages is for the shell, too
        "needs_grades": "Leave it out if it was not measured. Grades need kind='grades' and their order in levels.",
        "needs_yes_no": "Values that are yes or no need kind='yes/no'.",
    }
    message, hint = error.message, hints.get(error.code, error.hint)
    if error.code in needs:
        message, hint = refusal(fields["reason"]), needs[error.code]
    cut = message if len(message) <= LONGEST_DETAIL else f"{message[:LONGEST_DETAIL]} …"
    return f"{cut} {hint}".rstrip()


def _from_validation(error: RequestValidationError) -> HttpProblem:
    """A request of the wrong form: the first mistake as a sentence, the first twenty as data."""
    mistakes = error.errors()
    if mistakes[0]["type"] == "json_invalid":
        return no_json()
    lines = [{"where": _place(mistake), "expected": _expect(mistake)} for mistake in mistakes[:20]]
    detail = refusal(_describe_mistake(mistakes))
    return HttpProblem("invalid-request", detail, error="ParameterError", errors=lines)


# Parts of a place that name the alternatives of a type, as "float" or "dict[…]", not a part of the request
_ALTERNATIVE = re.compile(
    r"(float|int|str|bool|constrained-\w+|\[key\])|(function-|dict\[|list\[|union\[|nullable).*"
)
_TYPES = {
    "float": "a number", "int": "a whole number", "string": "text", "bool": "true or false", "list": "a list",
    "dict": "an object", "model": "an object", "none": "null",
}  # fmt: skip


_BOUNDS = {
    "ge": "at least", "gt": "more than", "le": "at most", "lt": "less than",
    "min_length": "at least", "max_length": "at most",
}  # fmt: skip


def _place(mistake: Any) -> str:
    parts = [str(part) for part in mistake["loc"]]
    return ".".join(part for part in parts if not _ALTERNATIVE.fullmatch(part)) or "the request"


def _expect(mistake: Any) -> str:
    """What was expected at a place, in a few words."""
    kind, about = str(mistake["type"]), mistake.get("ctx", {})
    if kind == "extra_forbidden":
        return "a known name"
    if kind == "missing":
        return "a value"
    if kind == "value_error":
        return str(about.get("error", mistake["msg"])).removeprefix("expected ")
    if kind == "literal_error":
        return str(about["expected"])
    for name, words in _BOUNDS.items():
        if name in about:
            items = "characters" if kind.startswith("string") else "items"
            return f"{words} {about[name]}{f' {items}' if name.endswith('length') else ''}"
    known = (
        _TYPES.get(kind.partition("_")[0]) if kind.endswith(("_type", "_parsing", "_from_float")) else None
    )
    return known or str(mistake["msg"]).removeprefix("Input should be ").lower()


def _describe_mistake(mistakes: Sequence[Any]) -> str:
    """The first mistake as a sentence. Where a value may be of several types, there is one for each of them."""
    first = _place(mistakes[0])
    here = [m for m in mistakes if f"{_place(m)}.".startswith(f"{first}.")]
    place = max(
        map(_place, here), key=lambda name: name.count(".")
    )  # of an object with parts, the wrong part
    same = [m for m in here if _place(m) == place]
    mistake = next((m for m in same if m["type"] == "literal_error"), same[0])
    kinds = [mistake] if mistake["type"] == "literal_error" else same
    expected = list(dict.fromkeys(map(_expect, kinds)))
    if "a number" in expected and "a whole number" in expected:
        expected.remove("a whole number")
    wanted = " or ".join(filter(None, (", ".join(expected[:-1]), expected[-1])))
    if mistake["type"] == "value_error":
        return f"{place}: expected {wanted}."
    return f"{place}: expected {wanted}, got {_show_input(place, mistake)}."


def _show_input(place: str, mistake: Any) -> str:
    if mistake["type"] == "missing":
        return "none"
    got = place.rpartition(".")[2] if mistake["type"] == "extra_forbidden" else mistake["input"]
    try:
        return shorten(json.dumps(got, ensure_ascii=False), 60)
    except (TypeError, ValueError):
        return "something else"


def _from_framework(error: HTTPException) -> HttpProblem:
    """A refusal by FastAPI or Starlette."""
    if error.status_code == 400:  # a body that FastAPI could not decode
        return no_json()
    known = {
        404: (
            "no-address",
            "nothing is at this address; /api/v1/openapi.json lists the addresses of this server.",
        ),
        405: ("no-method", "this address does not take this method; the header Allow lists those it takes."),
    }
    kind, detail = known.get(error.status_code, ("refused", str(error.detail)))
    problem = HttpProblem(kind, detail, dict(error.headers or {}))
    problem.status = error.status_code
    return problem


def no_json() -> HttpProblem:
    """A body that is not JSON."""
    detail = "the body cannot be read as JSON; send one JSON document in UTF-8."
    return HttpProblem("no-json", detail, error="ParameterError")


def too_busy(detail: str, seconds: float = 5.0) -> HttpProblem:
    """The client is to come back after so many seconds."""
    return HttpProblem("too-many-requests", detail, {"Retry-After": str(max(1, round(seconds)))})


def closing() -> HttpProblem:
    """The server shuts down; another one may do the work."""
    detail = "the server is shutting down; send the request again in a few seconds."
    return HttpProblem("closing", detail, {"Retry-After": "5"}, error="StorageError")
