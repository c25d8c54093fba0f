"""Results on disk: one line each, whoever writes them and however the writer ended."""

import json
import math
import multiprocessing
import threading
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from maxentry.errors import StorageError
from maxentry.studies import store as store_module
from maxentry.studies.record import Look, Run
from maxentry.studies.store import Store


def made(key: str, code: str = "c", seed: int = 0) -> Run:
    looks = (Look(5, 5.0, 0.9, 0.95, math.nan, 1.5, 0.1, 0.1), Look(9, 9.0, 0.5, 0.6, 0.9, 1.0, 0.2, 0.2))
    return Run(key, code, "case", {"initial": 5}, "uniform", seed, (4, 3), 12, 1.5, looks, 2.0, 3.0)


def test_what_is_added_is_there_for_others(tmp_path: Path) -> None:
    mine, theirs = Store(tmp_path / "new" / "folder"), Store(tmp_path / "new" / "folder")
    assert mine.get("a") is None
    assert not mine.folder.exists()
    mine.add(made("a"))
    theirs.add(made("b"))
    for store in (mine, theirs, Store(mine.folder)):
        found = store.get("a")
        assert found is not None
        assert found.looks[1] == made("a").looks[1]
        assert math.isnan(found.looks[0].coverage)
        assert (found.shape, found.identity) == ((4, 3), {"initial": 5})
        assert [run.key for run in store.runs()] == ["a", "b"]
        assert len(store) == 2


def test_of_one_key_the_first_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a", seed=1))
    store.add(made("a", seed=2))
    assert [run.seed for run in Store(tmp_path).runs()] == [1]
    assert len(store.path.read_text().splitlines()) == 1


@pytest.mark.parametrize("cut", [1, 40, 10_000])
def test_a_torn_last_line_is_passed_over_and_does_not_spoil_the_next(tmp_path: Path, cut: int) -> None:
    Store(tmp_path).add(made("a"))
    path = tmp_path / "runs.jsonl"
    torn = json.dumps(made("torn").to_json()).encode()[:cut]  # the last: all but the end of the line
    with path.open("ab") as stream:
        stream.write(torn)
    store = Store(tmp_path)
    assert [run.key for run in store.runs()] == ["a"]
    store.add(made("b"))
    whole = ["torn"] if cut == 10_000 else []
    for reader in (store, Store(tmp_path)):
        assert [run.key for run in reader.runs()] == ["a", *whole, "b"]


def test_lines_of_another_version_are_passed_over(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a"))
    with store.path.open("a") as stream:
        stream.write('{"key": "old"}\n[1, 2]\nnull\n\n')
        stream.write(json.dumps({**made("later").to_json(), "more": 1}) + "\n")
    store.add(made("b"))
    assert [run.key for run in Store(tmp_path).runs()] == ["a", "b"]


def test_a_file_that_was_emptied_is_empty(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(made("a"))
    assert len(store) == 1
    store.path.unlink()
    assert len(store) == 0
    store.add(made("b"))
    assert [run.key for run in store.runs()] == ["b"]


def _write(folder: str, name: str, together: Barrier) -> None:
    store = Store(folder)
    together.wait(60)
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
        writer.join(200)
        assert writer.exitcode == 0
    assert {run.key for run in Store(tmp_path).runs()} == {f"{name}{k}" for name in "xy" for k in range(20)}
    lines = (tmp_path / "runs.jsonl").read_bytes().splitlines()
    assert len(lines) == 40
    assert min(map(len, lines)) > 2**16


def test_a_writer_waits_while_another_has_the_file(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    store = Store(tmp_path)
    store.writable()
    writer = threading.Thread(target=store.add, args=(made("a"),))
    with store.path.open("ab") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        writer.start()
        writer.join(0.5)
        assert writer.is_alive()
        assert store.path.read_bytes() == b""
    writer.join(60)
    assert [run.key for run in Store(tmp_path).runs()] == ["a"]


def test_without_locks_it_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(store_module, "_lock", none)
    Store(tmp_path).add(made("a"))
    assert len(Store(tmp_path)) == 1


def test_runs_of_the_time_when_they_had_a_note_are_read(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text(json.dumps({**made("a").to_json(), "note": ""}) + "\n")
    assert [run.key for run in Store(tmp_path).runs()] == ["a"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("")
    with pytest.raises(StorageError, match=r"expected a folder for results, but .*here is a file"):
        Store(tmp_path / "here")


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").symlink_to(tmp_path / "not" / "there")
    with pytest.raises(StorageError, match=r"expected to write .*runs.jsonl, but: No such file or directory"):
        Store(tmp_path).writable()


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="but: Not a directory"):
        Store(tmp_path / "file" / "within")


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    (tmp_path / "runs.jsonl").symlink_to("/dev/full")
    with pytest.raises(StorageError, match="No space left on device; what was done before is kept"):
        Store(tmp_path).add(made("a"))
