"""Whole rows or columns at once: all their available entries, in order of position.

A plate's gain is joint: 1/2 log det(I + Cov/eta2) of its entries, or what they take off the mean variance together;
its score is that over the sum of its entries' costs. Ties go to the lowest row or column. The gains told are those of
the plate's entries one after the other, which add up to the plate's. Here K is kept as it is (p x p), since plates may
have more entries than there are features.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from maxentry.acquisition.field import Field, compressed, lower, with_pending
from maxentry.acquisition.problem import Chosen, Question
from maxentry.entries import Entries
from maxentry.kernels.variances import EQUAL

Array = NDArray[np.float64]


class Gain(Protocol):
    """What a plate is worth."""

    falls: bool  # gains only fall as others join, so that earlier ones bound later ones

    def of(self, F: Array, K: Array, eta2: float) -> float:
        """Of entries with features F together, given K."""

    def of_one(self, Kf: Array, v: float, eta2: float) -> float:
        """Of one entry with variance v given K."""


class Information:
    """1/2 log det(I + F K F' / eta2)."""

    falls = True

    def of(self, F: Array, K: Array, eta2: float) -> float:
        """In nats."""
        covariance = F @ K @ F.T / eta2
        return float(np.linalg.slogdet(covariance + np.eye(len(F))).logabsdet) / 2

    def of_one(self, Kf: Array, v: float, eta2: float) -> float:
        """In nats."""
        return float(np.log1p(v / eta2)) / 2


class Fall:
    """What is taken off tr(K Gamma), the mean variance."""

    falls = False

    def __init__(self, Gamma: Array) -> None:
        self.Gamma = Gamma

    def of(self, F: Array, K: Array, eta2: float) -> float:
        """tr{(F K F' + eta2 I)^-1 F K Gamma K F'}."""
        FK = F @ K
        factor = lower(FK @ F.T + eta2 * np.eye(len(F))), True
        return float(np.einsum("ns,ns->", cho_solve(factor, FK), FK @ self.Gamma))

    def of_one(self, Kf: Array, v: float, eta2: float) -> float:
        """h / (v + eta2)."""
        return float(Kf @ self.Gamma @ Kf) / (v + eta2)


def plate(question: Question, k: int) -> Entries:
    """The available entries of row (or column) k."""
    m1, m2 = question.shape
    one = np.array([k])
    if question.limits.plates == "rows":
        cols = np.flatnonzero(question.available(one, np.arange(m2))[0])
        return Entries.of(np.full(len(cols), k), cols)
    rows = np.flatnonzero(question.available(np.arange(m1), one)[:, 0])
    return Entries.of(rows, np.full(len(rows), k))


def n_plates(question: Question) -> int:
    """How many rows (or columns) there are."""
    return question.shape[0 if question.limits.plates == "rows" else 1]


def plates(question: Question, which: NDArray[np.integer], n: int) -> Entries:
    """The first n of these plates that have available entries."""
    entries, found = Entries.none(), 0
    for k in which:
        if found == n:
            break
        one = plate(question, int(k))
        entries, found = entries.joined(one), found + (len(one.rows) > 0)
    return entries


def greedy_plates(field: Field, question: Question, n: int, gain: Gain) -> Chosen:
    """n plates, each the best given what is measured, pending and chosen before it."""
    W = with_pending(field, question.pending)
    K = np.eye(field.p) - W.T @ W
    score = np.full(n_plates(question), np.inf)
    seen = np.zeros(len(score), dtype=np.int64)  # entries of the plates that were scored
    chosen, gains = Entries.none(), [np.empty(0)]
    for _ in range(n):
        best = _best_plate(field, question, gain, K, score, seen)
        if best < 0:
            break
        entries = plate(question, best)
        K, gained = _measure(field, entries, gain, K)
        chosen = chosen.joined(entries)
        gains.append(gained)
        score[best] = -np.inf
    cost = question.costs.at(*chosen)
    return Chosen(*chosen, np.concatenate(gains), cost, int(seen.sum()))


def _best_plate(
    field: Field, question: Question, gain: Gain, K: Array, score: Array, seen: NDArray[np.int64]
) -> int:
    """The plate of greatest score, -1 if none; scores are brought up to date where they may be the greatest."""
    if not gain.falls:
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
            entries = plate(question, int(k))
            score[k], seen[k] = _score(field, question, gain, K, entries), len(entries.rows)
            fresh[k] = True


def _score(field: Field, question: Question, gain: Gain, K: Array, entries: Entries) -> float:
    if len(entries.rows) == 0:
        return -np.inf
    F = compressed(field.features(*entries))  # the gain depends on F'F only
    return gain.of(F, K, field.eta2) / float(question.costs.at(*entries).sum())


def _measure(field: Field, entries: Entries, gain: Gain, K: Array) -> tuple[Array, Array]:
    """K once the entries are measured, one after the other, and the gain of each."""
    K, gains = K.copy(), np.empty(len(entries.rows))
    for n, f in enumerate(field.features(*entries)):
        Kf = K @ f
        v = max(float(f @ Kf), 0.0)
        gains[n] = gain.of_one(Kf, v, field.eta2)
        K -= np.outer(Kf, Kf / (v + field.eta2))
    return K, gains
