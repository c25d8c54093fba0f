"""Choose the next entries to measure: `choose(criterion, belief, problem, n)` returns a `Selection`."""

from maxentry.acquisition import total_variance
from maxentry.acquisition.criteria import CRITERIA, choose
from maxentry.acquisition.problem import Costs, Criterion, Limits, Problem, Selection

__all__ = ["CRITERIA", "Costs", "Criterion", "Limits", "Problem", "Selection", "choose", "total_variance"]
