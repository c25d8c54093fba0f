"""Campaigns: list, create, look at, change."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic_core import to_json

from maxentry import tables
from maxentry.campaign import views
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.events import Corrected, Record, write
from maxentry.campaign.ledger.tables import Measurement
from maxentry.campaign.setting_values import look_at_features, read_labels
from maxentry.campaign.state import State, replay
from maxentry.campaign.views import Columns, Status
from maxentry.errors import DataError, MaxentryError, SizeError
from maxentry.features import Features
from maxentry.labels import Axis
from maxentry.server import requests, schemas
from maxentry.server.idempotency import Claim, EventSpan
from maxentry.server.requests import parse_label
from maxentry.server.routes.ask_tell import tell_columns
from maxentry.server.routes.dependencies import (
    CampaignDep,
    ClaimDep,
    PageDep,
    ServiceDep,
    StateDep,
    apply_change,
    state_after,
)
from maxentry.server.schemas import to_records
from maxentry.server.security import API
from maxentry.server.service import OpenCampaign, Service

router = APIRouter(tags=["campaigns"])
LAST_EVENT = 2**31 - 1  # that a database can be asked for
MOST_NAMES = 1_000  # of features in one answer
LARGEST_MATRIX = 4_000_000  # entries of a matrix in one answer
LARGEST_SHEET = 500_000  # cells of a workbook, which take a few seconds
FORMS = "`excel` is CSV with semicolons and decimal commas, `xlsx` an Excel workbook."
TableForm = Literal["csv", "excel", "xlsx"]
CsvForm = Annotated[TableForm, Query(description=FORMS)]
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FEATURES_BODY = {
    "requestBody": {
        "required": True,
        "content": {"text/csv": {"schema": {"type": "string"}, "example": "row,logp\nL1,1.2\nL2,0.4\n"}},
    }
}
TABLE_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A table.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            WORKBOOK: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.get("/campaigns", response_model=schemas.Page[schemas.CampaignSummary])
def list_campaigns(
    service: ServiceDep, page: PageDep, name: Annotated[str | None, Query()] = None
) -> dict[str, Any]:
    """The campaigns, in the order of their creation; with `name` only the one of exactly this name."""
    names = [known for known in service.storage.names() if name is None or known == name]
    here, following = page.cut(list(enumerate(names, start=1)), lambda line: line[0])
    opened = [service.open(known) for _, known in here]
    lines = [vars(one.campaign.status()) | {"id": one.id} for one in opened]
    return page.body(lines, len(names), following)


@router.post("/campaigns", status_code=201)
def create(
    service: ServiceDep, body: requests.CreateRequest, response: Response, claim: ClaimDep
) -> schemas.CreatedResponse:
    """Create a campaign; with `values` it begins with these measurements, or not at all."""
    settings = body.settings()
    values = None if body.values is None else tell_columns(body.values, settings.get("kind"))
    here, span = service.create(
        claim,
        body.name,
        _labels(body.rows),
        _labels(body.cols),
        who=body.who,
        seed=body.seed,
        values=values,
        exist_ok=body.exist_ok,
        **settings,
    )
    response.headers["Location"] = f"{API}/campaigns/{here.id}"
    found = status(here) if span is None else _past_status(here, span)
    sides = (
        (name, read_labels(_labels(given), name))
        for name, given in (("row", body.rows), ("column", body.cols))
    )
    notes = _notes(settings, *(Axis(name, len(labels), labels) for name, labels in sides))
    return schemas.CreatedResponse(**found.model_dump() | {"notes": found.notes + notes})


def _notes(given: Mapping[str, Any], *axes: Axis) -> list[str]:
    """What there is to say of features that were given. Nothing is refused: what was given is written already."""
    found: list[str] = []
    for axis in axes:
        if (features := given.get(f"{axis.name[:3]}_features")) is not None:
            with suppress(MaxentryError):
                found += Features.of(features, axis).notes
    return found


def _past_status(here: OpenCampaign, span: EventSpan) -> schemas.StatusResponse:
    """The status as it was after these events."""
    state = state_after(here, span.after)
    return schemas.StatusResponse(
        id=here.id, **vars(Status.from_state(state, max(span.at, state.changed_at)))
    )


@router.get("/campaigns/{campaign}")
def status(here: CampaignDep) -> schemas.StatusResponse:
    """The status of a campaign: counts, costs, times."""
    return schemas.StatusResponse(id=here.id, **vars(here.campaign.status()))


@router.get("/campaigns/{campaign}/settings")
def settings(state: StateDep) -> dict[str, Any]:
    """The settings as they are now; of mask and costs whether there are any, of features their names."""
    current = state.settings
    left_out = ("rows", "cols", "mask", "costs", "row_features", "col_features")
    return {name: value for name, value in vars(current).items() if name not in left_out} | {
        "shape": current.shape,
        "has_mask": current.mask is not None,
        "has_costs": current.costs.given,
        "row_features": None if current.row_features is None else current.row_features.names[:MOST_NAMES],
        "col_features": None if current.col_features is None else current.col_features.names[:MOST_NAMES],
    }


@router.patch("/campaigns/{campaign}/settings")
def change(
    service: ServiceDep, here: CampaignDep, body: requests.ChangeRequest, claim: ClaimDep
) -> schemas.ChangedResponse:
    """Change settings from now on; null takes one back."""
    given = body.settings()
    done = apply_change(service, here, claim, lambda campaign: campaign.set(who=body.who, **given))
    if not {"row_features", "col_features"} & given.keys():
        return schemas.ChangedResponse(version=done.version, notes=[])
    then = state_after(here, done.version)
    return schemas.ChangedResponse(version=done.version, notes=_notes(given, then.row_axis, then.col_axis))


@router.post("/campaigns/{campaign}/features/{side}", openapi_extra=FEATURES_BODY)
async def set_features(
    request: Request,
    service: ServiceDep,
    here: CampaignDep,
    side: Literal["rows", "cols"],
    claim: ClaimDep,
    categories: Annotated[list[str], Query(description="Columns whose words are categories.")] = [],  # noqa: B006
    who: Annotated[requests.Person, Query()] = None,
) -> schemas.FeaturesResponse:
    """Set what is known of rows or columns, from a table with their labels first: CSV in any dialect, or Excel."""
    content = await request.body()
    return await run_in_threadpool(
        _set_features, service, here, claim, side, content, categories, who or requests.ANONYMOUS
    )


def _set_features(
    service: Service,
    here: OpenCampaign,
    claim: Claim | None,
    side: Literal["rows", "cols"],
    content: bytes,
    categories: list[str],
    who: str,
) -> schemas.FeaturesResponse:
    table = tables.read(io.BytesIO(content), source="the file")
    mine = [name for name in categories if name in table.names]
    found: list[Features] = []

    def read(state: State) -> Features:
        found.append(Features.of(table, state.row_axis if side == "rows" else state.col_axis, mine))
        return found[-1]

    def change(campaign: Campaign) -> None:
        campaign.set(who=who, **{f"{side[:3]}_features": read(campaign.state).table})

    done = apply_change(service, here, claim, change)
    features = found[-1] if found else read(state_after(here, done.version))  # it was done before
    names = list(features.table.names[:MOST_NAMES])
    return schemas.FeaturesResponse(version=done.version, features=names, notes=list(features.notes))


@router.get("/campaigns/{campaign}/labels")
def labels(state: StateDep) -> schemas.LabelsResponse:
    """The labels of rows and columns."""
    return schemas.LabelsResponse(rows=list(state.row_labels), cols=list(state.col_labels))  # type: ignore[arg-type]


@router.post("/campaigns/{campaign}/rows")
def add_rows(
    service: ServiceDep, here: CampaignDep, body: requests.AddLabelsRequest, claim: ClaimDep
) -> schemas.ChangedResponse:
    """Add rows after the existing ones."""
    return _add(service, here, body, claim, "row")


def _add(
    service: Service, here: OpenCampaign, body: requests.AddLabelsRequest, claim: Claim | None, side: str
) -> schemas.ChangedResponse:
    labels = _labels(body.labels)

    def add(campaign: Campaign) -> None:
        m1, m2 = campaign.settings.shape
        more_rows, more_cols = (len(labels), 0) if side == "row" else (0, len(labels))
        service.check_size(m1 + more_rows, m2 + more_cols)
        change = campaign.add_rows if side == "row" else campaign.add_cols
        change(labels, cost=body.cost, features=body.features, who=body.who)

    done, notes = apply_change(service, here, claim, add), []
    if body.features is None and state_after(here, done.version).settings.features_of(side) is None:
        return schemas.ChangedResponse(version=done.version, notes=[])
    with suppress(MaxentryError):  # the rows are there already
        known = state_after(here, done.version - 1).settings.features_of(side)  # as it was before
        notes = look_at_features(body.features, labels, side, known)[1]
    return schemas.ChangedResponse(version=done.version, notes=notes)


@router.post("/campaigns/{campaign}/cols")
def add_cols(
    service: ServiceDep, here: CampaignDep, body: requests.AddLabelsRequest, claim: ClaimDep
) -> schemas.ChangedResponse:
    """Add columns after the existing ones."""
    return _add(service, here, body, claim, "column")


@router.post("/campaigns/{campaign}/rows/remove")
def remove_rows(
    service: ServiceDep, here: CampaignDep, body: requests.RemoveLabelsRequest, claim: ClaimDep
) -> schemas.RemovedResponse:
    """Remove rows: their values are struck out, and what was pending of them is withdrawn."""
    labels = _labels(body.labels)
    return _remove(service, here, claim, lambda campaign: campaign.remove_rows(labels, who=body.who))


@router.post("/campaigns/{campaign}/cols/remove")
def remove_cols(
    service: ServiceDep, here: CampaignDep, body: requests.RemoveLabelsRequest, claim: ClaimDep
) -> schemas.RemovedResponse:
    """Remove columns: their values are struck out, and what was pending of them is withdrawn."""
    labels = _labels(body.labels)
    return _remove(service, here, claim, lambda campaign: campaign.remove_cols(labels, who=body.who))


def _remove(
    service: Service, here: OpenCampaign, claim: Claim | None, remove: Callable[[Campaign], int]
) -> schemas.RemovedResponse:
    struck: list[int] = []
    version = apply_change(service, here, claim, lambda campaign: struck.append(remove(campaign))).version
    if not struck:  # it was done before: count what its event struck out
        before, after = (len(replay(here.campaign.records(0, n)).standing) for n in (version - 1, version))
        struck.append(before - after)
    return schemas.RemovedResponse(version=version, struck=struck[0])


@router.post("/campaigns/{campaign}/rows/rename")
def rename_rows(
    service: ServiceDep, here: CampaignDep, body: requests.RenameLabelsRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Give rows other labels; all that is known of them stays."""
    names = _names(body)
    return apply_change(service, here, claim, lambda campaign: campaign.rename_rows(names, who=body.who))


@router.post("/campaigns/{campaign}/cols/rename")
def rename_cols(
    service: ServiceDep, here: CampaignDep, body: requests.RenameLabelsRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Give columns other labels; all that is known of them stays."""
    names = _names(body)
    return apply_change(service, here, claim, lambda campaign: campaign.rename_cols(names, who=body.who))


def _names(body: requests.RenameLabelsRequest) -> dict[Any, Any]:
    labels, names = _labels(body.labels), _labels(body.names)
    if len(labels) != len(names):
        raise DataError(f"expected as many names as labels ({len(labels)}), got {len(names)}.")
    if len(set(labels)) < len(labels):
        raise DataError("expected labels to rename, each once, got one of them twice.")
    return dict(zip(labels, names, strict=True))


@router.post("/campaigns/{campaign}/rename")
def rename(
    service: ServiceDep, here: CampaignDep, body: requests.RenameRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Give a campaign another name; its id stays."""
    return apply_change(service, here, claim, lambda campaign: campaign.rename(body.name, who=body.who))


@router.delete("/campaigns/{campaign}")
def delete(
    service: ServiceDep,
    here: CampaignDep,
    name: Annotated[str, Query(max_length=200, description="The campaign's name, to confirm.")],
) -> schemas.DeletedResponse:
    """Delete a campaign with its whole history, for good."""
    return schemas.DeletedResponse(events=service.delete(here, name))


@router.get("/campaigns/{campaign}/history", response_model=schemas.Page[schemas.HistoryLine])
def history(here: CampaignDep, state: StateDep, page: PageDep) -> dict[str, Any]:
    """What happened, one line an event."""
    records, following = _records(here, page)
    shown = len(records)
    if any(isinstance(record.event, Corrected) for record in records):
        records = here.campaign.records(0, records[-1].number)
    return page.body(to_records(views.history(records, state))[-shown:], state.version, following)


@router.get("/campaigns/{campaign}/events", response_model=schemas.EventPage)
def events(here: CampaignDep, state: StateDep, page: PageDep) -> dict[str, Any]:
    """Events as they are stored, for a replay elsewhere; `now` is the time by the storage's clock."""
    records, following = _records(here, page)
    lines = [
        {"number": number, "at": at, "who": who, "kind": event.kind, "payload": json.loads(write(event))}
        for number, at, who, event, _ in records
    ]
    return page.body(lines, state.version, following) | {"now": here.campaign.now(state)}


@router.get("/campaigns/{campaign}/asked", response_model=schemas.Page[schemas.AskedEntry])
def asked(
    here: CampaignDep,
    state: StateDep,
    page: PageDep,
    status: Annotated[
        Literal["pending", "told", "failed", "withdrawn", "expired"] | None, Query(description="Only these.")
    ] = None,
) -> dict[str, Any]:
    """The entries that were asked for, and their status."""
    now = here.campaign.now(state)
    chosen = [ask for ask in state.asked.values() if status is None or ask.status_at(now) == status]
    asks, following = page.cut(chosen, lambda ask: ask.id)
    return page.body(to_records(views.asks_in_full(asks, state, now)), len(chosen), following)


@router.get("/campaigns/{campaign}/measurements", response_model=schemas.Page[schemas.MeasurementLine])
def measurements(
    state: StateDep,
    page: PageDep,
    everything: Annotated[bool, Query(description="Those struck out, too (null).")] = False,
) -> dict[str, Any]:
    """The measurements, in the order in which they were told."""
    chosen = state.measurements if everything else state.standing
    lines, following = page.cut(chosen, lambda m: m.number)
    return page.body(_measurement_records(lines, state), len(chosen), following)


@router.get(
    "/campaigns/{campaign}/export",
    response_class=Response,
    responses={
        200: {
            "description": "A table (long), or a matrix (wide), as CSV, JSON or Excel.",
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                WORKBOOK: {"schema": {"type": "string", "format": "binary"}},
                "application/json": {"schema": {"type": "object"}},
            },
        }
    },
)
def export(
    state: StateDep,
    wide: Annotated[
        bool, Query(description="One line for each row of the matrix; repeated numbers as their mean.")
    ] = False,
    everything: Annotated[bool, Query(description="Those struck out, too (long).")] = False,
    form: Annotated[Literal["csv", "json", "excel", "xlsx"], Query(description=FORMS)] = "csv",
) -> Response:
    """All measurements in one piece."""
    if wide and state.shape[0] * state.shape[1] > LARGEST_MATRIX:
        raise SizeError(
            f"expected a matrix of at most {LARGEST_MATRIX} entries; ask for the long form instead."
        )
    if form != "json":
        columns = views.wide(state, "columns") if wide else views.measurements(state, everything)
        return table_file("measurements", columns, form)
    if wide:
        body = labels(state).model_dump() | {"values": views.wide_matrix(state).tolist()}
    else:
        chosen = state.measurements if everything else state.standing
        lines = _measurement_records(chosen, state)
        body = {"lines": [schemas.MeasurementLine(**line) for line in lines]}
    return Response(to_json(body, inf_nan_mode="null"), media_type="application/json")


def _measurement_records(lines: Sequence[Measurement], state: State) -> list[dict[str, Any]]:
    columns = views.measurement_columns(lines, state) | {"text": views.text_column(lines, state)}
    return to_records(columns)


@router.get("/campaigns/{campaign}/plate", response_class=Response, responses=TABLE_FILE)
def plate(here: CampaignDep, state: StateDep, form: CsvForm = "csv") -> Response:
    """All pending entries as a file to fill in, which `tell/csv` takes; with the wells of those on a plate."""
    columns = views.asks(state.pending_asks(here.campaign.now(state)), state)
    columns["well"] = views.find_wells(columns["id"], state, here.campaign.records)
    names = (
        ("id", "well", "row", "col", "mean", "sd")
        if any(columns["well"])
        else ("id", "row", "col", "mean", "sd")
    )
    chosen = {name: columns[name] for name in names}
    return table_file("plate", chosen | {"value": [None] * len(chosen["id"])}, form)


def table_file(
    name: str, columns: Columns, form: TableForm = "csv", bold: frozenset[tuple[int, int]] = frozenset()
) -> Response:
    """Columns as a file: times as in JSON, numbers as Python writes them, nothing for a missing value.

    bold: cells (line, column) that stand out in a workbook.
    """

    def text(x: Any) -> Any:
        if isinstance(x, int | float) and form != "csv":
            return x  # a number of the sheet, or one with a decimal comma
        return "" if x is None or x != x else x.isoformat() if hasattr(x, "isoformat") else str(x)

    if form == "xlsx" and (n := sum(map(len, columns.values()))) > LARGEST_SHEET:
        raise SizeError(f"expected at most {LARGEST_SHEET} cells for Excel, got {n}. Ask for CSV: form=csv.")
    stream = io.BytesIO()
    table = tables.Table.from_columns({key: [text(x) for x in column] for key, column in columns.items()})
    tables.write(replace(table, bold=bold), stream, tables.Format(form))
    ending, kind = ("xlsx", WORKBOOK) if form == "xlsx" else ("csv", "text/csv")
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return Response(stream.getvalue(), media_type=kind, headers=headers)


def _records(here: OpenCampaign, page: PageDep) -> tuple[Sequence[Record], int | None]:
    """The events on a page; one more is read, which tells whether there is another page."""
    after = min(page.after, LAST_EVENT)
    records = here.campaign.records(after, page.limit + 1)
    return page.cut(records, lambda record: record.number)


def _labels(given: int | list[Any]) -> Any:
    return given if isinstance(given, int) else [parse_label(x) for x in given]
