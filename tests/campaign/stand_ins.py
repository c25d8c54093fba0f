"""A policy without a model, a clock that is set by hand, and other helpers of the campaign tests."""

from __future__ import annotations

import datetime as dt
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.belief import Entries
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import State
from maxentry.campaign.storage import Storage

START = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


class Chosen(NamedTuple):
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    gain: NDArray[np.float64]
    cost: NDArray[np.float64]
    why: str


def uniform(state: State, n: int, now: dt.datetime, **_: Any) -> Chosen:
    """n available entries at random, by the seed and the number of the last event."""
    m2 = state.shape[1]
    mask = np.ones(state.shape, dtype=bool) if state.mask is None else state.mask
    available = np.setdiff1d(np.flatnonzero(mask), state.taken_keys(now))
    rng = np.random.default_rng([state.settings.seed, state.version])
    return chosen(state, Entries.from_keys(rng.permutation(available)[:n], m2))


def lowest(state: State, n: int, now: dt.datetime, **_: Any) -> Chosen:
    """The first n available entries, so that all who ask at once choose the same."""
    available = np.setdiff1d(np.arange(state.shape[0] * state.shape[1]), state.taken_keys(now))
    return chosen(state, Entries.from_keys(available[:n], state.shape[1]))


def chosen(state: State, entries: Entries, why: str = "as good as any") -> Chosen:
    unknown = np.full(len(entries.rows), np.nan)
    return Chosen(*entries, unknown, unknown, unknown, state.costs.at(*entries), why)


@dataclass
class Clock:
    now: dt.datetime = field(default=START)

    def __call__(self) -> dt.datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def campaign(where: str | Path = "sqlite://", rows: Any = 4, cols: Any = 5, **options: Any) -> Campaign:
    given = {"name": "kinase", "seed": 1, "policy": uniform} | options
    return Campaign.create(where, rows=rows, cols=cols, **given)


def write_digests(path: Path) -> None:
    """Write the digests of all events in a file again, as if they had been written as they are now."""
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE maxentry_events DROP COLUMN digest")
        for column in ("last_number", "last_digest"):
            connection.execute(f"ALTER TABLE maxentry_campaigns DROP COLUMN {column}")
        connection.execute("UPDATE maxentry_schema SET version = 2")
    connection.close()
    Storage(path).close()


def snapshot(state: State) -> dict[str, Any]:
    """All of a state as plain data, to compare."""
    return {
        "settings": state.settings.to_json(),
        "version": state.version,
        "asked": {id: _plain(ask) for id, ask in state.asked.items()},
        "measurements": [_plain(m) for m in state.measurements],
    }


def _plain(record: Any) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in record._asdict().items()}
