"""How many new entries each row (or column) should get, if nothing but its own limit stood in the way."""

import numpy as np

from maxentry.entries import Indices


def level(counts: Indices, limits: Indices, n: int) -> Indices:
    """Whole x with sum n and 0 <= x <= limits that makes sum (counts + x)^2 least; ties go to the first.

    Water is poured in: x = counts raised to a common level t, so far as the limits allow, and what is
    left of n goes one each to those at t. Any other x has a unit to move from a higher total to a lower.
    """

    def poured(t: int) -> Indices:
        return np.clip(t - counts, 0, limits)

    low, high = int(counts.min()), int((counts + limits).max())
    while low < high:
        t = (low + high + 1) // 2
        low, high = (t, high) if poured(t).sum() <= n else (low, t - 1)
    x = poured(low)
    open_ = np.flatnonzero((counts + x == low) & (x < limits))
    x[open_[: n - int(x.sum())]] += 1
    return x
