"""A publisher's file as bytes, out of its archive if it is in one; what is not such a file is said plainly."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path, PurePosixPath

from maxentry.errors import DataError

LOGIN = "a web page, as a network that asks for a login gives in place of a file"
LARGEST = 200_000_000  # bytes of a file in an archive, unpacked: ten times what any publisher has
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)  # of zipfile
UTF8_MARK = b"\xef\xbb\xbf"


def is_web_page(data: bytes) -> bool:
    """Whether this is markup, as a page is however it begins: no publisher's file starts with <."""
    return data[:10_000].removeprefix(UTF8_MARK).lstrip().startswith(b"<")


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
                return unpacked(archive, inside[0], path)
    except BROKEN as error:
        raise DataError(
            f"expected a whole .zip archive, but {path} ({len(data)} bytes) is broken or cut off: {error}."
        ) from None
    raise DataError(f"expected one file {name} in {path}, but there are {len(inside)}.")


def unpacked(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """A file in the archive at `path`, unless it is so large that it can only be meant to fill the memory."""
    size = archive.getinfo(name).file_size
    if size > LARGEST:
        raise DataError(f"expected at most {LARGEST} bytes of {name} in {path}, but it has {size}.")
    with archive.open(name) as file:
        return file.read(size + 1)  # the size may be a lie: read() would unpack all there is, this no more
