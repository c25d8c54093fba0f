"""Integrated variance: the entry whose measurement takes most off the variance of all entries together.

    Gamma    S x S    G / (S m1 m2): the mean over all entries of the variance given W is tr(K Gamma)
    v_a      -        f_a' K f_a
    h_a      -        f_a' K Gamma K f_a: the mean over all entries b of Cov(x_a, x_b)^2

Measuring a takes h_a / (v_a + eta2) off. Unlike information this gain may rise as others join, so nothing is lazy:
each choice brings v and h of every candidate up to date by two products with its features.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxentry.acquisition.criterion import Chosen, require
from maxentry.acquisition.draws import Draws
from maxentry.acquisition.field import direction, with_pending
from maxentry.acquisition.plates import Fall, greedy_plates
from maxentry.acquisition.question import Question
from maxentry.acquisition.room import Room
from maxentry.acquisition.variance import gram
from maxentry.belief import Belief
from maxentry.entries import Entries
from maxentry.kernels.acquisition import EQUAL

Array = NDArray[np.float64]


class IntegratedVariance:
    """Gain: the fall of the mean over all entries of the posterior variance."""

    def choose(self, belief: Belief | None, question: Question, n: int, rng: np.random.Generator) -> Chosen:
        """The entries that take most off the mean variance, greedily."""
        draws = Draws.of(require(belief, question))
        m1, m2 = draws.shape
        Gamma = gram(draws) / (draws.p * m1 * m2)
        if question.limits.plates is not None:
            return greedy_plates(draws, question, n, Fall(Gamma))
        return steepest(draws, Gamma, question, n)


def steepest(draws: Draws, Gamma: Array, question: Question, n: int) -> Chosen:
    """The greedy batch of n entries, with pending ones measured first."""
    eta2, m2 = draws.eta2, question.shape[1]
    W = with_pending(draws, question.pending)
    rows, cols = np.nonzero(question.available(np.arange(question.shape[0]), np.arange(m2)))
    F = draws.features(rows, cols)
    K = np.eye(draws.p) - W.T @ W
    KF = F @ K
    v = np.maximum(np.einsum("ns,ns->n", F, KF), 0.0)
    h = np.einsum("ns,ns->n", KF @ Gamma, KF)
    cost, room = question.costs.at(rows, cols), Room(question.shape, question.limits)
    is_open = np.ones(len(rows), dtype=bool)
    picks, gains = [], []
    while len(picks) < n and is_open.any():
        gain = np.where(is_open, h / (v + eta2), -1.0)
        score = gain / cost
        best = int(np.argmax(score >= score.max() * (1 - EQUAL)))  # the first: lowest row, then column
        picks.append(best)
        gains.append(max(float(gain[best]), 0.0))
        w, _ = direction(F[best], W, eta2)
        g = Gamma @ w
        g -= W.T @ (W @ g)
        c, e = (F @ np.stack([w, g], axis=1)).T
        h = np.maximum(h - 2 * c * e + c * c * (w @ Gamma @ w), 0.0)
        v = np.maximum(v - c * c, 0.0)
        W = np.concatenate([W, w[None]])
        room.takes(rows[best], cols[best])
        is_open &= (room.row[rows] > 0) & (room.col[cols] > 0)
        is_open[best] &= question.again
    chosen = Entries.of(rows[picks], cols[picks])
    return Chosen(*chosen, np.array(gains), cost[picks], len(rows))
