"""Streaming mean and sd of chosen entries over every sweep after settling, stored as a draw or not.

For chain c and entry e, in the user's units: the count n, the mean M and the sum of squares Q around it. A new value x
updates them by n <- n + 1, d = x - M, M <- M + d/n, Q <- Q + d (x - M) (Welford), which stays accurate where the sd
is small beside the mean. Chains are pooled by Chan's formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxentry._types import Array, Indices
from maxentry.belief import BLOCK_NUMBERS
from maxentry.errors import LabelError, ParameterError
from maxentry.kernels import gibbs as kernel
from maxentry.model.likelihood import NoiseLaw
from maxentry.observations import Observations
from maxentry.posterior.chains import ModelSpec, StateObserver, draws_of_cuts
from maxentry.posterior.gibbs import DrawBuffers, Repeats, gather
from maxentry.posterior.intervals import Answers, Deviation
from maxentry.wording import show

DENSE = 10  # entries of the matrix for each that is watched, up to which all are multiplied
COLD = (
    "Rows and columns without a measurement are part of the table where row_labels= and col_labels= of complete name "
    "them, or add_rows and add_cols of a campaign."
)


@dataclass(frozen=True, eq=False, repr=False)
class Watched:
    """Mean and sd of the entries that `watch=` named, over every sweep from the first kept draw on.

    `mean`, `sd` and `mcse` have a number for each, in the order given; `to_frame()` has the labels beside them. Sweeps
    are draws times thin of each chain, so few draws will do where `thin` is as much larger.
    """

    rows: Indices
    cols: Indices
    count: NDArray[np.int64]  # (chain,)
    chain_mean: Array  # (chain, entry)
    squares: Array  # (chain, entry)
    observations: Observations

    @classmethod
    def from_labels(cls, observations: Observations, watch: tuple[Any, Any]) -> Watched:
        """Watch the entries (rows[k], cols[k]) of a pair (rows, cols), given by label; no chains yet."""
        if not (isinstance(watch, tuple) and len(watch) == 2):
            raise ParameterError(f"watch must be a pair (rows, cols), a tuple, got {show(watch)}")
        i, j = entry_positions(observations, *watch)
        nothing = np.zeros((0, i.size))
        return cls(i.ravel(), j.ravel(), np.zeros(0, np.int64), nothing, nothing, observations)

    def for_chains(self, n_chains: int) -> Watched:
        """The same entries, with zero counts for this many chains."""
        shape = (n_chains, self.rows.size)
        return replace(
            self, count=np.zeros(n_chains, np.int64), chain_mean=np.zeros(shape), squares=np.zeros(shape)
        )

    def select_chains(self, which: list[int]) -> Watched:
        """Keep only these chains, as copies."""
        return replace(
            self, count=self.count[which], chain_mean=self.chain_mean[which], squares=self.squares[which]
        )

    def observer(self, fit: ModelSpec) -> StateObserver:
        """The callback that `run_chains` calls with the states of a chain."""
        split = fit.likelihood.split
        repeats = gather(fit.likelihood, fit.statements(self.observations)) if split else None
        return lambda c, states: self.update(c, states, fit, repeats)

    def update(
        self, c: int, states: DrawBuffers | None, fit: ModelSpec, repeats: Repeats | None = None
    ) -> None:
        """Add states of chain c, in standard units, or forget those so far (None).

        Threads of different chains may call this at the same time.
        """
        assert fit.units is not None
        if states is None:
            self.count[c], self.chain_mean[c], self.squares[c] = 0, 0.0, 0.0
            return
        shift, scale = fit.units
        for left, right, row, col, scalars in zip(*states, strict=True):
            z = scalars[kernel.MU] + self._pattern(left, right, row, col)
            law, own = _law(scalars, fit, self.observations.shape), _deviation(scalars, fit, repeats)
            answers = Answers(law, fit.value_map, fit.likelihood, own)
            points = [*answers.points((shift + scale * z)[None], self.rows, self.cols)]
            x = np.asarray(sum(weight * y[0] for weight, y in points))
            self.count[c] += 1
            d = x - self.chain_mean[c]
            self.chain_mean[c] += d / self.count[c]
            self.squares[c] += d * (x - self.chain_mean[c])
            if repeats is not None:
                self.squares[c] += sum(weight * (y[0] - x) ** 2 for weight, y in points)

    def _pattern(self, left: Array, right: Array, row: Array, col: Array) -> Array:
        """a_i'b_j + r_i + c_j of the entries; of many, by all of the matrix, which takes a fraction of the time."""
        if len(left) * len(right) <= min(DENSE * self.rows.size, BLOCK_NUMBERS):
            whole = np.asarray(left, dtype=float) @ right.T + row[:, None] + col
            return np.asarray(whole.ravel()[self._places])
        low_rank = np.einsum("er,er->e", left[self.rows], right[self.cols], dtype=float)
        return np.asarray(low_rank + row[self.rows] + col[self.cols])

    @cached_property
    def _places(self) -> Indices:
        return self.rows * self.observations.shape[1] + self.cols

    def __repr__(self) -> str:
        return f"Watched: {self.rows.size} entries over {self.n} states; .mean, .sd, .mcse, .to_frame()"

    @property
    def n(self) -> int:
        """Number of states of all chains."""
        return int(self.count.sum())

    @cached_property
    def mean(self) -> Array:
        """Posterior mean of each entry."""
        mean: Array = self.count @ self.chain_mean / self.n
        return mean

    @cached_property
    def sd(self) -> Array:
        """Posterior standard deviation of each entry; NaN for a single state."""
        if self.n < 2:
            return np.full(self.rows.size, np.nan)
        between = self.count @ (self.chain_mean - self.mean) ** 2
        sd: Array = np.sqrt((self.squares.sum(0) + between) / (self.n - 1))
        return sd

    @cached_property
    def mcse(self) -> Array:
        """Monte Carlo standard error of the mean, from the spread of the chains' means; NaN for a single chain.

        At least that of independent states: the means of a few chains may be close by chance.
        """
        n_chains = len(self.count)
        if n_chains < 2:
            return np.full(self.rows.size, np.nan)
        error: Array = self.chain_mean.std(0, ddof=1) / np.sqrt(n_chains)
        np.maximum(error, self.sd / np.sqrt(self.n), out=error)
        return error

    def to_frame(self) -> Any:
        """One line an entry: row, col, mean, sd, mcse."""
        measures = {"mean": self.mean, "sd": self.sd, "mcse": self.mcse}
        return self.observations.form.entries(self.rows, self.cols, measures)


def _law(scalars: Array, fit: ModelSpec, shape: tuple[int, int]) -> NoiseLaw:
    """The noise and the cuts of one state, in the user's units."""
    assert fit.units is not None
    cuts = draws_of_cuts(scalars, fit)[None] if fit.likelihood.levels else None
    var = np.array([fit.units.scale**2 * scalars[kernel.ETA2]])
    kept = fit.likelihood.count_weights(shape)
    spread = 1 / np.sqrt(scalars[None, -kept:]) if kept else None
    return NoiseLaw(var, None, cuts, spread, fit.noise == "rows")


def _deviation(scalars: Array, fit: ModelSpec, repeats: Repeats | None) -> Deviation | None:
    """The deviations of entries in one state, where they are told from noise."""
    if repeats is None or fit.units is None:
        return None
    eta2, share = fit.units.scale**2 * scalars[kernel.ETA2], scalars[kernel.SHARE]
    return Deviation.of(repeats, np.array([eta2 * (1 - share)]), np.array([eta2 * share]))


def entry_positions(observations: Observations, rows: Any, cols: Any) -> tuple[Indices, Indices]:
    """Positions of the entries (rows[k], cols[k]) given by label; a single row or column is used for all."""
    try:
        i, j = observations.row_index(rows), observations.col_index(cols)
    except LabelError as error:
        if observations.row_labels is None and observations.col_labels is None:
            raise
        raise LabelError(error.message, hint=COLD, **error.fields) from None
    try:
        i, j = np.broadcast_arrays(i, j)
    except ValueError:
        raise ParameterError(
            f"rows and cols must be of the same length, or one of them a single label, got {i.size} and {j.size}"
        ) from None
    return i, j
