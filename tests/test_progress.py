"""The bar shows on a terminal only, elsewhere lines after a while; compilation is announced once, if not cached."""

import os
import pty
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

from maxentry import progress

BAR = """
from maxentry.progress import track
with track(3, "sampling", {enabled}) as bar:
    for _ in range(3):
        bar.advance()
"""


def run_on_terminal(code: str) -> str:
    """Run Python with stderr on a pseudo-terminal and give back what it showed."""
    outer, inner = pty.openpty()
    try:
        with subprocess.Popen(
            [sys.executable, "-c", code], stderr=inner, env={**os.environ, "TERM": "xterm"}
        ) as process:
            try:
                process.wait(timeout=250)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    finally:
        os.close(inner)
    shown = b""
    try:
        while chunk := os.read(outer, 65536):
            shown += chunk
    except OSError:  # Linux's way to tell the end of a pseudo-terminal
        pass
    os.close(outer)
    return shown.decode()


@pytest.mark.process
def test_the_bar_shows_on_a_terminal_unless_forbidden():
    assert "sampling" in (shown := run_on_terminal(BAR.format(enabled=None)))
    assert "3/3" in shown
    assert "sampling" not in run_on_terminal(BAR.format(enabled=False))


def test_off_a_terminal_long_work_says_ever_less_often_how_far_it_is(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress.track(100, "sampling") as bar, progress.track(100, "silent", False) as silent:
        for now[0] in range(1, 101):
            bar.advance()
            silent.advance()
    assert capsys.readouterr().err.splitlines() == [
        "maxentry: sampling: 11% done after 11 s, about 89 s to go",
        "maxentry: sampling: 33% done after 33 s, about 67 s to go",
        "maxentry: sampling: 99% done after 99 s, about 1 s to go",
    ]


def test_time_before_the_first_step_is_not_counted_in_what_is_left(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress.track(100, "sampling") as bar:
        for now[0] in range(60, 75):  # a minute of compiling, then a step a second
            bar.advance()
    assert capsys.readouterr().err == "maxentry: sampling: 11% done after 70 s, about 89 s to go\n"


@pytest.mark.parametrize(("enabled", "shown"), [(None, False), (False, False), (True, True)])
def test_off_a_terminal_the_bar_shows_only_on_demand(enabled, shown, capsys):
    with progress.track(3, "sampling", enabled) as bar:
        bar.advance(3)
    streams = capsys.readouterr()
    assert ("3/3" in streams.err) == shown
    assert streams.out == ""


def test_threads_may_advance_together(capsys):
    with progress.track(4000, "sampling", True) as bar, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: bar.advance(), range(4000)))
    assert "4000/4000" in capsys.readouterr().err


def test_an_error_inside_comes_through():
    with pytest.raises(ZeroDivisionError), progress.track(3, "sampling", None):
        1 / 0


@pytest.mark.process
def test_rich_is_imported_only_for_a_bar():
    code = "import sys, maxentry.progress as p\nwith p.track(1, ''): pass\nprint('rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert done.stdout.strip() == "False"


KERNEL = """
from numba import njit

@njit(cache=True)
def double(x):
    return {body}

@njit(cache=True)
def never_called(x):
    return x
"""
USE = """
import tiny
from maxentry.progress import compiling_notice
compiling_notice([tiny.double])
print(tiny.double(1.0))
compiling_notice([tiny.double, {other}])
"""
NOTICE = "maxentry: compiling kernels, once (cached afterwards) …\n"


@pytest.fixture
def use(tmp_path: Path):
    """Run the tiny kernel in a fresh process with a cache of its own; give what we said on stderr."""
    (tmp_path / "tiny.py").write_text(KERNEL.format(body="2 * x"))

    def run(other: str = "tiny.double", **environment: str) -> str:
        known = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", USE.format(other=other)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=250, env={**known, **environment}
        )
        assert done.stdout == "2.0\n"
        said = done.stderr.splitlines(keepends=True)  # by libraries too, which may warn of something
        return "".join(line for line in said if line.startswith("maxentry:"))

    return run


@pytest.mark.process
def test_compilation_is_announced_the_first_time_only(use, tmp_path):
    assert use() == NOTICE
    assert list((tmp_path / "cache").rglob("*.nbi"))
    assert use() == ""
    assert use(other="tiny.never_called") == NOTICE
    (tmp_path / "tiny.py").write_text(KERNEL.format(body="x + x"))  # as an upgrade does: the cache is stale
    assert use() == NOTICE


@pytest.mark.process
def test_it_is_announced_once_however_many_kernels_are_missing(use):
    assert use(other="tiny.never_called") == NOTICE


@pytest.mark.process
def test_nothing_is_announced_when_nothing_is_compiled(use):
    assert use(NUMBA_DISABLE_JIT="1") == ""


@pytest.fixture
def unsaid():
    progress._announce_compilation.cache_clear()
    yield
    progress._announce_compilation.cache_clear()


@pytest.mark.usefixtures("unsaid")
def test_a_kernel_without_a_cache_is_announced_until_it_is_compiled(capsys):
    @numba.njit
    def triple(x):
        return 3 * x

    progress.compiling_notice([triple])
    assert capsys.readouterr().err == NOTICE
    progress._announce_compilation.cache_clear()
    triple(1)
    progress.compiling_notice([triple])
    assert capsys.readouterr().err == ""


def test_should_numba_move_its_private_parts_an_index_file_will_do(tmp_path):
    def kernel(): ...

    kernel.__qualname__ = "kernel"
    dispatcher = SimpleNamespace(
        signatures=[], py_func=kernel, _cache=SimpleNamespace(cache_path=str(tmp_path), _cache_file=None)
    )
    assert progress._needs_compilation(dispatcher)
    (tmp_path / "test_progress.kernel-12.py311.nbi").touch()
    assert not progress._needs_compilation(dispatcher)
