"""Balanced: rows and columns measured as evenly as the available entries allow, counting observed and pending."""

import numpy as np

from maxentry import design
from maxentry.acquisition.criterion import Chosen
from maxentry.acquisition.designs import Part, within_limits, without_gain
from maxentry.acquisition.plates import n_plates, plates
from maxentry.acquisition.question import Question
from maxentry.belief import Belief
from maxentry.entries import Entries


class Balanced:
    """Level counts of rows and of columns; of plates, those measured least come first."""

    def choose(self, belief: Belief | None, question: Question, n: int, rng: np.random.Generator) -> Chosen:
        """n entries that level the counts."""
        measured = question.observed.joined(question.pending)
        if question.limits.plates is not None:
            lines = measured.rows if question.limits.plates == "rows" else measured.cols
            count = np.bincount(lines, minlength=n_plates(question))
            order = np.lexsort((rng.permutation(len(count)), count))
            return without_gain(question, plates(question, order, n))

        def layout(k: int, part: Part, chosen: Entries) -> Entries:
            m1, m2 = question.shape
            counted = measured.joined(chosen)
            return design.balanced(
                part.shape, k, part.mask, rng,
                row_counts=np.bincount(counted.rows, minlength=m1)[part.rows],
                col_counts=np.bincount(counted.cols, minlength=m2)[part.cols],
                taken=part.taken,
            )  # fmt: skip

        return without_gain(question, within_limits(question, n, layout))
