"""How kernels are compiled, and the folder of compiled ones: one in the user's cache for all virtual environments.

Numba caches beside the source, so that each environment would compile its own. Here the folder is named by a digest of
what the compiled code depends on: the text of all kernels, Numba, LLVM, NumPy, Python and the processor.

Numba unpickles what it finds, so nobody else may write to the folder. Where NUMBA_CACHE_DIR is set, the folder lies
there. If it cannot be used, Numba's own places serve; if none of them can be written, a folder that lasts as long as
the process.

Half of what Numba compiles for a function of many arrays is the code that takes them out of Python's objects. `inner`
leaves it out for functions that only kernels call.
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
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba import njit, types
from numba.core import caching, config
from numba.extending import typeof_impl

from maxentry._io import user_cache

HERE = Path(__file__).parent
MAX_VERSIONS = 6  # folders that are never deleted: those used last
MIN_AGE = 7 * 24 * 3600  # seconds since its last use before a folder may be deleted


class Inner:
    """A compiled function for kernels; Python may call it, too, and compiles it for that once in each process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        # Without its wrappers a compiled function must not be called from Python: the process would end.
        self.compiled = njit(cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
        self._callable = njit(nogil=True)(function)  # not in the cache, where both would have one name

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python, as tests do."""
        return self._callable(*arguments)


@typeof_impl.register(Inner)
def _type_of_inner(function: Inner, _context: Any) -> types.Type:
    return types.Dispatcher(function.compiled)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return Inner(function)


class SharedLocator:
    """Tell Numba where to cache a kernel of this package (its own locators have the same methods)."""

    def __init__(self, function: Any, file: str, folder: Path) -> None:
        self._line, self._folder = function.__code__.co_firstlineno, folder
        self._py_file = file  # Numba reads it

    @classmethod
    def from_function(cls, function: Any, file: str) -> SharedLocator | None:
        """Return a locator for a kernel of this package; None leaves a function to Numba's own locators."""
        if Path(file).parent != HERE:
            return None
        folder = shared_folder()
        return None if folder is None else cls(function, file, folder)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """Create the folder."""
        _make_private(self._folder)

    def get_source_stamp(self) -> str:
        """Return what identifies the source: the folder's name, a digest of all kernels."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart."""
        return str(self._line)


class PrivateLocator(SharedLocator):
    """Use a folder of this process alone, where no other can be written."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> SharedLocator | None:
        """Return a locator for a kernel of this package; None if no temporary folder can be made either."""
        if Path(file).parent != HERE:
            return None
        with contextlib.suppress(OSError):
            return cls(function, file, private_folder())
        return None


def install_locators() -> None:
    """Make Numba try the shared folder first and a private one last.

    Does nothing if Numba's private list of locators has moved.
    """
    with contextlib.suppress(AttributeError):
        classes = caching.CacheImpl._locator_classes
        if SharedLocator not in classes:
            classes.insert(0, SharedLocator)
            classes.append(PrivateLocator)


@cache
def shared_folder() -> Path | None:
    """Return the folder of this version, created if needed; None if it is not writable, or writable by others."""
    try:
        home = Path(config.CACHE_DIR) / "maxentry" if config.CACHE_DIR else user_cache() / "kernels"
        folder = home / cache_version()
        for each in (folder.parent, folder):
            _make_private(each)
            if not _is_private(each):
                return None
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # used last, so deleted last
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    _delete_old(folder.parent)
    return folder


@cache
def private_folder() -> Path:
    """Return a temporary folder, which is removed when the process ends."""
    folder, owner = Path(tempfile.mkdtemp(prefix="maxentry-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not a process forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def cache_version() -> str:
    """Return a digest of all that compiled kernels depend on."""
    digest = hashlib.sha256()
    for file in sorted(HERE.glob("*.py")):
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version, platform.machine())
    digest.update(repr((versions, _processor())).encode())
    return digest.hexdigest()[:20]


def _processor() -> tuple[str | None, ...]:
    """Return what Numba compiles for: this processor, or the one set by its configuration."""
    features = ""
    with contextlib.suppress(RuntimeError):  # LLVM does not know them on every system
        features = llvm.get_host_cpu_features().flatten()
    return llvm.get_host_cpu_name(), features, config.CPU_NAME, config.CPU_FEATURES


def _make_private(folder: Path) -> None:
    """Create a folder and its missing parents, for the user alone."""
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _is_private(folder: Path) -> bool:
    """Whether only this user can write to a folder; Windows protects a user's folders by itself."""
    if sys.platform == "win32":
        return True
    status = folder.stat()
    return status.st_uid == os.geteuid() and status.st_mode & 0o022 == 0


def _delete_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        by_age = sorted((f.stat().st_mtime, f) for f in folder.iterdir())
        for used, old in by_age[:-MAX_VERSIONS]:
            if used < time.time() - MIN_AGE:
                shutil.rmtree(old, ignore_errors=True)
