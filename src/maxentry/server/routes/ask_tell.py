"""The lab loop: ask, tell, fail, withdraw, correct."""

from __future__ import annotations

import io
import math
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from maxentry import frames, tables
from maxentry.campaign import views
from maxentry.campaign.events import Failed, Told
from maxentry.campaign.lines import Line, find_unused, known_of, name_roles, read_lines
from maxentry.campaign.tell import Receipt, note_lines
from maxentry.cells import Statement, flag_text
from maxentry.errors import DataError
from maxentry.progress import Watch
from maxentry.server import idempotency, requests, schemas
from maxentry.server.idempotency import Claim, EventSpan, Repeated
from maxentry.server.problems import HttpProblem
from maxentry.server.requests import parse_label
from maxentry.server.routes.dependencies import (
    ACCEPTED,
    CampaignDep,
    ClaimDep,
    IdempotencyKey,
    ServiceDep,
    Wait,
    apply_change,
    state_after,
)
from maxentry.server.schemas import to_records
from maxentry.server.service import OpenCampaign, Service

router = APIRouter(tags=["the lab loop"])
CSV_BODY = {
    "requestBody": {
        "required": True,
        "content": {"text/csv": {"schema": {"type": "string"}, "example": "id,value\n1,0.83\n2,failed\n"}},
    }
}


@router.post("/campaigns/{campaign}/ask", status_code=201, responses=ACCEPTED)
async def ask(
    service: ServiceDep,
    here: CampaignDep,
    body: requests.AskRequest,
    key: IdempotencyKey = None,
    wait: Wait = 5.0,
) -> schemas.BatchResponse:
    """Choose the next entries to measure; they are pending from then on, and not asked for again.

    Choosing may need a fit. If that takes longer than `wait`, the response is 202 with a job, whose result has the ids.
    Repeat the request with the same Idempotency-Key to get the entries.
    """
    limits: dict[str, Any] = {"plates": body.plates, "per_row": body.per_row, "per_col": body.per_col}
    if body.row is not None or body.about != "row":
        limits |= {"row": parse_label(body.row), "about": body.about}
    claim = Claim.from_request(key, ["ask", body.n, limits])

    def work(watch: Watch) -> dict[str, list[int]]:
        before, campaign = here.campaign.state, idempotency.with_claim(here.campaign, claim)
        try:
            batch = campaign.ask(body.n, **limits, who=body.who, progress=watch, frame="columns")  # type: ignore[arg-type]
            return {"ids": list(batch["id"])}
        except Repeated as repeated:
            return {"ids": _ids(here, repeated.span)}
        finally:
            here.fits.remember(before)

    span = await run_in_threadpool(idempotency.find, service.storage, here.campaign.key, claim)
    if span is not None:
        return await run_in_threadpool(_batch, here, _ids(here, span))
    result = await service.finish("ask", here, work, claim, wait)
    return await run_in_threadpool(_batch, here, result["ids"])


def _ids(here: OpenCampaign, span: EventSpan) -> list[int]:
    """The ids that were asked for in these events."""
    asked = here.campaign.state.asked
    places = asked.since(span.before + 1)
    return [int(k) + 1 for k in places[asked.column("event")[places] <= span.after]]


def _batch(here: OpenCampaign, ids: list[int]) -> schemas.BatchResponse:
    state = here.campaign.state
    lines = to_records(views.asks([state.asked[id] for id in ids], state))
    entries = [schemas.BatchEntry(**line) for line in lines]
    return schemas.BatchResponse(campaign=here.campaign.name, entries=entries)


@router.get("/campaigns/{campaign}/batch")
def batch(
    here: CampaignDep, ids: Annotated[list[int], Query(alias="id", min_length=1, max_length=1000)]
) -> schemas.BatchResponse:
    """Entries that were asked for, by id, as `ask` returns them."""
    known = here.campaign.state.asked
    if unknown := [id for id in ids if id not in known]:
        detail = f"expected ids from 1 to {len(known)}, got {unknown[0]}."
        raise HttpProblem("no-id", detail, error="DataError")
    return _batch(here, ids)


@router.post("/campaigns/{campaign}/tell")
def tell(
    service: ServiceDep, here: CampaignDep, body: requests.TellRequest, key: IdempotencyKey = None
) -> schemas.ReceiptResponse:
    """Tell values. All lines are recorded or none; a line that is known already changes nothing."""
    return _tell(
        service, here, tell_columns(body.lines, here.campaign.settings.kind), body.again, body.who, key
    )


@router.post("/campaigns/{campaign}/tell/csv", openapi_extra=CSV_BODY)
async def tell_csv(
    request: Request,
    service: ServiceDep,
    here: CampaignDep,
    key: IdempotencyKey = None,
    again: Annotated[bool, Query()] = False,
    who: Annotated[requests.Person, Query()] = None,
) -> schemas.FileReceiptResponse:
    """Tell a plate: CSV in any common dialect, or Excel, with the columns id (or row and col) and value."""
    return await run_in_threadpool(_tell_file, service, here, await request.body(), again, who, key)


def _tell_file(
    service: Service, here: OpenCampaign, content: bytes, again: bool, who: str | None, key: str | None
) -> schemas.FileReceiptResponse:
    state = here.campaign.state
    read = tables.read(io.BytesIO(content), most=tables.MOST_CELLS)
    table = name_roles(read, known_of(state))
    receipt = _tell(service, here, table, again, who, key)
    told = receipt.model_dump() | {"notes": [*table.notes, *receipt.notes]}
    unused = find_unused(table, words=state.settings.words)
    return schemas.FileReceiptResponse(**told, unused=unused, encoding=table.encoding)


def tell_columns(lines: list[requests.TellLine], kind: Any) -> dict[str, list[Any]]:
    """The lines of a request as the columns that `Campaign.tell` takes, for a campaign of this kind of data."""
    if kind != "yes/no" and any(line.trials is not None for line in lines):
        raise DataError(frames.COUNTED)
    optional = ("low", "high", "se", "successes", "trials")  # without one they are no columns: none is unused
    names = ("id", "row", "col", "reason", "failed", *optional)
    columns = {name: [getattr(line, name) for line in lines] for name in names}
    columns |= {side: [parse_label(x) for x in columns[side]] for side in ("row", "col")}
    columns |= {"value": [value_text(line.value) for line in lines]}
    return {
        name: column
        for name, column in columns.items()
        if name not in optional or any(x is not None for x in column)
    }


def value_text(value: Any) -> Any:
    """Return a limit or a range of a request, and true or false, as a cell holds them; anything else as it is."""
    value = flag_text(value)
    if not isinstance(value, dict):
        return value
    given = {name: float(x) for name, x in value.items() if x is not None}
    if set(given) not in ({"below"}, {"above"}, {"low"}, {"high"}, {"low", "high"}):
        got = ", ".join(given) or "none of them"
        raise DataError(f"expected below, or above, or low and high, for the limits of a value, got {got}.")
    low, high = (
        given.get("low", given.get("above", -math.inf)),
        given.get("high", given.get("below", math.inf)),
    )
    return str(Statement(low, high))


def _tell(
    service: Service, here: OpenCampaign, table: Any, again: bool, who: str | None, key: str | None
) -> schemas.ReceiptResponse:
    state = here.campaign.state
    lines = read_lines(table, words=state.settings.words, known=known_of(state))
    content = [line.content for line in lines]
    claim = Claim.from_request(key, ["tell", content, again])
    span = idempotency.find(service.storage, here.campaign.key, claim)
    try:
        if span is not None:
            raise Repeated(span)
        receipt = idempotency.with_claim(here.campaign, claim).tell_lines(
            lines, again, who or requests.ANONYMOUS
        )
        state = here.campaign.state
    except Repeated as repeated:
        receipt, state = _past_receipt(here, lines, repeated.span), state_after(here, repeated.span.after)
    return schemas.ReceiptResponse(**receipt._asdict(), notes=note_lines(state, lines))


def _past_receipt(here: OpenCampaign, lines: list[Line], span: EventSpan) -> Receipt:
    """The receipt of a request that was done before, from its events and from its lines without a value."""
    records = here.campaign.records(span.before)
    events = [record.event for record in records if record.number <= span.after]
    told = sum(len(event.ids) for event in events if isinstance(event, Told))
    failed = sum(len(event.ids) for event in events if isinstance(event, Failed))
    awaited = sum(line.value is None and not line.failed for line in lines)
    return Receipt(told, failed, sum(line.n for line in lines) - told - failed - awaited, awaited)


@router.post("/campaigns/{campaign}/fail")
def fail(
    service: ServiceDep, here: CampaignDep, body: requests.FailRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Say that measuring was tried and gave no value."""
    given = body.model_dump()
    return apply_change(service, here, claim, lambda campaign: campaign.fail(**given))


@router.post("/campaigns/{campaign}/withdraw")
def withdraw(
    service: ServiceDep, here: CampaignDep, body: requests.WithdrawRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Say that entries will not be measured; they may be asked for again."""
    given = body.model_dump()
    return apply_change(service, here, claim, lambda campaign: campaign.withdraw(**given))


@router.post("/campaigns/{campaign}/correct")
def correct(
    service: ServiceDep, here: CampaignDep, body: requests.CorrectRequest, claim: ClaimDep
) -> schemas.VersionResponse:
    """Correct a value; null strikes it out."""
    which = body.model_dump() | {"row": parse_label(body.row), "col": parse_label(body.col)}
    which["value"] = value_text(body.value)
    return apply_change(service, here, claim, lambda campaign: campaign.correct(**which))
