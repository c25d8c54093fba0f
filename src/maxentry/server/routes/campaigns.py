"""Campaigns: list, begin, look at, change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from maxentry.campaign.events import Record
from maxentry.errors import DataError, SizeError
from maxentry.server import answers, views
from maxentry.server.answers import described
from maxentry.server.lab import ANONYMOUS
from maxentry.server.paging import Page
from maxentry.server.plain import Json, label_of, to_csv
from maxentry.server.requests import AddLabels, Change, Create
from maxentry.server.requests import Line as RequestLine
from maxentry.server.routes.common import Here, LabHere, PageWanted, paged, written

router = APIRouter(tags=["campaigns"])
LAST_EVENT = 2**31 - 1  # that a database can be asked for
LARGEST_MATRIX = 4_000_000  # entries of a matrix in one answer


@router.get("/campaigns", responses=described(200, answers.Campaigns))
def list_campaigns(
    request: Request, lab: LabHere, page: PageWanted, name: Annotated[str | None, Query()] = None
) -> Response:
    """The campaigns, in the order in which they began; with `name` only the one of exactly this name."""
    names = [known for known in lab.names() if name is None or known == name]
    here, following = page.of(list(enumerate(names, start=1)), lambda line: line[0])
    return paged(request, [views.in_short(lab.opened(known)) for _, known in here], len(names), following)


@router.post("/campaigns", status_code=201, responses=described(201, answers.StatusAnswer))
def create(lab: LabHere, body: Create) -> Response:
    """Begin a campaign; with `values` it begins with what is known already, or not at all."""
    given = _settings(body.given())
    values = None if body.values is None else told(body.values)
    opened = lab.create(
        body.name,
        _labels(body.rows),
        _labels(body.cols),
        body.who,
        seed=body.seed,
        values=values,
        exist_ok=body.exist_ok,
        **given,
    )
    return Json(views.status(opened), 201, {"Location": f"/api/v1/campaigns/{opened.id}"})


@router.get("/campaigns/{campaign}", responses=described(200, answers.StatusAnswer))
def status(here: Here) -> Response:
    """Where a campaign stands: counts, sums, times."""
    return Json(views.status(here))


@router.get(
    "/campaigns/{campaign}/settings", responses={200: {"description": "The settings as they are now."}}
)
def settings(here: Here) -> Response:
    """The settings as they are now; of mask and costs only whether there are any."""
    return Json(views.settings(here.campaign.state))


@router.patch("/campaigns/{campaign}/settings", responses=described(200, answers.Written))
def change(here: Here, body: Change) -> Response:
    """Change settings from here on; null takes one back."""
    here.campaign.set(who=body.who or ANONYMOUS, **_settings(body.given()))
    return written(here)


@router.get("/campaigns/{campaign}/labels", responses=described(200, answers.Axes))
def labels(here: Here) -> Response:
    """The labels of rows and columns."""
    return Json(views.axes(here.campaign.state))


@router.post("/campaigns/{campaign}/rows", responses=described(200, answers.Written))
def add_rows(lab: LabHere, here: Here, body: AddLabels) -> Response:
    """Add rows after those there are."""
    _check_growth(lab, here, len(body.labels), 0)
    here.campaign.add_rows(_labels(body.labels), cost=body.cost, who=body.who or ANONYMOUS)
    return written(here)


@router.post("/campaigns/{campaign}/cols", responses=described(200, answers.Written))
def add_cols(lab: LabHere, here: Here, body: AddLabels) -> Response:
    """Add columns after those there are."""
    _check_growth(lab, here, 0, len(body.labels))
    here.campaign.add_cols(_labels(body.labels), cost=body.cost, who=body.who or ANONYMOUS)
    return written(here)


@router.get("/campaigns/{campaign}/history", responses=described(200, answers.History))
def history(request: Request, here: Here, page: PageWanted) -> Response:
    """What happened, one line an event."""
    total = here.campaign.state.version
    found, following = _records(here, page)
    return paged(request, views.history(found), total, following)


@router.get("/campaigns/{campaign}/events", responses=described(200, answers.Events))
def events(request: Request, here: Here, page: PageWanted) -> Response:
    """Events as they are kept, to be added up elsewhere; `now` is the time by the clock of the storage."""
    state = here.campaign.state
    found, following = _records(here, page)
    now = here.campaign._now(state).isoformat()
    return paged(request, views.raw_events(found), state.version, following, now=now)


@router.get("/campaigns/{campaign}/asked", responses=described(200, answers.Asked))
def asked(
    request: Request,
    here: Here,
    page: PageWanted,
    status: Annotated[
        Literal["pending", "told", "failed", "withdrawn", "expired"] | None, Query(description="Only these.")
    ] = None,
) -> Response:
    """What was asked for, and what became of it."""
    state = here.campaign.state
    now = here.campaign._now(state)
    chosen = [a for a in state.asked.values() if status is None or a.status_at(now) == status]
    found, following = page.of(chosen, lambda a: a.id)
    return paged(request, views.asked(found, state, now), len(chosen), following)


@router.get("/campaigns/{campaign}/measurements", responses=described(200, answers.Measurements))
def measurements(
    request: Request,
    here: Here,
    page: PageWanted,
    everything: Annotated[bool, Query(description="Those struck out, too (null).")] = False,
) -> Response:
    """What was told, in the order of telling."""
    state = here.campaign.state
    told = state.measurements if everything else state.standing
    found, following = page.of(told, lambda m: m.number)
    return paged(request, views.measured(found, state), len(told), following)


@router.get(
    "/campaigns/{campaign}/export",
    response_class=Response,
    responses={
        200: {
            "description": "A table (long), or a matrix (wide), as CSV or JSON.",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/json": {"schema": {"type": "object"}},
            },
        }
    },
)
def export(
    here: Here,
    wide: Annotated[
        bool, Query(description="One line a row of the matrix, replicates as their mean.")
    ] = False,
    everything: Annotated[bool, Query(description="Those struck out, too (long).")] = False,
    form: Annotated[Literal["csv", "json"], Query()] = "csv",
) -> Response:
    """All that was told, in one piece."""
    state = here.campaign.state
    if wide and state.shape[0] * state.shape[1] > LARGEST_MATRIX:
        raise SizeError(
            f"expected a matrix of at most {LARGEST_MATRIX} entries; ask for the long form instead."
        )
    if form == "json":
        told = state.measurements if everything else state.standing
        return Json(views.matrix(state) if wide else {"lines": views.measured(told, state)})
    found: dict[str, Any] = here.campaign.export(wide=wide, everything=everything, frame="columns")
    attached = {"Content-Disposition": 'attachment; filename="measurements.csv"'}
    return Response(to_csv(found), media_type="text/csv", headers=attached)


def _records(here: Here, page: Page) -> tuple[Sequence[Record], int | None]:
    """The events on a page; one more is read, which tells whether there is another page."""
    after = min(page.after, LAST_EVENT)
    found = here.campaign._storage.events(here.campaign._key, after, page.limit + 1)
    return page.of(found, lambda r: r.number)


def told(given: list[RequestLine]) -> dict[str, list[Any]]:
    """Lines of a request as the columns that a campaign is told."""
    columns: dict[str, list[Any]] = {
        "id": [line.id for line in given],
        "row": [label_of(line.row) for line in given],
        "col": [label_of(line.col) for line in given],
        "value": [line.value for line in given],
        "reason": [line.reason for line in given],
        "failed": [line.failed for line in given],
    }
    return columns


def _labels(given: int | list[Any]) -> Any:
    return given if isinstance(given, int) else [label_of(x) for x in given]


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings as a campaign takes them."""
    found = dict(given)
    if found.get("range") is not None:
        low, high = found["range"]
        found["range"] = (float("-inf") if low is None else low, float("inf") if high is None else high)
    if "mask" in found and found["mask"] is not None:
        import numpy as np

        if len({len(line) for line in found["mask"]}) > 1:
            raise DataError("expected a mask with rows of one length, but they differ.")
        found["mask"] = np.array(found["mask"], dtype=bool)
    return found


def _check_growth(lab: LabHere, here: Here, rows: int, cols: int) -> None:
    m1, m2 = here.campaign.state.shape
    if (m1 + rows) * (m2 + cols) > lab.limits.entries:
        raise SizeError(f"expected a matrix of at most {lab.limits.entries} entries on this server.")
