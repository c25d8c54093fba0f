"""What the draws say of entries: their mean, sd and intervals, and intervals of new measurements.

Dense maps (`Maps`) are computed block by block, and refused where they would not fit. `predict` is for chosen entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from maxentry import frames
from maxentry._types import Array, Indices
from maxentry.belief import BLOCK_NUMBERS, Belief
from maxentry.errors import ParameterError, SizeError, is_whole
from maxentry.model.noise import NoiseLaw
from maxentry.observations import Observations
from maxentry.transform import ValueMap
from maxentry.wording import show

LARGEST_MAP = 250_000_000  # entries of a dense map: 2 GB
PLAIN = ValueMap()


@dataclass(frozen=True, eq=False)
class Prediction:
    """Chosen entries: `low` and `high` bound the entry, `new_low` and `new_high` a new measurement of it."""

    rows: tuple[Any, ...]
    cols: tuple[Any, ...]
    mean: Array
    sd: Array
    low: Array
    high: Array
    new_low: Array
    new_high: Array
    level: float
    frame_kind: str | None = None

    def to_frame(self) -> Any:
        """A frame with one line per entry."""
        names = ("mean", "sd", "low", "high", "new_low", "new_high")
        columns: dict[str, Any] = {"row": self.rows, "col": self.cols}
        columns |= {name: np.ravel(getattr(self, name)) for name in names}
        return frames.make_frame(columns, self.frame_kind)


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (isinstance(level, int | float | np.floating) and 0 < level < 1):
        raise ParameterError(f"the level must lie between 0 and 1, like 0.9, got {show(level)}")


def quantiles(draws: Array, level: float) -> tuple[Array, Array]:
    """Return the central interval over the first axis.

    The s-th smallest of S draws is taken as the quantile s / (S + 1), so that a new draw falls between the ends with
    exactly this probability.
    """
    tail = 0.5 * (1 - level)
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0, method="weibull", overwrite_input=True)
    return low, high


def interval_map(
    belief: Belief, level: float, noise: NoiseLaw | None = None, value_map: ValueMap = PLAIN
) -> tuple[Array, Array]:
    """Dense maps (low, high) of the entries, or with `noise` of new measurements of them, in the user's units."""
    low, high = np.empty(belief.shape), np.empty(belief.shape)
    extra = noise.stratified() if noise else np.zeros((1, belief.n_draws))
    for rows, cols in belief.blocks(extra.size):
        x = np.stack([belief.block(s, rows, cols) for s in range(belief.n_draws)])
        spread = noise.spread_at(rows, cols) if noise else 1.0
        noisy = (x[None] + extra[:, :, None, None] * spread).reshape(extra.size, *x.shape[1:])
        inverse = partial(value_map.inverse, rows=rows, cols=cols)
        low[rows, cols], high[rows, cols] = map(inverse, quantiles(noisy, level))
    return low, high


def mean_map(belief: Belief, value_map: ValueMap) -> Array:
    """Dense map of the mean of the entries, in the user's units."""
    if value_map.plain:
        return belief.mean()
    mean = np.zeros(belief.shape)
    for rows, cols in belief.blocks():
        for s in range(belief.n_draws):
            mean[rows, cols] += value_map.inverse(belief.block(s, rows, cols), rows, cols) / belief.n_draws
    return mean


def sd_map(belief: Belief, mean: Array, value_map: ValueMap) -> Array:
    """Dense map of the standard deviation of the entries, around the map of the mean, in the user's units."""
    if value_map.plain:
        return belief.sd(mean)
    squares = np.zeros(belief.shape)
    for rows, cols in belief.blocks():
        for s in range(belief.n_draws):
            deviation = value_map.inverse(belief.block(s, rows, cols), rows, cols) - mean[rows, cols]
            squares[rows, cols] += deviation**2
    return np.sqrt(squares / max(belief.n_draws - 1, 1))


class Maps:
    """The mean, sd, intervals and samples of every entry, m1 x m2 arrays in the user's units."""

    def __init__(self, belief: Belief, noise: NoiseLaw, value_map: ValueMap) -> None:
        self._belief, self._noise, self._value_map = belief, noise, value_map

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of every entry; read-only, since it is cached: `.copy()` to change it."""
        self.check_size()
        return _read_only(mean_map(self._belief, self._value_map))

    @cached_property
    def sd(self) -> Array:
        """Posterior standard deviation of every entry; read-only like the mean."""
        self.check_size()
        return _read_only(sd_map(self._belief, self.mean, self._value_map))

    def interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): each entry, without noise, lies between with this probability."""
        return self._ends(level, None)

    def predictive_interval(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high): a new measurement of the entry falls between with this probability."""
        return self._ends(level, self._noise)

    def _ends(self, level: float, noise: NoiseLaw | None) -> tuple[Array, Array]:
        check_level(level)
        self.check_size()
        return interval_map(self._belief, level, noise, self._value_map)

    def sample(self, n: int = 1, seed: int | None = None) -> Array:
        """`n` matrices, (n, m1, m2), without replacement while there are enough draws."""
        if not is_whole(n, 1):
            raise ParameterError(f"the number of samples must be a whole number of at least 1, got {show(n)}")
        if seed is not None and not is_whole(seed, 0):
            raise ParameterError(f"seed must be a whole number of at least 0 or None, got {show(seed)}")
        self.check_size(n)
        rng, S = np.random.default_rng(seed), self._belief.n_draws
        which = rng.choice(S, n, replace=n > S)
        every = slice(None), slice(None)
        return np.stack([self._value_map.inverse(self._belief.draw(int(s)), *every) for s in which])

    def check_size(self, copies: int = 1) -> None:
        """Refuse maps that would not fit in memory."""
        m1, m2 = self._belief.shape
        if m1 * m2 * copies > LARGEST_MAP:
            raise SizeError(
                f"a dense map of {m1} x {m2} entries{f', {copies} times,' if copies > 1 else ''} would take "
                f"{8e-9 * m1 * m2 * copies:.3g} GB; ask for the entries you need with .predict(rows, cols)"
            )


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def predict(
    belief: Belief, i: Indices, j: Indices, level: float, noise: NoiseLaw, observations: Observations,
    value_map: ValueMap = PLAIN,
) -> Prediction:  # fmt: skip
    """Mean, sd and intervals of the entries (i, j), computed in blocks, so that there may be many."""
    flat_i, flat_j = i.ravel(), j.ravel()
    out = np.empty((6, flat_i.size))
    extra = noise.stratified()
    step = max(1, BLOCK_NUMBERS // extra.size)
    for start in range(0, flat_i.size, step):
        part = slice(start, start + step)
        x = belief.at(flat_i[part], flat_j[part])
        spread = noise.spread_at(flat_i[part], flat_j[part])
        noisy = (x[None] + extra[:, :, None] * spread).reshape(extra.size, -1)
        y = value_map.inverse(x, flat_i[part], flat_j[part])
        sd = y.std(0, ddof=1) if y.shape[0] > 1 else np.zeros(y.shape[1])
        out[:2, part] = y.mean(0), sd
        ends = *quantiles(noisy, level), *quantiles(x, level)
        out[2:, part] = value_map.inverse(ends, flat_i[part], flat_j[part])
    mean, sd, new_low, new_high, low, high = (row.reshape(i.shape) for row in out)
    rows, cols = _labels_at(observations.row_labels, flat_i), _labels_at(observations.col_labels, flat_j)
    return Prediction(rows, cols, mean, sd, low, high, new_low, new_high, level, observations.frame_kind)


def _labels_at(labels: tuple[Any, ...] | None, index: Indices) -> tuple[Any, ...]:
    return tuple(int(k) if labels is None else labels[k] for k in index)
