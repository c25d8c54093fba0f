"""The bodies of requests and responses. Whether a request can be fulfilled is for the campaign to judge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    create_model,
    model_validator,
)

from maxentry.campaign import views
from maxentry.campaign.settings import CHANGEABLE, Settings, setting_types
from maxentry.campaign.tell import Receipt
from maxentry.campaign.views import Columns, Status
from maxentry.errors import DataError
from maxentry.labels import decode, encode
from maxentry.server.jobs import JobProgress
from maxentry.server.problems import HttpProblem
from maxentry.summary.error_curve import ErrorPoint
from maxentry.summary.reasons import Reason

LARGEST = 2**53  # programs differ in how they read larger whole numbers
DEEPEST = 20  # of lists in lists
ANONYMOUS = "http"  # in the history, where a request does not say who makes it

Label = Annotated[
    str | StrictBool | StrictInt | StrictFloat | dict[str, Any],
    Field(description="Text or a number; a date as {'date': '2030-01-31'}.", examples=["L3"]),
]
LimitBody = dict[Literal["below", "above", "low", "high"], StrictFloat | StrictInt | None]
Value = Annotated[
    StrictFloat | StrictInt | str | LimitBody | None,
    Field(
        description="A number; a limit as {'below': 0.5}, {'above': 100}, {'low': 0.5, 'high': 0.7} or '<0.5'; null "
        "while it is awaited; 'failed' if measuring gave no value.",
        examples=[3.2, {"below": 0.5}],
    ),
]
StandardError = Annotated[StrictFloat | StrictInt | None, Field(ge=0, description="Of the value.")]
Person = Annotated[
    str | None,
    Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", description="Who does this, for the history."),
]
Who = Annotated[Person, Field(validate_default=True), AfterValidator(lambda who: who or ANONYMOUS)]
Id = Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)]
Count = Annotated[StrictInt, Field(ge=1, le=LARGEST)]
ReasonText = Annotated[str, Field(max_length=2000)]


def _example(**body: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [body]})


def parse_label(cell: Any) -> Any:
    """Read one label of a request."""
    if not isinstance(cell, dict):
        return cell
    try:
        label = (decode([cell]) or ())[0]
        if isinstance(label, np.datetime64) and _year(label) != _year(np.datetime64(cell["datetime64"])):
            raise OverflowError  # NumPy itself would silently return another time
        return label
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, OverflowError, RecursionError):
        raise DataError(
            f"expected a label as text, as a number or like {{'date': '2030-01-31'}}, got {cell!r:.60}."
        ) from None


def _year(time: np.datetime64) -> int:
    return int(time.astype("datetime64[Y]").astype(int))


# Requests


class RequestBody(BaseModel):
    """A body with these keys and no others."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _portable(cls, data: Any) -> Any:
        _check_portable(data)
        return data


def _check_portable(x: Any, depth: int = 0) -> None:
    """Refuse whole numbers that programs read differently, and endless nesting."""
    if isinstance(x, int) and abs(x) > LARGEST:
        raise ValueError(f"expected whole numbers up to {LARGEST}, got a larger one")
    if depth > DEEPEST:
        raise ValueError(f"expected lists nested at most {DEEPEST} deep, got deeper ones")
    for item in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        _check_portable(item, depth + 1)


class EntryReference(RequestBody):
    """An entry, by an id that was asked or by row and column; and a reason, for the history."""

    id: Id | None = None
    row: Label | None = None
    col: Label | None = None
    reason: Annotated[str, Field(max_length=2000)] = ""


class TellLine(EntryReference):
    """One measurement: of an id that was asked, or of a row and a column."""

    value: Value = None
    se: StandardError = None
    failed: StrictBool = False


class TellRequest(RequestBody):
    """Measurements; either all lines are recorded or none."""

    model_config = _example(
        lines=[{"id": 1, "value": 0.83}, {"row": "L1", "col": "S2", "value": 0.4}], who="ann"
    )
    lines: Annotated[list[TellLine], Field(max_length=1_000_000)]
    again: StrictBool = Field(
        False, description="Values of entries measured before are further measurements."
    )
    who: Who = None


class AskRequest(RequestBody):
    """How many entries to ask for, and the limits of the batch."""

    model_config = _example(n=8, who="robot 2")
    n: Annotated[StrictInt, Field(ge=1, le=100_000)] = 1
    plates: Literal["rows", "cols"] | None = Field(None, description="Whole rows or columns: n counts them.")
    per_row: Count | None = None
    per_col: Count | None = None
    who: Who = None


class WithdrawRequest(RequestBody):
    """Ids that will not be measured."""

    model_config = _example(ids=[4, 5], reason="out of substrate")
    ids: Annotated[list[Id], Field(min_length=1, max_length=100_000)]
    reason: ReasonText = ""
    who: Who = None


class FailRequest(WithdrawRequest):
    """Ids that were measured without a value."""

    model_config = _example(ids=[3], reason="no colour")
    retry: StrictBool = Field(False, description="They may be asked for again.")


class CorrectRequest(EntryReference):
    """Another value for a measurement, given by id, by row and col, or by number; null strikes it out."""

    model_config = _example(id=1, value=0.38, reason="a slip")
    number: Id | None = None
    value: StrictFloat | StrictInt | str | LimitBody | None
    se: StandardError = None
    who: Who = None


class AddLabelsRequest(RequestBody):
    """Rows or columns to add after the existing ones."""

    model_config = _example(labels=["L13", "L14"])
    labels: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    cost: StrictFloat | StrictInt | list[StrictFloat | StrictInt] | None = None
    who: Who = None


class LookupRequest(RequestBody):
    """Entries by label: as many rows as columns, or one of either."""

    model_config = _example(rows=["L1", "L2"], cols=["S1", "S4"])
    rows: Annotated[list[Label], Field(min_length=1, max_length=10_000)]
    cols: Annotated[list[Label], Field(min_length=1, max_length=10_000)]
    level: Annotated[float, Field(gt=0, lt=1)] = 0.9


# The settings of a campaign: a field for each of `Settings`, of the type that JSON has for it.

SETTINGS = [f.name for f in fields(Settings) if f.name not in ("name", "rows", "cols", "seed")]
_DESCRIPTIONS = {  # where the help is about files and words of the command line
    "rank": "'auto', or a whole number.",
    "range": "The least and the greatest value; null where there is no limit.",
    "costs": "A matrix, or {'entry': matrix, 'row': numbers, 'col': numbers}.",
    "mask": "A matrix, true where an entry can be measured.",
    "limits": "The ends of the scale, null for an open one: a value there means at or beyond.",
    "levels": "The grades in their order.",
    "lease": "Seconds until an asked entry goes back.",
}
_JSON_TYPES: dict[Any, Any] = {bool: StrictBool, int: StrictInt, float: float, str: str}


def _json_type(hint: Any) -> Any:
    """The type of a setting in a request. Choices are text, since the campaign says which there are."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return reduce(or_, (_json_type(part) for part in arguments if part is not type(None)))
    if origin is Literal:
        return str
    if origin is tuple and Ellipsis in arguments:
        return list[str | StrictInt | StrictFloat]
    if origin is tuple:
        return Annotated[list[float | None], Field(min_length=len(arguments), max_length=len(arguments))]
    if getattr(origin, "__name__", "") == "ndarray":
        return list[list[bool]]
    return _JSON_TYPES.get(hint, Any)


class SettingsBody(RequestBody):
    """A body with settings of a campaign, null where one is taken back."""

    def settings(self) -> dict[str, Any]:
        """The settings that the request names, as a campaign takes them."""
        settings = {name: getattr(self, name) for name in self.model_fields_set if name in SETTINGS}
        for name in {"range", "limits"} & {name for name, x in settings.items() if x is not None}:
            low, high = settings[name]
            settings[name] = (-np.inf if low is None else low), (np.inf if high is None else high)
        if settings.get("mask") is not None:
            if len({len(line) for line in settings["mask"]}) > 1:
                raise DataError("expected a mask with rows of one length, got different ones.")
            settings["mask"] = np.array(settings["mask"], dtype=bool)
        return settings


def _settings_body(names: Iterable[str]) -> Any:
    hints, body = setting_types(), dict[str, Any]()
    for field in fields(Settings):
        if field.name in names:
            kind, fixed = _json_type(hints[field.name]), field.name not in CHANGEABLE
            default = field.default if fixed else None
            text = _DESCRIPTIONS.get(field.name) or field.metadata.get("help")
            nullable = default is None and kind is not Any
            body[field.name] = (kind | None if nullable else kind, Field(default, description=text))
    return create_model("SettingsBody", __base__=SettingsBody, **body)


class ChangeRequest(_settings_body(CHANGEABLE)):  # type: ignore[misc]
    """Settings that are to change from now on; null takes one back."""

    model_config = _example(budget=200, who="ann")
    who: Who = None


class CreateRequest(_settings_body(SETTINGS)):  # type: ignore[misc]
    """A campaign: its name, rows and columns (labels, or how many), settings, and what was measured before."""

    model_config = _example(name="yields", rows=["L1", "L2", "L3"], cols=["S1", "S2"], seed=1)
    name: Annotated[str, Field(min_length=1, max_length=200)]
    rows: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | list[Label]
    cols: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | list[Label]
    seed: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | None = None
    values: Annotated[list[TellLine], Field(max_length=1_000_000)] | None = None
    exist_ok: StrictBool = Field(
        False, description="Open the campaign of this name if it has the same labels."
    )
    who: Who = None


# Responses

Name = Annotated[Label, BeforeValidator(lambda label: (encode((label,)) or ())[0])]
Number = float | None  # NaN and infinity are written as null
Time = Annotated[str, BeforeValidator(lambda x: x.isoformat() if isinstance(x, dt.datetime) else x)]
Item = TypeVar("Item")
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


class LabelsResponse(ResponseBody):
    """The labels of rows and columns."""

    rows: list[Name]
    cols: list[Name]


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
    """A measurement and its entry; of a limit or a range, `value` is a number that stands for it."""

    limits: Limits = None
    se: Number = None


class EntryMeasurement(_line(("number", "id", "value", "told_at", "who", "corrected"), id=int | None)):  # type: ignore[misc]
    """A measurement of an entry; `before` has its values before corrections."""

    before: list[Number]
    limits: Limits = None
    se: Number = None


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
    """How many lines were recorded, failed, known before, and still awaited."""


class FileReceiptResponse(ReceiptResponse):
    """The same for a file, and the names of its columns that were not used."""

    unused: list[str]


class VersionResponse(ResponseBody):
    """The number of the campaign's last event."""

    version: int


class JobProgressResponse(_response(JobProgress)):  # type: ignore[misc]
    """The progress of a job; total is 0 before it begins."""


class JobResponse(ResponseBody):
    """Work in the background."""

    id: str
    kind: Literal["fit", "ask", "outlook", "next", "curve"]
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
