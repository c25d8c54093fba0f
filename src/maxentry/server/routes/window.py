"""What the dashboard looks at beside the rest: an entry by position, why entries are next, the curve of the error."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from maxentry.campaign.policy import Plates
from maxentry.errors import ParameterError
from maxentry.server import answers, looks, previews, tokens, views
from maxentry.server.answers import ACCEPTED, described
from maxentry.server.plain import Json
from maxentry.server.routes.common import LARGEST, Here, LabHere, Level, Stale, Wait, accepted, over

router = APIRouter(tags=["the dashboard"])
Position = Annotated[int, Query(ge=0, le=LARGEST, description="Counted from 0, as maps do.")]


@router.get("/access", responses=described(200, looks.Access))
def access(request: Request) -> Response:
    """What whoever asks may do: read, or write too."""
    shown = tokens.of_header(request.headers.get("authorization"))
    return Json({"may": request.app.state.options.tokens.scope(shown)})


@router.get("/campaigns/{campaign}/cell", responses=described(200, answers.EntryAnswer))
def cell(here: Here, row: Position, col: Position, level: Level = 0.9) -> Response:
    """One entry by position, with its story and what the last fit at hand believes. Never waits for a fit."""
    state = here.campaign.state
    for name, at, size in (("row", row, state.shape[0]), ("column", col, state.shape[1])):
        if at >= size:
            raise ParameterError(f"expected a {name} from 0 to {size - 1}, but {at} came.")
    return Json(views.told_and_believed(here, state, row, col, level))


@router.get("/campaigns/{campaign}/reasons", responses=described(200, looks.Pending))
async def reasons(here: Here) -> Response:
    """Why the pending entries are worth measuring, by the last fit at hand; the first of them where they are many."""
    return Json(await run_in_threadpool(looks.pending, here))


@router.get("/campaigns/{campaign}/next", responses={**described(200, looks.Next), **ACCEPTED})
async def upcoming(
    lab: LabHere,
    here: Here,
    n: Annotated[int, Query(ge=1, le=100_000)] = 8,
    plates: Annotated[Plates | None, Query(description="Whole rows or columns: n counts them.")] = None,
    wait: Wait = 5.0,
) -> Response:
    """The entries that `ask` would hand out now, why these, and what they would change. Hands out nothing."""
    job = await run_in_threadpool(previews.upcoming, lab, here, n, plates)
    if not await over(job, wait):
        return accepted(job)
    result: dict[str, Any] = job.result
    return Json(result)


@router.get("/campaigns/{campaign}/curve", responses={**described(200, looks.CurveAnswer), **ACCEPTED})
async def curve(lab: LabHere, here: Here, wait: Wait = 5.0, stale: Stale = False) -> Response:
    """The expected error as measurements came in. With `stale` the points at hand; without, missing ones are made."""
    known = await run_in_threadpool(looks.curve, here)
    if stale or not known["missing"]:
        return Json(known)
    job = await run_in_threadpool(previews.curve, lab, here)
    if not await over(job, wait):
        return accepted(job)
    result: dict[str, Any] = job.result
    return Json(result)
