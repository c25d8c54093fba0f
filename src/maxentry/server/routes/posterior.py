"""What is believed: summaries, entries, maps, draws, the outlook. Fits are made in the background."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from maxentry.campaign.state import State
from maxentry.errors import DataError
from maxentry.server import answers, views
from maxentry.server.answers import ACCEPTED, described
from maxentry.server.fits import Fit
from maxentry.server.jobs import Job
from maxentry.server.plain import Json, label_of, labels
from maxentry.server.requests import Look
from maxentry.server.routes.common import LARGEST, Here, LabHere, Level, Stale, Wait, accepted, fitted, over
from maxentry.summary import maps
from maxentry.summary.maps import BinnedMap, MapName, StateMap, Window

router = APIRouter(tags=["what is believed"])
MOST = 10_000  # entries of one look-up
Position = Annotated[int, Query(ge=0, le=LARGEST)]
Size = Annotated[int | None, Query(ge=1, le=LARGEST)]


@router.get(
    "/campaigns/{campaign}/posterior", responses={**described(200, answers.PosteriorAnswer), **ACCEPTED}
)
async def posterior(lab: LabHere, here: Here, wait: Wait = 5.0, stale: Stale = False) -> Response:
    """What was found about the model, from all that was told."""
    found = await fitted(lab, here, wait, stale)
    if isinstance(found, Job):
        return accepted(found)
    return Json(await run_in_threadpool(views.posterior, found))


@router.get(
    "/campaigns/{campaign}/posterior/draws",
    response_class=Response,
    responses={
        200: {
            "description": "A file for Posterior.load (NumPy's npz, no pickle).",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        **ACCEPTED,
    },
)
async def draws(lab: LabHere, here: Here, wait: Wait = 5.0, stale: Stale = False) -> Response:
    """The posterior itself."""
    found = await fitted(lab, here, wait, stale)
    if isinstance(found, Job):
        return accepted(found)
    content = await run_in_threadpool(_file, found)
    named = {
        "Content-Disposition": 'attachment; filename="posterior.npz"',
        "X-Fit-Version": str(found.version),
    }
    return Response(content, media_type="application/octet-stream", headers=named)


def _file(fit: Fit) -> bytes:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
        path = Path(folder) / "posterior.npz"
        fit.posterior.save(path)
        return path.read_bytes()


@router.get("/campaigns/{campaign}/entry", responses=described(200, answers.EntryAnswer))
def entry(
    here: Here,
    row: Annotated[str, Query(examples=["L3"])],
    col: Annotated[str, Query(examples=["S1"])],
    level: Level = 0.9,
) -> Response:
    """One entry, by its labels as text: what was asked and told of it, and what the last fit at hand believes.

    Never waits for a fit: `believed` is null before there is one.
    """
    state = here.campaign.state
    (i,), (j,) = views.positions(state, [row], [col])
    return Json(views.told_and_believed(here, state, i, j, level))


@router.post("/campaigns/{campaign}/lookup", responses={**described(200, answers.Looked), **ACCEPTED})
async def lookup(lab: LabHere, here: Here, body: Look, wait: Wait = 5.0, stale: Stale = False) -> Response:
    """Mean, sd and intervals of entries by label. (This only reads: a token for reading will do.)"""
    rows, cols = ([label_of(x) for x in side] for side in (body.rows, body.cols))
    if len(rows) != len(cols) and 1 not in (len(rows), len(cols)):
        came = f"{len(rows)} and {len(cols)}"
        raise DataError(f"expected as many rows as columns, or one of either, but {came} came.")
    state = await run_in_threadpool(lambda: here.campaign.state)
    i, j = await run_in_threadpool(views.positions, state, rows, cols)
    n = max(len(i), len(j))
    i, j = (list(side) * n if len(side) == 1 else list(side) for side in (i, j))
    found = await fitted(lab, here, wait, stale)
    if isinstance(found, Job):
        return accepted(found)
    items = await run_in_threadpool(views.predicted, found.posterior, state, i, j, body.level)
    return Json({"fit": views.fit_of(found), "level": body.level, "items": items})


@router.get("/campaigns/{campaign}/map", responses={**described(200, answers.Tile), **ACCEPTED})
async def heat_map(
    lab: LabHere,
    here: Here,
    what: Annotated[MapName, Query(description="What the cells hold.")] = "mean",
    row: Position = 0,
    rows: Size = None,
    col: Position = 0,
    cols: Size = None,
    cells: Annotated[int, Query(ge=1, le=1000, description="At most so many cells a side.")] = 200,
    level: Level = 0.9,
    wait: Wait = 5.0,
    stale: Stale = False,
) -> Response:
    """A window of the matrix for a heat map: mean, sd, width of the interval, told values, counts, what is pending.

    Where the window has more rows or columns than `cells`, each cell stands for several. Of what is believed, `share`
    says of which share of the entries its cells were made: 1 for means; less for spreads of large windows.
    """
    state = await run_in_threadpool(lambda: here.campaign.state)
    cells = min(cells, lab.limits.tile)
    if what not in ("mean", "sd", "width"):
        window = Window.select(state.shape, row, rows, col, cols, cells)
        pending = state.pending(await run_in_threadpool(here.campaign._now, state))
        shown = await run_in_threadpool(maps.state_map, state, cast(StateMap, what), window, pending)
        return Json({**_with_labels(shown, state), "fit": None})
    found = await fitted(lab, here, wait, stale)
    if isinstance(found, Job):
        return accepted(found)
    window = Window.select(found.posterior.shape, row, rows, col, cols, cells)
    shown = await run_in_threadpool(here.maps.posterior_map, found.posterior, what, window, level)
    return Json({**_with_labels(shown, state), "fit": views.fit_of(found)})


def _with_labels(shown: BinnedMap, state: State) -> dict[str, Any]:
    """A map with the labels of the first row and column of each cell."""
    tile = shown.to_dict()
    rows = [state.row_labels[i] for i in tile["row_starts"] if i < len(state.row_labels)]
    cols = [state.col_labels[j] for j in tile["col_starts"] if j < len(state.col_labels)]
    return tile | {"row_labels": labels(rows), "col_labels": labels(cols)}


@router.get("/campaigns/{campaign}/outlook", responses={**described(200, answers.OutlookAnswer), **ACCEPTED})
async def outlook(
    lab: LabHere, here: Here, n: Annotated[int, Query(ge=1, le=100_000)] = 8, wait: Wait = 5.0
) -> Response:
    """The expected error now, once the pending is told, and after the next n entries; and advice."""
    job = await run_in_threadpool(lab.outlook, here, n)
    if not await over(job, wait):
        return accepted(job)
    result: dict[str, Any] = job.result
    return Json(result)
