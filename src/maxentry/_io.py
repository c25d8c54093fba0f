"""Where a user's caches lie: what can be computed again, and may be deleted at any time."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """The folder for maxentry's caches, by the custom of the system; it may not be there yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "maxentry" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "maxentry"
    wish = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (wish if wish.is_absolute() else Path.home() / ".cache") / "maxentry"  # relative: not valid there
