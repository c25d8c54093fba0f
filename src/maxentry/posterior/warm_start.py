"""Warm starts: continue the chains of an earlier posterior after measurements, rows or columns were added.

New rows and columns start at zero and new Student weights at one, until their first draw. Nothing is annealed again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import DataError, LabelError, ParameterError
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec, transform_values
from maxentry.posterior.gibbs import GibbsState, Units, name_farthest, standard_units
from maxentry.posterior.schedule import WORK, Sampling, sweep_work

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
FEW = 0.03  # share of new observations up to which chains hardly have to move
COSTLY = WORK / (32 * 200)  # multiplications of a sweep from which a default population has under 32 chains
FEW_SETTLE, FEW_THIN = 6, 1
UNITS_RANGE = (
    1e6  # of the spread of new data over that of the old; beyond it double precision runs out of digits
)


def check_units(start: Posterior, observations: Observations) -> None:
    """Refuse data of another order of magnitude than those of `start`, in whose units its chains are."""
    if same_magnitude(start, observations):
        return
    z, old = transform_values(start.fit.transform, observations), start.fit.units or Units(0.0, 1.0)
    raise DataError(
        f"expected values like those of start= (spread {old.scale:.3g}), got {name_farthest(z, old.shift)}; "
        "correct the value, or leave start= out"
    )


def same_magnitude(start: Posterior, observations: Observations) -> bool:
    """Whether the chains of `start` can go on with these data without running out of digits."""
    fit = start.fit
    if fit.units is None or fit.priors is not None:
        return True
    values = transform_values(fit.transform, observations).values
    new, old = standard_units(values, fit.effects), fit.units
    near = abs(new.shift - old.shift) < UNITS_RANGE * old.scale
    return near and 1 / UNITS_RANGE < new.scale / old.scale < UNITS_RANGE


def restart_chains(
    start: Posterior,
    observations: Observations,
    fit: ModelSpec,
    sampling: str | Sampling,
    seed: np.random.SeedSequence,
) -> tuple[Sampling, tuple[Chain, ...]]:
    """Return how long to run, and the chains of `start` on the new observations with fresh random streams."""
    rows, cols = _positions(start.observations, observations)
    plan = Sampling.resolve(sampling, observations.shape, observations.n, start.rank)
    if not isinstance(sampling, Sampling):
        plan = _shorten(plan, start, observations, rows, cols)
    plan = replace(plan, anneal=0, chains=len(start.chains))
    (m1, m2), chains = observations.shape, []
    match = (
        MeasurementMatch.find(start.observations, observations, rows, cols)
        if fit.noise == "student"
        else None
    )
    for chain, child in zip(start.chains, seed.spawn(len(start.chains)), strict=True):
        old = chain.state
        left, right = _move_rows(old.left, rows, m1), _move_rows(old.right, cols, m2)
        weights = np.empty(0) if match is None else match.move(old.weights)
        stream = dict(np.random.PCG64(child).state)
        chains.append(Chain(chain.rank, GibbsState(left, right, old.scalars.copy(), weights), stream))
    return plan, tuple(chains)


def _shorten(
    plan: Sampling, start: Posterior, observations: Observations, rows: Indices, cols: Indices
) -> Sampling:
    """Shorten a default plan: the chains start near the new posterior.

    Draws are independent mostly because chains are many, not because those of one chain are far apart. Where few
    observations are new and sweeps are costly, a few sweeps to settle and draws of consecutive sweeps are enough.
    """
    costly = sweep_work(observations.shape, observations.n, start.rank) > COSTLY
    if (
        plan.kind == "population"
        and costly
        and change_fraction(start.observations, observations, rows, cols) <= FEW
    ):
        return replace(plan, settle=FEW_SETTLE, thin=FEW_THIN)
    return replace(plan, settle=max(1, (plan.anneal + plan.settle) // 6), thin=max(1, plan.thin // 2))


def change_fraction(old: Observations, new: Observations, rows: Indices, cols: Indices) -> float:
    """Return the share of measurements that only one of the two has: added, corrected or removed.

    rows, cols: positions of the old rows and columns in the new matrix.
    """
    if abs(new.n - old.n) > FEW * new.n:  # more than few anyway
        return abs(new.n - old.n) / new.n
    match = MeasurementMatch.find(old, new, rows, cols)
    same = int((old.values[match.before] == new.values[match.after]).sum())
    return (old.n + new.n - 2 * same) / new.n


class MeasurementMatch(NamedTuple):
    """Positions of the measurements that two sets of observations share; replicates are matched in order."""

    before: Indices
    after: Indices
    n: int  # measurements of the new ones

    @classmethod
    def find(cls, old: Observations, new: Observations, rows: Indices, cols: Indices) -> MeasurementMatch:
        """Match by entry; rows, cols: positions of the old rows and columns in the new matrix."""
        m2 = new.shape[1]
        keys = rows[old.rows] * m2 + cols[old.cols]
        order = np.argsort(keys, kind="stable")
        earlier, later = keys[order], new.rows.astype(np.int64) * m2 + new.cols  # sorted, both
        which = np.arange(new.n) - np.searchsorted(later, later)  # of the measurements of one entry
        at = np.searchsorted(earlier, later) + which
        there = np.flatnonzero(earlier[np.minimum(at, old.n - 1)] == later)
        there = there[at[there] < old.n]
        return cls(order[at[there]], there, new.n)

    def move(self, weights: Array) -> Array:
        """Student weights at their new positions; new measurements start at weight one."""
        moved = np.ones(self.n)
        if weights.size:
            moved[self.after] = weights[self.before]
        return moved


def _positions(old: Observations, new: Observations) -> tuple[Indices, Indices]:
    """Positions of the old rows and columns in the new matrix."""
    if any(a > b for a, b in zip(old.shape, new.shape, strict=True)):
        raise ParameterError(
            f"start= is of a {old.shape} matrix, so the data must be as large, got {new.shape}"
        )
    try:
        rows = new.row_index(list(old.row_axis.labels or range(old.shape[0])))
        cols = new.col_index(list(old.col_axis.labels or range(old.shape[1])))
    except LabelError as error:
        raise ParameterError(f"start= has rows or columns that the data do not have: {error}") from error
    return rows, cols


def _move_rows(factor: Array, to: Indices, m: int) -> Array:
    """Move the rows of a factor to their new positions; new rows start at zero."""
    moved = np.zeros((m, factor.shape[1]))
    moved[to] = factor
    return moved
