"""Jobs: what takes long, in the background, with progress to look at and a way to call it off."""

from __future__ import annotations

import datetime as dt
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Literal

from maxentry.progress import Progress, Watch
from maxentry.server import problems

Status = Literal["queued", "running", "done", "failed", "cancelled"]
KEPT, RESULTS = 500, 50  # jobs that are over; those of them whose results are still there
OVER: tuple[Status, ...] = ("done", "failed", "cancelled")


class Cancelled(Exception):
    """Raised inside the work when it has been called off."""


class Job:
    """Work in the background: what it is, how far it has come, and what came of it."""

    def __init__(self, kind: str, campaign: str, campaign_id: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.kind, self.campaign, self.campaign_id = kind, campaign, campaign_id
        self.status: Status = "queued"
        self.what, self.steps, self.total = "", 0, 0
        self.result: Any = None
        self.problem: problems.Problem | None = None
        self.began_at = dt.datetime.now(dt.UTC)
        self.ended_at: dt.datetime | None = None
        self._called_off = threading.Event()
        self._why = _called_off()
        self._turn = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in OVER

    @property
    def serves(self) -> bool:
        """Whether another who wants the same may wait for it: something will come of it."""
        return not self.over and not self._called_off.is_set()

    def cancel(self, why: problems.Problem | None = None) -> None:
        """Call it off: at once if it waits, else at its next step, unless it is over by then."""
        with self._turn:
            self._why = why or self._why
            self._called_off.set()
            waits = self.status == "queued"
        if waits:
            self.end("cancelled", self._why)

    def begin(self) -> None:
        """It is its turn, unless it was called off."""
        with self._turn:
            if self._called_off.is_set():
                raise Cancelled
            self.status = "running"

    def end(self, status: Status, problem: problems.Problem | None = None) -> None:
        """Nothing more will come of it."""
        with self._turn:
            if not self.over:
                self.problem, self.ended_at = problem, dt.datetime.now(dt.UTC)
                self.status = status  # last: whoever sees it over sees all of it

    def watch(self, total: int, what: str) -> Progress:
        """A stretch of work begins; several follow each other in one job."""
        self.check()
        self.what, self.steps, self.total = what, 0, total
        return self

    def advance(self, n: int = 1) -> None:
        """Count n more steps as done, from any thread."""
        self.check()
        with self._turn:
            self.steps += n

    def check(self) -> None:
        """End here if it has been called off."""
        if self._called_off.is_set():
            raise Cancelled

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        progress = {"what": self.what, "done": self.steps, "total": self.total}
        return {
            "id": self.id,
            "kind": self.kind,
            "campaign": self.campaign,
            "campaign_id": self.campaign_id,
            "status": self.status,
            "progress": progress,
            "began_at": self.began_at.isoformat(),
            "ended_at": None if self.ended_at is None else self.ended_at.isoformat(),
            "result": self.result if self.status == "done" else None,
            "problem": None if self.problem is None else self.problem.to_dict(),
        }


class Jobs:
    """All jobs of a server, a few at a time."""

    def __init__(self, workers: int, waiting: int, storage: str = "") -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="maxentry-job")
        self._most, self._storage = workers + waiting, storage
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._by_key: dict[Hashable, Job] = {}
        self._futures: set[Future[None]] = set()
        self._turn = threading.Lock()
        self.closing = False

    def get(self, id: str) -> Job | None:
        """The job of this id, if it is still known."""
        return self._jobs.get(id)

    def listed(self) -> list[Job]:
        """All that are known, the latest first."""
        with self._turn:
            return list(self._jobs.values())[::-1]

    def begin(self, job: Job, work: Callable[[Watch], Any], key: Hashable = None) -> Job:
        """Begin it; or, where one of the same key is on its way, let that one serve. Refused if too many wait."""
        with self._turn:
            if key is not None and (same := self._by_key.get(key)) is not None and same.serves:
                return same
            if self.closing:
                raise problems.closing()
            if sum(not known.over for known in self._jobs.values()) >= self._most:
                raise problems.too_busy(
                    "expected a free place for this work, but too many wait: come back.", 10
                )
            self._jobs[job.id] = job
            if key is not None:
                self._by_key[key] = job
            self._forget()
            future = self._pool.submit(self._run, job, work)
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
        return job

    def _run(self, job: Job, work: Callable[[Watch], Any]) -> None:
        try:
            job.begin()
            job.result = work(job.watch)
            job.end("done")
        except Cancelled:
            job.end("cancelled", job._why)
        except BaseException as error:  # whatever it was, the one who waits must hear of it
            job.end("failed", problems.of(error, self._storage))

    def _forget(self) -> None:
        over = [id for id, job in self._jobs.items() if job.over]
        for id in over[: max(0, len(over) - KEPT)]:
            del self._jobs[id]
        for id in over[: max(0, len(over) - RESULTS)]:
            if id in self._jobs:
                self._jobs[id].result = None
        self._by_key = {key: job for key, job in self._by_key.items() if not job.over}

    def call_off(self) -> None:
        """Take no more, and call off what waits or runs."""
        with self._turn:
            self.closing = True
            for job in self._jobs.values():
                if not job.over:
                    job.cancel(problems.closing())

    def close(self, seconds: float = 10.0) -> None:
        """Take no more, call off what runs, and wait for it a while."""
        self.call_off()
        with self._turn:
            futures = list(self._futures)
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait(futures, timeout=seconds)


def _called_off() -> problems.Problem:
    return problems.Problem(409, "cancelled", "Called off", "this was called off before it was done.")


def settle(job: Job, seconds: float) -> bool:
    """Wait for a job, at most so long; whether it is over. For threads; requests wait without one."""
    end = time.monotonic() + seconds
    while not job.over and time.monotonic() < end:
        time.sleep(0.01)
    return job.over
