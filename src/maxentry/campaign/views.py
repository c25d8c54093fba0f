"""Tables of a campaign for users: asks, measurements and history as columns or frames, and its status."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxentry import frames
from maxentry.campaign import events
from maxentry.campaign.events import Event, Record
from maxentry.campaign.ledger.tables import Ask, Measurement
from maxentry.campaign.state import State
from maxentry.cells import Statement, Words
from maxentry.errors import is_choice
from maxentry.labels import show

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

Columns = dict[str, list[Any]]
FrameKind = Literal["pandas", "polars", "columns"]
ASK_COLUMNS = ("id", "row", "col", "mean", "sd", "gain", "cost")
ASKED_COLUMNS = (*ASK_COLUMNS, "status", "asked_at", "expires_at", "who", "reason")
MEASUREMENT_COLUMNS = ("number", "id", "row", "col", "value", "told_at", "who", "corrected")
OPEN = (-math.inf, math.inf)
HISTORY_COLUMNS = ("event", "at", "who", "kind", "what")


def as_frame(columns: Columns, kind: FrameKind | None) -> Any:
    """Return the columns as a pandas or polars frame (None: whichever is installed), or unchanged."""
    return columns if is_choice(kind, ("columns",)) else frames.make_frame(columns, kind)


def check_frame(kind: FrameKind | None) -> None:
    """Refuse an unknown kind of frame, or one whose library is not installed."""
    if kind is not None:
        as_frame({}, kind)


def convert_maps(posterior: Posterior, kind: FrameKind | None) -> Posterior:
    """Return the posterior with maps as frames of this kind; unchanged for None and "columns"."""
    return posterior if kind is None or kind == "columns" else posterior.framed(kind)


def asks(chosen: Iterable[Ask], state: State) -> Columns:
    """Return asks as columns: id, row, col and predictions."""
    return _columns(list(chosen), ASK_COLUMNS, state)


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


def _columns(lines: Sequence[Ask | Measurement], names: tuple[str, ...], state: State) -> Columns:
    columns = {name: [getattr(line, name) for line in lines] for name in names}
    rows = [state.row_labels[i] for i in columns["row"]]
    cols = [state.col_labels[j] for j in columns["col"]]
    return columns | {"row": rows, "col": cols}


def mean_matrix(state: State) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the measured values as an m1 x m2 array: the mean of replicates, NaN where missing."""
    total, count = np.zeros(state.shape), np.zeros(state.shape)
    np.add.at(total, tuple(state.told), state.values)
    np.add.at(count, tuple(state.told), 1.0)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def wide(state: State, kind: FrameKind | None) -> Any:
    """Return the measured values as a wide table: replicates as their mean, a limit as text unless it has others."""
    matrix: Any = mean_matrix(state)
    beside, words = state.standing.beside, state.settings.words
    shown = np.ones(len(state.values), dtype=bool)  # as text, where an entry has no other measurement
    if words is None:
        shown = beside["low"] < beside["high"] if beside else ~shown
    if shown.any():
        matrix, keys = matrix.astype(object), state.told.keys(state.shape[1])
        distinct, times = np.unique(keys, return_counts=True)
        single = times[np.searchsorted(distinct, keys)] == 1
        for m in state.standing.select(np.flatnonzero(shown & single)):
            matrix[m.row, m.col] = _value_text(m.value, m.limits, words)
    if kind != "columns":
        return frames.Form(kind, state.row_labels, state.col_labels).frame(matrix)
    named = dict(zip(map(str, state.col_labels), matrix.T.tolist(), strict=True))
    return {"row": list(state.row_labels)} | named


def history(records: Sequence[Record]) -> Columns:
    """Return the events as columns, one line per event."""
    created = [r.event.settings.words for r in records if isinstance(r.event, events.Created)]
    words = created[0] if created else None
    lines = [(r.number, r.at, r.who, r.event.kind, describe(r.event, words)) for r in records]
    return {name: [line[k] for line in lines] for k, name in enumerate(HISTORY_COLUMNS)}


def describe(event: Event, words: Words | None = None) -> str:
    """Describe an event in a few words; words: those that stand for the values."""
    match event:
        case events.Created(settings):
            return f"{settings.shape[0]} x {settings.shape[1]}, seed {settings.seed}, {settings.acquisition}"
        case events.Asked():
            return _with_reason(_ids(range(event.first, event.first + len(event.rows))), event.why)
        case events.Told():
            known = [id for id in event.ids if id is not None]
            free = len(event.ids) - len(known)
            return ", ".join(part for part in (_ids(known), f"{free} not asked for" if free else "") if part)
        case events.Corrected(number, value, reason, low, high):
            now = ""
            if low is not None and high is not None:
                now = str(Statement(low, high))
            elif value is not None:
                now = words.show(value) if words else f"{value:g}"
            put = "struck out" if value is None else f"now {now}"
            return _with_reason(f"measurement {number} {put}", reason)
        case events.Failed(ids, reasons):
            return _with_reason(_ids(ids), "; ".join(dict.fromkeys(filter(None, reasons))))
        case events.Withdrawn(ids, reason):
            return _with_reason(_ids(ids), reason)
        case events.Added(labels):
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
    return f"{name} given" if name in ("mask", "costs") and value is not None else f"{name} = {value}"


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

    @classmethod
    def from_state(cls, state: State, now: dt.datetime) -> Status:
        """Build the status of this state at this time."""
        counts = Counter(state.asked.statuses(now))
        settings = state.settings
        return cls(
            settings.name, *state.shape, len(state.standing), int(state.told_keys.size),
            counts["pending"], counts["expired"], counts["failed"], counts["withdrawn"], state.n_available(now),
            state.spent(now), settings.budget, settings.target_sd, settings.acquisition, settings.rank,
            settings.transform, state.version, state.created_at, state.changed_at,
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
            f"  spent {spent}, {self.acquisition}, rank {self.rank}, transform {self.transform}",
            f"  {events} from {_minute(self.created_at)} to {_minute(self.changed_at)}",
        ]
        return "\n".join(lines)


def _minute(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M UTC")
