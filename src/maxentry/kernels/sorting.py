"""Sort many measurements by row or column: a counting sort that is shared by threads.

Each thread has a part of the keys. It counts how often each key occurs there; then its measurements of a key stand
behind those of the parts before. So the order is stable, and the same whatever the number of threads. Arrays are read
from front to back and written at as many places as there are keys, which caches hold.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from maxentry._io import max_threads


class CountingSort:
    """The stable order of keys from 0 to n_keys - 1."""

    def __init__(self, keys: NDArray[np.int32], n_keys: int) -> None:
        self.keys = np.ascontiguousarray(keys, dtype=np.int32)
        n = self.keys.size
        self.parts = max(1, min(max_threads(), n // (4 * n_keys)))  # all counts are smaller than the keys
        self.edges = np.linspace(0, n, self.parts + 1).astype(np.int64)
        counts = np.zeros((self.parts, n_keys), dtype=np.int64)
        self._share(lambda p, part: count_keys(self.keys[part], counts[p]))
        totals = counts.sum(axis=0)
        self.starts = np.cumsum(counts, axis=0) - counts + (np.cumsum(totals) - totals)

    def arrange(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array in the order of the keys."""
        found = np.empty(self.keys.size, dtype=array.dtype)
        starts = self.starts.copy()
        self._share(lambda p, part: move(self.keys[part], array[part], starts[p], found))
        return found

    @property
    def order(self) -> NDArray[np.int32]:
        """The positions of the sorted keys."""
        return self.arrange(np.arange(self.keys.size, dtype=np.int32))

    def _share(self, work: Callable[[int, slice], None]) -> None:
        parts = [slice(*self.edges[p : p + 2]) for p in range(self.parts)]
        with ThreadPoolExecutor(self.parts) as pool:
            list(pool.map(work, range(self.parts), parts))


@njit(cache=True, nogil=True)
def count_keys(keys: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add to the counts of the keys."""
    for n in range(keys.size):
        counts[keys[n]] += 1


@njit(cache=True, nogil=True)
def move(keys: NDArray[np.int32], array: NDArray[Any], start: NDArray[np.int64], found: NDArray[Any]) -> None:
    """Write each number to where the next of its key stands."""
    for n in range(keys.size):
        at = start[keys[n]]
        found[at] = array[n]
        start[keys[n]] = at + 1
