"""Maps in cells the slow and obvious way: the dense map of the whole matrix, cut into blocks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from maxentry.belief import Belief
from maxentry.transform import Transform


def dense(belief: Belief, transform: Transform, what: str, level: float = 0.9) -> np.ndarray:
    """The map of every entry, from the draws of every entry."""
    draws = np.stack([belief.draw(s) for s in range(belief.n_draws)])
    if what == "mean":
        return transform.inverse(draws).mean(0)
    if what == "sd":
        return transform.inverse(draws).std(0, ddof=1)
    tail = 0.5 * (1 - level)
    low, high = transform.inverse(np.quantile(draws, [tail, 1 - tail], axis=0, method="weibull"))
    return high - low


def in_cells(values: np.ndarray, rows: list[int], cols: list[int], squared: bool) -> np.ndarray:
    """Means over the blocks between these edges, or the roots of the means of squares."""
    blocks = [
        [values[top:bottom, left:right] for left, right in pairwise(cols)] for top, bottom in pairwise(rows)
    ]
    if squared:
        return np.array([[np.sqrt((block**2).mean()) for block in line] for line in blocks])
    return np.array([[block.mean() for block in line] for line in blocks])
