"""Results of runs, and the file they are kept in: one line per run, only ever appended to.

Each line is written in one piece while the file is locked, so two comparisons may share a folder. A line that a killed
process left half written is skipped, and the next line starts on a new line.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from maxentry._io import write_atomically
from maxentry.compare.scenario import run_key
from maxentry.errors import StorageError

FILE = "runs.jsonl"
# Results were once identified by a hash of the source code. These two (the second of strategies with a policy of their
# own) are of law 1. Results of any other hash have law 0: nobody knows which law they follow.
FINGERPRINTS = {"9989fed9a4e5": 1, "02bd4f347524": 1}


class Look(NamedTuple):
    """The state of a campaign after some batch. Errors are in units of the matrix's spread."""

    n: int  # entries measured, without those known from the start
    cost: float  # of these entries
    error: float  # root mean square over all judged entries, divided by the scale
    error_unobserved: float  # the same over the entries not measured
    coverage: float  # of 90% intervals over (a sample of) the entries not measured; NaN without intervals
    width: float  # mean width of these intervals, divided by the scale
    seconds: float  # mean wall time of an `ask` since the last look
    cpu: float  # mean processor time of an `ask` since the last look


@dataclass(frozen=True)
class Run:
    """The result of one cell."""

    law: int
    case: str
    identity: Mapping[str, Any]  # of the case
    strategy: str
    seed: int
    shape: tuple[int, int]
    known: int  # judged entries
    scale: float
    looks: tuple[Look, ...]
    cpu_s: float
    wall_s: float

    @property
    def key(self) -> str:
        """The name of the result, as `Cell.key`."""
        return run_key(self.identity, self.strategy, self.seed, self.law)

    @property
    def by_cost(self) -> bool:
        """Whether runs of this case are compared at equal cost rather than at equal numbers of entries."""
        return self.identity.get("spend") is not None

    @property
    def finite(self) -> bool:
        """Whether all errors are finite numbers."""
        errors = (x for look in self.looks for x in (look.cost, look.error, look.error_unobserved))
        return all(map(math.isfinite, (self.scale, *errors)))

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data, with None for anything that is not a finite number."""
        looks = [[x if math.isfinite(x) else None for x in look] for look in self.looks]
        return {**asdict(self), "identity": dict(self.identity), "shape": list(self.shape), "looks": looks}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Run:
        """Read a run, also one stored with the hash of its source code instead of the number of its law."""
        looks = tuple(Look._make(math.nan if x is None else x for x in look) for look in data["looks"])
        values = {**data, "shape": tuple(data["shape"]), "looks": looks}
        if "law" not in data:
            values["law"] = FINGERPRINTS.get(data["code"], 0)
            values = {name: x for name, x in values.items() if name not in ("key", "code", "note")}
        return cls(**values)  # a TypeError if it has fields of a later version


class Store:
    """The runs in a folder, by key. The folder is created when the first run is added."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self._runs: dict[str, Run] = {}
        self._read_to = 0
        if self.folder.exists() and not self.folder.is_dir():
            raise StorageError(f"expected a folder for results, got the file {self.folder}.")
        self._refresh()

    def __len__(self) -> int:
        return len(self.runs())

    def get(self, key: str) -> Run | None:
        """Return the run with this key, whichever process added it."""
        if key not in self._runs:
            self._refresh()
        return self._runs.get(key)

    def runs(self) -> list[Run]:
        """Return all runs in the order in which they were added."""
        self._refresh()
        return list(self._runs.values())

    def add(self, run: Run) -> None:
        """Store a run, unless one with the same key is already there."""
        if self.get(run.key) is not None:
            return
        with _writing(self.path, " Earlier results are kept."):
            _append(self.path, json.dumps(run.to_json(), allow_nan=False).encode())

    def check_writable(self) -> None:
        """Raise before any work if results cannot be written."""
        with _writing(self.path), self.path.open("ab"):
            pass

    def _refresh(self) -> None:
        """Read the lines added since the last time."""
        try:
            size = self.path.stat().st_size
            if size < self._read_to:  # the file was emptied
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
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}.") from None
        complete = new.rfind(b"\n") + 1  # a last line without an end may still be in writing
        for line in new[:complete].split(b"\n"):
            with suppress(ValueError, KeyError, TypeError):  # a line cut off, or of another version
                run = Run.from_json(json.loads(line))
                self._runs.setdefault(run.key, run)
        self._read_to += complete


def _append(path: Path, line: bytes) -> None:
    """Write one line at the end in one piece, on a new line if the last one was cut off."""
    with path.open("a+b", buffering=0) as stream:
        with suppress(OSError):  # without file locks, appending in one piece has to do
            _lock(stream)
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            line = line if stream.read(1) == b"\n" else b"\n" + line
        if stream.write(line + b"\n") != len(line) + 1:
            raise OSError("the disk is full")


if sys.platform == "win32":
    import msvcrt

    FAR = 2**40  # locks on Windows also stop readers, so lock a place where nothing is ever written

    def _lock(stream: FileIO) -> None:
        stream.seek(FAR)
        msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _lock(stream: FileIO) -> None:
        """Keep other processes from writing until the file is closed."""
        fcntl.flock(stream, fcntl.LOCK_EX)


@contextmanager
def _writing(path: Path, more: str = "") -> Iterator[None]:
    """Create the file's folder if needed, and refuse in a sentence what cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}.{more}") from None


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path that becomes `path` when all is written; create its folder if needed."""
    with _writing(path), write_atomically(path) as part:
        yield part
