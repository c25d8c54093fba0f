"""Time of choosing 8 entries of 1,000 x 1,000 for each goal, beside `fill`."""

import time

import numpy as np

from maxentry.acquisition import Problem, choose
from maxentry.acquisition.targets import GoalCriterion
from maxentry.belief import Belief, Entries
from maxentry.model.goal import Goal

M, S, RANK, MEASURED, N = 1000, 384, 10, 20_000, 8  # as many draws as the default of `complete`
GOALS = ("best", "best 100", "best per row", "best per column", "rank rows", "rank columns", "threshold 3")
TURNS = 3


def belief(m: int = M, s: int = S) -> Belief:
    """Draws around one matrix; rows and columns differ in size, as real ones do (log sd 0.5)."""
    rng = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        size = np.exp(0.5 * rng.normal(size=(m, 1)))
        sides.append(size * (rng.normal(size=(m, RANK)) + 0.3 * rng.normal(size=(s, m, RANK))))
    effects = [0.1 * rng.normal(size=(s, m)) for _ in range(2)]
    return Belief(sides[0], sides[1], *effects, rng.normal(size=s), np.full(s, 0.1))


def measure_times() -> dict[str, float]:
    """CPU seconds of each, the least of some turns, in which all take part."""
    b, rng = belief(), np.random.default_rng(1)
    problem = Problem((M, M), Entries.from_lists(*rng.integers(M, size=(2, MEASURED))))
    rules = {"fill": "predictive_variance"}
    rules |= {goal: GoalCriterion(Goal.parse(goal), None) for goal in GOALS}
    least = dict.fromkeys(rules, np.inf)
    small = belief(30, 8), Problem((30, 30))
    for rule in rules.values():
        choose(rule, *small, 2, rng=np.random.default_rng(0))  # loads the compiled kernels
    for _ in range(TURNS):
        for name, rule in rules.items():
            start = time.process_time()
            choose(rule, b, problem, N, rng=np.random.default_rng(0))
            least[name] = min(least[name], time.process_time() - start)
            print(f"{name}: {least[name]:.2f} s", flush=True)
    return least
