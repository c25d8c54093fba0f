"""Work in the background: look at it, follow it, cancel it; and follow a campaign."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from maxentry.errors import StorageError
from maxentry.server import schemas
from maxentry.server.connections import client_name
from maxentry.server.jobs import Job
from maxentry.server.problems import too_busy
from maxentry.server.routes.dependencies import CampaignDep, ServiceDep
from maxentry.server.service import Service

router = APIRouter(tags=["work in the background"])
JOB_PERIOD = 0.25  # seconds between looks at a job
CAMPAIGN_PERIOD = 1.0  # and at a campaign


def _find_job(
    service: ServiceDep, job: Annotated[str, Path(max_length=64, examples=["kY3v0kq7TfG2h1aB"])]
) -> Job:
    return service.jobs.get(job)


JobDep = Annotated[Job, Depends(_find_job)]


@router.get("/jobs")
def list_jobs(service: ServiceDep) -> schemas.JobList:
    """The jobs, the latest first, without their results."""
    jobs = [schemas.JobResponse.model_validate(job) for job in service.jobs.recent()[:100]]
    return schemas.JobList(items=[job.model_copy(update={"result": None}) for job in jobs])


@router.get("/jobs/{job}")
def look(job: JobDep, response: Response) -> schemas.JobResponse:
    """The progress of a job, and its result."""
    if not job.over:
        response.headers["Retry-After"] = "1"
    return schemas.JobResponse.model_validate(job)


@router.delete("/jobs/{job}", status_code=202)
def cancel(job: JobDep) -> schemas.JobResponse:
    """Cancel a job. It ends at its next step; what it has asked for or told by then stands."""
    job.cancel()
    return schemas.JobResponse.model_validate(job)


async def _open_stream(request: Request, service: ServiceDep) -> AsyncIterator[None]:
    """Count the stream among the open ones as long as it lasts; refuse it if there are too many."""
    streams: Counter[str] = request.app.state.streams  # by client
    client, limits = client_name(request.client.host if request.client else ""), service.limits
    if streams[client] >= limits.client_streams or streams.total() >= limits.streams:
        raise too_busy("expected fewer open streams of events, got too many: close one.")
    streams[client] += 1
    try:
        yield
    finally:
        streams[client] -= 1
        if not streams[client]:
            del streams[client]


STREAM: dict[str, Any] = {
    "response_class": EventSourceResponse,
    "dependencies": [Depends(_open_stream)],
    "response_description": "Server-sent events; `data` is JSON.",
}


@router.get("/jobs/{job}/events", **STREAM)
async def follow(request: Request, service: ServiceDep, job: JobDep) -> AsyncIterator[ServerSentEvent]:
    """Follow a job: `progress` whenever there is some, and at the end `done`, `failed` or `cancelled`."""

    def look() -> tuple[str, Any]:
        return (job.status if job.over else "progress"), schemas.JobResponse.model_validate(job)

    async for event in _changes(request, service, look, JOB_PERIOD, lambda: job.over):
        yield event


@router.get("/campaigns/{campaign}/changes", **STREAM)
async def changes(
    request: Request,
    service: ServiceDep,
    here: CampaignDep,
    seconds: Annotated[float, Query(ge=0, le=3600, description="How long to follow.")] = 600.0,
) -> AsyncIterator[ServerSentEvent]:
    """Follow a campaign: `changed` with its last event, the event of its last fit and the work in the background.

    One event comes at once, and another whenever one of these changes.
    """
    end = time.monotonic() + seconds

    def look() -> tuple[str, Any]:
        state = here.campaign.state
        fit = here.fits.latest(state)
        jobs = [job for job in service.jobs.recent() if job.campaign_id == here.id and not job.over]
        work = [
            {"id": job.id, "kind": job.kind, "status": job.status, "progress": job.progress._asdict()}
            for job in jobs
        ]
        known = None if fit is None else fit.version
        times = {"version": state.version, "changed_at": state.changed_at.isoformat()}
        return "changed", {**times, "fit": known, "work": work}

    async for event in _changes(request, service, look, CAMPAIGN_PERIOD, lambda: time.monotonic() >= end):
        yield event


async def _changes(
    request: Request,
    service: Service,
    look: Callable[[], tuple[str, Any]],
    period: float,
    over: Callable[[], bool],
) -> AsyncIterator[ServerSentEvent]:
    """An event whenever what `look` sees changes, until it is over or deleted, the client leaves or the server ends."""
    seen = None
    while True:
        last = over() or service.jobs.closing  # before the look, so that the end is seen
        try:
            kind, data = await run_in_threadpool(look)
        except StorageError as error:
            if error.code != "campaign_gone":
                raise
            return
        if (kind, data) != seen:
            seen = kind, data
            yield ServerSentEvent(event=kind, data=data)
        if last or await request.is_disconnected():
            return
        await asyncio.sleep(period)
