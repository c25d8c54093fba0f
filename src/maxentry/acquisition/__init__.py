"""Choose the next entries to measure: `choose(criterion, belief, problem, n)` returns a `Selection`.

This module has the names of the criteria, for settings, options and forms. Everything else is imported when it is first
used (PEP 562): the criteria load Numba.
"""

from typing import TYPE_CHECKING

CRITERION_NAMES = (
    "maxent",
    "maxent_nearest",
    "predictive_variance",
    "integrated_variance",
    "uniform",
    "balanced",
)
WITHOUT_BELIEF = ("uniform", "balanced")  # designs: the other criteria need a fitted model

if TYPE_CHECKING:
    from maxentry.acquisition.criteria import CRITERIA as CRITERIA
    from maxentry.acquisition.criteria import choose as choose
    from maxentry.acquisition.problem import Costs as Costs
    from maxentry.acquisition.problem import Criterion as Criterion
    from maxentry.acquisition.problem import Limits as Limits
    from maxentry.acquisition.problem import Problem as Problem
    from maxentry.acquisition.problem import Selection as Selection
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from maxentry.acquisition import criteria, problem

        value = globals()[name] = getattr(criteria if hasattr(criteria, name) else problem, name)
        return value


__all__ = [
    "CRITERIA",
    "CRITERION_NAMES",
    "WITHOUT_BELIEF",
    "Costs",
    "Criterion",
    "Limits",
    "Problem",
    "Selection",
    "choose",
]
