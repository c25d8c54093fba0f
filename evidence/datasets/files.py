"""Files of data sets: where they are looked for, and how they are downloaded.

MAXENTRY_DATA names the user's folder, MAXENTRY_DATA_CACHE the folder where downloads go.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from evidence.datasets.dataset import File, Info
from evidence.datasets.parsers import WEB_PAGE, is_web_page
from maxentry.errors import DataError, MissingDependencyError

DATA, CACHE = "MAXENTRY_DATA", "MAXENTRY_DATA_CACHE"
NO_POOCH = "downloading data needs pooch, which is not installed: pip install pooch."
TIMEOUT_S = 20.0


# Places


def data_folder() -> Path | None:
    """Return the user's own folder, if one is named."""
    name = os.environ.get(DATA)
    if not name:
        return None
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise DataError(f"expected {DATA} to name a folder, got {name!r}.")
    return folder


def cache_folder() -> Path:
    """Return where downloads and the matrices read from them are stored."""
    name = os.environ.get(CACHE)
    if name:
        return Path(name).expanduser()
    try:
        return Path(import_module("pooch").os_cache("maxentry"))
    except ImportError:
        raise MissingDependencyError(NO_POOCH) from None


def matrix_path(info: Info) -> Path:
    """Return where the cache stores the matrix once it was read from the publisher's files."""
    return cache_folder() / "matrices" / f"{info.name}-{info.digest[:12]}.npz"


def download_path(info: Info, file: File) -> Path:
    """Return where the cache stores a download."""
    return cache_folder() / "files" / info.name / Path(file.name).name


def find_copy(info: Info) -> Path | None:
    """Find a copy in the user's folder that is a matrix already."""
    folder = data_folder()
    return _first([folder / info.copy]) if folder else None


def find_matrix(info: Info) -> Path | None:
    """Find the matrix in the cache."""
    return _in_cache(lambda: matrix_path(info))


def find_download(info: Info, file: File) -> Path | None:
    """Find the publisher's file in the cache."""
    return _in_cache(lambda: download_path(info, file))


def find_publisher_file(info: Info, file: File) -> Path | None:
    """Find the publisher's file in the user's folder (at its top or beside the copy) or in the cache."""
    names = (file.name, *file.also)
    folder = data_folder()
    tops = [folder, (folder / info.copy).parent] if folder else []
    return _first([top / name for top in tops for name in names]) or find_download(info, file)


def _in_cache(place: Callable[[], Path]) -> Path | None:
    try:
        return _first([place()])
    except MissingDependencyError:  # not even the cache's place is known
        return None


def _first(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


# Downloads


def download(info: Info, file: File) -> Path:
    """Download a file, whole and with the right checksum or not at all, from the first address that has it."""
    path = download_path(info, file)
    try:
        fetch = import_module("pooch").HTTPDownloader(timeout=TIMEOUT_S)
    except ImportError:
        raise MissingDependencyError(NO_POOCH) from None
    part = _touch(path.with_name(f"{path.name}.{os.getpid()}.part"), info)
    reasons = []
    try:
        for url in file.urls:
            reason = _fetch(fetch, url, part, file.checksum)
            if reason is None:
                part.replace(path)
                return path
            reasons.append(f"{url} {reason}")
    finally:
        part.unlink(missing_ok=True)
    raise DataError(
        f"cannot download {file.name} for {info.name}: {'; '.join(reasons)}. Instead, {explain_by_hand(info)}."
    )


def explain_by_hand(info: Info) -> str:
    """Say what to do without a network."""
    files = ", ".join(f"{file.name} from {file.urls[0]}" for file in info.files)
    return f"put {files} into a folder and name that folder in {DATA}"


def _touch(path: Path, info: Info) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise DataError(
            f"cannot write into {path.parent} ({error.strerror or error}): name another folder in {CACHE}, or "
            f"{explain_by_hand(info)}."
        ) from None
    return path


def _fetch(fetch: Any, url: str, path: Path, checksum: str | None) -> str | None:
    """Return why the address did not give the file; None if it did."""
    try:
        fetch(url, str(path), None)
    except OSError as error:  # also what requests raises
        response = getattr(error, "response", None)
        if response is not None:
            return f"answered {response.status_code}"
        return f"could not be reached or broke off ({error.strerror or type(error).__name__})"
    data = path.read_bytes()
    if is_web_page(data):
        return f"gave {WEB_PAGE}"
    if checksum is not None:
        method, _, expected = checksum.partition(":")
        got = hashlib.new(method, data, usedforsecurity=False).hexdigest()
        if got != expected:
            return f"gave {len(data)} bytes with {method} {got[:12]}…, expected {expected[:12]}…"
    return None
