"""Plates: whole rows or columns at once, or a block of rows by columns; all their available entries, in order.

A plate's gain is joint: 1/2 log det(I + Cov/eta2) of its entries, or what they take off the mean variance together;
its score is the gain over the sum of its entries' costs. Ties go to the lowest row or column. The gains returned are
those of the plate's entries one after the other, which add up to the plate's. K is held as p x p numbers, since plates
may have more entries than there are features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from maxentry._io import checkpoint
from maxentry._types import Array, Indices
from maxentry.acquisition.draw_field import Field, all_directions, cholesky_factor, compress
from maxentry.acquisition.problem import Problem, Selection
from maxentry.belief import Entries
from maxentry.kernels.variances import EQUAL


def greedy_plates(field: Field, problem: Problem, n: int, Gamma: Array | None = None) -> Selection:
    """n plates, each the best given what is measured, pending and chosen before it.

    Gamma: that of the mean variance, tr(K Gamma), if the gain is what is taken off it; None if the gain is information.
    """
    if problem.limits.block is not None:
        return _greedy_block(field, problem, problem.limits.block, Gamma)
    W = all_directions(field, problem.pending)
    K = np.eye(field.p) - W.T @ W
    score = np.full(count_plates(problem), np.inf)
    seen = np.zeros(len(score), dtype=np.int64)  # entries of the plates that were scored
    chosen, gains = Entries.none(), [np.empty(0)]
    for _ in range(n):
        best = _best_plate(field, problem, Gamma, K, score, seen)
        if best < 0:
            break
        entries = plate_entries(problem, best)
        K, gained = _measure(field, entries, Gamma, K)
        chosen = chosen.joined(entries)
        gains.append(gained)
        score[best] = -np.inf
    cost = problem.costs.at(*chosen)
    return Selection(*chosen, np.concatenate(gains), cost, int(seen.sum()))


def _best_plate(
    field: Field, problem: Problem, Gamma: Array | None, K: Array, score: Array, seen: Indices
) -> int:
    """The plate of greatest score, -1 if none; scores are updated where they may be the greatest."""
    if Gamma is not None:  # only information falls as others join, so that earlier scores are bounds
        score[score > -np.inf] = np.inf
    fresh = np.zeros(len(score), dtype=bool)
    while True:
        near = score >= score.max() * (1 - EQUAL)
        best = int(np.argmax(near))
        if score[best] == -np.inf:
            return -1
        stale = np.flatnonzero(near & ~fresh)
        if len(stale) == 0:
            return best
        for k in stale:
            checkpoint()
            entries = plate_entries(problem, int(k))
            score[k], seen[k] = _score(field, problem, Gamma, K, entries), len(entries.rows)
            fresh[k] = True


def _score(field: Field, problem: Problem, Gamma: Array | None, K: Array, entries: Entries) -> float:
    if len(entries.rows) == 0:
        return -np.inf
    F = compress(field.features(*entries))  # the gain depends on F'F only
    return _joint_gain(F, K, field.eta2, Gamma) / float(problem.costs.at(*entries).sum())


def _measure(field: Field, entries: Entries, Gamma: Array | None, K: Array) -> tuple[Array, Array]:
    """K once the entries are measured, one after the other, and the gain of each."""
    K, gains = K.copy(), np.empty(len(entries.rows))
    for n, f in enumerate(field.features(*entries)):
        Kf = K @ f
        v = max(float(f @ Kf), 0.0)
        gains[n] = _single_gain(Kf, v, field.eta2, Gamma)
        K -= np.outer(Kf, Kf / (v + field.eta2))
    return K, gains


def _joint_gain(F: Array, K: Array, eta2: float, Gamma: Array | None) -> float:
    """The gain of entries with features F together: 1/2 log det(I + F K F' / eta2), in nats.

    With Gamma, what they take off tr(K Gamma): tr{(F K F' + eta2 I)^-1 F K Gamma K F'}.
    """
    if Gamma is None:
        return float(np.linalg.slogdet(F @ K @ F.T / eta2 + np.eye(len(F))).logabsdet) / 2
    FK = F @ K
    factor = cholesky_factor(FK @ F.T + eta2 * np.eye(len(F))), True
    return float(np.einsum("ns,ns->", cho_solve(factor, FK), FK @ Gamma))


def _single_gain(Kf: Array, v: float, eta2: float, Gamma: Array | None) -> float:
    """The gain of one entry with variance v."""
    return float(np.log1p(v / eta2)) / 2 if Gamma is None else float(Kf @ Gamma @ Kf) / (v + eta2)


def plate_entries(problem: Problem, k: int) -> Entries:
    """The available entries of row (or column) k."""
    m1, m2 = problem.shape
    one = np.array([k])
    if problem.limits.plates == "rows":
        cols = np.flatnonzero(problem.available(one, np.arange(m2))[0])
        return Entries.from_lists(np.full(len(cols), k), cols)
    rows = np.flatnonzero(problem.available(np.arange(m1), one)[:, 0])
    return Entries.from_lists(rows, np.full(len(rows), k))


def count_plates(problem: Problem) -> int:
    """How many rows (or columns) there are."""
    return problem.shape[0 if problem.limits.plates == "rows" else 1]


def first_plates(problem: Problem, which: NDArray[np.integer], n: int) -> Entries:
    """The first n of these plates that have available entries."""
    entries, count = Entries.none(), 0
    for k in which:
        if count == n:
            break
        one = plate_entries(problem, int(k))
        entries, count = entries.joined(one), count + (len(one.rows) > 0)
    return entries


# A block: the rows and columns whose available entries, measured together, have the greatest gain. It is divided by
# their mean cost, not by the sum: a plate is better for having more of its wells in use.
#
# The search begins with the block whose single gains add up to most. Then rows are chosen anew, one after the other by
# joint gain, for the columns of the block, then columns for the rows, as long as the joint gain grows.

MOST_LINES = 400  # rows, or columns, among which a block is searched
ROUNDS = 6
MOST_FEATURES = 1000  # with more, the block of the single gains is taken: joint gains would take minutes


def _greedy_block(field: Field, problem: Problem, block: tuple[int, int], Gamma: Array | None) -> Selection:
    """The entries of the best block that was found."""
    W = all_directions(field, problem.pending)
    K = np.eye(field.p) - W.T @ W
    lines = screen_lines(problem)
    gains = np.zeros(tuple(map(len, lines)))
    for a, i in enumerate(lines[0]):
        checkpoint()
        F = field.features(np.full(len(lines[1]), i), lines[1])
        v = np.maximum((F * F).sum(1) - ((F @ W.T) ** 2).sum(1), 0.0)
        gains[a] = np.log1p(v / field.eta2)
    gains = np.where(problem.available(*lines), gains / problem.costs.at(lines[0][:, None], lines[1]), 0.0)
    rows, cols = (line[at] for line, at in zip(lines, alternate_sums(gains, block), strict=True))

    def total(rows: Indices, cols: Indices) -> float:
        return score_block(field, problem, Gamma, K, block_entries(problem, rows, cols))

    best, by_rows = total(rows, cols), True
    for _ in range(ROUNDS if field.p <= MOST_FEATURES else 0):
        chosen = _greedy_lines(field, problem, Gamma, K, lines, cols if by_rows else rows, block, by_rows)
        pair = (chosen, cols) if by_rows else (rows, chosen)
        gained = total(*pair)
        if not by_rows and gained <= best * (1 + EQUAL):
            break
        if gained > best:
            best, (rows, cols) = gained, pair
        by_rows = not by_rows
    entries = block_entries(problem, rows, cols)
    _, each = _measure(field, entries, Gamma, K)
    return Selection(*entries, each, problem.costs.at(*entries), gains.size)


def _greedy_lines(
    field: Field, problem: Problem, Gamma: Array | None, K: Array, lines: tuple[Indices, Indices],
    across: Indices, block: tuple[int, int], by_rows: bool,
) -> Indices:  # fmt: skip
    """Choose the rows (or columns) of a block for given columns (or rows), each given those before it."""
    candidates = lines[0] if by_rows else lines[1]
    score = np.full(len(candidates), np.inf)
    chosen: list[int] = []

    def entries(k: int) -> Entries:
        one = candidates[k : k + 1]
        return block_entries(problem, one, across) if by_rows else block_entries(problem, across, one)

    while len(chosen) < min(block[0 if by_rows else 1], len(candidates)):
        if Gamma is not None:  # only information falls as others join, so that earlier scores are bounds
            score[score > -np.inf] = np.inf
        fresh = np.zeros(len(score), dtype=bool)
        while not fresh[best := int(score.argmax())] and score[best] > -np.inf:
            checkpoint()
            score[best], fresh[best] = score_block(field, problem, Gamma, K, entries(best)), True
        if score[best] == -np.inf:
            break
        K, _ = _measure(field, entries(best), Gamma, K)
        chosen.append(best)
        score[best] = -np.inf
    return np.sort(candidates[chosen])


def score_block(field: Field, problem: Problem, Gamma: Array | None, K: Array, entries: Entries) -> float:
    """The joint gain of a part of a block over the mean cost of its entries."""
    return _score(field, problem, Gamma, K, entries) * len(entries.rows) if len(entries.rows) else -np.inf


def block_entries(problem: Problem, rows: Indices, cols: Indices) -> Entries:
    """The available entries of these rows and columns, row by row."""
    a, b = np.nonzero(problem.available(rows, cols))
    return Entries.from_lists(rows[a], cols[b])


def screen_lines(problem: Problem) -> tuple[Indices, Indices]:
    """The rows and the columns with most available entries, at most MOST_LINES of each, in order."""
    m1, m2 = problem.shape
    taken, mask = problem.taken, problem.mask
    free = (
        [np.full(m1, m2), np.full(m2, m1)]
        if mask is None
        else [np.asarray(mask).sum(axis) for axis in (1, 0)]
    )
    sides = zip(free, taken, strict=True)
    left = [whole - np.bincount(used, minlength=len(whole)) for whole, used in sides]
    rows, cols = (np.sort(np.argsort(-n, kind="stable")[:MOST_LINES]) for n in left)
    return rows, cols


def alternate_sums(gains: Array, block: tuple[int, int]) -> tuple[Indices, Indices]:
    """The rows and columns of a block whose gains add up to most, found by choosing each for the other in turn."""
    rows, cols = np.arange(gains.shape[0]), np.arange(gains.shape[1])
    for _ in range(ROUNDS):
        rows = np.sort(np.argsort(-gains[:, cols].sum(1), kind="stable")[: block[0]])
        cols = np.sort(np.argsort(-gains[rows].sum(0), kind="stable")[: block[1]])
    return rows, cols


def level_block(problem: Problem, counts: tuple[Indices, Indices], rng: np.random.Generator) -> Entries:
    """The entries of a block of the rows and columns that were measured least, without a model."""
    assert problem.limits.block is not None
    lines = screen_lines(problem)
    rows, cols = (
        1 / (1.0 + count[line]) + 1e-6 * rng.random(len(line))
        for count, line in zip(counts, lines, strict=True)
    )
    weights = np.where(problem.available(*lines), rows[:, None] + cols, 0.0)
    at = alternate_sums(weights, problem.limits.block)
    return block_entries(problem, lines[0][at[0]], lines[1][at[1]])
