"""Uniform: entries, or plates, at random; the baseline."""

import numpy as np

from maxentry import design
from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.designs import Part, within_limits, without_gain
from maxentry.acquisition.plates import n_plates, plates
from maxentry.acquisition.question import Question
from maxentry.belief import Belief
from maxentry.entries import Entries


class Uniform:
    """Every available entry, or plate, is as likely as any other."""

    def choose(self, belief: Belief | None, question: Question, n: int, rng: np.random.Generator) -> Chosen:
        """n entries at random."""
        if question.limits.plates is not None:
            return without_gain(question, plates(question, rng.permutation(n_plates(question)), n))

        def layout(k: int, part: Part, chosen: Entries) -> Entries:
            return design.uniform(part.shape, k, mask=part.mask, taken=part.taken, seed=rng)

        return without_gain(question, within_limits(question, n, layout))
