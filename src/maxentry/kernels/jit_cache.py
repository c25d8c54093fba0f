"""Where compiled kernels are kept: one folder of the user's cache for all virtual environments.

Numba keeps them beside the source, so that each environment would compile its own. Here the folder is named by what
the compiled code depends on: the text of all kernels, Numba, LLVM, NumPy, Python and the processor.

Numba unpickles what it finds, so the folder must be ours alone to write. Where NUMBA_CACHE_DIR is set, the folder lies
there; where our folder cannot be used, Numba's own places serve, and where none of them can be written, a folder that
lasts as long as the process.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import caching, config

from maxentry._io import user_cache

HERE = Path(__file__).parent
KEPT = 6  # folders: of versions used lately
YOUNG = 7 * 24 * 3600  # seconds: what was used since then may be in use


class SharedLocator:
    """Tells Numba where a kernel of this package is kept (its own locators have the same methods)."""

    def __init__(self, function: Any, file: str, folder: Path) -> None:
        self._line, self._folder = function.__code__.co_firstlineno, folder
        self._py_file = file  # Numba reads it

    @classmethod
    def from_function(cls, function: Any, file: str) -> SharedLocator | None:
        """For kernels of this package; None leaves a function to Numba's own locators."""
        if Path(file).parent != HERE:
            return None
        folder = shared_folder()
        return None if folder is None else cls(function, file, folder)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """The folder is there."""
        _make(self._folder)

    def get_source_stamp(self) -> str:
        """What says that compiled code is of this source: the folder's name holds it, for all kernels together."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self._line)


class PrivateLocator(SharedLocator):
    """The same for a folder of this process alone, where no other can be written."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> SharedLocator | None:
        """For kernels of this package; None where no temporary file can be written either."""
        if Path(file).parent != HERE:
            return None
        with contextlib.suppress(OSError):
            return cls(function, file, private_folder())
        return None


def use_shared_folder() -> None:
    """Let Numba look into the shared folder first, into a private one last.

    Nothing happens where its classes are not as we know them.
    """
    with contextlib.suppress(AttributeError):
        classes = caching.CacheImpl._locator_classes
        if SharedLocator not in classes:
            classes.insert(0, SharedLocator)
            classes.append(PrivateLocator)


@cache
def shared_folder() -> Path | None:
    """The folder of this version, made if need be; None where it cannot be written, or others can write it."""
    try:
        home = Path(config.CACHE_DIR) / "maxentry" if config.CACHE_DIR else user_cache() / "kernels"
        folder = home / version()
        for each in (folder.parent, folder):
            _make(each)
            if not _is_ours(each):
                return None
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # used last, so deleted last
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    _forget_old(folder.parent)
    return folder


@cache
def private_folder() -> Path:
    """A folder that is removed when the process ends."""
    folder, owner = Path(tempfile.mkdtemp(prefix="maxentry-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not a process forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def version() -> str:
    """A name for all that compiled kernels depend on."""
    digest = hashlib.sha256()
    for file in sorted(HERE.glob("*.py")):
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    around = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, platform.machine())
    digest.update(repr((around, _processor())).encode())
    return digest.hexdigest()[:20]


def _processor() -> tuple[str | None, ...]:
    """What Numba compiles for: the processor, or the one it was told."""
    features = ""
    with contextlib.suppress(RuntimeError):  # LLVM does not know them on every system
        features = llvm.get_host_cpu_features().flatten()
    return llvm.get_host_cpu_name(), features, config.CPU_NAME, config.CPU_FEATURES


def _make(folder: Path) -> None:
    """Make a folder and those above it that are not there, for the user alone."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _is_ours(folder: Path) -> bool:
    """Whether nobody but this user can put files into a folder; Windows keeps a user's folders so by itself."""
    if sys.platform == "win32":
        return True
    known = folder.stat()
    return known.st_uid == os.geteuid() and known.st_mode & 0o022 == 0


def _forget_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        by_age = sorted((f.stat().st_mtime, f) for f in folder.iterdir())
        for used, old in by_age[:-KEPT]:
            if used < time.time() - YOUNG:
                shutil.rmtree(old, ignore_errors=True)
