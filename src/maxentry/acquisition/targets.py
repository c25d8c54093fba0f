"""Entries for a goal other than filling the whole matrix: the best ones, a ranking, what exceeds a threshold.

Both rules work on draws at candidates: t_sa, entry a in draw s, in the user's units (times -1 where small is good).

**Best**: the expected improvement of the k best that are measured, of each line or of all. In draw s let q_s be the
k-th best of what is measured, pending or chosen. Entry a gains E_s max(t_sa - q_s, 0) for a unit of cost; then q_s is
that of the batch with a, and so on. Entries that are good in the same draws do not gain twice, so that a batch looks in
several places while the draws differ.

**Rank and threshold**: targets f_b of the draws are to be known well: the averages of the lines and which of them is
the first, or whether each of some entries exceeds the threshold. Measuring a lowers the sum of their variances by

    sum_b Cov(f_b, x_a)^2 / (v_a + eta2),

with the covariances of the draws; all are then conditioned on a, whatever its value. With every entry as a target this
is integrated variance. Of a ranking, not knowing the first at all counts as much as all averages (`add_first`).

Targets are of the pattern: what an entry deviates from it by itself, others do not tell. For the best, such deviations
count.

The candidates are all available entries, or on a large matrix a sample: for the best, those whose pattern is among the
best of some draws; else at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxentry._io import checkpoint
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition.plates import alternate_sums
from maxentry.acquisition.problem import Problem, Quota, Selection, check_belief
from maxentry.belief import BLOCK_NUMBERS, Belief, Entries
from maxentry.errors import ParameterError, SizeError
from maxentry.model.goal import Goal, Line

# Draws x of a block of rows and columns, of one draw or of all, in the user's units: (x, rows, cols, draws) -> values
Convert = Callable[[Array, Any, Any, Any], Array]
Tops = tuple[Indices, Array]  # keys and values
MOST_CANDIDATES = 20_000
MOST_SAMPLED = 5_000  # candidates at random of a matrix with more entries than that
MOST_TARGETS = 2_000  # entries whose side of the threshold is followed
SCREENS = 24  # draws whose best entries are the candidates of a large matrix
MOST_MEASURED = 4_000  # measured entries among which the best so far are looked for
SPARE = 3  # of each line at least so many more than k
MOST_NUMBERS = 500_000_000  # draws of all entries, which plates look at: 4 GB
LEAST_GAIN = (
    1e-12  # relative to the first: below it, what is left is chosen by its variance; whole plates at zero
)


@dataclass(frozen=True)
class GoalCriterion:
    """Chooses entries for a goal; `choose` is a `Criterion`."""

    goal: Goal
    convert: Convert | None  # None: draws are in the user's units
    own: Convert | None = None  # the same with deviations of entries; None: there are none

    def choose(self, belief: Belief | None, problem: Problem, n: int, rng: np.random.Generator) -> Selection:
        """Choose n entries (or plates) for the goal, each given those before it."""
        belief = check_belief(belief, problem)
        if self.goal.fills:
            raise ParameterError("expected a goal of best, rank or threshold, got fill")
        numbers = belief.n_draws * problem.shape[0] * problem.shape[1]
        if problem.limits.plates is not None and numbers > MOST_NUMBERS:
            raise SizeError(
                f"expected at most {MOST_NUMBERS:,} draws of entries for plates with the goal '{self.goal}', got "
                f"{numbers:,}; ask for single entries, or set the goal to 'fill' for this batch"
            )
        gain: _Improvement | _Knowledge
        if self.goal.kind == "best":
            candidates = screen_best(belief, problem, self.goal, self.convert, n)
            gain = _Improvement.begin(belief, problem, self.goal, self.own or self.convert, candidates)
        else:
            candidates = sample_available(problem, rng)
            gain = _Knowledge.begin(belief, problem, self.target_draws(belief, rng), candidates)
        if problem.limits.plates is not None:
            return _choose_plates(problem, candidates, gain, n)
        return _choose_greedily(problem, candidates, gain, n)

    def target_draws(self, belief: Belief, rng: np.random.Generator) -> Array:
        """Return what is to be known, in every draw: averages and the first line, or what exceeds the threshold."""
        if self.goal.kind == "rank":
            return add_first(average_lines(belief, self.convert, self.goal), self.goal.sign)
        m1, m2 = belief.shape
        keys = np.arange(m1 * m2)
        if len(keys) > MOST_TARGETS:
            keys = np.sort(rng.choice(m1 * m2, MOST_TARGETS, replace=False))
        x = _draws_at(belief, self.convert, Entries.from_keys(keys, m2))
        return np.asarray(x > self.goal.threshold, dtype=np.float64)


def average_lines(belief: Belief, convert: Convert | None, goal: Goal) -> Array:
    """Return the (weighted) average of every row or column in every draw, (S, m); convert None: x is as it is."""
    m1, m2 = belief.shape
    by_row = goal.per == "row"
    m, length = (m1, m2) if by_row else (m2, m1)
    w = goal.shares(length)
    if convert is None:  # linear: no entry is formed
        ours, own, theirs, other = belief.left, belief.row, belief.right, belief.col
        if not by_row:
            ours, own, theirs, other = theirs, other, ours, own
        product = np.einsum("smr,sr->sm", ours, np.einsum("snr,n->sr", theirs, w))
        return np.asarray(belief.mu[:, None] + own + (other @ w)[:, None] + product, dtype=np.float64)
    averages = np.empty((belief.n_draws, m))
    step = max(1, BLOCK_NUMBERS // length)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        rows, cols = (part, slice(0, m2)) if by_row else (slice(0, m1), part)
        for s in range(belief.n_draws):
            x = convert(belief.block(s, rows, cols), rows, cols, s)
            averages[s, part] = x @ w if by_row else w @ x
        checkpoint()
    return averages


def add_first(averages: Array, sign: int) -> Array:
    """Return averages a_b (S, m) and, of the lines that come first in some draw, sqrt(sum_b Var a_b) 1[b is first].

    The variances of the second sum up to 1 - sum_b P(b is first)^2 of those of the averages: nothing once it is sure.
    """
    x = sign * averages
    first = x == x.max(1, keepdims=True)
    shares = first / first.sum(1, keepdims=True)  # lines that are equal share the place
    return np.hstack([averages, np.sqrt(averages.var(0).sum()) * shares[:, np.ptp(shares, axis=0) > 0]])


# Candidates


def available_blocks(problem: Problem) -> Iterator[tuple[slice, Flags]]:
    """Yield blocks of rows and which of their entries may be chosen."""
    m1, m2 = problem.shape
    step = max(1, BLOCK_NUMBERS // m2)
    for start in range(0, m1, step):
        rows = slice(start, min(start + step, m1))
        yield rows, problem.available(np.arange(rows.start, rows.stop), np.arange(m2))


def sample_available(problem: Problem, rng: np.random.Generator) -> Entries:
    """Return all available entries, or a sample of MOST_SAMPLED of them."""
    m1, m2 = problem.shape
    if m1 * m2 <= MOST_CANDIDATES or problem.limits.plates is not None:
        return Entries.from_keys(_all_available(problem), m2)
    found: Indices = np.empty(0, dtype=np.int64)
    for _ in range(20):  # a mask may leave few
        keys = np.unique(np.concatenate([found, rng.integers(m1 * m2, size=2 * MOST_SAMPLED)]))
        found = keys[_is_available(problem, keys)]
        if len(found) >= MOST_SAMPLED:
            return Entries.from_keys(np.sort(rng.permutation(found)[:MOST_SAMPLED]), m2)
    return Entries.from_keys(_all_available(problem), m2)


def _all_available(problem: Problem) -> Indices:
    m2 = problem.shape[1]
    parts = [np.flatnonzero(free) + rows.start * m2 for rows, free in available_blocks(problem)]
    return np.concatenate(parts)


def _is_available(problem: Problem, keys: Indices) -> Flags:
    m2 = problem.shape[1]
    taken = problem.taken.keys(m2)
    free = (
        np.ones(len(keys), dtype=bool)
        if problem.mask is None
        else np.asarray(problem.mask)[keys // m2, keys % m2]
    )
    return free & ~np.isin(keys, taken)


def screen_best(belief: Belief, problem: Problem, goal: Goal, convert: Convert | None, n: int) -> Entries:
    """Return all available entries, or those that are among the best of their line in some of the draws."""
    m1, m2 = problem.shape
    if m1 * m2 <= MOST_CANDIDATES or problem.limits.plates is not None:
        return Entries.from_keys(_all_available(problem), m2)
    draws = _some_draws(belief)
    lines = {None: 1, "row": m1, "column": m2}[goal.per]
    depth = max(1, min(MOST_CANDIDATES // (len(draws) * lines), n + goal.k))
    found: list[Tops] = [(np.empty(0, dtype=np.int64), np.empty(0))] * len(draws)
    for rows, free in available_blocks(problem):
        taken, every = np.flatnonzero(~free), slice(0, m2)
        for place, s in enumerate(draws):
            x = belief.block(s, rows, every)
            x = goal.sign * (x if convert is None else convert(x, rows, every, s))
            x.reshape(-1)[taken] = -np.inf
            best = _best_entries(x, goal.per, depth)
            best = best[np.isfinite(x.reshape(-1)[best])]
            both = zip(found[place], (best + rows.start * m2, x.reshape(-1)[best]), strict=True)
            keys, values = (np.concatenate(parts) for parts in both)
            found[place] = keys, values
        checkpoint()
    every_draw = (_best_of_lines(keys, values, m2, goal.per, depth) for keys, values in found)
    return Entries.from_keys(np.unique(np.concatenate(list(every_draw))), m2)


def _some_draws(belief: Belief) -> list[int]:
    return [int(s) for s in np.linspace(0, belief.n_draws - 1, min(SCREENS, belief.n_draws)).round()]


def _best_entries(x: Array, per: Line | None, depth: int) -> Indices:
    """Return where the greatest `depth` numbers of each row, of each column or of all are, as places in x.ravel()."""
    n1, n2 = x.shape
    if per is not None:
        axis = 1 if per == "row" else 0
        size = x.shape[axis]
        if depth == 1 and axis:
            place = x.argmax(1)[:, None]
        elif depth == 1:  # two passes along the rows are faster than argmax across them
            at = np.flatnonzero(x == x.max(0))
            return np.asarray(at[np.unique(at % n2, return_index=True)[1]], dtype=np.int64)
        else:
            first = max(size - depth, 0)
            place = np.take(np.argpartition(x, first, axis=axis), np.arange(first, size), axis=axis)
        at = np.arange(n1)[:, None] * n2 + place if axis else place * n2 + np.arange(n2)
        return np.asarray(at.ravel(), dtype=np.int64)
    flat = x.reshape(-1)
    if n1 <= depth:
        return np.argpartition(flat, max(flat.size - depth, 0))[-depth:]
    bound = np.partition(x.max(1), n1 - depth)[n1 - depth]  # so many rows have an entry as great
    place = np.flatnonzero(flat >= bound)
    return place[np.argpartition(flat[place], len(place) - depth)[-depth:]]


def _best_of_lines(keys: Indices, values: Array, m2: int, per: Line | None, depth: int) -> Indices:
    """Return the keys with the greatest values, `depth` of each line."""
    line = _line_of_keys(keys, m2, per)
    order = np.lexsort((-values, line))
    first = np.searchsorted(line[order], line[order])
    return keys[order][np.arange(len(keys)) - first < depth]


def _line_of_keys(keys: Indices, m2: int, per: Line | None) -> Indices:
    return 0 * keys if per is None else keys // m2 if per == "row" else keys % m2


def _draws_at(belief: Belief, convert: Convert | None, entries: Entries) -> Array:
    x = belief.at(*entries)
    return x if convert is None else convert(x, entries.rows, entries.cols, slice(None))


# The gains of candidates, given what is chosen


class _Improvement:
    """The expected improvement of the k best of each line by each candidate; none by what counts already."""

    def __init__(self, draws: Array, line: Indices, tops: Array, times: Array) -> None:
        self.draws, self.line = draws, line
        self.times = times  # each candidate was measured, is pending or chosen
        self.tops = tops  # (S, L, k): the best so far, in no order
        self.least = tops.min(2)  # (S, L)
        self.gains = self._gain(slice(None))

    @classmethod
    def begin(
        cls, belief: Belief, problem: Problem, goal: Goal, convert: Convert | None, candidates: Entries
    ) -> _Improvement:
        """Start from what is measured and pending."""
        draws = goal.sign * _draws_at(belief, convert, candidates)
        known = _best_measured(belief, problem, goal, convert)
        x = goal.sign * _draws_at(belief, convert, known)
        number = _line_numbers(problem, goal)
        lines = {None: 1, "row": problem.shape[0], "column": problem.shape[1]}[goal.per]
        floor = np.minimum(draws.min(1, initial=np.inf), x.min(1, initial=np.inf))
        tops = np.repeat(floor, lines * goal.k).reshape(len(draws), lines, goal.k)
        line = number(known)
        x = x[:, np.argsort(line, kind="stable")]
        which, first = np.unique(np.sort(line), return_index=True)
        if goal.k == 1 and len(which):
            tops[:, which, 0] = np.maximum.reduceat(x, first, axis=1)
        else:
            for one, mine in zip(which, np.split(x, first[1:], axis=1), strict=False):
                mine = np.sort(mine, axis=1)[:, -goal.k :]
                tops[:, one, : mine.shape[1]] = mine
        m2 = problem.shape[1]
        taken = problem.observed.joined(problem.pending).keys(m2)
        return cls(draws, number(candidates), tops, np.isin(candidates.keys(m2), taken).astype(np.float64))

    def now(self) -> Array:
        """Return the gain of every candidate."""
        return self.gains

    def _gain(self, which: Any) -> Array:
        better = self.draws[:, which] - self.least[:, self.line[which]]
        return np.where(self.times[which] > 0, 0.0, np.maximum(better, 0.0, out=better).mean(0))

    def take(self, a: int) -> None:
        """Count a candidate as measured."""
        which, x, s = self.line[a], self.draws[:, a], np.arange(len(self.draws))
        if not self.times[a]:
            worst = self.tops[:, which].argmin(1)
            self.tops[s, which, worst] = np.maximum(self.tops[s, which, worst], x)
        self.times[a] += 1
        self.least[:, which] = self.tops[:, which].min(1)
        same = np.flatnonzero(self.line == which)  # others gain as before
        self.gains[same] = self._gain(same if len(same) < len(self.line) else slice(None))

    def spread(self) -> Array:
        """Return the sd of the candidates, by which to choose where none improves anything."""
        return np.asarray(self.draws.std(0) / (1 + self.times))


def _best_measured(belief: Belief, problem: Problem, goal: Goal, convert: Convert | None) -> Entries:
    m2 = problem.shape[1]
    keys = np.unique(problem.observed.joined(problem.pending).keys(m2))
    if len(keys) <= MOST_MEASURED:
        return Entries.from_keys(keys, m2)
    (i, j), value = Entries.from_keys(keys, m2), np.empty(len(keys))
    draws = np.array(_some_draws(belief))
    step = max(1, BLOCK_NUMBERS // len(draws))
    for start in range(0, len(keys), step):
        part = slice(start, start + step)
        x = np.array([belief.draw_at(s, i[part], j[part]) for s in draws])
        x = x if convert is None else convert(x, i[part], j[part], draws)
        value[part] = goal.sign * x.sum(0)
    lines = {None: 1, "row": problem.shape[0], "column": m2}[goal.per]
    depth = max(goal.k + SPARE, MOST_MEASURED // lines)
    return Entries.from_keys(np.sort(_best_of_lines(keys, value, m2, goal.per, depth)), m2)


def _line_numbers(problem: Problem, goal: Goal) -> Callable[[Entries], Indices]:
    return lambda at: _line_of_keys(at.keys(problem.shape[1]), problem.shape[1], goal.per)


class _Knowledge:
    """The fall of the sum of the targets' variances by each candidate; all are conditioned on what is chosen.

    With x_a and f_b deviations from the means over the draws, over sqrt(S), and G = sum_b f_b f_b', the gain is
    x_a'G x_a / (x_a'x_a + eta2_a). Measuring d turns x into P x and G into P G P with P P = I - d d' / (d'd + eta2_d),
    so that x'G x and x'x need two products a step.
    """

    def __init__(self, x: Array, f: Array, eta2: Array) -> None:
        self.x, self.eta2 = x, eta2  # the working noise of each candidate
        self.G = f @ f.T
        self.told = ((f.T @ x) ** 2).sum(0) if f.shape[1] < len(x) else (x * (self.G @ x)).sum(0)
        self.v = (x**2).sum(0)

    @classmethod
    def begin(cls, belief: Belief, problem: Problem, targets: Array, candidates: Entries) -> _Knowledge:
        """Start from the draws, conditioned on what is pending."""
        S, n = belief.n_draws, len(candidates.rows)
        both = candidates.joined(problem.pending)
        x, eta2 = belief.at(*both), belief.noise_at(*both)
        x, f = (y - y.mean(0) for y in (x, targets))
        field = cls(x / np.sqrt(S), f / np.sqrt(S), eta2)
        for a in range(n, x.shape[1]):
            field.take(a)
        field.x, field.eta2, field.told, field.v = (
            part[..., :n] for part in (field.x, field.eta2, field.told, field.v)
        )
        return field

    def now(self) -> Array:
        """Return the gain of every candidate."""
        return np.asarray(np.maximum(self.told, 0.0) / (self.v + self.eta2))

    def take(self, a: int) -> None:
        """Condition on a measurement of a candidate: x'x falls by x'd d'x / (d'd + eta2)."""
        d = self.x[:, a].copy()
        v = float(d @ d)
        if v <= 0:
            return
        q, Gd = 1 / (v + self.eta2[a]), self.G @ d
        near, told = d @ self.x, Gd @ self.x
        self.told += q * near * (q * float(d @ Gd) * near - 2 * told)
        self.v = np.maximum(self.v - q * near**2, 0.0)
        share = (1 - np.sqrt(self.eta2[a] * q)) / v  # P = I - share d d'
        self.x -= np.outer(d, share * near)
        self.G -= np.outer(share * d, Gd)
        self.G -= np.outer(self.G @ d, share * d)

    def spread(self) -> Array:
        """Return the sd of the candidates."""
        return np.asarray(np.sqrt(self.v))


def _choose_greedily(
    problem: Problem, candidates: Entries, gain: _Improvement | _Knowledge, n: int
) -> Selection:
    """Take the candidate with the greatest gain for its cost, n times, within the limits of the batch."""
    cost = problem.costs.at(*candidates) if len(candidates.rows) else np.empty(0)
    quota, free = Quota(problem.shape, problem.limits), np.ones(len(cost), dtype=bool)
    chosen: list[int] = []
    gains: list[float] = []
    first = 0.0
    while len(chosen) < n:
        free &= (quota.row[candidates.rows] > 0) & (quota.col[candidates.cols] > 0)
        if not free.any():
            break
        now = gain.now()
        score = np.where(free, now / cost, -np.inf)
        if score.max() <= LEAST_GAIN * first:
            score = np.where(free, gain.spread() / cost, -np.inf)
        a = int(score.argmax())
        first = max(first, float(score[a]))
        chosen.append(a)
        gains.append(float(now[a]))
        quota.take(int(candidates.rows[a]), int(candidates.cols[a]))
        gain.take(a)
        free[a] = problem.again
        checkpoint()
    which = np.array(chosen, dtype=np.int64)
    return Selection(
        candidates.rows[which], candidates.cols[which], np.array(gains), cost[which], evaluated=len(cost)
    )


def _choose_plates(
    problem: Problem, candidates: Entries, gain: _Improvement | _Knowledge, n: int
) -> Selection:
    """Take whole rows or columns: those whose entries' gains add up to most for their cost, given the plates before."""
    if problem.limits.block is not None:
        return _choose_block(problem, candidates, gain, problem.limits.block)
    by_row = problem.limits.plates == "rows"
    line, m = (candidates.rows, problem.shape[0]) if by_row else (candidates.cols, problem.shape[1])
    each = problem.costs.at(*candidates)
    cost, open_lines = np.bincount(line, each, m), np.bincount(line, minlength=m) > 0
    which, gains = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    while len(which) <= n and open_lines.any():
        now = gain.now()
        total = np.bincount(line, now, m)
        if not total[open_lines].any():
            total = np.bincount(line, gain.spread(), m)
        best = int(np.where(open_lines, total / np.where(open_lines, cost, 1.0), -np.inf).argmax())
        mine = np.flatnonzero(line == best)
        which.append(mine)
        gains.append(now[mine])  # before they are taken, which changes `now`
        for a in mine:
            gain.take(int(a))
        open_lines[best] = False
        checkpoint()
    at = np.concatenate(which)
    return Selection(
        candidates.rows[at], candidates.cols[at], np.concatenate(gains), each[at], evaluated=len(each)
    )


def _choose_block(
    problem: Problem, candidates: Entries, gain: _Improvement | _Knowledge, block: tuple[int, int]
) -> Selection:
    """Take a block of rows by columns: the one whose entries' gains add up to most for their cost."""
    now, cost = gain.now(), problem.costs.at(*candidates)
    rows, cols = np.unique(candidates.rows), np.unique(candidates.cols)
    worth = np.zeros((len(rows), len(cols)))
    each = now if now.any() else gain.spread()
    worth[np.searchsorted(rows, candidates.rows), np.searchsorted(cols, candidates.cols)] = each / cost
    best = alternate_sums(worth, block)
    within = np.isin(candidates.rows, rows[best[0]]) & np.isin(candidates.cols, cols[best[1]])
    at = np.flatnonzero(within)
    at = at[np.lexsort((candidates.cols[at], candidates.rows[at]))]
    return Selection(candidates.rows[at], candidates.cols[at], now[at], cost[at], evaluated=len(cost))
