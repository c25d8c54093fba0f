"""Links of the description (OpenAPI): what of one answer is wanted for which next request."""

from __future__ import annotations

from typing import Any

from maxentry.server.guard import API

CAMPAIGN = {"campaign": "$response.body#/id"}
JOB = {"job": "$response.body#/id"}
ENTRY = "$response.body#/entries/0/id"
ANSWERS: dict[str, Any] = {  # to an ask
    "/tell": {"lines": [{"id": ENTRY, "value": 0.83}]},
    "/fail": {"ids": [ENTRY]},
    "/withdraw": {"ids": [ENTRY]},
}


def add(document: dict[str, Any]) -> None:
    """Put the links into a description."""
    operations = [
        (path.removeprefix(API), method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    for path, method, operation in operations:
        answers = operation["responses"]
        if (path, method) == ("/campaigns", "post"):
            answers["201"]["links"] = _to(operations, "{campaign}", CAMPAIGN)
        if "202" in answers:
            answers["202"]["links"] = _to(operations, "{job}", JOB)
        if path.endswith("/ask"):
            same = {"campaign": "$request.path.campaign"}
            answers["201"]["links"] = {
                other["operationId"]: {
                    "operationId": other["operationId"], "parameters": same, "requestBody": ANSWERS[ending]
                }
                for ending in ANSWERS
                for to, _, other in operations
                if to.endswith(f"}}{ending}")
            }  # fmt: skip


def _to(operations: list[tuple[str, str, Any]], part: str, parameters: dict[str, str]) -> dict[str, Any]:
    """Links to all that have this part in their address."""
    return {
        other["operationId"]: {"operationId": other["operationId"], "parameters": parameters}
        for path, _, other in operations
        if part in path
    }
