"""What the server answers, for its description in OpenAPI. Answers are made by the views; tests hold them to these."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from maxentry.server.problems import MEDIA_TYPE
from maxentry.server.requests import Label

Number = float | None


class Answer(BaseModel):
    """An answer: these keys, all of them, and no others."""

    model_config = ConfigDict(extra="forbid")


class ProblemDocument(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{
                "type": "urn:maxentry:problem:data",
                "title": "Data that cannot be used",
                "status": 422,
                "detail": "expected an id that was asked, but 7 came; ids are 1 to 4.",
                "error": "DataError",
            }]
        }
    )  # fmt: skip
    type: str
    title: str
    status: int
    detail: str
    error: str | None = None


class Campaigns(Answer):
    """The campaigns, in the order in which they began."""

    items: list[CampaignLine]
    total: int
    next: int | None


class CampaignLine(Answer):
    """A campaign in short."""

    id: str
    name: str
    rows: int
    cols: int
    told: int
    pending: int
    available: int
    events: int
    changed_at: str


class StatusAnswer(Answer):
    """Where a campaign stands."""

    id: str
    name: str
    rows: int
    cols: int
    measurements: int
    told: int
    pending: int
    expired: int
    failed: int
    withdrawn: int
    available: int
    spent: float
    budget: Number
    target_sd: Number
    acquisition: str
    rank: int | str
    transform: str
    events: int
    created_at: str
    changed_at: str


class Axes(Answer):
    """Labels of rows and columns."""

    rows: list[Label]
    cols: list[Label]


class Entry(Answer):
    """An entry that was asked for."""

    id: int
    row: Label
    col: Label
    mean: Number
    sd: Number
    gain: Number
    cost: float


class Batch(Answer):
    """Entries to measure."""

    campaign: str
    entries: list[Entry]


class AskedEntry(Entry):
    """An entry that was asked for, and what became of it."""

    status: Literal["pending", "told", "failed", "withdrawn", "expired"]
    asked_at: str
    expires_at: str | None
    who: str | None
    reason: str


class Asked(Answer):
    """A page of what was asked for."""

    items: list[AskedEntry]
    total: int
    next: int | None


class Measurement(Answer):
    """A value that was told."""

    number: int
    id: int | None
    row: Label
    col: Label
    value: Number
    told_at: str
    who: str | None
    corrected: bool


class Measurements(Answer):
    """A page of what was told."""

    items: list[Measurement]
    total: int
    next: int | None


class Matrix(Axes):
    """What was told as a matrix."""

    values: list[list[Number]]


class HistoryLine(Answer):
    """An event in words."""

    event: int
    at: str
    who: str | None
    kind: str
    what: str


class History(Answer):
    """A page of what happened."""

    items: list[HistoryLine]
    total: int
    next: int | None


class EventLine(Answer):
    """An event as it is kept."""

    number: int
    at: str
    who: str | None
    kind: str
    payload: dict[str, Any]


class Events(Answer):
    """A page of events, and the server's clock."""

    items: list[EventLine]
    total: int
    next: int | None
    now: str


class ReceiptAnswer(Answer):
    """What came of telling."""

    told: int
    failed: int
    known: int
    awaited: int


class Written(Answer):
    """The number of the campaign's last event."""

    version: int


class JobProgress(Answer):
    """How far it has come; total is 0 before it begins."""

    what: str
    done: int
    total: int


class JobAnswer(Answer):
    """Work in the background."""

    id: str
    kind: Literal["fit", "ask", "outlook", "next", "curve"]
    campaign: str
    campaign_id: str
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    began_at: str
    ended_at: str | None
    result: dict[str, Any] | None
    problem: dict[str, Any] | None


class JobList(Answer):
    """The jobs that are known, the latest first."""

    items: list[JobAnswer]


class FitAnswer(Answer):
    """Of what a posterior knows: all up to this event; whether nothing was told since."""

    version: int
    current: bool
    measurements: int


class PosteriorAnswer(Answer):
    """What was found about the model."""

    fit: FitAnswer
    shape: list[int]
    rank: int
    rank_weights: dict[str, float]
    noise_sd: Number
    noise_df: Number
    transform: str
    chains: int
    draws: int
    converged: bool
    median_rhat: Number
    advice: str
    summary: str


class Predicted(Answer):
    """What is believed of an entry (low, high) and of a new measurement of it (new_low, new_high)."""

    row: Label
    col: Label
    mean: Number
    sd: Number
    low: Number
    high: Number
    new_low: Number
    new_high: Number


class Looked(Answer):
    """Entries that were looked up."""

    fit: FitAnswer
    level: float
    items: list[Predicted]


class EntryAnswer(Answer):
    """One entry: what was asked and told of it, and, where there is a posterior at hand, what is believed."""

    row: Label
    col: Label
    may_be_measured: bool
    cost: float
    measurements: list[dict[str, Any]]
    asks: list[AskedEntry]
    fit: FitAnswer | None
    believed: Predicted | None


class Tile(Answer):
    """A window of a map, binned where it has more cells than wanted."""

    what: str
    fit: FitAnswer | None
    rows: list[int] = Field(description="The first row, and the one after the last.")
    cols: list[int]
    row_starts: list[int]
    col_starts: list[int]
    row_labels: list[Label]
    col_labels: list[Label]
    binned: bool
    share: float = Field(description="The share of the window's entries that the cells were made from.")
    least: Number
    greatest: Number
    values: list[list[Number]]


class OutlookAnswer(Answer):
    """The expected error now and after the next entries; null while there is no posterior to have one."""

    outlook: dict[str, Number] | None
    advice: str


class Health(Answer):
    """That the server is there."""

    status: Literal["ok"]
    version: str


Campaigns.model_rebuild()


def described(
    status: int, model: type[BaseModel], text: str = "", **more: Any
) -> dict[int | str, dict[str, Any]]:
    """An answer of this status and form, for a route's description."""
    return {status: {"model": model, "description": text or (model.__doc__ or ""), **more}}


def _problem(text: str) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/ProblemDocument"}
    return {"description": text, "content": {MEDIA_TYPE: {"schema": reference}}}


ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": JobAnswer,
        "description": "It goes on in the background: look at the address in Location.",
        "headers": {
            "Location": {"schema": {"type": "string"}},
            "Retry-After": {"schema": {"type": "string"}},
        },
    }
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("Not JSON."),
    401: _problem("A token is needed."),
    403: _problem("Only for reading, or from another site's page."),
    404: _problem("No such campaign or job."),
    405: _problem("No such method here."),
    408: _problem("The request did not come to its end."),
    409: _problem("It contradicts what the campaign knows; nothing was changed."),
    413: _problem("The body is too large."),
    415: _problem("A body of another kind."),
    421: _problem("Called by another name than the server's."),
    422: _problem("It cannot be used; nothing was changed."),
    429: _problem("Too many requests, or too much work waiting."),
    503: _problem("The storage does not answer, or the server is being shut down."),
}
