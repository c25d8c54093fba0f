"""What the server shows: states, posteriors and jobs as plain data. Nothing here knows of HTTP."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maxentry.campaign import events, views
from maxentry.campaign.events import Record
from maxentry.campaign.state import Ask, Measurement, State
from maxentry.campaign.views import Columns, Status
from maxentry.cells import Lookup
from maxentry.posterior.posterior import Posterior
from maxentry.server.fits import Fit
from maxentry.server.lab import Opened
from maxentry.server.plain import labels, lines, plain

Plain = dict[str, Any]


def status(opened: Opened) -> Plain:
    """Where a campaign stands: counts, sums and the settings that matter most."""
    return {"id": opened.id, **plain(opened.campaign.status().to_dict())}


def settings(state: State) -> Plain:
    """The settings; of mask and costs only whether there are any, since they are as large as the matrix."""
    known = state.settings
    left_out = ("rows", "cols", "mask", "costs")
    found = {name: value for name, value in vars(known).items() if name not in left_out}
    return {
        **plain(found),
        "shape": list(known.shape),
        "has_mask": known.mask is not None,
        "has_costs": known.costs.given,
    }


def axes(state: State) -> Plain:
    """The labels of rows and columns."""
    return {"rows": labels(state.row_labels), "cols": labels(state.col_labels)}


def asked(chosen: Iterable[Ask], state: State, now: dt.datetime) -> list[Plain]:
    """Entries that were asked for, when and by whom, and what became of them."""
    return lines(views.asks_in_full(chosen, state, now))


def batch(ids: Iterable[int], state: State) -> list[Plain]:
    """Entries as `ask` hands them out."""
    return lines(views.asks([state.asked[id] for id in ids], state))


def measured(told: Iterable[Measurement], state: State) -> list[Plain]:
    """Values that were told, when and by whom."""
    return lines(views.measurements(replace(state, measurements=tuple(told)), True))


def matrix(state: State) -> Plain:
    """What was told as a matrix, null where nothing was."""
    return {**axes(state), "values": plain(views.matrix(state))}


def history(records: Sequence[Record]) -> list[Plain]:
    """What happened, one line an event."""
    return lines(views.history(records))


def raw_events(records: Sequence[Record]) -> list[Plain]:
    """Events as they are kept, so that others can add them up themselves."""
    return [
        {
            "number": r.number,
            "at": r.at.isoformat(),
            "who": r.who,
            "kind": r.event.kind,
            "payload": json.loads(events.write(r.event)),
        }
        for r in records
    ]


# Posteriors


def fit_of(fit: Fit) -> Plain:
    """Of what a posterior knows."""
    return {"version": fit.version, "current": fit.current, "measurements": fit.posterior.observations.n}


def posterior(fit: Fit) -> Plain:
    """What was found about the model."""
    found, diagnostics = fit.posterior, fit.posterior.diagnostics
    return {
        "fit": fit_of(fit),
        "shape": list(found.shape),
        "rank": found.rank,
        "rank_weights": plain(found.rank_weights),
        "noise_sd": plain(found.noise_sd),
        "noise_df": plain(found.noise_df),
        "transform": str(found.transform),
        "chains": diagnostics.n_chains,
        "draws": diagnostics.n_draws,
        "converged": bool(diagnostics.converged),
        "median_rhat": plain(diagnostics.median_rhat),
        "advice": str(diagnostics.advice),
        "summary": repr(found),
    }


def positions(state: State, rows: list[Any], cols: list[Any]) -> tuple[list[int], list[int]]:
    """Entries by position, from labels, or from text that reads like one."""
    row, col = Lookup(state.row_axis), Lookup(state.col_axis)
    return [row.find(x) for x in rows], [col.find(x) for x in cols]


def predicted(found: Posterior, state: State, i: list[int], j: list[int], level: float) -> list[Plain]:
    """Mean, sd and intervals of entries."""
    prediction = found.predict([state.row_labels[k] for k in i], [state.col_labels[k] for k in j], level)
    names = ("mean", "sd", "low", "high", "new_low", "new_high")
    columns: Columns = {"row": list(prediction.rows), "col": list(prediction.cols)}
    return lines(columns | {name: getattr(prediction, name).ravel().tolist() for name in names})


def entry(opened: Opened, state: State, i: int, j: int) -> Plain:
    """All that is known of one entry without a model: what was asked and told of it."""
    now = opened.campaign._now(state)
    told = [m for m in state.measurements if (m.row, m.col) == (i, j)]
    asks = [a for a in state.asked.values() if (a.row, a.col) == (i, j)]
    known = state.settings.mask
    row, col = labels([state.row_labels[i]])[0], labels([state.col_labels[j]])[0]
    return {
        "row": row,
        "col": col,
        "may_be_measured": bool(known is None or known[i, j]),
        "cost": float(state.costs.at(_one(i), _one(j))[0]),
        "measurements": [
            {"number": m.number, "id": m.id, "value": plain(m.value), "told_at": m.told_at.isoformat(),
             "who": m.who, "corrected": m.corrected, "before": plain(m.before)}
            for m in told
        ],
        "asks": asked(asks, state, now),
    }  # fmt: skip


def told_and_believed(opened: Opened, state: State, i: int, j: int, level: float) -> Plain:
    """All that is known of one entry; what is believed of it is by the last fit at hand, null before there is one."""
    fit = opened.fits.latest(state) if state.standing else None
    found = entry(opened, state, i, j)
    inside = fit is not None and i < fit.posterior.shape[0] and j < fit.posterior.shape[1]
    if fit is None or not inside:
        return {**found, "fit": None, "believed": None}
    believed = predicted(fit.posterior, state, [i], [j], level)[0]
    return {**found, "fit": fit_of(fit), "believed": believed}


def _one(k: int) -> Any:
    import numpy as np

    return np.array([k])


def in_short(opened: Opened) -> Plain:
    """A campaign in a list."""
    found: Status = opened.campaign.status()
    names = ("rows", "cols", "told", "pending", "available", "events")
    return {"id": opened.id, "name": found.name, **{name: getattr(found, name) for name in names},
            "changed_at": found.changed_at.isoformat()}  # fmt: skip
