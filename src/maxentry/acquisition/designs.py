"""Designs as criteria: they need no belief, keep the mask, limits and plates, and have no gain to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.question import Question
from maxentry.acquisition.room import Room
from maxentry.design.available import available
from maxentry.entries import Entries

Indices = NDArray[np.int64]


class Part(NamedTuple):
    """The rows and columns that have room, as a matrix by itself: positions in mask and taken are its own."""

    rows: Indices
    cols: Indices
    mask: NDArray[np.bool_] | None
    taken: Entries

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns have room."""
        return len(self.rows), len(self.cols)

    @classmethod
    def of(cls, question: Question, room: Room, taken: Entries) -> Part:
        """What of a question has room. Without a mask nothing of the size of the matrix is formed."""
        rows, cols = np.flatnonzero(room.row > 0), np.flatnonzero(room.col > 0)
        mask = question.mask
        if mask is not None and (len(rows), len(cols)) != question.shape:
            mask = np.asarray(mask)[np.ix_(rows, cols)]
        here = (room.row[taken.rows] > 0) & (room.col[taken.cols] > 0)
        places = (np.searchsorted(index, of[here]) for index, of in zip((rows, cols), taken, strict=True))
        return cls(rows, cols, mask, Entries(*places))


Layout = Callable[[int, Part, Entries], Entries]  # n entries by their place in the part; those chosen before


def without_gain(question: Question, entries: Entries) -> Chosen:
    """What a design has chosen."""
    rows, cols = entries
    return Chosen(rows, cols, np.full(len(rows), np.nan), question.costs.at(rows, cols))


def within_limits(question: Question, n: int, layout: Layout) -> Entries:
    """n entries laid out within the limits, or as many until no other has room.

    Entries beyond a limit are laid out again elsewhere, on the rows and columns that still have room.
    """
    room, chosen = Room(question.shape, question.limits), Entries.none()
    while True:
        part = Part.of(question, room, question.taken.joined(chosen))
        if min(part.shape) == 0:
            return chosen
        n_free = available(part.shape, part.mask, part.taken).count
        rows, cols = layout(min(n - len(chosen.rows), n_free), part, chosen)
        rows, cols = part.rows[rows], part.cols[cols]
        kept = np.array([room.takes(i, j) for i, j in zip(rows, cols, strict=True)], dtype=bool)
        chosen = chosen.joined(Entries(rows[kept], cols[kept]))
        if kept.all():
            return chosen
