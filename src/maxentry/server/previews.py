"""What the dashboard has made in the background: the next entries without asking for them, the curve of the error."""

from __future__ import annotations

from typing import Any

from maxentry.campaign.policy import Plates
from maxentry.progress import Watch
from maxentry.server import looks
from maxentry.server.jobs import Job
from maxentry.server.lab import Lab, Opened


def upcoming(lab: Lab, opened: Opened, n: int, plates: Plates | None) -> Job:
    """What `ask` would hand out now."""

    def work(watch: Watch) -> Any:
        try:
            return looks.upcoming(opened, n, plates, watch)
        finally:
            opened.fits.shared.give_up()

    key = ("next", opened.id, opened.campaign.state.version, n, plates)
    return lab.jobs.begin(Job("next", opened.campaign.name, opened.id), work, key)


def curve(lab: Lab, opened: Opened) -> Job:
    """The points of the curve that are missing."""
    state = opened.campaign.state

    def work(watch: Watch) -> Any:
        opened.curve.complete(state, lambda: opened.fits.make(state, watch), progress=watch)
        return looks.curve(opened, state)

    key = ("curve", opened.id, state.version)
    return lab.jobs.begin(Job("curve", opened.campaign.name, opened.id), work, key)
