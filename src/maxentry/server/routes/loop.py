"""The lab loop: ask, tell, fail, withdraw, correct."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from maxentry.campaign.tell import Receipt
from maxentry.campaign.tell import lines as lines_of
from maxentry.server import answers, claims, views
from maxentry.server.answers import ACCEPTED, described
from maxentry.server.claims import Claim, Done, Repeated
from maxentry.server.lab import ANONYMOUS, Opened, ids_of
from maxentry.server.plain import Json, label_of
from maxentry.server.problems import Problem
from maxentry.server.requests import Ask, Correct, Fail, Tell, Withdraw
from maxentry.server.routes.campaigns import told
from maxentry.server.routes.common import Here, IdempotencyKey, LabHere, Wait, accepted, over, written
from maxentry.tables import decode

router = APIRouter(tags=["the lab loop"])
CSV_BODY = {
    "requestBody": {
        "required": True,
        "content": {"text/csv": {"schema": {"type": "string"}, "example": "id,value\n1,0.83\n2,failed\n"}},
    }
}


@router.post(
    "/campaigns/{campaign}/ask", status_code=201, responses={**described(201, answers.Batch), **ACCEPTED}
)
async def ask(lab: LabHere, here: Here, body: Ask, key: IdempotencyKey = None, wait: Wait = 5.0) -> Response:
    """Choose the next entries to measure; they are pending from then on, and nobody else is asked for them.

    Choosing may need a fit. If that takes longer than `wait`, the answer is 202 and a job, whose result has the ids;
    the same request with the same Idempotency-Key, later, has the entries.
    """
    given = {"plates": body.plates, "per_row": body.per_row, "per_col": body.per_col}
    claim = Claim.of(key, ["ask", body.n, given])
    before = await run_in_threadpool(claims.done, lab.storage, here.campaign._key, claim)
    if before is not None:
        return await run_in_threadpool(_handed, here, ids_of(here, before))
    job = await run_in_threadpool(lab.ask, here, body.n, given, body.who, claim)
    if not await over(job, wait):
        return accepted(job)
    return await run_in_threadpool(_handed, here, job.result["ids"])


def _handed(here: Opened, ids: list[int]) -> Response:
    return Json({"campaign": here.campaign.name, "entries": views.batch(ids, here.campaign.state)}, 201)


@router.get("/campaigns/{campaign}/batch", responses=described(200, answers.Batch))
def batch(
    here: Here, ids: Annotated[list[int], Query(alias="id", min_length=1, max_length=1000)]
) -> Response:
    """Entries that were handed out, by id, as `ask` answers them."""
    state = here.campaign.state
    unknown = [id for id in ids if id not in state.asked]
    if unknown:
        detail = f"expected ids from 1 to {len(state.asked)}, but {unknown[0]} came."
        raise Problem(404, "no-id", "No such id", detail, error="DataError")
    return Json({"campaign": here.campaign.name, "entries": views.batch(ids, state)})


@router.post("/campaigns/{campaign}/tell", responses=described(200, answers.ReceiptAnswer))
def tell(here: Here, body: Tell, key: IdempotencyKey = None) -> Response:
    """Tell values. All lines are taken or none; what is known already changes nothing."""
    return _told(here, told(body.lines), body.again, body.who, key)


@router.post(
    "/campaigns/{campaign}/tell/csv", responses=described(200, answers.ReceiptAnswer), openapi_extra=CSV_BODY
)
async def tell_csv(
    request: Request,
    here: Here,
    key: IdempotencyKey = None,
    again: Annotated[bool, Query()] = False,
    who: Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")] = None,
) -> Response:
    """Tell a plate: CSV with the columns id (or row and col) and value, as spreadsheets of any country write it."""
    import io

    text = decode(await request.body(), "the body")
    return await run_in_threadpool(_told, here, io.StringIO(text), again, who, key)


def _told(here: Opened, table: Any, again: bool, who: str | None, key: str | None) -> Response:
    lines = lines_of(table)
    said = [line._replace(where="")._asdict() for line in lines]
    claim = Claim.of(key, ["tell", said, again])
    try:
        receipt = claims.under(here.campaign, claim)._tell(lines, again, who or ANONYMOUS)
    except Repeated as repeated:
        receipt = _receipt(here, lines, repeated.done)
    return Json(receipt._asdict())


def _receipt(here: Opened, lines: list[Any], done: Done) -> Receipt:
    """The receipt as it was: of what these events took, and of the lines that say nothing."""
    from maxentry.campaign.events import Failed, Told

    records = here.campaign._storage.events(here.campaign._key, done.before)
    made = [r.event for r in records if r.number <= done.after]
    taken = sum(len(e.ids) for e in made if isinstance(e, Told))
    failed = sum(len(e.ids) for e in made if isinstance(e, Failed))
    awaited = sum(line.value is None and not line.failed for line in lines)
    return Receipt(taken, failed, len(lines) - taken - failed - awaited, awaited)


@router.post("/campaigns/{campaign}/fail", responses=described(200, answers.Written))
def fail(here: Here, body: Fail) -> Response:
    """Say that measuring was tried and gave no value."""
    here.campaign.fail(body.ids, body.reason, retry=body.retry, who=body.who or ANONYMOUS)
    return written(here)


@router.post("/campaigns/{campaign}/withdraw", responses=described(200, answers.Written))
def withdraw(here: Here, body: Withdraw) -> Response:
    """Say that entries will not be measured: they go back."""
    here.campaign.withdraw(body.ids, body.reason, who=body.who or ANONYMOUS)
    return written(here)


@router.post("/campaigns/{campaign}/correct", responses=described(200, answers.Written))
def correct(here: Here, body: Correct) -> Response:
    """Put a told value right; null strikes it out."""
    here.campaign.correct(
        body.id,
        body.value,  # type: ignore[arg-type]
        row=label_of(body.row),
        col=label_of(body.col),
        number=body.number,
        reason=body.reason,
        who=body.who or ANONYMOUS,
    )
    return written(here)
