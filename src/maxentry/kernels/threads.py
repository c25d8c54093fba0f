"""How many threads compiled loops may use where nobody says: MAXENTRY_THREADS, or one for each processor."""

from __future__ import annotations

import os

from maxentry.errors import ParameterError

VARIABLE = "MAXENTRY_THREADS"


def most_threads() -> int:
    """The bound of the environment; without one, the number of processors."""
    wish = os.environ.get(VARIABLE, "").strip()
    if not wish:
        return os.cpu_count() or 1
    if not (wish.isascii() and wish.isdigit() and int(wish) >= 1):
        raise ParameterError(f"{VARIABLE} must be a whole number of at least 1, got {wish!r}")
    return int(wish)
