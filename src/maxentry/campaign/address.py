"""Addresses: the path of a SQLite file or the URL of a database, and what messages may show of it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from maxentry._io import can_be_path, expand_home
from maxentry.errors import MissingDependencyError, StorageError

SQLITE_HEADER = b"SQLite format 3\x00"
EXPECTED = (
    "expected a storage like 'lab.db', 'sqlite:///lab.db', 'sqlite://' or 'postgresql://user@host/database'"
)
ALMOST_URL = re.compile(r"(postgres|sqlite)[a-z]*(\+[a-z0-9]+)?:", re.IGNORECASE)
MAY_HOLD_A_PASSWORD = re.compile(r":.*@|passw", re.IGNORECASE | re.DOTALL)


def parse_address(storage: str | PathLike[str]) -> URL:
    """Turn the path of a SQLite file, or a URL, into the URL of a SQLite or PostgreSQL database."""
    text = fspath(storage) if isinstance(storage, (str, PathLike)) else ""
    if not isinstance(text, str) or not text.strip():
        got = repr(storage) if isinstance(storage, str) else f"one of type {type(storage).__name__}"
        raise StorageError(f"{EXPECTED}, got {got}.")
    if not can_be_path(text):
        raise StorageError(f"{EXPECTED}, got an address with characters that none can have{_scheme(text)}.")
    if "://" not in text:
        return _path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(f"{EXPECTED}, got an address that cannot be read{_scheme(text)}.") from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    if url.get_backend_name() in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            raise MissingDependencyError(
                "PostgreSQL needs psycopg, which is not installed: pip install 'maxentry[postgres]'."
            )
        if "@" in f"{url.host}{url.database}":  # the rest of a password, which no message may show
            raise StorageError(
                f"{EXPECTED}, got an address with several @{_scheme(text)}: in a password, write @ as %40, "
                "/ as %2F and : as %3A."
            )
        return url.set(drivername="postgresql+psycopg")
    raise StorageError(f"{EXPECTED}, got one of {url.drivername!r}.")


def _path(text: str) -> URL:
    """Return the URL of a SQLite file.

    A misspelt URL, or text that may hold a password, is refused instead of becoming the name of a new file.
    """
    path = expand_home(Path(text))
    if not path.exists() and (ALMOST_URL.match(text) or MAY_HOLD_A_PASSWORD.search(text)):
        raise StorageError(f"{EXPECTED}, got an address without ://{_scheme(text)}.")
    return URL.create("sqlite", database=str(path))


def _scheme(text: str) -> str:
    """Return the scheme of an address that cannot be parsed: the only part that is safe to show."""
    scheme = ALMOST_URL.match(text)
    return f" ({scheme[0]}…)" if scheme else ""


def _sqlite(url: URL) -> URL:
    if url.host:
        raise StorageError(
            f"expected three slashes before a path (sqlite:///{url.host}…), or four before an absolute one, "
            f"got {display_name(url)!r}."
        )
    return url.set(drivername="sqlite")


def is_in_memory(url: URL) -> bool:
    """Return whether the database exists in memory only."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def sqlite_file(url: URL) -> Path | None:
    """Return the path of the SQLite file; None for PostgreSQL and in-memory databases."""
    if url.get_backend_name() != "sqlite" or is_in_memory(url):
        return None
    return Path(str(url.database))


def display_name(url: URL) -> str:
    """Return the address for messages: the file, or the URL without its passwords."""
    path = sqlite_file(url)
    if path is not None:
        return str(path)
    secret = [name for name in url.query if "passw" in name.lower()]
    return url.update_query_dict(dict.fromkeys(secret, "***")).render_as_string(hide_password=True)


def check_file(path: Path, must_exist: bool) -> None:
    """Refuse a path that cannot be a SQLite file, before anything is created or changed."""
    try:
        if path.is_dir():
            raise StorageError(f"expected a file at {path}, got a folder.")
        if not path.exists():
            if must_exist:
                raise StorageError(
                    f"expected a file of campaigns at {path}, got none.", code="no_storage", path=str(path)
                )
            if not path.parent.is_dir():
                raise StorageError(f"expected the folder {path.parent} for {path.name}, got none.")
            return
        if not path.is_file():  # to open a pipe would wait
            raise StorageError(f"expected a file of campaigns at {path}, got a device or a pipe.")
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
    except PermissionError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}.") from None
    if start not in (b"", SQLITE_HEADER):
        raise StorageError(f"expected a file of campaigns at {path}, got a file that is not SQLite.")


UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check_uuid(key: Any, where: str) -> None:
    """Refuse a campaign whose uuid is none: it becomes the name of a folder."""
    if not UUID.fullmatch(str(key.uuid)):
        raise StorageError(f"expected a uuid for campaign {key.name!r} in {where}, got {key.uuid!r:.60}.")
