"""Run the cells of a comparison: each is a campaign as a user would run it, from the first batch to the last.

`run_cell` runs one cell. `run_all` runs many: results that are stored already are not computed again, the others go to
an engine (by default one process for each core), and each result is stored as soon as it arrives.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from multiprocessing import resource_tracker
from os import PathLike
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from maxentry._types import Array, Indices
from maxentry.campaign.campaign import Campaign
from maxentry.campaign.policy import Batch, next_batch
from maxentry.campaign.settings import WITHOUT_MODEL
from maxentry.compare.scenario import LAW, Cell, Estimates, Policy, Truth
from maxentry.compare.store import Look, Run, Store
from maxentry.engines.cluster import open_client, submit_tasks
from maxentry.errors import MaxentryError, MissingDependencyError, NothingToAskError, ParameterError
from maxentry.progress import track

LEVEL = 0.9
INTERVALS = 1000  # entries at which coverage is measured, at most
SAMPLE = 4  # the random stream that selects them

# One cell


def run_cell(cell: Cell) -> Run:
    """Ask and tell until the budget is spent."""
    case, strategy, seed = cell
    truth = case.source.truth(seed)
    clock, cpu = time.perf_counter(), time.process_time()
    observer = ErrorObserver(cell, truth)
    look_after = case.look_after()
    with open_campaign(cell, truth) as campaign:
        sizes = [case.initial, *(min(case.batch, case.budget - k * case.batch) for k in range(case.batches))]
        for k, n in enumerate(sizes):
            more = n == 0 or observer.measure(campaign, n)
            if k == 0 and strategy.policy is None and campaign.settings.acquisition != strategy.acquisition:
                campaign.set(acquisition=strategy.acquisition)
            if not more or k in look_after:
                observer.look(campaign)
            if not more:
                break
    return Run(
        LAW, case.name, case.identity(), strategy.name, seed, truth.M.shape, int(truth.judged.sum()), truth.scale,
        tuple(observer.looks), time.process_time() - cpu, time.perf_counter() - clock,
    )  # fmt: skip


def open_campaign(cell: Cell, truth: Truth) -> Campaign:
    """Create the campaign in memory, with the acquisition of the initial entries."""
    case, strategy, measurable = cell.case, cell.strategy, ~np.isnan(truth.Y)
    settings: dict[str, Any] = dict(case.model)
    first: str = strategy.start
    if strategy.policy is None and first == "balanced" and strategy.acquisition not in WITHOUT_MODEL:
        first = strategy.acquisition  # its campaigns start with a balanced design
    if truth.told is not None:
        i, j = np.nonzero(truth.told & measurable)
        settings["values"] = {"row": i.tolist(), "col": j.tolist(), "value": truth.Y[i, j].tolist()}
    if case.spend is not None and truth.cost is not None:
        settings |= {"costs": truth.cost, "budget": case.spend * float(truth.cost[truth.judged].mean())}
    policy = None
    if strategy.policy is not None:
        policy = _after_start(strategy.policy(truth, case, cell.seed), case.initial)
    return Campaign.create(
        "sqlite://", "study", *truth.M.shape, seed=cell.seed, acquisition=first, n_initial=case.initial,
        mask=None if measurable.all() else measurable, policy=policy, **settings,
    )  # fmt: skip


def _after_start(policy: Policy, initial: int) -> Policy:
    """Use the campaign's own policy for the first ask, if there are initial entries, then this one."""
    first = initial > 0

    def choose(*args: Any, **options: Any) -> Batch:
        nonlocal first
        now, first = next_batch if first else policy, False
        return now(*args, **options)

    return choose


class ErrorObserver:
    """Measures batches and records the error along the way."""

    def __init__(self, cell: Cell, truth: Truth) -> None:
        case, strategy, seed = cell
        self.truth, self.looks = truth, list[Look]()
        self.estimator = None if strategy.estimator is None else strategy.estimator(truth, case, seed)
        self.rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(SAMPLE,)))
        self.asks, self.spent, self.owed = 0, np.zeros(2), np.zeros(2)  # wall and processor seconds
        self.chooses_by_fit = strategy.chooses_by_fit

    def measure(self, campaign: Campaign, n: int) -> bool:
        """Ask for one batch and tell its values; return False if nothing is left to ask for."""
        start = _clocks()
        try:
            asked = campaign.ask(n, frame="columns", progress=False)
        except NothingToAskError:
            return False
        self.asks += 1
        self.spent += _clocks() - start + self.owed
        self.owed = np.zeros(2)
        campaign.tell(asked["id"], self.truth.Y[asked["row"], asked["col"]])
        return True

    def look(self, campaign: Campaign) -> None:
        """Record the error now."""
        truth, state = self.truth, campaign.state
        measured = np.zeros(truth.M.shape, dtype=bool)
        measured[state.told.rows, state.told.cols] = True
        spent = measured & truth.judged
        i, j = np.nonzero(truth.judged)
        unseen = np.flatnonzero(~measured[i, j])
        sample = self.rng.permutation(unseen)[:INTERVALS]
        start = _clocks()
        estimates = self._estimate(campaign, i, j, sample)
        if self.chooses_by_fit:  # the next ask finds this fit in the cache, so count its time there
            self.owed = _clocks() - start
        squares = (estimates.mean - truth.M[i, j]) ** 2
        coverage = width = np.nan
        if estimates.low is not None and estimates.high is not None and len(sample):
            x = truth.M[i[sample], j[sample]]
            coverage = float(np.mean((estimates.low <= x) & (x <= estimates.high)))
            width = float(np.mean(estimates.high - estimates.low)) / truth.scale
        cost = spent.sum() if truth.cost is None else truth.cost[spent].sum()
        error, unobserved = (
            float(np.sqrt(part.mean())) / truth.scale if len(part) else 0.0 for part in (squares, squares[unseen])
        )  # fmt: skip
        times = (float(seconds) for seconds in self.spent / max(self.asks, 1))
        self.looks.append(Look(int(spent.sum()), float(cost), error, unobserved, coverage, width, *times))
        self.asks, self.spent = 0, np.zeros(2)

    def _estimate(self, campaign: Campaign, i: Indices, j: Indices, sample: Indices) -> Estimates:
        """Return the means of all entries and the intervals of a sample."""
        if self.estimator is not None:
            mean, *ends = self.estimator(campaign.state, i, j, LEVEL)
            return Estimates(mean, *(None if end is None else end[sample] for end in ends))
        posterior = campaign.posterior(progress=False)
        p = posterior.predict(i[sample], j[sample], LEVEL)
        low, high = (p.low, p.high) if self.truth.simulated else (p.new_low, p.new_high)
        return Estimates(posterior.arrays.mean[i, j], low, high)


def _clocks() -> Array:
    return np.array([time.perf_counter(), time.process_time()])


# All cells


@dataclass(frozen=True)
class Failure:
    """A cell that raised an error: the error in one line, and its traceback."""

    case: str
    strategy: str
    seed: int
    error: str
    trace: str = ""

    @classmethod
    def from_cell(cls, cell: Cell, error: str, trace: str = "") -> Failure:
        """Record the failure of a cell."""
        return cls(cell.case.name, cell.strategy.name, cell.seed, " ".join(error.split()), trace)

    def __str__(self) -> str:
        return f"{self.case}, {self.strategy}, seed {self.seed}: {self.error}"


class StudyError(MaxentryError):
    """A comparison could not be run to its end. Finished runs are stored."""


class RunsFailed(StudyError):
    """Some cells raised errors. The others were run and stored, and are in `runs`."""

    def __init__(self, failures: Sequence[Failure], runs: Sequence[Run]) -> None:
        self.failures, self.runs = tuple(failures), list(runs)
        more = f"; {len(failures) - 1} more failed" if len(failures) > 1 else ""
        super().__init__(f"a run failed ({failures[0]}){more}.")


class StudyStopped(KeyboardInterrupt):
    """Ctrl-C. Says how many runs are done."""

    def __init__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        super().__init__(
            f"interrupted: {done} of {total} runs are stored; run the same command again to continue."
        )


Outcomes = Generator[tuple[int, Run | Failure]]
# Runs cells, started in this order, and yields the position and outcome of each as it arrives. However the generator is
# closed, it leaves no process behind.
Engine = Callable[[Sequence[Cell]], Outcomes]


def run_all(
    cells: Sequence[Cell],
    *,
    store: Store | str | PathLike[str],
    workers: int | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    any_law: bool = False,
) -> list[Run]:
    """Return the runs of these cells, in their order.

    workers: processes on this machine, by default one for each core. engine: run the cells with this instead.
    progress: by default a bar on a terminal; True shows it elsewhere too, False never.
    any_law: also accept stored results of another law.

    Raises RunsFailed after all others are done if some cells failed, StudyStopped on Ctrl-C, and StudyError at once if
    a worker runs another version.
    """
    store = store if isinstance(store, Store) else Store(store)
    runs = find_runs(cells, store, any_law=any_law)
    waiting = {key: cell for cell in cells if (key := cell.key()) not in runs}
    failures: list[Failure] = []
    if waiting:
        store.check_writable()
        engine = engine or (lambda cells: run_in_processes(cells, workers))
        failures = _run_missing(waiting, runs, store, engine, progress)
    complete = [_rename(runs[key], cell) for cell in cells if (key := cell.key()) in runs]
    if failures:
        raise RunsFailed(failures, complete)
    return complete


def find_runs(cells: Sequence[Cell], store: Store, *, any_law: bool = False) -> dict[str, Run]:
    """Return the stored runs of these cells by key; with `any_law`, else the run of the latest other law."""
    laws = sorted({run.law for run in store.runs()} - {LAW}, reverse=True) if any_law else []
    runs: dict[str, Run] = {}
    for cell in cells:
        candidates = (store.get(cell.key(law)) for law in (LAW, *laws))
        run = next((run for run in candidates if run is not None), None)
        if run is not None:
            runs[cell.key()] = _rename(run, cell)
    return runs


def _rename(run: Run, cell: Cell) -> Run:
    """Use the cell's name for the case: the name is not part of the key."""
    return run if run.case == cell.case.name else replace(run, case=cell.case.name)


def _run_missing(
    waiting: dict[str, Cell], runs: dict[str, Run], store: Store, engine: Engine, progress: bool | None
) -> list[Failure]:
    """Run the cells, store each result as it arrives, and return the failures.

    Replicate by replicate, so that a study that is stopped has whole ones; the longest first within each.
    """
    order = sorted(waiting.values(), key=lambda cell: (cell.seed, -_work(cell)))
    failures: list[Failure] = []
    total = len(runs) + len(order)
    try:
        with track(total, "runs", progress) as bar, closing(engine(order)) as outcomes:
            bar.advance(len(runs))
            for k, outcome in outcomes:
                cell = order[k]
                if isinstance(outcome, Run) and not outcome.finite:
                    outcome = Failure.from_cell(cell, "its errors are not finite numbers")
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                else:
                    store.add(outcome)
                    _check_law(outcome)
                    runs[cell.key()] = outcome
                bar.advance()
    except KeyboardInterrupt:
        raise StudyStopped(len(runs), total) from None
    return failures


def _work(cell: Cell) -> float:
    """Return a rough measure of how long a cell takes: the number of posteriors times the entries in them."""
    case = cell.case
    fits = case.batches + 1
    return float(fits if cell.strategy.active else min(case.looks, fits)) * (case.initial + case.budget)


def _check_law(run: Run) -> None:
    if run.law != LAW:
        raise StudyError(
            f"expected workers with the same version as this process (law {LAW}), got a result of law {run.law}. It is "
            "stored as such; the other runs were stopped."
        )


def run_on_cluster(cluster: Any) -> Engine:
    """Return an engine that runs cells on a Dask cluster: its scheduler's address, such as tcp://host:8786."""

    def run(cells: Sequence[Cell]) -> Outcomes:
        with open_client(cluster) as client:
            for k, future in submit_tasks(client, perform, cells):
                yield k, _outcome(cells[k], future)

    return run


def _outcome(cell: Cell, future: Any) -> Run | Failure:
    """Return the outcome of a cell, or why our function was not even reached: no maxentry there, a dead worker."""
    if future.status not in ("finished", "error"):
        return Failure.from_cell(cell, f"on the cluster: the run was {future.status}")
    try:
        outcome: Run | Failure = future.result()
    except Exception as error:  # of the cell, of a worker that died with the result, or of the scheduler
        return Failure.from_cell(cell, f"on the cluster: {type(error).__name__}: {error}")
    return outcome


# In processes on this machine, through joblib's loky

# Libraries read these when they are loaded. A process for each core with several threads in each would slow all down.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "MAXENTRY_THREADS",
    ),
    "1",
)  # fmt: skip
PARENT_CHECK_S = 1.0


def run_in_processes(cells: Sequence[Cell], workers: int | None = None) -> Outcomes:
    """Run the cells in worker processes, by default one for each core. An `Engine`."""
    if workers is not None and workers < 1:
        raise ParameterError(f"expected at least 1 worker, got {workers}.")
    loky = _loky()
    for source in {id(cell.case.source): cell.case.source for cell in cells}.values():
        source.prepare()  # here, so that a refusal or a licence is shown once and at once
    processes = min(workers or int(loky.cpu_count()), len(cells))
    executor: Any = None
    try:
        _start_trackers()
        with _hold_interrupts():  # inherited by the workers: Ctrl-C on a terminal reaches only this process
            executor = loky.ProcessPoolExecutor(
                processes, initializer=start_worker, initargs=(os.getpid(),), env=ONE_THREAD
            )
            futures = {executor.submit(perform, cell): k for k, cell in enumerate(cells)}
        with warnings.catch_warnings():
            # loky replaces a worker whose memory has grown, and warns about it.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
            for future in loky.as_completed(futures):
                yield futures[future], future.result()
    except loky.BrokenProcessPool:
        raise StudyError(
            "a worker process was killed, perhaps because memory ran out. Finished runs are stored; "
            "to continue, run the same command again with fewer workers."
        ) from None
    finally:
        with _hold_interrupts():
            if executor is not None:
                executor.shutdown(kill_workers=True)


def _start_trackers() -> None:
    """Start the trackers of semaphores before the workers, and let loky's print nothing.

    Python's own, started with the first worker, would let interrupts in again just before that worker starts. A thread
    of loky's may still be letting go of a lock when this process ends. Its tracker then warns of a leak, and of a
    semaphore that is gone already.
    """
    if os.name == "posix":
        resource_tracker.ensure_running()
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        import_module("joblib.externals.loky.backend.resource_tracker").ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def perform(cell: Cell) -> Run | Failure:
    """Run a cell in a worker, on one thread. Errors come back as text, since not every error can be pickled."""
    try:
        _use_one_thread()
        return run_cell(cell)
    except Exception as error:
        text = str(error) if isinstance(error, MaxentryError) else f"{type(error).__name__}: {error}"
        return Failure.from_cell(cell, text, traceback.format_exc())


@cache
def _use_one_thread() -> None:
    """Limit this process for good: a cluster's worker may run several cells at once in one process."""
    os.environ.setdefault("MAXENTRY_THREADS", "1")
    threadpool_limits(1)


def start_worker(parent: int) -> None:
    """Set up a worker process: it prints nothing, and ends when its parent does."""

    def exit_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        os._exit(1)

    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if os.name == "posix":  # elsewhere a process does not learn that its parent has ended
        threading.Thread(target=exit_with_parent, daemon=True).start()


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the block is done."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _loky() -> Any:
    try:
        import_module("psutil")  # loky needs it to end its workers
        return import_module("joblib.externals.loky")
    except ImportError as error:
        raise MissingDependencyError(
            f"comparisons need joblib and psutil, but {error.name or 'one of them'} is not installed: "
            "pip install 'maxentry[studies]'."
        ) from None
