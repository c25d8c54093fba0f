"""Whole rows or columns at once: all their available entries, in order of position.

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
