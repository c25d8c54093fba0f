"""Two thousand calls with odd values, the same every time; `make fuzz` makes a hundred thousand others.

The long run works as a user without privileges. Here no word names a file elsewhere, and whatever would be written
outside of the test's folder is stopped and counted as a fault.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import pytest
from tests.fuzz import __main__ as command
from tests.fuzz import commands, values
from tests.fuzz.cases import GOOD, Case, Refusal, judge
from tests.fuzz.confinement import Escape, confined
from tests.fuzz.rest_requests import RestRequests
from tests.fuzz.worker import draw, surface

from maxentry._io import user_cache
from maxentry.errors import DataError
from maxentry.server.jobs import Job

N = {"python": 1400, "rest": 150, "files": 200, "cli": 250}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(N))
def test_odd_values_are_accepted_or_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: None, short_fits: None
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "fits"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    monkeypatch.setenv("COLUMNS", "100000")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # modules are imported on the way
    monkeypatch.setattr(values, "TEXTS", tuple(text for text in values.TEXTS if is_harmless(text)))
    monkeypatch.setattr(commands, "WORDS", tuple(word for word in commands.WORDS if is_harmless(word)))
    endings, wrong = Counter[str](), []
    with confined(tmp_path, user_cache().parent):
        way = surface(name, tmp_path)
        for k in range(N[name]):
            case = draw(way, name, 12, k)
            ending = judge(case)
            endings[ending.kind] += 1
            if ending.kind not in GOOD:
                wrong.append((k, case.what, ending))
    assert not wrong
    assert endings["accepted"] > N[name] / 30  # not only refusals
    assert endings["refused"] > N[name] / 4


def is_harmless(word: str) -> bool:
    return not any(sign in word for sign in "/\\~:")


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    """The control of the confinement: a file, a database, a folder, by a path that leads out or by a link."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    with confined(inside):
        (inside / "a").write_text("a")
        for call in (
            lambda: (outside / "a").write_text("a"),
            lambda: (inside / "link" / "a").write_text("a"),
            lambda: (inside / ".." / "outside" / "a").mkdir(),
            lambda: (inside / "a").rename(outside / "a"),
            lambda: sqlite3.connect(outside / "a"),
        ):
            with pytest.raises(Escape):
                call()
    assert not list(outside.iterdir())


def test_what_goes_wrong_is_found() -> None:
    """The control: an error of others, a change after a refusal, a refusal of many words or lines."""
    changed: list[int] = []

    def refuse(text: str, change: bool = False) -> None:
        changed.extend([1] * change)
        raise Refusal(text)

    def foreign() -> None:
        raise KeyError("x")

    cases = {
        "foreign": Case("x", foreign),
        "changed": Case("x", lambda: refuse("no", change=True), lambda: len(changed)),
        "long": Case("x", lambda: refuse("no " * 200)),
        "refused": Case("x", lambda: refuse("no")),
        "accepted": Case("x", lambda: None),
    }
    assert {kind: judge(case).kind for kind, case in cases.items()} == {kind: kind for kind in cases}
    assert judge(Case("x", lambda: refuse("no\nno"))).kind == "long"


def test_an_error_of_ours_is_one_line_whatever_it_quotes() -> None:
    assert judge(Case("x", lambda: raise_(DataError("a\nb" * 400)))).kind == "refused"


def raise_(error: Exception) -> None:
    raise error


def test_the_report_counts_and_shows_one_example_of_each() -> None:
    tally = command.Tally("python")
    for k in range(3):
        tally.count(k, f"call {k}", "foreign", "KeyError: 'x' (maxentry/a.py:1)")
    tally.count(3, "call 3", "refused", "no")
    text = command.report([tally], 1, 0)
    assert "| python | 4 | 0 | 1 | 3 |" in text
    assert text.count("foreign\n") == 1
    assert "call 0" in text


@pytest.mark.process
@pytest.mark.slow
def test_hangs_and_crashes_are_counted_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that waits at call 1, works for ever at call 2 and dies at call 3; without privileges."""
    (tmp_path / "odd").mkdir()
    worker = """
import json, os, sys, time
first, n = int(sys.argv[3]), int(sys.argv[4])
for k in range(first, first + n):
    print(json.dumps({"k": k, "what": f"call {k}"}), flush=True)
    if k == 1:
        time.sleep(1000)
    while k == 2:
        pass
    if k == 3:
        os.abort()
    print(json.dumps({"k": k, "ending": "accepted", "words": str(os.getuid())}), flush=True)
"""
    tmp_path.chmod(0o755)
    (tmp_path / "worker.py").write_text(worker)
    monkeypatch.setattr(command, "WORKER", [str(tmp_path / "worker.py")])
    folder = command.scratch_folder()
    tally = command.attack("python", 1, 0, 6, 3.0, folder)
    assert tally.endings == {"accepted": 3, "hang": 2, "crash": 1}


@pytest.mark.process
@pytest.mark.slow
def test_the_command_writes_a_table(tmp_path: Path) -> None:
    assert command.main(["--n", "40", "-o", str(tmp_path / "fuzz.md")]) == 0
    assert "| python | 16 |" in (tmp_path / "fuzz.md").read_text()
    surfaces = json.loads((tmp_path / "fuzz.json").read_text())["surfaces"]
    assert {each["surface"]: each["tries"] for each in surfaces} == {
        "python": 16, "files": 12, "rest": 6, "cli": 6,
    }  # fmt: skip
    assert all(each["slowest"][0]["call"] for each in surfaces)


def test_a_job_of_an_earlier_request_is_no_change_after_a_refusal(tmp_path: Path) -> None:
    """A request answered 202 goes on in the background; what it writes belongs to it, not to the next request."""
    way = RestRequests(tmp_path)
    release, order = threading.Event(), []

    def work(watch: object) -> None:
        release.wait(120)
        order.append("job")

    way.jobs.start(Job("ask", "x", "x"), work)
    looking = threading.Thread(target=lambda: order.append(str(way.digest())))
    looking.start()
    release.set()
    looking.join(250)
    assert order[0] == "job"
    assert len(order) == 2
