"""Time of choosing 8 entries of 1,000 x 1,000 for each goal, beside `fill`, and what a sample of candidates loses.

Of a large matrix, rankings and thresholds choose among 5,000 entries at random. Of 250 x 250, where all 62,500 can be
looked at, the gain of 8 entries chosen so is compared with that of 8 chosen among all, for 5 samples.
"""

import time
from unittest import mock

import numpy as np

from maxentry import Observations
from maxentry.acquisition import Problem, choose, targets
from maxentry.acquisition.targets import GoalCriterion
from maxentry.belief import Belief, Entries
from maxentry.model.goal import Goal
from maxentry.model.likelihood import NoiseLaw
from maxentry.posterior.intervals import Answers, Deviation

M, S, RANK, MEASURED, N = 1000, 384, 10, 20_000, 8  # as many draws as the default of `complete`
GOALS = ("best", "best 100", "best per row", "best per column", "rank rows", "rank columns", "threshold 3")
OWN = (
    "best",
    "best per column",
)  # also where entries deviate from the pattern by themselves, and 20,000 are measured
TURNS = 3
LOST = (250, 128, 5)  # rows and columns, draws, samples of candidates
SAMPLED = ("rank rows", "rank columns", "threshold 3")


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
    rows, cols = rng.integers(M, size=(2, MEASURED))
    problem = Problem((M, M), Entries.from_lists(rows, cols))
    rules = {"fill": "predictive_variance"}
    rules |= {goal: GoalCriterion(Goal.parse(goal), None) for goal in GOALS}
    told = Observations.of((rows, cols, b.at(rows, cols)[0] + rng.normal(size=rows.size)), shape=(M, M))
    answers = Answers(NoiseLaw(b.noise_var), deviation=Deviation.suppose(told, b.noise_var))
    own = {f"{goal}, deviations": GoalCriterion(Goal.parse(goal), None, answers.convert) for goal in OWN}
    least = dict.fromkeys(rules | own, np.inf)
    small = belief(30, 8), Problem((30, 30))
    for rule in rules.values():
        choose(rule, *small, 2, rng=np.random.default_rng(0))  # loads the compiled kernels
    for _ in range(TURNS):
        for name, rule in (rules | own).items():
            start = time.process_time()
            choose(rule, b, problem, N, rng=np.random.default_rng(0))
            least[name] = min(least[name], time.process_time() - start)
            print(f"{name}: {least[name]:.2f} s", flush=True)
    return least


def measure_loss() -> dict[str, list[float]]:
    """The gain of 8 entries chosen among a sample of candidates, over that of 8 chosen among all; one a sample."""
    m, s, samples = LOST
    b, problem, found = belief(m, s), Problem((m, m)), {}

    def gain(rule: GoalCriterion, most: int, seed: int) -> float:
        limits = {"MOST_CANDIDATES": most, "MOST_TARGETS": m * m}
        with mock.patch.multiple(targets, **limits):
            return float(choose(rule, b, problem, N, rng=np.random.default_rng(seed)).gain.sum())

    for words in SAMPLED:
        rule = GoalCriterion(Goal.parse(words), None)
        best = gain(rule, m * m, 0)
        found[words] = [gain(rule, targets.MOST_CANDIDATES, seed) / best for seed in range(samples)]
        print(words, found[words], flush=True)
    return found
