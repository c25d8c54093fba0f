"""The cells of a comparison: none is run twice, whole replicates first, errors do not stop the others."""

import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from evidence.sources import Simulated
from evidence.strategies import get_strategy
from maxentry.compare import runner
from maxentry.compare.runner import (
    Failure,
    RunsFailed,
    StudyError,
    StudyStopped,
    find_runs,
    perform,
    run_all,
    run_cell,
)
from maxentry.compare.scenario import LAW, Case, Cell, Strategy, Truth
from maxentry.compare.store import Look, Run, Store
from maxentry.errors import MissingDependencyError, ParameterError

MODEL = (("rank", 1), ("effects", False))
CASE = Case("tiny", Simulated((6, 5), 1), 6, 3, 6, looks=2, model=MODEL)
UNIFORM, MAXENT = get_strategy("uniform"), get_strategy("maxent")
CELLS = [Cell(CASE, strategy, seed) for strategy in (UNIFORM, MAXENT) for seed in (0, 1)]


def invent(cell: Cell, law: int = LAW, **look: float) -> Run:
    looks = (Look(6, 6.0, 1.0, 1.0, 0.9, 1.0, 0.1, 0.1)._replace(**look),)
    identity = cell.case.identity()
    return Run(law, cell.case.name, identity, cell.strategy.name, cell.seed, (6, 5), 30, 1.0, looks, 1.0, 1.0)


class Engine:
    """Stands for the processes: remembers in which order cells were begun, and ends them as it is told to."""

    def __init__(self, law: int = LAW, **ends: object) -> None:
        self.begun: list[Cell] = []
        self.law, self.ends, self.closed = law, ends, False  # ends: by strategy

    def __call__(self, cells: list[Cell]) -> Iterator[tuple[int, Run | Failure]]:
        try:
            for k, cell in enumerate(cells):
                self.begun.append(cell)
                end = self.ends.get(cell.strategy.name)
                if isinstance(end, BaseException):
                    raise end
                look = end if isinstance(end, dict) and cell.seed == 0 else {}
                outcome = (
                    Failure.from_cell(cell, end) if isinstance(end, str) else invent(cell, self.law, **look)
                )
                yield k, outcome
        finally:
            self.closed = True


def names(items: list) -> list[tuple[str, int]]:
    return [(getattr(i.strategy, "name", i.strategy), i.seed) for i in items]


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    assert names(run_all(CELLS[1:3], store=tmp_path, engine=Engine())) == [("uniform", 1), ("maxent", 0)]
    engine = Engine()
    assert names(run_all(CELLS, store=tmp_path, engine=engine)) == names(CELLS)
    assert set(names(engine.begun)) == {("uniform", 0), ("maxent", 1)}
    again = Engine()
    assert len(run_all([*CELLS, *CELLS], store=Store(tmp_path), engine=again)) == 8
    assert again.begun == []


def test_another_setting_seed_or_law_is_another_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(CELLS, store=tmp_path, engine=Engine())
    others = [Cell(replace(CASE, batch=2), UNIFORM, 0), Cell(CASE, UNIFORM, 2)]
    engine = Engine()
    run_all([*CELLS, *others], store=tmp_path, engine=engine)
    assert len(engine.begun) == 2
    monkeypatch.setattr(runner, "LAW", LAW + 1)
    assert find_runs(CELLS, Store(tmp_path)) == {}


def test_a_cell_that_comes_twice_is_run_once(tmp_path: Path) -> None:
    engine = Engine()
    assert len(run_all([CELLS[0], CELLS[0]], store=tmp_path, engine=engine)) == 2
    assert len(engine.begun) == 1


def test_a_case_by_another_name_is_the_same_by_that_name(tmp_path: Path) -> None:
    run_all(CELLS[:1], store=tmp_path, engine=Engine())
    renamed = [cell._replace(case=replace(CASE, name="new name")) for cell in CELLS]
    engine = Engine()
    runs = run_all(renamed, store=tmp_path, engine=engine)
    assert {run.case for run in runs} == {"new name"}
    assert renamed[0] not in engine.begun  # stored before
    assert len(engine.begun) == 3
    assert {run.case for run in find_runs(CELLS, Store(tmp_path)).values()} == {"tiny"}
    both = run_all([CELLS[0], renamed[0]], store=tmp_path, engine=engine)
    assert [run.case for run in both] == ["tiny", "new name"]


def test_nothing_to_run(tmp_path: Path) -> None:
    assert run_all([], store=tmp_path / "new") == []
    assert not (tmp_path / "new").exists()


def test_the_longest_first(tmp_path: Path) -> None:
    engine = Engine()
    large = Cell(replace(CASE, name="large", budget=24), MAXENT, 0)
    run_all([CELLS[0], CELLS[2], large], store=tmp_path, engine=engine)
    assert [c.case.name for c in engine.begun] == ["large", "tiny", "tiny"]
    longer = replace(CASE, batch=1, looks=2)  # uniform fits only for the looks
    engine = Engine()
    run_all([Cell(longer, UNIFORM, 0), Cell(longer, MAXENT, 0)], store=tmp_path / "2", engine=engine)
    assert names(engine.begun) == [("maxent", 0), ("uniform", 0)]


def test_replicate_by_replicate(tmp_path: Path) -> None:
    engine = Engine()
    large = [Cell(replace(CASE, name="large", budget=24), MAXENT, seed) for seed in (0, 1)]
    run_all([*CELLS, *large], store=tmp_path, engine=engine)
    assert [cell.seed for cell in engine.begun] == [0, 0, 0, 1, 1, 1]
    assert [engine.begun[k].case.name for k in (0, 3)] == ["large", "large"]


def test_errors_do_not_stop_the_others_and_are_not_stored(tmp_path: Path) -> None:
    with pytest.raises(RunsFailed, match=r"a run failed \(tiny, maxent, seed 0: no luck\); 1 more") as caught:
        run_all(CELLS, store=tmp_path, engine=Engine(maxent="no\n luck"))
    assert [str(f) for f in caught.value.failures] == [f"tiny, maxent, seed {k}: no luck" for k in (0, 1)]
    assert names(caught.value.runs) == [("uniform", 0), ("uniform", 1)]
    assert len(Store(tmp_path)) == 2
    engine = Engine()  # mended
    assert len(run_all(CELLS, store=tmp_path, engine=engine)) == 4
    assert {c.strategy for c in engine.begun} == {MAXENT}


def test_ctrl_c_says_how_far_it_is_and_ends_the_engine(tmp_path: Path) -> None:
    run_all(CELLS[:1], store=tmp_path, engine=Engine())
    engine = Engine(uniform=KeyboardInterrupt())
    with pytest.raises(StudyStopped, match="interrupted: 3 of 4 runs are stored; run the same command again"):
        run_all(CELLS, store=tmp_path, engine=engine)
    assert issubclass(StudyStopped, KeyboardInterrupt)
    assert len(Store(tmp_path)) == 3
    assert engine.closed


def test_results_of_other_laws_are_taken_only_if_asked_and_the_latest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for law in (1, 0):
        store.add(invent(CELLS[0], law))
    store.add(invent(CELLS[1]))
    engine = Engine()
    runs = run_all(CELLS[:2], store=store, any_law=True, engine=engine)
    assert [run.law for run in runs] == [1, LAW]
    assert engine.begun == []
    assert [run.law for run in run_all(CELLS[:2], store=store, engine=engine)] == [LAW, LAW]
    assert engine.begun == [CELLS[0]]


def test_a_worker_with_another_law_is_found_out(tmp_path: Path) -> None:
    engine = Engine(law=LAW + 1)
    with pytest.raises(
        StudyError, match=f"expected workers with the same version .* result of law {LAW + 1}"
    ):
        run_all(CELLS, store=tmp_path, engine=engine)
    assert len(engine.begun) == 1  # not all of them, for hours
    assert engine.closed
    assert [run.law for run in Store(tmp_path).runs()] == [LAW + 1]  # stored as such, so nothing is lost


def test_errors_that_are_no_numbers_are_failures_and_the_others_go_on(tmp_path: Path) -> None:
    assert invent(CELLS[0]).finite
    engine = Engine(uniform={"error": math.inf}, maxent={"error_unobserved": math.nan})
    with pytest.raises(RunsFailed) as caught:
        run_all(CELLS, store=tmp_path, engine=engine)
    assert {(f.strategy, f.seed, f.error) for f in caught.value.failures} == {
        (s, 0, "its errors are not finite numbers") for s in ("uniform", "maxent")
    }
    assert [run.seed for run in caught.value.runs] == [1, 1]
    assert len(Store(tmp_path)) == 2


def test_intervals_without_end_do_not_stop_a_comparison(tmp_path: Path) -> None:
    Store(tmp_path).add(invent(CELLS[0], width=math.inf))
    [run] = Store(tmp_path).runs()
    assert math.isnan(run.looks[0].width)


def test_progress_is_shown_if_wished_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_all(CELLS[:2], store=tmp_path, engine=Engine())
    assert capsys.readouterr() == ("", "")
    run_all(CELLS, store=tmp_path, engine=Engine(), progress=True)
    assert "4/4" in capsys.readouterr().err


# In processes


def missing(name: str) -> None:
    raise ImportError(name)


def test_without_joblib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"need joblib .*maxentry\[studies\]"):
        run_all(CELLS, store=tmp_path)


def test_without_what_ends_workers_none_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    with pytest.raises(
        MissingDependencyError, match=r"joblib and psutil, .* psutil is not .*maxentry\[studies\]"
    ):
        run_all(CELLS, store=tmp_path)


def test_no_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected at least 1 worker, got 0"):
        run_all(CELLS, store=tmp_path, workers=0)


def test_errors_come_back_as_text() -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no way")

    failure = perform(Cell(CASE, Strategy("broken", "broken", policy=broken), 3))
    assert isinstance(failure, Failure)
    assert str(failure) == "tiny, broken, seed 3: ZeroDivisionError: no way"
    assert "in broken" in failure.trace


@dataclass(frozen=True)
class Watched:
    """Refuses to be measured by a process that may use several threads, or that is this one."""

    parent: int

    def identity(self) -> dict[str, object]:
        return {"kind": "watched"}

    def prepare(self) -> None:
        assert os.getpid() == self.parent

    def truth(self, seed: int) -> Truth:
        from threadpoolctl import threadpool_info

        from maxentry._io import max_threads

        assert os.getpid() != self.parent
        assert os.environ["OMP_NUM_THREADS"] == os.environ["NUMBA_NUM_THREADS"] == "1"
        assert max_threads() == 1
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        return Simulated((6, 5), 1).truth(seed)


def timeless(run: Run) -> list[tuple[float, ...]]:
    return [look[:6] for look in run.looks]


@pytest.mark.process
def test_processes_do_what_this_one_would_do(tmp_path: Path) -> None:
    watched = Cell(replace(CASE, source=Watched(os.getpid())), UNIFORM, 0)
    fails = Cell(CASE, replace(UNIFORM, name="nobody's", acquisition="no such"), 0)
    cells = [*CELLS[1:3], watched, Cell(CASE, get_strategy("means"), 0), fails]
    with pytest.raises(RunsFailed) as caught:
        run_all(cells, store=tmp_path, workers=2)
    [failure] = caught.value.failures
    assert failure.strategy == "nobody's"
    assert "ParameterError" in failure.trace
    runs = caught.value.runs
    assert names(runs) == names(cells[:4])
    for run, cell in zip(runs[:2], cells[:2], strict=True):
        alone = run_cell(cell)
        assert timeless(run) == timeless(alone)
        assert run.key == alone.key == cell.key()
    assert timeless(runs[0]) != timeless(runs[2])  # of another seed
