"""Where results are kept: a file of lines, each one run, that is only ever appended to.

Each line is written at once, at the end of the file, while the file is locked, so that two studies may share a
folder; what a killed process left half written is passed over, and the next line begins on a line of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from os import PathLike
from pathlib import Path

from maxentry.errors import StorageError
from maxentry.studies.record import Run

FILE = "runs.jsonl"


class Store:
    """The runs in a folder, by key; the folder is made when the first one is added."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self._runs: dict[str, Run] = {}
        self._read_to = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise StorageError(f"expected a folder for results, but {self.folder} is a file.")
        self._refresh()

    def __len__(self) -> int:
        return len(self.runs())

    def get(self, key: str) -> Run | None:
        """The run of this key, if it is there, whoever added it."""
        if key not in self._runs:
            self._refresh()
        return self._runs.get(key)

    def runs(self) -> list[Run]:
        """All runs, in the order in which they came."""
        self._refresh()
        return list(self._runs.values())

    def add(self, run: Run) -> None:
        """Keep a run; one of the same key that is there already stays."""
        if self.get(run.key) is not None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _append(self.path, json.dumps(run.to_json(), allow_nan=False).encode())
        except OSError as error:
            raise StorageError(
                f"expected to write {self.path}, but: {error.strerror or error}; what was done before is kept."
            ) from None

    def writable(self) -> None:
        """Refuse, before any work, a folder that results cannot be written to."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
        except OSError as error:
            raise StorageError(f"expected to write {self.path}, but: {error.strerror or error}.") from None

    def _refresh(self) -> None:
        """Read the lines that have come since the last look."""
        try:
            size = self.path.stat().st_size
            if size < self._read_to:  # somebody emptied the file
                self._runs, self._read_to = {}, 0
            if size == self._read_to:
                return
            with self.path.open("rb") as stream:
                stream.seek(self._read_to)
                new = stream.read()
        except FileNotFoundError:
            self._runs, self._read_to = {}, 0
            return
        except OSError as error:
            raise StorageError(f"expected to read {self.path}, but: {error.strerror or error}.") from None
        whole = new.rfind(b"\n") + 1  # a last line without an end may still be being written
        for run in _parsed(new[:whole]):
            self._runs.setdefault(run.key, run)
        self._read_to += whole


def _parsed(lines: bytes) -> Iterator[Run]:
    """The runs in these lines; a line that is none was torn off, or is of another version."""
    for line in lines.split(b"\n"):
        if not line.strip():
            continue
        try:
            yield Run.from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue


def _append(path: Path, line: bytes) -> None:
    """Write one line at the end, in one piece; after a torn line, on a new one."""
    with path.open("a+b", buffering=0) as stream, _alone(stream):
        size = stream.seek(0, os.SEEK_END)
        torn = False
        if size:
            stream.seek(size - 1)
            torn = stream.read(1) != b"\n"
        whole = (b"\n" if torn else b"") + line + b"\n"
        if stream.write(whole) != len(whole):
            raise OSError("the disk is full")


@contextmanager
def _alone(stream: FileIO) -> Iterator[None]:
    """Let no other process write meanwhile; where a file system has no locks, appending in one piece must do."""
    try:
        _lock(stream, True)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        _lock(stream, False)


if sys.platform == "win32":
    import msvcrt

    FAR = (
        2**40
    )  # locks hold for readers too on Windows: of a place where nothing is ever written they do not notice

    def _lock(stream: FileIO, on: bool) -> None:
        stream.seek(FAR)
        msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK if on else msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(stream: FileIO, on: bool) -> None:
        fcntl.flock(stream, fcntl.LOCK_EX if on else fcntl.LOCK_UN)
