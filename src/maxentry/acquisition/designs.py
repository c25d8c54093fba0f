"""Designs as criteria: they need no belief, keep the mask, limits and plates, and have no gain to tell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.question import Question
from maxentry.acquisition.room import Room
from maxentry.design.available import available
from maxentry.entries import Entries

Layout = Callable[
    [int, NDArray[np.bool_] | None, Entries], Entries
]  # n entries, the mask, those chosen before


def without_gain(question: Question, entries: Entries) -> Chosen:
    """What a design has chosen."""
    rows, cols = entries
    return Chosen(rows, cols, np.full(len(rows), np.nan), question.costs.at(rows, cols))


def within_limits(question: Question, n: int, layout: Layout) -> Entries:
    """n entries laid out within the limits, or as many as there are.

    Entries beyond a limit are laid out again elsewhere, with the full rows and columns masked.
    """
    room, chosen, mask = Room(question.shape, question.limits), Entries.none(), question.mask
    while True:
        n_free = available(question.shape, mask, question.taken.joined(chosen)).count
        more = layout(min(n - len(chosen.rows), n_free), mask, chosen)
        kept = np.array([room.takes(i, j) for i, j in zip(*more, strict=True)], dtype=bool)
        chosen = chosen.joined(Entries(more.rows[kept], more.cols[kept]))
        if kept.all():
            return chosen
        everything = np.ones(question.shape, dtype=bool) if question.mask is None else np.array(question.mask)
        mask = everything & (room.row > 0)[:, None] & (room.col > 0)
