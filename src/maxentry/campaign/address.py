"""Where campaigns are kept: from what a user writes to an address that SQLAlchemy understands."""

from __future__ import annotations

import re
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from maxentry.errors import MissingDependencyError, StorageError

SQLITE_HEADER = b"SQLite format 3\x00"
EXPECTED = (
    "expected a storage like 'lab.db', 'sqlite:///lab.db', 'sqlite://' or 'postgresql://user@host/database'"
)
ALMOST_URL = re.compile(r"(postgres|sqlite)[a-z]*(\+[a-z0-9]+)?:", re.IGNORECASE)
MAY_HOLD_A_PASSWORD = re.compile(r":.*@|passw", re.IGNORECASE | re.DOTALL)


def parse(storage: str | PathLike[str]) -> URL:
    """A path of a SQLite file or a URL as an address of SQLite or PostgreSQL."""
    text = fspath(storage) if isinstance(storage, (str, PathLike)) else ""
    if not isinstance(text, str) or not text.strip():
        came = repr(storage) if isinstance(storage, str) else f"one of type {type(storage).__name__}"
        raise StorageError(f"{EXPECTED}, but {came} came.")
    if "://" not in text:
        return _path(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(f"{EXPECTED}, but an address came that cannot be read{_scheme(text)}.") from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    if url.get_backend_name() in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            raise MissingDependencyError(
                "expected psycopg to reach PostgreSQL, but it is not installed: pip install 'maxentry[postgres]'."
            )
        if "@" in f"{url.host}{url.database}":  # the rest of a password, which no message may show
            raise StorageError(
                f"{EXPECTED}, but an address with several @ came{_scheme(text)}: in a password, write @ as %40, "
                "/ as %2F and : as %3A."
            )
        return url.set(drivername="postgresql+psycopg")
    raise StorageError(f"{EXPECTED}, but one of {url.drivername!r} came.")


def _path(text: str) -> URL:
    """The address of a SQLite file; a URL with a slip, and what may hold a password, is not taken for a file's name."""
    path = Path(text).expanduser()
    if not path.exists() and (ALMOST_URL.match(text) or MAY_HOLD_A_PASSWORD.search(text)):
        raise StorageError(f"{EXPECTED}, but an address without :// came{_scheme(text)}.")
    return URL.create("sqlite", database=str(path))


def _scheme(text: str) -> str:
    """What of an address can be shown when it cannot be taken apart: how it begins."""
    found = ALMOST_URL.match(text)
    return f" ({found[0]}…)" if found else ""


def _sqlite(url: URL) -> URL:
    if url.host:
        raise StorageError(
            f"expected three slashes before a path (sqlite:///{url.host}…), or four before an absolute one, "
            f"but {shown(url)!r} came."
        )
    return url.set(drivername="sqlite")


def in_memory(url: URL) -> bool:
    """Whether nothing of it is ever written to a disk."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def file_of(url: URL) -> Path | None:
    """The SQLite file, where the address is one."""
    if url.get_backend_name() != "sqlite" or in_memory(url):
        return None
    return Path(str(url.database))


def shown(url: URL) -> str:
    """The address as a message may show it: the file, or the URL without its passwords."""
    path = file_of(url)
    if path is not None:
        return str(path)
    secret = [name for name in url.query if "passw" in name.lower()]
    return url.update_query_dict(dict.fromkeys(secret, "***")).render_as_string(hide_password=True)


def check_file(path: Path, must_exist: bool) -> None:
    """Refuse what can never become a SQLite file, before anything is made or changed."""
    try:
        if path.is_dir():
            raise StorageError(f"expected a file at {path}, but it is a folder.")
        if not path.exists():
            if must_exist:
                raise StorageError(f"expected a file of campaigns at {path}, but there is none.")
            if not path.parent.is_dir():
                raise StorageError(f"expected the folder {path.parent} for {path.name}, but there is none.")
            return
        with path.open("rb") as file:
            start = file.read(len(SQLITE_HEADER))
    except PermissionError as error:
        raise StorageError(f"expected to be allowed to read {path}, but {error.strerror}.") from None
    if start not in (b"", SQLITE_HEADER):
        raise StorageError(f"expected a file of campaigns at {path}, but it is no SQLite file.")
