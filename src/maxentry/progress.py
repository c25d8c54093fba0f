"""Progress of long work: a bar on a terminal, a line now and then elsewhere, a callback, or nothing.

And a notice when kernels are compiled.
"""

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


class Progress(Protocol):
    """Counts the steps of some work; may be called from any thread."""

    def advance(self, n: int = 1) -> None:
        """Count `n` more steps as done."""


FIRST_LINE = (
    10.0  # seconds after the first step, when work off a terminal says how far it is; then ever less often
)
Watch = Callable[[int, str], Progress]  # called with the number of steps and what they are, when work begins


class _NoProgress:
    def advance(self, n: int = 1) -> None:
        pass


class _Lines:
    """A line on stderr 10 s after the first step, then ever less often: what is done, and about how long is left.

    How long is judged from the first step on: before it kernels may be compiled, which no other step has to wait for.
    """

    def __init__(self, total: int, description: str) -> None:
        self.total, self.description, self.done = total, description, 0
        self.begin, self.next, self.turn = time.monotonic(), 0.0, threading.Lock()
        self.first: tuple[float, int] | None = None  # when the first steps were done, and how many

    def advance(self, n: int = 1) -> None:
        with self.turn:
            self.done += n
            took = time.monotonic() - self.begin
            if self.first is None:
                self.first, self.next = (took, self.done), took + FIRST_LINE
            since, done = took - self.first[0], self.done - self.first[1]
            if took < self.next or not done or self.done >= self.total or sys.stderr is None:
                return
            self.next = 3 * took
        left = since * (self.total - self.done) / done
        share = f"{self.done / self.total:.0%} done after {took:.0f} s, about {left:.0f} s to go"
        print(f"maxentry: {self.description}: {share}", file=sys.stderr, flush=True)


@contextmanager
def track(total: int, description: str, enabled: bool | Watch | None = None) -> Iterator[Progress]:
    """Show progress of `total` steps on stderr: a bar on a terminal (always if True, never if False).

    By default, where there is no terminal, work of more than ten seconds says in a line now and then how far it is. A
    function in the place of True receives the progress instead; its `advance` may raise, which ends the work.
    """
    if callable(enabled):
        yield enabled(total, description)
        return
    if enabled is None and not _on_terminal():
        yield _Lines(total, description)
        return
    if enabled is False:
        yield _NoProgress()
        return
    # Imported here: rich takes a good part of what `import maxentry` may cost.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    # Transient: choosing the rank shows many short bars, which would fill the screen.
    with RichProgress(*columns, console=Console(stderr=True), transient=_on_terminal()) as bars:
        task = bars.add_task(description, total=total)

        class Bar:
            def advance(self, n: int = 1) -> None:
                bars.advance(task, n)

        yield Bar()


def compiling_notice(dispatchers: Sequence[Any]) -> None:
    """Say once, on stderr, that kernels must be compiled: Numba has one neither in memory nor on disk."""
    if any(_needs_compilation(dispatcher) for dispatcher in dispatchers):
        _announce_compilation()


@functools.cache
def _announce_compilation() -> None:
    print("maxentry: compiling kernels, once (cached afterwards) …", file=sys.stderr, flush=True)


def _needs_compilation(dispatcher: Any) -> bool:
    if not hasattr(dispatcher, "signatures"):  # a plain function: NUMBA_DISABLE_JIT is set
        return False
    return not dispatcher.signatures and not _is_cached(dispatcher)


def _is_cached(dispatcher: Any) -> bool:
    """Whether Numba's cache holds this function. Numba has no public way to ask."""
    cache = getattr(dispatcher, "_cache", None)
    folder = getattr(cache, "cache_path", None)
    if folder is None:
        return False
    try:
        # Numba's own reading of the index: empty if it is of other source or of another version of Numba.
        return bool(cache._cache_file._load_index())  # type: ignore[union-attr]
    except Exception:  # private names may move; then any index of this name will do
        function = dispatcher.py_func
        stem = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-"
        return any(Path(folder).glob(f"{stem}*.nbi"))


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
