"""What holds for all tests: examples of property tests, marks, and no processes in `make test`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is loaded: threads of linear algebra on small matrices only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# However busy the machine is: no example is too slow.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **PATIENT)
settings.register_profile("search", max_examples=1000, **PATIENT)
# Property tests draw the same examples every time; MAXENTRY_HYPOTHESIS=search looks for new ones, and for long.
settings.load_profile(os.environ.get("MAXENTRY_HYPOTHESIS", "same"))

# `make test` leaves out what has one of these marks; only such tests may start a process.
MARKS = ("slow", "process", "browser", "postgres", "pages")
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}
# Libraries look at the machine once, where no cache has the answer: fonts, cores, its name, shared libraries.
PROBES = {"uname", "fc-list", "lscpu", "ldconfig", "gcc", "cc", "ld", "objdump", "getconf", "nvidia-smi"}
_running: pytest.Item | None = None  # the test that must do without processes


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for a fixture named like a mark: `browser`, `postgres`."""
    for item in items:
        for name in {"browser", "postgres"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    global _running
    _running = None if any(item.get_closest_marker(mark) for mark in MARKS) else item


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    global _running
    _running = None  # what other tests have begun may end here


def _refuse_processes(event: str, words: Any = ()) -> None:
    if _running is not None and event in STARTS and not _is_probe(words):
        marks = "`process`, `browser`, `postgres`, `pages` or `slow`"
        raise RuntimeError(f"a test that starts a process needs the mark {marks}: {_running.nodeid}")


def _is_probe(words: Any) -> bool:
    """Whether the words of a call name one of the programs by which libraries look at the machine."""
    for word in words:
        if isinstance(word, (list, tuple)) and word:
            word = word[0]
        if isinstance(word, (str, bytes)) and Path(os.fsdecode(word)).name in PROBES:
            return True
    return False


sys.addaudithook(_refuse_processes)
with contextlib.suppress(ImportError):
    import _posixsubprocess  # multiprocessing and joblib call it without any audit event

    def _fork_exec(*words: object, _start: Callable[..., int] = _posixsubprocess.fork_exec) -> int:
        _refuse_processes("subprocess.Popen", words[:2])
        return _start(*words)

    _posixsubprocess.fork_exec = _fork_exec


POSTGRES_REQUIRED = "MAXENTRY_TEST_POSTGRES_REQUIRED"  # set in CI, where nothing may be skipped


@pytest.fixture(scope="session")  # here and not imported: each module that imports it would start a server
def postgres() -> Iterator[str]:
    from tests.campaign.postgres_server import server

    with server() as url:
        if url is None and os.environ.get(POSTGRES_REQUIRED):
            pytest.fail(f"no PostgreSQL server to be had, and {POSTGRES_REQUIRED} is set")
        if url is None:
            pytest.skip("no PostgreSQL server to be had")
        yield url


WORK = "maxentry.posterior.schedule.WORK"


def _shorten_fits(patch: pytest.MonkeyPatch) -> None:
    # It copies WORK when it is loaded. Loaded under the patch, it would keep the short one for all later tests.
    importlib.import_module("maxentry.posterior.complete")
    patch.setattr(WORK, 1e6)


@pytest.fixture
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Default fits at their least length, a tenth of the usual: for tests of what is done with a fit."""
    _shorten_fits(monkeypatch)


@pytest.fixture
def full_fits(short_fits: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default fits at their usual length, in a folder of tests where they are short."""
    monkeypatch.setattr(WORK, 2e10)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of Matplotlib are written empty: for tests of what stands around them."""
    figure = pytest.importorskip("matplotlib.figure")

    def save(self: object, file: Any, **_: object) -> None:
        empty = '<svg width="1pt" height="1pt"></svg>'
        file.write(empty) if hasattr(file, "write") else Path(file).write_text(empty)

    monkeypatch.setattr(figure.Figure, "savefig", save)


@pytest.fixture(scope="session")
def compiled() -> None:
    """For tests that wait for fits, which must not wait for the compiler: on a busy machine it takes minutes."""
    from maxentry.campaign.campaign import Campaign

    with pytest.MonkeyPatch.context() as patch:
        _shorten_fits(patch)
        for rank in (1, "auto"):
            with Campaign.create("sqlite://", "x", 6, 5, seed=1, rank=rank) as campaign:
                rows, cols = [k % 6 for k in range(12)], [k % 5 for k in range(12)]
                campaign.tell(row=rows, col=cols, value=[i + j / 7 for i, j in zip(rows, cols, strict=True)])
                campaign.ask(2, frame="columns", progress=False)
        with Campaign.create("sqlite://", "x", 7, 5, seed=1, acquisition="balanced") as campaign:
            campaign.fail(campaign.ask(10, frame="columns", progress=False)["id"][:3])
            campaign.ask(
                3, frame="columns", progress=False
            )  # around what failed: a design of its own kernels
