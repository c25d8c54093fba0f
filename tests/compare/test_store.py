"""Results on disk: one line each, whoever writes them and however the writer ended."""

import json
import math
import multiprocessing
import threading
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from maxentry.compare import store as store_module
from maxentry.compare.scenario import LAW, run_key
from maxentry.compare.store import Look, Run, Store, atomic_path
from maxentry.errors import StorageError


def made(strategy: str, *, law: int = LAW, seed: int = 0, cpu_s: float = 2.0) -> Run:
    looks = (Look(5, 5.0, 0.9, 0.95, math.nan, 1.5, 0.1, 0.1), Look(9, 9.0, 0.5, 0.6, 0.9, 1.0, 0.2, 0.2))
    return Run(law, "case", {"initial": 5}, strategy, seed, (4, 3), 12, 1.5, looks, cpu_s, 3.0)


def test_what_is_added_is_there_for_others(tmp_path: Path) -> None:
    mine, theirs = Store(tmp_path / "new" / "folder"), Store(tmp_path / "new" / "folder")
    assert mine.get(made("a").key) is None
    assert not mine.folder.exists()
    mine.add(made("a"))
    theirs.add(made("b"))
    for store in (mine, theirs, Store(mine.folder)):
        found = store.get(made("a").key)
        assert found is not None
        assert found.looks[1] == made("a").looks[1]
        assert math.isnan(found.looks[0].coverage)
        assert (found.shape, found.identity) == ((4, 3), {"initial": 5})
        assert [run.strategy for run in store.runs()] == ["a", "b"]
        assert len(store) == 2


def test_of_one_key_the_first_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a", cpu_s=1.0))
    store.add(made("a", cpu_s=2.0))
    assert [run.cpu_s for run in Store(tmp_path).runs()] == [1.0]
    assert len(store.path.read_text().splitlines()) == 1


@pytest.mark.parametrize("cut", [1, 40, 10_000])
def test_a_torn_last_line_is_passed_over_and_does_not_spoil_the_next(tmp_path: Path, cut: int) -> None:
    Store(tmp_path).add(made("a"))
    path = tmp_path / "runs.jsonl"
    torn = json.dumps(made("torn").to_json()).encode()[:cut]  # the last: all but the end of the line
    with path.open("ab") as stream:
        stream.write(torn)
    store = Store(tmp_path)
    assert [run.strategy for run in store.runs()] == ["a"]
    store.add(made("b"))
    whole = ["torn"] if cut == 10_000 else []
    for reader in (store, Store(tmp_path)):
        assert [run.strategy for run in reader.runs()] == ["a", *whole, "b"]


def test_lines_of_another_version_are_passed_over(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a"))
    with store.path.open("a") as stream:
        stream.write('{"key": "old"}\n[1, 2]\nnull\n\n')
        stream.write(json.dumps({**made("later").to_json(), "more": 1}) + "\n")
    store.add(made("b"))
    assert [run.strategy for run in Store(tmp_path).runs()] == ["a", "b"]


def test_a_file_that_was_emptied_is_empty(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a"))
    assert len(store) == 1
    store.path.unlink()
    assert len(store) == 0
    store.add(made("b"))
    assert [run.strategy for run in store.runs()] == ["b"]


def _write(folder: str, name: str, together: Barrier) -> None:
    store = Store(folder)
    together.wait(200)
    for k in range(20):
        run = made(f"{name}{k}")
        store.add(replace(run, looks=run.looks * 1000))  # longer than what is written in one piece anyway


@pytest.mark.process
def test_two_studies_may_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(2)
    writers = [context.Process(target=_write, args=(str(tmp_path), name, together)) for name in "xy"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(250)
        assert writer.exitcode == 0
    assert {run.strategy for run in Store(tmp_path).runs()} == {
        f"{name}{k}" for name in "xy" for k in range(20)
    }
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines()
    assert len(lines) == 40
    assert min(map(len, lines)) > 2**16


def test_a_writer_waits_while_another_has_the_file(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    store = Store(tmp_path)
    store.check_writable()
    writer = threading.Thread(target=store.add, args=(made("a"),))
    with store.path.open("ab") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        writer.start()
        writer.join(0.5)
        assert writer.is_alive()
        assert store.path.read_bytes() == b""
    writer.join(250)
    assert [run.strategy for run in Store(tmp_path).runs()] == ["a"]


def test_without_locks_it_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(store_module, "_lock", none)
    Store(tmp_path).add(made("a"))
    assert len(Store(tmp_path)) == 1


def test_results_stored_with_a_fingerprint_of_the_code_have_the_number_of_its_law(tmp_path: Path) -> None:
    old = {name: value for name, value in made("a").to_json().items() if name != "law"}
    codes = ["9989fed9a4e5", "02bd4f347524", "another"]
    lines = [{**old, "key": "any", "code": code, "note": "", "seed": k} for k, code in enumerate(codes)]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    runs = Store(tmp_path).runs()
    assert [run.law for run in runs] == [1, 1, 0]
    assert runs[0].key == made("a", law=1).key != made("a", law=2).key


def test_a_key_is_of_settings_strategy_seed_and_law() -> None:
    one = ({"batch": 2, "model": {}}, "uniform", 3, 2)
    others = [
        ({"batch": 1, "model": {}}, *one[1:]), (one[0], "maxent", 3, 2), (one[0], "uniform", 4, 2),
        (one[0], "uniform", 3, 1),
    ]  # fmt: skip
    assert run_key({"model": {}, "batch": 2}, *one[1:]) == run_key(*one)
    assert len({run_key(*parts) for parts in (one, *others)}) == 5


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("")
    with pytest.raises(StorageError, match=r"expected a folder for results, got the file .*here"):
        Store(tmp_path / "here")


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").symlink_to(tmp_path / "not" / "there")
    with pytest.raises(StorageError, match=r"cannot write .*runs.jsonl: No such file or directory"):
        Store(tmp_path).check_writable()


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot read .*: Not a directory"):
        Store(tmp_path / "file" / "within")


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (tmp_path / "runs.jsonl").symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"No space left on device\. Earlier results are kept"):
        Store(tmp_path).add(made("a"))


# Files written as a whole


def test_a_writer_that_is_stopped_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    for text in ("first", "second"):
        with atomic_path(path) as part:
            part.write_text(text)
        assert path.read_text() == text
    with pytest.raises(KeyboardInterrupt):
        _stop_while_writing(path)
    assert path.read_text() == "second"
    assert list(path.parent.iterdir()) == [path]


def _stop_while_writing(path: Path) -> None:
    with atomic_path(path) as part:
        part.write_text("thi")
        raise KeyboardInterrupt


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StorageError, match=r"cannot write .*a.txt: (Not a directory|File exists)"),
        atomic_path(tmp_path / "file" / "a.txt") as part,
    ):
        part.write_text("")
