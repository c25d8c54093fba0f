"""The posterior (model, draws, entries, maps) and what follows: the outlook, what is next and why, the error curve.

Work that takes long is done in the background.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from maxentry.campaign import policy, views
from maxentry.campaign.outlook import can_stop, compute_outlook, expect_goal, has_few
from maxentry.campaign.policy import Plates
from maxentry.campaign.state import State
from maxentry.campaign.views import Columns
from maxentry.errors import DataError, ParameterError, SizeError
from maxentry.labels import Axis
from maxentry.posterior.diagnostics import NOTHING_TO_DO, advice_at
from maxentry.posterior.posterior import Posterior
from maxentry.progress import Watch
from maxentry.server import requests, schemas
from maxentry.server.requests import parse_label
from maxentry.server.routes.campaigns import LARGEST_MATRIX, TABLE_FILE, CsvForm, table_file
from maxentry.server.routes.dependencies import (
    ACCEPTED,
    CampaignDep,
    FitDep,
    Level,
    ServiceDep,
    Stale,
    StateDep,
    Wait,
)
from maxentry.server.schemas import to_records
from maxentry.server.service import OpenCampaign, VersionedPosterior
from maxentry.summary import maps
from maxentry.summary.maps import BinnedMap, MapName, PosteriorMap, StateMap, Window
from maxentry.summary.reasons import reasons as find_reasons
from maxentry.tables import cell_text, round_numbers

router = APIRouter(tags=["what is believed, and what is next"])
Position = Annotated[int, Query(ge=0, le=requests.LARGEST, description="Counted from 0.")]
MOST_REASONS = 200  # entries of one answer whose reasons are computed
MOST_ENTRIES = 10_000  # entries of one answer
HTML_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A page.", "content": {"text/html": {"schema": {"type": "string"}}}}
}
HowMany = Annotated[int, Query(ge=1, le=100_000)]
Size = Annotated[int | None, Query(ge=1, le=requests.LARGEST)]


@router.get("/campaigns/{campaign}/posterior", response_model=schemas.PosteriorResponse, responses=ACCEPTED)
def posterior(fit: FitDep) -> dict[str, Any]:
    """The model, estimated from all measurements."""
    posterior, diagnostics = fit.posterior, fit.posterior.diagnostics
    return {
        "fit": fit,
        "shape": posterior.shape,
        "rank": posterior.rank,
        "rank_weights": {str(rank): float(weight) for rank, weight in posterior.rank_weights.items()},
        "noise_sd": posterior.noise_sd,
        "noise_df": posterior.noise_df,
        "transform": str(posterior.transform),
        "scales": {str(label): factor for label, factor in posterior.scales.items()},
        "chains": diagnostics.n_chains,
        "draws": diagnostics.n_draws,
        "converged": bool(diagnostics.converged),
        "median_rhat": diagnostics.median_rhat,
        "advice": diagnostics.advice,
        "remark": advice_at(diagnostics.advice, "page").removeprefix(NOTHING_TO_DO).strip(),
        "summary": repr(posterior),
    }


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
def draws(fit: FitDep) -> Response:
    """The posterior itself."""
    headers = {
        "Content-Disposition": 'attachment; filename="posterior.npz"',
        "X-Fit-Version": str(fit.version),
    }
    with tempfile.TemporaryDirectory(prefix="maxentry-") as folder:
        path = Path(folder) / "posterior.npz"
        fit.posterior.save(path)
        return Response(path.read_bytes(), media_type="application/octet-stream", headers=headers)


@router.get("/campaigns/{campaign}/completed", response_class=Response, responses={**TABLE_FILE, **ACCEPTED})
def completed(
    fit: FitDep,
    state: StateDep,
    what: Annotated[
        Literal["mean", "sd"], Query(description="The estimates, or how far they may be off.")
    ] = "mean",
    form: CsvForm = "csv",
) -> Response:
    """The completed table: the estimate of every entry, one line for each row of the matrix."""
    m1, m2 = fit.posterior.shape
    if m1 * m2 > LARGEST_MATRIX:
        raise SizeError(f"expected a matrix of at most {LARGEST_MATRIX} entries, got {m1 * m2}.")
    matrix = np.array(getattr(fit.posterior.arrays, what))
    rounded = [round_numbers(column) for column in matrix.T.tolist()]
    told = zip(state.told.rows.tolist(), (state.told.cols + 1).tolist(), strict=True)
    return table_file("completed", views.wide_columns(state, rounded), form, frozenset(told))


@router.get("/campaigns/{campaign}/entry", response_model=schemas.EntryResponse)
def entry(
    here: CampaignDep,
    state: StateDep,
    row: Annotated[str, Query(examples=["L3"])],
    col: Annotated[str, Query(examples=["S1"])],
    level: Level = 0.9,
) -> dict[str, Any]:
    """One entry, by its labels as text: its asks and measurements, and its prediction by the last fit at hand.

    Never waits for a fit: `believed` is null before there is one.
    """
    i, j = state.row_axis.find(row), state.col_axis.find(col)
    return _describe_entry(here, state, i, j, level)


@router.get("/campaigns/{campaign}/cell", response_model=schemas.EntryResponse)
def cell(
    here: CampaignDep, state: StateDep, row: Position, col: Position, level: Level = 0.9
) -> dict[str, Any]:
    """One entry by position, with its history and its prediction by the last fit at hand. Never waits for a fit."""
    for name, at, size in (("row", row, state.shape[0]), ("column", col, state.shape[1])):
        if at >= size:
            raise ParameterError(f"expected a {name} from 0 to {size - 1}, got {at}.")
    return _describe_entry(here, state, row, col, level)


def _describe_entry(here: OpenCampaign, state: State, i: int, j: int, level: float) -> dict[str, Any]:
    """Everything about the entry at (i, j); its prediction is null without a fit, or with one that lacks the entry."""
    asks = [ask for ask in state.asked.values() if (ask.row, ask.col) == (i, j)]
    mask, fit = state.settings.mask, here.fits.latest(state)
    if fit is not None and not (i < fit.posterior.shape[0] and j < fit.posterior.shape[1]):
        fit = None
    return {
        "row": state.row_labels[i],
        "col": state.col_labels[j],
        "may_be_measured": bool(mask is None or mask[i, j]),
        "cost": float(state.costs.at(np.array([i]), np.array([j]))[0]),
        "measurements": views.entry_measurements(state, i, j),
        "asks": to_records(views.asks_in_full(asks, state, here.campaign.now(state))),
        "fit": fit,
        "believed": None if fit is None else _predict(fit, state, [i], [j], level)[0],
    }


@router.post("/campaigns/{campaign}/lookup", response_model=schemas.LookupResponse, responses=ACCEPTED)
async def lookup(
    service: ServiceDep,
    here: CampaignDep,
    state: StateDep,
    body: requests.LookupRequest,
    wait: Wait = 5.0,
    stale: Stale = False,
) -> dict[str, Any]:
    """Mean, sd and intervals of entries by label; of grades the probability of each too.

    This only reads: a token for reading is enough.
    """
    m, n = len(body.rows), len(body.cols)
    if m != n and 1 not in (m, n):
        raise DataError(f"expected as many rows as columns, or one of either, got {m} and {n}.")

    def find(axis: Axis, labels: list[Any]) -> list[int]:
        positions = [axis.find(parse_label(label)) for label in labels]
        return positions * max(m, n) if len(positions) == 1 else positions

    i = await run_in_threadpool(find, state.row_axis, body.rows)
    j = await run_in_threadpool(find, state.col_axis, body.cols)
    fit = await service.fit(here, state, wait, stale)
    items = await run_in_threadpool(_predict, fit, state, i, j, body.level)
    return {"fit": fit, "level": body.level, "items": items}


def _predict(
    fit: VersionedPosterior, state: State, i: list[int], j: list[int], level: float
) -> list[dict[str, Any]]:
    """Mean, sd and intervals of the entries at these positions; of grades also their probabilities."""
    rows, cols = [state.row_labels[k] for k in i], [state.col_labels[k] for k in j]
    prediction = fit.posterior.predict(rows, cols, level)
    names = ("mean", "sd", "low", "high", "new_low", "new_high")
    numbers = {name: getattr(prediction, name).ravel().tolist() for name in names}
    return to_records({"row": rows, "col": cols} | numbers | _grade(fit.posterior, rows, cols))


def _grade(posterior: Posterior, rows: list[Any], cols: list[Any]) -> Columns:
    """The most likely grade of entries and the probability of each grade, by name; nothing for other kinds of data."""
    if posterior.likelihood.kind != "grades":
        return {}
    names, data = [cell_text(grade) for grade in posterior.likelihood.names], posterior.observations
    p = posterior.answers.probabilities(posterior.belief, data.row_index(rows), data.col_index(cols))
    return {
        "most_likely": [names[k] for k in p.argmax(0)],
        "probabilities": [dict(zip(names, each, strict=True)) for each in p.T.tolist()],
    }


@router.get("/campaigns/{campaign}/map", response_model=schemas.MapResponse, responses=ACCEPTED)
async def heat_map(
    service: ServiceDep,
    here: CampaignDep,
    state: StateDep,
    what: Annotated[MapName, Query(description="What the cells show.")] = "mean",
    row: Position = 0,
    rows: Size = None,
    col: Position = 0,
    cols: Size = None,
    cells: Annotated[int, Query(ge=1, le=1000, description="At most so many cells a side.")] = 200,
    level: Level = 0.9,
    wait: Wait = 5.0,
    stale: Stale = False,
) -> dict[str, Any]:
    """A window of the matrix for a heat map: mean, sd, width of the interval, values, counts, pending entries.

    Where the window has more rows or columns than `cells`, each cell stands for several. `share` is the share of the
    entries that cells of a posterior were computed from: 1 for means, less for the spread of large windows.
    """
    of_model = what in ("mean", "sd", "width")
    fit = await service.fit(here, state, wait, stale) if of_model else None
    shape = state.shape if fit is None else fit.posterior.shape
    window = Window.select(shape, row, rows, col, cols, min(cells, service.limits.tile))

    def draw() -> BinnedMap:
        if fit is not None:
            return here.maps.posterior_map(fit.posterior, cast(PosteriorMap, what), window, level)
        pending = state.pending(here.campaign.now(state))
        return maps.state_map(state, cast(StateMap, what), window, pending)

    body = (await run_in_threadpool(draw)).to_dict()
    labels = {  # of the first row and column of each cell
        "row_labels": [state.row_labels[i] for i in body["row_starts"] if i < state.shape[0]],
        "col_labels": [state.col_labels[j] for j in body["col_starts"] if j < state.shape[1]],
    }
    return body | labels | {"fit": fit}


@router.get("/campaigns/{campaign}/answer", response_model=schemas.AnswerResponse, responses=ACCEPTED)
def answer(
    fit: FitDep,
    state: StateDep,
    goal: Annotated[
        str | None, Query(examples=["best per row"], description="The campaign's own if not given.")
    ] = None,
    level: Level = 0.9,
) -> dict[str, Any]:
    """What is best, in which order, or above what, and how sure that is."""
    wanted = views.choose_goal(goal, state.settings)
    return views.answer(fit.posterior, wanted, state.settings, level).to_dict() | {"fit": fit}


@router.get("/campaigns/{campaign}/report", response_class=Response, responses={**HTML_FILE, **ACCEPTED})
async def report(service: ServiceDep, here: CampaignDep, state: StateDep, wait: Wait = 5.0) -> Response:
    """The report of the campaign: one HTML page that needs no other file. A job's result has it as `page`."""

    def work(watch: Watch) -> dict[str, str]:
        from maxentry.plots.report import render_report

        if state.standing:
            here.fits.fit(state, watch)
        return {"page": render_report(here.campaign)}

    made = await service.finish("report", here, work, state.version, wait)
    headers = {"Content-Disposition": 'attachment; filename="report.html"'}
    return Response(made["page"], media_type="text/html", headers=headers)


@router.get("/campaigns/{campaign}/outlook", response_model=schemas.OutlookResponse, responses=ACCEPTED)
async def outlook(
    service: ServiceDep,
    here: CampaignDep,
    state: StateDep,
    n: HowMany = 8,
    wait: Wait = 5.0,
) -> Any:
    """The expected error now, once the pending entries are measured, and after the next n entries; and advice.

    It is how far the completed matrix is from what a measurement of each entry would show: a root mean square.
    """

    def work(watch: Watch) -> schemas.OutlookResponse:
        return schemas.OutlookResponse(**here.campaign.outlook(n, progress=watch).to_dict())  # type: ignore[arg-type]

    return await service.finish("outlook", here, work, (state.version, n), wait)


@router.get("/campaigns/{campaign}/reasons", response_model=schemas.PendingResponse)
def reasons(here: CampaignDep, state: StateDep) -> dict[str, Any]:
    """Why the pending entries are worth measuring, by the last fit at hand; of many only the first."""
    now = here.campaign.now(state)
    pending = state.pending_asks(now)
    asks, fit = pending[:MOST_REASONS], here.fits.latest(state)
    rows, cols = (np.array([getattr(ask, side) for ask in asks], dtype=np.int64) for side in ("row", "col"))
    why = find_reasons(state, None if fit is None else fit.posterior, rows, cols)
    lines = to_records(views.asks_in_full(asks, state, now))
    items = [
        {**line, **reason._asdict(), "i": ask.row, "j": ask.col}
        for line, reason, ask in zip(lines, why, asks, strict=True)
    ]
    return {"fit": fit, "total": len(pending), "items": items}


@router.get("/campaigns/{campaign}/next", response_model=schemas.NextResponse, responses=ACCEPTED)
async def upcoming(
    service: ServiceDep,
    here: CampaignDep,
    state: StateDep,
    n: HowMany = 8,
    plates: Annotated[Plates | None, Query(description="Whole rows or columns: n counts them.")] = None,
    wait: Wait = 5.0,
) -> Any:
    """The entries that `ask` would return now, why these, and what they would change. Asks for nothing."""

    def work(watch: Watch) -> schemas.NextResponse:
        return _preview(here, n, plates, watch)

    return await service.finish("next", here, work, (state.version, n, plates), wait)


def _preview(here: OpenCampaign, n: int, plates: Plates | None, watch: Watch) -> schemas.NextResponse:
    state = here.campaign.state
    given = {"plates": plates, "per_row": None, "per_col": None}
    now, limits = here.campaign.now(state), policy.resolve_limits(given, state.settings)
    batch = policy.next_batch(state, n, now, **limits, cache=here.campaign.cache, progress=watch)  # type: ignore[arg-type]
    fit = here.fits.current(state) if state.standing else None
    posterior = None if fit is None else fit.posterior
    rows, cols = batch.rows[:MOST_ENTRIES], batch.cols[:MOST_ENTRIES]
    why = find_reasons(state, posterior, rows[:MOST_REASONS], cols[:MOST_REASONS])
    why += find_reasons(state, None, rows[MOST_REASONS:], cols[MOST_REASONS:])
    columns = {name: getattr(batch, name)[:MOST_ENTRIES].tolist() for name in ("mean", "sd", "gain", "cost")}
    columns |= {"row": [state.row_labels[i] for i in rows], "col": [state.col_labels[j] for j in cols]}
    lines = to_records(columns | {"i": rows.tolist(), "j": cols.tolist()})
    outlook: dict[str, Any] | None = None
    prospect, stop = None, False
    if posterior is not None and policy.explain_design_phase(state, now) is None:
        ahead = compute_outlook(state, posterior, batch, now)
        outlook = ahead.to_dict()
        if state.settings.goal != "fill" and len(batch.rows):
            prospect = expect_goal(state, posterior, batch)
        stop = len(batch.rows) > 0 and not has_few(state) and can_stop(state.settings, ahead, prospect)
    return schemas.NextResponse(
        version=state.version,
        why=batch.why,
        total=len(batch.rows),
        entries=[
            schemas.NextEntry(**line, **reason._asdict()) for line, reason in zip(lines, why, strict=True)
        ],
        outlook=outlook,
        at_stake=None if prospect is None else prospect._asdict(),
        stop=stop,
    )


@router.get("/campaigns/{campaign}/curve", response_model=schemas.CurveResponse, responses=ACCEPTED)
async def curve(
    service: ServiceDep, here: CampaignDep, state: StateDep, wait: Wait = 5.0, stale: Stale = False
) -> Any:
    """The expected error as measurements came in; with `stale` only points at hand, else missing ones are computed."""
    known = await run_in_threadpool(_curve, here, state)
    if stale or not known.missing:
        return known

    def work(watch: Watch) -> schemas.CurveResponse:
        here.curve.complete(state, lambda: here.fits.fit(state, watch), progress=watch)
        return _curve(here, state)

    return await service.finish("curve", here, work, state.version, wait)


def _curve(here: OpenCampaign, state: State) -> schemas.CurveResponse:
    return schemas.CurveResponse(
        points=[schemas.ErrorPointResponse.model_validate(point) for point in here.curve.points(state)],
        missing=len(here.curve.missing(state)),
        target_sd=state.settings.target_sd,
    )
