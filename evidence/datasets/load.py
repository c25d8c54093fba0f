"""From a name to a checked matrix: from the user's folder, the cache, or the publisher."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from evidence.datasets import files
from evidence.datasets.catalogue import CATALOGUE
from evidence.datasets.dataset import Dataset, Info, Matrix, digest_values, shorten_decimals
from evidence.datasets.parsers import read_npz, write_copy
from maxentry.errors import DataError, MaxentryError, MissingDependencyError, ParameterError


def catalogue() -> tuple[Info, ...]:
    """Return all data sets that `load` knows, without reading any."""
    return CATALOGUE


def info(name: str) -> Info:
    """Return what is known about one data set without reading it."""
    found = next((info for info in CATALOGUE if info.name == name), None)
    if found is None:
        names = ", ".join(info.name for info in CATALOGUE)
        raise ParameterError(f"expected the name of a data set ({names}), got {name!r}.")
    return found


def load(name: str) -> Dataset:
    """Return the data set `name`, looked for in MAXENTRY_DATA, then in the cache, then at its publisher.

    Values that are not those of the catalogue are refused, wherever they come from.
    """
    return read(info(name))


def find_file(info: Info) -> Path | None:
    """Return the file that `load` would read without a download, if there is one."""
    matrix = files.find_copy(info) or files.find_matrix(info)
    if matrix is not None:
        return matrix
    paths = [files.find_publisher_file(info, file) for file in info.files]
    return paths[0] if all(paths) else None


def read(info: Info) -> Dataset:
    """Return the data set that `info` describes, and show its licence the first time."""
    copy = files.find_copy(info)
    dataset = check(info, info.read_copy(copy), copy) if copy is not None else _read_cache(info)
    dataset = dataset or _read_publisher_files(info)
    show_licence(info)
    return dataset


def check(info: Info, matrix: Matrix, source: Path) -> Dataset:
    """Return the data set if the values are those of the catalogue."""
    got = digest_values(matrix.M)
    if got != info.digest:
        known = int(np.count_nonzero(~np.isnan(matrix.M)))
        raise DataError(
            f"expected {info.name} ({info.shape[0]} x {info.shape[1]}, {info.known} known entries, digest "
            f"{info.digest[:12]}), but {source} has other values ({matrix.M.shape[0]} x {matrix.M.shape[1]}, "
            f"{known} known entries, digest {got[:12]})."
        )
    return Dataset(
        info.name, info.title, shorten_decimals(matrix.M), matrix.rows, matrix.cols, info.unit, info.licence,
        info.citation, got,
    )  # fmt: skip


def _read_cache(info: Info) -> Dataset | None:
    """Return what was read from the publisher's files before; None if the cache is broken, so that it is rebuilt."""
    path = files.find_matrix(info)
    try:
        return check(info, read_npz(path), path) if path is not None else None
    except DataError:
        return None


def _read_publisher_files(info: Info) -> Dataset:
    """Read the publisher's files; if an earlier download is broken, with a new one."""
    before = [path for file in info.files if (path := files.find_download(info, file)) is not None]
    try:
        return _parse(info)
    except Exception:
        if all(path.exists() for path in before):  # none of them was at fault
            raise
    return _parse(info)


def _parse(info: Info) -> Dataset:
    """Parse, check and cache the publisher's files; delete downloads that turn out wrong."""
    paths = [files.find_publisher_file(info, file) or files.download(info, file) for file in info.files]
    try:
        matrix = info.parse(*paths)
        dataset = check(info, matrix, paths[0])
    except (MissingDependencyError, MemoryError):  # not the files' fault
        raise
    except Exception:  # not DataError alone: a download that surprises a parser must not stay in the cache
        with suppress(OSError):
            for path in (files.find_download(info, file) for file in info.files):
                if path is not None and path in paths:
                    path.unlink()
        raise
    with suppress(OSError, MaxentryError):  # a cache that cannot be written only costs time
        write_copy(matrix, files.matrix_path(info))
    return dataset


# Licences


def show_licence(info: Info) -> None:
    """Print licence and citation on stderr, unless this machine's cache says that they were shown."""
    try:
        marker = files.cache_folder() / "told" / info.name
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.open("x").close()  # of several processes at once, one succeeds
    except FileExistsError:
        return
    except (OSError, MaxentryError):  # nowhere to remember it: once in each process
        _print_licence_once(info)
    else:
        _print_licence(info)


@cache
def _print_licence_once(info: Info) -> None:
    _print_licence(info)


def _print_licence(info: Info) -> None:
    print(f"{info.title}\n  licence: {info.licence}\n  please cite: {info.citation}", file=sys.stderr)
