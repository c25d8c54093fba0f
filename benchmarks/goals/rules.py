"""Rules that choose a batch. Each takes what is known so far and returns keys, row times columns + column.

uniform, fill (today's default), variance (integrated variance) and those of goals are the package's own. Greatest mean,
Thompson, top-two Thompson and Bayesian optimisation are written here as others use them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from benchmarks.goals import gaussian_process
from benchmarks.goals.measures import Truth

from maxentry import Posterior
from maxentry.acquisition import Problem, choose
from maxentry.acquisition.targets import GoalCriterion
from maxentry.belief import Entries
from maxentry.model.goal import Goal

SECOND = 0.5  # chance that top-two Thompson takes the best of another draw
EXPLORED = 8  # one in so many entries of a batch is chosen as for `fill`


class Now(NamedTuple):
    """What a rule may know, and which table it is about (of whose values it sees the measured ones)."""

    truth: Truth
    keys: np.ndarray  # measured
    posterior: Posterior | None
    rng: np.random.Generator

    @property
    def free(self) -> np.ndarray:
        free = self.truth.known.ravel().copy()
        free[self.keys] = False
        return np.flatnonzero(free)

    @property
    def problem(self) -> Problem:
        observed = Entries.from_keys(self.keys, self.truth.M.shape[1])
        return Problem(self.truth.M.shape, observed=observed, mask=self.truth.known)

    def draws(self, keys: np.ndarray) -> np.ndarray:
        assert self.posterior is not None
        entries = Entries.from_keys(keys, self.truth.M.shape[1])
        return self.posterior.answers.entries(self.posterior.belief.at(*entries), *entries)


Rule = Callable[[Now, int], np.ndarray]


def uniform(now: Now, n: int) -> np.ndarray:
    return now.rng.permutation(now.free)[:n]


def by_criterion(criterion: str) -> Rule:
    def rule(now: Now, n: int) -> np.ndarray:
        assert now.posterior is not None
        chosen = choose(criterion, now.posterior.belief, now.problem, n, rng=now.rng)
        return chosen.rows * now.truth.M.shape[1] + chosen.cols

    return rule


def by_goal(words: str, explored: int = 0) -> Rule:
    """The package's rule of a goal; explored: one in so many entries as for `fill`, given the others."""

    def rule(now: Now, n: int) -> np.ndarray:
        assert now.posterior is not None
        goal = words.format(k=now.truth.k, threshold=now.truth.threshold)
        answers, m2 = now.posterior.goal_answers, now.truth.M.shape[1]
        others = n // explored if explored else 0
        chosen = choose(
            GoalCriterion(Goal.parse(goal), answers.of_pattern.convert, answers.convert),
            now.posterior.belief, now.problem, n - others, rng=now.rng,
        )  # fmt: skip
        keys = chosen.rows * m2 + chosen.cols
        if others:
            problem = replace(now.problem, pending=Entries.from_keys(keys, m2))
            chosen = choose("predictive_variance", now.posterior.belief, problem, others, rng=now.rng)
            keys = np.concatenate([keys, chosen.rows * m2 + chosen.cols])
        return keys

    return rule


# Rules for the best: of each line of the lines that `columns` names, or of all


def lines(now: Now, keys: np.ndarray, columns: bool) -> np.ndarray:
    return keys % now.truth.M.shape[1] if columns else 0 * keys


def mean(columns: bool) -> Rule:
    """Those of greatest mean; for columns the best of each, then the second best of each, and so on."""

    def rule(now: Now, n: int) -> np.ndarray:
        free = now.free
        score = now.draws(free).mean(0)
        line = lines(now, free, columns)
        order = np.lexsort((-score, line))
        rank = np.empty(len(free), dtype=int)
        rank[order] = np.arange(len(free)) - np.searchsorted(line[order], line[order])
        return free[np.lexsort((-score, rank * columns))[:n]]

    return rule


def thompson(columns: bool, second: float = 0.0) -> Rule:
    """One draw for each place in the batch: its best entry that is free; columns in turns.

    second: the chance that another draw is looked at, until one says otherwise than the first (top-two Thompson).
    """

    def rule(now: Now, n: int) -> np.ndarray:
        free, m2, rng = now.free, now.truth.M.shape[1], now.rng
        x, line = now.draws(free), lines(now, free, columns)
        turns = np.concatenate([rng.permutation(m2) for _ in range(n // m2 + 1)]) if columns else np.zeros(n)
        open_, chosen = np.ones(len(free), dtype=bool), []
        for turn in turns:
            at = np.flatnonzero(open_ & (line == turn))
            if not len(at) or len(chosen) == n:
                continue
            a = at[x[rng.integers(len(x)), at].argmax()]
            if rng.random() < second:
                others = at[x[rng.permutation(len(x))[:50]][:, at].argmax(1)]
                a = next((b for b in others if b != a), a)
            open_[a] = False
            chosen.append(free[a])
        return np.array(chosen, dtype=np.int64)

    return rule


def bayesian_optimisation(columns: bool) -> Rule:
    """Expected improvement of the best, of all or of each column, by draws of a Gaussian process."""

    def rule(now: Now, n: int) -> np.ndarray:
        m1, m2 = now.truth.M.shape
        free, rows, cols = now.free, now.keys // m2, now.keys % m2
        process = gaussian_process.fit((m1, m2), rows, cols, now.truth.M[rows, cols])
        both = np.concatenate([now.keys, free])
        x = process.draw(both, gaussian_process.DRAWS, now.rng)
        known, x = x[:, : len(rows)], x[:, len(rows) :]
        line, mine = lines(now, free, columns), lines(now, now.keys, columns)
        best = np.full((len(x), m2 if columns else 1), x.min())
        for which in np.unique(mine):
            best[:, which] = known[:, mine == which].max(1)
        open_, chosen = np.ones(len(free), dtype=bool), []
        for _ in range(min(n, len(free))):
            gain = np.maximum(x - best[:, line], 0.0).mean(0)
            if gain[open_].max() <= 0:
                gain = x.mean(0) - x.min()
            a = int(np.where(open_, gain, -np.inf).argmax())
            best[:, line[a]] = np.maximum(best[:, line[a]], x[:, a])
            open_[a] = False
            chosen.append(free[a])
        return np.array(chosen, dtype=np.int64)

    return rule


def doubt(now: Now, n: int) -> np.ndarray:
    """The entries of which it is least sure whether they exceed the threshold."""
    free = now.free
    p = (now.draws(free) > now.truth.threshold).mean(0)
    return free[np.argsort(np.abs(p - 0.5), kind="stable")[:n]]


RULES: dict[str, Rule] = {
    "uniform": uniform,
    "fill": by_criterion("predictive_variance"),
    "best: goal": by_goal("best {k}"),
    "best: mean": mean(False),
    "best: Thompson": thompson(False),
    "best: top-two Thompson": thompson(False, SECOND),
    "best: GP": bayesian_optimisation(False),
    "column: goal": by_goal("best per column"),
    "column: mean": mean(True),
    "column: Thompson": thompson(True),
    "column: GP": bayesian_optimisation(True),
    "rank: variance": by_criterion("integrated_variance"),
    "rank: goal": by_goal("rank rows"),
    "threshold: goal": by_goal("threshold {threshold}"),
    "threshold: doubt": doubt,
    "best: goal, 1 in 8 as fill": by_goal("best {k}", EXPLORED),
    "column: goal, 1 in 8 as fill": by_goal("best per column", EXPLORED),
}
