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


# AutoML errors have no law that could be given. There the oracle knows every value of the other rows, and takes the
# average of a newcomer for linear in what is told: by their covariance, with a ridge chosen by leaving fifths of them
# out. In a linear rule answers do not change what is worth asking, so there are no rounds.

RIDGES = 10.0 ** np.arange(-6, 0)


def linear_errors(others: np.ndarray, new: np.ndarray, n: int, order: np.ndarray | None) -> np.ndarray:
    """Errors of the averages of new rows from n columns: the first of an order, or chosen."""
    fold, spread = np.arange(len(others)) % 5, others.var()

    def held_out(ridge: float) -> float:
        parts = [(others[fold != k], others[fold == k]) for k in range(5)]
        found = [_linear_errors(train, held, n, order, ridge) for train, held in parts]
        return float(np.square(np.concatenate(found)).mean())

    return _linear_errors(others, new, n, order, min(spread * RIDGES, key=held_out))


def _linear_errors(
    others: np.ndarray, new: np.ndarray, n: int, order: np.ndarray | None, ridge: float
) -> np.ndarray:
    centre, m = others.mean(0), others.shape[1]
    cov = np.cov(others.T) + ridge * np.eye(m)
    these = choose_columns(cov, n) if order is None else order[:n]
    weights = np.linalg.solve(cov[np.ix_(these, these)], cov[these].mean(1))
    return np.asarray(centre.mean() + (new - centre)[:, these] @ weights - new.mean(1))


def choose_columns(cov: np.ndarray, n: int) -> np.ndarray:
    """Columns one by one, each with the largest fall of the variance of the average."""
    left, chosen = cov.copy(), list[int]()
    for _ in range(n):
        fall = left.mean(1) ** 2 / np.maximum(np.diag(left), 1e-12 * cov.max())
        fall[chosen] = -1.0
        j = int(fall.argmax())
        chosen.append(j)
        left -= np.outer(left[:, j], left[j]) / left[j, j]
    return np.array(chosen)
