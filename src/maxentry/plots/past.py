"""How a campaign went: the expected error as measurements came in, surprises along the way, and the pace.

The expected error after n measurements needs a posterior of them. Fits from nothing (anchors, `campaign/fits.py`)
are one fit each instead of two, so points are taken there; each is kept as a number in the cache of the campaign, and
computed once. What was believed when entries were asked for is in the events, and costs nothing.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from maxentry.errors import ParameterError
from maxentry.plots.colours import BLUE, GREEN, GREY, PURPLE, VERMILLION
from maxentry.plots.records import Array, Chart, Panel, Series
from maxentry.plots.subject import Subject
from maxentry.plots.words import counted

POINTS = 8
NEAR = 0.9  # of all that was told: an anchor beyond would be beside the last point
FILE = "expected_errors.json"


def history(subject: Subject, points: int = POINTS) -> Chart:
    """The expected error at some moments and how far off the predictions of asked entries were; entries over time."""
    if subject.state is None:
        raise ParameterError("expected a Campaign, which has a history, but a Posterior came.")
    if isinstance(points, bool) or not isinstance(points, int) or points < 0:
        raise ParameterError(f"expected a whole number of points from 0 on, but {points!r} came.")
    panels = [_error_panel(subject, points), _pace(subject)]
    told, events = len(subject.state.standing), subject.state.version
    note = f"{counted(told, 'measurement')} in {counted(events, 'event')}"
    kept = tuple(panel for panel in panels if panel.series)
    return Chart(subject.headed("History"), note if kept else "nothing has happened yet", kept)


def _error_panel(subject: Subject, points: int) -> Panel:
    state = subject.state
    assert state is not None
    numbers = moments(subject, points)
    errors = [expected_error(subject, n) for n in numbers]
    said = tuple(f"{n} told: {e:.3g}" for n, e in zip(numbers, errors, strict=True))
    told = np.array(numbers, dtype=np.float64)
    name = "expected error of the matrix"
    series = [Series(name, told, np.array(errors), kind="line and dots", color=BLUE, labels=said)]
    at, missed, believed = surprises(subject)
    if at.size:
        series += [
            Series("how far off asked entries were", at, missed, kind="dots", color=VERMILLION),
            Series("what was expected of that", at, believed, kind="dots", color=PURPLE),
        ]
    if state.settings.target_sd is not None and series[0].y.size:
        ends = np.array([float(numbers[0]), float(numbers[-1])])
        target = np.full(2, state.settings.target_sd)
        series.append(Series("target", ends, target, color=GREY, dashes="dotted"))
    return Panel(
        "error and surprises",
        "measurements told",
        subject.measured_in("error (root mean square)" if not subject.unit else "error"),
        tuple(s for s in series if len(s.y)),
        from_zero=True,
    )


def moments(subject: Subject, points: int) -> list[int]:
    """Numbers of measurements that are anchors, and that of all; at most so many, none where too few are told."""
    from maxentry.campaign.fits import FIRST_ANCHOR, anchor

    state = subject.state
    assert state is not None
    n, least = len(state.standing), max(FIRST_ANCHOR, max(state.shape) / 2)
    if points == 0 or len(state.told_keys) < max(state.shape) / 2 or n == 0:
        return []
    anchors: list[int] = []
    a = anchor(max(int(NEAR * n), 1))
    while a >= least:
        anchors.insert(0, a)
        a = anchor(a - 1)
    keep = np.unique(np.linspace(0, len(anchors) - 1, min(points - 1, len(anchors))).astype(int))
    return [*(anchors[k] for k in keep), n]


def expected_error(subject: Subject, n: int) -> float:
    """The expected error of the matrix as it is now, given the first n measurements; from the cache if it is there."""
    from maxentry.campaign import fits, stop

    state, campaign = subject.state, subject.campaign
    assert state is not None
    assert campaign is not None
    now = n == len(state.standing)
    name = _name(subject, n)
    if (known := _kept(campaign.cache).get(name)) is not None:
        return known
    then = state if now else replace(state, measurements=state.standing[:n])
    # Only the latest fit goes into the campaign's cache, which holds a few: the others would push out what `ask` needs.
    posterior = subject.posterior if now else fits.posterior(then, None)
    error = stop.expected_error(then, posterior)
    _keep(campaign.cache, name, error)
    return error


def _name(subject: Subject, n: int) -> str:
    """A name for all that the number depends on."""
    from maxentry.campaign.fits import LAW

    state = subject.state
    assert state is not None
    s = state.settings
    model = [LAW, s.seed, s.rank, s.noise, s.effects, s.priors, s.transform, *state.shape, n]
    digest = hashlib.sha256(json.dumps(model).encode())
    for array in (state.told.rows[:n], state.told.cols[:n], state.values[:n]):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]


def _kept(cache: object) -> dict[str, float]:
    if isinstance(cache, Path):
        with contextlib.suppress(OSError, ValueError):
            found = json.loads((cache / FILE).read_text())
            return {str(k): float(v) for k, v in found.items()} if isinstance(found, dict) else {}
    return {}


def _keep(cache: object, name: str, error: float) -> None:
    """Keep the number; a folder that cannot be written is no misfortune."""
    if isinstance(cache, Path):
        with contextlib.suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            draft = cache / f"{FILE}.{name}"
            draft.write_text(json.dumps(_kept(cache) | {name: error}))
            draft.replace(cache / FILE)


def surprises(subject: Subject) -> tuple[Array, Array, Array]:
    """By event of telling: measurements told by then, how far values were from what was believed, and sd believed."""
    state = subject.state
    assert state is not None
    groups: dict[int, list[tuple[float, float]]] = defaultdict(list)
    told: dict[int, int] = {}
    noise = None
    for count, m in enumerate(state.standing, start=1):
        told[m.event] = count
        ask = None if m.id is None else state.asked[m.id]
        if ask is not None and np.isfinite(ask.sd):
            if noise is None:
                noise = _noise(subject)
            groups[m.event].append((m.value - ask.mean, ask.sd**2 + noise**2))
    events = list(groups)
    rms = np.array([np.sqrt(np.mean([d * d for d, _ in groups[e]])) for e in events])
    sd = np.array([np.sqrt(np.mean([v for _, v in groups[e]])) for e in events])
    return np.array([told[e] for e in events], dtype=np.float64), rms, sd


def _noise(subject: Subject) -> float:
    """The sd of a measurement in the user's units; on another scale its typical size there."""
    posterior, transform = subject.posterior, subject.transform
    middle = transform.forward(np.median(subject.told[1]))
    up, down = (float(transform.inverse(middle + side * posterior.noise_sd)) for side in (1, -1))
    return (up - down) / 2


def _pace(subject: Subject) -> Panel:
    """Entries asked and told, over time."""
    state = subject.state
    assert state is not None
    moments: tuple[tuple[str, list[dt.datetime], str, str], ...] = (
        ("asked for", [a.asked_at for a in state.asked.values()], BLUE, "dashed"),
        ("told", [m.told_at for m in state.standing], GREEN, "solid"),
    )
    series = []
    for name, times, color, dashes in moments:
        if times:
            at = sorted(times)
            counts = np.arange(1.0, len(at) + 1)
            last = np.array([k + 1 == len(at) or at[k + 1] > at[k] for k in range(len(at))])
            steps = [at[0], *(t for t, keep in zip(at, last, strict=True) if keep), max(subject.now, at[-1])]
            heights = np.concatenate([[0.0], counts[last], [counts[-1]]])
            series.append(Series(name, steps, heights, kind="steps", color=color, dashes=dashes))  # type: ignore[arg-type]
    return Panel("pace", "time (UTC)", "entries", tuple(series), from_zero=True)
