"""Files that are there as a whole or not at all, however the writing ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maxentry._io import write_atomically
from maxentry.errors import StorageError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Another name to write to, which becomes `path` when all is written; until then, what was there stays."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(path) as part:
            yield part
    except OSError as error:
        raise StorageError(f"expected to write {path}, but: {error.strerror or error}.") from None
