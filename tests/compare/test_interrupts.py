"""Ctrl-C, a kill, a worker that dies: what is done is kept, nobody is left behind, and the same command goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maxentry.compare.store import Store

pytestmark = [
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="processes are found as Linux shows them"
    ),
    pytest.mark.process,
    pytest.mark.usefixtures("compiled"),
]
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("slow_comparison.py")
PATIENCE = 200  # seconds: on a busy machine processes start slowly; the cells sleep for 600


class Working:
    """A study in a session of its own, as in a terminal of its own."""

    def __init__(self, folder: Path, seconds: float, *options: str) -> None:
        self.folder, self.log = folder / "study", folder / "log"
        command = [sys.executable, str(SCRIPT), str(self.folder), str(self.log), str(seconds), *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        )

    def begun(self) -> list[tuple[int, int]]:
        """Which worker has begun which replicate."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(int(pid), int(seed)) for pid, seed in map(str.split, lines)]

    def until_it_waits(self) -> None:
        """Until two replicates are kept and two workers sleep."""
        until(lambda: len(Store(self.folder)) == 2 and len(self.begun()) == 4)

    def ended(self) -> tuple[int, str, str]:
        answered, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, answered, said

    def processes(self) -> set[int]:
        """All that it has started and that have not ended."""
        return {pid for pid, group in living() if group == self.process.pid}

    def nobody_is_left(self) -> None:
        until(lambda: not self.processes())


def last_words(said: str) -> str:
    """The last line of ours, "" if there is none: libraries may warn of something, but nothing may have gone wrong."""
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    lines = [line for line in said.splitlines() if line.startswith(("Interrupted", "A worker"))]
    return lines[-1] if lines else ""


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def living() -> Iterator[tuple[int, int]]:
    """Every process and its group; one that has ended and whose parent has not asked how is none."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group, *_ = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            yield int(stat.parent.name), int(group)


@pytest.fixture
def working(tmp_path: Path) -> Iterator[Working]:
    study = Working(tmp_path, 600)
    try:
        study.until_it_waits()
        assert {pid for pid, _ in study.begun()} | {study.process.pid} <= study.processes()
        yield study
    finally:
        study.process.kill()
        study.process.wait()


@pytest.mark.process
def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(working: Working, tmp_path: Path) -> None:
    os.killpg(working.process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    code, answered, said = working.ended()
    assert (code, answered) == (130, "")
    assert last_words(said) == "Interrupted: 2 of 5 runs are stored; run the same command again to continue."
    working.nobody_is_left()
    working.log.unlink()
    again = Working(tmp_path, 0)
    code, _, said = again.ended()
    assert code == 0, said
    assert sorted(seed for _, seed in again.begun()) == [2, 3, 4]
    assert sorted(run.seed for run in Store(again.folder).runs()) == [0, 1, 2, 3, 4]
    again.nobody_is_left()


@pytest.mark.slow
def test_a_signal_to_the_study_alone_ends_its_workers_too(working: Working) -> None:
    working.process.send_signal(signal.SIGINT)
    assert working.ended()[0] == 130
    working.nobody_is_left()


@pytest.mark.slow
def test_workers_end_with_a_study_that_was_killed(working: Working) -> None:
    working.process.kill()
    working.process.wait()
    working.nobody_is_left()
    assert len(Store(working.folder)) == 2


@pytest.mark.slow
def test_a_worker_that_was_killed_is_said_and_what_is_done_is_kept(working: Working) -> None:
    os.kill(working.begun()[-1][0], signal.SIGKILL)
    code, _, said = working.ended()
    assert code == 1
    assert last_words(said).startswith("A worker process was killed")
    assert len(Store(working.folder)) == 2
    working.nobody_is_left()


@pytest.mark.slow
def test_interrupted_with_json(tmp_path: Path) -> None:
    study = Working(tmp_path, 600, "--json")
    study.until_it_waits()
    os.killpg(study.process.pid, signal.SIGINT)
    code, answered, said = study.ended()
    assert (code, last_words(said)) == (130, "")
    error = json.loads(answered)["error"]
    assert (error["code"], error["done"], error["total"]) == (130, 2, 5)
    study.nobody_is_left()


@pytest.mark.slow
def test_every_worker_is_deaf_to_ctrl_c_from_its_first_moment(working: Working) -> None:
    """A process that hears it while Python starts prints a traceback that nobody can catch."""
    workers = {pid for pid, _ in working.begun()}
    assert len(workers) == 2
    for pid in workers:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        held = int(next(line.split()[1] for line in status if line.startswith("SigBlk:")), 16)
        assert held & 1 << (signal.SIGINT - 1)


@pytest.mark.process
def test_ctrl_c_while_workers_are_started_ends_quietly(tmp_path: Path) -> None:
    """No traceback of theirs, and none of them is left."""
    study = Working(tmp_path, 600)
    until(lambda: (study.folder / "runs.jsonl").exists() and len(study.processes()) > 1)  # the first is there
    os.killpg(study.process.pid, signal.SIGINT)
    code, answered, said = study.ended()
    assert (code, answered) == (130, "")
    assert last_words(said) in {
        f"Interrupted: {n} of 5 runs are stored; run the same command again to continue." for n in range(3)
    }
    study.nobody_is_left()


@pytest.mark.process
def test_a_lock_let_go_too_late_is_not_the_users_business(tmp_path: Path) -> None:
    """A thread of loky's that ends with the process may have removed a semaphore and not yet said so."""
    ending = f"""
import sys
sys.argv[1:] = [{str(tmp_path / "study")!r}, {str(tmp_path / "log")!r}, "0"]
from slow_comparison import CELLS
from maxentry.compare.runner import run_in_processes
assert len(list(run_in_processes(CELLS[:1], 1))) == 1
from joblib.externals.loky.backend import resource_tracker
resource_tracker.register("/loky-removed", "semlock")
"""
    ended = subprocess.run(
        [sys.executable, "-c", ending],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT, SCRIPT.parent)))},
    )
    assert "loky-removed" not in ended.stderr
    assert "resource_tracker" not in ended.stderr
