"""The lab: one storage, its campaigns as they are opened, their fits, and the jobs that make them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import SizeError
from maxentry.progress import Watch
from maxentry.server import claims, problems
from maxentry.server.claims import Claim, Done, Repeated
from maxentry.server.curve import Curve
from maxentry.server.fits import Fits
from maxentry.server.jobs import Job, Jobs
from maxentry.server.options import Limits
from maxentry.server.plain import plain

ANONYMOUS = "http"  # in the history, where a request does not say who makes it


class Opened(NamedTuple):
    """A campaign that is in use: its id (which, unlike its name, fits into any address), its fits, its curve."""

    campaign: Campaign
    id: str
    fits: Fits
    curve: Curve


class Lab:
    """Everything that a server has. Reading takes no lock; what takes long is a job."""

    def __init__(self, storage: Storage, limits: Limits) -> None:
        self.storage, self.limits = storage, limits
        self.jobs = Jobs(limits.workers, limits.waiting, storage.name)
        self._open: dict[str, Opened] = {}  # by name; campaigns are never renamed or deleted
        self._turn = threading.Lock()
        claims.prepare(storage)

    def close(self, seconds: float = 10.0) -> None:
        """End the jobs, and let go of the storage."""
        self.jobs.close(seconds)
        self.storage.close()

    # Campaigns

    def names(self) -> list[str]:
        """The campaigns there are, in the order in which they began."""
        return self.storage.names()

    def opened(self, ref: str) -> Opened:
        """The campaign of this name or id."""
        if (known := self._open.get(ref)) is not None:
            return known
        names = self.names()
        if ref in names:
            return self._opened(ref)
        for name in names:  # an id; each campaign is opened once
            if (one := self._opened(name)).id == ref:
                return one
        raise problems.no_campaign(ref, names)

    def _opened(self, name: str) -> Opened:
        if (known := self._open.get(name)) is not None:
            return known
        return self._keep(Campaign.open(self.storage, name))

    def create(self, name: str, rows: Any, cols: Any, who: str | None, **given: Any) -> Opened:
        """Begin a campaign."""
        m1, m2 = (x if isinstance(x, int) else len(x) for x in (rows, cols))
        if max(m1, 1) * max(m2, 1) > self.limits.entries:
            raise SizeError(
                f"expected a matrix of at most {self.limits.entries} entries on this server, but {m1} x {m2} came."
            )
        return self._keep(Campaign.create(self.storage, name, rows, cols, who=who or ANONYMOUS, **given))

    def _keep(self, campaign: Campaign) -> Opened:
        with self._turn:
            if campaign.name not in self._open:
                folder = campaign.cache if isinstance(campaign.cache, Path) else None
                fits = Fits(folder)
                campaign.cache = fits.shared
                self._open[campaign.name] = Opened(campaign, campaign._key.uuid, fits, Curve(folder))
            return self._open[campaign.name]

    # Work in the background

    def fit(self, opened: Opened) -> Job:
        """Make the posterior of all that was told."""
        state = opened.campaign.state

        def work(watch: Watch) -> Any:
            opened.curve.add(opened.campaign, state, opened.fits.make(state, watch))
            return {"version": state.version, "measurements": len(state.standing)}

        return self.jobs.begin(self._job("fit", opened), work, ("fit", opened.id, state.version))

    def ask(self, opened: Opened, n: int, given: dict[str, Any], who: str | None, claim: Claim | None) -> Job:
        """Choose the next entries and hand them out."""

        def work(watch: Watch) -> Any:
            try:
                twin = claims.under(opened.campaign, claim)
                ids = twin.ask(n, **given, who=who or ANONYMOUS, progress=watch, frame="columns")["id"]  # type: ignore[arg-type]
                return {"ids": ids}
            except Repeated as repeated:
                return {"ids": ids_of(opened, repeated.done)}
            finally:
                opened.fits.shared.give_up()

        key = None if claim is None else ("ask", opened.id, claim)
        return self.jobs.begin(self._job("ask", opened), work, key)

    def outlook(self, opened: Opened, n: int) -> Job:
        """What the next n entries would change."""

        def work(watch: Watch) -> Any:
            try:
                return plain(opened.campaign.outlook(n, progress=watch).to_dict())  # type: ignore[arg-type]
            finally:
                opened.fits.shared.give_up()

        key = ("outlook", opened.id, opened.campaign.state.version, n)
        return self.jobs.begin(self._job("outlook", opened), work, key)

    def _job(self, kind: str, opened: Opened) -> Job:
        return Job(kind, opened.campaign.name, opened.id)


def ids_of(opened: Opened, done: Done) -> list[int]:
    """The ids that were handed out by these events."""
    asked = opened.campaign.state.asked.values()
    return [ask.id for ask in asked if done.before < ask.event <= done.after]
