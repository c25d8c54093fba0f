"""Where files of data sets are looked for: the folder MAXENTRY_DATA, and the cache where downloads go."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from maxentry.errors import DataError, MissingDependencyError
from maxentry.studies.datasets.dataset import File, Info

DATA, CACHE = "MAXENTRY_DATA", "MAXENTRY_DATA_CACHE"
NO_POOCH = "expected pooch to download data, but it is not installed: pip install 'maxentry[studies]'."


def data_folder() -> Path | None:
    """The user's own folder, if one is named."""
    named = os.environ.get(DATA)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"expected {DATA} to name a folder, but {named!r} is none.")
    return folder


def cache_folder() -> Path:
    """Where downloads and what was read from them are kept."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named).expanduser()
    try:
        return Path(import_module("pooch").os_cache("maxentry"))
    except ImportError:
        raise MissingDependencyError(NO_POOCH) from None


def copy_of(about: Info) -> Path | None:
    """A copy in the user's folder that is a matrix already."""
    folder = data_folder()
    return _first([folder / about.copy]) if folder else None


def kept_matrix(about: Info) -> Path:
    """Where the cache keeps the matrix once it was read from the publisher's files."""
    return cache_folder() / "matrices" / f"{about.name}-{about.digest[:12]}.npz"


def kept(about: Info) -> Path | None:
    """The matrix that the cache keeps."""
    return _in_cache(lambda: kept_matrix(about))


def published(about: Info, file: File) -> Path | None:
    """The publisher's file in the user's folder (at its top or beside the copy) or in the cache."""
    names = (file.name, *file.also)
    folder = data_folder()
    tops = [folder, (folder / about.copy).parent] if folder else []
    return _first([top / name for top in tops for name in names]) or fetched(about, file)


def fetched(about: Info, file: File) -> Path | None:
    """The publisher's file in the cache."""
    return _in_cache(lambda: downloaded(about, file))


def downloaded(about: Info, file: File) -> Path:
    """Where the cache keeps a download."""
    return cache_folder() / "files" / about.name / Path(file.name).name


def _in_cache(place: Callable[[], Path]) -> Path | None:
    """What is there; nothing is where not even the cache's own place can be told."""
    try:
        return _first([place()])
    except MissingDependencyError:
        return None


def _first(paths: list[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)
