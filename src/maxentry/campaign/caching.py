"""What can be computed again, kept: in folders, which may be deleted at any time, or in memory."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from maxentry.folders import user_cache

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

KEPT = 6  # fits of a campaign: the anchor, the latest station and the latest one, and those before


class Memory:
    """The fits used last, by name; for campaigns that are themselves no longer than a process."""

    def __init__(self) -> None:
        self._fits: dict[str, Posterior] = {}  # the one used last is the last
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._fits)

    def get(self, name: str) -> Posterior | None:
        """The fit of this name, if it is still there."""
        with self._turn:
            if (kept := self._fits.pop(name, None)) is not None:
                self._fits[name] = kept
            return kept

    def used(self, name: str) -> None:
        """Let go of the fit of this name, if it is there, later than of others."""
        with self._turn:
            if name in self._fits:
                self._fits[name] = self._fits.pop(name)

    def put(self, name: str, made: Posterior) -> None:
        """Keep a fit, and let go of those used longest ago."""
        with self._turn:
            self._fits[name] = made
            for old in list(self._fits)[:-KEPT]:
                del self._fits[old]


Cache = Path | Memory


def folder_of(mark: str) -> Path:
    """The folder of the campaign with this mark, below MAXENTRY_CACHE or the user's cache; it may not be there yet."""
    return _root() / mark


def _root() -> Path:
    wish = os.environ.get("MAXENTRY_CACHE")
    return Path(wish).expanduser() if wish else user_cache()
