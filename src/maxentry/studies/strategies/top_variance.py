"""The n entries of greatest posterior variance, without a joint batch: what most people would do first.

The posterior is the campaign's own, so the only difference from `predictive_variance` is that no entry of a batch knows
of the others. With batches of one the two choose alike.
"""

from __future__ import annotations

import numpy as np

from maxentry.acquisition import Chosen, Question
from maxentry.acquisition.draw_field import Draws
from maxentry.belief import Belief
from maxentry.campaign import fits
from maxentry.entries import Entries
from maxentry.studies.case import Case
from maxentry.studies.sources import Truth
from maxentry.studies.strategies.rule import Asked, candidates, chosen, policy
from maxentry.studies.strategies.strategy import Array, Policy, Strategy


def largest(score: Array, question: Question, n: int) -> Chosen:
    """The n available entries of greatest score per cost; of equals, those that come first by position."""
    i, j = candidates(question)
    per_cost = score[i, j] / question.costs.at(i, j)
    most = np.argsort(-per_cost, kind="stable")[:n]
    return chosen(question, Entries(i[most], j[most]), score[i[most], j[most]])


def top_variance(belief: Belief, question: Question, n: int) -> Chosen:
    """The n entries whose draws vary most, by 1/2 log(1 + v / eta2) per cost."""
    m1, m2 = belief.shape
    field = Draws.of(belief)
    gain = 0.5 * np.log1p(field.variances(np.arange(m1), np.arange(m2)) / field.eta2)
    return largest(gain, question, n)


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    def rule(asked: Asked) -> Chosen:
        posterior = fits.posterior(asked.state, asked.cache, progress=False)
        return top_variance(posterior.belief, asked.question, asked.n)

    return policy(rule, "top variance")


TOP_VARIANCE = Strategy("top_variance", "greatest variances, no joint batch", policy=_policy, fits=True)
