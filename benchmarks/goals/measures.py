"""How well a goal is reached: recall of the best, regret of columns, order of rows, entries on the wrong side."""

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

SHARE = 0.05  # of the entries that count as the best
EXCEEDED = 0.8  # the quantile that is the threshold


class Truth(NamedTuple):
    """A table whose values are all known to the judge, large ones good; NaN where nothing can be measured."""

    M: np.ndarray
    known: np.ndarray
    k: int  # how many are the best
    top: np.ndarray  # which these are; with ties more than k
    threshold: float
    averages: np.ndarray  # of the rows, over what is known

    @classmethod
    def of(cls, M: np.ndarray) -> "Truth":
        known = ~np.isnan(M)
        values = np.sort(M[known])
        k = max(1, round(SHARE * values.size))
        exceeded = np.quantile(values, EXCEEDED)
        below = values[values < exceeded]
        threshold = (
            exceeded + below[-1]
        ) / 2  # between two values: what is tied with the quantile exceeds it
        with np.errstate(invalid="ignore"):
            top = known & (values[-k] <= M)
        return cls(M, known, k, top, float(threshold), np.nanmean(M, axis=1))


def recall(truth: Truth, rows: np.ndarray, cols: np.ndarray) -> float:
    """The share of the best entries that were measured."""
    found = np.zeros(truth.M.shape, dtype=bool)
    found[rows, cols] = True
    return float((found & truth.top).sum() / truth.top.sum())


def column_regret(truth: Truth, estimate: np.ndarray) -> float:
    """The best of each column less the one with the greatest estimate; mean over columns, in sds of the table."""
    M = np.where(truth.known, truth.M, -np.inf)
    taken = np.where(truth.known, estimate, -np.inf).argmax(0)
    return float(np.mean(M.max(0) - M[taken, np.arange(M.shape[1])]) / np.nanstd(truth.M))


def measured_regret(truth: Truth, rows: np.ndarray, cols: np.ndarray) -> float:
    """The same for the best that was measured; where nothing was, an average entry is taken."""
    M = np.where(truth.known, truth.M, -np.inf)
    taken = np.full(M.shape, -np.inf)
    taken[rows, cols] = truth.M[rows, cols]
    best = taken.max(0)
    best = np.where(np.isfinite(best), best, np.nanmean(truth.M, axis=0))
    return float(np.mean(M.max(0) - best) / np.nanstd(truth.M))


def tau(truth: Truth, averages: np.ndarray) -> float:
    """Kendall's tau of the rows' estimated and true averages."""
    return float(kendalltau(averages, truth.averages).statistic)


def chance_of_best(truth: Truth, averages: np.ndarray) -> float:
    """P(best) of the row that is the best; averages: (S, m1), in every draw."""
    return float(np.mean(averages.argmax(1) == truth.averages.argmax()))


def misclassified(truth: Truth, chances: np.ndarray) -> float:
    """The share of the entries on the wrong side of the threshold."""
    wrong = (chances > 0.5) != (truth.threshold < truth.M)
    return float(wrong[truth.known].mean())
