"""Why an entry is worth measuring, from the dense draws and their covariance: slow, and obvious."""

from __future__ import annotations

import numpy as np

from maxentry.belief import Belief
from maxentry.model.entropy import coherence
from maxentry.posterior.posterior import Posterior


def information_gain_slow(belief: Belief, i: int, j: int) -> tuple[float, float, float, float]:
    """Share of all variance that measuring entry (i, j) takes away; of that its own, its row's and its column's."""
    m1, m2 = belief.shape
    x = np.array([belief.draw(s).ravel() for s in range(belief.n_draws)])
    covariance = np.cov(x, rowvar=False, ddof=0)
    a = i * m2 + j
    fall = (covariance[a] ** 2 / (covariance[a, a] + belief.noise_var.mean())).reshape(m1, m2)
    own, row, col = fall[i, j], fall[i].sum() - fall[i, j], fall[:, j].sum() - fall[i, j]
    return fall.sum() / np.trace(covariance), own / fall.sum(), row / fall.sum(), col / fall.sum()


def sd_ratio_slow(belief: Belief, i: int, j: int) -> float:
    """The sd of an entry on the model's scale, beside the median of all entries."""
    sd = np.array([belief.draw(s) for s in range(belief.n_draws)]).std(0)
    return float(sd[i, j] / np.median(sd))


def coherences_slow(posterior: Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Of rows and columns, in units of the average; of a posterior whose chains have one rank."""
    R = posterior.rank
    sides = (posterior.belief.left, posterior.belief.right)
    rows, cols = (np.mean([coherence(np.linalg.qr(F)[0]) for F in side], axis=0) for side in sides)
    return rows * len(rows) / R, cols * len(cols) / R
