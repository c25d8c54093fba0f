"""What several parts need of the machine: atomic writes, data for JSON, a folder for caches, the number of threads."""

from __future__ import annotations

import math
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from maxentry.errors import ParameterError

THREADS_VARIABLE = "MAXENTRY_THREADS"


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` when the block ends without an error.

    A crash leaves the old file or the new one, never half of it. Errors of the file system pass through as OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def to_json_data(x: Any) -> Any:
    """Convert to what JSON can hold: arrays become lists, NaN and infinity null, dates text."""
    if isinstance(x, Mapping):
        return {str(key): to_json_data(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [to_json_data(item) for item in x]
    if hasattr(x, "tolist"):  # NumPy's arrays and numbers
        return to_json_data(x.tolist())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if x is None or isinstance(x, str | int):
        return x
    return x.isoformat() if hasattr(x, "isoformat") else str(x)


def user_cache() -> Path:
    """Return the folder for caches that is customary on this system; it may not exist yet.

    Everything in it can be computed again and may be deleted at any time.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "maxentry" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "maxentry"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))  # a relative one is not valid
    return (base if base.is_absolute() else Path.home() / ".cache") / "maxentry"


def max_threads() -> int:
    """Return the limit set by MAXENTRY_THREADS; without one, the number of processors."""
    limit = os.environ.get(THREADS_VARIABLE, "").strip()
    if not limit:
        return os.cpu_count() or 1
    if not (limit.isascii() and limit.isdigit() and int(limit) >= 1):
        raise ParameterError(f"{THREADS_VARIABLE} must be a whole number of at least 1, got {limit!r}")
    return int(limit)
