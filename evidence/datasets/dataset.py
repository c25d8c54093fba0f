"""A data set: the matrix that is read, and what is known about it before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from maxentry._types import Array


class Matrix(NamedTuple):
    """Values (NaN: unknown) with a label for each row and column."""

    M: Array
    rows: tuple[str, ...]
    cols: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A real matrix with its labels, its unit and its source."""

    name: str
    title: str
    M: Array  # NaN: unknown
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    unit: str
    licence: str
    citation: str
    digest: str  # of M's values: the same wherever they were read from


class File(NamedTuple):
    """A publisher's file: where it is (addresses in the order to try) and how to check it."""

    name: str
    urls: tuple[str, ...]
    size: int  # bytes, about
    checksum: str | None = None  # 'md5:…' or 'sha256:…', of what is downloaded
    also: tuple[str, ...] = ()  # other names under which a user may have it


@dataclass(frozen=True)
class Info:
    """What is known about a data set without reading it."""

    name: str
    title: str
    shape: tuple[int, int]
    known: int  # entries
    unit: str
    licence: str
    citation: str
    page: str  # the publisher's, for people
    files: tuple[File, ...]
    parse: Callable[..., Matrix] = field(repr=False)  # the paths of these files -> Matrix
    copy: str  # where MAXENTRY_DATA may have a copy that is a matrix already
    read_copy: Callable[[Path], Matrix] = field(repr=False)
    digest: str  # of the values, see `digest_values`

    @property
    def url(self) -> str:
        """The publisher's (first) file."""
        return self.files[0].urls[0]

    @property
    def size(self) -> int:
        """Bytes to download, about."""
        return sum(file.size for file in self.files)


def digest_values(M: Array) -> str:
    """Return the SHA-256 of shape and values, in single precision (as copies may be stored), one NaN for all."""
    with np.errstate(over="ignore"):  # values too large for it become infinite, and are none of our data
        values = np.ascontiguousarray(M, dtype="<f4") + np.float32(0)  # -0 becomes 0
    values[np.isnan(values)] = np.nan
    return hashlib.sha256(f"{M.shape[0]} x {M.shape[1]}\n".encode() + values.tobytes()).hexdigest()


def shorten_decimals(M: Array) -> Array:
    """Return the shortest decimals that single precision distinguishes, so that copies and publishers' text agree."""
    at = ~np.isnan(M)
    values, which = np.unique(M[at].astype(np.float32), return_inverse=True)
    shortened = np.full(M.shape, np.nan)
    shortened[at] = values.astype(str).astype(float)[which]
    return shortened
