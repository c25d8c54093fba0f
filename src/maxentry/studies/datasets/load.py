"""From a name to a checked matrix: a copy in MAXENTRY_DATA."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from maxentry.errors import DataError, ParameterError
from maxentry.studies.datasets.catalogue import CATALOGUE
from maxentry.studies.datasets.copies import read_copy
from maxentry.studies.datasets.dataset import Dataset, Info, Matrix, digest_of


def catalogue() -> tuple[Info, ...]:
    """All data sets that `load` knows, without reading any."""
    return CATALOGUE


def info(name: str) -> Info:
    """What is known of one data set without reading it."""
    found = next((i for i in CATALOGUE if i.name == name), None)
    if found is None:
        names = ", ".join(i.name for i in CATALOGUE)
        raise ParameterError(f"expected the name of a data set ({names}), but {name!r} came.")
    return found


def load(name: str) -> Dataset:
    """The data set `name`; its values are checked against the digest in the catalogue."""
    return _load(name, os.environ.get("MAXENTRY_DATA", ""))


@cache
def _load(name: str, folder: str) -> Dataset:
    about = info(name)
    path = Path(folder).expanduser() / about.copy
    if not folder or not path.is_file():
        raise DataError(f"expected {about.copy} in the folder named by MAXENTRY_DATA, but it is not there.")
    return checked(about, read_copy(name, path), str(path))


def checked(about: Info, matrix: Matrix, source: str) -> Dataset:
    """The data set, if the values are those of the catalogue."""
    digest = digest_of(matrix.M)
    if digest != about.digest:
        known = int(np.count_nonzero(~np.isnan(matrix.M)))
        raise DataError(
            f"expected {about.name} ({about.shape[0]} x {about.shape[1]}, {about.known} known entries, digest "
            f"{about.digest[:12]}), but {source} holds other values ({matrix.M.shape[0]} x {matrix.M.shape[1]}, "
            f"{known} known, digest {digest[:12]})."
        )
    matrix.M.flags.writeable = False
    return Dataset(about.name, about.title, *matrix, about.unit, about.licence, about.citation, about.digest)
