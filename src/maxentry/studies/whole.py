"""Files that are there as a whole or not at all, however the writing ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from maxentry.errors import StorageError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Another name to write to, which becomes `path` when all is written; until then, what was there stays."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        raise StorageError(f"expected to write {path}, but: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
