"""Where the draws of a run go: into memory, or into files of a folder, where draws larger than the memory stay.

Files are NumPy's .npy, mapped into memory: the system fetches what is read, and lets go of it where room is short.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from maxentry.errors import DataError, ParameterError

Floats = NDArray[np.floating]
Shape = tuple[int, ...]


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

    @classmethod
    def of(cls, path: str | PathLike[str]) -> Folder:
        """A folder that may be filled: one that is not there yet, or is empty."""
        if not isinstance(path, str | PathLike):
            raise ParameterError(f"store must be the path of a folder or None, got {path!r}")
        folder = Path(path)
        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise DataError(f"expected a new or empty folder for the draws, but {folder} holds something.")
        if not folder.parent.is_dir():
            raise DataError(
                f"expected a folder to put {folder.name} into, but {folder.parent} does not exist."
            )
        return cls(folder)

    @contextmanager
    def filled(self) -> Iterator[None]:
        """The folder is there while it is filled, and is gone again if that fails."""
        try:
            self.path.mkdir(exist_ok=True)
            yield
        except OSError as error:
            shutil.rmtree(self.path, ignore_errors=True)
            raise DataError(
                f"expected to write draws into {self.path}, but that failed: {error.strerror or error}."
            ) from error
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """A file of zeros, mapped; what has no numbers needs no file."""
        if 0 in shape:
            return np.zeros(shape, dtype)
        # As a plain array: Numba and sums know nothing of np.memmap, whose file stays open by the array's base.
        return np.asarray(open_memmap(self.file(name), mode="w+", dtype=dtype, shape=shape))

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
