"""Where campaigns are kept: from what a user writes to an address that SQLAlchemy understands."""

from __future__ import annotations

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


def parse(storage: str | PathLike[str]) -> URL:
    """A path of a SQLite file or a URL as an address of SQLite or PostgreSQL."""
    text = fspath(storage) if isinstance(storage, (str, PathLike)) else ""
    if not isinstance(text, str) or not text.strip():
        raise StorageError(f"{EXPECTED}, but {storage!r} came.")
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StorageError(f"{EXPECTED}, but {text!r} came.") from None
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    if url.get_backend_name() in ("postgresql", "postgres"):
        if find_spec("psycopg") is None:
            raise MissingDependencyError(
                "expected psycopg to reach PostgreSQL, but it is not installed: pip install 'maxentry[postgres]'."
            )
        return url.set(drivername="postgresql+psycopg")
    raise StorageError(f"{EXPECTED}, but one of {url.drivername!r} came.")


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
    """The address as a message may show it: the file, or the URL without its password."""
    path = file_of(url)
    return url.render_as_string(hide_password=True) if path is None else str(path)


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
