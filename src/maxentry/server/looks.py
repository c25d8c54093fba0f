"""What the dashboard is shown beside the rest, and its forms in OpenAPI. Nothing here knows of HTTP."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from maxentry.campaign import outlook as outlook_
from maxentry.campaign import policy
from maxentry.campaign.policy import Plates
from maxentry.campaign.state import State
from maxentry.progress import Watch
from maxentry.server import views
from maxentry.server.answers import Answer, AskedEntry, FitAnswer, Number
from maxentry.server.lab import Opened
from maxentry.server.plain import labels, plain
from maxentry.server.requests import Label
from maxentry.summary.reasons import reasons

Plain = dict[str, Any]
REASONED = 200  # entries whose reasons are looked for at once
LISTED = 10_000  # entries of one answer


class Access(Answer):
    """What whoever asks may do."""

    may: Literal["read", "write"]


class Reasons(Answer):
    """Why an entry is worth measuring.

    mean_now, sd_now: what the last fit believes. sd_ratio: its sd, in units of the typical one. row_coherence,
    col_coherence: in units of the average. teaches: by which share of it measuring this alone would lower the variance
    of the matrix; teaches_itself, teaches_row, teaches_col: how much of that is its own, of the others of its row and
    of its column. row_told, col_told: measurements there. Null where no fit knows.
    """

    mean_now: Number
    sd_now: Number
    sd_ratio: Number
    row_coherence: Number
    col_coherence: Number
    teaches: Number
    teaches_itself: Number
    teaches_row: Number
    teaches_col: Number
    row_told: int
    col_told: int


class PendingEntry(AskedEntry, Reasons):
    """An entry that is waited for, where it is, and why it was asked for."""

    i: int
    j: int


class Pending(Answer):
    """What is waited for."""

    fit: FitAnswer | None
    total: int
    items: list[PendingEntry]


class NextEntry(Reasons):
    """An entry that would be asked for."""

    row: Label
    col: Label
    i: int
    j: int
    mean: Number
    sd: Number
    gain: Number
    cost: float


class Next(Answer):
    """The entries that would be asked for; why these, or why none; what they would change, once there is a fit.

    version: the campaign's, of which this is told.
    total: how many they are, of which the first 10,000 are here, and the first 200 with all their reasons.
    """

    version: int
    why: str
    total: int
    entries: list[NextEntry]
    outlook: dict[str, Number] | None


class Point(Answer):
    """The expected error after so many measurements, and when the last of them was told."""

    measurements: int
    error: Number
    at: str


class CurveAnswer(Answer):
    """The points at hand, and how many more the whole curve needs."""

    points: list[Point]
    missing: int
    target_sd: Number


def pending(opened: Opened) -> Plain:
    """The first entries that are waited for, with reasons."""
    state = opened.campaign.state
    now = opened.campaign._now(state)
    waiting = state.pending_asks(now)
    chosen = waiting[:REASONED]
    fit = opened.fits.latest(state) if state.standing else None
    rows, cols = (np.array([getattr(a, side) for a in chosen], dtype=np.int64) for side in ("row", "col"))
    why = reasons(state, None if fit is None else fit.posterior, rows, cols)
    items = [
        line | more._asdict() | {"i": a.row, "j": a.col}
        for line, more, a in zip(views.asked(chosen, state, now), why, chosen, strict=True)
    ]
    return {"fit": None if fit is None else views.fit_of(fit), "total": len(waiting), "items": items}


def upcoming(opened: Opened, n: int, plates: Plates | None, watch: Watch) -> Plain:
    """What `ask` would hand out now; progress of the fit that it may need goes to `watch`."""
    campaign = opened.campaign
    state = campaign.state
    given = {"plates": plates, "per_row": None, "per_col": None}
    now, limits = campaign._now(state), policy.limits(given, state.settings)
    batch = policy.next_batch(state, n, now, **limits, cache=campaign.cache, progress=watch)  # type: ignore[arg-type]
    known = opened.fits.at_hand(state) if state.standing else None
    rows, cols = batch.rows[:LISTED], batch.cols[:LISTED]
    why = reasons(state, None if known is None else known.posterior, rows[:REASONED], cols[:REASONED])
    why += reasons(state, None, rows[REASONED:], cols[REASONED:])
    found = [
        {
            "row": labels([state.row_labels[i]])[0],
            "col": labels([state.col_labels[j]])[0],
            "i": i,
            "j": j,
            **{name: plain(float(getattr(batch, name)[k])) for name in ("mean", "sd", "gain", "cost")},
            **why[k]._asdict(),
        }
        for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True))
    ]
    has_outlook = known is not None and policy.design_phase(state, now) is None
    ahead = outlook_.outlook(state, known.posterior, batch, now).to_dict() if known and has_outlook else None
    return {
        "version": state.version,
        "why": batch.why,
        "total": len(batch.rows),
        "entries": found,
        "outlook": plain(ahead),
    }


def curve(opened: Opened, state: State | None = None) -> Plain:
    """The points of the curve that are at hand."""
    state = opened.campaign.state if state is None else state
    return {
        "points": plain([point._asdict() for point in opened.curve.points(state)]),
        "missing": len(opened.curve.missing(state)),
        "target_sd": state.settings.target_sd,
    }
