"""The lab: one storage, its campaigns as they are opened, their fits, and the jobs that make them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

from maxentry.campaign.campaign import Campaign
from maxentry.campaign.storage import Storage
from maxentry.errors import SizeError
from maxentry.progress import Watch
from maxentry.server import claims, problems
from maxentry.server.claims import Claim, Done, Repeated
from maxentry.server.fits import Fits
from maxentry.server.jobs import Job, Jobs
from maxentry.server.options import Limits
from maxentry.server.plain import plain
from maxentry.summary.error_curve import ErrorCurve
from maxentry.summary.maps import MapCache

IN_USE = 1000  # campaigns that are kept open; others are opened again
WITH_FITS = 8  # of them with fits and maps in memory; those of others are in their caches
ANONYMOUS = "http"  # in the history, where a request does not say who makes it


class Opened(NamedTuple):
    """A campaign that is in use: its id (which, unlike its name, fits into any address), fits, curve and maps."""

    campaign: Campaign
    id: str
    fits: Fits
    curve: ErrorCurve
    maps: MapCache


class Lab:
    """Everything that a server has. Reading takes no lock; what takes long is a job."""

    def __init__(self, storage: Storage, limits: Limits) -> None:
        self.storage, self.limits = storage, limits
        self.jobs = Jobs(limits.workers, limits.waiting, storage.name)
        # By id, the one used last is the last; campaigns are never renamed or deleted.
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._fitted: OrderedDict[str, Opened] = OrderedDict()  # those with fits in memory
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
        """The campaign of this id or name."""
        if (known := self._in_use(ref)) is not None:
            return known
        names = self.names()
        name = ref if ref in names else self.storage.name_of(ref)
        if name is None:
            raise problems.no_campaign(ref, names)
        return self._opened(name)

    def _opened(self, name: str) -> Opened:
        key = self.storage.find(name)
        return self._in_use(key.uuid) or self._keep(Campaign(self.storage, key))

    def _in_use(self, id: str) -> Opened | None:
        with self._turn:
            if (known := self._open.get(id)) is not None:
                self._open.move_to_end(id)
            return known

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
            id = campaign._key.uuid
            if id not in self._open:
                folder = campaign.cache if isinstance(campaign.cache, Path) else None
                fits = Fits(folder, lambda: self._has_fits(id))
                campaign.cache = fits.shared
                self._open[id] = Opened(campaign, id, fits, ErrorCurve(folder), MapCache())
            self._open.move_to_end(id)
            while len(self._open) > IN_USE:
                self._open.popitem(last=False)
            return self._open[id]

    def _has_fits(self, id: str) -> None:
        """A fit of this campaign is in memory; those used longest ago are let go of."""
        with self._turn:
            if (opened := self._fitted.pop(id, None) or self._open.get(id)) is not None:
                self._fitted[id] = opened
            others = [self._fitted.popitem(last=False)[1] for _ in range(len(self._fitted) - WITH_FITS)]
        for other in others:
            other.fits.forget()
            other.maps.clear()

    # Work in the background

    def fit(self, opened: Opened) -> Job:
        """Make the posterior of all that was told."""
        state = opened.campaign.state

        def work(watch: Watch) -> Any:
            opened.curve.add(state, opened.fits.make(state, watch))
            return {"version": state.version, "measurements": len(state.standing)}

        return self.jobs.begin(self._job("fit", opened), work, ("fit", opened.id, state.version))

    def ask(self, opened: Opened, n: int, given: dict[str, Any], who: str | None, claim: Claim | None) -> Job:
        """Choose the next entries and hand them out."""

        def work(watch: Watch) -> Any:
            before = opened.campaign.state
            try:
                twin = claims.under(opened.campaign, claim)
                ids = twin.ask(n, **given, who=who or ANONYMOUS, progress=watch, frame="columns")["id"]  # type: ignore[arg-type]
                return {"ids": ids}
            except Repeated as repeated:
                return {"ids": ids_of(opened, repeated.done)}
            finally:
                opened.fits.shared.give_up()
                opened.fits.note(before)

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
