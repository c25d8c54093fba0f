"""The bodies of requests. Whether a request can be fulfilled is for the campaign to judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    create_model,
    model_validator,
)

from maxentry.campaign.settings import CHANGEABLE, Settings, setting_types
from maxentry.errors import DataError
from maxentry.labels import decode

LARGEST = 2**53  # programs differ in how they read larger whole numbers
DEEPEST = 20  # of lists in lists
ANONYMOUS = "http"  # in the history, where a request does not say who makes it

Label = Annotated[
    str | StrictBool | StrictInt | StrictFloat | dict[str, Any],
    Field(description="Text or a number; a date as {'date': '2030-01-31'}.", examples=["L3"]),
]
LimitName = Literal["below", "above", "low", "high"]
LimitBody = dict[LimitName, StrictFloat | StrictInt | None]
AnyValue = StrictBool | StrictFloat | StrictInt | str | LimitBody | None
Value = Annotated[
    AnyValue,
    Field(
        description="A number; yes or no, as text or as true and false; a grade; a limit as {'below': 0.5}, "
        "{'above': 100}, {'low': 0.5, 'high': 0.7} or '<0.5' (or below, above, low and high in place of the value); "
        "null while it is awaited; 'failed' if measuring gave no value.",
        examples=[3.2, {"below": 0.5}],
    ),
]
End = Annotated[StrictFloat | StrictInt | None, Field(description="Of the value, as a column of tables.")]
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

    @model_validator(mode="before")
    @classmethod
    def _gather_limits(cls, data: Any) -> Any:
        """Take limits beside the id, or the row and the column, for those of the value."""
        names = [name for name in get_args(LimitName) if isinstance(data, dict) and name in data]
        if not names:
            return data
        if data.get("value") is not None:
            if "low" in cls.model_fields and {*names} <= {"low", "high"}:
                return data  # columns of a table, which the reader of tables judges
            raise ValueError(f"expected a value, or its limits, got value and {names[0]}")
        limits = {name: data[name] for name in names}
        return {name: x for name, x in data.items() if name not in limits} | {"value": limits}


class TellLine(EntryReference):
    """One measurement: of an id that was asked, or of a row and a column; of yes/no also successes of trials."""

    value: Value = None
    low: End = None
    high: End = None
    se: StandardError = None
    successes: Id | None = None
    trials: Id | None = None
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
    row: Label | None = Field(None, description="Only entries of this row: those that tell most about it.")
    about: Literal["row", "average"] = Field(
        "row", description="With a row: about all of its entries, or about their average."
    )
    plates: Literal["rows", "cols"] | Annotated[str, Field(pattern=r"^[0-9]{1,2}x[0-9]{1,2}$")] | None = (
        Field(
            None, description="Whole rows or columns: n counts them. Or one block like 8x12: rows x columns."
        )
    )
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
    value: AnyValue
    se: StandardError = None
    who: Who = None


class AddLabelsRequest(RequestBody):
    """Rows or columns to add after the existing ones."""

    model_config = _example(labels=["L13", "L14"])
    labels: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    cost: StrictFloat | StrictInt | list[StrictFloat | StrictInt] | None = None
    features: Any = Field(None, description="What is known of them, as row_features of a new campaign.")
    who: Who = None


class RemoveLabelsRequest(RequestBody):
    """Rows or columns to remove; their values are struck out."""

    model_config = _example(labels=["L13"])
    labels: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    who: Who = None


class RenameLabelsRequest(RequestBody):
    """Other labels of rows or columns: `names`, in the order of `labels`."""

    model_config = _example(labels=["L13"], names=["L-13"])
    labels: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    names: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    who: Who = None


class RenameRequest(RequestBody):
    """Another name for a campaign."""

    model_config = _example(name="yields, second round")
    name: Annotated[str, Field(min_length=1, max_length=200)]
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
    "row_features": "What is known of rows: {'columns': {'logp': [1.2, 0.4], 'solvent': ['THF', 'DMF']}, "
    "'labels': ['L1', 'L2'], 'categories': ['solvent']}; without labels in their order. Or a sparse matrix by rows: "
    "{'indptr': [0, 2], 'indices': [3, 17], 'data': null, 'width': 2048}.",
    "col_features": "What is known of columns, as of rows.",
    "weights": "Of a ranking: how much each column (or row) counts, in order, or by label; others count once.",
}
_JSON_TYPES: dict[Any, Any] = {bool: StrictBool, int: StrictInt, float: float, str: str}


def _json_type(hint: Any) -> Any:
    """The type of a setting in a request. Choices are text, since the campaign says which there are."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return reduce(or_, (_json_type(part) for part in arguments if part is not type(None)))
    if origin is Literal:
        return str
    if origin is tuple and arguments == (float, Ellipsis):
        return list[StrictInt | StrictFloat] | dict[str, StrictInt | StrictFloat]
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

    @model_validator(mode="before")
    @classmethod
    def _only_changeable(cls, data: Any) -> Any:
        fixed = (
            [name for name in data if name in SETTINGS and name not in CHANGEABLE]
            if isinstance(data, dict)
            else []
        )
        if fixed:
            raise ValueError(
                f"expected settings that may change, got {fixed[0]}, which stays as it was created"
            )
        return data


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
