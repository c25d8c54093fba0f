"""The posterior: the model, entries, maps, draws, the outlook. Fits are made in the background."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, cast

import numpy as np
from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from maxentry.campaign import views
from maxentry.campaign.state import State
from maxentry.cells import Lookup
from maxentry.errors import DataError
from maxentry.progress import Watch
from maxentry.server import schemas
from maxentry.server.json import encode_labels, parse_label, to_records
from maxentry.server.routes.dependencies import (
    ACCEPTED,
    CampaignDep,
    Level,
    ServiceDep,
    Stale,
    Wait,
    get_fit,
)
from maxentry.server.service import OpenCampaign, VersionedPosterior
from maxentry.summary import maps
from maxentry.summary.maps import BinnedMap, MapName, StateMap, Window

router = APIRouter(tags=["what is believed"])
Position = Annotated[int, Query(ge=0, le=schemas.LARGEST)]
Size = Annotated[int | None, Query(ge=1, le=schemas.LARGEST)]


@router.get("/campaigns/{campaign}/posterior", responses=ACCEPTED)
async def posterior(
    service: ServiceDep, here: CampaignDep, wait: Wait = 5.0, stale: Stale = False
) -> schemas.PosteriorResponse:
    """The model, estimated from all measurements."""
    return await run_in_threadpool(_describe, await get_fit(service, here, wait, stale))


def _describe(fit: VersionedPosterior) -> schemas.PosteriorResponse:
    posterior, diagnostics = fit.posterior, fit.posterior.diagnostics
    return schemas.PosteriorResponse(
        fit=fit_response(fit),
        shape=list(posterior.shape),
        rank=posterior.rank,
        rank_weights={str(rank): float(weight) for rank, weight in posterior.rank_weights.items()},
        noise_sd=posterior.noise_sd,
        noise_df=posterior.noise_df,
        transform=str(posterior.transform),
        chains=diagnostics.n_chains,
        draws=diagnostics.n_draws,
        converged=bool(diagnostics.converged),
        median_rhat=diagnostics.median_rhat,
        advice=str(diagnostics.advice),
        summary=repr(posterior),
    )


def fit_response(fit: VersionedPosterior) -> schemas.FitResponse:
    """What a posterior is based on."""
    measurements = fit.posterior.observations.n
    return schemas.FitResponse(version=fit.version, current=fit.current, measurements=measurements)


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
async def draws(service: ServiceDep, here: CampaignDep, wait: Wait = 5.0, stale: Stale = False) -> Response:
    """The posterior itself."""
    fit = await get_fit(service, here, wait, stale)
    headers = {
        "Content-Disposition": 'attachment; filename="posterior.npz"',
        "X-Fit-Version": str(fit.version),
    }
    content = await run_in_threadpool(_save, fit)
    return Response(content, media_type="application/octet-stream", headers=headers)


def _save(fit: VersionedPosterior) -> bytes:
    with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
        path = Path(folder) / "posterior.npz"
        fit.posterior.save(path)
        return path.read_bytes()


@router.get("/campaigns/{campaign}/entry")
def entry(
    here: CampaignDep,
    row: Annotated[str, Query(examples=["L3"])],
    col: Annotated[str, Query(examples=["S1"])],
    level: Level = 0.9,
) -> schemas.EntryResponse:
    """One entry, by its labels as text: its asks and measurements, and its prediction by the last fit at hand.

    Never waits for a fit: `believed` is null before there is one.
    """
    state = here.campaign.state
    return entry_response(
        here, state, Lookup(state.row_axis).find(row), Lookup(state.col_axis).find(col), level
    )


def entry_response(here: OpenCampaign, state: State, i: int, j: int, level: float) -> schemas.EntryResponse:
    """Everything about the entry at (i, j); its prediction is null without a fit, or with one that lacks the entry."""
    asks = [ask for ask in state.asked.values() if (ask.row, ask.col) == (i, j)]
    columns = views.asks_in_full(asks, state, here.campaign.now(state))
    mask, fit = state.settings.mask, here.fits.latest(state)
    if fit is not None and not (i < fit.posterior.shape[0] and j < fit.posterior.shape[1]):
        fit = None
    return schemas.EntryResponse(
        row=encode_labels([state.row_labels[i]])[0],
        col=encode_labels([state.col_labels[j]])[0],
        may_be_measured=bool(mask is None or mask[i, j]),
        cost=float(state.costs.at(np.array([i]), np.array([j]))[0]),
        measurements=[
            schemas.EntryMeasurement.model_validate(m) for m in state.measurements if (m.row, m.col) == (i, j)
        ],
        asks=[schemas.AskedEntry(**line) for line in to_records(columns)],
        fit=None if fit is None else fit_response(fit),
        believed=None if fit is None else _predict(fit, state, [i], [j], level)[0],
    )


@router.post("/campaigns/{campaign}/lookup", responses=ACCEPTED)
async def lookup(
    service: ServiceDep,
    here: CampaignDep,
    body: schemas.LookupRequest,
    wait: Wait = 5.0,
    stale: Stale = False,
) -> schemas.LookupResponse:
    """Mean, sd and intervals of entries by label. (This only reads: a token for reading is enough.)"""
    rows, cols = ([parse_label(x) for x in side] for side in (body.rows, body.cols))
    if len(rows) != len(cols) and 1 not in (len(rows), len(cols)):
        raise DataError(
            f"expected as many rows as columns, or one of either, got {len(rows)} and {len(cols)}."
        )
    state = await run_in_threadpool(lambda: here.campaign.state)

    def find() -> tuple[list[int], list[int]]:
        row, col, n = Lookup(state.row_axis), Lookup(state.col_axis), max(len(rows), len(cols))
        i, j = [row.find(x) for x in rows], [col.find(x) for x in cols]
        return i * n if len(i) == 1 else i, j * n if len(j) == 1 else j

    i, j = await run_in_threadpool(find)
    fit = await get_fit(service, here, wait, stale)
    items = await run_in_threadpool(_predict, fit, state, i, j, body.level)
    return schemas.LookupResponse(fit=fit_response(fit), level=body.level, items=items)


def _predict(
    fit: VersionedPosterior, state: State, i: list[int], j: list[int], level: float
) -> list[schemas.PredictedEntry]:
    """Mean, sd and intervals of the entries at these positions."""
    rows, cols = [state.row_labels[k] for k in i], [state.col_labels[k] for k in j]
    prediction = fit.posterior.predict(rows, cols, level)
    names = ("mean", "sd", "low", "high", "new_low", "new_high")
    columns = {"row": list(prediction.rows), "col": list(prediction.cols)}
    numbers = {name: getattr(prediction, name).ravel().tolist() for name in names}
    return [schemas.PredictedEntry(**line) for line in to_records(columns | numbers)]


@router.get("/campaigns/{campaign}/map", responses=ACCEPTED)
async def heat_map(
    service: ServiceDep,
    here: CampaignDep,
    what: Annotated[MapName, Query(description="What the cells show.")] = "mean",
    row: Position = 0,
    rows: Size = None,
    col: Position = 0,
    cols: Size = None,
    cells: Annotated[int, Query(ge=1, le=1000, description="At most so many cells a side.")] = 200,
    level: Level = 0.9,
    wait: Wait = 5.0,
    stale: Stale = False,
) -> schemas.MapResponse:
    """A window of the matrix for a heat map: mean, sd, width of the interval, values, counts, pending entries.

    Where the window has more rows or columns than `cells`, each cell stands for several. `share` is the share of the
    entries that cells of a posterior were computed from: 1 for means, less for the spread of large windows.
    """
    state = await run_in_threadpool(lambda: here.campaign.state)
    cells = min(cells, service.limits.tile)
    if what not in ("mean", "sd", "width"):
        window = Window.select(state.shape, row, rows, col, cols, cells)
        pending = state.pending(await run_in_threadpool(here.campaign.now, state))
        shown = await run_in_threadpool(maps.state_map, state, cast(StateMap, what), window, pending)
        return _map_response(shown, state, None)
    fit = await get_fit(service, here, wait, stale)
    window = Window.select(fit.posterior.shape, row, rows, col, cols, cells)
    shown = await run_in_threadpool(here.maps.posterior_map, fit.posterior, what, window, level)
    return _map_response(shown, state, fit)


def _map_response(shown: BinnedMap, state: State, fit: VersionedPosterior | None) -> schemas.MapResponse:
    """A map with the labels of the first row and column of each cell."""
    body = shown.to_dict()
    rows = [state.row_labels[i] for i in body["row_starts"] if i < len(state.row_labels)]
    cols = [state.col_labels[j] for j in body["col_starts"] if j < len(state.col_labels)]
    return schemas.MapResponse(
        **body,
        row_labels=encode_labels(rows),
        col_labels=encode_labels(cols),
        fit=None if fit is None else fit_response(fit),
    )


@router.get("/campaigns/{campaign}/outlook", responses=ACCEPTED)
async def outlook(
    service: ServiceDep, here: CampaignDep, n: Annotated[int, Query(ge=1, le=100_000)] = 8, wait: Wait = 5.0
) -> schemas.OutlookResponse:
    """The expected error now, once the pending entries are measured, and after the next n entries; and advice."""

    def work(watch: Watch) -> schemas.OutlookResponse:
        return schemas.OutlookResponse(**here.campaign.outlook(n, progress=watch).to_dict())  # type: ignore[arg-type]

    version = await run_in_threadpool(lambda: here.campaign.state.version)
    job = await run_in_threadpool(service.start, "outlook", here, work, (version, n))
    result: schemas.OutlookResponse = await job.finish(wait)
    return result
