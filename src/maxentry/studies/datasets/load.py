"""From a name to a checked matrix: from the user's folder, the cache, or the publisher."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from maxentry.errors import DataError, MissingDependencyError, ParameterError
from maxentry.studies.datasets.catalogue import CATALOGUE
from maxentry.studies.datasets.copies import keep, labelled
from maxentry.studies.datasets.dataset import Dataset, Info, Matrix, as_written, digest_of
from maxentry.studies.datasets.download import download
from maxentry.studies.datasets.notice import tell_once
from maxentry.studies.datasets.places import copy_of, fetched, kept, kept_matrix, published


def catalogue() -> tuple[Info, ...]:
    """All data sets that `load` knows, without reading any."""
    return CATALOGUE


def info(name: str) -> Info:
    """What is known of one data set without reading it."""
    found = next((about for about in CATALOGUE if about.name == name), None)
    if found is None:
        names = ", ".join(about.name for about in CATALOGUE)
        raise ParameterError(f"expected the name of a data set ({names}), but {name!r} came.")
    return found


def load(name: str) -> Dataset:
    """The data set `name`, looked for in MAXENTRY_DATA, then in the cache, then at its publisher.

    Values that are not those of the catalogue are refused, wherever they come from.
    """
    return read(info(name))


def where(about: Info) -> Path | None:
    """The file that `load` would read without a download, if there is one."""
    matrix = copy_of(about) or kept(about)
    if matrix is not None:
        return matrix
    files = [published(about, file) for file in about.files]
    return files[0] if all(files) else None


def read(about: Info) -> Dataset:
    """The data set that `about` describes."""
    copy = copy_of(about)
    found = checked(about, about.read_copy(copy), copy) if copy is not None else _kept(about)
    dataset = found if found is not None else _from_publisher(about)
    tell_once(about)
    return dataset


def checked(about: Info, matrix: Matrix, source: Path) -> Dataset:
    """The data set, if the values are those of the catalogue."""
    digest = digest_of(matrix.M)
    if digest != about.digest:
        known = int(np.count_nonzero(~np.isnan(matrix.M)))
        raise DataError(
            f"expected {about.name} ({about.shape[0]} x {about.shape[1]}, {about.known} known entries, digest "
            f"{about.digest[:12]}), but {source} has other values ({matrix.M.shape[0]} x {matrix.M.shape[1]}, "
            f"{known} known entries, digest {digest[:12]})."
        )
    M = as_written(matrix.M)
    return Dataset(
        about.name,
        about.title,
        M,
        matrix.rows,
        matrix.cols,
        about.unit,
        about.licence,
        about.citation,
        digest,
    )


def _kept(about: Info) -> Dataset | None:
    """What was read from the publisher's files before; None too where the cache is spoilt: it is made anew."""
    path = kept(about)
    try:
        return checked(about, labelled(path), path) if path is not None else None
    except DataError:
        return None


def _from_publisher(about: Info) -> Dataset:
    """The publisher's files, parsed and checked; if a download of an earlier time is spoilt, with a new one."""
    before = [path for file in about.files if (path := fetched(about, file)) is not None]
    try:
        return _parsed(about)
    except Exception:
        if all(path.exists() for path in before):  # none of them was at fault
            raise
    return _parsed(about)


def _parsed(about: Info) -> Dataset:
    """The publisher's files, parsed, checked and kept; downloads that turn out wrong are not left behind."""
    paths = [published(about, file) or download(about, file) for file in about.files]
    try:
        matrix = about.parse(*paths)
        dataset = checked(about, matrix, paths[0])
    except (MissingDependencyError, MemoryError):  # no fault of theirs
        raise
    except Exception:  # not DataError alone: what a parser did not foresee must not come again for ever
        with suppress(OSError):
            for path in (fetched(about, file) for file in about.files):
                if path is not None and path in paths:
                    path.unlink()
        raise
    with suppress(OSError, MissingDependencyError):  # a cache that cannot be written costs time, no more
        keep(matrix, kept_matrix(about))
    return dataset
