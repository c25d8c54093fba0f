"""Dense maps of a posterior as plain arrays, made only when asked for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maxentry.belief import Belief
from maxentry.errors import ParameterError, SizeError
from maxentry.posterior import intervals
from maxentry.transform import Transform

Array = NDArray[np.float64]

LARGEST_MAP = 250_000_000  # entries of a dense map: 2 GB


class Maps:
    """The mean, sd, intervals and samples of every entry, m1 x m2 arrays in the user's units."""

    def __init__(self, belief: Belief, noise: intervals.Noise, transform: Transform) -> None:
        self._belief, self._noise, self._transform = belief, noise, transform

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of every entry; read-only, since it is kept: `.copy()` to change it."""
        self.check_size()
        return _read_only(intervals.mean_map(self._belief, self._transform))

    @cached_property
    def sd(self) -> Array:
        """Posterior standard deviation of every entry; read-only as the mean."""
        self.check_size()
        return _read_only(intervals.sd_map(self._belief, self.mean, self._transform))

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): each entry, without noise, lies between with this probability."""
        intervals.check_level(level)
        self.check_size()
        return intervals.interval_map(self._belief, level, None, self._transform)

    def predictive_interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): a new measurement of the entry falls between with this probability."""
        intervals.check_level(level)
        self.check_size()
        return intervals.interval_map(self._belief, level, self._noise, self._transform)

    def sample(self, n: int = 1, seed: int | None = None) -> Array:
        """`n` matrices, (n, m1, m2), without replacement while there are enough draws."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ParameterError(f"the number of samples must be a whole number of at least 1, got {n!r}")
        self.check_size(n)
        rng, S = np.random.default_rng(seed), self._belief.n_draws
        which = rng.choice(S, n, replace=n > S)
        return np.stack([self._transform.inverse(self._belief.draw(int(s))) for s in which])

    def check_size(self, copies: int = 1) -> None:
        """Refuse so many maps where they would not fit."""
        m1, m2 = self._belief.shape
        if m1 * m2 * copies > LARGEST_MAP:
            raise SizeError(
                f"a dense map of {m1} x {m2} entries{f', {copies} times,' if copies > 1 else ''} would take "
                f"{8e-9 * m1 * m2 * copies:.3g} GB; ask for the entries you need with .predict(rows, cols)"
            )


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
