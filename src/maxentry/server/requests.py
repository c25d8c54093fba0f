"""What may be asked of the server, with examples. Whether it can be done is for the campaign to say, in our words."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator

LARGEST = 2**53  # whole numbers beyond are not the same everywhere
DEEPEST = 20

Label = Annotated[
    str | StrictBool | StrictInt | StrictFloat | dict[str, Any],
    Field(description="Text or a number; a date as {'date': '2030-01-31'}.", examples=["L3"]),
]
Value = Annotated[
    StrictFloat | StrictInt | str | None,
    Field(
        description="A number; null while it is awaited; 'failed' where measuring gave nothing.",
        examples=[3.2],
    ),
]
Who = Annotated[
    str | None,
    Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", description="Who does this, for the history."),
]
Ids = Annotated[
    list[Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)]], Field(min_length=1, max_length=100_000)
]
Reason = Annotated[str, Field(max_length=2000)]


class Request(BaseModel):
    """A body: no other keys than these, no number that is not a number everywhere."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _sane(cls, data: Any) -> Any:
        _check(data, 0)
        return data


class Line(Request):
    """One measurement: of an id that was asked, or of a row and a column."""

    id: Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)] | None = None
    row: Label | None = None
    col: Label | None = None
    value: Value = None
    failed: StrictBool = False
    reason: Reason = ""


class Tell(Request):
    """Measurements, all of which are taken or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"lines": [{"id": 1, "value": 0.83}, {"row": "L1", "col": "S2", "value": 0.4}], "who": "ann"}
            ]
        }
    )
    lines: Annotated[list[Line], Field(max_length=1_000_000)]
    again: StrictBool = Field(False, description="Values of entries told before are further measurements.")
    who: Who = None


class Ask(Request):
    """How many entries to hand out, and within which limits."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 8, "who": "robot 2"}]})
    n: Annotated[StrictInt, Field(ge=1, le=100_000)] = 1
    plates: Literal["rows", "cols"] | None = Field(None, description="Whole rows or columns: n counts them.")
    per_row: Annotated[StrictInt, Field(ge=1, le=LARGEST)] | None = None
    per_col: Annotated[StrictInt, Field(ge=1, le=LARGEST)] | None = None
    who: Who = None


class Fail(Request):
    """Ids that were tried and gave no value."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [3], "reason": "no colour"}]})
    ids: Ids
    reason: Reason = ""
    retry: StrictBool = Field(False, description="They may be asked for again.")
    who: Who = None


class Withdraw(Request):
    """Ids that will not be measured."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [4, 5], "reason": "out of substrate"}]})
    ids: Ids
    reason: Reason = ""
    who: Who = None


class Correct(Request):
    """Another value for a measurement, named by id, by row and col, or by number; null strikes it out."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": 1, "value": 0.38, "reason": "a slip"}]})
    id: Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)] | None = None
    row: Label | None = None
    col: Label | None = None
    number: Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)] | None = None
    value: StrictFloat | StrictInt | str | None
    reason: Reason = ""
    who: Who = None


class AddLabels(Request):
    """More rows or columns, after those there are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"labels": ["L13", "L14"]}]})
    labels: Annotated[list[Label], Field(min_length=1, max_length=1_000_000)]
    cost: StrictFloat | StrictInt | list[StrictFloat | StrictInt] | None = None
    who: Who = None


class Look(Request):
    """Entries by label, as many rows as columns, or one of either."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": ["L1", "L2"], "cols": ["S1", "S4"]}]})
    rows: Annotated[list[Label], Field(min_length=1, max_length=10_000)]
    cols: Annotated[list[Label], Field(min_length=1, max_length=10_000)]
    level: Annotated[float, Field(gt=0, lt=1)] = 0.9


class _Settings(Request):
    """Settings that may change; what they may be is said by the campaign."""

    acquisition: str | None = None
    rank: StrictInt | str | None = Field(None, description="'auto', or a whole number.", examples=["auto"])
    noise: str | None = Field(None, examples=["gaussian"])
    effects: StrictBool | None = None
    priors: str | None = None
    range: Annotated[list[float | None], Field(min_length=2, max_length=2)] | None = Field(
        None, description="The least and the greatest value; null where there is no limit."
    )
    costs: Any = Field(None, description="A matrix, or {'entry': matrix, 'row': numbers, 'col': numbers}.")
    mask: list[list[bool]] | None = Field(None, description="A matrix, true where an entry can be measured.")
    lease: float | None = Field(None, description="Seconds until an asked entry goes back.")
    again: StrictBool | None = None
    target_sd: float | None = None
    budget: float | None = None
    per_row: StrictInt | None = None
    per_col: StrictInt | None = None
    plates: str | None = None

    def given(self) -> dict[str, Any]:
        """The settings that came, and no others; null takes one back."""
        here = set(_Settings.model_fields) | {"transform", "n_initial"}
        return {name: getattr(self, name) for name in self.model_fields_set & here}


class Change(_Settings):
    """Settings from here on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"budget": 200, "who": "ann"}]})
    who: Who = None


class Create(_Settings):
    """A campaign: its name, its rows and columns (labels, or how many), its settings, and what is known already."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "yields", "rows": ["L1", "L2", "L3"], "cols": ["S1", "S2"], "seed": 1}]
        }
    )
    name: Annotated[str, Field(min_length=1, max_length=200)]
    rows: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | list[Label]
    cols: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | list[Label]
    seed: Annotated[StrictInt, Field(ge=0, le=LARGEST)] | None = None
    transform: str = "none"
    n_initial: StrictInt | None = None
    values: Annotated[list[Line], Field(max_length=1_000_000)] | None = None
    exist_ok: StrictBool = Field(
        False, description="Open the campaign of this name if it has the same labels."
    )
    who: Who = None


def _check(x: Any, depth: int) -> None:
    """Refuse whole numbers that no other program reads the same, and what is nested without end."""
    if isinstance(x, int) and abs(x) > LARGEST:
        raise ValueError(f"expected whole numbers up to {LARGEST}, but a larger one came")
    if depth > DEEPEST:
        raise ValueError(f"expected lists within lists at most {DEEPEST} deep, but deeper ones came")
    if isinstance(x, dict):
        for value in x.values():
            _check(value, depth + 1)
    elif isinstance(x, list):
        for value in x:
            _check(value, depth + 1)
