"""The service behind the routes: one storage, its open campaigns with their fits, and the jobs that make them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from maxentry.campaign import fits
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.state import State
from maxentry.campaign.storage import Key, Storage
from maxentry.errors import CampaignError, SizeError
from maxentry.labels import Labels
from maxentry.posterior.posterior import Posterior
from maxentry.progress import Watch
from maxentry.server import idempotency
from maxentry.server.idempotency import Claim, EventSpan
from maxentry.server.jobs import Job, JobQueue, Unfinished
from maxentry.server.options import ServerLimits
from maxentry.server.problems import HttpProblem
from maxentry.summary.error_curve import ErrorCurve
from maxentry.summary.maps import MapCache

MOST_OPEN = 1000  # campaigns that are kept open; others are opened again
MOST_FITTED = 8  # open campaigns with fits and maps in memory; those of others are in their caches


class OpenCampaign(NamedTuple):
    """A campaign in use, with its fits, error curve and maps. Its id, unlike its name, fits into any address."""

    campaign: Campaign
    id: str
    fits: CampaignFits
    curve: ErrorCurve
    maps: MapCache


class Service:
    """Everything that a server has. Reading takes no lock; what takes long is a job."""

    def __init__(self, storage: Storage, limits: ServerLimits) -> None:
        self.storage, self.limits = storage, limits
        self.jobs = JobQueue(limits.workers, limits.waiting, limits.client_jobs)
        # By id, which stays the same when a campaign is renamed; the one used last is the last.
        self._open: OrderedDict[str, OpenCampaign] = OrderedDict()
        self._fitted: OrderedDict[str, OpenCampaign] = OrderedDict()  # those with fits in memory
        self._lock = threading.Lock()
        idempotency.create_table(storage)

    def close(self, seconds: float = 2.0) -> None:
        """Cancel the jobs and close the storage."""
        self.jobs.close(seconds)
        self.storage.close()

    def create(
        self, claim: Claim | None, name: str, rows: Any, cols: Any, **settings: Any
    ) -> tuple[OpenCampaign, EventSpan | None]:
        """Create a campaign; with a claim only once. Return it, and with a claim also its events."""
        self.check_size(*(x if isinstance(x, int) else len(x) for x in (rows, cols)))

        def create(storage: Storage) -> Campaign:
            return Campaign.create(storage, name, rows, cols, **settings)

        if claim is None:
            return self._add(create(self.storage)), None
        campaign, span = idempotency.create_once(self.storage, claim, create)
        return self._get(self.storage.find(name)) if campaign is None else self._add(campaign), span

    def check_size(self, m1: int, m2: int) -> None:
        """Refuse a matrix with more entries, or more rows and columns, than the server allows."""
        limits = self.limits
        for size, most, what in (
            (max(m1, 1) * max(m2, 1), limits.entries, "entries"),
            (m1 + m2, limits.labels, "rows and columns"),
        ):
            if size > most:
                raise SizeError(
                    f"expected a matrix of at most {most} {what} on this server, got {m1} x {m2}."
                )

    def open(self, reference: str) -> OpenCampaign:
        """Return the campaign of this id or name."""
        if (known := self._find(reference)) is not None:
            return known
        keys = self.storage.keys()
        by_reference = {key.uuid: key for key in keys} | {key.name: key for key in keys}
        key = by_reference.get(reference)
        if key is None:
            names = [key.name for key in keys]
            some = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
            detail = (
                f"expected the name of a campaign ({some or 'there is none yet'}), got {reference!r:.220}."
            )
            raise HttpProblem("no-campaign", detail, error="CampaignError", code="unknown_campaign")
        return self._get(self.storage.find(key.name))

    def delete(self, opened: OpenCampaign, name: str) -> int:
        """Delete a campaign for good, if this is its name; return how many events it had. Its jobs are cancelled."""
        known = opened.campaign.state.settings.name
        if name != known:
            raise CampaignError(f"not deleted: expected the name {known!r}, got {name!r:.220}.")
        n = Campaign.delete(self.storage, name)
        with self._lock:
            self._open.pop(opened.id, None)
            self._fitted.pop(opened.id, None)
        for job in self.jobs.recent():
            if job.campaign_id == opened.id and not job.over:
                job.cancel()
        return n

    def _get(self, key: Key) -> OpenCampaign:
        return self._find(key.uuid) or self._add(Campaign(self.storage, key))

    def _find(self, id: str) -> OpenCampaign | None:
        with self._lock:
            if (known := self._open.get(id)) is not None:
                self._open.move_to_end(id)
            return known

    def _add(self, campaign: Campaign) -> OpenCampaign:
        with self._lock:
            id = campaign.key.uuid
            if id not in self._open:
                folder = campaign.cache if isinstance(campaign.cache, Path) else None
                fits = CampaignFits(folder, lambda: self._limit_fits(id))
                campaign.cache = fits
                self._open[id] = OpenCampaign(campaign, id, fits, ErrorCurve(folder), MapCache())
            self._open.move_to_end(id)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return self._open[id]

    def _limit_fits(self, id: str) -> None:
        """Note that this campaign has a fit in memory; free the memory of campaigns used longest ago."""
        with self._lock:
            if (opened := self._fitted.pop(id, None) or self._open.get(id)) is not None:
                self._fitted[id] = opened
            others = [self._fitted.popitem(last=False)[1] for _ in range(len(self._fitted) - MOST_FITTED)]
        for other in others:
            other.fits.clear()
            other.maps.clear()

    # Jobs

    def start(
        self, kind: str, opened: OpenCampaign, work: Callable[[Watch], Any], key: Hashable = None
    ) -> Job:
        """Start a job for a campaign; requests with the same key share it."""

        def run(watch: Watch) -> Any:
            try:
                return work(watch)
            finally:
                opened.fits.release()

        full_key = None if key is None else (kind, opened.id, key)
        return self.jobs.start(Job(kind, opened.campaign.name, opened.id), run, full_key)

    async def finish(
        self, kind: str, opened: OpenCampaign, work: Callable[[Watch], Any], key: Hashable, seconds: float
    ) -> Any:
        """Start a job and wait for its result; `Unfinished` if that takes longer than so many seconds."""
        job = await run_in_threadpool(self.start, kind, opened, work, key)
        return await job.finish(seconds)

    async def fit(
        self, opened: OpenCampaign, state: State, seconds: float, stale: bool
    ) -> VersionedPosterior:
        """Return the posterior, fitted if need be, or with `stale` the last one at hand."""
        if not state.standing:
            raise CampaignError("expected at least one measurement before there is a posterior, got none.")
        fit = await run_in_threadpool(opened.fits.latest if stale else opened.fits.current, state)
        if fit is not None:
            return fit

        def work(watch: Watch) -> Any:
            opened.curve.add(state, opened.fits.fit(state, watch))
            return {"version": state.version, "measurements": len(state.standing)}

        job = await run_in_threadpool(self.start, "fit", opened, work, state.version)
        await job.finish(seconds)
        # Measurements that came in the meantime are for the next request: this is the fit that was waited for.
        fit = await run_in_threadpool(opened.fits.latest, state)
        if fit is None:  # its memory was needed for other campaigns: the next request makes it again
            raise Unfinished(job)
        return fit


# Fits


class VersionedPosterior(NamedTuple):
    """A posterior, the last event that it knows, and whether no measurement has come since.

    removed: the rows and columns that were removed before it (`State.removed`): its positions hold until another is.
    """

    posterior: Posterior
    version: int
    current: bool
    removed: tuple[Labels, Labels]

    @property
    def measurements(self) -> int:
        """How many measurements it knows."""
        return self.posterior.observations.n


class CampaignFits(fits.Memory):
    """The posteriors of one campaign: those used last in memory, and more in a folder.

    A thread that wants a fit another one is making waits for it. `on_fit` is called whenever one comes into memory.
    """

    def __init__(self, folder: Path | None, on_fit: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._folder, self._on_fit = folder, on_fit
        self._latest: VersionedPosterior | None = None
        self._makers: dict[str, int] = {}  # the thread that makes each fit
        self._changed = threading.Condition()

    def current(self, state: State) -> VersionedPosterior | None:
        """Return the posterior of all measurements if it is in memory."""
        n = len(state.standing)
        kind = "anchor" if fits.find_anchor(state, n) == n else "warm"
        posterior = super().get(fits.digest_fit(state, n, kind))
        return (
            None if posterior is None else VersionedPosterior(posterior, state.version, True, state.removed)
        )

    def latest(self, state: State) -> VersionedPosterior | None:
        """Return the posterior of all measurements if it is in memory, else the last one that was fitted here.

        None if rows or columns were removed since: others are at their positions now.
        """
        last = None if not state.standing else self.current(state) or self._latest
        return last if last is not None and last.removed == state.removed else None

    def fit(self, state: State, watch: Watch) -> Posterior:
        """Return the posterior of all measurements, fitted if need be; `watch` sees the progress."""
        # `progress` reaches `progress.track` as it is, which takes a function too.
        posterior = fits.fit_posterior(state, self, progress=watch)  # type: ignore[arg-type]
        self.remember(state)
        return posterior

    def remember(self, state: State) -> None:
        """Remember the posterior of this state as the last one, if it has been fitted."""
        if state.standing and (fit := self.current(state)) is not None:
            with self._changed:
                if self._latest is None or self._latest.version <= state.version:
                    self._latest = fit._replace(current=False)

    # As the cache of a campaign

    def get(self, name: str) -> Posterior | None:
        """Return the fit of this name; None if the caller is to make it."""
        me = threading.get_ident()
        with self._changed:
            while (fit := super().get(name)) is None and self._makers.get(name, me) != me:
                self._changed.wait()
            if fit is None:
                self._makers[name] = me
        if fit is None and (fit := fits.load_fit(self._folder, name)) is not None:
            self._hold(name, fit)
        return fit

    def peek(self, name: str) -> Posterior | None:
        """Return the fit of this name if it is in memory or in the folder; None where somebody makes it."""
        return super().peek(name) or fits.load_fit(self._folder, name, used=False)

    def put(self, name: str, made: Posterior) -> None:
        """Store a fit, for those who wait and for later."""
        self._hold(name, made)
        if self._folder is not None:
            fits.save_fit(made, self._folder, name)

    def used(self, name: str) -> None:
        """Mark a fit as recently used, in the folder too."""
        super().used(name)
        fits.touch_fit(self._folder, name)

    def clear(self) -> None:
        """Free the memory."""
        super().clear()
        self._latest = None

    def release(self) -> None:
        """Leave the fits that this thread was making, if any, to other threads."""
        me = threading.get_ident()
        with self._changed:
            self._makers = {name: thread for name, thread in self._makers.items() if thread != me}
            self._changed.notify_all()

    def _hold(self, name: str, fit: Posterior) -> None:
        with self._changed:
            super().put(name, fit)
            self._makers.pop(name, None)
            self._changed.notify_all()
        self._on_fit()
