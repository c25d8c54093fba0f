"""The greedy determinant: the batch that is most informative jointly, one entry after the other.

The gain of an entry is 1/2 log(1 + v/eta2), v its variance given all that is measured, pending or chosen before it;
the gains of a batch add up to 1/2 log det(I + Cov/eta2) (Lemma 1). Gains only fall as entries join, so the search is
lazy and exact: tiles of the matrix are opened in decreasing order of their bounds (`tiles`), open candidates are looked
at again only where what is known of them is above the best (`candidates`), and an entry is chosen once nothing else can
be above it. Of scores equal to 1e-10 the lowest row wins, then the lowest column; only where more than MOST_OPEN
candidates are open, and some were dropped, may another of the equals win.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.candidates import Candidates, Known
from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.field import Field, direction, of_pending
from maxentry.acquisition.plates import Information, greedy_plates
from maxentry.acquisition.question import Question
from maxentry.acquisition.room import Room
from maxentry.acquisition.tiles import ROUNDING, Tile, tiles
from maxentry.entries import Entries
from maxentry.kernels.acquisition import EQUAL

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

# candidates of a new tile that are brought up to date at once, to know which tiles may stay closed
LOOKED_AT = 64
# candidates of an opened tile are taken in from this share of the best score on; where entries are screened one by one
# a tile that has to be opened again costs little, so that the share may be larger and fewer be evaluated
KEEP, KEEP_SCREENED = 0.75, 0.92
EDGE = 1e-8  # blocks and single entries are summed in other orders: what lies so near below an edge may be above it
SCATTERED = 0.3  # from this share of a tile on, to evaluate all of it costs no more


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
    rows, cols = Entries.from_keys(np.array([key for key, _ in picks], dtype=np.int64), question.shape[1])
    gain = np.array([gain for _, gain in picks])
    return Chosen(rows, cols, gain, question.costs.at(rows, cols), search.evaluated)


class Search:
    """One batch in the making: its directions so far, the open candidates, and the tiles not yet opened."""

    def __init__(self, field: Field, question: Question, n: int) -> None:
        self.field, self.question = field, question
        measured, pending = field.measured, of_pending(field, question.pending)
        self.known = len(measured)  # directions that the field's variances reckon with
        self.k = self.known + len(pending)
        self.W = np.concatenate([measured, pending, np.zeros((n, field.p))])
        self.room = Room(question.shape, question.limits)
        self.keys: list[int] = []
        # entries evaluated, by the number of their tile: later ones include earlier
        self.counted: dict[int, int] = {}
        self.reopened = False  # whether tiles are opened a second time
        self._close()

    def _close(self) -> None:
        """No candidate is open, and no tile."""
        self.tiles = tiles(self.field.bounds(), self.field.eta2, self.question.costs)
        heapq.heapify(self.tiles)
        self.open = Candidates(self.field)

    @property
    def evaluated(self) -> int:
        """How many entries were evaluated, each counted once."""
        return sum(self.counted.values())

    def next(self) -> tuple[int, float] | None:
        """Choose one entry: its key and gain; None where no more are available."""
        while True:
            at, score = self.open.best(self.W[: self.k])
            if self._may_be_above(score):
                self._open_above(score)
            elif self.open.dropped > score:
                self.reopened = True
                self._close()
            elif at < 0:
                return None
            else:
                return self._join(at)

    def _may_be_above(self, score: float) -> bool:
        return bool(self.tiles) and self.tiles[0].bound >= score * (1 - EQUAL)

    def _open_above(self, score: float) -> None:
        """Open tiles until the bound of the next is below the best score known."""
        while self._may_be_above(score):
            score = self._open(heapq.heappop(self.tiles), score)

    def _open(self, tile: Tile, score: float) -> float:
        """Take in the promising of a tile's available entries, and leave the others in it; the best score known."""
        free = self.question.available(tile.rows, tile.cols) & self.room.at(tile.rows, tile.cols)
        bound = self._bound(tile, KEEP_SCREENED * score)
        keep = KEEP if bound is None else KEEP_SCREENED
        rows, cols, cost, v, skipped = self._evaluated(tile, free, bound, keep * score)
        first = self._score(v, cost)
        keys = Entries(rows, cols).keys(self.field.shape[1])
        new = self._left(tile, first, keys)
        if self.keys and not self.question.again:
            new &= ~np.isin(keys, self.keys)
        known = Known(keys[new], np.full_like(keys[new], self.known), cost[new], v[new], first[new])
        # opened again, all that may be taken in: else what was dropped would come back as often as it is stale
        look = int((first[new] >= keep * score).sum()) if self.reopened else LOOKED_AT
        best, least = self.open.add(known, self.W[: self.k], look, score, keep)
        left = max(skipped, float(first[new & (first < least)].max(initial=-np.inf)))
        if left > -np.inf:
            heapq.heappush(self.tiles, tile.rest(left, least))
        return best

    def _left(self, tile: Tile, first: Array, keys: Indices) -> Flags:
        """Which entries, by their first scores, are still in the tile; what is at its edge is looked for outside."""
        left = first < tile.below
        edge = np.flatnonzero(np.abs(first - tile.below) <= EDGE * first) if tile.below < np.inf else ()
        if len(edge):
            left[edge] = ~np.isin(keys[edge], self.open.known())
        return left

    def _bound(self, tile: Tile, least: float) -> Array | None:
        """Bounds of the scores of a tile's entries; None where there are none, or they would spare too few of them."""
        upper = self.field.upper(tile.rows, tile.cols)
        if upper is None:
            return None
        bound = self._score(upper * (1 + ROUNDING), self.question.costs.at(tile.rows[:, None], tile.cols))
        return bound if np.mean(bound >= least) < SCATTERED else None

    def _evaluated(
        self, tile: Tile, free: Flags, bound: Array | None, least: float
    ) -> tuple[Indices, Indices, Array, Array, float]:
        """Rows, columns, costs and variances of the free entries of a tile; without those whose bounds are less than
        `least`, of which the greatest comes last."""
        looked = free if bound is None else free & (bound >= least)
        i, j = np.nonzero(looked)
        rows, cols = tile.rows[i], tile.cols[j]
        if bound is None:
            v, skipped = self.field.variances(tile.rows, tile.cols)[i, j], -np.inf
        else:
            v = self.field.variances_at(rows, cols)
            skipped = float(bound[free & ~looked].max(initial=-np.inf))
        self.counted[tile.number] = max(len(rows), self.counted.get(tile.number, 0))
        return rows, cols, self.question.costs.at(rows, cols), v, skipped

    def _score(self, v: Array, cost: Array) -> Array:
        score: Array = 0.5 * np.log1p(v / self.field.eta2) / cost
        return score

    def _join(self, at: int) -> tuple[int, float]:
        """Measure candidate `at`."""
        key, f = self.open.take(at, self.question.again)
        self.W[self.k], v = direction(f, self.W[: self.k], self.field.eta2)
        self.k += 1
        self.keys.append(key)
        i, j = divmod(key, self.field.shape[1])
        self.room.takes(i, j)
        if self.room.row[i] == 0:
            self.open.close_row(i)
        if self.room.col[j] == 0:
            self.open.close_col(j)
        return key, float(0.5 * np.log1p(v / self.field.eta2))
