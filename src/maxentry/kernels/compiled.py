"""Where compiled kernels are kept: one folder of the user's cache for all virtual environments.

Numba keeps them beside the source, so that each environment would compile its own. Here the folder is named by what
the compiled code depends on: the text of all kernels, Numba, NumPy and Python; the processor Numba looks at
itself. NUMBA_CACHE_DIR, where it is set, goes before; where the folder cannot be written, Numba's own places serve.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching, config

from maxentry.folders import user_cache

HERE = Path(__file__).parent
KEPT = 6  # folders: of versions used lately


class SharedLocator:
    """Tells Numba where a kernel of this package is kept (its own locators have the same methods)."""

    def __init__(self, line: int, folder: Path) -> None:
        self._line, self._folder = line, folder

    @classmethod
    def from_function(cls, function: Any, file: str) -> SharedLocator | None:
        """For kernels of this package; None leaves a function to Numba's own locators."""
        if config.CACHE_DIR or Path(file).parent != HERE:
            return None
        folder = shared_folder()
        return None if folder is None else cls(function.__code__.co_firstlineno, folder)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        """The folder is there."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """What says that compiled code is of this source: the folder's name holds it, for all kernels together."""
        return self._folder.name

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart."""
        return str(self._line)


def use_shared_folder() -> None:
    """Let Numba look into the shared folder first; nothing happens where its classes are not as we know them."""
    with contextlib.suppress(AttributeError):
        classes = caching.CacheImpl._locator_classes
        if SharedLocator not in classes:
            classes.insert(0, SharedLocator)


@cache
def shared_folder() -> Path | None:
    """The folder of this version, made if need be; None where it cannot be written."""
    try:
        folder = user_cache() / "kernels" / version()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # used last, so deleted last
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    _forget_old(folder.parent)
    return folder


def version() -> str:
    """A name for all that compiled kernels depend on, but for the processor."""
    digest = hashlib.sha256()
    for file in sorted(HERE.glob("*.py")):
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    around = (numba.__version__, np.__version__, sys.version, platform.machine())
    digest.update(repr(around).encode())
    return digest.hexdigest()[:20]


def _forget_old(folder: Path) -> None:
    with contextlib.suppress(OSError):
        by_age = sorted(folder.iterdir(), key=lambda f: f.stat().st_mtime)
        for old in by_age[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
