"""The cheapest entries first, whatever they teach: what a thrifty person does where entries have costs.

Without it a rule that weighs information by cost could look good only because it is thrifty.
"""

from __future__ import annotations

import numpy as np

from maxentry.acquisition import Selection
from maxentry.entries import Entries
from maxentry.studies.case import Case
from maxentry.studies.sources import Truth
from maxentry.studies.strategies.rule import Asked, candidates, chosen, policy
from maxentry.studies.strategies.strategy import Policy, Strategy


def cheapest(asked: Asked) -> Selection:
    """The n entries that cost least; equals in random order."""
    i, j = candidates(asked.question)
    shuffled = asked.rng.permutation(len(i))
    least = shuffled[np.argsort(asked.question.costs.at(i[shuffled], j[shuffled]), kind="stable")[: asked.n]]
    return chosen(asked.question, Entries(i[least], j[least]))


def _policy(truth: Truth, case: Case, seed: int) -> Policy:
    return policy(cheapest, "cheapest")


CHEAPEST = Strategy("cheapest", "cheapest first", policy=_policy, needs=("cost",))
