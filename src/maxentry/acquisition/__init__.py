"""The next entries to measure: criteria that read a `Belief` and answer a `Question`."""

from maxentry.acquisition import variance
from maxentry.acquisition.choose import CRITERIA, choose
from maxentry.acquisition.criterion import Chosen, Criterion
from maxentry.acquisition.question import Costs, Limits, Question

__all__ = ["CRITERIA", "Chosen", "Costs", "Criterion", "Limits", "Question", "choose", "variance"]
