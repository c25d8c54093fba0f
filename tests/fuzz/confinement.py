"""For fuzzing inside a test: while it lasts, this process may write to one folder (and to caches), whoever runs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHANGES = {  # events of Python's audit, and which of their arguments are paths that are changed
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.link": (1,), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_allowed: tuple[str, ...] = ()  # nothing is watched while it is empty


class Escape(BaseException):
    """Something would have been written elsewhere."""


@contextmanager
def confined(*folders: Path) -> Iterator[None]:
    """Refuse every change outside these folders."""
    global _allowed
    _allowed = tuple(str(folder.resolve()) for folder in folders)
    try:
        yield
    finally:
        _allowed = ()


def _watch(event: str, words: tuple[Any, ...]) -> None:
    if not _allowed:
        return
    if event == "open" and isinstance(words[2], int) and words[2] & WRITES:
        _check(words[0], event)
    for k in CHANGES.get(event, ()):
        _check(words[k], event)


def _check(path: Any, event: str) -> None:
    if not isinstance(path, str | bytes | os.PathLike) or path in (b":memory:", ":memory:", "", os.devnull):
        return
    text = os.fsdecode(path).removeprefix("file:").partition("?")[0]
    if "\0" in text:
        return  # no system takes it
    folder, name = os.path.split(os.path.abspath(text))
    real = os.path.join(os.path.realpath(folder), name)
    if not any(real == each or real.startswith(each + os.sep) for each in _allowed):
        raise Escape(f"{event} of {real!r}")


sys.addaudithook(_watch)
