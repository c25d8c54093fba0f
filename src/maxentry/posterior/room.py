"""Where the draws of a run go: into memory, or into files of a folder, where draws larger than the memory stay.

Files are NumPy's .npy, mapped into memory: the system fetches what is read, and lets go of it where room is short.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError

Floats = NDArray[np.floating]
Shape = tuple[int, ...]

NOT_KNOWN_HERE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of a file system


class Room(Protocol):
    """Room for arrays of draws (chain, draw, …)."""

    def filled(self) -> AbstractContextManager[None]:
        """While this lasts the room is filled; if that fails, nothing is left of it."""

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """An array of zeros to be filled."""

    def selected(self, array: Floats, chains: list[int], n_draws: int, top: int | None) -> Floats:
        """The first draws of some chains, the last axis cut to `top`, in one piece; `array` is lost."""


class Memory:
    """Draws in memory."""

    def filled(self) -> AbstractContextManager[None]:
        """There is nothing to tidy up."""
        return nullcontext()

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """An array of zeros to be filled."""
        return np.zeros(shape, dtype)

    def selected(self, array: Floats, chains: list[int], n_draws: int, top: int | None) -> Floats:
        """A copy of what is left."""
        return np.ascontiguousarray(array[chains, :n_draws, ..., :top])


MEMORY = Memory()


@dataclass(frozen=True)
class Folder:
    """Draws in files of a folder."""

    path: Path
    _made: list[Path] = field(default_factory=list, init=False, repr=False, compare=False)
    _maps: list[np.memmap[Any, Any]] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, path: str | PathLike[str]) -> Folder:
        """A folder that may be filled: one that is not there yet, or is empty."""
        if not isinstance(path, str | PathLike):
            raise ParameterError(f"store must be the path of a folder or None, got {path!r}")
        folder = Path(path).expanduser()
        _check_empty(folder)
        if not folder.parent.is_dir():
            why = "is no folder" if folder.parent.exists() else "does not exist"
            raise DataError(f"expected a folder to put {folder.name} into, but {folder.parent} {why}.")
        return cls(folder)

    @contextmanager
    def filled(self) -> Iterator[None]:
        """The folder is there while it is filled; if that fails, what was made here is gone again, and no more."""
        new = False
        try:
            with contextlib.suppress(FileExistsError):
                self.path.mkdir()
                new = True
            _check_empty(self.path)  # again: the rank may have been chosen since, which takes a while
            yield
        except BaseException as error:
            self._remove(new)
            if isinstance(error, OSError):
                raise DataError(
                    f"expected to write draws into {self.path}, but that failed: {error.strerror or error}."
                ) from error
            raise
        finally:
            self._made.clear()
            self._maps.clear()

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """A file of zeros, mapped; what has no numbers needs no file."""
        if 0 in shape:
            return np.zeros(shape, dtype)
        file = self.file(name)
        file.touch(exist_ok=False)  # fails where another fit was faster
        self._made.append(file)
        array = open_memmap(file, mode="w+", dtype=dtype, shape=shape)
        self._maps.append(array)
        _take_room(file)
        # As a plain array: Numba and sums know nothing of np.memmap, whose file stays open by the array's base.
        return np.asarray(array)

    def flush(self, last: str) -> None:
        """All draws are on disk. `last` is the file to be written next, by which the folder can be loaded."""
        for array in self._maps:
            array.flush()
        self._made.append(self.path / last)

    def selected(self, array: Floats, chains: list[int], n_draws: int, top: int | None) -> Floats:
        """Moved to the front of the same file, since a mapped file cannot be replaced on every system.

        No number moves towards the end, so what is still to be read is not overwritten.
        """
        flat, at = array.reshape(-1), 0
        for c in chains:
            for d in range(n_draws):
                part = array[c, d, ..., :top].copy().ravel()
                flat[at : at + part.size] = part
                at += part.size
        shape = (len(chains), n_draws, *array[0, 0, ..., :top].shape)
        return flat[:at].reshape(shape)

    def read(self, name: str, shape: Shape, dtype: str) -> Floats:
        """What was written, as a part of the file of this shape; mapped and read-only."""
        if 0 in shape:
            return np.zeros(shape, dtype)
        whole = np.asarray(open_memmap(self.file(name), mode="r")).reshape(-1)
        return whole[: int(np.prod(shape))].reshape(shape)

    def file(self, name: str) -> Path:
        """The file of an array."""
        return self.path / f"{name}.npy"

    def _remove(self, folder_too: bool) -> None:
        for file in self._made:
            with contextlib.suppress(OSError):
                file.unlink()
        if folder_too:
            with contextlib.suppress(OSError):  # somebody else has put something there
                self.path.rmdir()


def _check_empty(folder: Path) -> None:
    if not folder.exists():
        return
    expected = "expected a new or empty folder for the draws, but"
    if not folder.is_dir():
        raise DataError(f"{expected} {folder} is a file.")
    if (folder / "posterior.npz").exists():
        raise DataError(
            f"{expected} {folder} holds a posterior: Posterior.load reads it; delete it, or name another folder."
        )
    if any(folder.iterdir()):
        raise DataError(f"{expected} {folder} holds something; name another.")


def _take_room(file: Path) -> None:
    """Take a file's bytes on the disk now: where there are too few later, the system ends the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with file.open("r+b") as opened:
        try:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
        except OSError as error:
            if error.errno not in NOT_KNOWN_HERE:
                raise
