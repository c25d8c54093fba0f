"""The greedy determinant: the batch that is most informative jointly, one entry after the other.

The gain of an entry is 1/2 log(1 + v/eta2), v its variance given everything measured, pending or chosen before it. The
gains of a batch add up to 1/2 log det(I + Cov/eta2) (Lemma 1). The score is gain/cost.

Gains only fall as entries join, so the search is lazy and exact:

1. The matrix is cut into tiles, each with a bound on the scores of its entries (`make_tiles`). Tiles are opened in
   decreasing order of their bounds (`GreedySearch`).
2. Scores of open candidates are bounds once other entries have joined; they are updated only where they exceed the
   best (`Candidates`).
3. An entry is chosen once nothing else can score above it. Among scores equal to 1e-10 the lowest row wins, then the
   lowest column; only where more than MOST_OPEN candidates are open, and some were dropped, may another of the equals
   win.

Where the bounds do not separate (many entries with like scores, or a long batch), this may take minutes. After
MOST_WORK multiplications the rest of the batch is chosen among a sample of candidates instead (`sample_candidates`).
"""

from __future__ import annotations

import heapq
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry._io import checkpoint
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition.draw_field import Field, measurement_direction, pending_directions
from maxentry.acquisition.plates import greedy_plates
from maxentry.acquisition.problem import Costs, Problem, Quota, Selection
from maxentry.belief import Entries
from maxentry.kernels import variances as kernel
from maxentry.kernels.variances import CLOSED, EQUAL

TILE = 128  # rows or columns of a tile, at least
MOST = 48  # tiles a side, at most
ROUNDING, TINY = 1e-9, 1e-300
HELD_BYTES = 200_000_000  # features of all candidates are held if they take no more
MOST_WORK = 6e9  # multiplications of an exact search, some seconds
BY_BLAS = 4  # a multiplication of a matrix product takes a fourth of the time
MOST_SAMPLED = 200_000  # candidates of a sample; fewer where their features take more than HELD_BYTES
MOST_UPDATES = 1.5e10  # and fewer for a long batch, since every choice updates them
SPARE = 8  # but at least this many for each choice
MOST_SCANNED = 500_000_000  # entries whose variances are estimated to make a sample
BLOCK_NUMBERS = 4_000_000  # estimates formed at once
ATTEMPTS = 64  # at drawing available entries
FEW = 16_384  # otherwise those of this many, the most promising
MOST_OPEN = 2_000_000  # open candidates; 40 bytes each
CHUNK = 4096  # entries whose features are formed at once
LOOKED_AT = 64  # candidates of a new tile that are updated at once, to know which tiles may stay closed
# Candidates of an opened tile are taken from this share of the best score on. Where entries are screened one by one,
# opening a tile again costs little: the share is larger, and fewer are evaluated.
KEEP, KEEP_SCREENED = 0.75, 0.92
EDGE = 1e-8  # blocks and single entries are summed in other orders: scores this close to an edge may cross it
SCATTERED = 0.3  # from this share of a tile on, evaluating all of it costs no more


def greedy_information(
    field: Field, problem: Problem, n: int, rng: np.random.Generator | None = None
) -> Selection:
    """The greedy batch of n entries, or of n plates where the limits say so, with pending entries measured first.

    rng: for the sample of a search that would take too long; None to search exactly, however long it takes.
    """
    if problem.limits.plates is not None:
        return greedy_plates(field, problem, n)
    search = GreedySearch(field, problem, n, rng)
    picks: list[tuple[int, float]] = []
    while len(picks) < n and (pick := search.next()) is not None:
        picks.append(pick)
    rows, cols = Entries.from_keys(np.array([key for key, _ in picks], dtype=np.int64), problem.shape[1])
    gain = np.array([gain for _, gain in picks])
    cost, sample = problem.costs.at(rows, cols), search.sample
    return Selection(rows, cols, gain, cost, search.evaluated, len(sample.keys), sample.better)


def information_score(v: Array, cost: Array, eta2: float) -> Array:
    """1/2 log(1 + v/eta2) / cost."""
    score: Array = 0.5 * np.log1p(v / eta2) / cost
    return score


class GreedySearch:
    """The search for one batch: its directions so far, the open candidates, and the closed tiles."""

    def __init__(
        self, field: Field, problem: Problem, n: int, rng: np.random.Generator | None = None
    ) -> None:
        self.field, self.problem, self.n, self.rng = field, problem, n, rng
        measured, pending = field.measured, pending_directions(field, problem.pending)
        self.known = len(measured)  # directions that the field's variances include
        self.k = self.known + len(pending)
        self.W = np.concatenate([measured, pending, np.zeros((n, field.p))])
        self.quota = Quota(problem.shape, problem.limits)
        self.keys: list[int] = []
        # entries evaluated, by tile number: a later count includes earlier ones
        self.counted: dict[int, int] = {}
        self.reopened = False  # whether tiles are opened a second time
        self.sample = Sample.none()
        self.work, self.open = (
            0.0,
            Candidates(field),
        )  # multiplications so far, but for those of the open candidates
        self._close()

    def _close(self) -> None:
        """Close all candidates and tiles, to search from the start."""
        self.tiles = make_tiles(self.field.bounds(), self.field.eta2, self.problem.costs)
        heapq.heapify(self.tiles)
        self.work += self.open.work
        self.open = Candidates(self.field)

    @property
    def evaluated(self) -> int:
        """How many entries were evaluated, each counted once."""
        return sum(self.counted.values())

    def next(self) -> tuple[int, float] | None:
        """Choose one entry: its key and gain; None where no more are available."""
        while True:
            checkpoint()
            if self._takes_too_long():
                self._sample()
            at, score = self.open.best(self.W[: self.k])
            if self._may_be_above(score):
                # open tiles until the bound of the next is below the best score known
                while self._may_be_above(score) and not self._takes_too_long():
                    checkpoint()
                    score = self._open(heapq.heappop(self.tiles), score)
            elif self.open.dropped > score:
                self.reopened = True
                self._close()
            elif at >= 0:
                return self._join(at)
            elif not (len(self.sample.keys) and self._sample()):
                return None

    def _takes_too_long(self) -> bool:
        exact = self.rng is not None and len(self.sample.keys) == 0
        return exact and self.work + self.open.work > MOST_WORK

    def _sample(self) -> bool:
        """Search on among a sample of candidates; return whether there are any."""
        assert self.rng is not None
        left = self.n - len(self.keys)
        keys, _ = new_sample = sample_candidates(
            self.field, self.problem, self.quota, self.keys, left, self.rng
        )
        self.sample = self.sample.joined(new_sample)
        rows, cols = Entries.from_keys(keys, self.field.shape[1])
        v, cost = self.field.variances_at(rows, cols), self.problem.costs.at(rows, cols)
        self.tiles, self.open = [], Candidates(self.field)
        score = information_score(v, cost, self.field.eta2)
        new = CandidateScores(keys, np.full_like(keys, self.known), cost, v, score)
        self.open.add(new, self.W[: self.k], 0, 0.0, 0.0)
        return len(keys) > 0

    def _may_be_above(self, score: float) -> bool:
        return bool(self.tiles) and -self.tiles[0].minus_bound >= score * (1 - EQUAL)

    def _open(self, tile: SearchTile, score: float) -> float:
        """Add the promising entries of a tile to the candidates, push the rest back; return the best score."""
        free = self.problem.available(tile.rows, tile.cols) & self.quota.at(tile.rows, tile.cols)
        bound = self._bound(tile, KEEP_SCREENED * score)
        keep = KEEP if bound is None else KEEP_SCREENED
        rows, cols, cost, v, skipped = self._evaluate(tile, free, bound, keep * score)
        first = information_score(v, cost, self.field.eta2)
        keys = Entries(rows, cols).keys(self.field.shape[1])
        new = self._still_inside(tile, first, keys)
        if self.keys and not self.problem.again:
            new &= ~np.isin(keys, self.keys)
        new_scores = CandidateScores(
            keys[new], np.full_like(keys[new], self.known), cost[new], v[new], first[new]
        )
        # when reopening, update all that may be added: stale ones would be dropped and come back again and again
        look = int((first[new] >= keep * score).sum()) if self.reopened else LOOKED_AT
        best, least = self.open.add(new_scores, self.W[: self.k], look, score, keep)
        left = max(skipped, float(first[new & (first < least)].max(initial=-np.inf)))
        if left > -np.inf:
            heapq.heappush(self.tiles, tile._replace(minus_bound=-left, below=least))
        return best

    def _still_inside(self, tile: SearchTile, first: Array, keys: Indices) -> Flags:
        """Which entries were not taken out before, by their first scores; those at the edge are looked up by key."""
        left = first < tile.below
        edge = np.flatnonzero(np.abs(first - tile.below) <= EDGE * first) if tile.below < np.inf else ()
        if len(edge):
            left[edge] = ~np.isin(keys[edge], self.open.open_keys())
        return left

    def _bound(self, tile: SearchTile, least: float) -> Array | None:
        """Bounds of the scores of a tile's entries; None where they are missing or would spare too few entries."""
        upper = self.field.upper(tile.rows, tile.cols)
        if upper is None:
            return None
        self.work += upper.size * self.field.work.estimate / BY_BLAS
        cost = self.problem.costs.at(tile.rows[:, None], tile.cols)
        bound = information_score(upper * (1 + ROUNDING), cost, self.field.eta2)
        return bound if np.mean(bound >= least) < SCATTERED else None

    def _evaluate(
        self, tile: SearchTile, free: Flags, bound: Array | None, least: float
    ) -> tuple[Indices, Indices, Array, Array, float]:
        """Rows, columns, costs and variances of the free entries whose bounds are at least `least`.

        Last comes the greatest bound of the entries that were skipped."""
        looked = free if bound is None else free & (bound >= least)
        i, j = np.nonzero(looked)
        rows, cols = tile.rows[i], tile.cols[j]
        self.work += (free.size if bound is None else len(rows)) * self.field.work.variance
        if bound is None:
            v, skipped = self.field.variances(tile.rows, tile.cols)[i, j], -np.inf
        else:
            v = self.field.variances_at(rows, cols)
            skipped = float(bound[free & ~looked].max(initial=-np.inf))
        self.counted[tile.number] = max(len(rows), self.counted.get(tile.number, 0))
        return rows, cols, self.problem.costs.at(rows, cols), v, skipped

    def _join(self, at: int) -> tuple[int, float]:
        """Add candidate `at` to the batch; return its key and gain."""
        key, f = self.open.take(at, self.problem.again)
        self.W[self.k], v = measurement_direction(f, self.W[: self.k], self.field.eta2)
        self.k += 1
        self.keys.append(key)
        i, j = divmod(key, self.field.shape[1])
        self.quota.take(i, j)
        if self.quota.row[i] == 0 or self.quota.col[j] == 0:
            self.open.close_lines(self.quota)
        return key, float(0.5 * np.log1p(v / self.field.eta2))


class SearchTile(NamedTuple):
    """Rows and columns; no entry whose first score is less than `below` scores above the bound.

    Tiles compare by their bounds, the greatest first, for use in a heap.
    """

    minus_bound: float
    number: int  # the rest of a tile after opening has the same
    rows: Indices
    cols: Indices
    below: float = np.inf


def make_tiles(bounds: list[tuple[Array, Array]], eta2: float, costs: Costs) -> list[SearchTile]:
    """Cut the matrix into tiles with bounds on 1/2 log(1 + v/eta2)/cost.

    bounds: pairs of non-negative P (m1, k) and Q (m2, k), each with sqrt(v_ij) <= P_i . Q_j for every entry.
    """
    if any(len(P) == 0 or len(Q) == 0 for P, Q in bounds):
        return []
    row_level, col_level = bound_levels(bounds)
    tiles: list[SearchTile] = []
    for rows in _classes(row_level):
        for cols in _classes(col_level):
            sd = min(float(P[rows].max(0) @ Q[cols].max(0)) for P, Q in bounds)
            v = sd * sd * (1 + ROUNDING)
            bound = 0.5 * np.log1p(v / eta2) / costs.extremes(rows, cols)[0]
            tiles.append(SearchTile(-bound, len(tiles), rows, cols))
    return tiles


def bound_levels(bounds: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """How high the bounds are in each row, and in each column, on average."""
    row_level = sum((np.log(P @ Q.mean(0) + TINY) for P, Q in bounds), np.zeros(1))
    col_level = sum((np.log(Q @ P.mean(0) + TINY) for P, Q in bounds), np.zeros(1))
    return row_level, col_level


def _classes(level: Array) -> list[Indices]:
    """Group indices of similar level, each group sorted."""
    n = int(np.clip(len(level) // TILE, 1, MOST))
    order = np.argsort(-level, kind="stable").astype(np.int64)
    return [np.sort(part) for part in np.array_split(order, n)]


class Candidates:
    """Candidates by key, with variance v and score 1/2 log(1 + v/eta2)/cost after the first `version` directions.

    Scores only fall as directions are added, so those of earlier versions are bounds. The first `held` candidates have
    their features in F.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.keys, self.version = np.empty(0, np.int64), np.empty(0, np.int64)
        self.cost, self.v, self.score = np.empty(0), np.empty(0), np.empty(0)
        self._new: list[CandidateScores] = []
        self.F = np.empty((0, field.p))
        self.dropped = -np.inf  # the greatest score of a dropped candidate
        self.work = 0.0  # multiplications

    def add(
        self, new: CandidateScores, W: Array, look: int, floor: float, keep: float
    ) -> tuple[float, float]:
        """Add those new candidates whose scores are at least the share `keep` of the best.

        The `look` candidates of greatest score are updated with W first; the best is theirs, or the floor. Returns the
        best score, and the least score that was added.
        """
        most = np.arange(len(new.keys))
        if look < len(most):
            most = np.argpartition(-new.score, look - 1)[:look]
        at_first, later = new.score.copy(), W[new.version.max(initial=0) :]
        for start in range(0, len(most) if len(later) else 0, CHUNK):
            some = most[start : start + CHUNK]
            self.work += len(some) * later.size / BY_BLAS
            new.v[some] = remaining_variances(self._features(new.keys[some]), new.v[some], later)
        new.version[most] = len(W)
        new.score[most] = information_score(new.v[most], new.cost[most], self.field.eta2)
        best = max(floor, float(new.score[most].max(initial=-np.inf)))
        kept = (at_first >= keep * best) & (new.score > self.dropped)
        self._new.append(new.select(kept))
        if len(self.keys) + sum(len(some.keys) for some in self._new) > MOST_OPEN:
            self._append_new()
            self._order()
            self.dropped = max(self.dropped, float(self.score[MOST_OPEN // 2]))
            self._keep(slice(0, MOST_OPEN // 2))
        return best, keep * best

    def open_keys(self) -> Indices:
        """Keys of all candidates that were added and not dropped."""
        self._append_new()
        return self.keys

    def best(self, W: Array) -> tuple[int, float]:
        """The candidate of greatest score, the least key of equals, and its score; (-1, -inf) where none is open.

        Where not all features fit in memory, those of the most promising are held. Stale candidates that may still be
        better are then updated without being held, some at a time, until none is left: this ends however many are
        equal.
        """
        self._append_new()
        if len(self.keys) and (self.version == len(W)).all():  # the best is known without features
            at, _ = self._best_of_all(len(W))
            return at, float(self.score[at]) if at >= 0 else -np.inf
        ordered = False
        while True:
            checkpoint()
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
        """The best of the up-to-date candidates, and stale ones that might be better, at most CHUNK."""
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
        """Recompute the variance and score of some candidates (with features F), given all directions W so far."""
        self.work += len(which) * W.size / BY_BLAS
        self.v[which] = remaining_variances(F, np.einsum("ns,ns->n", F, F), W)
        self.version[which] = len(W)
        is_open = which[self.score[which] != CLOSED]
        self.score[is_open] = information_score(self.v[is_open], self.cost[is_open], self.field.eta2)

    def take(self, at: int, again: bool) -> tuple[int, Array]:
        """Take a candidate: its key and features. It stays open if it may be chosen again."""
        if not again:
            self.score[at] = CLOSED
        f = self.F[at] if at < len(self.F) else self._features(self.keys[at : at + 1])[0]
        return int(self.keys[at]), f

    def close_lines(self, quota: Quota) -> None:
        """Close the candidates whose row or column is full."""
        rows, cols = Entries.from_keys(self.keys, self.field.shape[1])
        self.score[(quota.row[rows] == 0) | (quota.col[cols] == 0)] = CLOSED

    def _hold(self, W: Array) -> None:
        """Form and hold the features of as many first candidates as fit, and update these."""
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

    def _features(self, keys: Indices) -> Array:
        self.work += len(keys) * self.field.work.features
        return self.field.features(*Entries.from_keys(keys, self.field.shape[1]))

    def _append_new(self) -> None:
        """Append the new candidates."""
        if self._new:
            old = CandidateScores(self.keys, self.version, self.cost, self.v, self.score)
            joined = (np.concatenate(parts) for parts in zip(old, *self._new, strict=True))
            self.keys, self.version, self.cost, self.v, self.score = joined
            self._new = []

    def _order(self) -> None:
        """Sort by score, greatest first; held features are dropped."""
        self._keep(np.argsort(-self.score, kind="stable"))

    def _keep(self, which: Indices | slice) -> None:
        self.keys, self.version = self.keys[which], self.version[which]
        self.cost, self.v, self.score = self.cost[which], self.v[which], self.score[which]
        self.F = self.F[:0]


class CandidateScores(NamedTuple):
    """Arrays over candidates: key, number of directions known, cost, variance, score."""

    keys: Indices
    version: Indices
    cost: Array
    v: Array
    score: Array

    def select(self, which: Flags) -> CandidateScores:
        """Keep some of the candidates."""
        keys, version, cost, v, score = self
        return CandidateScores(keys[which], version[which], cost[which], v[which], score[which])


def remaining_variances(F: Array, v: Array, W: Array) -> Array:
    """v minus the part that the directions W explain, for entries with features F."""
    return np.maximum(v - ((F @ W.T) ** 2).sum(1), 0.0) if len(W) else v


# A sample of candidates, for a search that would take too long


class Sample(NamedTuple):
    """Keys of sampled candidates, those of one sample sorted, and how many were drawn at random from all available."""

    keys: Indices
    n_random: int

    @classmethod
    def none(cls) -> Sample:
        """No candidates."""
        return cls(np.empty(0, np.int64), 0)

    def joined(self, later: Sample) -> Sample:
        """All candidates of this sample, which is used up, and of a later one; the limit is that of the smaller."""
        n_random = [sample.n_random for sample in (self, later) if len(sample.keys)]
        return Sample(np.concatenate([self.keys, later.keys]), min(n_random, default=0))

    @property
    def better(self) -> float:
        """An upper limit, 95% sure, of the share of entries that gain more than the best of the sample.

        No entry drawn at random gains more: the rule of three.
        """
        return min(1.0, 3.0 / self.n_random) if self.n_random else float(len(self.keys) > 0)


def sample_candidates(
    field: Field, problem: Problem, quota: Quota, chosen: list[int], n: int, rng: np.random.Generator
) -> Sample:
    """Sample candidates for n more choices, by estimates of the variances of all entries and at random.

    A quarter each are the entries of greatest estimated score; the best of each row, or of parts of it; the best of
    each column, likewise; and entries at random. The first have the greatest gains when a batch begins. Once some of
    these are chosen, others may gain more: those in other rows and columns, and those unlike all that are chosen.
    """
    m2, p = field.shape[1], max(field.p, 1)
    measured = problem.observed.joined(Entries.from_keys(np.array(chosen, np.int64), m2))
    problem = replace(problem, observed=measured)
    most = min(MOST_SAMPLED, HELD_BYTES // (8 * p), max(int(MOST_UPDATES / (n * p)), SPARE * n))
    quarter = max(1, most // 4)
    rows, cols = _scanned_lines(field, rng)
    each_row, each_col = max(1, quarter // len(rows)), max(1, quarter // len(cols))
    parts = [
        (int(part[0]), int(part[-1]) + 1)
        for part in np.array_split(np.arange(len(cols)), min(each_row, len(cols)))
    ]
    step = max(1, min(BLOCK_NUMBERS // len(cols), len(rows) // each_col))
    best, in_rows, in_cols = Estimates.none(), [Estimates.none()], [Estimates.none()]
    for start in range(0, len(rows), step):
        checkpoint()
        some = rows[start : start + step]
        score = estimate_scores(field, problem, quota, some, cols)
        places = np.nonzero(score > best.least)
        best = Estimates.join([best, Estimates(some[places[0]] * m2 + cols[places[1]], score[places])])
        if len(best.keys) > 2 * quarter:
            best = best.highest(quarter)
        for begin, end in parts:
            j = begin + score[:, begin:end].argmax(1)
            in_rows.append(Estimates(some * m2 + cols[j], score[np.arange(len(some)), j]))
        i = score.argmax(0)
        in_cols.append(Estimates(some[i] * m2 + cols, score[i, np.arange(len(cols))]))
    by_col = Estimates.join(in_cols)
    groups = (best.highest(quarter), Estimates.join(in_rows), by_col.highest_each(by_col.keys % m2, each_col))
    listed = [rng.permutation(group.keys[group.score > -np.inf])[:quarter] for group in groups]
    at_random = _draw_available(problem, quota, quarter, rng)
    return Sample(np.unique(np.concatenate([*listed, at_random])), len(at_random))


class Estimates(NamedTuple):
    """Entries by key, with estimates that are in the order of their scores; -inf where one is not available."""

    keys: Indices
    score: NDArray[np.float32]
    least: float = -np.inf  # entries below it were dropped

    @classmethod
    def none(cls) -> Estimates:
        """No entries."""
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def join(cls, parts: list[Estimates]) -> Estimates:
        """All entries of the parts."""
        keys, score = (np.concatenate(side) for side in list(zip(*parts, strict=True))[:2])
        return cls(keys, score, parts[0].least)

    def highest(self, n: int) -> Estimates:
        """The n entries of greatest estimates."""
        if len(self.keys) <= n:
            return self
        which = np.argpartition(-self.score, n - 1)[:n]
        return Estimates(self.keys[which], self.score[which], float(self.score[which].min()))

    def highest_each(self, line: Indices, n: int) -> Estimates:
        """The n entries of greatest estimates in each line."""
        order = np.lexsort((-self.score, line))
        rank = np.arange(len(order)) - np.searchsorted(line[order], line[order])
        return Estimates(self.keys[order[rank < n]], self.score[order[rank < n]])


def estimate_scores(
    field: Field, problem: Problem, quota: Quota, rows: Indices, cols: Indices
) -> NDArray[np.float32]:
    """Numbers in the order of the estimated scores of a block of entries; -inf where one is not available."""
    score = field.estimates(rows, cols)
    if problem.costs.given:
        score = (np.log1p(np.maximum(score, 0)) / problem.costs.at(rows[:, None], cols)).astype(np.float32)
    score[~(problem.available(rows, cols) & quota.at(rows, cols))] = -np.inf
    return score


def _scanned_lines(field: Field, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows and columns in random order: all, or as many as make MOST_SCANNED entries, half those of highest bounds."""
    m1, m2 = field.shape
    n_rows = min(m1, max(math.isqrt(MOST_SCANNED), MOST_SCANNED // m2))
    numbers, lines = (n_rows, min(m2, max(1, MOST_SCANNED // n_rows))), []
    for n, level in zip(numbers, bound_levels(field.bounds()), strict=True):
        order = np.argsort(-level, kind="stable").astype(np.int64)
        order[n // 2 :] = rng.permutation(order[n // 2 :])
        lines.append(rng.permutation(order[:n]))
    return lines[0], lines[1]


def _draw_available(problem: Problem, quota: Quota, n: int, rng: np.random.Generator) -> Indices:
    """Keys of about n available entries at random; fewer where the mask leaves few."""
    (m1, m2), drawn = problem.shape, np.empty(0, np.int64)
    taken = problem.taken.keys(m2)
    for _ in range(ATTEMPTS):
        rows, cols = rng.integers(m1, size=n), rng.integers(m2, size=n)
        free = (quota.row[rows] > 0) & (quota.col[cols] > 0)
        if problem.mask is not None:
            free &= np.asarray(problem.mask)[rows, cols]
        keys = Entries(rows[free], cols[free]).keys(m2)
        drawn = np.unique(np.concatenate([drawn, keys[~np.isin(keys, taken)]]))
        if 2 * len(drawn) >= n:
            break
    return drawn if len(drawn) <= n else rng.permutation(drawn)[:n]
