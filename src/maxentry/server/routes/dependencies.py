"""What routes share: the campaign of the address, its state and its fit, idempotency keys, and pages."""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, Header, Path, Query, Request
from fastapi.dependencies.models import Dependant
from starlette.datastructures import URL
from starlette.responses import Response

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import State, replay
from maxentry.server import idempotency, requests, schemas
from maxentry.server.idempotency import Claim
from maxentry.server.problems import HttpProblem
from maxentry.server.security import READING
from maxentry.server.service import OpenCampaign, Service, VersionedPosterior

T = TypeVar("T")
KEY = "Idempotency-Key"


async def check_parameters(request: Request) -> None:
    """Refuse parameters that the route does not have: a misspelt one would otherwise be ignored in silence.

    So is an Idempotency-Key where a request that is not for reading takes none.
    """
    route = request.scope["route"].dependant
    if request.method not in READING and KEY in request.headers and not _takes_key(route):
        detail = f"expected no {KEY} at this address, got one: what is done here may be done twice."
        raise HttpProblem("unknown-parameter", detail, error="ParameterError", known=[])
    known = _parameter_names(route)
    if unknown := [name for name in request.query_params if name not in known]:
        expected = f"no parameters but {', '.join(known)}" if known else "no parameters"
        detail = f"expected {expected} at this address, got {unknown[0][:100]!r}."
        raise HttpProblem("unknown-parameter", detail, error="ParameterError", known=known)


def _parameter_names(part: Dependant) -> list[str]:
    """The names of all query parameters of a route and of its dependencies."""
    own = [field.alias for field in part.query_params]
    return own + [name for needed in part.dependencies for name in _parameter_names(needed)]


def _takes_key(part: Dependant) -> bool:
    """Whether a route or one of its dependencies takes an idempotency key."""
    return any(field.alias == KEY for field in part.header_params) or any(map(_takes_key, part.dependencies))


def _get_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def state_after(here: OpenCampaign, version: int) -> State:
    """The state as it was after this event, so that a request that comes again is answered as before."""
    state = here.campaign.state
    return replay(here.campaign.records(0, version)) if state.version > version else state


ServiceDep = Annotated[Service, Depends(_get_service)]


def _open_campaign(
    service: ServiceDep,
    campaign: Annotated[str, Path(max_length=200, description="Its name, or its id.", examples=["yields"])],
) -> OpenCampaign:
    return service.open(campaign)


CampaignDep = Annotated[OpenCampaign, Depends(_open_campaign)]


def _read_state(here: CampaignDep) -> State:
    return here.campaign.state


StateDep = Annotated[State, Depends(_read_state)]
Wait = Annotated[
    float, Query(ge=0, le=60, description="Seconds to wait for work before it goes on in the background.")
]
Stale = Annotated[
    bool, Query(description="Accept the last fit at hand if the latest measurements are not fitted yet.")
]
Level = Annotated[float, Query(gt=0, lt=1, description="The probability of the intervals.")]


async def _get_fit(
    service: ServiceDep, here: CampaignDep, state: StateDep, wait: Wait = 5.0, stale: Stale = False
) -> VersionedPosterior:
    return await service.fit(here, state, wait, stale)


FitDep = Annotated[VersionedPosterior, Depends(_get_fit)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias=KEY,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="Requests with the same key are done once; keys are kept for 30 days.",
        examples=["3f0c9a52-plate-17"],
    ),
]


async def _read_claim(request: Request, key: IdempotencyKey = None) -> Claim | None:
    body = await request.body()
    content = [request.method, request.scope["route"].path, hashlib.sha256(body).hexdigest()]
    return Claim.from_request(key, content)


ClaimDep = Annotated[Claim | None, Depends(_read_claim)]


class Pagination:
    """The page that a request wants: at most `limit` lines whose numbers come after `after`."""

    def __init__(
        self,
        request: Request,
        response: Response,
        after: Annotated[int, Query(ge=0, le=requests.LARGEST, description="Lines after this number.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most so many lines.")] = 100,
    ) -> None:
        self.after, self.limit = after, limit
        self._scope, self._headers = request.scope, response.headers

    def cut(self, lines: Sequence[T], number: Callable[[T], int]) -> tuple[Sequence[T], int | None]:
        """The lines on this page, and the number after which the next page begins; None if it is the last.

        The lines must be sorted by number.
        """
        first = bisect.bisect_right(lines, self.after, key=number)
        here = lines[first : first + self.limit]
        return here, number(here[-1]) if first + len(here) < len(lines) else None

    def body(self, items: Sequence[Any], total: int, following: int | None) -> dict[str, Any]:
        """The body of the response; a `Link` header (RFC 8288) leads to the next page."""
        if following is not None:
            path = quote(self._scope["path"], safe="/")  # names may be of any script, headers may not
            here = URL(f"{path}?{self._scope['query_string'].decode('latin-1')}")
            self._headers["Link"] = f'<{here.include_query_params(after=following)}>; rel="next"'
        return {"items": items, "total": total, "next": following}


PageDep = Annotated[Pagination, Depends()]

ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": schemas.JobResponse,
        "description": "The work goes on in the background: see the address in Location.",
        "headers": {name: {"schema": {"type": "string"}} for name in ("Location", "Retry-After")},
    }
}


def apply_change(
    service: Service, here: OpenCampaign, claim: Claim | None, write: Callable[[Campaign], object]
) -> schemas.VersionResponse:
    """Change a campaign, with a claim only once. The response is the number of the campaign's last event then."""
    span = idempotency.change_once(service.storage, here.campaign, claim, write)
    return schemas.VersionResponse(version=span.after)
