"""The dashboard: its page, and what only it asks for: entries by position, why entries are next, the error curve."""

from __future__ import annotations

import gzip
import html
import json
import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
from fastapi import APIRouter, FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from maxentry.campaign import policy, views
from maxentry.campaign.outlook import compute_outlook as expected_outlook
from maxentry.campaign.policy import Plates
from maxentry.campaign.state import State
from maxentry.errors import ParameterError
from maxentry.progress import Watch
from maxentry.server import schemas
from maxentry.server.routes.dependencies import (
    ACCEPTED,
    CampaignDep,
    Level,
    ServiceDep,
    Stale,
    StateDep,
    Wait,
)
from maxentry.server.routes.posterior import describe_entry
from maxentry.server.schemas import to_records
from maxentry.server.security import parse_bearer
from maxentry.server.service import OpenCampaign
from maxentry.summary.reasons import reasons as find_reasons
from maxentry.transform import PERCENT, Kind

router = APIRouter(tags=["the dashboard"])
Position = Annotated[int, Query(ge=0, le=schemas.LARGEST, description="Counted from 0, as on maps.")]
MOST_REASONS = 200  # entries of one answer whose reasons are computed
MOST_ENTRIES = 10_000  # entries of one answer


@router.get("/access")
def access(request: Request) -> schemas.AccessResponse:
    """What the token of the request allows: reading, or writing too."""
    token = parse_bearer(request.headers.get("authorization"))
    return schemas.AccessResponse(may=request.app.state.options.tokens.access(token))


@router.get("/campaigns/{campaign}/cell", response_model=schemas.EntryResponse)
def cell(
    here: CampaignDep, state: StateDep, row: Position, col: Position, level: Level = 0.9
) -> dict[str, Any]:
    """One entry by position, with its history and its prediction by the last fit at hand. Never waits for a fit."""
    for name, at, size in (("row", row, state.shape[0]), ("column", col, state.shape[1])):
        if at >= size:
            raise ParameterError(f"expected a {name} from 0 to {size - 1}, got {at}.")
    return describe_entry(here, state, row, col, level)


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


@router.get("/campaigns/{campaign}/next", responses=ACCEPTED)
async def upcoming(
    service: ServiceDep,
    here: CampaignDep,
    state: StateDep,
    n: Annotated[int, Query(ge=1, le=100_000)] = 8,
    plates: Annotated[Plates | None, Query(description="Whole rows or columns: n counts them.")] = None,
    wait: Wait = 5.0,
) -> schemas.NextResponse:
    """The entries that `ask` would return now, why these, and what they would change. Asks for nothing."""

    def work(watch: Watch) -> schemas.NextResponse:
        return _preview(here, n, plates, watch)

    key = state.version, n, plates
    result: schemas.NextResponse = await service.finish("next", here, work, key, wait)
    return result


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
    if posterior is not None and policy.explain_design_phase(state, now) is None:
        outlook = expected_outlook(state, posterior, batch, now).to_dict()
    return schemas.NextResponse(
        version=state.version,
        why=batch.why,
        total=len(batch.rows),
        entries=[
            schemas.NextEntry(**line, **reason._asdict()) for line, reason in zip(lines, why, strict=True)
        ],
        outlook=outlook,
    )


@router.get("/campaigns/{campaign}/curve", responses=ACCEPTED)
async def curve(
    service: ServiceDep, here: CampaignDep, state: StateDep, wait: Wait = 5.0, stale: Stale = False
) -> schemas.CurveResponse:
    """The expected error as measurements came in; with `stale` only points at hand, else missing ones are computed."""
    known = await run_in_threadpool(_curve, here, state)
    if stale or not known.missing:
        return known

    def work(watch: Watch) -> schemas.CurveResponse:
        here.curve.complete(state, lambda: here.fits.fit(state, watch), progress=watch)
        return _curve(here, state)

    result: schemas.CurveResponse = await service.finish("curve", here, work, state.version, wait)
    return result


def _curve(here: OpenCampaign, state: State) -> schemas.CurveResponse:
    return schemas.CurveResponse(
        points=[schemas.ErrorPointResponse.model_validate(point) for point in here.curve.points(state)],
        missing=len(here.curve.missing(state)),
        target_sd=state.settings.target_sd,
    )


# The page and its files. They show nothing of any campaign, and need no token.

STATIC = Path(__file__).parents[1] / "static"
FOREVER = "public, max-age=31536000, immutable"
# The criteria in the words of the form for a new campaign, the default first.
CRITERIA = {
    "predictive_variance": "hardest to foresee (default)",
    "integrated_variance": "teaches most about the whole",
    "maxent": "the paper's",
    "maxent_nearest": "the paper's, with the nearest projections",
    "balanced": "every row and column alike",
    "uniform": "by lot",
}
# Style sheets for geographic maps that plotly.js puts into a page unless it finds an element of their name.
SHEETS = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')


def add_pages(app: FastAPI) -> None:
    """Serve the page at `/`, its files at `/static`, and plotly.js from the installed package."""
    words = [(name, f"{name.replace('_', ' ')}: {said}") for name, said in CRITERIA.items()]
    choices = {"acquisition": words, "transform": [(name, name) for name in (*get_args(Kind), PERCENT)]}
    plotly = _find_plotly()
    address = "" if plotly is None else f"/static/lib/plotly-{version('plotly')}.min.js"
    page = (STATIC / "index.html").read_text(encoding="utf-8").replace("{{plotly}}", address)
    page = page.replace("{{sheets}}", "" if plotly is None else _sheet_names(plotly))
    page = page.replace("{{choices}}", html.escape(json.dumps(choices)))

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return HTMLResponse(page)

    if plotly is not None:

        @app.get(address, include_in_schema=False)
        def library(request: Request) -> Response:
            headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
            if "gzip" not in request.headers.get("accept-encoding", ""):
                return FileResponse(plotly, media_type="text/javascript", headers=headers)
            headers["Content-Encoding"] = "gzip"
            return Response(_compress(plotly), media_type="text/javascript", headers=headers)

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _find_plotly() -> Path | None:
    """plotly.js in the installed package, which is found but not imported: that would take a second."""
    package = find_spec("plotly")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "package_data" / "plotly.min.js"
    return path if path.is_file() else None


@cache
def _sheet_names(path: Path) -> str:
    """Names of the style sheets that plotly.js is not to insert, since the security policy allows none."""
    return " ".join(sorted({name.decode() for name in SHEETS.findall(path.read_bytes())}))


@cache
def _compress(path: Path) -> bytes:
    """A third of its five megabytes."""
    return gzip.compress(path.read_bytes(), compresslevel=6)
