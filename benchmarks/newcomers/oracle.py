"""Who knows more than a fit can: a newcomer's average under the 2-parameter logistic law itself, by sums over a grid.

With p_j(s) the probability of a right answer of skill s, P(right) = 1 / (1 + exp(-a_j (s - d_j))), and f(s) the mean of
all p_j(s), the posterior of s is a vector of weights on a grid, and the fall of the variance of f by question j is
exact: q m1^2 + (1 - q) m0^2 - m^2 with q the probability of a right answer and m1, m0 the means of f after either.

One oracle knows a_j and d_j. The other knows their law and the true skills of the fitted models, and has of a_j and d_j
what the answers of these say: no method that has only these answers can be expected to do better.
"""

from typing import NamedTuple

import numpy as np

SKILL = np.linspace(-4.5, 4.5, 121)
LOG_SLOPE, DIFFICULTY = (
    part.ravel() for part in np.meshgrid(np.linspace(-1.4, 1.4, 23), np.linspace(-3.4, 3.4, 41))
)
SCALE, SPREAD = 1.7, 0.4  # a_j = SCALE exp(SPREAD z), z, s and d_j standard normal


class Table(NamedTuple):
    """Simulated answers, right (1) or wrong (0), with what made them."""

    skill: np.ndarray  # (m, 1)
    difficulty: np.ndarray  # (800,)
    slope: np.ndarray  # (800,), a_j / SCALE
    p: np.ndarray  # (m, 800)
    answers: np.ndarray

    @classmethod
    def simulate(cls, seed: int, models: int) -> "Table":
        rng = np.random.default_rng([17, seed])
        skill, difficulty = rng.normal(size=(models, 1)), rng.normal(size=800)
        slope = np.exp(SPREAD * rng.normal(size=800))
        p = chances(skill, SCALE * slope, difficulty)
        return cls(skill, difficulty, slope, p, (rng.random(p.shape) < p).astype(float))


def chances(skill: np.ndarray, slope: np.ndarray, difficulty: np.ndarray) -> np.ndarray:
    """The probabilities of right answers."""
    return 1 / (1 + np.exp(-slope * (skill - difficulty)))


def known_questions(table: Table) -> np.ndarray:
    """p_j(s) on the grid, (121, 800), of who knows the questions."""
    return chances(SKILL[:, None], SCALE * table.slope, table.difficulty)


def learnt_questions(table: Table, models: int) -> np.ndarray:
    """p_j(s) on the grid of who knows the skills of the first models and their answers."""
    z = SCALE * np.exp(LOG_SLOPE) * (table.skill[:models] - DIFFICULTY)
    right, wrong = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    told = table.answers[:models].T
    log_w = told @ right + (1 - told) @ wrong - 0.5 * ((LOG_SLOPE / SPREAD) ** 2 + DIFFICULTY**2)
    w = np.exp(log_w - log_w.max(1, keepdims=True))
    return chances(SKILL[:, None], SCALE * np.exp(LOG_SLOPE), DIFFICULTY) @ (w / w.sum(1, keepdims=True)).T


def estimates(
    P: np.ndarray, right: np.ndarray, order: np.ndarray | None, ends: tuple[int, ...]
) -> list[float]:
    """The estimated average after so many questions, in rounds of five: those of an order, or chosen."""
    f, w, free, found = P.mean(1), np.exp(-(SKILL**2) / 2), np.ones(P.shape[1], dtype=bool), []
    w /= w.sum()
    for n in range(0, max(ends), 5):
        if order is None:
            q, a, m = w @ P, (w * f) @ P, w @ f
            fall = a**2 / q + (m - a) ** 2 / (1 - q)
            these = np.argsort(-np.where(free, fall, -1.0), kind="stable")[:5]
        else:
            these = order[n : n + 5]
        free[these] = False
        w = w * np.where(right[these] > 0, P[:, these], 1 - P[:, these]).prod(1)
        w /= w.sum()
        if n + 5 in ends:
            found.append(float(w @ f))
    return found
