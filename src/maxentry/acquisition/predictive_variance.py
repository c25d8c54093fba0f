"""Predictive variance: the entropy of the next observations under a Gaussian approximation of the posterior.

Cov(x_a, x_b | y) is that of the draws, so the subspaces' uncertainty is in it; a batch is its greedy determinant.
"""

import numpy as np

from maxentry.acquisition.criterion import Chosen, require
from maxentry.acquisition.draws import Draws
from maxentry.acquisition.question import Question
from maxentry.acquisition.select import most_informative
from maxentry.belief import Belief


class PredictiveVariance:
    """Gain: 1/2 log(1 + Var(x_ij | y, pending, batch so far) / eta2), in nats."""

    def choose(self, belief: Belief | None, question: Question, n: int, rng: np.random.Generator) -> Chosen:
        """The entries whose observations have the greatest joint entropy, greedily."""
        return most_informative(Draws.of(require(belief, question)), question, n)
