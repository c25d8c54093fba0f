"""What an entry would teach, from the dense covariance of all entries: slow, and obvious."""

from __future__ import annotations

import numpy as np

from maxentry.belief import Belief


def lessons_slow(belief: Belief, i: int, j: int) -> tuple[float, float, float, float]:
    """Share of all variance that measuring entry (i, j) takes away; of that its own, its row's and its column's."""
    m1, m2 = belief.shape
    x = np.array([belief.draw(s).ravel() for s in range(belief.n_draws)])
    covariance = np.cov(x, rowvar=False, ddof=0)
    a = i * m2 + j
    fall = (covariance[a] ** 2 / (covariance[a, a] + belief.noise_var.mean())).reshape(m1, m2)
    own, row, col = fall[i, j], fall[i].sum() - fall[i, j], fall[:, j].sum() - fall[i, j]
    return fall.sum() / np.trace(covariance), own / fall.sum(), row / fall.sum(), col / fall.sum()
