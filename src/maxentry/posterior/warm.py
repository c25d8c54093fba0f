"""Warm starts: go on from the chains of an earlier posterior when measurements, rows or columns were added."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxentry.errors import LabelError, ParameterError
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain
from maxentry.posterior.conjugate import State
from maxentry.posterior.fit import Fit
from maxentry.posterior.sampling import Sampling

if TYPE_CHECKING:
    from maxentry.posterior.posterior import Posterior

Array = NDArray[np.float64]


def restarted(
    start: Posterior,
    observations: Observations,
    fit: Fit,
    sampling: str | Sampling,
    seed: np.random.SeedSequence,
) -> tuple[Sampling, tuple[Chain, ...]]:
    """The chains of `start`, moved to the new observations, and how long to run them: no annealing from the prior."""
    rows, cols = _positions(start.observations, observations)
    plan = Sampling.of(sampling, observations.shape, observations.n, start.rank)
    if not isinstance(sampling, Sampling):
        # What tells the draws apart is that chains are many; how far apart those of one chain lie matters little.
        plan = replace(plan, settle=max(1, (plan.anneal + plan.settle) // 6), thin=max(1, plan.thin // 2))
    plan = replace(plan, anneal=0, chains=len(start.chains))
    n_weights = observations.n if fit.noise == "student" else 0
    chains = []
    for chain, child in zip(start.chains, seed.spawn(len(start.chains)), strict=True):
        old, m1, m2 = chain.state, *observations.shape
        left, right = _moved(old.left, rows, m1), _moved(old.right, cols, m2)
        stream = dict(np.random.PCG64(child).state)
        chains.append(Chain(chain.rank, State(left, right, old.scalars.copy(), np.ones(n_weights)), stream))
    return plan, tuple(chains)


def _positions(old: Observations, new: Observations) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def _moved(factor: Array, to: NDArray[np.int64], m: int) -> Array:
    """The factor with its rows at their new places; new rows at zero until their first draw."""
    moved = np.zeros((m, factor.shape[1]))
    moved[to] = factor
    return moved
