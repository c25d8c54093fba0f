"""What routes share: the lab, the campaign that is meant, pages, waiting for work."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from fastapi.dependencies.models import Dependant
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from maxentry.errors import CampaignError
from maxentry.server import paging, problems
from maxentry.server.fits import Fit
from maxentry.server.guard import API
from maxentry.server.jobs import Job
from maxentry.server.lab import Lab, Opened
from maxentry.server.paging import Page
from maxentry.server.plain import Json

LARGEST = 2**53


async def known_parameters(request: Request) -> None:
    """Refuse parameters that the route does not have: a slip would change nothing, and nobody would be told."""
    known = _parameters(request.scope["route"].dependant)
    if unknown := [name for name in request.query_params if name not in known]:
        raise problems.unknown_parameter(unknown[0], known)


def _parameters(part: Dependant) -> list[str]:
    """The names of all that a route, and what it depends on, take from the address."""
    own = [field.alias for field in part.query_params]
    return own + [name for needed in part.dependencies for name in _parameters(needed)]


def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


LabHere = Annotated[Lab, Depends(_lab)]


def _opened(
    lab: LabHere,
    campaign: Annotated[str, Path(max_length=200, description="Its name, or its id.", examples=["yields"])],
) -> Opened:
    return lab.opened(campaign)


Here = Annotated[Opened, Depends(_opened)]


def _page(
    lab: LabHere,
    after: Annotated[int, Query(ge=0, le=LARGEST, description="Lines after the one of this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="At most so many lines.")] = 100,
) -> Page:
    return Page(after, min(limit, lab.limits.page))


PageWanted = Annotated[Page, Depends(_page)]
Wait = Annotated[
    float,
    Query(
        ge=0, le=60, description="Seconds to wait for what takes long, before it goes on in the background."
    ),
]
Stale = Annotated[
    bool,
    Query(description="If what is told now is not fitted yet: rather the last fit at hand than none."),
]
Level = Annotated[float, Query(gt=0, lt=1, description="The probability that intervals hold.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="A request that comes again with the same key is done once; keys are kept for 30 days.",
        examples=["3f0c9a52-plate-17"],
    ),
]


def paged(request: Request, items: list[Any], total: int, following: int | None, **more: Any) -> Response:
    """A page as an answer, with a link to the next one."""
    return Json(
        {**paging.answer(items, total, following), **more}, headers=paging.link(request.scope, following)
    )


def accepted(job: Job) -> Response:
    """It goes on in the background."""
    return Json(job.to_dict(), 202, {"Location": f"{API}/jobs/{job.id}", "Retry-After": "1"})


async def over(job: Job, seconds: float) -> bool:
    """Wait for a job without a thread; whether it is over. If it failed, its problem is raised."""
    end, pause = time.monotonic() + seconds, 0.005
    while not job.over and (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, 0.2)
    if job.over and job.problem is not None:
        raise job.problem
    return job.over


async def fitted(lab: Lab, opened: Opened, wait: float, stale: bool) -> Fit | Job:
    """The posterior that is wanted, or the job that makes it. Nothing told: refused, as `posterior()` does."""
    state = await run_in_threadpool(lambda: opened.campaign.state)
    if not state.standing:
        raise CampaignError("expected at least one measurement before there is a posterior, got none.")
    found = await run_in_threadpool(opened.fits.latest if stale else opened.fits.at_hand, state)
    if found is not None:
        return found
    job = await run_in_threadpool(lab.fit, opened)
    if not await over(job, wait):
        return job
    # What was told in the meantime is the next one's matter: this is the fit of what was told when it was wanted.
    return await run_in_threadpool(opened.fits.latest, state) or job


def written(opened: Opened) -> Response:
    """What was to be written is written."""
    return Json({"version": opened.campaign.state.version})
