"""Folders for what can be computed again: they may be deleted at any time."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def folder_of(mark: str) -> Path:
    """The folder of the campaign with this mark, below MAXENTRY_CACHE or the user's cache; it may not be there yet."""
    return _root() / mark


def _root() -> Path:
    if wish := os.environ.get("MAXENTRY_CACHE"):
        return Path(wish).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "maxentry" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "maxentry"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "maxentry"
