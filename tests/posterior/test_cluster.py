"""Chains on a Dask cluster give the draws of this machine, whatever becomes of the workers."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxentry import complete
from maxentry.engines import cluster as module
from maxentry.engines.cluster import ClusterError, Workers, open_client
from maxentry.errors import MissingDependencyError, ParameterError
from maxentry.posterior.posterior import Posterior
from maxentry.posterior.schedule import Sampling

distributed = pytest.importorskip("distributed")
SHORT = Sampling(chains=4, anneal=6, settle=4, draws=3, thin=2)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the scheduler that is there is found."""
    monkeypatch.setattr(module, "PATIENCE_S", 120.0)


@pytest.fixture(scope="module")
def threads() -> Iterator[Any]:
    """A cluster of two workers in this process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


def table(n: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = np.outer(rng.normal(size=n), rng.normal(size=n - 2)) + 0.1 * rng.normal(size=(n, n - 2))
    return np.where(rng.random(Y.shape) < 0.5, Y, np.nan)


def same_draws(a: Posterior, b: Posterior) -> bool:
    one, other = a.draws, b.draws
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("left", "right", "row", "col", "mu", "eta2")
    )


@pytest.mark.parametrize("options", [{"rank": 2}, {"rank": 1, "noise": "student"}, {"rank": 0}])
def test_the_draws_are_those_of_this_machine(threads: Any, options: dict[str, Any]) -> None:
    here = complete(table(), sampling=SHORT, seed=1, **options)
    there = complete(table(), sampling=SHORT, seed=1, cluster=threads.scheduler_address, **options)
    assert same_draws(here, there)
    assert not same_draws(here, complete(table(), sampling=SHORT, seed=2, cluster=threads, **options))


def test_ranks_are_chosen_as_on_this_machine(threads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sampling, "scout", lambda *_: SHORT)
    here = complete(table(10), sampling=SHORT, seed=1)
    with distributed.Client(threads) as client:
        there = complete(table(10), sampling=SHORT, seed=1, cluster=client)
        assert client.status == "running"  # the caller's own, and left open
    assert here.rank_weights == there.rank_weights
    assert same_draws(here, there)


def test_a_store_and_a_warm_start_work_as_here(threads: Any, tmp_path: Any) -> None:
    first = complete(table(), 1, sampling=SHORT, seed=1)
    here = complete(table(), start=first, sampling=SHORT, seed=2)
    there = complete(table(), start=first, sampling=SHORT, seed=2, cluster=threads, store=tmp_path / "draws")
    assert same_draws(here, there)
    assert same_draws(here, Posterior.load(tmp_path / "draws"))


def test_errors_of_a_chain_are_those_of_this_machine(threads: Any) -> None:
    from maxentry import Priors

    tiny = Priors.weak((12, 10), 1, False)
    with pytest.raises(ParameterError, match="must be of like size for double precision"):
        complete(1e200 * table(), 1, priors=tiny, sampling=SHORT, seed=1, cluster=threads)


@pytest.mark.process
@pytest.mark.parametrize("n_workers", [2, 1])
def test_a_killed_worker_costs_its_piece_and_nothing_else(tmp_path: Path, n_workers: int) -> None:
    """The worker kills itself while it runs a task, so it is in the middle of it for certain."""
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        died = tmp_path / "died"
        assert dict(Workers(client).run(die_once, range(4), (10, died))) == {k: 10 + k for k in range(4)}
        assert died.exists()
        here = complete(table(), 1, sampling=SHORT, seed=1)
        client.wait_for_workers(n_workers)
        client.run(kill_in_the_middle, tmp_path / "died again")
        there = complete(table(), 1, sampling=SHORT, seed=1, cluster=client)
        assert (tmp_path / "died again").exists()
    assert same_draws(here, there)


def die_once(shared: tuple[int, Path], item: int) -> int:
    offset, died = shared
    if item == 2:
        die(died)
    return offset + item


def die(mark: Path) -> None:
    """Kill this process, unless a process has died here before."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def kill_in_the_middle(mark: Path) -> None:
    """Let the first worker that has annealed a chain die before it draws from it."""
    from maxentry.posterior import chains, gibbs

    step, calls = gibbs.step, []

    def dying_step(*args: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            die(mark)
        return step(*args)

    chains.gibbs.step = dying_step


def test_tasks_whose_shared_data_is_lost_are_sent_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([[Ended("cancelled", None), Ended("finished", "b")], [Ended("finished", "a")]])
    client = Futures()
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: iter(futures))
    client.submit = lambda *_, **__: client.batch.pop(0)  # type: ignore[attr-defined]
    client.scatter = lambda *_, **__: client.batch.extend(next(rounds))  # type: ignore[attr-defined]
    assert dict(Workers(client).run(len, ["x", "y"], None)) == {1: "b", 0: "a"}


def test_tasks_that_are_lost_again_and_again_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Futures()
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: iter(futures))
    client.submit = lambda *_, **__: Ended("cancelled", None)  # type: ignore[attr-defined]
    client.scatter = lambda *_, **__: None  # type: ignore[attr-defined]
    with pytest.raises(ClusterError, match=r"lost 1 of 1 tasks 3 times"):
        dict(Workers(client).run(len, ["x"], None))


class Ended:
    """A future that has ended."""

    def __init__(self, status: str, result: object) -> None:
        self.status, self.found = status, result

    def result(self) -> object:
        return self.found


class Futures:
    """A client whose cluster has one worker."""

    loop = None

    def __init__(self) -> None:
        self.batch: list[Ended] = []

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1}

    def wait_for_workers(self, *_: object, **__: object) -> None:
        pass

    def cancel(self, *_: object, **__: object) -> None:
        pass


def test_stop_ends_those_who_wait(threads: Any) -> None:
    with open_client(threads) as client:
        workers, gate = Workers(client), threading.Event()
        waits = workers.run(lambda shared, item: item if item == 0 else wait_for_cancel(), [0, 1], None)
        assert next(waits) == (0, 0)
        threading.Thread(target=lambda: (gate.wait(), workers.stop())).start()
        gate.set()
        with pytest.raises(KeyboardInterrupt):
            next(waits)


def wait_for_cancel() -> None:
    """Run until the task is cancelled."""
    while not module.is_cancelled():
        threading.Event().wait(0.01)


def test_outside_a_worker_nothing_is_cancelled() -> None:
    assert not module.is_cancelled()


@pytest.mark.parametrize("cluster", [3, object()])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    with pytest.raises(ParameterError, match="cluster must be the address of a Dask scheduler"):
        complete(table(), 1, sampling=SHORT, cluster=cluster)


def test_watch_needs_this_machine() -> None:
    with pytest.raises(ParameterError, match="watch= follows the sweeps on this machine"):
        complete(table(), 1, sampling=SHORT, watch=(0, 0), cluster="tcp://127.0.0.1:1")


def test_no_scheduler_is_said_before_a_store_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler at"):
        complete(table(), 1, sampling=SHORT, cluster="tcp://127.0.0.1:1", store=tmp_path / "draws")
    assert not (tmp_path / "draws").exists()


def test_without_distributed_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"pip install 'maxentry\[cluster\]'"):
        complete(table(), 1, sampling=SHORT, cluster="tcp://127.0.0.1:1")
