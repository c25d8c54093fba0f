"""A Dask cluster does what this machine would do."""

import signal
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from tests.compare.test_interrupts import Working, last_words, until
from tests.compare.test_runner import CASE, CELLS, timeless

from maxentry.compare import runner
from maxentry.compare.runner import RunsFailed, run_all, run_on_cluster
from maxentry.compare.scenario import BASELINE, Cell
from maxentry.compare.store import Store
from maxentry.engines import cluster
from maxentry.engines.cluster import ClusterError
from maxentry.errors import MissingDependencyError

distributed = pytest.importorskip("distributed")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the scheduler that is there is found."""
    monkeypatch.setattr(cluster, "PATIENCE_S", 120.0)


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("workers", "threads"), [(2, 1), (1, 2)])
def test_a_cluster_gives_the_same_results(tmp_path: Path, workers: int, threads: int) -> None:
    here = run_all(CELLS, store=tmp_path / "here", workers=1)
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=None
    ) as there:
        cells = [*CELLS, Cell(CASE, replace(BASELINE, name="nobody's", acquisition="no such"), 0)]
        with pytest.raises(RunsFailed, match="nobody's, seed 0: ") as caught:
            run_all(cells, store=tmp_path / "there", engine=run_on_cluster(there.scheduler_address))
        assert [timeless(run) for run in caught.value.runs] == [timeless(run) for run in here]
        assert [run.key for run in caught.value.runs] == [run.key for run in here]
        assert len(Store(tmp_path / "there")) == len(CELLS)


@pytest.mark.process
@pytest.mark.usefixtures("patient")
def test_a_cluster_without_workers_is_refused(tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        pytest.raises(ClusterError, match="expected a Dask cluster with workers, got one without any"),
    ):
        run_all(CELLS, store=tmp_path, engine=run_on_cluster(empty.scheduler_address))


@pytest.mark.slow
def test_ctrl_c_leaves_the_cluster_with_nothing_to_do(tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as there:
        study = Working(tmp_path, 600, "--cluster", there.scheduler_address)
        study.until_it_waits()
        study.process.send_signal(signal.SIGINT)
        code, answered, said = study.ended()
        assert (code, answered) == (130, "")
        assert last_words(said).startswith("Interrupted: 2 of 5 runs are stored; ")
        until(lambda: not there.scheduler.tasks)
        assert len(study.begun()) == 4  # and not the fifth


class Lost:
    """A run whose worker died, before or after it was done, or that went well; and a client that cannot be reached."""

    def __init__(self, status: str, result: object) -> None:
        self.status, self.found = status, result

    def result(self) -> object:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Unreachable:
    loop = None

    def __init__(self, futures: list[Lost]) -> None:
        self.futures = iter(futures)

    def submit(self, *_: object, **__: object) -> Lost:
        return next(self.futures)

    def cancel(self, *_: object, **__: object) -> None:
        raise distributed.comm.CommClosedError("gone")


def test_a_worker_or_scheduler_that_dies_is_a_failure_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    futures = [
        Lost("finished", "a run"), Lost("finished", distributed.comm.CommClosedError("gone")),
        Lost("error", ImportError("no maxentry")), Lost("cancelled", None),
    ]  # fmt: skip
    monkeypatch.setattr(distributed, "as_completed", lambda futures, loop: iter(futures))
    monkeypatch.setattr(runner, "open_client", lambda _: nullcontext(Unreachable(futures)))
    found = dict(run_on_cluster("tcp://host:8786")(CELLS))
    assert found[0] == "a run"
    assert [getattr(found[k], "error", None) for k in (1, 2, 3)] == [
        "on the cluster: CommClosedError: gone", "on the cluster: ImportError: no maxentry",
        "on the cluster: the run was cancelled",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "tcp://127.0.0.1:1",
        "nowhere",
        "http://127.0.0.1:1",
        "tcp://127.0.0.1",
        "tls://127.0.0.1:1",
        "ucx://127.0.0.1:1",
    ],
)
def test_no_scheduler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_S", 0.5)
    with pytest.raises(ClusterError, match="no Dask scheduler at"):
        run_all(CELLS, store=tmp_path, engine=run_on_cluster(address))
    assert len(Store(tmp_path)) == 0


def test_without_distributed_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cluster, "import_module", missing)
    with pytest.raises(MissingDependencyError, match="needs distributed, which is not installed"):
        run_all(CELLS, store=tmp_path, engine=run_on_cluster("tcp://127.0.0.1:1"))
