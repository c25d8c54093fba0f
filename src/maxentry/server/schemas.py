"""The bodies of responses: tables, records and statuses of the package as JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Annotated, Any, Generic, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from maxentry.campaign import views
from maxentry.campaign.tell import Receipt
from maxentry.campaign.views import Columns, Status
from maxentry.labels import encode
from maxentry.server.jobs import JobProgress
from maxentry.server.problems import HttpProblem
from maxentry.server.requests import Label
from maxentry.summary.error_curve import ErrorPoint
from maxentry.summary.reasons import Reason

Name = Annotated[Label, BeforeValidator(lambda label: (encode((label,)) or ())[0])]
Number = float | None  # NaN and infinity are written as null
Time = Annotated[str, BeforeValidator(lambda x: x.isoformat() if isinstance(x, dt.datetime) else x)]
Item = TypeVar("Item")
ENCODING = "Of a file of text: utf-8, utf-16 or windows-1252; null of any other."
SUMMARY = ("name", "rows", "cols", "told", "pending", "available", "events", "changed_at")


class ResponseBody(BaseModel):
    """A body with these keys, all of them, and no others."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _response(record: type, only: Iterable[str] = (), **first: Any) -> Any:
    """A body with the fields (or only some) of a record of the package, after some others."""
    known = {name: hint for name, hint in get_type_hints(record).items() if not only or name in only}
    body: dict[str, Any] = {
        name: (Time if hint is dt.datetime else hint, ...) for name, hint in (first | known).items()
    }
    return create_model(record.__name__, __base__=ResponseBody, __doc__=record.__doc__, **body)


def to_records(columns: Columns) -> list[dict[str, Any]]:
    """Turn columns into one record a line."""
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


class Page(ResponseBody, Generic[Item]):
    """Some lines of a longer list; `next` is the number after which the next page begins, null on the last."""

    items: list[Item]
    total: int
    next: int | None


class CampaignSummary(_response(Status, SUMMARY, id=str)):  # type: ignore[misc]
    """A campaign in a list."""

    model_config = ConfigDict(extra="ignore")


class StatusResponse(_response(Status, id=str)):  # type: ignore[misc]
    """The status of a campaign."""


class CreatedResponse(StatusResponse):
    """The status of a new campaign; notes also say what is missing or left out of its features."""


class LabelsResponse(ResponseBody):
    """The labels of rows and columns."""

    rows: list[Name]
    cols: list[Name]


AsTold = Annotated[str | None, Field(description="As it is told: '<0.5', 'yes', 'B'; null if struck out.")]
Limits = Annotated[tuple[Number, Number] | None, Field(description="Ends (null: open); null for a value.")]

# The columns of the tables in `campaign/views.py`; those that are not here are whole numbers.
_COLUMN_TYPES: dict[str, Any] = {
    **dict.fromkeys(("row", "col"), Name),
    **dict.fromkeys(("mean", "sd", "gain", "value"), Number),
    **dict.fromkeys(("at", "asked_at", "told_at"), Time),
    **dict.fromkeys(("reason", "kind", "what"), str),
    "who": str | None,
    "cost": float,
    "corrected": bool,
    "expires_at": Time | None,
    "status": Literal["pending", "told", "failed", "withdrawn", "expired"],
}


def _line(columns: Iterable[str], **other: Any) -> Any:
    """A body with a field for each of these columns, some of another type."""
    kinds: dict[str, Any] = {name: (other.get(name, _COLUMN_TYPES.get(name, int)), ...) for name in columns}
    return create_model("Line", __base__=ResponseBody, **kinds)


class BatchEntry(_line(views.ASK_COLUMNS)):  # type: ignore[misc]
    """An entry to measure, its prediction when it was chosen, and its cost."""


class BatchResponse(ResponseBody):
    """Entries to measure."""

    campaign: str
    entries: list[BatchEntry]


class AskedEntry(_line(views.ASKED_COLUMNS)):  # type: ignore[misc]
    """An entry that was asked for, and its status."""


class MeasurementLine(_line(views.MEASUREMENT_COLUMNS, id=int | None)):  # type: ignore[misc]
    """A measurement and its entry; `value` is a number that stands for a limit, a range, yes or no, or a grade."""

    limits: Limits = None
    se: Number = None
    text: AsTold = None


class EntryMeasurement(_line(("number", "id", "value", "told_at", "who", "corrected"), id=int | None)):  # type: ignore[misc]
    """A measurement of an entry; `before` has its values before corrections, `before_text` the same as told."""

    before: list[Number]
    limits: Limits = None
    se: Number = None
    text: AsTold = None
    before_text: list[str] = Field(default_factory=list)


class HistoryLine(_line(views.HISTORY_COLUMNS)):  # type: ignore[misc]
    """An event in words."""


class EventLine(ResponseBody):
    """An event as it is stored."""

    number: int
    at: Time
    who: str | None
    kind: str
    payload: dict[str, Any]


class EventPage(Page[EventLine]):
    """A page of events, and the time by the storage's clock."""

    now: Time


class ReceiptResponse(_response(Receipt)):  # type: ignore[misc]
    """How many lines were recorded, failed, known before, and still awaited; and what may not be meant."""

    notes: list[str] = Field(
        [], description="On values so far from all others that they must be slips, and on former labels."
    )


class FileReceiptResponse(ReceiptResponse):
    """The same for a file, the names of its columns that were not used, and how its text was read."""

    notes: list[str] = Field(
        [], description="How the file was read, where that may not be meant; on slips and former labels."
    )
    unused: list[str]
    encoding: str | None = Field(None, description=ENCODING)


class VersionResponse(ResponseBody):
    """The number of the campaign's last event."""

    version: int


class ChangedResponse(VersionResponse):
    """The number of the campaign's last event, and what there is to say of features."""

    notes: list[str] = Field([], description="What is missing or left out of the features that were given.")


class FeaturesResponse(ChangedResponse):
    """What was read of rows or columns: the names of the features."""

    features: list[str]


class RemovedResponse(VersionResponse):
    """The number of the campaign's last event, and how many values were struck out."""

    struck: int


class DeletedResponse(ResponseBody):
    """How many events the deleted campaign had."""

    events: int


class JobProgressResponse(_response(JobProgress)):  # type: ignore[misc]
    """The progress of a job; total is 0 before it begins."""


class JobResponse(ResponseBody):
    """Work in the background."""

    id: str
    kind: Literal["fit", "ask", "outlook", "next", "curve", "report"]
    campaign: str
    campaign_id: str
    status: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgressResponse
    began_at: Time
    ended_at: Time | None
    result: Annotated[
        dict[str, Any] | None, BeforeValidator(lambda x: x.model_dump() if isinstance(x, BaseModel) else x)
    ]
    problem: Annotated[
        dict[str, Any] | None, BeforeValidator(lambda x: x.to_dict() if isinstance(x, HttpProblem) else x)
    ]


class JobList(ResponseBody):
    """Jobs, the latest first."""

    items: list[JobResponse]


class FitResponse(ResponseBody):
    """The last event and the number of measurements that a posterior knows, and whether no measurement came since."""

    version: int
    current: bool
    measurements: int


class PosteriorResponse(ResponseBody):
    """The estimated model."""

    fit: FitResponse
    shape: list[int]
    rank: int
    rank_weights: dict[str, float]
    noise_sd: Number
    noise_df: Number
    transform: str
    scales: dict[str, float] = Field(
        default_factory=dict, description="Columns or rows on scales of their own, and their sizes."
    )
    chains: int
    draws: int
    converged: bool
    median_rhat: Number
    advice: str
    remark: str = Field(description="The advice without Python code; empty if there is nothing to do.")
    summary: str


class PredictedEntry(ResponseBody):
    """Mean, sd and interval of an entry, and the interval of a new measurement of it (new_low, new_high)."""

    row: Name
    col: Name
    mean: Number
    sd: Number
    low: Number
    high: Number
    new_low: Number
    new_high: Number
    most_likely: str | None = Field(None, description="Of grades: the name of the most likely one.")
    probabilities: dict[str, Number] | None = Field(
        None, description="Of grades: the probability that a measurement shows each, by name, in their order."
    )


class LookupResponse(ResponseBody):
    """Predictions of entries."""

    fit: FitResponse
    level: float
    items: list[PredictedEntry]


class EntryResponse(ResponseBody):
    """One entry: its asks and measurements, and its prediction if a posterior is at hand."""

    row: Name
    col: Name
    may_be_measured: bool
    cost: float
    measurements: list[EntryMeasurement]
    asks: list[AskedEntry]
    fit: FitResponse | None
    believed: PredictedEntry | None


class MapResponse(ResponseBody):
    """A window of a map, binned where it has more cells than wanted."""

    what: str
    fit: FitResponse | None
    rows: list[int] = Field(description="The first row, and the one after the last.")
    cols: list[int]
    row_starts: list[int]
    col_starts: list[int]
    row_labels: list[Name]
    col_labels: list[Name]
    binned: bool
    share: float = Field(description="The share of the window's entries that the cells were computed from.")
    least: Number
    greatest: Number
    values: list[list[Number]]


class OutlookResponse(ResponseBody):
    """The expected error now and after the next entries (null while there is no posterior), and past batches."""

    outlook: dict[str, Number] | None
    advice: str
    past: list[dict[str, Number]] = Field(
        [], description="What past batches promised and brought, as far as their fits are at hand."
    )
    at_stake: dict[str, Number] | None = Field(
        None,
        description="For a goal other than fill: what is at stake now and after the next entries, and how many of so "
        "many choices they should change.",
    )


class PairResponse(ResponseBody):
    """Two neighbours of a ranking: the probability that the first has the better average; tied if below the level."""

    above: Name
    below: Name
    probability: float
    tied: bool


class AnswerResponse(ResponseBody):
    """The answer to a goal: sentences, and lines with labels, estimates, intervals and probabilities."""

    fit: FitResponse | None
    goal: str
    at_stake: Number = Field(
        description="The expected regret, or the share of pairs or entries that are wrong."
    )
    level: float
    summary: list[str]
    note: str = Field("", description="That the goal mixes units, which the status says, too.")
    lines: list[dict[str, Name | Number]]
    pairs: list[PairResponse] = Field([], description="Of a ranking: each line and the next.")


class TableResponse(ResponseBody):
    """A file as it was read: the names of its columns, and its lines as text, numbers with decimal points."""

    names: list[str]
    lines: list[list[str]]
    written: list[list[str]] | None = Field(
        None, description="The lines as they stand in the file, for labels; null where they are the same."
    )
    sheets: list[str] = Field(
        [], description="Of an Excel file; the first with a table is read, or the one named."
    )
    encoding: str | None = Field(None, description=ENCODING)
    title: str = Field("", description="What stands above the names and was left out.")
    notes: list[str] = Field([], description="How the file was read, where that may not be meant.")
    roles: dict[Literal["row", "col", "value"], int] = Field(
        {}, description="Of a table that is plainly a list: its columns of rows, columns and values."
    )
    totals: list[str] = Field([], description="Labels that are named like a sum, mean or count of others.")
    alike: list[list[str]] = Field([], description="Labels that differ only in case, blanks or a slip.")


class AccessResponse(ResponseBody):
    """What the token of the request allows."""

    may: Literal["read", "write"]


ReasonNumbers: Any = _response(Reason, i=int, j=int)  # why an entry is next, and its position


class PendingEntry(AskedEntry, ReasonNumbers):  # type: ignore[misc]
    """A pending entry, its position, and why it was asked for."""


class PendingResponse(ResponseBody):
    """The pending entries."""

    fit: FitResponse | None
    total: int
    items: list[PendingEntry]


class NextEntry(_line(views.ASK_COLUMNS[1:]), ReasonNumbers):  # type: ignore[misc]
    """An entry that would be asked for, its position, and why."""


class NextResponse(ResponseBody):
    """The entries that would be asked for, why these or why none, and what they would change once there is a fit.

    version: the campaign's last event. total: how many entries there are; the first 10,000 are listed, the first 200
    with all their reasons.
    """

    version: int
    why: str
    total: int
    entries: list[NextEntry]
    outlook: dict[str, Number] | None
    at_stake: dict[str, Number] | None = Field(
        None, description="For a goal other than fill: what is at stake now and after these entries."
    )
    stop: bool = Field(
        False,
        description="Whether the advice is to stop, as in the outlook; if there are no entries, `why` says why.",
    )


class ErrorPointResponse(_response(ErrorPoint)):  # type: ignore[misc]
    """The expected error after so many measurements, and when the last of them was told."""

    error: Number


class CurveResponse(ResponseBody):
    """The points of the error curve at hand, and how many more the whole curve needs."""

    points: list[ErrorPointResponse]
    missing: int
    target_sd: Number


class Health(ResponseBody):
    """The server is running; `disk-full` if the last attempt to write found no room, while reading goes on."""

    status: Literal["ok", "disk-full"]
    version: str
