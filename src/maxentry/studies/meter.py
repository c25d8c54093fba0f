"""What a user sees of a study: one bar on a terminal, with the time that is left; lines, if wished for, elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

LINE_EVERY_S = 30.0


class Meter(Protocol):
    """Something that is told how far a study has come."""

    def show(self, done: int, share: float, left_s: float | None) -> None:
        """So many runs are done, such a share of the work, and so many seconds are left (None: nobody knows)."""


@contextmanager
def meter(total: int, enabled: bool | None = None) -> Iterator[Meter]:
    """A bar on a terminal; elsewhere nothing, or a line now and then if `enabled`; never anything if False."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if enabled is False or (enabled is None and not on_terminal):
        yield _Silent()
    elif on_terminal:
        with _bar(total) as bar:
            yield bar
    else:
        yield Lines(total)


class _Silent:
    def show(self, done: int, share: float, left_s: float | None) -> None:
        pass


class Lines:
    """A line on stderr when the study begins, every so often, and when it is done."""

    def __init__(self, total: int, every_s: float = LINE_EVERY_S) -> None:
        self.total, self.every_s, self.next = total, every_s, 0.0

    def show(self, done: int, share: float, left_s: float | None) -> None:
        """Say it if it is time."""
        now = time.monotonic()
        if now < self.next and done < self.total:
            return
        self.next = now + self.every_s
        left = "" if left_s is None or done == self.total else f", about {duration(left_s)} left"
        print(f"maxentry: {done} of {self.total} runs done{left}", file=sys.stderr, flush=True)


@contextmanager
def _bar(total: int) -> Iterator[Meter]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Left(ProgressColumn):
        """Counts down between the runs that come in."""

        def render(self, task: Task) -> Text:
            ends: float | None = task.fields["ends"]
            seconds = None if ends is None else max(0.0, ends - time.monotonic())
            return Text("" if seconds is None else f"about {duration(seconds)} left", style="cyan")

    columns: list[Any] = [BarColumn(), TextColumn("{task.fields[done]}/{task.fields[all]} runs"), Left()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=1.0, done=0, all=total, ends=None)

        class Bar:
            def show(self, done: int, share: float, left_s: float | None) -> None:
                ends = None if left_s is None else time.monotonic() + left_s
                bars.update(task, completed=share, done=done, ends=ends)

        yield Bar()


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
