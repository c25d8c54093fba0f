"""Work in the background: look at it, follow it, call it off; and follow a campaign."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from maxentry.server import answers
from maxentry.server.answers import described
from maxentry.server.jobs import Job
from maxentry.server.lab import Lab
from maxentry.server.plain import Json
from maxentry.server.problems import Problem, too_busy
from maxentry.server.routes.common import Here, LabHere

router = APIRouter(tags=["work in the background"])
EVERY = 0.25  # seconds between looks at a job
EVERY_CAMPAIGN = 1.0  # and at a campaign
HEARTBEAT = 15.0  # seconds of silence after which a line says that the stream is alive
JobId = Annotated[str, Path(max_length=64, examples=["kY3v0kq7TfG2h1aB"])]
EVENT = {
    "type": "object",
    "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events, each of this form; `data` is JSON.",
        "content": {"text/event-stream": {"schema": EVENT}},
    }
}


@router.get("/jobs", responses=described(200, answers.JobList))
def list_jobs(lab: LabHere) -> Response:
    """The jobs that are known, the latest first; what came of each is at its own address."""
    return Json({"items": [job.to_dict() | {"result": None} for job in lab.jobs.listed()[:100]]})


@router.get("/jobs/{job}", responses=described(200, answers.JobAnswer))
def look(lab: LabHere, job: JobId) -> Response:
    """How far a job has come, and what came of it."""
    found = _job(lab, job)
    return Json(found.to_dict(), headers={} if found.over else {"Retry-After": "1"})


@router.delete("/jobs/{job}", status_code=202, responses=described(202, answers.JobAnswer))
def cancel(lab: LabHere, job: JobId) -> Response:
    """Call a job off. It ends at its next step; what it has handed out or told by then stands."""
    found = _job(lab, job)
    found.cancel()
    return Json(found.to_dict(), 202)


@router.get("/jobs/{job}/events", response_class=Response, responses=STREAM)
async def follow(request: Request, lab: LabHere, job: JobId) -> Response:
    """Follow a job: `progress` whenever there is some, and at the end `done`, `failed` or `cancelled`."""
    found = _job(lab, job)

    def now() -> tuple[str, dict[str, Any]]:
        return (found.status if found.over else "progress"), found.to_dict()

    return _stream(request, lab, now, EVERY, lambda: found.over)


@router.get("/campaigns/{campaign}/changes", response_class=Response, responses=STREAM)
async def changes(
    request: Request,
    lab: LabHere,
    here: Here,
    seconds: Annotated[float, Query(ge=0, le=3600, description="How long to follow.")] = 600.0,
) -> Response:
    """Follow a campaign: `changed` with its last event, the event of its last fit and the work in the background.

    One comes at once, and then another whenever something of it is new.
    """
    end = time.monotonic() + seconds

    def now() -> tuple[str, dict[str, Any]]:
        state = here.campaign.state
        fit = here.fits.latest(state) if state.standing else None
        known = None if fit is None else fit.version if not fit.current else state.version
        work = [job.to_dict() for job in lab.jobs.listed() if job.campaign_id == here.id and not job.over]
        names = ("id", "kind", "status", "progress")
        return "changed", {
            "version": state.version,
            "changed_at": state.changed_at.isoformat(),
            "fit": known,
            "work": [{name: job[name] for name in names} for job in work],
        }

    return _stream(request, lab, now, EVERY_CAMPAIGN, lambda: time.monotonic() >= end)


def _job(lab: Lab, id: str) -> Job:
    found = lab.jobs.get(id)
    if found is None:
        raise Problem(
            404, "no-job", "No such job", "expected the id of a job, but there is none of this id any more."
        )
    return found


def _stream(
    request: Request,
    lab: Lab,
    look: Callable[[], tuple[str, dict[str, Any]]],
    every: float,
    over: Callable[[], bool],
) -> Response:
    """Events whenever what is seen is new, until it is over, the caller goes, or the server shuts down."""
    streams: set[object] = request.app.state.streams
    if len(streams) >= lab.limits.streams:
        raise too_busy("expected fewer open streams of events, but there are too many: close one.")

    async def lines() -> AsyncIterator[str]:
        seen, quiet = None, time.monotonic()
        while True:
            last = over() or lab.jobs.closing  # before the look, so that the end is seen
            kind, data = await run_in_threadpool(look)
            if (kind, data) != seen:
                seen, quiet = (kind, data), time.monotonic()
                yield f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
            elif time.monotonic() - quiet > HEARTBEAT:
                quiet = time.monotonic()
                yield ": still here\n\n"
            if last or await request.is_disconnected():
                return
            await asyncio.sleep(every)

    return _Counted(lines(), streams)


class _Counted(StreamingResponse):
    """A stream of events that is among the open ones from the moment it is let in."""

    def __init__(self, lines: AsyncIterator[str], streams: set[object]) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._streams = streams
        streams.add(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and be gone."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.discard(self)
