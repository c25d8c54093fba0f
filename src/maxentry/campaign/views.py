"""Tables of a campaign for users: asks, measurements and history as columns or frames, and its status."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxentry import frames
from maxentry.campaign import events
from maxentry.campaign.events import Event, Record
from maxentry.campaign.ledger.tables import Ask, Measurement
from maxentry.campaign.state import State
from maxentry.campaign.tell import doubt_values
from maxentry.cells import Statement, Words
from maxentry.errors import ParameterError, is_choice
from maxentry.labels import show
from maxentry.readings import Reading
from maxentry.tables import cell_text, doubts
from maxentry.wording import count, percent, shorten

if TYPE_CHECKING:
    from maxentry.campaign.settings import Settings
    from maxentry.features import FeatureTable
    from maxentry.model.goal import Goal
    from maxentry.posterior.decisions import Answer
    from maxentry.posterior.posterior import Posterior

Columns = dict[str, list[Any]]
FrameKind = Literal["pandas", "polars", "columns"]
ASK_COLUMNS = ("id", "row", "col", "mean", "sd", "gain", "cost")
ASKED_COLUMNS = (*ASK_COLUMNS, "status", "asked_at", "expires_at", "who", "reason")
MEASUREMENT_COLUMNS = ("number", "id", "row", "col", "value", "told_at", "who", "corrected")
OPEN = (-math.inf, math.inf)
SEVERAL = " | "  # between different measurements of one entry in a wide table
WEIGHTS_SHOWN = 5
NAMES_SHOWN = 5  # of features
HISTORY_COLUMNS = ("event", "at", "who", "kind", "what")


def as_frame(columns: Columns, kind: FrameKind | None) -> Any:
    """Return the columns as a pandas or polars frame (None: whichever is installed), or unchanged."""
    return columns if is_choice(kind, ("columns",)) else frames.make_frame(columns, kind)


def check_frame(kind: FrameKind | None) -> None:
    """Refuse an unknown kind of frame, or one whose library is not installed."""
    if kind is not None:
        as_frame({}, kind)


def find_doubts(state: State) -> list[str]:
    """Say which rows and columns (sums, footers, slips) and values may not be meant, and what to do; mostly nothing."""
    if max(state.shape) > doubts.MOST_LABELS:
        return doubt_values(state)
    sides = zip((state.row_labels, state.col_labels), state.told, strict=True)
    measured = tuple({labels[k] for k in np.unique(places)} for labels, places in sides)
    noted = doubts.doubt_table(state.row_labels, state.col_labels, measured, doubts.TAKE_OUT)  # type: ignore[arg-type]
    return [*filter(None, [noted]), *doubt_values(state)]


def find_notes(state: State) -> list[str]:
    """Name values that must be slips, and units that the goal mixes; mostly nothing."""
    from maxentry.model.goal import note_units
    from maxentry.transform import MOST_VALUES

    goal, notes = state.settings.wanted, doubt_values(state)
    if goal.fills or not 0 < len(state.standing) <= MOST_VALUES:  # before they are copied
        return notes
    return [*notes, *filter(None, [note_units(goal, state.observations(), state.settings.transform)])]


def convert_maps(posterior: Posterior, kind: FrameKind | None) -> Posterior:
    """Return the posterior with maps as frames of this kind; unchanged for None and "columns"."""
    return posterior if kind is None or kind == "columns" else posterior.framed(kind)


def choose_goal(given: str | None, settings: Settings) -> Goal:
    """Return the goal that is asked about, or the campaign's own; refuse one that has no answer of its own."""
    from maxentry.model.goal import Goal

    own = settings.wanted
    goal = own if given is None else Goal.parse(given)
    if goal.fills:
        raise ParameterError(
            "expected a goal with an answer of its own (best, rank or threshold), got fill.",
            code="no_goal",
            hint="Name one: answer('best per row'), or set(goal='best per row').",
        )
    return replace(goal, weights=own.weights) if goal.averaged == own.averaged else goal


def answer(posterior: Posterior, goal: Goal, settings: Settings, level: float) -> Answer:
    """Answer a goal in the words of a campaign."""
    return posterior.answer(goal, level, row_name=settings.row_name, col_name=settings.col_name)


def asks(chosen: Iterable[Ask], state: State) -> Columns:
    """Return asks as columns: id, row, col and predictions."""
    return _columns(list(chosen), ASK_COLUMNS, state)


def add_wells(columns: Columns, state: State) -> Columns:
    """Return asks of a block with the wells of a plate."""
    sides = (state.row_axis, columns["row"]), (state.col_axis, columns["col"])
    wells = events.name_wells(*([axis.find(label) for label in labels] for axis, labels in sides))
    return {"id": columns["id"], "well": wells} | {name: x for name, x in columns.items() if name != "id"}


def find_wells(
    ids: Sequence[int], state: State, read: Callable[[int, int], Sequence[Record]]
) -> list[str | None]:
    """Return the wells of ids by the events that asked for them; None where there was no plate.

    read: returns the events after a number, at most so many of them.
    """
    numbers = sorted({int(state.asked.column("event")[id - 1]) for id in ids})
    asked = [record.event for number in numbers for record in read(number - 1, 1)]
    wells = {
        event.first + k: well
        for event in asked
        if isinstance(event, events.Asked)
        for k, well in enumerate(event.wells)
    }
    return [wells.get(id) for id in ids]


def asks_in_full(chosen: Iterable[Ask], state: State, now: dt.datetime) -> Columns:
    """Return asks as columns, with status, times, author and reason."""
    listed = list(chosen)
    return _columns(listed, ASKED_COLUMNS, state) | {"status": [a.status_at(now) for a in listed]}


def measurements(state: State, everything: bool) -> Columns:
    """Return the measurements as columns, in the order of recording; removed ones only with `everything`."""
    columns = measurement_columns(state.measurements if everything else state.standing, state)
    return with_words(columns, state.settings.words)


def measurement_columns(lines: Sequence[Measurement], state: State) -> Columns:
    """Return these measurements as columns, with their limits (None: a plain value) and standard errors."""
    return _columns(list(lines), (*MEASUREMENT_COLUMNS, "limits", "se"), state)


def with_words(columns: Columns, words: Words | None) -> Columns:
    """Return measurements as people write them: `<0.5`, `yes` or `B` as value, and a column se where there is one."""
    limits, errors = columns.pop("limits"), columns.pop("se")
    columns["value"] = [
        _value_text(value, ends, words) for value, ends in zip(columns["value"], limits, strict=True)
    ]
    if not any(errors):
        return columns
    return {name: x for key, column in columns.items() for name, x in (
        [(key, column), ("se", errors)] if key == "value" else [(key, column)]
    )}  # fmt: skip


def _value_text(value: float, limits: Sequence[float | None] | None, words: Words | None) -> Any:
    """Return a value as it is, a limit as text, and a number that stands for a word as that word."""
    if limits is not None:
        return str(Statement(*(x if end is None else end for x, end in zip(OPEN, limits, strict=True))))
    return value if words is None or math.isnan(value) else words.show(value)


def show_said(said: float | Reading, words: Words | None) -> str | None:
    """Return a measurement as people write it, without its standard error: `0.5`, `<0.5`, `yes` or `B`."""
    if isinstance(said, float):
        return None if math.isnan(said) else words.show(said) if words else cell_text(said)
    return show_said(said.low, words) if said.is_value else str(said.statement)


def entry_measurements(state: State, row: int, col: int) -> list[dict[str, Any]]:
    """Return the measurements of an entry as records: as they stand, and before corrections."""
    here = (state.measurements.column("row") == row) & (state.measurements.column("col") == col)
    return [
        {name: getattr(m, name) for name in ("number", "id", "value", "told_at", "who", "corrected", "limits", "se")}
        | {"before": [x if isinstance(x, float) else x.statement.value for x in m.before]}
        | {"text": text_column([m], state)[0], "before_text": [show_said(x, state.settings.words) for x in m.before]}
        for m in state.measurements.select(np.flatnonzero(here))
    ]  # fmt: skip


def text_column(lines: Iterable[Measurement], state: State) -> list[str | None]:
    """Return these measurements as people write them; None for those that were struck out."""
    said = (m.value if m.struck or m.reading is None else m.reading for m in lines)
    return [show_said(x, state.settings.words) for x in said]


def _columns(lines: Sequence[Ask | Measurement], names: tuple[str, ...], state: State) -> Columns:
    columns = {name: [getattr(line, name) for line in lines] for name in names}
    rows = [state.label_at("row", i) for i in columns["row"]]
    cols = [state.label_at("col", j) for j in columns["col"]]
    return columns | {"row": rows, "col": cols}


def mean_matrix(state: State) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the measured values as an m1 x m2 array: the mean of replicates, NaN where missing."""
    total, count = np.zeros(state.shape), np.zeros(state.shape)
    np.add.at(total, tuple(state.told), state.values)
    np.add.at(count, tuple(state.told), 1.0)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def wide(state: State, kind: FrameKind | None) -> Any:
    """Return the measured values as a wide table; what a cell says of several measurements: `wide_matrix`."""
    matrix = wide_matrix(state)
    if kind != "columns":
        return frames.Form(kind, state.row_labels, state.col_labels, state.settings.row_name).frame(matrix)
    return wide_columns(state, matrix.T.tolist())


def wide_columns(state: State, columns: Iterable[list[Any]]) -> Columns:
    """Return the columns of a matrix, which may lack the last rows and columns, by label; labels of rows first."""
    named = dict(zip(map(str, state.col_labels), columns, strict=False))
    first = state.settings.row_name or "row"
    while first in named:  # a column of the matrix is called so
        first += "_"
    m1 = len(next(iter(named.values()), ()))
    return {first: list(state.row_labels[:m1])} | named


def wide_matrix(state: State) -> Any:
    """Return the measured values as an m1 x m2 array: numbers, and text for limits, yes and no, and named grades.

    Repeated numbers are shown as their mean. Limits and classes have none: the same one repeatedly is shown once,
    different ones are all shown, as in `<0.5 | 0.7`, which no reader takes for a measurement.
    """
    matrix: Any = mean_matrix(state)
    low, high = state.ends
    classes = (low < high) | state.settings.likelihood.discrete
    if not classes.any():
        return matrix
    keys = state.told.keys(state.shape[1])
    chosen = np.flatnonzero(np.isin(keys, keys[classes]))
    said: dict[tuple[int, int], dict[Any, str | None]] = defaultdict(dict)
    for m in state.standing.select(chosen):
        shown = _value_text(m.value, m.limits, state.settings.words)
        said[m.row, m.col].setdefault(shown, show_said(m.reading or m.value, state.settings.words))
    cells = {
        entry: next(iter(texts)) if len(texts) == 1 else SEVERAL.join(map(str, texts.values()))
        for entry, texts in said.items()
    }
    matrix = matrix.astype(object) if any(isinstance(cell, str) for cell in cells.values()) else matrix
    for entry, cell in cells.items():
        matrix[entry] = cell
    return matrix


def history(records: Sequence[Record], state: State) -> Columns:
    """Return the events as columns, one line per event. Of corrections all earlier ones are needed to say what was."""
    lines, said = [], dict[int, str]()
    for number, at, who, event, _ in records:
        what = describe(event, state.settings.words)
        if isinstance(event, events.Corrected):
            what, said[event.number] = _describe_correction(event, state, said.get(event.number))
        lines.append((number, at, who, event.kind, what))
    return {name: [line[k] for line in lines] for k, name in enumerate(HISTORY_COLUMNS)}


def _describe_correction(event: events.Corrected, state: State, before: str | None) -> tuple[str, str]:
    """Say what a correction changed, of which entry, and what the measurement says now.

    before: what an earlier correction made of it, if there was one.
    """
    m, words, now = state.measurements[event.number - 1], state.settings.words, "struck out"
    if event.low is not None and event.high is not None:
        now = str(Statement(event.low, event.high))
    elif event.value is not None:
        now = words.show(event.value) if words else f"{event.value:g}"
    if before is None and m.before:
        before = show_said(m.before[0], words)
    entry = f"row {show(state.label_at('row', m.row))}, column {show(state.label_at('col', m.col))}"
    put = now if event.value is None else f"now {now}"
    was = "" if before is None else f", was {before}"
    return _with_reason(f"measurement {event.number} {put} ({entry}{was})", event.reason), now


# Reasons that are stored in words which are no longer true when somebody reads them, and what is said instead.
EARLIER_WORDS = {"initial design, nothing told yet": "initial design, before any value"}


def describe(event: Event, words: Words | None = None) -> str:
    """Describe an event in a few words; words: those that stand for the values."""
    match event:
        case events.Created(settings):
            kind = f", {settings.likelihood}" if settings.likelihood.is_special else ""
            goal = "" if settings.goal == "fill" else f", goal {settings.goal}"
            about = f"seed {settings.seed}, {settings.acquisition}{kind}{goal}"
            return f"{settings.shape[0]} x {settings.shape[1]}, {about}"
        case events.Asked():
            plate = f", a plate of {event.plate}" if event.plate else ""
            ids = _ids(range(event.first, event.first + len(event.rows)))
            return _with_reason(f"{ids}{plate}", EARLIER_WORDS.get(event.why, event.why))
        case events.Told():
            known = [id for id in event.ids if id is not None]
            free = len(event.ids) - len(known)
            return ", ".join(filter(None, (_ids(known), f"imported {count(free, 'value')}" if free else "")))
        case events.Failed(ids, reasons):
            return _with_reason(_ids(ids), "; ".join(dict.fromkeys(filter(None, reasons))))
        case events.Withdrawn(ids, reason):
            return _with_reason(_ids(ids), reason)
        case events.Renamed(name, before):
            return f"{show(before)} to {show(name)}"
        case events.Relabelled(labels, names):
            more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
            pairs = zip(labels[:5], names, strict=False)
            return ", ".join(f"{show(old)} to {show(new)}" for old, new in pairs) + more
        case events.Listed(labels):
            more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
            return ", ".join(show(x) for x in labels[:5]) + more
        case events.Changed(changes):
            return ", ".join(_setting(name, value) for name, value in changes.items())
        case other:
            return other.kind


def _ids(ids: Sequence[int] | range) -> str:
    if len(ids) < 2:
        return f"id {ids[0]}" if ids else ""
    run = list(ids) == list(range(ids[0], ids[-1] + 1))
    return f"ids {ids[0]} to {ids[-1]}" if run else f"{len(ids)} ids from {min(ids)} to {max(ids)}"


def _with_reason(what: str, reason: str) -> str:
    return f"{what}: {reason}" if reason else what


def _setting(name: str, value: Any) -> str:
    if name in ("range", "limits") and value is not None:
        return f"{name} = {describe_range(value)}"
    if value is None or (name == "costs" and not value.given):
        return f"{name} dropped"
    if name in ("row_features", "col_features"):
        return f"{name}: {value.describe()}"
    return f"{name} given" if name in ("mask", "costs", "weights") else f"{name} = {value}"


@dataclass(frozen=True)
class Status:
    """The status of a campaign. Counts are of entries; `measurements` counts replicates, too."""

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
    budget: float | None
    target_sd: float | None
    acquisition: str
    rank: int | str
    transform: str
    events: int
    created_at: dt.datetime
    changed_at: dt.datetime
    kind: str = "numbers"
    levels: list[str | int | float] | None = None  # the grades in their order
    limits: list[float | None] | None = None  # the ends of the scale, None for an open one
    at_limit: int = 0  # measurements that are limits or ranges, or lie at an end of the scale
    goal: str = "fill"
    enough: float | None = None
    weights: dict[str, float] | None = None  # of a ranking, by label; those not named count once
    row_features: dict[str, Any] | None = None  # n, how many, and names, of the first of them
    col_features: dict[str, Any] | None = None
    error_of: str = "measurement"  # what the expected error is of: measurement, entry, probability or grade
    notes: list[str] = field(default_factory=list)  # values that must be slips; units that a goal mixes

    @classmethod
    def from_state(cls, state: State, now: dt.datetime) -> Status:
        """Build the status of this state at this time."""
        counts = Counter(state.asked.statuses(now))
        settings = state.settings
        return cls(
            settings.name, *state.shape, len(state.standing), int(state.told_keys.size),
            counts["pending"], counts["expired"], counts["failed"], counts["withdrawn"], state.n_available(now),
            state.spent(now), settings.budget, settings.target_sd, settings.acquisition, settings.rank,
            settings.transform, state.version, state.created_at, state.changed_at, settings.kind,
            None if settings.levels is None else list(settings.levels),
            None if settings.limits is None else [x if math.isfinite(x) else None for x in settings.limits],
            int((state.ends[0] < state.ends[1]).sum()), settings.goal, settings.enough, _name_weights(settings),
            _name_features(settings.row_features), _name_features(settings.col_features), error_of(state),
            find_notes(state),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, with times as text."""
        return {k: v.isoformat() if isinstance(v, dt.datetime) else v for k, v in asdict(self).items()}

    def __str__(self) -> str:
        share = 100 * self.told / (self.rows * self.cols)
        again = self.measurements - self.told
        replicates = f" and {again} again" if again else ""
        spent = f"{self.spent:g}" + (f" of {self.budget:g}" if self.budget is not None else "")
        lost = [f"{n} {name}" for n, name in ((self.expired, "expired"), (self.failed, "failed"),
                                              (self.withdrawn, "withdrawn")) if n]  # fmt: skip
        events = "1 event" if self.events == 1 else f"{self.events} events"
        lines = [
            f"{self.name}: {self.rows} x {self.cols}, {self.told} entries told ({share:.3g}%){replicates}",
            ", ".join([f"  {self.pending} pending", *lost, f"{self.available} left to ask"]),
            *([f"  {kind}"] if (kind := describe_kind(self.to_dict())) else []),
            *([f"  goal: {goal}"] if (goal := describe_goal(self.to_dict())) else []),
            *([f"  features {known}"] if (known := describe_features(self.to_dict())) else []),
            *(f"  {note}" for note in self.notes),
            f"  spent {spent}, {self.acquisition}, rank {self.rank}, transform {self.transform}",
            f"  {events} from {_minute(self.created_at)} to {_minute(self.changed_at)}",
        ]
        return "\n".join(lines)


def error_of(state: State) -> str:
    """What the expected error is of: entries themselves where a known noise or replicates tell them from noise."""
    settings, told = state.settings, state.told.keys(state.shape[1])
    if settings.kind != "numbers":
        return "probability" if settings.kind == "yes/no" else "grade"
    split = settings.noise_sd is not None
    if not split and not settings.likelihood.weighted and told.size > state.told_keys.size:
        plain = state.ends[0] == state.ends[1]
        different = {
            *zip(told[plain].tolist(), state.values[plain].tolist(), strict=True)
        }  # copies tell nothing
        split = np.unique(told[plain]).size < len(different)
    return "entry" if split else "measurement"


def describe_kind(status: Mapping[str, Any]) -> str:
    """Say what the values of a campaign are, by its status, and how many are at a limit; "" for plain numbers."""
    kind, at = status["kind"], status["at_limit"]
    if kind != "numbers":
        return kind if status["levels"] is None else f"grades {', '.join(map(str, status['levels']))}"
    scale = "" if status["limits"] is None else f"numbers {describe_range(status['limits'])}"
    share = f"{at} of {count(status['measurements'], 'value')} at a limit" if at else ""
    return ", ".join(filter(None, (scale, share)))


def _name_weights(settings: Settings) -> dict[str, float] | None:
    if settings.weights is None:
        return None
    labels = settings.cols if settings.wanted.averaged == "column" else settings.rows
    return {str(label): w for label, w in zip(labels, settings.weights, strict=True) if w != 1}


def _name_features(table: FeatureTable | None) -> dict[str, Any] | None:
    return None if table is None else {"n": len(table.names), "names": list(table.names[:NAMES_SHOWN])}


def describe_features(status: Mapping[str, Any]) -> str:
    """Say what is known of rows and columns, by the status of a campaign; "" where nothing is."""
    parts = []
    for side in ("row", "col"):
        if known := status[f"{side}_features"]:
            names = ", ".join(shorten(name, 40) for name in known["names"])
            more = ", …" if known["n"] > len(known["names"]) else ""
            parts.append(f"of {'rows' if side == 'row' else 'columns'}: {known['n']} ({names}{more})")
    return "; ".join(parts)


def describe_goal(status: Mapping[str, Any]) -> str:
    """Say the goal of a campaign, by its status, with weights and when it is reached; "" where the table is filled."""
    if status["goal"] == "fill":
        return ""
    enough, shares = "", status["goal"].startswith(("rank", "threshold"))
    if (limit := status["enough"]) is not None:
        enough = f", until {percent(limit) if shares else f'{limit:g}'} is at stake"
    named = list((status["weights"] or {}).items())
    shown = ", ".join(f"{label} {weight:g}" for label, weight in named[:WEIGHTS_SHOWN])
    more = f" and {len(named) - WEIGHTS_SHOWN} more" if len(named) > WEIGHTS_SHOWN else ""
    return f"{status['goal']}{f', weights {shown}{more}' if named else ''}{enough}"


def describe_range(ends: Sequence[float | None]) -> str:
    """Say the ends of a scale, or of the values that are allowed: `from 0 to 100`, `from 0 on`, `up to 1`."""
    low, high = (None if x is None or math.isinf(x) else f"{x:g}" for x in ends)
    if low is None or high is None:
        return f"from {low} on" if high is None else f"up to {high}"
    return f"from {low} to {high}"


def _minute(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
