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
        self.F = np.empty((0, field.p))
        self.dropped = -np.inf  # no candidate that was dropped scores above

    def add(self, keys: Indices, cost: Array, v: Array, W: Array, look: int) -> float:
        """Take in candidates with variances v before any direction; the best score of the `look` most promising."""
        score = 0.5 * np.log1p(v / self.field.eta2) / cost
        version = np.zeros_like(keys)
        first = np.argpartition(-score, look - 1)[:look] if look < len(keys) else np.arange(len(keys))
        for start in range(0, len(first), CHUNK):
            some = first[start : start + CHUNK]
            v[some] = remaining(self._features(keys[some]), v[some], W)
        version[first] = len(W)
        score[first] = 0.5 * np.log1p(v[first] / self.field.eta2) / cost[first]
        kept = score > self.dropped
        self._new.append(Known(keys[kept], version[kept], cost[kept], v[kept], score[kept]))
        if len(self.keys) + sum(len(new.keys) for new in self._new) > MOST_OPEN:
            self._take_in()
            self._order()
            self.dropped = max(self.dropped, float(self.score[MOST_OPEN // 2]))
            self._keep(slice(0, MOST_OPEN // 2))
        return float(score[first].max(initial=-np.inf))

    def best(self, W: Array) -> tuple[int, float]:
        """The candidate of greatest score, and its score; (-1, -inf) where none is open."""
        self._take_in()
        while True:
            self._hold(W)
            held = len(self.F)
            at = kernel.best_candidate(
                self.F, W, len(W), self.field.eta2,
                self.keys[:held], self.cost[:held], self.v[:held], self.version[:held], self.score[:held],
            )  # fmt: skip
            score = float(self.score[at]) if at >= 0 else -np.inf
            waiting = float(self.score[held:].max(initial=CLOSED))
            if waiting == CLOSED or waiting < score * (1 - kernel.EQUAL):
                return int(at), score
            self._order()

    def take(self, at: int, again: bool) -> tuple[int, Array]:
        """The key and features of a held candidate, which stays open if it may be chosen again."""
        if not again:
            self.score[at] = CLOSED
        return int(self.keys[at]), self.F[at]

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
            before = (F[some] ** 2).sum(1)[stale - n]
            self.v[stale] = remaining(F[stale], before, W)
            self.version[stale] = len(W)
            is_open = stale[self.score[stale] != CLOSED]
            self.score[is_open] = 0.5 * np.log1p(self.v[is_open] / self.field.eta2) / self.cost[is_open]
        self.F = F

    def _features(self, keys: Indices) -> Array:
        return self.field.features(*Entries.from_keys(keys, self.field.shape[1]))

    def _take_in(self) -> None:
        """Let new candidates stand behind the others."""
        if self._new:
            old = Known(self.keys, self.version, self.cost, self.v, self.score)
            joined = (np.concatenate(parts) for parts in zip(old, *self._new, strict=True))
            self.keys, self.version, self.cost, self.v, self.score = joined
            self._new = []

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
