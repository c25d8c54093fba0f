"""The variance of all entries together, and the greedy batch that takes most off it.

    G        S x S    Gram matrix of the centred draws, G_st = sum over all entries of d_s d_t
    W        k x S    directions of the measured entries, K = I - W'W (see `draw_field`)
    tr(K G) / S       the total variance given the measured entries: no map of the entries is formed

S draws seem to tell more about each other than a measurement will: the regression of all entries on the measured ones
is fitted to the same draws, which moreover come from chains in different modes. With a chain c left out of it, the
residuals of its draws are K_cc^-1 (K d)_c, so that

    [sum over c of tr(K_cc^-1 (K G K)_cc K_cc^-1) + tr(K (I - K) G)] / S

is the total variance for somebody whose chain is not among them; the second term is the noise of the measurements. It
is too large by about as much as tr(K G) / S is too small, and `expected_after` is the mean of the two.

    Gamma    S x S    G / (S m1 m2): the mean over all entries of the variance, given W, is tr(K Gamma)
    v_a      -        f_a' K f_a
    h_a      -        f_a' K Gamma K f_a: the mean over all entries b of Cov(x_a, x_b)^2

Measuring a takes h_a / (v_a + eta2) off. Unlike information this may rise as others join, so every candidate is updated
at every choice: with the direction w of the entry chosen and g = K Gamma w,

    c = f.w,  e = f.g,  h <- h - 2 c e + c^2 w'Gamma w,  v <- v - c^2                 (two products for all candidates)

At the start h is only bounded, by the leading eigenvectors q_k of K Gamma K (eigenvalues l_k):
h <= sum l_k (f.q_k)^2 + l_{r+1} (|f|^2 - sum (f.q_k)^2), and a bound it stays, since both sides change alike. It is
computed where the bound may be the greatest. Of scores equal to 1e-10 the lowest row wins, then the lowest column.

Matrices of more than MOST_MAPPED entries are too large for this. There the candidates of a batch are a shortlist: the
entries of greatest bound at its start, as many as fit in memory; where rows or columns are limited, no more of each
than leaves place for n others. The choice is exact among these; an entry outside the list could only be better if its
gain were, or rose, above the least bound of the list. When a list is used up, another is made of the rest. Where that
would take more than MOST_WORK multiplications, the candidates are a sample (`greedy.sample_candidates`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from maxentry._io import checkpoint
from maxentry._types import Array, Indices
from maxentry.acquisition.draw_field import (
    ChoiceField,
    DrawField,
    all_directions,
    choice_field,
    measurement_direction,
    measurement_directions,
)
from maxentry.acquisition.greedy import Sample, sample_candidates
from maxentry.acquisition.problem import Problem, Quota, Selection
from maxentry.belief import Belief, Entries
from maxentry.kernels.variances import CLOSED, EQUAL

BLOCK_NUMBERS = 4_000_000  # a block of draws or of products of factors holds about this many numbers (32 MB)
HELD_BYTES = 200_000_000  # of features of candidates
MOST_MAPPED = 8_000_000  # candidates with v and h; 50 bytes each
PRODUCTS = 10  # a number is read from memory in the time of so many multiplications of a matrix product
MOST_WORK = 1e11  # multiplications of a search among all entries; beyond, a sample is made
LEADING = 48  # eigenvectors of K Gamma K in the bound of h
CHUNK = 4096  # entries whose features are formed at once
LEAST_NOISE = 1e-12  # of an answer that all draws are sure of


# Draws (S, n) of what measurements of some entries show on average, and the variance of what is shown around it, (n,)
Reading = Callable[[Entries], tuple[Array, Array]]


class TotalVariance:
    """The total variance of a belief, now and after any entries: G, the costly part, is computed once.

    sample: entries that stand for all. reading: where answers are probabilities or expected grades, the variance is
    theirs (give a sample, too). What is shown is then a value of the answer with noise, and K that of the best linear
    prediction.
    """

    def __init__(self, belief: Belief, reading: Reading | None = None, sample: Entries | None = None) -> None:
        self._draws, self._reading = choice_field(belief), reading
        if sample is None:
            self._G = gram_matrix(self._draws.plain)
            return
        F = self._draws.plain.features(*sample) if reading is None else _centre(reading(sample)[0])
        self._G = F.T @ F * (belief.shape[0] * belief.shape[1] * belief.n_draws / max(len(F), 1))

    def _directions(self, entries: Entries) -> Array:
        """The directions of measured entries, at most S."""
        if self._reading is None or not len(entries.rows):
            return all_directions(self._draws, entries)
        y, noise = self._reading(entries)
        return measurement_directions(_centre(y) / np.sqrt(np.maximum(noise, LEAST_NOISE))[:, None], 1.0)

    def now(self) -> float:
        """The sum over all entries of the variance of the draws (divisor S)."""
        return self.after(Entries.none())

    def after(self, entries: Entries) -> float:
        """The total variance once these entries are measured (whatever their values), tr(K G) / S."""
        W = self._directions(entries)
        return float(np.trace(self._G) - np.einsum("ks,ks->", W @ self._G, W)) / self._draws.p

    def expected_after(self, entries: Entries, n_chains: int) -> float:
        """The same with a correction for few draws and several modes; the draws of a chain follow each other."""
        if not len(entries.rows):
            return self.now()
        W, S = self._directions(entries), self._draws.p
        K = np.eye(S) - W.T @ W
        KG = K @ self._G
        KGK = KG @ K
        left_out = 0.0
        for c in np.array_split(np.arange(S), n_chains if n_chains > 1 else S):
            inverse = np.linalg.inv(K[np.ix_(c, c)])
            left_out += float(np.einsum("st,tu,us->", inverse, KGK[np.ix_(c, c)], inverse))
        fitted = float(np.trace(KG))
        left_out += fitted - float(np.trace(KGK))
        return min((fitted + left_out) / (2 * S), self.now())


def _centre(y: Array) -> Array:
    """Features (n, S) of draws (S, n)."""
    features: Array = (y - y.mean(0)).T / np.sqrt(len(y))
    return features


def total_variance(belief: Belief) -> float:
    """The sum over all entries of the variance of the draws (divisor S): S x S numbers, no map."""
    return TotalVariance(belief).now()


def gram_matrix(draws: DrawField) -> Array:
    """G, from the draws of all entries or from the factors, whichever is less work."""
    (m1, m2), q = draws.shape, draws.A.shape[1] + 2
    return _gram_of_entries(draws) if m1 * m2 <= q * q * (m1 + m2) else _gram_of_factors(draws)


def _gram_of_entries(draws: DrawField) -> Array:
    """G = sum of d d' over the entries, some rows at a time."""
    (m1, m2), S = draws.shape, draws.p
    G = np.zeros((S, S))
    step = max(1, BLOCK_NUMBERS // (m2 * S))
    for start in range(0, m1, step):
        checkpoint()
        rows, cols = np.divmod(np.arange(start * m2, min(start + step, m1) * m2), m2)
        F = draws.features(rows, cols)
        G += F.T @ F
    return G * S


def _gram_of_factors(draws: DrawField) -> Array:
    """G from <X_s, X_t> = sum of (L_s'L_t) o (R_s'R_t), with L = [A, a, 1] and R = [B, 1, b], twice centred."""
    q, S = draws.A.shape[1] + 2, draws.p
    G = np.empty((S, S))
    step = max(1, BLOCK_NUMBERS // (q * q * S))
    for start in range(0, S, step):
        part = slice(start, min(start + step, S))
        left = _products(draws.A, draws.a, part, effects_first=True)
        right = _products(draws.B, draws.b, part, effects_first=False)
        G[part] = np.einsum("asbt,asbt->st", left, right)
    G -= G.mean(0)
    G -= G.mean(1, keepdims=True)
    return (G + G.T) / 2


def _products(A: Array, a: Array, part: slice, *, effects_first: bool) -> Array:
    """L_s'L_t for the draws s of a part and all t, (q, width, q, S), some rows at a time."""
    (m, R, S), width = A.shape, part.stop - part.start
    q = R + 2
    products = np.zeros((q * width, q * S))
    step = max(1, BLOCK_NUMBERS // (q * S))
    for i in range(0, m, step):
        checkpoint()
        effects = [a[i : i + step, None, :], np.ones_like(a[i : i + step, None, :])]
        L = np.concatenate([A[i : i + step], *(effects if effects_first else effects[::-1])], axis=1)
        products += L[:, :, part].reshape(len(L), -1).T @ L.reshape(len(L), -1)
    return products.reshape(q, width, q, S)


def greedy_variance(
    draws: ChoiceField, Gamma: Array, problem: Problem, n: int, rng: np.random.Generator | None = None
) -> Selection:
    """The greedy batch of n entries, with pending ones measured first.

    rng: for the sample of a search that would take too long; None to search all, however long it takes.
    """
    quota, W = Quota(problem.shape, problem.limits), all_directions(draws, problem.pending)
    chosen: list[int] = []
    gains: list[float] = []
    evaluated, sample = 0, Sample.none()
    while len(chosen) < n:
        start = VarianceBounds(draws, Gamma, W)
        if rng is not None and _takes_too_long(draws, n):
            latest = sample_candidates(draws, problem, quota, chosen, n - len(chosen), rng)
            sample, keys, out_of = (
                sample.joined(latest),
                latest.keys,
                0,
            )  # the search ends with an empty sample
            evaluated += len(keys)
        else:
            keys, out_of = _make_shortlist(start, problem, quota, chosen, n)
            evaluated = max(evaluated, out_of)
        batch = VarianceSearch(start, problem, keys, quota)
        while len(chosen) < n and (pick := batch.next()) is not None:
            chosen.append(pick[0])
            gains.append(pick[1])
        if len(keys) == out_of:
            break
        W = batch.W
    rows, cols = Entries.from_keys(np.array(chosen, dtype=np.int64), problem.shape[1])
    cost = problem.costs.at(rows, cols)
    return Selection(rows, cols, np.array(gains), cost, evaluated, len(sample.keys), sample.better)


def _takes_too_long(draws: ChoiceField, n: int) -> bool:
    """Whether to bound all entries, and update as many as are held n times, is too much work."""
    (m1, m2), work = draws.shape, draws.work
    return m1 * m2 * (work.variance if m1 * m2 > MOST_MAPPED else n * work.features) > MOST_WORK


class VarianceBounds:
    """v, and a bound of h, of any entry given the directions W: from the leading part of K Gamma K."""

    def __init__(self, draws: ChoiceField, Gamma: Array, W: Array) -> None:
        self.draws, self.Gamma, self.W = draws, Gamma, W
        K = np.eye(draws.p) - W.T @ W
        values, vectors = eigh(K @ Gamma @ K, subset_by_index=[max(draws.p - LEADING - 1, 0), draws.p - 1])
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        self.leading, self.vectors = values[:LEADING], np.ascontiguousarray(vectors[:, :LEADING])
        self.rest = float(values[LEADING]) if draws.p > LEADING else 0.0

    def features(self, keys: Indices) -> Array:
        """Features of the entries with these keys."""
        return self.draws.features(*Entries.from_keys(keys, self.draws.shape[1]))

    def bounds(self, F: Array) -> tuple[Array, Array]:
        """v, and a bound of h, of entries with features F."""
        squares = np.einsum("ns,ns->n", F, F)
        y2 = (F @ self.vectors) ** 2
        h = y2 @ self.leading + self.rest * np.maximum(squares - y2.sum(1), 0.0)
        return np.maximum(squares - ((F @ self.W.T) ** 2).sum(1), 0.0), h


class VarianceSearch:
    """The search for one batch: v and h of every candidate, where h may still be a bound."""

    def __init__(self, start: VarianceBounds, problem: Problem, keys: Indices, quota: Quota) -> None:
        self.start, self.problem, self.keys, self.W = start, problem, keys, start.W
        self.eta2 = start.draws.eta2
        self.rows, self.cols = Entries.from_keys(keys, problem.shape[1])
        self.cost = problem.costs.at(self.rows, self.cols)
        self.quota = quota
        # chosen last: where it is, its direction and its gain
        self.last: tuple[int, Array, float] | None = None
        self.is_open, self.exact = np.ones(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
        self.v, self.h = np.empty(len(keys)), np.empty(len(keys))
        # features are held if they fit, and if reading them beats R products for every entry
        (m1, m2), R, p = problem.shape, start.draws.A.shape[1], start.draws.p
        hold = len(keys) * p * 8 <= HELD_BYTES and len(keys) * PRODUCTS < m1 * m2 * R
        self.F = np.empty((len(keys), p)) if hold else None
        for n in range(0, len(keys), CHUNK):
            checkpoint()
            some = slice(n, n + CHUNK)
            F = start.features(keys[some])
            self.v[some], self.h[some] = start.bounds(F)
            if self.F is not None:
                self.F[some] = F

    def next(self) -> tuple[int, float] | None:
        """Choose one entry: its key and gain; None where no more are available."""
        checkpoint()
        self._update()
        if not self.is_open.any():
            return None
        best = self._best()
        f = self.start.features(self.keys[best : best + 1])[0]
        w, _ = measurement_direction(f, self.W, self.eta2)
        gain = float(w @ self.start.Gamma @ w)  # w is K f / sqrt(v + eta2)
        self.last = best, w, gain
        return int(self.keys[best]), gain

    def _best(self) -> int:
        """Where the score is greatest, with h computed wherever its bound might be."""
        score = np.where(self.is_open, self.h / (self.v + self.eta2) / self.cost, CLOSED)
        look = 64
        while True:
            checkpoint()
            top = score[self.exact].max(initial=-np.inf)
            unsure = np.flatnonzero(~self.exact & (score >= (top if top > 0 else 0.0) * (1 - EQUAL)))
            if len(unsure) == 0:
                return int(np.argmax(score >= top * (1 - EQUAL)))
            if len(unsure) > look:
                unsure = unsure[np.argpartition(-score[unsure], look)[:look]]
            self._compute(unsure)
            score[unsure] = self.h[unsure] / (self.v[unsure] + self.eta2) / self.cost[unsure]
            look = min(2 * look, CHUNK)

    def _compute(self, which: Indices) -> None:
        """Replace the bound on h of some candidates by its exact value."""
        F = self.start.features(self.keys[which])
        FK = F - (F @ self.W.T) @ self.W
        self.h[which] = np.einsum("ns,ns->n", FK @ self.start.Gamma, FK)
        self.exact[which] = True

    def _update(self) -> None:
        """Update all candidates with the last one chosen; only when another is needed: this is the costly step."""
        if self.last is None:
            return
        best, w, gain = self.last
        self.last = None
        g = self.start.Gamma @ w
        g -= self.W.T @ (self.W @ g)
        c, e = self._products(np.stack([w, g]))
        self.h = np.maximum(self.h + c * (gain * c - 2 * e), 0.0)
        self.v = np.maximum(self.v - c * c, 0.0)
        self.W = np.concatenate([self.W, w[None]])
        self.quota.take(self.rows[best], self.cols[best])
        self.is_open &= (self.quota.row[self.rows] > 0) & (self.quota.col[self.cols] > 0)
        self.is_open[best] &= self.problem.again

    def _products(self, w: Array) -> Array:
        """f . w for every candidate and each of a few w, from the features or from the factors."""
        if self.F is not None:
            return (self.F @ w.T).T
        return self.start.draws.products(w, self.keys)


def _make_shortlist(
    start: VarianceBounds, problem: Problem, quota: Quota, chosen: list[int], n: int
) -> tuple[Indices, int]:
    """Keys of the candidates, in order, for a batch of n, of which some are chosen: all available, or a shortlist.

    Then comes the number of available entries.
    """
    m1, m2 = problem.shape
    keys, bound, out_of = np.empty(0, np.int64), np.empty(0), 0
    all_listed = m1 * m2 <= MOST_MAPPED
    most = max(1, HELD_BYTES // (8 * start.draws.p))
    step = max(1, (m1 * m2 if all_listed else 64 * CHUNK) // m2)
    for i in range(0, m1, step):
        checkpoint()
        rows, cols = np.arange(i, min(i + step, m1)), np.arange(m2)
        free = np.flatnonzero(problem.available(rows, cols) & quota.at(rows, cols)) + i * m2
        if chosen and not problem.again:
            free = free[~np.isin(free, chosen)]
        keys, out_of = np.concatenate([keys, free]), out_of + len(free)
        if not all_listed:
            bound = np.concatenate([bound, _bounds(start, problem, rows, free, bound, most)])
            if len(keys) > most:
                kept = _most_promising(keys, bound, problem, most, n)
                keys, bound = keys[kept], bound[kept]
    return keys, out_of


def _most_promising(keys: Indices, bound: Array, problem: Problem, most: int, n: int) -> Indices:
    """Where the bounds are greatest, at most so many; of limited rows and columns, not so many that others lack."""
    kept, (m2, limits) = np.arange(len(keys)), (problem.shape[1], problem.limits)
    for lines, limit in ((keys // m2, limits.per_row), (keys % m2, limits.per_col)):
        if limit is not None:
            kept = kept[np.lexsort((-bound[kept], lines[kept]))]
            rank = np.arange(len(kept)) - np.searchsorted(lines[kept], lines[kept])  # in its row or column
            kept = kept[rank < max(limit, most * limit // n)]
    if len(kept) > most:
        kept = kept[np.argpartition(-bound[kept], most)[:most]]
    return np.sort(kept)


def _bounds(
    start: VarianceBounds, problem: Problem, rows: Indices, keys: Indices, listed: Array, most: int
) -> Array:
    """Bounds of the scores of the entries with these keys, close ones where they may come on the list."""
    eta2, m2 = start.draws.eta2, problem.shape[1]
    v = start.draws.variances(rows, np.arange(m2)).ravel()[keys - rows[0] * m2]
    cost = problem.costs.at(*Entries.from_keys(keys, m2))
    largest = max(float(start.leading[0]), 0.0)
    bound: Array = largest * v / (v + eta2) / cost
    least = float(listed.min()) if len(listed) >= most else -np.inf
    hopeful = np.flatnonzero(bound > least)
    for n in range(0, len(hopeful), CHUNK):
        checkpoint()
        some = hopeful[n : n + CHUNK]
        v_some, h = start.bounds(start.features(keys[some]))
        bound[some] = h / (v_some + eta2) / cost[some]
    return bound
