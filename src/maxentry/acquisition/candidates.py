"""Open candidates of a greedy search: what is known of each, and the features of those that may be the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.field import Field
from maxentry.entries import Entries
from maxentry.kernels import acquisition as kernel
from maxentry.kernels.acquisition import CLOSED

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

HELD_BYTES = 200_000_000  # features of all candidates are held if they take no more
FEW = 16_384  # else of so many, the most promising
MOST_OPEN = 2_000_000  # candidates; 40 bytes each
CHUNK = 4096  # entries whose features are formed at once


class Known(NamedTuple):
    """What is known of some candidates."""

    keys: Indices
    version: Indices
    cost: Array
    v: Array
    score: Array

    def only(self, which: NDArray[np.bool_]) -> Known:
        """Some of them."""
        keys, version, cost, v, score = self
        return Known(keys[which], version[which], cost[which], v[which], score[which])


class Candidates:
    """Candidates by key, with variance v and score 1/2 log(1 + v/eta2)/cost after the first `version` directions.

    Scores only fall as directions are added, so those of earlier versions are bounds. The first `held` candidates have
    their features in F.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.keys, self.version = np.empty(0, np.int64), np.empty(0, np.int64)
        self.cost, self.v, self.score = np.empty(0), np.empty(0), np.empty(0)
        self._new: list[Known] = []
        self._n_new = 0  # candidates in these
        self.F = np.empty((0, field.p))
        self.dropped = -np.inf  # no candidate that was dropped scores above

    def add(self, new: Known, W: Array, look: int, floor: float, keep: float) -> tuple[float, float]:
        """Take in the promising of new candidates: those with scores from the share `keep` of the best on.

        All know of as many directions. The `look` of greatest score are brought up to date with W first; the best is
        that of these, or the floor.
        Returns the best, and from where on candidates were taken in.
        """
        most = (
            np.argpartition(-new.score, look - 1)[:look] if look < len(new.keys) else np.arange(len(new.keys))
        )
        at_first, later = new.score.copy(), W[new.version.max(initial=0) :]
        for start in range(0, len(most) if len(later) else 0, CHUNK):
            some = most[start : start + CHUNK]
            new.v[some] = remaining(self._features(new.keys[some]), new.v[some], later)
        new.version[most] = len(W)
        new.score[most] = self._score(new.v[most], new.cost[most])
        best = max(floor, float(new.score[most].max(initial=-np.inf)))
        kept = (at_first >= keep * best) & (new.score > self.dropped)
        self._new.append(new.only(kept))
        self._n_new += len(self._new[-1].keys)
        if len(self.keys) + self._n_new > MOST_OPEN:
            self._take_in()
            self._order()
            self.dropped = max(self.dropped, float(self.score[MOST_OPEN // 2]))
            self._keep(slice(0, MOST_OPEN // 2))
        return best, keep * best

    def known(self) -> Indices:
        """The keys of all that were taken in and not dropped since."""
        self._take_in()
        return self.keys

    def best(self, W: Array) -> tuple[int, float]:
        """The candidate of greatest score, the least key of equals, and its score; (-1, -inf) where none is open.

        Where not all are held, the most promising are held afresh once; what is stale and in the way after that is
        brought up to date without being held, some at a time, until nothing is: however many are equal, this ends.
        """
        self._take_in()
        if len(self.keys) and (self.version == len(W)).all():  # no features are needed to know the best
            at, _ = self._best_of_all(len(W))
            return at, float(self.score[at]) if at >= 0 else -np.inf
        ordered = False
        while True:
            self._hold(W)
            held = len(self.F)
            at = kernel.best_candidate(
                self.F, W, len(W), self.field.eta2,
                self.keys[:held], self.cost[:held], self.v[:held], self.version[:held], self.score[:held],
            )  # fmt: skip
            if held < len(self.keys):
                at, in_the_way = self._best_of_all(len(W))
                if len(in_the_way):
                    if ordered:
                        self._refresh(in_the_way, self._features(self.keys[in_the_way]), W)
                    else:
                        self._order()
                    ordered = True
                    continue
            return int(at), float(self.score[at]) if at >= 0 else -np.inf

    def _best_of_all(self, k: int) -> tuple[int, Indices]:
        """The best of those that know of k directions, and those that do not and might be better, at most CHUNK."""
        fresh = self.version == k
        up_to_date = np.where(fresh, self.score, CLOSED)
        top = float(up_to_date.max())
        at, in_the_way = -1, ~fresh & (self.score > top)
        if top != CLOSED:
            enough = top * (1 - kernel.EQUAL)
            near = np.flatnonzero(up_to_date >= enough)
            at = int(near[np.argmin(self.keys[near])])
            in_the_way |= ~fresh & (self.score >= enough) & (self.keys < self.keys[at])
        which = np.flatnonzero(in_the_way)
        if len(which) > CHUNK:
            which = which[np.argpartition(-self.score[which], CHUNK)[:CHUNK]]
        return at, which

    def _refresh(self, which: Indices, F: Array, W: Array) -> None:
        """Let some candidates, with features F, know of all directions."""
        self.v[which] = remaining(F, np.einsum("ns,ns->n", F, F), W)
        self.version[which] = len(W)
        is_open = which[self.score[which] != CLOSED]
        self.score[is_open] = self._score(self.v[is_open], self.cost[is_open])

    def take(self, at: int, again: bool) -> tuple[int, Array]:
        """The key and features of a candidate, which stays open if it may be chosen again."""
        if not again:
            self.score[at] = CLOSED
        f = self.F[at] if at < len(self.F) else self._features(self.keys[at : at + 1])[0]
        return int(self.keys[at]), f

    def close_row(self, i: int) -> None:
        """Candidates of row i may not be chosen any more."""
        self.score[self.keys // self.field.shape[1] == i] = CLOSED

    def close_col(self, j: int) -> None:
        """Candidates of column j may not be chosen any more."""
        self.score[self.keys % self.field.shape[1] == j] = CLOSED

    def _hold(self, W: Array) -> None:
        """Form the features of as many of the first candidates as may be held, and bring those up to date."""
        fits = len(self.keys) * self.field.p * 8 <= HELD_BYTES
        start, stop = len(self.F), len(self.keys) if fits else min(len(self.keys), FEW)
        if start >= stop:
            return
        if not fits and start == 0:
            self._order()
        F = np.empty((stop, self.field.p))
        F[:start] = self.F
        for n in range(start, stop, CHUNK):
            some = slice(n, min(n + CHUNK, stop))
            F[some] = self._features(self.keys[some])
            stale = np.flatnonzero(self.version[some] < len(W)) + n
            if len(stale):
                self._refresh(stale, F[stale], W)
        self.F = F

    def _score(self, v: Array, cost: Array) -> Array:
        score: Array = 0.5 * np.log1p(v / self.field.eta2) / cost
        return score

    def _features(self, keys: Indices) -> Array:
        return self.field.features(*Entries.from_keys(keys, self.field.shape[1]))

    def _take_in(self) -> None:
        """Let new candidates stand behind the others."""
        if self._new:
            old = Known(self.keys, self.version, self.cost, self.v, self.score)
            joined = (np.concatenate(parts) for parts in zip(old, *self._new, strict=True))
            self.keys, self.version, self.cost, self.v, self.score = joined
            self._new, self._n_new = [], 0

    def _order(self) -> None:
        """The greatest scores first; nothing is held then."""
        self._keep(np.argsort(-self.score, kind="stable"))

    def _keep(self, which: Indices | slice) -> None:
        self.keys, self.version = self.keys[which], self.version[which]
        self.cost, self.v, self.score = self.cost[which], self.v[which], self.score[which]
        self.F = self.F[:0]


def remaining(F: Array, v: Array, W: Array) -> Array:
    """v less what the directions W explain of the features F."""
    return np.maximum(v - ((F @ W.T) ** 2).sum(1), 0.0) if len(W) else v
