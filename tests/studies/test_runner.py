"""The cells of a study: none is run twice, the longest first, errors do not stop the others."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.studies import datasets, experiment, local, runner
from maxentry.studies.case import Case, Cell
from maxentry.studies.code import fingerprint
from maxentry.studies.outcomes import Failure, RunsFailed, StudyError, StudyStopped, failed
from maxentry.studies.paper import figure_cells
from maxentry.studies.record import Look, Run
from maxentry.studies.runner import known, run_all
from maxentry.studies.sources import Part, Simulated, Truth
from maxentry.studies.store import Store

DATA = Path(__file__).parents[3] / "shared" / "data"
MODEL = (("rank", 1), ("effects", False))
CASE = Case("tiny", Simulated((6, 5), 1), 6, 3, 6, looks=2, model=MODEL)
CELLS = [Cell(CASE, strategy, seed) for strategy in ("uniform", "maxent") for seed in (0, 1)]


def run_of(cell: Cell, code: str | None = None) -> Run:
    code = code or fingerprint()
    looks = (Look(6, 6.0, 1.0, 1.0, 0.9, 1.0, 0.1, 0.1),)
    return Run(
        cell.key(code), code, cell.case.name, cell.case.identity(), cell.strategy, cell.seed, (6, 5), 30, 1.0, looks,
        1.0, 1.0,
    )  # fmt: skip


class Pool:
    """Stands for the processes: remembers in which order cells were begun, and does what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **ends: object) -> None:
        self.begun: list[Cell] = []
        self.ends = ends  # by strategy
        monkeypatch.setattr(local, "results", self.results)

    def results(self, cells: list[Cell], workers: int) -> Iterator[tuple[int, Run | Failure]]:
        for k, cell in enumerate(cells):
            self.begun.append(cell)
            end = self.ends.get(cell.strategy)
            if isinstance(end, BaseException):
                raise end
            yield k, failed(cell, str(end)) if isinstance(end, str) else run_of(cell)


def test_what_is_kept_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(monkeypatch)
    first = run_all(CELLS[1:3], store=tmp_path)
    assert [(r.strategy, r.seed) for r in first] == [("uniform", 1), ("maxent", 0)]
    pool.begun.clear()
    runs = run_all(CELLS, store=tmp_path)
    assert [(r.strategy, r.seed) for r in runs] == [(c.strategy, c.seed) for c in CELLS]
    assert {(c.strategy, c.seed) for c in pool.begun} == {("uniform", 0), ("maxent", 1)}
    pool.begun.clear()
    assert len(run_all([*CELLS, *CELLS], store=Store(tmp_path))) == 8
    assert pool.begun == []


def test_another_setting_seed_or_code_is_another_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(monkeypatch)
    run_all(CELLS, store=tmp_path)
    pool.begun.clear()
    others = [Cell(replace(CASE, batch=2), "uniform", 0), Cell(CASE, "uniform", 2)]
    run_all([*CELLS, *others], store=tmp_path)
    assert len(pool.begun) == 2
    monkeypatch.setattr(runner, "fingerprint", lambda peers: "another")
    assert known(CELLS, Store(tmp_path)) == {}


def test_a_cell_that_comes_twice_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(monkeypatch)
    assert len(run_all([CELLS[0], CELLS[0]], store=tmp_path)) == 2
    assert len(pool.begun) == 1


def test_a_case_by_another_name_is_the_same_by_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool(monkeypatch)
    run_all(CELLS[:1], store=tmp_path)
    renamed = [cell._replace(case=replace(CASE, name="new name")) for cell in CELLS]
    pool.begun.clear()
    runs = run_all(renamed, store=tmp_path)
    assert {run.case for run in runs} == {"new name"}
    assert renamed[0] not in pool.begun  # it is kept from before
    assert len(pool.begun) == 3
    assert {run.case for run in known(CELLS, Store(tmp_path)).values()} == {"tiny"}
    both = run_all([CELLS[0], renamed[0]], store=tmp_path)
    assert [run.case for run in both] == ["tiny", "new name"]


def test_nothing_to_run(tmp_path: Path) -> None:
    assert run_all([], store=tmp_path / "new") == []
    assert not (tmp_path / "new").exists()


def test_the_longest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(monkeypatch)
    large = Cell(replace(CASE, name="large", budget=24), "maxent", 0)
    run_all([CELLS[0], CELLS[2], large], store=tmp_path)
    assert [(c.case.name, c.strategy) for c in pool.begun] == [
        ("large", "maxent"), ("tiny", "maxent"), ("tiny", "uniform"),
    ]  # fmt: skip


def test_errors_do_not_stop_the_others_and_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pool(monkeypatch, maxent="no luck")
    with pytest.raises(
        RunsFailed, match=r"one failed \(tiny, maxent, seed 0: no luck\); 1 more run failed"
    ) as caught:
        run_all(CELLS, store=tmp_path)
    assert [str(f) for f in caught.value.failures] == [f"tiny, maxent, seed {k}: no luck" for k in (0, 1)]
    assert [(r.strategy, r.seed) for r in caught.value.runs] == [("uniform", 0), ("uniform", 1)]
    assert len(Store(tmp_path)) == 2
    pool = Pool(monkeypatch)  # mended
    assert len(run_all(CELLS, store=tmp_path)) == 4
    assert {c.strategy for c in pool.begun} == {"maxent"}


def test_ctrl_c_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Pool(monkeypatch)
    run_all(CELLS[:1], store=tmp_path)
    Pool(monkeypatch, uniform=KeyboardInterrupt())
    with pytest.raises(
        StudyStopped, match="interrupted: 3 of 4 runs are kept; the same command does the others"
    ):
        run_all(CELLS, store=tmp_path)
    assert issubclass(StudyStopped, KeyboardInterrupt)
    assert len(Store(tmp_path)) == 3


def test_results_of_other_code_are_taken_only_if_asked_and_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    for code in ("old", "newer"):
        store.add(run_of(CELLS[0], code))
    store.add(run_of(CELLS[1]))
    pool = Pool(monkeypatch)
    runs = run_all(CELLS[:2], store=store, accept_other_code=True)
    assert [run.code for run in runs] == ["newer", fingerprint()]
    assert pool.begun == []
    assert [run.code for run in run_all(CELLS[:2], store=store)] == [fingerprint()] * 2
    assert pool.begun == [CELLS[0]]


def test_a_worker_with_other_code_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(monkeypatch)
    monkeypatch.setattr(runner, "fingerprint", lambda peers: "this")
    with pytest.raises(StudyError, match="expected workers with the same code as this process, but"):
        run_all(CELLS, store=tmp_path)
    assert len(pool.begun) == 1  # not all of them, for hours
    assert [run.code for run in Store(tmp_path).runs()] == [fingerprint()]  # its own name, so nothing is lost
    assert len(run_all(pool.begun, store=tmp_path, accept_other_code=True)) == 1


def test_without_joblib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(local, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"expected joblib .*maxentry\[studies\]"):
        run_all(CELLS, store=tmp_path)


def test_without_what_ends_workers_none_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(
        MissingDependencyError, match=r"joblib and psutil .* psutil is not .*maxentry\[studies\]"
    ):
        run_all(CELLS, store=tmp_path)


def test_errors_that_are_no_numbers_are_failures_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(cell: Cell, good: Callable[[Cell], Run] = run_of) -> Run:
        run = good(cell)
        wrong = {"uniform": {"error": math.inf}, "maxent": {"error_unobserved": math.nan}}[cell.strategy]
        return replace(run, looks=(run.looks[0]._replace(**wrong),)) if cell.seed == 0 else run

    assert run_of(CELLS[0]).finite
    Pool(monkeypatch)
    monkeypatch.setattr(sys.modules[__name__], "run_of", spoilt)
    with pytest.raises(RunsFailed) as caught:
        run_all(CELLS, store=tmp_path)
    assert {(f.strategy, f.seed, f.error) for f in caught.value.failures} == {
        (s, 0, "its errors are not finite numbers") for s in ("uniform", "maxent")
    }
    assert [run.seed for run in caught.value.runs] == [1, 1]
    assert len(Store(tmp_path)) == 2


def test_intervals_without_end_do_not_stop_a_study(tmp_path: Path) -> None:
    run = run_of(CELLS[0])
    Store(tmp_path).add(replace(run, looks=(run.looks[0]._replace(width=math.inf),)))
    [kept] = Store(tmp_path).runs()
    assert math.isnan(kept.looks[0].width)


PARTS = [
    Cell(replace(CASE, name=name, source=Part(name, 6, 5, costs=costs)), "uniform", 0)
    for name, costs in (("jester", None), ("oboe-error", "oboe-runtime"))
]


def test_data_are_had_before_workers_start_and_only_those_that_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(datasets, "load", loaded.append)
    pool = Pool(monkeypatch)
    Store(tmp_path).add(run_of(PARTS[0]))
    run_all([*PARTS, *CELLS, Cell(PARTS[1].case, "uniform", 1)], store=tmp_path)
    assert loaded == ["oboe-error", "oboe-runtime"]  # jester's run is kept
    figure = [cell for cell in figure_cells(["jester"], 1, quick=True) if cell.case.name != "jester"]
    loaded.clear()
    run_all(figure[:1], store=tmp_path)
    assert loaded == ["jester"]  # whatever is made of it
    pool.begun.clear()

    def absent(name: str) -> None:
        raise DataError(f"expected {name} here, but it is not.")

    monkeypatch.setattr(datasets, "load", absent)
    others = [Cell(CASE, "uniform", 7), *PARTS]
    assert len(run_all(others, store=tmp_path)) == 3  # all data are of kept runs
    with pytest.raises(DataError, match="expected jester here"):
        run_all([*others, PARTS[0]._replace(seed=7)], store=tmp_path)
    assert len(pool.begun) == 1


def test_licences_are_told_to_users_of_python_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not (DATA / "reactions").exists():
        pytest.skip("needs ../shared/data")
    monkeypatch.setenv("MAXENTRY_DATA", str(DATA))
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(tmp_path / "cache"))
    case = replace(CASE, source=Part("direct-arylation", 6, 5))
    for seed in (0, 1):
        run_all([Cell(case, "uniform", seed)], store=tmp_path, workers=1)
    assert capfd.readouterr().err.count("please cite") == 1


def test_time_left_is_said_at_once_where_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Pool(monkeypatch)
    run_all(CELLS[:1], store=tmp_path, progress=True)
    assert capsys.readouterr().err.splitlines()[0] == "maxentry: 0 of 1 runs done"
    run_all(CELLS[:2], store=tmp_path, progress=True, workers=1)
    assert capsys.readouterr().err.splitlines()[0] == "maxentry: 1 of 2 runs done, about 1 s left"


def test_no_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected at least 1 worker, but 0 came"):
        run_all(CELLS, store=tmp_path, workers=0)


# In processes


@dataclass(frozen=True)
class Watched:
    """Refuses to be measured by a process that may use several threads, or that is this one."""

    parent: int

    def identity(self) -> dict[str, object]:
        return {"kind": "watched"}

    def truth(self, seed: int) -> Truth:
        from threadpoolctl import threadpool_info

        from maxentry.kernels.threads import max_threads

        assert os.getpid() != self.parent
        assert os.environ["OMP_NUM_THREADS"] == os.environ["NUMBA_NUM_THREADS"] == "1"
        assert max_threads() == 1
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        return Simulated((6, 5), 1).truth(seed)


def timeless(run: Run) -> list[tuple[float, ...]]:
    return [look[:6] for look in run.looks]


def test_processes_do_what_this_one_would_do(tmp_path: Path) -> None:
    watched = Cell(replace(CASE, source=Watched(os.getpid())), "uniform", 0)
    cells = [*CELLS[1:3], watched, Cell(CASE, "means", 0), Cell(CASE, "nobody's", 0)]
    with pytest.raises(RunsFailed) as caught:
        run_all(cells, store=tmp_path, workers=2)
    [failure] = caught.value.failures
    assert failure.error.startswith("expected one of the strategies")
    assert "ParameterError" in failure.trace
    runs = caught.value.runs
    assert [(r.case, r.strategy, r.seed) for r in runs] == [
        (c.case.name, c.strategy, c.seed) for c in cells[:4]
    ]
    for run, cell in zip(runs[:2], cells[:2], strict=True):
        alone = experiment.run(cell)
        assert timeless(run) == timeless(alone)
        assert run.key == alone.key == cell.key(fingerprint())
    assert runs[3].code == fingerprint(True)  # a peer's: the code of peers counts
    assert timeless(runs[0]) != timeless(runs[2])  # of another seed
