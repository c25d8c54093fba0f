"""Draws of a chain with every state on the way to them shown, though only some are kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxentry.posterior.conjugate import Kept, State

Sweeps = Callable[[State, int, Kept, int], State]  # go on from a state: sweeps, where draws go, how far apart
See = Callable[[Kept], None]

SHOWN_NUMBERS = 4_000_000  # of the states shown together: 32 MB a chain


def run_observed(sweeps: Sweeps, state: State, kept: Kept, thin: int, see: See) -> State:
    """Fill `kept` with every `thin`-th state and show all of them to `see`; the draws are those without it."""
    room = _state_store(kept, thin)
    most, n = len(room.row), 0
    for d in range(len(kept.row)):
        for start in range(0, thin, most):
            n = min(most, thin - start)
            state = sweeps(state, n, room.part(0, n), 1)
            see(room.part(0, n))
        for array, states in zip(kept, room, strict=True):
            array[d] = states[n - 1]
    return state


def _state_store(kept: Kept, most: int) -> Kept:
    """Room for some states, at most so many, of the shapes that `kept` has."""
    numbers = sum(array[:1].size for array in kept)
    n = max(1, min(most, SHOWN_NUMBERS // max(numbers, 1)))
    left, right, row, col, scalars = (np.zeros((n, *array.shape[1:]), array.dtype) for array in kept)
    return Kept(left, right, row, col, scalars)
