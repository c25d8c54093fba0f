"""The greedy determinant: the batch that is most informative jointly, one entry after the other.

The gain of an entry is 1/2 log(1 + v/eta2), v its variance given all that is measured, pending or chosen before it;
the gains of a batch add up to 1/2 log det(I + Cov/eta2) (Lemma 1). Gains only fall as entries join, so the search is
lazy and exact: tiles are opened in decreasing order of their bounds (`tiles`), the open candidates are looked at again
only where an earlier gain is above the best (`kernels.acquisition`), and an entry is chosen once nothing else can be
above it. Of equal scores (to 1e-10) among the open candidates the lowest row wins, then the lowest column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.field import Field, direction, with_pending
from maxentry.acquisition.plates import Information, greedy_plates
from maxentry.acquisition.question import Question
from maxentry.acquisition.room import Room
from maxentry.acquisition.tiles import Tile, tiles
from maxentry.entries import Entries
from maxentry.kernels import acquisition as kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

HELD_BYTES = 200_000_000  # of candidates' features, held
OPEN_CANDIDATES = 2_000_000  # open at most; 32 bytes each


def most_informative(field: Field, question: Question, n: int) -> Chosen:
    """The greedy determinant of n entries, or of n plates where the limits say so."""
    if question.limits.plates is not None:
        return greedy_plates(field, question, n, Information())
    return greedy(field, question, n)


def greedy(field: Field, question: Question, n: int) -> Chosen:
    """The greedy batch of n entries, with pending ones measured first."""
    search = Search(field, question, n)
    picks: list[tuple[int, float]] = []
    while len(picks) < n and (pick := search.next()) is not None:
        picks.append(pick)
    m2 = question.shape[1]
    rows, cols = Entries.from_keys(np.array([key for key, _ in picks], dtype=np.int64), m2)
    gain = np.array([gain for _, gain in picks])
    return Chosen(rows, cols, gain, question.costs.at(rows, cols), search.evaluated)


class Search:
    """One batch in the making: directions W so far, open candidates, and the tiles not yet opened."""

    def __init__(self, field: Field, question: Question, n: int) -> None:
        self.field, self.question = field, question
        pending = with_pending(field, question.pending)
        self.W = np.zeros((len(pending) + n, field.p))
        self.W[: len(pending)] = pending
        self.k = len(pending)
        self.room = Room(question.shape, question.limits)
        self.chosen: set[int] = set()
        self.evaluated = 0
        self._start()

    def _start(self) -> None:
        """Close everything: all tiles are still to be opened."""
        self.tiles = tiles(*self.field.bounds(), self.field.eta2, self.question.costs)
        self.open = Candidates.none(self.field.p)

    def next(self) -> tuple[int, float] | None:
        """Choose one entry: its key and gain; None where no more are available."""
        while True:
            at = self.open.best(self.W, self.k, self.field.eta2)
            score = self.open.score[at] if at >= 0 else -np.inf
            unseen = self.tiles[0].bound if self.tiles else -np.inf
            if unseen >= score * (1 - kernel.EQUAL) and self.tiles:
                self._open(self.tiles.pop(0))
            elif at < 0:
                return None
            else:
                return self._join(at)

    def _open(self, tile: Tile) -> None:
        free = self.question.available(tile.rows, tile.cols) & self.room.at(tile.rows, tile.cols)
        v = self.field.variances(tile.rows, tile.cols)
        self.evaluated += int(np.count_nonzero(free))
        i, j = np.nonzero(free)
        rows, cols = tile.rows[i], tile.cols[j]
        F = self.field.features(rows, cols)
        keys = Entries(rows, cols).keys(self.field.shape[1])
        cost = self.question.costs.at(rows, cols)
        score = 0.5 * np.log1p(v[i, j] / self.field.eta2) / cost
        self.open = self.open.joined(Candidates(keys, cost, v[i, j], np.zeros_like(keys), score, F))

    def _join(self, at: int) -> tuple[int, float]:
        key = int(self.open.keys[at])
        w, v = direction(self.open.F[at], self.W[: self.k], self.field.eta2)
        self.W[self.k] = w
        self.k += 1
        i, j = divmod(key, self.field.shape[1])
        self.room.takes(i, j)
        gone = np.zeros(len(self.open.keys), dtype=bool)
        if self.room.row[i] == 0:
            gone |= self.open.keys // self.field.shape[1] == i
        if self.room.col[j] == 0:
            gone |= self.open.keys % self.field.shape[1] == j
        if not self.question.again:
            gone[at] = True
        self.open.score[gone] = kernel.CLOSED
        return key, float(0.5 * np.log1p(v / self.field.eta2))


class Candidates:
    """Open candidates: keys, costs, and what is known of them (variance, and score, after `version` directions)."""

    def __init__(
        self, keys: Indices, cost: Array, v: Array, version: Indices, score: Array, F: Array
    ) -> None:
        self.keys, self.cost, self.v, self.version, self.score, self.F = keys, cost, v, version, score, F

    @classmethod
    def none(cls, p: int) -> Candidates:
        """No candidates."""
        nothing, keys = np.empty(0), np.empty(0, np.int64)
        return cls(keys, nothing, nothing.copy(), keys.copy(), nothing.copy(), np.empty((0, p)))

    def joined(self, other: Candidates) -> Candidates:
        """These and the others."""
        pairs = (
            (self.keys, other.keys),
            (self.cost, other.cost),
            (self.v, other.v),
            (self.version, other.version),
            (self.score, other.score),
            (self.F, other.F),
        )
        return Candidates(*(np.concatenate(pair) for pair in pairs))

    def best(self, W: Array, k: int, eta2: float) -> int:
        """Where the best is, or -1."""
        return int(
            kernel.best_candidate(self.F, W, k, eta2, self.keys, self.cost, self.v, self.version, self.score)
        )
