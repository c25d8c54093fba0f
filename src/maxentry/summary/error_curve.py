"""How a campaign went: the expected error as measurements came in, and how far off its predictions were.

The expected error after n measurements needs a posterior of the first n. Points lie where a `tell` ended: an import of
a whole file is one point, since the order of its lines is no history. Of many tells some are shown, evenly spaced by
the logarithm of n, with a preference for anchors (`campaign/fits.py`), which cost one fit instead of two. One point is
its `expected_error`; each is computed once and kept in the cache. Predictions of asked entries are in the events.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxentry._io import write_atomically
from maxentry._types import Array

if TYPE_CHECKING:
    from maxentry.campaign.ledger.tables import Ask, Measurement
    from maxentry.campaign.state import State
    from maxentry.posterior.posterior import Posterior


POINTS = 8  # of a curve
NEAR = 0.9  # of all measurements: of many tells, one beyond would stand beside the last point
LATEST_TELLS = 200  # at which a known point is looked for
FILE = "expected_errors.json"


class ErrorPoint(NamedTuple):
    """The expected error after so many measurements, and when the last of them was told."""

    measurements: int
    error: float
    at: dt.datetime


class ErrorCurve:
    """The expected errors of one campaign that are known, in memory and in the folder of its cache, if it has one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, state: State, posterior: Posterior) -> None:
        """Add the point of this state, whose posterior is at hand."""
        from maxentry.campaign import fits  # here, since loading the sampler takes its time

        error = fits.expected_error(state, posterior)
        with self._lock:
            self._known[_key(state, len(state.standing))] = error
            if self._folder is not None:
                with contextlib.suppress(OSError):  # it is only a cache
                    self._folder.mkdir(parents=True, exist_ok=True)
                    with write_atomically(self._folder / FILE) as draft:
                        draft.write_text(json.dumps(self._read()))

    def points(self, state: State) -> list[ErrorPoint]:
        """The points known by now, the first first; computes none."""
        ends = list(state.sizes_by_event.values())
        return self.points_at(state, sorted({*ends[-LATEST_TELLS:], *curve_sizes(state)}))

    def points_at(self, state: State, sizes: list[int]) -> list[ErrorPoint]:
        """Those known at these numbers of measurements."""
        known = self._read()
        errors = ((n, known.get(_key(state, n))) for n in sizes)
        return [
            ErrorPoint(n, error, state.standing[n - 1].told_at) for n, error in errors if error is not None
        ]

    def missing(self, state: State, points: int = POINTS) -> list[int]:
        """Numbers of measurements at which a curve of so many points needs another fit."""
        known = self._read()
        return [n for n in curve_sizes(state, points) if _key(state, n) not in known]

    def complete(
        self, state: State, latest: Callable[[], Posterior], points: int = POINTS, progress: Any = None
    ) -> None:
        """Compute the missing points, the last first; `latest` returns the posterior of all measurements."""
        from maxentry.campaign import fits

        memory = (
            fits.Memory()
        )  # not the campaign's cache, where old fits would push out those that `ask` needs
        for n in reversed(self.missing(state, points)):
            if n == len(state.standing):
                self.add(state, latest())
            else:
                then = replace(state, measurements=state.standing[:n])
                self.add(then, fits.fit_posterior(then, memory, progress=progress))

    def _read(self) -> dict[str, float]:
        if self._folder is not None:
            with contextlib.suppress(OSError, ValueError):  # the file is a cache: without it, compute again
                stored = json.loads((self._folder / FILE).read_text())
                if isinstance(stored, dict):
                    return {str(k): float(v) for k, v in stored.items()} | self._known
        return dict(self._known)


def curve_sizes(state: State, points: int = POINTS) -> list[int]:
    """Numbers of measurements that a curve shows: the ends of tells; none while too few are told for a posterior."""
    from maxentry.campaign import fits

    n, least = len(state.standing), max(state.shape) / 2
    if points == 0 or len(state.told_keys) < least or n == 0:
        return []
    ends = np.array(list(state.sizes_by_event.values()))
    ends = ends[ends >= max(fits.FIRST_ANCHOR, least)]
    if len(ends) <= points:
        return sorted({n, *ends.tolist()})
    sizes = [0]
    for target in np.geomspace(ends[0], n, points)[:-1]:
        anchor = fits.find_anchor(state, int(target))
        cheap = anchor > sizes[-1] and anchor in ends
        sizes.append(anchor if cheap else int(ends[np.argmin(np.abs(ends - target))]))
    return sorted({n, *(size for size in sizes if 0 < size <= NEAR * n)})


def _key(state: State, n: int) -> str:
    from maxentry.campaign import fits

    return fits.digest_fit(state, n, "expected error 2")  # another number for another meaning


# Predictions and what came of them


class Surprises(NamedTuple):
    """For each `tell` of predicted entries: measurements by then, error of the predictions, and the error expected."""

    measurements: Array
    error: Array  # root mean square
    expected: Array


def pair_predictions(state: State, *, limits: bool = False) -> list[tuple[Measurement, Ask]]:
    """The values of entries that had a prediction when they were asked for, each with its ask.

    Yes and no and grades are left out: their predictions are probabilities and expected grades. limits: whether these,
    and values at the ends of the scale, are included.
    """
    if state.settings.likelihood.discrete:
        return []
    plain = (state.ends[0] == state.ends[1]) | limits
    known = (m for m, is_plain in zip(state.standing, plain, strict=True) if is_plain)
    asked = ((m, state.asked[m.id]) for m in known if m.id is not None)
    return [(m, ask) for m, ask in asked if np.isfinite(ask.sd)]


def surprises(state: State, latest: Callable[[], Posterior]) -> Surprises:
    """How far values were from their predictions; `latest` is called for noise and scales, if there are any.

    Columns or rows on scales of their own count in units of these, so that none rules the others.
    """
    predicted = pair_predictions(state)
    by_event: dict[int, list[tuple[float, float]]] = defaultdict(list)
    if predicted:
        posterior = latest()
        units, noise = posterior.value_map, _noise_sd(state, posterior)
        at = [np.array([getattr(m, side) for m, _ in predicted]) for side in ("row", "col")]
        value, mean, sd = np.array([(m.value, ask.mean, ask.sd) for m, ask in predicted]).T
        missed = (units.common(value, *at) - units.common(mean, *at)) ** 2
        expected = (sd * units.common_unit(mean, *at)) ** 2 + noise**2
        for (m, _), error, promised in zip(predicted, missed, expected, strict=True):
            by_event[m.event].append((error, promised))
    ends = state.sizes_by_event
    squares = np.array([np.mean(pairs, axis=0) for pairs in by_event.values()]).reshape(-1, 2)
    measurements = np.array([ends[event] for event in by_event], dtype=np.float64)
    return Surprises(measurements, *np.sqrt(squares.T))


def _noise_sd(state: State, posterior: Posterior) -> float:
    """The sd of a measurement in the units of most lines; under a transform, at the median value."""
    transform = posterior.transform
    middle = transform.forward(np.median(posterior.value_map.common(state.values, *state.told)))
    up, down = (float(transform.inverse(middle + side * posterior.noise_sd)) for side in (1, -1))
    return (up - down) / 2
