"""Integrated variance: the entry whose measurement takes most off the variance of all entries together.

Gain: the fall of the mean over all entries of the posterior variance, h_a / (v_a + eta2) (see `reduction`).
"""

import numpy as np

from maxentry.acquisition.criterion import Chosen, require
from maxentry.acquisition.draws import Draws
from maxentry.acquisition.plates import Fall, greedy_plates
from maxentry.acquisition.question import Question
from maxentry.acquisition.reduction import steepest
from maxentry.acquisition.variance import gram
from maxentry.belief import Belief


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
