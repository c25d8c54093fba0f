"""All cells of a study: what is kept is not run again, the others run side by side, each is kept when it is done."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from os import PathLike

from maxentry.studies import cluster, local
from maxentry.studies.case import Cell
from maxentry.studies.code import fingerprint
from maxentry.studies.forecast import Forecast
from maxentry.studies.meter import Meter, meter
from maxentry.studies.outcomes import Failure, RunsFailed, StudyError, StudyStopped, failed
from maxentry.studies.record import Run
from maxentry.studies.store import Store
from maxentry.studies.strategies import STRATEGIES

Outcomes = Generator[tuple[int, Run | Failure]]

OTHER_CODE = (
    "expected workers with the same code as this process, but one has another version of it; its result is kept as one "
    "of that version, and the others were not waited for."
)
NOT_FINITE = "its errors are not finite numbers"


def run_all(
    cells: Sequence[Cell],
    *,
    store: Store | str | PathLike[str],
    workers: int | None = None,
    dask: str | None = None,
    progress: bool | None = None,
    accept_other_code: bool = False,
) -> list[Run]:
    """The runs of these cells, in their order.

    workers: processes on this machine; one for each core if not given. dask: the address of a scheduler, whose
        cluster does it instead.
    progress: by default a bar on a terminal; True also elsewhere, as lines; False never.
    accept_other_code: also take results that another version of the code has kept.

    Raises RunsFailed, when all others are done, if some cells failed, StudyStopped on Ctrl-C, and StudyError at once
    if a worker has other code than this process.
    """
    kept = store if isinstance(store, Store) else Store(store)
    keys = [cell.key(code_of(cell)) for cell in cells]
    found = known(cells, kept, accept_other_code=accept_other_code)
    waiting = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in found}
    failures: list[Failure] = []
    if waiting:
        kept.writable()
        if dask is None:
            _have_data(waiting.values())
        with meter(len(set(keys)), progress) as seen:
            work = _Work(waiting, kept, found, seen, accept_other_code)
            failures = work.done(workers, dask)
    runs = [_named_as(cell, found[key]) for key, cell in zip(keys, cells, strict=True) if key in found]
    if failures:
        raise RunsFailed(failures, runs)
    return runs


def known(cells: Sequence[Cell], store: Store, *, accept_other_code: bool = False) -> dict[str, Run]:
    """What is kept of these cells, by their keys: results of this code, or else the newest of any other if accepted."""
    others = dict.fromkeys(run.code for run in reversed(store.runs())) if accept_other_code else {}
    found: dict[str, Run] = {}
    for cell in cells:
        keys = [cell.key(code) for code in dict.fromkeys((code_of(cell), *others))]
        run = next((run for run in map(store.get, keys) if run is not None), None)
        if run is not None:
            found[keys[0]] = _named_as(cell, run)
    return found


def _have_data(cells: Iterable[Cell]) -> None:
    """Have the data here before workers want them: a licence, or a refusal, comes once, at once, and is seen."""
    from maxentry.studies import datasets  # here, since simulations need no data

    sources = [cell.case.source.identity() for cell in cells]
    parts = [source for source in sources if source.get("kind") == "data"]
    for name in dict.fromkeys(part[key] for part in parts for key in ("dataset", "costs") if part.get(key)):
        datasets.load(name)


def _named_as(cell: Cell, run: Run) -> Run:
    """A case's name is no part of its key: under another name, it is the same case by that name."""
    return run if run.case == cell.case.name else replace(run, case=cell.case.name)


def code_of(cell: Cell) -> str:
    """The fingerprint of the code that runs this cell here."""
    strategy = STRATEGIES.get(cell.strategy)
    return fingerprint(strategy is not None and strategy.peer)


class _Work:
    """What is left to run, and what has come of it."""

    def __init__(
        self, waiting: Mapping[str, Cell], store: Store, found: dict[str, Run], seen: Meter, other_code: bool
    ) -> None:
        self.forecast = Forecast(store.runs())
        self.order = sorted(waiting.items(), key=lambda item: self.forecast.seconds(item[1]), reverse=True)
        self.left = set(range(len(self.order)))
        self.store, self.found, self.seen, self.other_code = store, found, seen, other_code
        self.failures: list[Failure] = []

    def done(self, workers: int | None, dask: str | None) -> list[Failure]:
        """Run all, the longest first, and keep each as it comes; those that failed."""
        total = len(self.found) + len(self.order)
        try:
            with _workers([cell for _, cell in self.order], workers, dask) as (n, outcomes):
                self._show(n)
                for k, outcome in outcomes:
                    self.left.discard(k)
                    self._take(*self.order[k], outcome)
                    self._show(n)
        except KeyboardInterrupt:
            raise StudyStopped(len(self.found), total) from None
        return self.failures

    def _take(self, key: str, cell: Cell, outcome: Run | Failure) -> None:
        if isinstance(outcome, Failure):
            self.failures.append(outcome)
            return
        if not outcome.finite:  # no result: it would be in the way of all that is computed from the others
            self.failures.append(failed(cell, NOT_FINITE))
            return
        self.store.add(outcome)
        self.forecast.saw(outcome)
        if outcome.key != key and not self.other_code:
            raise StudyError(OTHER_CODE)
        self.found[key] = outcome

    def _show(self, workers: int) -> None:
        left = [self.order[k][1] for k in self.left]
        whole, rest = (sum(map(self.forecast.seconds, cells)) for cells in ([c for _, c in self.order], left))
        self.seen.show(
            len(self.found),
            1 - rest / whole if whole else 0.0,
            self.forecast.left(left, workers) if self.forecast.experienced else None,
        )


@contextmanager
def _workers(cells: list[Cell], workers: int | None, dask: str | None) -> Iterator[tuple[int, Outcomes]]:
    """How many cells run at once, and what comes of them."""
    if dask is None:
        n = local.cores(workers)
        with closing(local.results(cells, n)) as outcomes:
            yield n, outcomes
    else:
        with cluster.connected(dask) as client, closing(cluster.results(cells, client)) as outcomes:
            yield cluster.threads(client), outcomes
