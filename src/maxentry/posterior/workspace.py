"""The arrays that a chain's sweeps work in: made once, filled from a state before and read into one afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.kernels.conjugate import Room, Side
from maxentry.kernels.half_sweep import SPARE
from maxentry.kernels.lanes import LANES
from maxentry.observations import Half

if TYPE_CHECKING:
    from maxentry.posterior.conjugate import Data, State

Array = NDArray[np.float64]


class Workspace(NamedTuple):
    """Both sides of one chain, and what they share."""

    rank: int
    effects: bool
    left: Side
    right: Side
    room: Room

    @property
    def aligned(self) -> bool:
        """Whether there is room for effects in the spaces of X."""
        return self.effects and 0 < 2 * self.rank < min(self.left.free.size, self.right.free.size)

    @classmethod
    def of(cls, data: Data, rank: int) -> Workspace:
        """Room for chains of that rank."""
        K = rank + int(data.effects)
        longest = max(data.shape)
        room = Room(
            np.zeros((K + SPARE, K)), np.empty((rank, rank)), np.empty((rank, rank)), np.empty(rank), np.zeros(rank),
            np.ones(longest), np.zeros(3),
        )  # fmt: skip
        left = _side(data.by_row, data.shape[0], rank, K, data)
        right = _side(data.by_col, data.shape[1], rank, K, data)
        return cls(rank, data.effects, left, right, room)

    def fill(self, state: State, data: Data) -> None:
        """Take over a state."""
        R = self.rank
        for side, array in ((self.left, state.left), (self.right, state.right)):
            side.factors[:, :R] = array[:, :R]
            if self.effects:
                side.free[:], side.aligned[:] = array[:, R], array[:, R + 1]
        if state.weights.size:
            self.left.weights[:] = state.weights
            self.right.weights[:] = state.weights[data.by_col.source]

    def matrices(self) -> tuple[Array, Array]:
        """The factors and effects of both sides as a state has them, copied."""
        R = self.rank
        found = []
        for side in (self.left, self.right):
            array = np.empty((side.free.size, R + 2 * self.effects))
            array[:, :R] = side.factors[:, :R]
            if self.effects:
                array[:, R], array[:, R + 1] = side.free, side.aligned
            found.append(array)
        return found[0], found[1]


def _side(half: Half, m: int, rank: int, K: int, data: Data) -> Side:
    # no weights are of another type than weights, so that code is compiled without them
    weights = np.ones(half.values.size) if data.noise == "student" else np.empty(0, bool)
    free, aligned, effect = np.zeros((3, m))
    factors, F = _padded(m, rank), _padded(m, rank)
    return Side(
        half.indptr, half.index, half.values, weights, factors, free, aligned, effect, F,
        np.empty((m, K)), np.empty((m, 4)),
    )  # fmt: skip


def _padded(m: int, rank: int) -> Array:
    """Zeros, m x rank rounded up to whole vectors, each of which lies in one line of the cache."""
    width = -(-rank // LANES) * LANES
    flat = np.zeros(m * width + LANES)
    skip = -(flat.ctypes.data // flat.itemsize) % LANES
    return flat[skip : skip + m * width].reshape(m, width)
