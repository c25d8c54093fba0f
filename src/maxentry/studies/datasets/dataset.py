"""What a data set is: the matrix that is read, and what is known of it before it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Matrix(NamedTuple):
    """Values (NaN: unknown) with a label for each row and column."""

    M: Array
    rows: tuple[str, ...]
    cols: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A real matrix: M (NaN: unknown), its labels, what a value is, and whose it is."""

    name: str
    title: str
    M: Array
    rows: tuple[str, ...]
    cols: tuple[str, ...]
    unit: str
    licence: str
    citation: str
    digest: str  # of M's values: the same wherever they were read from


class File(NamedTuple):
    """A publisher's file; `checksum` is 'md5:…' or 'sha256:…', None where none is known."""

    name: str
    url: str
    checksum: str | None
    size: int  # bytes; about, where no checksum is known


@dataclass(frozen=True)
class Info:
    """What is known of a data set without reading it."""

    name: str
    title: str
    shape: tuple[int, int]
    known: int  # entries
    unit: str
    licence: str
    citation: str
    page: str  # the publisher's, for people
    files: tuple[File, ...]
    copy: str  # where MAXENTRY_DATA may hold a copy that is already a matrix
    digest: str

    @property
    def url(self) -> str:
        """The publisher's (first) file."""
        return self.files[0].url

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(file.size for file in self.files)


def digest_of(M: Array) -> str:
    """SHA-256 of shape and values, in single precision (as copies may be kept) and with one NaN for all."""
    values = np.ascontiguousarray(M, dtype="<f4") + np.float32(0)  # -0 becomes 0
    values[np.isnan(values)] = np.nan
    return hashlib.sha256(f"{M.shape[0]} x {M.shape[1]}\n".encode() + values.tobytes()).hexdigest()
