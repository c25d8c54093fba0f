"""The expected error as measurements came in. A point needs a fit: those made anyway are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from maxentry.campaign import fits, stop
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import State
from maxentry.plots import past
from maxentry.plots.subject import Subject
from maxentry.posterior.posterior import Posterior
from maxentry.progress import Watch

MOMENTS = 8  # points that are made where they are wanted
TELLINGS = 200  # of which a point is looked for, the last ones


class Curve:
    """The points of one campaign that are known, in memory and in its cache."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, float] = {}
        self._turn = threading.Lock()

    def add(self, campaign: Campaign, state: State, posterior: Posterior) -> None:
        """A fit of all that was told in this state was made: its point costs nothing."""
        self._keep(past._name(_subject(campaign, state), len(state.standing)), state, posterior)

    def points(self, campaign: Campaign, state: State) -> list[dict[str, Any]]:
        """The points known by now, from the first on; never makes one."""
        subject = _subject(campaign, state)
        ends = {m.event: count for count, m in enumerate(state.standing, start=1)}
        numbers = sorted({*list(ends.values())[-TELLINGS:], *past.moments(subject, MOMENTS)})
        known = self._all()
        found = ((n, known.get(past._name(subject, n))) for n in numbers)
        return [
            {"measurements": n, "error": error, "at": state.standing[n - 1].told_at.isoformat()}
            for n, error in found
            if error is not None
        ]

    def missing(self, campaign: Campaign, state: State) -> list[int]:
        """Numbers of measurements that the whole curve needs a fit of."""
        subject, known = _subject(campaign, state), self._all()
        return [n for n in past.moments(subject, MOMENTS) if past._name(subject, n) not in known]

    def make(
        self, campaign: Campaign, state: State, latest: Callable[[State, Watch], Posterior], watch: Watch
    ) -> None:
        """Make the points that are missing, the latest first; `latest` makes the fit of all that was told."""
        subject = _subject(campaign, state)
        for n in reversed(self.missing(campaign, state)):
            then = replace(state, measurements=state.standing[:n])
            if n == len(state.standing):
                posterior = latest(state, watch)
            else:  # not through the cache, where they would push out what `ask` needs
                posterior = fits.posterior(then, None, progress=watch)  # type: ignore[arg-type]
            self._keep(past._name(subject, n), then, posterior)

    def _keep(self, name: str, state: State, posterior: Posterior) -> None:
        error = stop.expected_error(state, posterior)
        with self._turn:
            self._known[name] = error
            if self._folder is not None:
                past._keep(self._folder, name, error)

    def _all(self) -> dict[str, float]:
        with self._turn:
            return past._kept(self._folder) | self._known


def _subject(campaign: Campaign, state: State) -> Subject:
    """The campaign in this state, as figures see it."""
    subject = Subject(None, campaign)
    vars(subject)["state"] = state  # looked at already: not a later one
    return subject
