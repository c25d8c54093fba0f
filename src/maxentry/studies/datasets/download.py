"""A publisher's file from its address into the cache: whole and with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from maxentry.errors import DataError, MissingDependencyError
from maxentry.studies.datasets.dataset import File, Info
from maxentry.studies.datasets.places import CACHE, DATA, NO_POOCH, downloaded
from maxentry.studies.datasets.reading import LOGIN, is_web_page

PATIENCE = 20.0  # seconds without an answer


def download(about: Info, file: File) -> Path:
    """The file, from the first address that gives it; DataError with what to do by hand if none does."""
    path = downloaded(about, file)
    try:
        fetch = import_module("pooch").HTTPDownloader(timeout=PATIENCE)
    except ImportError:
        raise MissingDependencyError(NO_POOCH) from None
    part = _writable(path.with_name(f"{path.name}.{os.getpid()}.part"), about)
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
        f"expected to download {file.name} for {about.name}, but {'; '.join(reasons)}: {by_hand(about)}."
    )


def by_hand(about: Info) -> str:
    """What somebody without network does."""
    files = ", ".join(f"{file.name} from {file.urls[0]}" for file in about.files)
    return f"put {files} into a folder and name that folder in {DATA}"


def _writable(path: Path, about: Info) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise DataError(
            f"expected to write into {path.parent}, but that failed ({error.strerror or error}): name a folder that "
            f"can be written in {CACHE}, or {by_hand(about)}."
        ) from None
    return path


def _fetch(fetch: Any, url: str, path: Path, checksum: str | None) -> str | None:
    """Why the address did not give the file; None if it did."""
    try:
        fetch(url, str(path), None)
    except OSError as error:  # also what requests raises
        response = getattr(error, "response", None)
        if response is not None:
            return f"answered {response.status_code}"
        return f"could not be reached or broke off ({error.strerror or type(error).__name__})"
    data = path.read_bytes()
    if is_web_page(data):
        return f"gave {LOGIN}"
    if checksum is not None:
        method, _, expected = checksum.partition(":")
        came = hashlib.new(method, data, usedforsecurity=False).hexdigest()
        if came != expected:
            return f"gave {len(data)} bytes with {method} {came} and not {expected}"
    return None
