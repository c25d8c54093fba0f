"""A set of entries as one list of columns for each row: those that may be measured, or those that may not."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Lists(NamedTuple):
    """Row i lists cols[start[i]:start[i + 1]]: the only ones allowed if `listed`, else the ones forbidden."""

    start: Indices
    cols: Indices
    listed: bool


@njit(cache=True, nogil=True)
def stamp(lists: Lists, i: int, mark: Indices, t: int) -> None:
    """Set mark[j] = t for the columns that row i lists."""
    for p in range(lists.start[i], lists.start[i + 1]):
        mark[lists.cols[p]] = t
