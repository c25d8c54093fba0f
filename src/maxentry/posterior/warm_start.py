"""Warm starts: go on from the chains of an earlier posterior when measurements, rows or columns were added."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import LabelError, ParameterError
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.gibbs import GibbsState
from maxentry.posterior.schedule import WORK, Sampling, sweep_work

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
FEW = 0.03  # of the observations: so small a share of new ones leaves chains nearly where they should be
COSTLY = WORK / (
    32 * 200
)  # multiplications of a sweep from which on a default population has under 32 chains
FEW_SETTLE, FEW_THIN = 6, 1


def restart_chains(
    start: Posterior,
    observations: Observations,
    fit: ModelSpec,
    sampling: str | Sampling,
    seed: np.random.SeedSequence,
) -> tuple[Sampling, tuple[Chain, ...]]:
    """The chains of `start`, moved to the new observations, and how long to run them: no annealing from the prior."""
    rows, cols = _positions(start.observations, observations)
    plan = Sampling.resolve(sampling, observations.shape, observations.n, start.rank)
    if not isinstance(sampling, Sampling):
        plan = _shorten(plan, start, observations, rows, cols)
    plan = replace(plan, anneal=0, chains=len(start.chains))
    (m1, m2), chains = observations.shape, []
    places = (
        MeasurementMatch.find(start.observations, observations, rows, cols)
        if fit.noise == "student"
        else None
    )
    for chain, child in zip(start.chains, seed.spawn(len(start.chains)), strict=True):
        old = chain.state
        left, right = _move_rows(old.left, rows, m1), _move_rows(old.right, cols, m2)
        weights = np.empty(0) if places is None else places.moved(old.weights)
        stream = dict(np.random.PCG64(child).state)
        chains.append(Chain(chain.rank, GibbsState(left, right, old.scalars.copy(), weights), stream))
    return plan, tuple(chains)


def _shorten(
    plan: Sampling, start: Posterior, observations: Observations, rows: Indices, cols: Indices
) -> Sampling:
    """A default plan for chains that stand near where they should be.

    What tells the draws apart is that chains are many; how far apart those of one chain lie matters little. Where few
    observations are new and sweeps cost much, there are enough for draws that are nearly independent after each one.
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
    """The share of measurements that only one of the two has: added, corrected or struck out.

    rows, cols: where those of the earlier matrix stand in the new one.
    """
    if abs(new.n - old.n) > FEW * new.n:  # more than few anyway
        return abs(new.n - old.n) / new.n
    places = MeasurementMatch.find(old, new, rows, cols)
    same = int((old.values[places.before] == new.values[places.after]).sum())
    return (old.n + new.n - 2 * same) / new.n


class MeasurementMatch(NamedTuple):
    """Where measurements that two observations have in common stand in each; of one entry the first is the first."""

    before: Indices
    after: Indices
    n: int  # measurements of the new ones

    @classmethod
    def find(cls, old: Observations, new: Observations, rows: Indices, cols: Indices) -> MeasurementMatch:
        """By entry; rows, cols: where those of the earlier matrix stand in the new one."""
        m2 = new.shape[1]
        keys = rows[old.rows] * m2 + cols[old.cols]
        order = np.argsort(keys, kind="stable")
        earlier, later = keys[order], new.rows.astype(np.int64) * m2 + new.cols  # sorted, both
        which = np.arange(new.n) - np.searchsorted(later, later)  # of the measurements of one entry
        at = np.searchsorted(earlier, later) + which
        there = np.flatnonzero(earlier[np.minimum(at, old.n - 1)] == later)
        there = there[at[there] < old.n]
        return cls(order[at[there]], there, new.n)

    def moved(self, weights: Array) -> Array:
        """Weights of Student noise at their new places; one where there was no measurement, until its first draw."""
        moved = np.ones(self.n)
        if weights.size:
            moved[self.after] = weights[self.before]
        return moved


def _positions(old: Observations, new: Observations) -> tuple[Indices, Indices]:
    """Where the rows and columns of the earlier matrix stand in the new one."""
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
    """The factor with its rows at their new places; new rows at zero until their first draw."""
    moved = np.zeros((m, factor.shape[1]))
    moved[to] = factor
    return moved
