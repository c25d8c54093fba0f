"""The next entries to measure: criteria that read a `Belief` and answer a `Question`."""

from maxentry.acquisition import total_variance
from maxentry.acquisition.criteria import CRITERIA, choose
from maxentry.acquisition.problem import Chosen, Costs, Criterion, Limits, Question

__all__ = ["CRITERIA", "Chosen", "Costs", "Criterion", "Limits", "Question", "choose", "total_variance"]
