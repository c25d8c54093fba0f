"""Jobs: work in the background that reports its progress and can be cancelled."""

from __future__ import annotations

import asyncio
import datetime as dt
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Literal, NamedTuple

from maxentry._io import cancellable
from maxentry.progress import Progress, Watch
from maxentry.server import problems
from maxentry.server.connections import CLIENT
from maxentry.server.problems import HttpProblem

JobStatus = Literal["queued", "running", "done", "failed", "cancelled"]
OVER: tuple[JobStatus, ...] = ("done", "failed", "cancelled")
MOST_JOBS, MOST_RESULTS = 500, 50  # jobs that are over, and results of such jobs, that are remembered


class Cancelled(Exception):
    """Raised inside the work of a job that was cancelled."""


class JobProgress(NamedTuple):
    """The stretch of work that a job is in, and how many of its steps are done; total is 0 before the first."""

    what: str = ""
    done: int = 0
    total: int = 0


class Job:
    """Work in the background: what it is, how far it is, and its result."""

    def __init__(self, kind: str, campaign: str, campaign_id: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.kind, self.campaign, self.campaign_id = kind, campaign, campaign_id
        self.client = CLIENT.get()
        self.status: JobStatus = "queued"
        self.progress = JobProgress()
        self.result: Any = None
        self.problem: HttpProblem | None = None
        self.began_at = dt.datetime.now(dt.UTC)
        self.ended_at: dt.datetime | None = None
        self.waiting = 0  # requests that wait for the result
        self._cancelled = threading.Event()
        self._why_cancelled = HttpProblem("cancelled", "this was cancelled before it was done.")
        self._lock = threading.Lock()

    @property
    def over(self) -> bool:
        """Whether it is done, failed or cancelled."""
        return self.status in OVER

    @property
    def shareable(self) -> bool:
        """Whether another request for the same work may wait for this job."""
        return not self.over and not self._cancelled.is_set()

    def run(self, work: Callable[[Watch], Any]) -> None:
        """Do the work, unless the job was cancelled before its turn; an error becomes the job's problem."""
        try:
            with self._lock:
                self._check()
                self.status = "running"
            with cancellable(self._check):
                result = work(self.watch)
            self._end("done", result=result)
        except Cancelled:
            self._end("cancelled", self._why_cancelled)
        except BaseException as error:  # whatever it was, whoever waits must be told
            self._end("failed", problems.from_error(error))

    def cancel(self, why: HttpProblem | None = None) -> None:
        """Cancel it: at once if it is queued, else at its next step, unless it is over by then."""
        with self._lock:
            self._why_cancelled = why or self._why_cancelled
            self._cancelled.set()
            queued = self.status == "queued"
        if queued:
            self._end("cancelled", self._why_cancelled)

    def watch(self, total: int, what: str) -> Progress:
        """Begin a stretch of so many steps; one job may have several, one after the other."""
        self._check()
        self.progress = JobProgress(what, 0, total)
        return self

    def advance(self, n: int = 1) -> None:
        """Count n more steps as done; any thread may."""
        self._check()
        with self._lock:
            self.progress = self.progress._replace(done=self.progress.done + n)

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise Cancelled

    def _end(self, status: JobStatus, problem: HttpProblem | None = None, result: Any = None) -> None:
        with self._lock:
            if not self.over:
                self.problem, self.result, self.ended_at = problem, result, dt.datetime.now(dt.UTC)
                self.status = status  # last: whoever sees that it is over sees all of it

    async def finish(self, seconds: float) -> Any:
        """Wait without a thread, at most so long, and return the result; raise its problem, or `Unfinished`."""
        end, pause = time.monotonic() + seconds, 0.005
        self.waiting += 1
        try:
            while not self.over and (left := end - time.monotonic()) > 0:
                await asyncio.sleep(min(pause, left))
                pause = min(2 * pause, 0.2)
            if not self.over:
                raise Unfinished(self)
            if self.problem is not None:
                raise self.problem
            return self.result
        finally:
            self.waiting -= 1


class Unfinished(Exception):
    """A job goes on in the background; the response is 202."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.id)
        self.job = job


class JobQueue:
    """All jobs of a server: `workers` of them run at the same time, and `waiting` more may be queued.

    One client may have `each` that run or wait.
    """

    def __init__(self, workers: int, waiting: int, each: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="maxentry-job")
        self._most = workers + waiting
        self._each = self._most if each is None else each
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._by_key: dict[Hashable, Job] = {}
        self._futures: set[Future[None]] = set()
        self._lock = threading.Lock()
        self.closing = False

    def get(self, id: str) -> Job:
        """Return the job of this id; a problem if there is none, or it was forgotten."""
        if (job := self._jobs.get(id)) is None:
            raise HttpProblem(
                "no-job",
                f"no job has the id {id!r:.60}; the server forgets old jobs. Send the request again.",
            )
        return job

    def recent(self) -> list[Job]:
        """Return all jobs that are remembered, the latest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def start(self, job: Job, work: Callable[[Watch], Any], key: Hashable = None) -> Job:
        """Queue a job, or return the one of the same key that is under way. Refused if too many wait."""
        with self._lock:
            if key is not None and (same := self._by_key.get(key)) is not None and same.shareable:
                return same
            if self.closing:
                raise problems.closing()
            clients = [known.client for known in self._jobs.values() if not known.over]
            if len(clients) >= self._most:
                raise problems.too_busy(
                    f"the server's queue is full: {self._most} jobs run or wait. Send the request again later.",
                    10,
                )
            if job.client and clients.count(job.client) >= self._each:
                raise problems.too_busy(
                    f"expected at most {self._each} jobs of one client that run or wait, got more. "
                    "Send the request again later.",
                    10,
                )
            self._jobs[job.id] = job
            if key is not None:
                self._by_key[key] = job
            self._forget()
            future = self._pool.submit(job.run, work)
            self._futures.add(future)
            future.add_done_callback(self._futures.discard)
        return job

    def _forget(self) -> None:
        """Drop the jobs that have been over for longest, and the results of some more; none that is waited for."""
        over = [job for job in self._jobs.values() if job.over and not job.waiting]
        over.sort(key=lambda job: job.ended_at or job.began_at)
        for job in over[: max(0, len(over) - MOST_RESULTS)]:
            job.result = None
        for job in over[: max(0, len(over) - MOST_JOBS)]:
            del self._jobs[job.id]
        self._by_key = {key: job for key, job in self._by_key.items() if not job.over}

    def cancel_all(self) -> None:
        """Accept no more jobs, and cancel those that wait or run."""
        with self._lock:
            self.closing = True
            for job in self._jobs.values():
                if not job.over:
                    job.cancel(problems.closing())

    @property
    def running(self) -> bool:
        """Whether a thread still works on a job."""
        return any(future.running() for future in list(self._futures))

    def close(self, seconds: float = 2.0) -> None:
        """Cancel all jobs, and wait a while for those that run."""
        self.cancel_all()
        self._pool.shutdown(wait=False, cancel_futures=True)
        # Only now: to wait for one that was cancelled before it ran would take all the time.
        wait(list(self._futures), timeout=seconds)
