"""A publisher's file as bytes, out of its archive if it is in one; what is not such a file is said plainly."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path, PurePosixPath

from maxentry.errors import DataError

LOGIN = "a web page, as a network that asks for a login gives in place of a file"


def is_web_page(data: bytes) -> bool:
    """Whether this is HTML, which no publisher keeps data in."""
    return data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html"))


def content(path: Path) -> bytes:
    """The file's bytes."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"expected to read {path}, but that failed: {error.strerror or error}.") from None
    if is_web_page(data):
        raise DataError(f"expected data, but {path} is {LOGIN}.")
    return data


def member(path: Path, name: str) -> bytes:
    """The file called `name` in the archive at `path`; or `path` itself where that is no .zip."""
    data = content(path)
    if path.suffix.lower() != ".zip":
        return data
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [n for n in archive.namelist() if PurePosixPath(n).name == name]
            if len(inside) == 1:
                return archive.read(inside[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise DataError(
            f"expected a whole .zip archive, but {path} ({len(data)} bytes) is broken or cut off: {error}."
        ) from None
    raise DataError(f"expected one file {name} in {path}, but there are {len(inside)}.")
