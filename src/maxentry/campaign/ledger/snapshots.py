"""Snapshots: the state of a long campaign in a file beside its cached fits, so that opening it reads only later events.

A snapshot is a cache: it may be deleted at any time. It names the event it was taken after and that event's digest,
which stands for all events up to it. If the storage has another digest there, or the file cannot be read, the snapshot
is ignored and all events are replayed.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from maxentry import labels as label_codec
from maxentry._io import write_atomically
from maxentry.campaign.ledger.former import NO_FORMER, FormerLabels
from maxentry.campaign.ledger.tables import (
    ASK_TYPES,
    MEASUREMENT_TYPES,
    Asks,
    Authors,
    Measurements,
    make_columns,
)
from maxentry.campaign.settings import Settings
from maxentry.campaign.state import State
from maxentry.labels import Labels
from maxentry.readings import Reading

FORMAT = 1  # of the file; increase it when it changes, or when the same events give another state
WITH_READINGS = 3  # where there are or were limits or standard errors, which format 1 does not know
WITH_REMOVED = 5  # where rows or columns were removed; format 4 may have an n_initial beyond what is left
WITH_FORMER = 6  # where rows or columns were renamed


def save(state: State, file: Path, mark: str) -> None:
    """Write a snapshot of the campaign with the uuid `mark`. Ignore a folder that cannot be written."""
    if state.digest is None:
        return
    about = {
        "format": _choose_format(state),
        "uuid": mark,
        "version": state.version,
        "digest": state.digest,
        "created_at": state.created_at.isoformat(),
        "changed_at": state.changed_at.isoformat(),
        "leaps": [[before.isoformat(), after.isoformat()] for before, after in state.leaps],
        "settings": state.settings.to_json(),
        "removed": [label_codec.encode(labels) for labels in state.removed],
        "former": [_write_former(known) for known in (state.former.rows, state.former.cols)],
        "authors": [[who, _offset(zone)] for who, zone in list(state.asked.authors.known)],
        "reasons": list(state.asked.reasons.items()),
        "before": list(state.measurements.before.items()),
        "readings": [[number, *reading] for number, reading in state.measurements.readings.items()],
    }
    arrays = {f"ask_{name}": state.asked.column(name) for name in ASK_TYPES}
    arrays |= {f"told_{name}": state.measurements.column(name) for name in MEASUREMENT_TYPES}
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with contextlib.suppress(OSError, ValueError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(file) as draft, draft.open("wb") as stream:
            np.savez(stream, about=text, **arrays)  # type: ignore[arg-type]


def load(file: Path, mark: str) -> State | None:
    """Read the snapshot of the campaign with the uuid `mark`; None if it is another one's or cannot be read."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return _read(dict(arrays), mark)
    except Exception:  # whatever is wrong with a file of the cache, there are the events
        return None


def _read(arrays: dict[str, Any], mark: str) -> State | None:
    about = json.loads(arrays["about"].tobytes())
    known = about["format"] in (FORMAT, WITH_READINGS, WITH_REMOVED, WITH_FORMER) and about["uuid"] == mark
    if not known or not isinstance(about["digest"], str):
        return None
    authors = Authors((who, _zone(seconds)) for who, seconds in about["authors"])
    asks = make_columns({name: arrays[f"ask_{name}"] for name in ASK_TYPES}, ASK_TYPES)
    told = make_columns({name: arrays[f"told_{name}"] for name in MEASUREMENT_TYPES}, MEASUREMENT_TYPES)
    moment = dt.datetime.fromisoformat
    return State(
        Settings.from_json(about["settings"]),
        int(about["version"]),
        moment(about["created_at"]),
        moment(about["changed_at"]),
        Asks(asks, {int(id): str(reason) for id, reason in about["reasons"]}, authors),
        Measurements(
            told,
            {int(k): tuple(map(_said, values)) for k, values in about["before"]},
            authors,
            {int(k): Reading(*map(float, reading)) for k, *reading in about.get("readings", ())},
        ),
        about["digest"],
        tuple((moment(before), moment(after)) for before, after in about["leaps"]),
        _read_removed(about.get("removed")),
        FormerLabels(*map(_read_former, about.get("former", ()))),
    )


def _choose_format(state: State) -> int:
    """Return the lowest format that has all of this state."""
    if state.former != NO_FORMER:
        return WITH_FORMER
    if any(state.removed):
        return WITH_REMOVED
    return WITH_READINGS if _has_readings(state.measurements) else FORMAT


def _read_removed(stored: Any) -> tuple[Labels, Labels]:
    rows, cols = ((), ()) if stored is None else (tuple(label_codec.decode(x) or ()) for x in stored)
    return rows, cols


def _write_former(known: Mapping[str, Any]) -> list[Any]:
    """Return former labels as JSON data: their text, and the labels now, or null."""
    return [[text, now if now is None else label_codec.encode((now,))] for text, now in known.items()]


def _read_former(stored: Any) -> dict[str, Any]:
    return {text: now if now is None else (label_codec.decode(now) or ())[0] for text, now in stored}


def _has_readings(known: Measurements) -> bool:
    return bool(known.readings) or any(isinstance(x, Reading) for said in known.before.values() for x in said)


def _said(stored: Any) -> float | Reading:
    return Reading(*map(float, stored)) if isinstance(stored, list) else float(stored)


def _offset(zone: dt.tzinfo) -> float:
    offset = zone.utcoffset(None)
    return 0.0 if offset is None else offset.total_seconds()


def _zone(seconds: float) -> dt.tzinfo:
    return dt.timezone(dt.timedelta(seconds=seconds)) if seconds else dt.UTC
